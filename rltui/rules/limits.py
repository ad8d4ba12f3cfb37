"""Metrics whose level alone is enough: each is compared with the limits on a rule's page.

A rule's own detector looks at courses and at several metrics at once. Some trainers log only other metrics of the same
problem: the largest weight instead of the mean, groups that all fail instead of groups that agree.
"""

from __future__ import annotations

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.frameworks.load import metrics
from rltui.plots.numbers import percent
from rltui.prose import capital
from rltui.rules.base import Detect, Memory, Params, compared, gaining, head, held, logged_for, losing, tail
from rltui.rules.page import Limit, Rule

LEAST = 10
"""Fewest rows of a level."""
ROWS = 20
"""Rows of the present level, in a run of 200 (`clock.worth`)."""


def asked(look: Look, rule: Rule) -> list[str]:
    """The metrics of this run that the rule compares with limits."""
    return [name for name, limit in rule.limits.items() if _asked(look, name, limit)]


def is_asked(look: Look, rule: Rule) -> bool:
    """Whether the rule compares any metric of this run with limits."""
    return any(_asked(look, name, limit) for name, limit in rule.limits.items())


def subjects(rule: Rule) -> set[str]:
    """The subjects of the rule's findings by limits."""
    return {metrics()[name].label for name in rule.limits}


def beside_limits(rule: Rule, detect: Detect[Look] | None) -> Detect[Look]:
    """A detector for rows that joins the rule's own detector, if it can run on them, and its limits."""
    if detect is not None and not rule.limits:
        return detect

    def both(look: Look, p: Params, memory: Memory) -> list[Signal]:
        own = [] if detect is None else detect(look, p, memory)
        return [*own, *beyond(look, rule)]

    return both


def beyond(look: Look, rule: Rule) -> list[Signal]:
    """A signal for each metric that is past a limit. It is a warning if there is no gain beside it, or if the metric is
    past the limit that no gain excuses. It is critical if it is past that limit and the reward falls."""
    found = (_signal(look, rule.id, name, rule.limits[name]) for name in asked(look, rule))
    return [signal for signal in found if signal is not None]


def _asked(look: Look, name: str, limit: Limit) -> bool:
    return logged_for(look, name, LEAST) and not any(look.series(other) is not None for other in limit.unless)


def _signal(look: Look, rule: str, name: str, limit: Limit) -> Signal | None:
    values = look.values(name)
    now, start = tail(values, ROWS), head(values, LEAST)
    level, marks = _level(look, now, start, limit)
    if level == EASED and not held(look, rule):
        return None
    label = metrics()[name].label

    def text() -> str:
        shown = percent if metrics()[name].unit == "fraction" else num
        if limit.of_start:
            stands = f"is at {percent(now / start)} of what it began with: {num(now)} after {num(start)}"
        elif shown(now) == shown(start):
            stands = f"is {shown(now)}, as at the start"
        else:
            stands = f"is {shown(now)}, after {shown(start)} at the start"
        return f"{capital(label)} {stands} ({compared(look, name, ROWS)})."

    return Signal(level, text, ((name, ""),), subject=label, moved=name, hurt=look.reward, marks=marks)


def _level(look: Look, now: float, start: float, limit: Limit) -> tuple[int, tuple[Mark, ...]]:
    """The level, and the mark of a note that would be a warning without a gain."""
    if limit.of_start:
        if start <= 0:
            return EASED, ()
        now, start = now / start, 1.0

    def past(bound: float) -> bool:
        return now > bound if limit.above else now < bound

    moved = now >= limit.times * start if limit.above else now * limit.times <= start
    if not past(limit.noted):
        return EASED, ()
    falls = losing(look)
    if past(limit.harm) and moved:
        return CRITICAL if falls else WARNING, ()
    if past(limit.warn) and moved:
        return (WARNING, ()) if falls or not gaining(look) else (NOTICE, (Mark.COSTS,))
    return NOTICE if moved or past(limit.warn) else EASED, ()


def in_words(name: str, limit: Limit) -> str:
    """What each level of a metric means, for the page of its rule."""
    side, of = ("above", " times its start") if limit.above else ("below", " of its start")
    of = of if limit.of_start else ""
    moved = f" and {limit.times:g} times away from its start" if limit.times > 1 else ""
    others = " or ".join(metrics()[other].label for other in limit.unless)
    unless = f", unless {others} is logged" if others else ""
    return (
        f"{metrics()[name].label} {side} {limit.noted:g}{of} is a note, {side} {limit.warn:g}{moved} without a gain a "
        f"warning, {side} {limit.harm:g} a warning whatever is gained{unless}: {limit.why}"
    )
