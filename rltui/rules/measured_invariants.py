"""What the newest rows show about each invariant: how it is measured, and how badly it is broken."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from msgspec import Struct

from rltui.evidence.look import Look
from rltui.evidence.profile import number
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Words, num
from rltui.rules.base import Params, lasting, side_by_side
from rltui.run.sums import median, sd
from rltui.run.table import Floats

NEWEST = 20
"""How many of the newest rows are judged."""

ROUNDING = 1e-6
SUM_TO_ZERO = 1e-3
SHARES = (
    *("response_clip_ratio", "clip_frac", "frac_reward_zero_std", "aborted_ratio"),
    *("valid_action_ratio", "dpo_accuracy"),
)
LOSSES = ("pg_loss", "total_loss", "vf_loss")
FINITE = ("pg_loss", "total_loss", "grad_norm")
K3 = ("k3", "low_var_kl", "k3+")


class Measure(Struct, frozen=True):
    """What the newest rows show. `level`: 0 if the invariant holds, otherwise how badly it is broken; `text` then says
    so in a sentence."""

    measured: Words
    metric: str = ""
    level: int = 0
    text: str = ""

    @property
    def said(self) -> str:
        """What was measured, in words."""
        return self.measured if isinstance(self.measured, str) else self.measured()


def _by_size(size: float, p: Params) -> int:
    """The severity of being outside by this much."""
    return CRITICAL if size > p["gross"] else WARNING if size > p["small"] else NOTICE


def shares(look: Look, p: Params) -> Measure | None:
    seen = {name: x for name in SHARES if len(x := look.values(name)[-NEWEST:])}
    if not seen:
        return None

    def measured() -> str:
        return f"{num(min(float(x.min()) for x in seen.values()))} to {num(max(float(x.max()) for x in seen.values()))}"

    for name, x in seen.items():
        if np.minimum.reduce(x) >= -ROUNDING and np.maximum.reduce(x) <= 1.0 + ROUNDING:
            continue
        beyond = np.maximum(x - 1.0, -x)
        if lasting(beyond > ROUNDING, p):
            text = f"{name} is {num(float(x[-1]))}, outside 0 to 1"
            return Measure(measured, name, _by_size(float(beyond.max()), p), text)
    return Measure(measured)


def _reward_kind(look: Look) -> str:
    """Which rewards have a logged minimum and maximum: `score` or `reward`."""
    return "score" if look.series("score_min") is not None else "reward"


def _ordered(beyond: Floats, p: Params, metric: str, text: Callable[[], str], most: int = CRITICAL) -> Measure:
    """What rows show about numbers that must be in order: `beyond` is by how much of their size they break it."""
    bad = beyond > p["small"]

    def measured() -> str:
        return f"broken in {int(bad.sum())} of {len(bad)} rows"

    if not lasting(bad, p):
        return Measure(measured)
    return Measure(measured, metric, min(most, _by_size(float(beyond.max()), p)), text())


def reward_order(look: Look, p: Params) -> Measure | None:
    kind = _reward_kind(look)
    a, m, b = (x[-NEWEST:] for x in side_by_side(look, *(f"{kind}_{part}" for part in ("min", "mean", "max"))))
    if not len(a):
        return None
    beyond = np.maximum(a - m, m - b) / np.maximum(1e-9, np.abs(b) + np.abs(a))  # logs print few digits
    return _ordered(beyond, p, f"{kind}_mean", lambda: f"The mean {kind} lies outside its minimum and maximum")


def length_order(look: Look, p: Params) -> Measure | None:
    m, b = (x[-NEWEST:] for x in side_by_side(look, "response_length_mean", "response_length_max"))
    if not len(m):
        return None

    def text() -> str:
        return f"The mean length is {num(float(m[-1]))} tokens, and the longest answer has {num(float(b[-1]))}"

    return _ordered((m - b) / np.maximum(1e-9, np.abs(b)), p, "response_length_mean", text, WARNING)


def advantages_vary(look: Look, p: Params) -> Measure | None:
    size, spread = _largest_advantage(look), look.values("reward_std")[-NEWEST:]
    if size is None or look.settings.group_relative is False or not _normalised(look):
        return None
    if not len(spread):
        return _advantages_all_zero(look, size, p)
    now, varied = median(size), median(spread)

    def measured() -> str:
        return f"{num(now)} at a spread of {num(varied)}"

    if not lasting(size < p["flat"], p) or varied <= ROUNDING:
        return Measure(measured)
    text = f"Advantages reach {num(now)} only while rewards differ (spread {num(varied)}): they hardly teach"
    return Measure(measured, "advantage_max", CRITICAL if now <= ROUNDING else WARNING, text)


def _advantages_all_zero(look: Look, size: Floats, p: Params) -> Measure | None:
    """As `advantages_vary`, if only the lowest and the highest reward of a batch are logged: they may come from
    different groups."""
    kind = _reward_kind(look)
    low, high = (x[-NEWEST:] for x in side_by_side(look, f"{kind}_min", f"{kind}_max"))
    if not len(low) or look.series("frac_reward_zero_std") is not None:
        return None
    apart = median(high - low)

    def measured() -> str:
        return f"{num(median(size))} at rewards that lie {num(apart)} apart"

    if not lasting(size <= ROUNDING, p) or apart <= ROUNDING:
        return Measure(measured)
    text = (
        f"All advantages are 0 while the rewards of a batch lie {num(apart)} apart: they teach nothing, be it that all "
    )
    text += "answers to a prompt earn the same, or that a mask takes them to 0"
    return Measure(measured, "advantage_max", WARNING, text)


def advantage_bound(look: Look, p: Params) -> Measure | None:
    size, group = _largest_advantage(look), look.settings.group_size
    if size is None or group is None or group < 2 or not look.settings.group_relative or not _normalised(look):
        return None
    bound = sqrt(group - 1)
    return Measure(lambda: f"{num(float(size.max()))} of at most {num(bound)}")


def kl_not_negative(look: Look, p: Params) -> Measure | None:
    """An estimate from single tokens (k1) falls below 0 by chance. The mean of many answers stays there only if they
    were not drawn from this policy. The loss over that estimate then pays for moving away."""
    estimator = look.settings.word("kl_estimator") or look.dialect.conventions.kl_estimator
    x = look.values("kl_ref")[-NEWEST:]
    if not len(x):
        return None
    if estimator not in K3:
        return _kl_mean_not_negative(x, p)
    low = float(np.minimum.reduce(x))
    if low >= p["kl"] or not lasting(x < p["kl"], p):
        return Measure(lambda: num(low))
    return Measure(num(low), "kl_ref", _by_size(-low, p), f"KL is {num(low)}, but the k3 estimate cannot be negative")


def _kl_mean_not_negative(x: Floats, p: Params) -> Measure | None:
    """None if chance explains a negative mean: if an estimate can be negative, a positive mean does not show that the
    invariant holds."""
    if not lasting(x < 0, p):
        return None
    mean, error = float(x.mean()), sd(x) / sqrt(len(x))
    if mean + p["errors"] * error >= -p["small"]:
        return None
    text = (
        f"The KL averages {num(mean)} over {len(x)} rows, but the mean over answers of this policy cannot be negative"
    )
    return Measure(num(mean), "kl_ref", WARNING if -mean > p["gross"] else NOTICE, text)


def entropy_not_negative(look: Look, p: Params) -> Measure | None:
    x = look.values("entropy")[-NEWEST:]
    if not len(x):
        return None
    low = float(np.minimum.reduce(x))
    if low >= -ROUNDING or not lasting(x < -ROUNDING, p):
        return Measure(lambda: num(low))
    return Measure(num(low), "entropy", min(WARNING, _by_size(-low, p)), f"Entropy is {num(low)}, below 0")


def clip_range(look: Look, p: Params) -> Measure | None:
    given = [v for name in ("clip_low", "clip_high") if (v := number(look.settings.config, name)) is not None]
    if not given:
        return None

    def measured() -> str:
        return " and ".join(num(v) for v in given)

    if all(v > 0 for v in given):
        return Measure(measured)
    return Measure(measured, "clip_frac", WARNING, f"The clip range is {measured()}: a bound of 0 lets nothing through")


def length_below_cap(look: Look, p: Params) -> Measure | None:
    cap = look.settings.length_cap
    name = "response_length_max" if look.series("response_length_max") is not None else "response_length_mean"
    x = look.values(name)[-NEWEST:]
    if not cap or not len(x):
        return None
    top = float(np.maximum.reduce(x))
    if top <= cap + 1 or not lasting(x > cap + 1, p):
        if name != "response_length_max":
            return None  # a mean within the limit shows nothing about the longest response
        return Measure(lambda: f"{num(top)} of {num(cap)}")
    return Measure(f"{num(top)} of {num(cap)}", name, WARNING, f"Responses reach {num(top)} tokens, limit {num(cap)}")


def loss_in_bounds(look: Look, p: Params) -> Measure | None:
    seen = {name: np.abs(x) for name in LOSSES if len(x := look.values(name)[-NEWEST:])}
    if not seen:
        return None

    def measured() -> str:
        return num(max(float(x.max()) for x in seen.values()))

    for name, x in seen.items():
        if np.maximum.reduce(x) > p["loss"] and lasting(x > p["loss"], p):
            text = f"{name} is {num(float(x[-1]))}: beyond {num(p['loss'])} no update is of use"
            return Measure(measured, name, CRITICAL, text)
    return Measure(measured)


def finite(look: Look, p: Params) -> Measure | None:
    logged = [s.values[-NEWEST:] for n in FINITE if (s := look.logged(n)) is not None and len(s)]
    if not logged:
        return None

    def measured() -> str:
        bad = sum(int((~np.isfinite(x)).sum()) for x in logged)
        return f"{bad} of {sum(map(len, logged))} newest points are not"

    return Measure(measured)


def counted(name: str, wrong: Callable[[Floats], np.ndarray], text: str) -> Callable[[Look, Params], Measure | None]:
    """A measure of a sum that the user logs for this check."""

    def measure(look: Look, p: Params) -> Measure | None:
        x = look.values(name)[-NEWEST:]
        if not len(x):
            return None
        bad = wrong(x)
        measured = f"{int(bad.sum())} of {len(x)} rows are off"
        return Measure(measured, name, CRITICAL, text) if lasting(bad, p) else Measure(measured)

    return measure


def not_logged(look: Look, p: Params) -> Measure | None:
    """For an invariant that no log shows."""
    return None


def _largest_advantage(look: Look) -> Floats | None:
    low, high = (x[-NEWEST:] for x in side_by_side(look, "advantage_min", "advantage_max"))
    if not len(low):
        return None
    return np.maximum(np.abs(low), np.abs(high))


def _normalised(look: Look) -> bool:
    """Whether advantages are divided by the group's spread (the default of every group-relative estimator except Dr.
    GRPO)."""
    plain = any(word in look.settings.word("adv_estimator") for word in ("dr_grpo", "drgrpo", "rloo"))
    return not plain and look.settings.word("norm_adv_by_std") not in ("false", "0", "none")
