"""What must hold whatever the task: each with its status, the value measured, and how it was checked.

Only what a log and a config can show. What needs the trainer's own functions (log-softmax against the library's,
decoding) is listed as unknown: nothing passes that was not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.model import Level
from rltui.evidence.profile import number
from rltui.evidence.signal import num
from rltui.run.run import ConfigValue
from rltui.run.sums import median

ROUNDING = 1e-6
FLAT_ADVANTAGE = 0.1  # of a group with different rewards, normalised; below: a constant in the denominator is too large
BOUND_TOLERANCE = 0.01
VARYING = 1e-6  # spread of the reward that counts as varying
SHARES = ("response_clip_ratio", "clip_frac", "frac_reward_zero_std", "aborted_ratio", "valid_action_ratio")


@dataclass(frozen=True, slots=True)
class Invariant:
    """`measured` None: nothing to measure. `how`: what was compared with what."""

    name: str
    stage: str
    status: Level
    measured: str | None
    how: str


Config = dict[str, ConfigValue]


def invariants(look: Look, config: Config) -> tuple[Invariant, ...]:
    """Every invariant in the order of the stages."""
    return tuple(check(look, config) for check in CHECKS)


def _shares(look: Look, config: Config) -> Invariant:
    name, how = "shares lie in 0 to 1", "lowest and highest value of " + ", ".join(SHARES)
    seen = {n: look.blocks(n) for n in SHARES if look.series(n) is not None}
    if not seen:
        return Invariant(name, "generation", "unknown", None, how)
    low = min(float(b.lows.min()) for b in seen.values() if b is not None)
    high = max(float(b.highs.max()) for b in seen.values() if b is not None)
    status: Level = "pass" if low >= -ROUNDING and high <= 1 + ROUNDING else "fail"
    return Invariant(name, "generation", status, f"{num(low)} to {num(high)}", how)


def _reward_order(look: Look, config: Config) -> Invariant:
    name, how = "minimum ≤ mean ≤ maximum of the reward", "row by row, where all three are logged"
    kind = "score" if look.series("score_min") is not None else "reward"
    series = [look.series(f"{kind}_{part}") for part in ("min", "mean", "max")]
    if any(s is None for s in series):
        return Invariant(name, "reward", "unknown", None, how)
    low, mean, high = (dict(zip(s.rows.tolist(), s.values.tolist(), strict=True)) for s in series if s is not None)
    rows = sorted(low.keys() & mean.keys() & high.keys())
    slack = ROUNDING + 1e-3 * max((abs(high[r] - low[r]) for r in rows), default=0.0)  # logs print few digits
    wrong = sum(not low[r] - slack <= mean[r] <= high[r] + slack for r in rows)
    return Invariant(name, "reward", "fail" if wrong else "pass", f"broken in {wrong} of {len(rows)} rows", how)


def _advantages_vary(look: Look, config: Config) -> Invariant:
    name = "advantages differ from 0 where rewards vary"
    how = f"largest magnitude above {FLAT_ADVANTAGE} while the reward's spread is not 0 (group-normalised)"
    size = _largest_advantage(look)
    spread = look.values("reward_std")
    if size is None or not len(spread) or look.settings.group_relative is False or not _normalised(config):
        return Invariant(name, "advantages", "unknown", None, how)
    varied = median(spread[-20:]) > VARYING
    now = median(size[-20:])
    status: Level = "fail" if varied and now < FLAT_ADVANTAGE else "pass"
    return Invariant(name, "advantages", status, f"{num(now)} at a spread of {num(median(spread[-20:]))}", how)


def _advantage_bound(look: Look, config: Config) -> Invariant:
    name = "no advantage beyond what the group size allows"
    how = "largest magnitude at most √(G−1) for groups of G (normalised by their own spread)"
    size, group = _largest_advantage(look), look.settings.group_size
    if size is None or group is None or group < 2 or not look.settings.group_relative or not _normalised(config):
        return Invariant(name, "advantages", "unknown", None, how)
    bound = sqrt(group - 1)
    top = float(size.max())
    status: Level = "pass" if top <= bound * (1 + BOUND_TOLERANCE) else "fail"
    return Invariant(name, "advantages", status, f"{num(top)} of at most {num(bound)}", how)


def _kl_not_negative(look: Look, config: Config) -> Invariant:
    name, how = "KL to the reference ≥ 0 (k3 estimator)", "lowest value; other estimators may be negative"
    blocks = look.blocks("kl_ref")
    estimator = config.get("kl_estimator")
    known = str(estimator.value).lower() if estimator is not None else None
    k3 = known in ("k3", "low_var_kl", "k3+") or (known is None and look.framework == "trl")
    if blocks is None or not k3:
        return Invariant(name, "log-probs", "unknown", None, how)
    low = float(blocks.lows.min())
    return Invariant(name, "log-probs", "pass" if low >= -ROUNDING else "fail", num(low), how)


def _entropy_not_negative(look: Look, config: Config) -> Invariant:
    name, how = "entropy ≥ 0", "lowest value"
    blocks = look.blocks("entropy")
    if blocks is None:
        return Invariant(name, "log-probs", "unknown", None, how)
    low = float(blocks.lows.min())
    return Invariant(name, "log-probs", "pass" if low >= -ROUNDING else "fail", num(low), how)


def _clip_range(look: Look, config: Config) -> Invariant:
    name, how = "0 < clip range < 1", "clip_low and clip_high of the config; the upper side may exceed 1 on purpose"
    low, high = number(config, "clip_low"), number(config, "clip_high")
    given = [v for v in (low, high) if v is not None]
    if not given:
        return Invariant(name, "loss", "unknown", None, how)
    status: Level = "pass" if all(0 < v < 1 for v in given) else "fail" if any(v <= 0 for v in given) else "warn"
    return Invariant(name, "loss", status, " and ".join(num(v) for v in given), how)


def _length_below_cap(look: Look, config: Config) -> Invariant:
    name, how = "responses no longer than the limit", "longest response against the configured limit"
    cap = look.settings.length_cap
    longest = look.blocks("response_length_max") or look.blocks("response_length_mean")
    if cap is None or longest is None:
        return Invariant(name, "generation", "unknown", None, how)
    top = float(longest.highs.max())
    return Invariant(name, "generation", "pass" if top <= cap + 1 else "fail", f"{num(top)} of {num(cap)}", how)


def _loss_finite(look: Look, config: Config) -> Invariant:
    name, how = "loss and gradient finite", "points that are not finite"
    logged = [s for n in ("pg_loss", "total_loss", "grad_norm") if (s := look.logged(n)) is not None]
    if not logged:
        return Invariant(name, "loss", "unknown", None, how)
    bad = sum(int((~np.isfinite(s.values)).sum()) for s in logged)
    return Invariant(name, "loss", "fail" if bad else "pass", f"{bad} of {sum(map(len, logged))} points are not", how)


def _by_running(name: str, stage: str, how: str) -> Callable[[Look, Config], Invariant]:
    """An invariant that no log shows."""
    return lambda look, config: Invariant(name, stage, "unknown", None, how)


def _largest_advantage(look: Look) -> np.ndarray | None:
    low, high = look.values("advantage_min"), look.values("advantage_max")
    if not len(low) or len(low) != len(high):
        return None
    return np.maximum(np.abs(low), np.abs(high))


def _normalised(config: Config) -> bool:
    """Advantages are divided by the group's spread (the default of every group-relative estimator but Dr. GRPO)."""
    by_std = config.get("norm_adv_by_std")
    estimator = config.get("adv_estimator")
    plain = estimator is not None and any(
        word in str(estimator.value).lower() for word in ("dr_grpo", "drgrpo", "rloo")
    )
    return not plain and (by_std is None or str(by_std.value).lower() not in ("false", "0", "none"))


CHECKS: tuple[Callable[[Look, Config], Invariant], ...] = (
    _reward_order,
    _advantages_vary,
    _advantage_bound,
    _by_running("log-probs ≤ 0", "log-probs", "needs the trainer's own log-probs of single tokens (tolerance 1e-6)"),
    _by_running("log-probs equal the library's log-softmax", "log-probs", "needs the trainer's own function"),
    _by_running("softmax sums to 1", "log-probs", "needs the trainer's own function"),
    _kl_not_negative,
    _entropy_not_negative,
    _clip_range,
    _loss_finite,
    _by_running("decoding keeps the content", "generation", "needs the trainer's own decoding"),
    _shares,
    _length_below_cap,
)
