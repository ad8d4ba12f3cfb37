"""Trainings that take a second: GRPO on a table of logits, a row for each prompt, with a fault from one step on.

Nothing of what they log is drawn: rewards, KL, entropy, clipping and gradients follow from the updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]
PROMPTS, ANSWERS, BATCH, GROUP, UPDATES, CLIP = 48, 16, 16, 8, 2, 0.2


@dataclass(frozen=True)
class Training:
    """`fault` is one of "sign", "entropy", "grader" (every answer gets 0), "noise" (35 % of the grades are turned),
    "hacked" (another answer pays more), and sets in with step `at`. `rate`: learning rate of the table. `evaluates`:
    every so many steps, 0 for never."""

    fault: str = ""
    at: int = 80
    steps: int = 160
    rate: float = 2.0
    pull: float = 0.02
    evaluates: int = 10
    seed: int = 0

    def rows(self) -> list[Row]:
        draw = np.random.default_rng(self.seed)
        table = draw.normal(0.0, 1.0, (PROMPTS, ANSWERS))
        reference, right = _shares(table), draw.integers(0, ANSWERS, PROMPTS)
        return [self._step(step, table, reference, right, draw) for step in range(1, self.steps + 1)]

    def _step(
        self, step: int, table: Floats, reference: Floats, right: NDArray[np.int64], draw: np.random.Generator
    ) -> Row:
        fault = self.fault if step >= self.at else ""
        batch = draw.choice(PROMPTS, BATCH, replace=False)
        old, each = _shares(table[batch]), np.arange(BATCH)[:, None]
        drawn = (old.cumsum(1)[:, None, :] > draw.random((BATCH, GROUP, 1))).argmax(2)
        reward = self._graded(fault, (drawn == right[batch][:, None]).astype(float), drawn, right[batch], draw)
        spread = reward.std(1, keepdims=True)
        gain = (reward - reward.mean(1, keepdims=True)) / (spread + 1e-4) * (-1.0 if fault == "sign" else 1.0)
        clipped, norm, loss = list[float](), 0.0, 0.0
        for _ in range(UPDATES):
            now = _shares(table[batch])
            ratio = now[each, drawn] / old[each, drawn]
            cut = ((ratio > 1 + CLIP) & (gain > 0)) | ((ratio < 1 - CLIP) & (gain < 0))
            clipped.append(float(cut.mean()))
            loss = -float(np.minimum(ratio * gain, np.clip(ratio, 1 - CLIP, 1 + CLIP) * gain).mean())
            weight = np.where(cut, 0.0, gain * ratio) / GROUP
            slope = -now * weight.sum(1, keepdims=True)
            np.add.at(slope, (np.broadcast_to(each, drawn.shape), drawn), weight)
            away = np.log(now / reference[batch])
            slope -= 4 * self.pull * now * (away - (now * away).sum(1, keepdims=True))
            if fault == "entropy":
                bits = np.log(now)
                slope -= 1.5 * now * (bits - (now * bits).sum(1, keepdims=True))
            norm = float(np.sqrt((slope**2).sum() / BATCH))
            table[batch] += 0.5 * self.rate * slope
            for prompt, by in zip(batch, slope, strict=True):  # prompts with the same answer learn from each other
                alike = np.flatnonzero(right == right[prompt])
                table[alike] += 0.15 * self.rate * by / len(alike)
        now, row = _shares(table[batch]), {"step": step, "reward": float(reward.mean())}
        row |= {"reward_std": float(spread.mean()), "frac_reward_zero_std": float((spread < 1e-8).mean())}
        row |= {"kl": float((now * np.log(now / reference[batch])).sum(1).mean())}
        row |= {"entropy": -float((now * np.log(now)).sum(1).mean()), "loss": loss, "grad_norm": norm}
        row |= {"clip_ratio/region_mean": float(np.mean(clipped)), "learning_rate": 1e-6}
        if self.evaluates and step % self.evaluates == 0:
            row["eval_accuracy"] = float(_shares(table)[np.arange(PROMPTS), right].mean() + draw.normal(0.0, 0.01))
        return row

    def _graded(
        self, fault: str, reward: Floats, drawn: NDArray[np.int64], right: NDArray[np.int64], draw: np.random.Generator
    ) -> Floats:
        if fault == "grader":
            return np.zeros_like(reward)
        if fault == "noise":
            return np.where(draw.random(reward.shape) < 0.35, 1.0 - reward, reward)
        if fault == "hacked":
            return reward + 1.5 * (drawn == (right[:, None] + 3) % ANSWERS)
        return reward


def _shares(table: Floats) -> Floats:
    raised = np.exp(table - table.max(-1, keepdims=True))
    return np.asarray(np.maximum(raised / raised.sum(-1, keepdims=True), 1e-12))
