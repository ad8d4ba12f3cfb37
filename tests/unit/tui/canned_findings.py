"""Findings and verdicts made by hand, for `canned`."""

from __future__ import annotations

from collections.abc import Mapping

from rltui.evidence.model import BestCheckpoint, Cause, Episode, Evidence, Finding, Fix, Verdict
from rltui.report.model import MetricSummary

SKIPPED = (
    ("Rollout and trainer log-probs disagree", "rollout gap", "actor_rollout_ref.rollout.calculate_log_probs=True"),
    ("Off-policy lag of the rollouts", "policy version", "only in the asynchronous trainer"),
    ("Reward components fight each other", "reward parts", "return a dict from the reward function"),
)


def evidence(metrics: Mapping[str, MetricSummary], name: str, text: str = "") -> Evidence:
    m = metrics[name]
    return Evidence(name, m.key, m.first, m.mid, m.last, m.slope_per_100_steps, text)


def finding(
    id_: str,
    title: str,
    severity: str,
    onset: int,
    last: int,
    found: tuple[Evidence, ...],
    *,
    root: str | None = None,
    life: str = "open",
    causes: tuple[Cause, ...] = (),
    status: str = "active",
    stage: str = "loss",
) -> Finding:
    return Finding(
        id_,
        None,
        title,
        severity if status == "active" else "info",
        severity,
        status,
        (Episode(onset, None, severity),),
        stage,
        onset,
        last,
        0.86,
        "hypothesis",
        root,
        found,
        causes,
        (
            Fix("Resume from global_step_600", "trainer.resume_mode=resume_path", "high", "low"),
            Fix("Raise the KL penalty 0.001 → 0.005", "actor_rollout_ref.actor.kl_loss_coef=0.005", "high", "low"),
            Fix("Lower the learning rate 3e-6 → 1e-6", "actor_rollout_ref.actor.optim.lr=1e-6", "medium", "low"),
        ),
        ("Score gains 0.01 per 100 steps by step 870", "KL over masked tokens: approximate KL would stay flat"),
        life,
        "The policy leaves the reference and the score does not pay for it: drift without learning.",
    )  # type: ignore[arg-type]


def findings_of(m: Mapping[str, MetricSummary], onset: int, last: int) -> tuple[Finding, ...]:
    """What is wrong with the sick run: open, folded and resolved findings."""
    causes = (
        Cause("KL penalty too weak for this step size", "actor_rollout_ref.actor.kl_loss_coef", 0.001, "supported"),
        Cause("Learning rate three times the usual 1e-6", "actor_rollout_ref.actor.optim.lr", 3e-6, "supported"),
        Cause("Nothing keeps entropy up", "actor_rollout_ref.actor.entropy_coeff", 0, "supported"),
    )
    limit = (Cause("Limit too low", "data.max_response_length", 2048, "supported"),)
    return (
        finding(
            "kl-up-reward-flat",
            "KL rises and the reward does not",
            "critical",
            onset,
            last,
            (evidence(m, "kl_ref"), evidence(m, "score_mean", "slope +0.001 ± 0.004 per 100")),
            life="worse",
            causes=causes,
        ),
        finding(
            "reward-peak-decline",
            "Validation past its peak",
            "warning",
            600,
            last,
            (evidence(m, "val_score", "of its peak, 0.412 at step 600"),),
            root="kl-up-reward-flat",
        ),
        finding(
            "truncation-high",
            "Responses reach the length limit",
            "warning",
            700,
            last,
            (evidence(m, "response_clip_ratio"),),
            life="worse",
            causes=limit,
            stage="generation",
        ),
        finding(
            "step-time-regression",
            "Generation dominates the step",
            "warning",
            712,
            last,
            (evidence(m, "time_per_step_s", "follows response length"),),
            root="truncation-high",
            life="worse",
            stage="generation",
        ),
        finding(
            "entropy-collapse",
            "Entropy falls faster than reward gains",
            "warning",
            596,
            last,
            (evidence(m, "entropy"),),
            life="steady",
        ),
        finding(
            "grad-norm-explosion",
            "Gradient norm jumped",
            "warning",
            120,
            last,
            (evidence(m, "grad_norm"),),
            status="resolved",
        ),
    )


def verdict_of(healthy: bool) -> Verdict:
    if healthy:
        return Verdict(
            "continue",
            ("healthy",),
            0.91,
            (),
            "All clear: 41 checks, 3 could not run.",
            "Reward gains 0.032 per 100 steps, and KL stays at 0.034.",
            BestCheckpoint(800, "checkpoints/global_step_800", True, "val_score", 0.447, 0.011, beats_start=True),
            "CONTINUE",
            "ok",
        )
    return Verdict(
        "stop-use-best",
        ("unstable", "not-learning"),
        0.86,
        ("kl-up-reward-flat",),
        "KL keeps rising while reward is flat, since step 640, and validation is past its peak.",
        "Would change if the score gains 0.01 per 100 steps by step 870, or KL falls below 0.1.",
        BestCheckpoint(600, "checkpoints/global_step_600", True, "val_score", 0.412, 0.011, beats_start=True),
        "STOP · KEEP 600",
        "crit",
    )
