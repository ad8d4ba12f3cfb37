"""When a finding began: where the metric turned, not where a rule first spoke of it."""

from __future__ import annotations

from dataclasses import replace

from rltui.diagnosis.life import Life
from rltui.diagnosis.look import Look
from rltui.diagnosis.signal import WARNING, Signal
from rltui.diagnosis.trends import turn
from rltui.run.table import Series

NOTICE_ROWS = 200
"""Points before the present in which the change point of a notice is sought: as far as a trend looks back."""

LOUD_ROWS = 50
"""Points before the row from which on the loud condition held. Its medians and trends lag behind what they judge, so
the damage began before that row; a wider window would find the learning before the damage instead."""

EDGE = 0.2
"""A change point in this first share of the window says that the change began before it: the window then doubles."""

CLEAR = 0.8
"""How far apart (`turn`) before and after must lie: the best of all cuts through 60 rows of noise comes to .6."""


def dated(after: Life, before: Life, signal: Signal, look: Look) -> Life:
    """The newest opening of a finding that was just raised, with the steps at which it began and became loud."""
    opening = after.openings[-1]
    earliest = after.openings[-2].end_step if len(after.openings) > 1 else None

    def at(step: int | None) -> int:
        step = opening.opened_step if step is None else step
        return step if earliest is None else max(step, earliest)

    if before.level == 0:
        known = signal.onset_step
        opening = replace(opening, onset_step=at(_noticed(signal, look) if known is None else known))
    if after.level >= WARNING and (before.level < WARNING or signal.onset_step is not None):
        held = after.rising[WARNING - 1]
        step = signal.onset_step
        if step is None:
            step = _became_loud(signal, look, held.row if held is not None else look.n)
        opening = replace(opening, loud_step=opening.onset_step if step is None else at(step))
    return replace(after, openings=(*after.openings[:-1], opening))


def _noticed(signal: Signal, look: Look) -> int | None:
    series = None if signal.moved is None else look.series(signal.moved)
    if series is None:
        return None
    return _step(series, turn(series.values[-NOTICE_ROWS:])[0], min(NOTICE_ROWS, len(series)))


def _became_loud(signal: Signal, look: Look, row: int) -> int | None:
    """Of the metrics that may have turned, the one whose turn is the clearest: a finding becomes loud where its own
    metric breaks away or, long since noticed, where the damage beside it begins. None where none of them turned: then
    what was noticed has only lasted too long. `row`: since when it has been loud."""
    best: tuple[float, int] | None = None
    for name in dict.fromkeys((signal.moved, signal.hurt)):
        series = None if name is None else look.series(name)
        if series is None:
            continue
        after = len(series) - int(series.rows.searchsorted(row - 1))
        reach = after + LOUD_ROWS
        while True:
            rows = min(reach, len(series), after + NOTICE_ROWS)
            values = series.values[-rows:]
            at, clear = turn(values)
            if (clear >= CLEAR and at > EDGE * rows) or rows < reach:
                break
            reach *= 2
        damage = name == signal.moved or float(values[at:].mean()) < float(values[:at].mean())
        if damage and clear >= CLEAR and (best is None or clear > best[0]):
            best = clear, _step(series, at, rows)
    return None if best is None else best[1]


def _step(series: Series, at: int, rows: int) -> int:
    return int(series.steps[len(series) - rows + at])
