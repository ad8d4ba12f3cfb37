"""The life of a finding: it opens after its condition has held, worsens, eases after twice as long, resolves."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.clock import capped
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import RecoveryBand
from rltui.evidence.signal import WARNING, Signal
from rltui.evidence.trends import turn
from rltui.run.table import Series

Key = tuple[str, str | None]
"""Of a finding: rule id and subject."""


class Opening(Struct, frozen=True):
    """One episode. Steps and rows; `end_step` None while open; `peak` the highest level; `loud_step` where the damage
    began that made it a warning or worse, the last time that it became one."""

    onset_step: int | None
    opened_step: int
    end_step: int | None
    peak: int
    loud_step: int | None = None

    @property
    def begin(self) -> int | None:
        """Step from which the episode counts: where it became loud, if it ever did, else where it was first noticed."""
        return self.onset_step if self.loud_step is None else self.loud_step


LEAK = 2
"""Looks that one at which a condition does not hold takes back: what holds at more than two of three is told in the
end, what noise makes hold now and then is not."""


class Streak(Struct, frozen=True):
    """Since which row a condition has held, and at how many looks; what leaked is taken off (`_scored`)."""

    row: int
    looks: int


NOT_RISING = (None, None, None)


class Life(Struct, frozen=True):
    """State of one finding between looks. Immutable, so that a snapshot of all of them is a shallow copy.

    `level` 0 is closed. `rising[l]` is the streak of looks at which the signal stood at level l or above;
    `falling` the streak below the present level, `falling_to` the highest level seen in it.
    """

    level: int = 0
    rising: tuple[Streak | None, Streak | None, Streak | None] = NOT_RISING
    falling: Streak | None = None
    falling_to: int = 0
    openings: tuple[Opening, ...] = ()
    signal: Signal | None = None  # the newest one that held, at whatever level
    eased: Signal | None = None  # what it says now that its condition no longer holds, where it says anything
    word: str = "open"
    word_row: int = 0
    last_step: int = 0
    band: RecoveryBand | None = None  # where its metric has to be again; of the newest time that it became loud

    @property
    def quiet(self) -> bool:
        """Closed, and its condition does not hold: it stays as it is until that holds again."""
        return not self.level and self.rising == NOT_RISING

    @property
    def peak(self) -> int:
        return max((o.peak for o in self.openings), default=0)

    @property
    def onset_step(self) -> int | None:
        """Where the newest episode began, as severe as it is now."""
        if not self.openings:
            return None
        return self.openings[-1].onset_step if 0 < self.level < WARNING else self.openings[-1].begin


UNBORN = Life()
"""Of a finding that was never seen."""


def follow(life: Life, signal: Signal | None, n: int, step: int, looks: int, rows: int) -> Life:
    """The state after one more look at `n` rows. `looks` and `rows`: how long a level must hold before it counts in a
    run of 200 rows; twice as long it must be gone. Of a shorter run it is the same part."""
    now = signal.level if signal is not None else 0
    if not now and life.quiet:
        return life
    eased, signal = (None, signal) if now else (signal, None)
    one, two, three = life.rising
    rising = (
        _scored(one, now >= 1, looks, n),
        _scored(two, now >= 2, looks, n),
        _scored(three, now >= 3, looks, n),
    )
    reached, least = 0, n + 1 - capped(rows, n)
    for i, streak in enumerate(rising):
        if streak is not None and streak.looks >= looks and streak.row <= least:
            reached = i + 1
    life = replace(life, rising=rising)
    if reached > life.level:
        return _raise(life, signal, reached, n, step)
    if life.level == 0:
        return life
    if now >= life.level:
        return _word(replace(life, falling=None, falling_to=0, signal=signal, eased=None, last_step=step), n)
    falling = _longer(life.falling, n)
    to = max(life.falling_to, now)
    life = replace(life, eased=eased) if signal is None else replace(life, signal=signal, eased=None, last_step=step)
    if falling.looks >= capped(2 * looks, n) and n - falling.row + 1 >= capped(2 * rows, n):
        return _lower(life, to, n)
    return _word(replace(life, falling=falling, falling_to=to), n)


def in_words(life: Life, rule: str, guard: Guard) -> Life:
    """With the words of its signals made: what makes them holds the look that they are of, which is over."""
    signal, eased = _in_words(life.signal, rule, guard), _in_words(life.eased, rule, guard)
    return life if signal is life.signal and eased is life.eased else replace(life, signal=signal, eased=eased)


def _in_words(signal: Signal | None, rule: str, guard: Guard) -> Signal | None:
    if signal is None or isinstance(signal.summary, str):
        return signal
    return guard.ask(rule, replace(signal, summary=""), signal.worded)


def _scored(before: Streak | None, holds: bool, looks: int, n: int) -> Streak | None:
    """A condition near its threshold holds at most looks and not at each of them: it counts up while it holds, and
    leaks while it does not."""
    if holds:
        return Streak(n, 1) if before is None else Streak(before.row, min(looks, before.looks + 1))
    left = 0 if before is None else before.looks - LEAK
    return None if before is None or left <= 0 else Streak(before.row, left)


def _longer(streak: Streak | None, n: int) -> Streak:
    return Streak(n, 1) if streak is None else Streak(streak.row, streak.looks + 1)


def _raise(life: Life, signal: Signal | None, level: int, n: int, step: int) -> Life:
    openings = life.openings
    if life.level == 0:
        openings = (*openings, Opening(None, step, None, level))
    else:
        openings = (*openings[:-1], replace(openings[-1], peak=max(openings[-1].peak, level)))
    word = "open" if life.level == 0 else "worse"
    return replace(
        life,
        level=level,
        openings=openings,
        signal=signal,
        eased=None,
        falling=None,
        falling_to=0,
        word=word,
        word_row=n,
        last_step=step,
    )


def _lower(life: Life, to: int, n: int) -> Life:
    if to > 0:
        return replace(life, level=to, falling=None, falling_to=0, word="better", word_row=n)
    closed = replace(life.openings[-1], end_step=life.last_step)
    return replace(
        life,
        level=0,
        eased=None,
        falling=None,
        falling_to=0,
        openings=(*life.openings[:-1], closed),
        word="resolved",
        word_row=n,
    )


def _word(life: Life, n: int) -> Life:
    """A finding that has not moved for a while is steady."""
    quiet = max(20, life.word_row // 10)
    if life.word in ("open", "worse", "better") and n - life.word_row > quiet:
        return replace(life, word="steady")
    return life


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
        damage = name == signal.moved or (at > 0 and float(values[at:].mean()) < float(values[:at].mean()))
        if damage and clear >= CLEAR and (best is None or clear > best[0]):
            best = clear, _step(series, at, rows)
    return None if best is None else best[1]


def _step(series: Series, at: int, rows: int) -> int:
    return int(series.steps[len(series) - rows + at])
