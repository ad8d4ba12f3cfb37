"""A reward that falls."""

from __future__ import annotations

from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from rltui.evidence.clock import enough
from rltui.evidence.effects import LIMIT, POWER, carry, chance, median_error, noise
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Mark
from rltui.evidence.shifts import ALL_BUT, louder, step_between
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import block_levels, sd_d, sd_m, windows
from rltui.plots.numbers import percent
from rltui.rules.base import Memory, Params, held, loud, reward_name, rule, validation
from rltui.rules.gains import validation_rises_since
from rltui.rules.traits import Trait
from rltui.run.sums import kind_of_level, level_of, levels_of
from rltui.run.table import Floats, Series


@rule("reward-collapse", Look)
def reward_collapse(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Reward far below a peak. The peak is frozen once found, so that a slow fall cannot move its own reference."""
    series = look.series(look.reward)
    if series is None or not enough(p["warmup"], series.steps):
        return []
    x = series.values
    n, block = len(x), int(p["block"])
    if memory.get("first") != series.rows[0]:
        memory.clear()  # the peak is from rows that no longer count
    if "peak" in memory:
        peak, sd, wander, rise = (memory[k] for k in ("peak", "noise", "wander", "rise"))
        if level_of(x[-10:]) > peak - 2.0 * max(wander, sd):
            memory.clear()
            return []
        start = int(memory["start"])
    else:
        found = _peak(x, n, block, p)
        if found is None:
            return []
        peak, sd, wander, rise, start = found
    profile = look.profile
    floor = profile.floor if profile.floor is not None else float(x.min())
    falls = _falls(x, start, _limits(peak, sd, wander, p["rise"] * rise, floor, p), peak, p)
    if not falls and "peak" not in memory and (early := _early(x, n, block, p)) is not None:
        peak, sd, wander, rise, start = early
        falls = _falls(x, start, _limits(peak, sd, wander, p["half"] * (peak - floor), floor, p), peak, p)
    if not falls:
        return []
    rows, below = falls[0]
    fallen = level_of(x[-rows:])
    if "peak" not in memory:
        memory.update(peak=peak, noise=sd, wander=wander, rise=rise, start=float(start), first=float(series.rows[0]))
    at_floor = _at_floor(look, x, below, peak, floor, p)
    held_out = validation(look)
    led = loud(look, Trait.LEADS_FALL)
    level = CRITICAL if at_floor or led or (held_out is not None and held_out < -3.0) else WARNING
    onset = _fall(x, start, below)
    best, at = _best(look, peak, int(series.steps[below]))
    if at:  # no fall begins before the best
        first, low = _best_row(look, series), level_of(x[below : below + 5])
        onset = max(first, min(onset, fall_begins(x[: below + 5], first, best, low)))
    onset = _at_once(series, onset, below, peak - fallen)
    nothing = profile.floor is not None and fallen <= floor + p["near_floor"] * max(profile.spread, peak - floor)
    nothing |= best > 0.0 and fallen <= p["near_floor"] * best  # harder prompts do not explain so much
    if not (nothing or led) and validation_rises_since(look, int(series.steps[onset])):  # the prompts became harder
        slowly = _took(x, onset, best, fallen) >= p["slowly"] * n
        level, at_floor = NOTICE if slowly else WARNING, False
    share = (best - fallen) / abs(best) if best else 1.0
    summary = f"{reward_name(look)} fell from its best of {num(best)}{at} to {num(fallen)} "
    summary += f"({kind_of_level(x[-rows:])} of the last {rows} rows)"
    summary += f", {percent(share)} lost" if best > 0 and share < 1.0 else ""  # a share of what was above zero
    summary += ", down to its floor." if at_floor else "."
    return [
        Signal(
            level,
            summary,
            (
                (
                    look.reward,
                    f"{num((peak - fallen) / max(sd, 1e-12))} times its noise below the peak of {num(peak)}",
                ),
            ),
            onset_step=int(series.steps[onset]),
            marks=(Mark.TO_ITS_FLOOR,) if at_floor else (),
            lasted=n - below,
        )
    ]


LOST_FOR = 0.25
"""Share of the rows so far: a loss that lasts this long is not a dip (as in `stopping`)."""


def _at_floor(look: Look, x: Floats, below: int, peak: float, floor: float, p: Params) -> bool:
    """Whether the reward has reached its floor or, if that is unknown, its lowest level so far; or has lost half and
    has long been near its lowest level. Once reported, this holds until the reward has come up twice as far."""
    n, few, block = len(x), int(p["few"]), int(p["block"])
    near = p["near_floor"] * (2.0 if held(look, "reward-collapse", CRITICAL) else 1.0)
    if level_of(x[-few:]) <= floor + near * max(look.profile.spread, peak - floor):
        return look.profile.floor is not None or _as_far_as_answers_differ(look, x, peak)
    if n - below < max(block, LOST_FOR * n):
        return False
    now, lowest = level_of(x[-block:]), float(levels_of(windows(x[-2000:], few)).min())
    return now <= lowest + 2.0 * near * (peak - lowest) and peak - now >= p["half"] * abs(peak)


def _as_far_as_answers_differ(look: Look, x: Floats, peak: float) -> bool:
    """Whether the lowest rewards so far are as bad as a floor, if the floor is unknown: only if a usual answer differs
    less from the mean of its batch than the reward has lost, or if half of the reward is lost."""
    spread = look.series("reward_std")
    lost = peak - float(x.min())
    return lost >= 0.5 * abs(peak) or (spread is not None and lost >= float(spread.values.max()))


def _best(look: Look, peak: float, fell_at: int) -> tuple[float, str]:
    """Best sustained reward and its step in words, as everywhere else; the rule's own peak if the best came after the
    fall."""
    found = look.facts.metric(look.reward)
    best = found.peak if found is not None else None
    return (peak, "") if best is None or best.step > fell_at else (best.value, f" around step {best.step}")


def _best_row(look: Look, series: Series) -> int:
    """Index of the best sustained reward."""
    found = look.facts.metric(look.reward)
    best = None if found is None else found.peak
    return 0 if best is None else int(series.steps.searchsorted(best.step))


def _peak(x: Floats, n: int, block: int, p: Params) -> tuple[float, float, float, float, int] | None:
    """Highest median of `block` rows in the last `look` rows, without the newest; then the noise and the wander there,
    the rise up to it, and its row."""
    first = max(0, n - int(p["look"]) - block + 1)
    window = x[first : n - int(p["quiet"])]
    if len(window) < block:
        return None
    medians = levels_of(windows(window, block))
    j = int(medians.argmax())
    end = first + j + block
    before = x[max(0, end - 3 * block) : end]
    peak = float(medians[j])
    sd = sd_d(before)
    return peak, sd, min(sd_m(before), max(sd, sd_m(_off_line(before)))), max(0.0, peak - level_of(x[:5])), end


def _off_line(x: Floats) -> Floats:
    """The values minus the straight line through them: a rise to the peak is not wander about it. In a short run the
    rows before a peak hold all that was learnt, and no fall is as large as four times that."""
    t = np.arange(len(x)) - (len(x) - 1) / 2.0
    off: Floats = x - t * (float((t * x).sum()) / max(1.0, float((t * t).sum())))
    return off


def _early(x: Floats, n: int, block: int, p: Params) -> tuple[float, float, float, float, int] | None:
    """As `_peak`, for a run that broke before a block was full: the highest median of `few` rows among its first ones.
    The rows after them, which hold no fall, show how far the reward wanders."""
    few = int(p["few"])
    head = x[: min(block, n - int(p["quiet"]))]
    if n > int(p["look"]) + block or len(head) < few:
        return None
    medians = levels_of(windows(head, few))
    j = int(medians.argmax())
    sd = max(sd_d(x), sd_d(head))
    return float(medians[j]), sd, max(sd, sd_m(x[block:][-200:])), 0.0, j + few


class _Limit(NamedTuple):
    """A level, and the number of rows whose median must have fallen below it."""

    level: float
    rows: int


def _limits(peak: float, noise: float, wander: float, lost: float, floor: float, p: Params) -> tuple[_Limit, _Limit]:
    """Two limits: for a few rows, and for more rows if single rows are too noisy for a few of them to show a fall. The
    limit for more rows also asks that half is lost, as more rows also show a small decline."""
    few, many = int(p["few"]), int(p["block"])
    at_once = max(p["sd_noise"] * noise, p["sd_level"] * wander, lost)
    steadier = sqrt(few / many)
    drifts = wander * sqrt(max(0.0, 1.0 - (noise / wander) ** 2)) if wander > noise else 0.0
    deep = max(p["sd_noise"] * noise * steadier, p["sd_level"] * hypot(drifts, noise * steadier), lost)
    return _Limit(peak - at_once, few), _Limit(peak - max(deep, p["half"] * (peak - floor)), many)


def _falls(x: Floats, start: int, limits: tuple[_Limit, ...], peak: float, p: Params) -> list[tuple[int, int]]:
    """For each limit below the peak that the reward has fallen below: its number of rows, and the index since when."""
    deep = [limit for limit in limits if limit.level < peak]
    return [(limit.rows, below) for limit in deep if (below := _fallen(x, start, limit, p)) is not None]


def _fallen(x: Floats, start: int, limit: _Limit, p: Params) -> int | None:
    """Index since which the reward has been below the limit. None if it is not, or not for long enough."""
    if level_of(x[-limit.rows :]) >= limit.level:
        return None
    below = _since(x, start, *limit)
    return below if len(x) - below >= max(limit.rows, p["hold_share"] * len(x)) else None


def _since(x: Floats, start: int, level: float, rows: int) -> int:
    """Index since which the median of `rows` rows stays below the level, not before `start`."""
    part = x[max(start, len(x) - 2000) :]
    if len(part) < rows:
        return len(x)
    smooth = levels_of(windows(part, rows))
    above = np.flatnonzero(smooth >= level)
    return len(x) - len(part) + (int(above[-1]) + rows // 2 + 1 if len(above) else 0)


AROUND = 5
"""A sudden fall is looked for from this many rows before the onset to as many after the row where it is clear."""


def _at_once(series: Series, onset: int, below: int, fall: float) -> int:
    """The row of a sudden fall, if most of the fall came between two rows: a line through a fall that noise blurs
    begins some rows before it. Otherwise the onset unchanged."""
    steps, last = series.steps, len(series) - 1
    jump = step_between(series, int(steps[max(0, onset - AROUND)]), int(steps[min(last, below + AROUND)]))
    if jump is None or jump.before - jump.after < ALL_BUT * fall:
        return onset
    return int(steps.searchsorted(jump.step))


def _fall(x: Floats, start: int, below: int) -> int:
    """Index at which the fall began from the level of the peak's block."""
    level = level_of(x[max(0, start - 25) : start])
    low = level_of(x[below : below + 5]) if below < len(x) else float(x[-1])
    if below - start < 0:
        return below
    return fall_begins(x[:below], max(0, start - 5), level, low)


@rule("reward-peak-decline", Look)
def reward_peak_decline(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The reward is below its own best, beyond the noise and by a tenth; or its blocks rise to a peak and fall."""
    score = look.facts.metric(look.reward)
    if score is None or not enough(p["rows_short"], score.series.steps):
        return []
    fall = score.since_peak
    if fall is not None and fall.direction == -score.better:
        found = _by_blocks(look, score, p) or _below_best(look, score, p)
    else:  # the best of many noisy means is above the others by chance, the more so if noise carries over
        found = _below_start(look, score, p)
    if found is None:
        return []
    peak, low, step, z, rows = found
    if peak - low < _by_chance(score, rows):
        return []
    onset = int(score.series.steps.searchsorted(step))
    if score.peak is not None and (first := _best_row(look, score.series)) < len(score.series) - rows:
        onset = max(first, min(onset, fall_begins(score.values, first, score.peak.value, low)))
    step = int(score.series.steps[_at_once(score.series, onset, onset, peak - low)])
    held_out = validation(look)
    level = CRITICAL if held_out is not None and held_out < -2.0 and loud(look, Trait.VALIDATION_FALLS) else WARNING
    best, at = _best(look, peak, step)
    slowly = _took(score.values, int(score.series.steps.searchsorted(step)), best, low) >= p["slowly"] * len(
        score.series
    )
    level = NOTICE if level == WARNING and slowly and validation_rises_since(look, step) else level
    share = (best - low) / abs(best) if best else 1.0
    summary = f"{reward_name(look)} was at its best{at or f' near step {step}'}, {num(best)}, and is at {num(low)} "
    summary += f"({kind_of_level(score.values[-rows:])} of the last {rows} rows)" + (
        f", {percent(share)} lower." if best > 0 <= low else "."
    )
    return [Signal(level, summary, ((look.reward, f"{num(z)} times its noise below its peak"),), onset_step=step)]


def _took(x: Floats, onset: int, best: float, now: float) -> int:
    """How many rows half of a fall took from the onset: harder prompts come little by little, a break is sudden."""
    lost = (x[onset:] - now) * np.sign(best - now) < abs(best - now) / 2.0
    most = np.convolve(lost, np.ones(5), mode="valid") >= 3 if len(lost) >= 5 else lost
    return int(most.argmax()) if most.any() else len(lost)


def _by_chance(score: MetricFacts, rows: int) -> float:
    """How far, for a reward that became noisier, the best of many levels is above the next by chance. Otherwise 0."""
    since = louder(score.series.steps, score.values)
    if since is None:
        return 0.0
    x = score.values[score.series.steps.searchsorted(since) :]
    return (LIMIT + chance(len(x), rows)) * sqrt(2.0) * median_error(rows, noise(x), carry(x))


Fall = tuple[float, float, int, float, int]
"""Peak, level now, step at which the reward left the peak, fall in multiples of its noise, rows of the level now."""


def _by_blocks(look: Look, score: MetricFacts, p: Params) -> Fall | None:
    """The fall that blocks of the whole run, or of its newest rows, show."""
    blocks, x, recent = look.blocks(look.reward), score.values, int(p["recent"])
    n = len(x)
    if blocks is None:
        return None
    whole = _decline(look, blocks.levels, n >= p["rows"], p)
    if whole is not None:
        _, z, peak, low, at = whole
        at = fall_begins(blocks.levels, at, peak, low) * blocks.size
        return peak, low, int(score.series.steps[min(n - 1, at)]), z, 2 * (n // int(p["blocks"]))
    newest = _decline(look, x[-recent:], True, p) if n > recent else None
    if newest is None:
        return None
    _, z, peak, low, at = newest
    at = fall_begins(x, at + n - recent, peak, low)
    return peak, low, int(score.series.steps[min(n - 1, at)]), z, 2 * (recent // int(p["blocks"]))


def _below_best(look: Look, score: MetricFacts, p: Params) -> Fall | None:
    """The fall by the fact table. Differences of blocks contain a slow decline itself and count it as noise. A best
    that lasted no longer than the window of the present level is a spike."""
    best, fall, now, steps = score.peak, score.since_peak, score.now, score.series.steps
    if best is None or fall is None:
        return None
    at = int(steps.searchsorted(best.step))
    first, last = max(0, at - now.points), min(len(steps) - 1, at + now.points)
    around = score.within(int(steps[first]), int(steps[last]), 2 * now.points + 1)
    share = p["share"] if len(steps) >= p["rows"] else p["share_short"]
    peak = best.value if around is None else min(best.value, around.value)
    if peak - now.value < max(share * _height(look, peak), fall.smallest - POWER * fall.se):
        return None
    at = fall_begins(score.values, at, peak, now.value)
    return peak, now.value, int(steps[min(len(steps) - 1, at)]), abs(fall.errors), now.points


MANY = 20
"""Fewest rows of a first window that give their own error: with five neighbours whose noise carries over, the error is
far too small."""


def _below_start(look: Look, score: MetricFacts, p: Params) -> Fall | None:
    """The fall from the first rows, beyond the chance of the lowest of so many means. No best was picked among many, so
    this shows a fall in noise that hides a fall from the best."""
    start, end, lost = score.start, score.end, score.since_start
    if (
        lost is None
        or start.points < MANY
        or lost.errors * score.better > -LIMIT - chance(len(score.values), start.points)
    ):
        return None
    share = p["share"] if len(score.values) >= p["rows"] else p["share_short"]
    if abs(lost.value) < share * _height(look, start.value):
        return None
    at = fall_begins(score.values, start.points, start.value, end.value)
    return start.value, end.value, int(score.series.steps[at]), abs(lost.errors), end.points


def _height(look: Look, peak: float) -> float:
    """What can be lost from a peak: its value or, if the floor is unknown and it is smaller, the reward's range."""
    return abs(peak) if look.profile.floor is not None else min(abs(peak), look.profile.spread)


def fall_begins(x: Floats, start: int, peak: float, low: float) -> int:
    """Index from `start` on at which the fall from the peak began: the line through the points where a quarter and
    three quarters were lost, taken back to the peak. A slow fall loses its first quarter long after it began. Returns
    `start` if the level is not lower than the peak."""
    part = x[start:]
    if len(part) < 5 or not low < peak:
        return start
    quarter, most = (_crosses(part, peak - share * (peak - low)) for share in (0.25, 0.75))
    return start + max(0, quarter - (max(quarter, most) - quarter) // 2)


def _crosses(x: Floats, level: float) -> int:
    """The cut with the fewest values below the level before it and above the level after it. The last value above the
    level would come later with more noise."""
    more = 1 - 2 * (x >= level).view(np.int8)
    wrong = more.astype(np.int32).cumsum(dtype=np.int32)  # compared with a cut before all values
    best = int(wrong.argmin())
    return best + 1 if wrong[best] < 0 else 0


def _decline(look: Look, x: Floats, long: bool, p: Params) -> tuple[float, float, float, float, int] | None:
    """Drop, its z, peak, level now and index of the end of the peak's block. None if there is no decline."""
    count = int(p["blocks"])
    b = block_levels(x, count)
    j = int(b[:-1].argmax())
    low = float(b[-2:].mean())
    drop = float(b[j]) - low
    s = max(sd_d(b), 1e-9)
    z = drop / (s * sqrt(1.5))
    need, share = (p["z"], p["share"]) if long else (p["z_short"], p["share_short"])
    if z <= need or drop <= share * _height(look, float(b[j])) or b[-1] >= b[j] - 2 * s or j >= count - 2:
        return None
    return drop, z, float(b[j]), low, min(len(x) - 1, int((j + 1) * len(x) / count))
