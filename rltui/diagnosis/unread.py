"""What can be said before a run is read: the stages of an update, nothing known of any.

Light to import: the screen's first values wait for it."""

from __future__ import annotations

from rltui.diagnosis.model import Coverage, Diagnosis, StageResult, Verdict

STAGES: dict[str, tuple[str, ...]] = {
    "reward": ("score_mean", "reward_mean"),
    "advantages": ("frac_reward_zero_std", "advantage_mean", "frac_groups_mixed", "grad_norm"),
    "log-probs": ("rollout_train_logprob_diff", "rollout_train_kl", "ppo_kl", "kl_ref"),
    "loss": ("grad_norm", "pg_loss", "total_loss"),
    "generation": ("response_length_mean", "response_clip_ratio", "entropy"),
}
"""Stage -> metrics of which at least one must be logged before anything can be said about it."""


def unread() -> Diagnosis:
    """The diagnosis while the run is still being read: nothing is claimed."""
    verdict = Verdict("not-enough-evidence", (), 0.0, (), "Reading the run.", "The rest of the files.", None)
    waiting = tuple(StageResult(stage, "unknown", "still reading") for stage in STAGES)
    return Diagnosis(None, verdict, (), waiting, Coverage(0, 0, ()), (), 0, ())
