"""One run in which a fault is planted, as its trainer would write it: metrics, settings, console."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.evaluation.drill.world import Column, World, healthy

T0 = 1_760_000_000.0
VERL, TRL, HOME = "verl", "trl", "a loop of one's own"
WRITERS = (VERL, TRL, HOME)

KEYS: dict[str, tuple[str, str, str]] = {
    "score_mean": ("critic/score/mean", "reward", "reward_mean"),
    "score_max": ("critic/score/max", "", "reward_max"),
    "score_min": ("critic/score/min", "", "reward_min"),
    "reward_std": ("", "reward_std", "reward_std"),
    "kl_ref": ("actor/kl_loss", "kl", "kl"),
    "entropy": ("actor/entropy", "entropy", "entropy"),
    "grad_norm": ("actor/grad_norm", "grad_norm", "grad_norm"),
    "response_length_mean": ("response_length/mean", "completions/mean_length", "response_length"),
    "response_clip_ratio": ("response_length/clip_ratio", "completions/clipped_ratio", "truncated_frac"),
    "prompt_length_mean": ("prompt_length/mean", "", "prompt_length"),
    "frac_reward_zero_std": ("", "frac_reward_zero_std", "frac_reward_zero_std"),
    "pg_loss": ("actor/pg_loss", "loss", "policy_loss"),
    "lr": ("actor/lr", "learning_rate", "lr"),
    "clip_frac": ("actor/pg_clipfrac", "clip_ratio/region_mean", "clip_frac"),
    "ppo_kl": ("actor/ppo_kl", "", "approx_kl"),
    "time_per_step_s": ("timing_s/step", "step_time", "step_time"),
    "val_score": ("val-core/gsm8k/acc/mean@1", "eval_reward", "val/accuracy"),
    "mismatch": (
        "training/rollout_probs_diff_mean",
        "sampling/sampling_logp_difference/mean",
        "train_rollout_logprob_diff",
    ),
    "staleness": ("", "", "staleness"),
    "vf_explained_var": ("critic/vf_explained_var", "", "explained_variance"),
    "vf_loss": ("critic/vf_loss", "", "value_loss"),
    "gen": ("timing_s/gen", "", "time/generate"),
    "grade": ("timing_s/reward", "", "time/reward"),
    "update": ("timing_s/update_actor", "", "time/update"),
    "old": ("timing_s/old_log_prob", "", "time/old_log_prob"),
    "save": ("timing_s/save_checkpoint", "", "time/save_checkpoint"),
    "sync": ("timing_s/update_weights", "", "time/weight_sync"),
    "part:accuracy": ("reward_extra_info/accuracy/mean", "rewards/accuracy_reward/mean", "reward/accuracy"),
    "part:format": ("reward_extra_info/format/mean", "rewards/format_reward/mean", "reward/format"),
    "part:length": ("reward_extra_info/length/mean", "rewards/length_reward/mean", "reward/length"),
}
"""Metric -> its key in each writer's log; "" where that writer logs none."""

SETTINGS: dict[str, tuple[str, str, str]] = {
    "lr": ("actor_rollout_ref.actor.optim.lr", "learning_rate", "learning_rate"),
    "kl": ("actor_rollout_ref.actor.kl_loss_coef", "beta", "kl_coef"),
    "use_kl": ("actor_rollout_ref.actor.use_kl_loss", "", ""),
    "clip_high": ("actor_rollout_ref.actor.clip_ratio_high", "epsilon_high", "clip_eps_high"),
    "clip_low": ("actor_rollout_ref.actor.clip_ratio_low", "epsilon", "clip_eps"),
    "entropy": ("actor_rollout_ref.actor.entropy_coeff", "", "entropy_coef"),
    "updates": ("actor_rollout_ref.actor.ppo_epochs", "num_iterations", "ppo_epochs"),
    "grad_clip": ("actor_rollout_ref.actor.grad_clip", "max_grad_norm", "max_grad_norm"),
    "group": ("actor_rollout_ref.rollout.n", "num_generations", "group_size"),
    "temperature": ("actor_rollout_ref.rollout.temperature", "temperature", "temperature"),
    "batch": ("data.train_batch_size", "generation_batch_size", "batch_size"),
    "limit": ("data.max_response_length", "max_completion_length", "max_new_tokens"),
    "save": ("trainer.save_freq", "save_steps", "save_every"),
    "estimator": ("algorithm.adv_estimator", "", "algorithm"),
}
USUAL: dict[str, object] = {
    "lr": 1e-6,
    "kl": 0.005,
    "use_kl": True,
    "clip_low": 0.2,
    "clip_high": 0.28,
    "entropy": 0.0,
    "updates": 1,
    "grad_clip": 1.0,
    "group": 8,
    "temperature": 1.0,
    "batch": 128,
    "limit": 4096,
    "save": 50,
    "estimator": "grpo",
}


@dataclass(slots=True)
class Case:
    """A healthy run to plant in. `begin`: the first faulty step, drawn. `config` by the names of SETTINGS. `log`:
    lines of the console behind a step; `end`: the last lines."""

    w: World
    writer: str
    begin: int
    config: dict[str, object] = field(default_factory=dict)
    log: list[tuple[int, str]] = field(default_factory=list)
    end: str = ""

    def __getitem__(self, name: str) -> Column:
        return self.w.columns[name]

    def __setitem__(self, name: str, values: Column) -> None:
        self.w.columns[name] = values

    @property
    def share(self) -> Column:
        """What the policy gets of what there is to get, without noise."""
        return self.w.kept["share"]

    def noise(self, size: float) -> Column:
        return self.w.wiggle(size)

    def since(self, over: float = 0.0, late: int = 0) -> Column:
        """0 before the fault, 1 from `over` steps behind it on; `late` steps later."""
        at = self.begin + late
        return np.clip((np.arange(1, self.w.length + 1) - at + 1) / max(1.0, over), 0, 1)

    def some(self, least: float, most: float) -> float:
        return float(self.w.rng.uniform(least, most))

    def shows(self, *names: str) -> None:
        """What the fault shows itself in is logged."""
        self.w.missing = tuple(name for name in self.w.missing if name not in names)

    def lower(self, by: Column, left: float) -> None:
        """Reward and validation fall to a share of what there was."""
        self.earns(self.share * (1 - by * (1 - left)))

    def earns(self, share: Column, validated: Column | None = None) -> None:
        self.w.kept["share"] = share
        self["score_mean"] = self.w.rewarded(share)
        val, held_out = self["val_score"], share if validated is None else validated
        seen = ~np.isnan(val)
        val[seen] = np.clip(held_out[seen] - 0.03 + 0.012 * self.w.rng.standard_normal(seen.sum()), 0, 1)

    def pays(self, least: float, most: float, when: np.ndarray | None = None) -> None:
        """The lowest and the highest reward of a batch, from the start or in these steps."""
        for name, value in (("score_min", least), ("score_max", most)):
            level = np.full(self.w.length, value)
            if self.w.scale == "reward model":
                level = level * np.exp(self.noise(0.02))
            self[name] = level if when is None else np.where(when, value, self[name])

    def logs_all(self) -> None:
        """The writer is none that logs neither entropy bonus nor critic nor the phases of a step."""
        if self.writer == TRL:
            self.writer = VERL

    def timed(self, **phases: Column) -> None:
        """The phases of a step in seconds, and the step as their sum: those given are times of the usual ones."""
        base = float(np.median(self["time_per_step_s"]))
        usual = {"gen": 0.5, "grade": 0.06, "update": 0.3, "old": 0.08, "sync": 0.03, "save": 0.0}
        total = np.zeros(self.w.length)
        for name, part in usual.items():
            seconds = base * part * np.exp(self.noise(0.04))
            more = phases.get(name)
            if more is not None:
                seconds = seconds * more if part else base * more
            self[name] = seconds
            total = total + seconds
        self["time_per_step_s"] = total * np.exp(self.noise(0.01))


def drawn(seed: int) -> Case:
    """A healthy run of another kind for each seed."""
    w = healthy(seed)
    begin = int(w.length * w.rng.uniform(0.35, 0.6))
    case = Case(w, WRITERS[seed % len(WRITERS)], begin, dict(USUAL))
    case.pays(w.low, w.low + w.width)
    return case


def write(case: Case, folder: Path) -> Path:
    """The run's folder: `metrics.jsonl`, settings, and a console where the program printed something."""
    folder.mkdir(parents=True, exist_ok=True)
    which = WRITERS.index(case.writer)
    steps, columns = case.w.rows()
    seconds = np.cumsum(np.nan_to_num(case["time_per_step_s"]))
    lines = []
    for i, step in enumerate(steps):
        row: dict[str, object] = {"step": step, "timestamp": round(T0 + float(seconds[step - 1]), 3)}
        for name, values in columns.items():
            key, value = KEYS[name][which], values[i]
            if key and value is not None:
                row[key] = float(f"{value:.6g}")
        lines.append(json.dumps(row))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = {SETTINGS[name][which]: value for name, value in case.config.items() if SETTINGS[name][which]}
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    if case.log or case.end:
        said = "".join(f"{line}\n" for _, line in sorted(case.log, key=lambda one: one[0]))
        begun = f"Started a local Ray instance.\nTotal training steps: {case.w.planned}\n"
        (folder / "train.log").write_text(begun + said + case.end, encoding="utf-8")
    return folder


Plant = Callable[[Case], tuple[str, ...]]
PLANTS: dict[str, Plant] = {}


def plant(name: str) -> Callable[[Plant], Plant]:
    """Keeps a plant under its name. It answers how the texts of causes begin that name what it did."""

    def keep(planted: Plant) -> Plant:
        PLANTS[name] = planted
        return planted

    return keep
