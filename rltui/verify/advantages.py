"""Probes of the advantage function: signal, sign, group layout, and the constant in the denominator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.estimators import estimator

STAGE = "advantages"
GROUP = 4
VARIED, CONSTANT = (2.0, -1.0, 0.3, 0.7), (0.5, 0.5, 0.5, 0.5)
FLAT, TINY = 0.1, 1e-3
DEAD = 1e-6
EPSILON_DOUBT, EPSILON_WRONG = 0.05, 0.25
"""Limits of the constant as shares of a spread of 0.01. 1e-8 to 1e-4 is usual, at most a hundredth of the spread. A
constant of a quarter of the spread makes the advantages a fifth smaller; 1 washes out those of a 0/1 reward."""
CENTRED = ("group", "centred", "leave-one-out", "group-batch")
"""Estimators whose advantages sum to 0 in each group."""
WIDE = 1e4
NARROW = (1.0, 0.1, 0.01)


def probes(adapters: Adapters) -> Iterator[Check]:
    """All probes of `advantage(rewards, num_generations)`."""
    for name, probe in (
        ("advantages of a varied group", _groups),
        ("epsilon", _epsilon),
        ("rewards after the advantages", _kept),
    ):
        yield from guarded(STAGE, name, partial(probe, adapters, name))


def _ask(adapters: Adapters, groups: Floats) -> Floats:
    """Advantages of groups (N, G). The function gets the rewards and returns the advantages in the declared layout."""
    function = adapters.functions["advantage"]
    assert function is not None
    strided = adapters.layout == "repeat"
    flat = (groups.T if strided else groups).reshape(-1)
    got = plain(function(adapters.array(flat), groups.shape[1])).reshape(-1)
    if got.shape != flat.shape:
        raise ValueError(f"{got.size} advantages for {flat.size} rewards")
    result: Floats = got.reshape(groups.shape[::-1]).T if strided else got.reshape(groups.shape)
    return result


def _groups(adapters: Adapters, name: str) -> Iterator[Check]:
    got = _ask(adapters, np.array([VARIED, CONSTANT]))
    if not np.isfinite(got).all():
        yield Check(
            STAGE, name, "!!", f"{int((~np.isfinite(got)).sum())} of 8 are not finite", "also for a zero-variance group"
        )
        return
    size = float(np.abs(got[0]).max())
    mark: Mark = "!!" if size <= DEAD else "?" if size < FLAT else ""
    yield Check(STAGE, name, mark, f"largest magnitude {size:.4f}", "rewards 2, -1, 0.3, 0.7: above 0.1")
    rising = float(np.corrcoef(got[0], VARIED)[0, 1]) if size > DEAD else 0.0
    found = [Check(STAGE, "sign", _sign(rising), f"correlation with the reward {rising:+.3f}", "it must rise with it")]
    if adapters.advantage in ("", *CENTRED):
        flat = float(np.abs(_ask(adapters, np.array([CONSTANT, CONSTANT]))).max())
        mark = "!!" if flat > FLAT else "?" if flat > TINY else ""
        yield Check(STAGE, "advantages of a zero-variance group", mark, f"{flat:.4g}", "0.5 everywhere: 0")
        for i, total in enumerate(got.sum(1)):
            yield Check(STAGE, f"sum of group {i}", "?" if abs(total) > TINY else "", f"{total:.4g}", "0 (1e-3)")
        found.insert(0, _layout(adapters))
    yield from found
    if size > DEAD and all(one.mark != "!!" for one in found):  # else the reason is already reported
        yield from estimator(partial(_ask, adapters), adapters)


def _kept(adapters: Adapters, name: str) -> Iterator[Check]:
    """Whether the function changes the rewards that it is given: what is logged as the reward afterwards is none."""
    function = adapters.functions["advantage"]
    assert function is not None
    before = np.array([*VARIED, *CONSTANT], dtype=np.float32)
    held = adapters.array(before.copy())
    function(held, GROUP)
    off = float(np.abs(plain(held) - before).max())
    value = f"changed by up to {off:.3g}: are they used or logged afterwards?" if off else "as they were"
    yield Check(STAGE, name, "?" if off else "", value, "given and looked at again")


def _sign(rising: float) -> Mark:
    return "!!" if rising < 0 else "?" if rising < 0.99 else ""


def _layout(adapters: Adapters) -> Check:
    """Checks which completions are treated as one group: the advantages of each of three groups with very different
    rewards must sum to 0."""
    groups = np.array([[10.0, 11.0, 12.0, 13.5], [0.0, 1.0, 2.0, 3.5], [5.0, 5.5, 6.0, 9.0]])
    got = _ask(adapters, groups)
    own = float(np.abs(got.sum(1)).max())
    flat = (groups.T if adapters.layout == "repeat" else groups).reshape(-1)
    taken = got.T.reshape(-1) if adapters.layout == "repeat" else got.reshape(-1)
    n = len(groups)
    other = taken.reshape(GROUP, n).T if adapters.layout == "repeat_interleave" else taken.reshape(n, GROUP)
    crossed = float(np.abs(other.sum(1)).max())
    how = f"declared: {adapters.layout}, sums of {len(flat) // GROUP} groups of {GROUP}"
    if own <= TINY:
        return Check(STAGE, "group layout", "", f"{adapters.layout}, largest sum {own:.2g}", how)
    if crossed <= TINY:
        wrong = "repeat" if adapters.layout == "repeat_interleave" else "repeat_interleave"
        return Check(STAGE, "group layout", "!!", f"groups are formed as {wrong}: prompts are mixed", how)
    return Check(STAGE, "group layout", "?", f"no layout gives sums of 0 ({own:.3g}): not centred by group", how)


def _epsilon(adapters: Adapters, name: str) -> Iterator[Check]:
    """A = d s / (c s + ε) for rewards of spread s. 1/A gives c/d at a wide spread, and ε at narrower ones."""
    base = np.array([[1.0, -1.0, 1.0, -1.0]])

    def top(spread: float) -> float:
        return float(np.abs(_ask(adapters, base * spread)).max())

    wide = top(WIDE)
    if not np.isfinite(wide) or wide <= DEAD:
        yield Check(STAGE, name, "!!", f"largest magnitude {wide:.3g} at a spread of {WIDE:g}", "finite and not 0")
        return
    if abs(wide / top(WIDE / 10) - 10) < 0.1:
        yield Check(STAGE, name, "", "advantages are not divided by the spread: no constant to scan", "as in Dr. GRPO")
        return
    for spread in NARROW:
        yield Check(STAGE, f"spread {spread:g}", "", f"largest magnitude {top(spread):.4f}", "rewards ± the spread")
    spread = NARROW[-1]
    small = top(spread)
    epsilon = spread * (1 / small - 1 / wide) if small > 0 else np.inf
    shown = max(0.0, epsilon) if abs(epsilon) > 1e-9 else 0.0
    mark: Mark = "!!" if epsilon >= EPSILON_WRONG * spread else "?" if epsilon > EPSILON_DOUBT * spread else ""
    yield Check(
        STAGE, name, mark, f"about {shown:.2g} beside the spread", "1e-8 to 1e-4, far below the spread of rewards"
    )
