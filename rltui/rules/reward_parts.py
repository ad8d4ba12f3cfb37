"""Parts of a reward: the task no longer rises while the total does, or a part never moved."""

from __future__ import annotations

import numpy as np

from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts, alone
from rltui.evidence.shifts import Shift
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import onset
from rltui.frameworks.parts import is_effort, is_task
from rltui.plots.numbers import percent
from rltui.rules.base import PARTS, Memory, Params, little_gained, never_right, rule
from rltui.run.sums import median
from rltui.run.table import Series

HALF = 0.5
"""Share of its gain that the total must make at once for both to part there: the part may have been level for long."""
NEARLY = 0.1
"""Share of its gain that a part may lack and still have made nearly all of it."""


@rule("reward-component-decoupling", Look)
def reward_component_decoupling(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The part that is the task falls below its start, or for good below its best, while the total keeps rising."""
    total = look.facts.metric(look.reward)
    if total is None or len(total.series) < p["min_rows"]:
        return []
    risen = look.facts.errors(look.reward) >= p["gain_se"]
    parts = [
        (total, alone(member, series))
        for member, series in look.family(PARTS).items()
        if is_task(member) and len(series) >= p["min_rows"]
    ]
    found = [_below_start(look, part, p) if risen else None for _, part in parts]
    signals = [known or _past_best(*pair, p) for known, pair in zip(found, parts, strict=True)]
    told = [signal for signal in signals if signal is not None]
    return told or _without_task(look, total, [part for _, part in parts], p)


def _without_task(look: Look, total: MetricFacts, parts: list[MetricFacts], p: Params) -> list[Signal]:
    """The total rose while each part that is the task gained next to nothing; or it rose at once and they did not."""
    if not parts:
        return []
    first = parts[0]
    jump = next((s for s in total.shifts if s.after - s.before >= p["jump_share"] * look.profile.spread), None)
    if jump is not None:
        rows = int(p["jump_rows"])
        gain, own = (_across(one, jump.step, rows) for one in (total, first))
        if gain > 0 and all(_across(part, jump.step, rows) < p["jump_of"] * gain for part in parts):
            began = _left(total, jump)
            summary = f"The reward rose by {num(gain)} from step {began} on, and the task itself ({first.name}) by "
            summary += f"{num(own)} (medians of {rows} rows before and after): another part or weight pays for it."
            return [Signal(WARNING, summary, ((look.reward, ""), (first.series.key, "")), onset_step=began)]
    rise = total.since_start
    rose = rise is not None and rise.errors >= p["gain_se"] and not _all_of_it(rise.value, parts, p)
    bounded = [part for part in parts if float(part.values.min()) >= 0.0 and float(part.values.max()) <= 1.0]
    if not rose or len(bounded) < len(parts):
        return []
    if (
        never_right(look)
        or little_gained(look, total, look.profile.ceiling)
        or not all(little_gained(look, part, 1.0) for part in parts)
    ):
        return []
    summary = f"The task itself ({first.name}) gained next to nothing in {len(first.values)} rows: "
    summary += f"{num(first.start.value)} → {num(first.end.value)}, while the total reward rose "
    summary += f"{num(total.start.value)} → {num(total.end.value)} (means of both ends)."
    onset = int(first.series.steps[0])
    return [Signal(WARNING, summary, ((first.series.key, ""), (look.reward, "")), onset_step=onset)]


def _all_of_it(rise: float, parts: list[MetricFacts], p: Params) -> bool:
    """Whether the task has a share in the rise of the total, even if both are small: then no other part made it."""
    own = [part.since_start.value if part.since_start is not None else 0.0 for part in parts]
    return any(gain >= p["jump_of"] * rise for gain in own)


def _left(total: MetricFacts, jump: Shift) -> int:
    """Step at which the total left its earlier level. The jump's own step is where most of it is done."""
    level = jump.before + (jump.after - jump.before) / 4.0
    at = int(total.series.steps.searchsorted(jump.step))
    while at > 0 and total.values[at - 1] > level:
        at -= 1
    return int(total.series.steps[at])


def _across(metric: MetricFacts, step: int, rows: int) -> float:
    """By how much a metric differs after a step from before it, by medians of `rows` points. 0 if unknown."""
    before, after = metric.before(step, rows), metric.since_step(step)
    if before is None or after is None or not len(after.series):
        return 0.0
    return median(after.values[rows : 2 * rows] if len(after.values) >= 2 * rows else after.values) - before.value


def _below_start(look: Look, part: MetricFacts, p: Params) -> Signal | None:
    total = look.facts.metric(look.reward)
    if total is None or part.since_start is None or part.since_start.errors > -p["loss_se"]:
        return None
    first, last = part.start.value, part.end.value
    lost = (first - last) / abs(first) if first else 1.0
    rise = total.end.value - total.start.value
    summary = (
        f"{part.name} fell from {num(first)} to {num(last)}, {percent(lost)} lost, while the total reward rose by "
    )
    summary += f"{num(rise)} (means of {part.end.points} rows at both ends)."
    level = CRITICAL if lost > p["critical_share"] else WARNING
    proofs = ((part.series.key, ""), (look.reward, ""))
    return Signal(level, summary, proofs, subject=part.name, onset_step=_onset(part.series))


def _past_best(total: MetricFacts, part: MetricFacts, p: Params) -> Signal | None:
    """The part has certainly come down from its best, or has not risen since, while the total, which includes it, kept
    rising. If the part is only level, the total must have gained more than the part ever did."""
    best = part.peak
    if best is None or best.value <= 0:
        return None
    lost = (best.value - part.now.value) / best.value
    fell = part.below_best and lost >= p["least_share"]
    at = best.step if fell else _reached(part)
    since = total.since_step(at)
    gain = None if since is None else since.since_start
    if since is None or gain is None or gain.errors < p["gain_se"]:
        return None
    if not fell and not _stands(part, gain.value, len(since.series), p):
        return None
    if fell:
        how = f"was at its best around step {best.step}, {num(best.value)}, and is at {num(part.now.value)} "
        how += f"(median of the last {part.now.points} rows)"
        how += f", {percent(lost)} lower" if part.now.value >= 0 else ""
    else:
        how = f"has hardly risen since step {at} (its best is {num(best.value)})"
    summary = f"{part.name} {how}, and the total reward rose {num(since.start.value)} → {num(since.end.value)} since "
    summary += "that step." if fell else "that step: other parts made nearly all of that gain."
    proofs = ((part.series.key, ""), (total.name, ""))
    leaps = [s.step for s in total.shifts if s.step > at and s.after - s.before >= HALF * gain.value]
    return Signal(WARNING, summary, proofs, subject=part.name, onset_step=leaps[0] if leaps else at)


def _reached(part: MetricFacts) -> int:
    """First step at which the part had gained nearly all of its present gain. If it is level since then, its highest
    point may lie anywhere."""
    curve, first, last = part.curve, part.start.value, part.end.value
    if curve is None:
        return int(part.series.steps[0])
    return int(curve.steps[int((curve.values >= last - NEARLY * (last - first)).argmax())])


def _stands(part: MetricFacts, gain: float, rows: int, p: Params) -> bool:
    """Whether the task was learnt for a while and no longer is. A part that never gained may be learnt late, as format
    comes first."""
    own = part.since_start
    learnt = own is not None and own.errors >= p["loss_se"]
    return learnt and rows >= p["level_rows"] and part.peak is not None and gain > part.peak.value - part.start.value


def _onset(series: Series) -> int:
    values = series.values[-200:]
    return int(series.steps[len(series) - len(values) + onset(values)])


@rule("reward-part-lost", Look)
def reward_part_lost(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A part that is not the task, and was earned, is given up while the total does not fall: language, format or
    safety. Parts that charge for effort, such as length, are left out: they pay less as the policy thinks longer."""
    total = look.facts.metric(look.reward)
    members = look.family(PARTS)
    if total is None or len(members) < 2 or look.facts.errors(look.reward) < -p["total_se"]:
        return []
    found: list[tuple[float, MetricFacts]] = []
    for member, series in members.items():
        if is_task(member) or is_effort(member) or len(series) < p["min_rows"] or float(series.values.min()) < 0.0:
            continue
        part = alone(member, series)
        lost = _given_up(part, p)
        if lost is not None:
            found.append((lost, part))
    if not found:
        return []
    lost, part = max(found, key=lambda one: one[0])
    best = part.peak
    if best is None:
        return []
    onset = _left_best(part, best.value)
    since = total.since_step(onset)
    change = None if since is None else since.since_start
    if change is None or change.errors < -p["total_se"]:
        return []
    went = "rose" if change.errors > p["total_se"] else "kept its level"
    summary = f"{part.name} fell from {num(best.value)} to {num(part.now.value)} "
    summary += f"(median of the last {part.now.points} rows), {percent(lost)} lower, while the total reward {went}: "
    summary += "the policy gives this part up for the others."
    return [Signal(WARNING, summary, ((part.series.key, ""), (look.reward, "")), subject=part.name, onset_step=onset)]


def _left_best(part: MetricFacts, best: float) -> int:
    """The last step at which the part still had nearly all of what it has since lost."""
    curve = part.curve
    if curve is None:
        return int(part.series.steps[0])
    return int(curve.steps[int(np.flatnonzero(curve.values >= best - NEARLY * (best - part.now.value))[-1])])


def _given_up(part: MetricFacts, p: Params) -> float | None:
    """Share of its best that a part has lost for good. None if it has lost little, or was never earned."""
    best = part.peak
    if best is None or best.value < p["earned"] * float(part.values.max()) or not part.below_best:
        return None
    lost = (best.value - part.now.value) / best.value
    return lost if lost >= p["lost"] else None


@rule("reward-component-dead", Look)
def reward_component_dead(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A part that has been constant from the start while others vary."""
    members = look.family(PARTS)
    rows = int(p["rows"])
    if len(members) < 2:
        return []
    constant = {m: s for m, s in members.items() if enough(rows, s.steps) and np.ptp(s.values[-2000:]) == 0.0}
    if len(constant) == len(members):
        return []
    out = []
    for member, series in constant.items():
        value = float(series.values[-1])
        learnt = value > 0.0
        summary = f"Reward part {member} has stood at {num(value)} for all {len(series)} rows."
        level = NOTICE if learnt or not _varies(members, member) else WARNING
        if level == WARNING and is_task(member) and enough(p["critical_rows"], series.steps):
            level = CRITICAL
            summary += " It is the task: what is learnt is only what the other parts pay for."
        out.append(
            Signal(
                level,
                summary,
                ((series.key, f"constant {num(value)}"),),
                subject=member,
                onset_step=int(series.steps[0]),
            )
        )
    return out


def _varies(members: dict[str, Series], but: str) -> bool:
    return any(m != but and np.ptp(s.values[-200:]) > 0.0 for m, s in members.items())
