"""Directions in words, made from effects only, so that nothing that rose can be reported as fallen."""

from __future__ import annotations

from rltui.evidence.effects import Effect
from rltui.evidence.facts import Facts, Share
from rltui.evidence.look import Look
from rltui.evidence.metric import Course
from rltui.evidence.signal import num
from rltui.frameworks.load import metrics
from rltui.frameworks.resolve import resolve
from rltui.plots.numbers import percent

ROSE = {1: "rose", -1: "fell"}


def way(effect: Effect | None) -> int:
    """Direction of an effect; also 0 if there are too few points for one."""
    return 0 if effect is None else effect.direction


def called(facts: Facts, metric: str) -> str:
    """`score` or `reward`: the task score is not called reward if another reward is logged beside it."""
    return "score" if metric == "score_mean" and facts.optimised is not None else "reward"


def course(facts: Facts, metric: str) -> str:
    """How a metric went from first to last window, and how it compares with its best: `reward rose 0.2 → 0.5, lately
    0.4, below its best of 0.6 at step 300`. Empty if it is not logged."""
    found = facts.course(metric)
    if found is None:
        return ""
    return whole_course(named(facts, metric), found)


def named(facts: Facts, metric: str) -> str:
    """The name that sentences use for a metric of the vocabulary."""
    if metric in ("score_mean", "reward_mean"):
        return called(facts, metric)
    return "validation" if metric == "val_score" else metrics()[metric].label


def whole_course(name: str, course: Course) -> str:
    """The same for a metric that sentences call `name`."""
    return ", ".join(part for part in (f"{name} {since_start(course)}", since_peak(course)) if part)


def of_set(key: str, framework: str) -> str:
    """What a validation set is called in a sentence: `validation gsm8k acc`; its key if it has no name of its own."""
    label = resolve(key, framework).label
    return f"validation {key if label == metrics()['val_score'].label else label}"


def in_short(facts: Facts, metric: str) -> str:
    """`rose since its start`, `fell since its start`, `no change since its start beyond its noise`; empty if there are
    too few points."""
    found = facts.metric(metric)
    if found is None or found.since_start is None:
        return ""
    direction = found.since_start.direction
    if found.moves:
        return "in the midst of a change"
    return f"{ROSE[direction]} since its start" if direction else "no change since its start beyond its noise"


def from_to(course: Course) -> str:
    """`0.31 → 0.45`: first and last window, as in every table."""
    return f"{num(course.first)} → {num(course.last)}"


def share(found: Share, what: str) -> str:
    """`84 % of the groups agree over the last 20 rows`. It names the rows, as the last window of a table is a tenth of
    all."""
    return f"{percent(found.value)} of the {what} over the last {found.rows} rows"


def since_start(course: Course) -> str:
    """`rose 0.31 → 0.45`, `fell ..`, `0.31 → 0.33, no change beyond its noise`; only the numbers if there are few
    points or the metric is in the midst of a change."""
    found = course.since_start
    if found is None:
        return from_to(course)
    if found.direction:
        return f"{ROSE[found.direction]} {from_to(course)}"
    if course.moves:
        return f"went {from_to(course)}"
    return f"{from_to(course)}, no change beyond its noise"


def since_peak(course: Course) -> str:
    """`below its best of 0.61 at step 300` (or above, on the worse side); empty if it is at its best or that is
    unknown. `0.61 at its best at step 300` if a part of what it gained may be lost."""
    if course.peak is None or not way(course.since_peak):
        return perhaps_lost(course)
    side = "below" if way(course.since_peak) < 0 else "above"
    now, best = num(course.now.value), f"{side} its best of {num(course.peak.value)} at step {course.peak.step}"
    return best if now == num(course.last) else f"lately {now}, {best}"


LOST = 1 / 5
"""Share of the gain up to the best. If this much seems lost, the best is named, although noise may explain
all of it."""
LOST_SE = 1.5


def perhaps_lost(course: Course) -> str:
    """`0.61 at its best at step 300` if a part of what it gained may be lost; else empty."""
    peak, fall = course.peak, course.since_peak
    if peak is None or fall is None or not way(course.since_start) or abs(fall.errors) < LOST_SE:
        return ""
    gained, lost = peak.value - course.first, peak.value - course.last
    if gained * lost <= 0.0 or lost / gained < LOST:
        return ""
    return f"{num(peak.value)} at its best at step {peak.step}"


def left_out(look: Look) -> str:
    """The steps whose rewards are left out because the grader failed and works again; empty if it never failed, or only
    for a single row each time."""
    over = [one for one in look.outages if not one.lasts and one.exact > 1]
    if not over:
        return ""
    last = int(look.steps[over[-1].last_row])
    if len(over) == 1:
        return f"rewards of steps {over[0].since} to {last} are left out, because the grader failed then"
    rows = sum(one.exact for one in over)
    return (
        f"rewards of {rows} rows between steps {over[0].since} and {last} are left out, because the grader failed then"
    )
