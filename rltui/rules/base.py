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
"""A trend looks back at most so many rows, as more cost too much at each row."""

S = TypeVar("S")
Detect = Callable[[S, Params, Memory], list[Signal]]


class Detector(Struct, Generic[S], frozen=True):
    """The function behind a rule. `sees`: what it looks at: rows (`Look`), samples (`Sampled`), the machine
    (`Measured`), or the run's state, files and coverage (`Standing`). `able`: whether what it needs is there; the
    metrics that a detector of rows needs are listed on the rule's page."""

    rule: str
    sees: type[S]
    detect: Detect[S]
    able: Callable[[S], bool]


REGISTERED: list[Detector[Any]] = []


def rule(id: str, sees: type[S], able: Callable[[S], bool] = lambda _: True) -> Callable[[Detect[S]], Detect[S]]:
    """Makes a function the detector of a rule. A rule may have one for each kind of data."""

    def register(detect: Detect[S]) -> Detect[S]:
        REGISTERED.append(Detector(id, sees, detect, able))
        return detect

    return register


def held(look: Look, rule: str, level: int = NOTICE) -> bool:
    """Whether the rule's own finding is open, at this level at least. Its numbers are then updated although its
    condition no longer holds (`EASED`)."""
    return look.open.get(rule, 0) >= level


def opened(look: Look, trait: Trait) -> bool:
    """A finding with this trait is open, at any level."""
    return _any_open(look, trait, NOTICE)


def loud(look: Look, trait: Trait) -> bool:
    """A finding with this trait is open as a warning or worse."""
    return _any_open(look, trait, WARNING)


def critical(look: Look, trait: Trait) -> bool:
    """A finding with this trait is open as a critical one."""
    return _any_open(look, trait, CRITICAL)


def _any_open(look: Look, trait: Trait, least: int) -> bool:
    if not look.open:
        return False
    bearers = having(trait)
    return any(level >= least and rule in bearers for rule, level in look.open.items())


def lasting(bad: np.ndarray[tuple[int], np.dtype[np.bool_]], p: Params) -> bool:
    """Whether it holds in more than half of the rows, and in at least `rows`: a single odd row may be a broken line."""
    return len(bad) >= p["rows"] and bool(2 * np.count_nonzero(bad) > len(bad))


SINCE_POINTS = 256
"""Points of its end in which the beginning of a condition is sought first."""


def since(bad: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """The index from which on a condition that holds now has held, single exceptions aside."""
    near, end, after = SINCE_POINTS, len(bad), 0
    while end > 1 and not after:  # from the end: few conditions have held for most of a long run
        first = max(0, end - near)
        holds = bad[first + 1 : end] | bad[first : end - 1]
        if not holds.all():
            after = end - int(holds[::-1].argmin())
        near, end = near * 8, first + 1
    return after + int(bad[after:].argmax()) if after < len(bad) else len(bad) - 1


LEAPT, STANDS = 3, 0.8
"""Points that tell a level, and the part of the level now at which they stood if little came since."""


def leapt(x: Floats, level: float) -> bool:
    """Whether a metric came to its level of now at once, from a quarter of it or less, and has gone no further: what
    grows of its own, or drifts, is on its way."""
    began = since(x > level / 4.0)
    return began > 0 and median(x[began : began + LEAPT]) >= STANDS * level


def side_by_side(look: Look, *names: str) -> tuple[Floats, ...]:
    """Values of several metrics in the rows that hold all of them: trainers log some of them every so many steps only,
    and a hole in one is no hole in the others. Empty if one of them is not logged."""
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
    """Which of `n` rows are in each of several lists of rows. To sort the lists took a hundredth of a second in a run
    of 100,000 rows."""
    common: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.ones(n, dtype=np.bool_)
    for rows in several:
        held = np.zeros(n, dtype=np.bool_)
        held[rows] = True
        common &= held
    return common


def tail(x: Floats, rows: float) -> float:
    """Level of the newest points that tell the present level (`present`)."""
    return level_of(x[-present(x, rows) :])


def head(x: Floats, rows: float) -> float:
    """Level of the first points, with the window of `tail` where nothing jumps."""
    return level_of(x[: worth(rows, len(x))])


def logged_for(look: Look, name: str, rows: float) -> bool:
    """Whether the metric was logged for so many rows, or as many steps (`clock.enough`)."""
    series = look.series(name)
    return series is not None and enough(rows, series.steps)


def begins_with_the_run(look: Look, first_step: float) -> bool:
    """Whether the log begins where the training does: with one of the first steps, or with the first row of a log that
    has one every so many steps. Of one that begins later nobody knows how it began."""
    return look.facts.clock.first_step <= max(first_step, look.facts.clock.stride)


def compared(look: Look, name: str, rows: float, skip: float = 0) -> str:
    """The rows that a sentence with a `head` (after `skip` rows) and a `tail` compares. The evidence beside it has
    means of other windows, so its numbers differ a little."""
    series = look.series(name)
    if series is None:
        return ""
    x, steps, k = series.values, series.steps, int(skip)
    early, late = slice(k, k + worth(rows, len(x) - k)), slice(-present(x, rows), None)
    kind, other = kind_of_level(x[early]), kind_of_level(x[late])
    first, last = (f"{steps[part][0]} to {steps[part][-1]}" for part in (early, late))
    return f"{kind}s of steps {first} and {last}" if kind == other else f"{kind} of steps {first}, {other} of {last}"


def newest(look: Look, name: str, rows: float) -> str:
    """The rows that a sentence with a `tail` is about. The table beside it has means of other windows."""
    x = look.values(name)
    last = present(x, rows)
    return f"{kind_of_level(x[-last:])} of the last {last} rows"


def gained(look: Look, errors: float = LIMIT) -> bool:
    """Whether the train reward is so many standard errors better than at the start, no matter when it rose, or was so
    in the scale that it had before, or stands clearly above it since a leap."""
    better = look.facts.errors(look.reward) >= errors or (errors <= LIMIT and _in_order(look, 0))
    better = better or stands_above(look.values(look.reward)) or gained_before(look, errors)
    return better and not farmed(look)


def gaining(look: Look, rows: int = 0, errors: float = LIMIT) -> bool:
    """Whether the train reward is `errors` standard errors better than before, over the last `rows` rows. 0: since the
    start, if the gain is not long over (`spent`)."""
    if rows:
        better = look.facts.errors(look.reward, rows) >= errors or (errors <= LIMIT and _in_order(look, rows))
        return better and not farmed(look)
    return gained(look, errors) and not spent(look)


FEW_ROWS = 40
"""Rows below which the means of both ends overlap, or hold the gain themselves as if it were noise."""


def _in_order(look: Look, rows: int) -> bool:
    """Whether so few rows (0: all) show a gain of the train reward by their order, or by their ends."""
    score = look.facts.metric(look.reward)
    count = 0 if score is None else min(max(rows, LEAST) if rows else len(score.series), len(score.series))
    if score is None or not count or count >= FEW_ROWS:
        return False
    part = score if count == len(score.series) else score.since_row(int(score.series.rows[-count]))
    return part is not None and score.better in (part.ordered, part.apart)


LEFT, SPENT_ROWS = 0.25, 100
"""Share of the whole gain that the newest half holds at most if it is over: half of it, if the gain goes on as it was.
Rows of which half tell it, at least."""


def spent(look: Look) -> bool:
    """Whether the gain is long over: the newest half of the run shows none, and none that could hide in its noise would
    count beside the whole. An old gain excuses nothing that is wrong now."""
    found = look.facts.metric(look.reward)
    if found is None or len(found.series) < SPENT_ROWS:
        return False
    whole, late = found.since_start, found.across(len(found.series) // 2)
    if whole is None or late is None or late.errors * found.better >= LIMIT:
        return False
    return late.value * found.better + LIMIT * late.se < LEFT * whole.value * found.better


def paying(look: Look, rule: str, rows: int = 0) -> bool:
    """As `gaining`, for a rule that stays quiet while the reward gains. If its warning is open already, the gain that
    ends it must exceed the best of so many noisy means, as it is asked again at each row."""
    told_before = held(look, rule, WARNING)
    return gaining(look, rows, LIMIT + chance(rows or look.n, NOW_POINTS) if told_before else LIMIT)


def farmed(look: Look) -> bool:
    """Whether the total reward no longer stands for the task."""
    return loud(look, Trait.FARMS_REWARD)


def rising(look: Look) -> bool:
    """Whether the train reward has an upward trend, over the newest half of a long run."""
    return look.trend(look.reward, min(MOST_ROWS, max(WINDOW, look.n // 2))).direction > 0


def losing(look: Look, rows: int = 200) -> bool:
    """Whether the train reward falls: a collapse or decline is open, or its trend is downward."""
    return loud(look, Trait.REWARD_FALLS) or farmed(look) or (look.trend(look.reward, rows).direction < 0)


def solved(look: Look) -> bool:
    """Whether the reward is near its ceiling, or validation near its own where nobody knows that of the reward, so that
    a fall of entropy, length or gradient costs nothing."""
    return reached(look, SOLVED) or right_held_out(look)


def reached(look: Look, level: float) -> bool:
    """Whether the reward is so far up between its floor and its ceiling. The task's own part decides if it is logged
    and is a share."""
    task = _task_share(look)
    found = look.facts.reached if task is None else task
    return found is not None and found >= level and not farmed(look)


EVALUATIONS = 3
"""Newest evaluations that tell how many answers are right."""


def right_held_out(look: Look) -> bool:
    """Whether validation finds nearly every answer right, where the reward does not say otherwise: each set of it is a
    share, has lost nothing, and the reward has lost nothing since. That a part of the reward stands low says nothing
    of that: it may be counted with its weight."""
    sets, up = look.facts.validation_sets, look.facts.reached
    if not sets or (up is not None and up < SOLVED):
        return False
    shares = all(len(one.values) >= EVALUATIONS and 0.0 <= one.values.min() <= one.values.max() <= 1.0 for one in sets)
    if not shares or any(tail(one.values, EVALUATIONS) < SOLVED or one.below_best for one in sets):
        return False
    reward = look.facts.metric(look.reward)
    return reward is not None and not reward.below_best and not losing(look)


def _task_share(look: Look) -> float | None:
    """Where the parts of the reward that are the task stand between 0 and 1, the lowest of them; None if there is none,
    or if one is no share."""
    parts = [series.values for member, series in look.family(PARTS).items() if is_task(member) and len(series)]
    if not parts or any(x.min() < 0.0 or x.max() > 1.0 for x in parts):
        return None
    ceiling = look.profile.ceiling
    best = ceiling if ceiling is not None and 0.0 < ceiling < 1.0 else 1.0  # none of them pays more than all do
    return min(1.0, min(tail(x, NOW_POINTS // 2) for x in parts) / best)


def dead_groups(look: Look) -> float | None:
    """Share of the groups whose samples all got the same reward, None if it is not logged (`Facts.dead_groups`)."""
    share = look.facts.dead_groups
    return None if share is None else share.value


def seldom_right(look: Look, limit: float, rows: int) -> str:
    """A sentence if hardly any answer can have earned the whole reward: with rewards between 0 and a maximum, at most
    the share mean / maximum can. Empty if more may have, or if the log does not bound the rewards."""
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
    """The name of the reward's task part if no answer has ever earned it; else empty."""
    parts = {member: series for member, series in look.family(PARTS).items() if is_task(member) and len(series)}
    earned = any(float(series.values.max()) > 0.0 for series in parts.values())
    return "" if earned or not parts else next(iter(parts))


POINTS = 0.02
"""A smaller gain of a validation score from 0 to 1 is no gain."""


LONG, LOGGED = 200, 50
"""Steps after which a gain that goes on at this pace tells what the run will bring, and rows that hold them."""
LITTLE, NEAR = 0.05, 0.2
"""Share of what there was to gain between the start and the ceiling that is next to nothing (published runs gain a
fifth and more), if that was at least so much of the range."""


GREW = 0.5
"""Of what it was when the run began: what grew by so much, beyond doubt, has learnt, also if it is far from its
ceiling, which may be no more than assumed."""
FIRST_SEEN = 0.02
"""Of the range: from less than that any growth is many times."""


def little_gained(look: Look, metric: MetricFacts, ceiling: float | None) -> str:
    """Says so if next to none of what there was to gain has been gained, by the end of the plan if there is one, and
    validation has not gained more either. Empty if it may have been more, if the ceiling is not known, or if it was
    near at the start."""
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
    """What the metric was above its floor when the run began, taken as a part of the range that could be seen."""
    floor = look.profile.floor if metric.name == look.reward and look.profile.floor is not None else 0.0
    return max(metric.start.value - floor, FIRST_SEEN * look.profile.spread)


def _most(gain: Effect, better: int) -> float:
    """The largest gain that the noise may hide."""
    return gain.value * better + LIMIT * gain.se


def _to_plan(look: Look, steps: int) -> float:
    """How many times as much will be gained by the end of the plan, at this pace."""
    planned = look.settings.planned_steps
    return max(1.0, planned / steps) if planned else 1.0


def _little_held_out(found: MetricFacts) -> bool:
    """Validation of the scale from 0 to 1 has not gained, or as little; of another scale it has not gained."""
    values = found.values
    if len(values) < 2:
        return True
    gain = float(values[-3:].mean() - values[: min(3, len(values) // 2)].mean())
    if float(values.min()) >= 0.0 and float(values.max()) <= 1.0:
        return gain < max(LITTLE * (1.0 - float(values[0])), POINTS, found.noise)
    return gain * found.better <= LIMIT * found.noise


def told(look: Look, name: str = "") -> tuple[str, str]:
    """A metric (by default the train reward) as proof, with its direction since the start in words."""
    metric = name or look.reward
    return metric, words.in_short(look.facts, metric)


def reward_name(look: Look, metric: str = "") -> str:
    """`Score` or `Reward`, at the head of a sentence (`words.called`): of the reward that is judged or of this one."""
    return words.called(look.facts, metric or look.reward).capitalize()


def policy_labels(look: Look) -> list[str]:
    """What the log tells of the policy itself, whoever grades it."""
    return [metrics()[name].label for name in POLICY if look.series(name) is not None]


def reward_course(look: Look) -> str:
    """How the reward went and where it stands, as the facts have it, and whether its gain is over; empty if none is
    logged."""
    course = words.course(look.facts, look.reward)
    if not gained(look):
        return course
    over = "shows no gain in the newest half of the run" if spent(look) else ""
    over = over or ("gains no more" if loud(look, Trait.DRIFT) else "")
    return f"{course}, and {over}" if over else course


def validation_over(look: Look, rows: int) -> float | None:
    """As `validation`, of the evaluations of the last `rows` rows and of as many rows before; of all where those are
    fewer than 4."""
    found = look.facts.validation
    if found is None:
        return None
    recent = found.since_row(look.n - 2 * rows)
    return errors_of((recent if recent is not None and len(recent.values) >= 4 else found).late)


LATELY_ROWS = 50
"""How many rows show the recent course of a score: so many, or the last fifth."""
LATELY_SE = 3.0
"""Standard errors by which validation moves lately: the error is itself guessed from few evaluations."""
LATELY_LEAST = 5
"""With fewer evaluations the recent course of validation is not known."""


def lately_rows(rows: int) -> int:
    return max(LATELY_ROWS, rows // 5)


def validation_lately(look: Look) -> int:
    """Which way validation moves lately, beyond doubt; 0 also if too few evaluations tell."""
    found, moved = look.facts.validation, validation_over(look, lately_rows(look.n))
    if found is None or moved is None or len(found.values) < LATELY_LEAST or abs(moved) < LATELY_SE:
        return 0
    return 1 if moved > 0 else -1


def errors_of(effect: Effect | None) -> float | None:
    """An effect in standard errors."""
    return None if effect is None else effect.errors


def validation(look: Look) -> float | None:
    """Newest third of the evaluations against those before, in standard errors; None below 4 evaluations."""
    found = look.facts.validation
    return None if found is None else errors_of(found.late)
