"""Helpers that all detectors share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

from rltui.evidence import words
from rltui.evidence.clock import enough, worth
from rltui.evidence.effects import LIMIT, Effect, chance
from rltui.evidence.facts import SOLVED
from rltui.evidence.look import Look
from rltui.evidence.metric import LEAST, NOW_POINTS, MetricFacts
from rltui.evidence.outages import POLICY
from rltui.evidence.present import present
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import WINDOW
from rltui.frameworks.load import metrics
from rltui.frameworks.parts import is_task
from rltui.plots.numbers import percent
from rltui.rules.catalogue import having
from rltui.rules.plain_gains import gained_before, stands_above
from rltui.rules.traits import Trait
from rltui.run.sums import kind_of_level, level_of, median
from rltui.run.table import Floats, Ints

Params = Mapping[str, float]
Memory = dict[str, float]
"""What a detector remembers from row to row: plain numbers, so that copying it is simple."""

MOST_ROWS = 1000
"""The most rows that a trend looks back over: more would cost too much at each row."""

S = TypeVar("S")
Detect = Callable[[S, Params, Memory], list[Signal]]


class Detector(Struct, Generic[S], frozen=True):
    """The function behind a rule. `sees`: what it looks at, which is rows (`Look`), samples (`Sampled`), the machine
    (`Measured`), or the run's state, files and coverage (`Standing`). `able`: whether what it needs is there. The
    metrics that a detector of rows needs are listed on the rule's page."""

    rule: str
    sees: type[S]
    detect: Detect[S]
    able: Callable[[S], bool]


REGISTERED: list[Detector[Any]] = []


def rule(id: str, sees: type[S], able: Callable[[S], bool] = lambda _: True) -> Callable[[Detect[S]], Detect[S]]:
    """Makes a function the detector of a rule. A rule may have one detector for each kind of data."""

    def register(detect: Detect[S]) -> Detect[S]:
        REGISTERED.append(Detector(id, sees, detect, able))
        return detect

    return register


def held(look: Look, rule: str, level: int = NOTICE) -> bool:
    """Whether the rule's own finding is open, at this level at least. The rule then updates the numbers although its
    condition no longer holds (`EASED`)."""
    return look.open.get(rule, 0) >= level


def opened(look: Look, trait: Trait) -> bool:
    """Whether a finding with this trait is open, at any level."""
    return _any_open(look, trait, NOTICE)


def loud(look: Look, trait: Trait) -> bool:
    """Whether a finding with this trait is open as a warning or worse."""
    return _any_open(look, trait, WARNING)


def critical(look: Look, trait: Trait) -> bool:
    """Whether a finding with this trait is open as critical."""
    return _any_open(look, trait, CRITICAL)


def _any_open(look: Look, trait: Trait, least: int) -> bool:
    if not look.open:
        return False
    bearers = having(trait)
    return any(level >= least and rule in bearers for rule, level in look.open.items())


def lasting(bad: np.ndarray[tuple[int], np.dtype[np.bool_]], p: Params) -> bool:
    """Whether a condition holds in more than half of the rows, of at least `rows`: a single odd row may be a broken
    line."""
    return len(bad) >= p["rows"] and bool(2 * np.count_nonzero(bad) > len(bad))


SINCE_POINTS = 256
"""The beginning of a condition is first looked for in this many newest points."""


def since(bad: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """The index since which a condition that holds now has held, apart from single exceptions."""
    near, end, after = SINCE_POINTS, len(bad), 0
    while end > 1 and not after:  # from the end: few conditions have held for most of a long run
        first = max(0, end - near)
        holds = bad[first + 1 : end] | bad[first : end - 1]
        if not holds.all():
            after = end - int(holds[::-1].argmin())
        near, end = near * 8, first + 1
    return after + int(bad[after:].argmax()) if after < len(bad) else len(bad) - 1


LEAPT, STANDS = 3, 0.8
"""Points that show a level, and the share of the present level that they reach if little was added since."""


def leapt(x: Floats, level: float) -> bool:
    """Whether a metric reached its present level at once, from a quarter of it or less, and has not gone further. A
    metric that grows or drifts by itself keeps moving."""
    began = since(x > level / 4.0)
    return began > 0 and median(x[began : began + LEAPT]) >= STANDS * level


def side_by_side(look: Look, *names: str) -> tuple[Floats, ...]:
    """Values of several metrics in the rows that hold all of them. Trainers log some metrics only every few steps, so a
    gap in one is not a gap in the others. Empty if one of them is not logged."""
    logged = [series for name in names if (series := look.series(name)) is not None]
    if len(logged) < len(names):
        return tuple(np.empty(0) for _ in names)
    holed = [series.rows for series in logged if len(series) < look.n]
    if not holed or (len(holed) == len(logged) and all(np.array_equal(rows, holed[0]) for rows in holed[1:])):
        return tuple(series.values for series in logged)
    if len(holed) == 1:
        return tuple(x.values[holed[0]] if len(x) == look.n else x.values for x in logged)
    common = rows_of_all(holed, look.n)
    return tuple(series.values[common if len(series) == look.n else common[series.rows]] for series in logged)


def rows_of_all(several: Sequence[Ints], n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of `n` rows are in all of several lists of rows. Sorting the lists instead took a hundredth of a second in
    a run of 100,000 rows."""
    common: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.ones(n, dtype=np.bool_)
    for rows in several:
        held = np.zeros(n, dtype=np.bool_)
        held[rows] = True
        common &= held
    return common


def tail(x: Floats, rows: float) -> float:
    """Level of the newest points, those that show the present level (`present`)."""
    return level_of(x[-present(x, rows) :])


def head(x: Floats, rows: float) -> float:
    """Level of the first points, over the window that `tail` uses if nothing jumps."""
    return level_of(x[: worth(rows, len(x))])


def logged_for(look: Look, name: str, rows: float) -> bool:
    """Whether the metric was logged for at least `rows` rows, or as many steps (`clock.enough`)."""
    series = look.series(name)
    return series is not None and enough(rows, series.steps)


def begins_with_the_run(look: Look, first_step: float) -> bool:
    """Whether the log begins where the training does: with one of the first steps, or with the first row of a log that
    has a row only every few steps. If the log begins later, the start of the run is unknown."""
    return look.facts.clock.first_step <= max(first_step, look.facts.clock.stride)


def compared(look: Look, name: str, rows: float, skip: float = 0) -> str:
    """Names the rows that a sentence with a `head` (after `skip` rows) and a `tail` compares. The evidence beside it
    shows means of other windows, so its numbers differ a little."""
    series = look.series(name)
    if series is None:
        return ""
    x, steps, k = series.values, series.steps, int(skip)
    early, late = slice(k, k + worth(rows, len(x) - k)), slice(-present(x, rows), None)
    kind, other = kind_of_level(x[early]), kind_of_level(x[late])
    first, last = (f"{steps[part][0]} to {steps[part][-1]}" for part in (early, late))
    return f"{kind}s of steps {first} and {last}" if kind == other else f"{kind} of steps {first}, {other} of {last}"


def newest(look: Look, name: str, rows: float) -> str:
    """Names the rows that a sentence with a `tail` is about. The table beside it shows means of other windows."""
    x = look.values(name)
    last = present(x, rows)
    return f"{kind_of_level(x[-last:])} of the last {last} rows"


def gained(look: Look, errors: float = LIMIT) -> bool:
    """Whether the train reward is `errors` standard errors better than at the start, no matter when it rose; or was so
    on its earlier scale; or has been clearly above its start since a leap."""
    better = look.facts.errors(look.reward) >= errors or (errors <= LIMIT and _in_order(look, 0))
    better = better or stands_above(look.values(look.reward)) or gained_before(look, errors)
    return better and not farmed(look)


def gaining(look: Look, rows: int = 0, errors: float = LIMIT) -> bool:
    """Whether the train reward is `errors` standard errors better than before, over the last `rows` rows. With 0: since
    the start, if the gain is not long over (`spent`)."""
    if rows:
        better = look.facts.errors(look.reward, rows) >= errors or (errors <= LIMIT and _in_order(look, rows))
        return better and not farmed(look)
    return gained(look, errors) and not spent(look)


FEW_ROWS = 40
"""With fewer rows, the means of both ends overlap, or contain the gain itself as if it were noise."""


def _in_order(look: Look, rows: int) -> bool:
    """Whether the last `rows` rows (0: all) are few and show a gain of the train reward by their order or their
    ends."""
    score = look.facts.metric(look.reward)
    count = 0 if score is None else min(max(rows, LEAST) if rows else len(score.series), len(score.series))
    if score is None or not count or count >= FEW_ROWS:
        return False
    part = score if count == len(score.series) else score.since_row(int(score.series.rows[-count]))
    return part is not None and score.better in (part.ordered, part.apart)


LEFT, SPENT_ROWS = 0.25, 100
"""If the gain is over, the newest half of the run holds at most this share of the whole gain; a gain that continues as
before would leave half there. Then the fewest rows of a run whose newest half can show this."""


def spent(look: Look) -> bool:
    """Whether the gain is long over: the newest half of the run shows none, and any gain that its noise could hide is
    small beside the whole. An old gain excuses nothing that is wrong now."""
    found = look.facts.metric(look.reward)
    if found is None or len(found.series) < SPENT_ROWS:
        return False
    whole, late = found.since_start, found.across(len(found.series) // 2)
    if whole is None or late is None or late.errors * found.better >= LIMIT:
        return False
    return late.value * found.better + LIMIT * late.se < LEFT * whole.value * found.better


def paying(look: Look, rule: str, rows: int = 0) -> bool:
    """As `gaining`, for a rule that stays quiet while the reward gains. If its warning is already open, the gain that
    closes it must exceed the best of that many noisy means, because the question is asked at each row."""
    told_before = held(look, rule, WARNING)
    return gaining(look, rows, LIMIT + chance(rows or look.n, NOW_POINTS) if told_before else LIMIT)


def farmed(look: Look) -> bool:
    """Whether the total reward no longer measures the task."""
    return loud(look, Trait.FARMS_REWARD)


def rising(look: Look) -> bool:
    """Whether the train reward has an upward trend, over the newest half of a long run."""
    return look.trend(look.reward, min(MOST_ROWS, max(WINDOW, look.n // 2))).direction > 0


def losing(look: Look, rows: int = 200) -> bool:
    """Whether the train reward falls: a finding of a collapse or decline is open, or its trend is downward."""
    return loud(look, Trait.REWARD_FALLS) or farmed(look) or (look.trend(look.reward, rows).direction < 0)


def solved(look: Look) -> bool:
    """Whether the reward is near its ceiling or, if that is unknown, validation is near its own. A fall of entropy,
    length or gradient then costs nothing."""
    return reached(look, SOLVED) or right_held_out(look)


def reached(look: Look, level: float) -> bool:
    """Whether the reward is at `level` or higher between its floor and its ceiling. The task's own part decides if it
    is logged and is a share."""
    task = _task_share(look)
    found = look.facts.reached if task is None else task
    return found is not None and found >= level and not farmed(look)


EVALUATIONS = 3
"""Newest evaluations that show how many answers are right."""


def right_held_out(look: Look) -> bool:
    """Whether validation finds nearly every answer right and the reward does not contradict that. Each validation set
    is a share and has lost nothing, and the reward has lost nothing since. A low part of the reward proves nothing: it
    may be logged multiplied by its weight."""
    sets, up = look.facts.validation_sets, look.facts.reached
    if not sets or (up is not None and up < SOLVED):
        return False
    shares = all(len(one.values) >= EVALUATIONS and 0.0 <= one.values.min() <= one.values.max() <= 1.0 for one in sets)
    if not shares or any(tail(one.values, EVALUATIONS) < SOLVED or one.below_best for one in sets):
        return False
    reward = look.facts.metric(look.reward)
    return reward is not None and not reward.below_best and not losing(look)


def _task_share(look: Look) -> float | None:
    """The lowest of the reward's task parts, from 0 to 1. None if there is none, or if one is not a share."""
    parts = [series.values for member, series in look.family(PARTS).items() if is_task(member) and len(series)]
    if not parts or any(x.min() < 0.0 or x.max() > 1.0 for x in parts):
        return None
    ceiling = look.profile.ceiling
    best = ceiling if ceiling is not None and 0.0 < ceiling < 1.0 else 1.0  # no part pays more than all together
    return min(1.0, min(tail(x, NOW_POINTS // 2) for x in parts) / best)


def dead_groups(look: Look) -> float | None:
    """Share of the groups whose samples all got the same reward. None if it is not logged (`Facts.dead_groups`)."""
    share = look.facts.dead_groups
    return None if share is None else share.value


def seldom_right(look: Look, limit: float, rows: int) -> str:
    """A sentence if hardly any answer can have earned the whole reward. With rewards between 0 and a maximum, at most
    the share mean / maximum can. Empty if more may have earned it, or if the log does not bound the rewards."""
    score = look.facts.metric(look.reward)
    parts = [look.series(look.reward.replace("_mean", end)) for end in ("_max", "_min")]
    if score is None or any(part is None for part in parts):
        return ""
    high, low = (part.values[-rows:] for part in parts if part is not None)
    most, now = float(high.max(initial=0.0)), tail(score.values, rows)
    if not 0.0 < most <= 1.0 or float(low.min(initial=0.0)) < 0.0 or not 0.0 <= now <= limit * most:
        return ""
    return f"at most {percent(now / most)} of the answers earn the whole reward of {num(most)}: nearly all groups fail"


PARTS = "reward_component_mean"
"""The family of the reward's parts."""


def never_right(look: Look) -> str:
    """The name of the reward's task part if no answer has ever earned it. Otherwise empty."""
    parts = {member: series for member, series in look.family(PARTS).items() if is_task(member) and len(series)}
    earned = any(float(series.values.max()) > 0.0 for series in parts.values())
    return "" if earned or not parts else next(iter(parts))


POINTS = 0.02
"""A smaller gain of a validation score between 0 and 1 does not count as a gain."""


LONG, LOGGED = 200, 50
"""Steps after which the pace of a gain shows what the run will bring, and the rows they need."""
LITTLE, NEAR = 0.05, 0.2
"""Share of the possible gain from the start to the ceiling that is next to nothing (published runs gain a fifth and
more), and the share of the range that the possible gain must be at least."""


GREW = 0.5
"""Share of the initial value. A metric that certainly grew by this much has learnt, even if it is far from its ceiling,
which may be only assumed."""
FIRST_SEEN = 0.02
"""Share of the range. From a smaller start, any growth would be many times the start."""


def little_gained(look: Look, metric: MetricFacts, ceiling: float | None) -> str:
    """Words for a run that gains next to nothing of the possible gain, projected to the end of the plan if there is
    one, while validation has not gained more either. Empty if the gain may be larger, if the ceiling is unknown, or if
    the start was near it."""
    whole, steps = metric.since_start, metric.series.steps
    if whole is None or ceiling is None or not enough(LONG, steps) or len(steps) < LOGGED:
        return ""
    left = (ceiling - metric.start.value) * metric.better
    if left < NEAR * look.profile.spread:
        return ""
    if metric.better > 0 and whole.direction > 0 and whole.value >= GREW * _begun(look, metric):
        return ""
    share = _most(whole, metric.better) / left * _to_plan(look, int(steps[-1]) - int(steps[0]) + 1)
    held_out = look.facts.metric("val_score")
    if share >= LITTLE or (held_out is not None and not _little_held_out(held_out)):
        return ""
    return f"at most {percent(max(share, 0.0))} of what there is to gain"


def _begun(look: Look, metric: MetricFacts) -> float:
    """How far the metric was above its floor when the run began, but at least a part of the range that can be seen."""
    floor = look.profile.floor if metric.name == look.reward and look.profile.floor is not None else 0.0
    return max(metric.start.value - floor, FIRST_SEEN * look.profile.spread)


def _most(gain: Effect, better: int) -> float:
    """The largest gain that the noise allows."""
    return gain.value * better + LIMIT * gain.se


def _to_plan(look: Look, steps: int) -> float:
    """The factor by which the gain will grow by the end of the plan, at this pace."""
    planned = look.settings.planned_steps
    return max(1.0, planned / steps) if planned else 1.0


def _little_held_out(found: MetricFacts) -> bool:
    """Whether validation gained little or nothing, on a scale from 0 to 1. On another scale: whether it gained
    nothing."""
    values = found.values
    if len(values) < 2:
        return True
    gain = float(values[-3:].mean() - values[: min(3, len(values) // 2)].mean())
    if float(values.min()) >= 0.0 and float(values.max()) <= 1.0:
        return gain < max(LITTLE * (1.0 - float(values[0])), POINTS, found.noise)
    return gain * found.better <= LIMIT * found.noise


def told(look: Look, name: str = "") -> tuple[str, str]:
    """A metric (by default the train reward) as evidence, with its direction since the start in words."""
    metric = name or look.reward
    return metric, words.in_short(look.facts, metric)


def reward_name(look: Look, metric: str = "") -> str:
    """`Score` or `Reward`, for the start of a sentence (`words.called`): the reward that is judged, or `metric`."""
    return words.called(look.facts, metric or look.reward).capitalize()


def policy_labels(look: Look) -> list[str]:
    """Labels of the logged metrics of the policy itself, which do not depend on the grader."""
    return [metrics()[name].label for name in POLICY if look.series(name) is not None]


def reward_course(look: Look) -> str:
    """How the reward moved and where it is now, by the facts, and whether its gain is over. Empty if no reward is
    logged."""
    course = words.course(look.facts, look.reward)
    if not gained(look):
        return course
    over = "shows no gain in the newest half of the run" if spent(look) else ""
    over = over or ("gains no more" if loud(look, Trait.DRIFT) else "")
    return f"{course}, and {over}" if over else course


def validation_over(look: Look, rows: int) -> float | None:
    """As `validation`, for the evaluations of the last `rows` rows and of as many rows before; for all evaluations if
    those are fewer than 4."""
    found = look.facts.validation
    if found is None:
        return None
    recent = found.since_row(look.n - 2 * rows)
    return errors_of((recent if recent is not None and len(recent.values) >= 4 else found).late)


LATELY_ROWS = 50
"""Rows that show the recent course of a score, or the last fifth if that is more."""
LATELY_SE = 3.0
"""Standard errors by which validation must have moved lately: the error itself is estimated from few evaluations."""
LATELY_LEAST = 5
"""With fewer evaluations, the recent course of validation is unknown."""


def lately_rows(rows: int) -> int:
    return max(LATELY_ROWS, rows // 5)


def validation_lately(look: Look) -> int:
    """Which way validation certainly moved lately; 0 also if there are too few evaluations."""
    found, moved = look.facts.validation, validation_over(look, lately_rows(look.n))
    if found is None or moved is None or len(found.values) < LATELY_LEAST or abs(moved) < LATELY_SE:
        return 0
    return 1 if moved > 0 else -1


def errors_of(effect: Effect | None) -> float | None:
    """An effect in standard errors."""
    return None if effect is None else effect.errors


def validation(look: Look) -> float | None:
    """The newest third of the evaluations against those before, in standard errors. None below 4 evaluations."""
    found = look.facts.validation
    return None if found is None else errors_of(found.late)
