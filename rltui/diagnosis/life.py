"""The life of a finding: it opens after its condition has held for a while, worsens, eases after twice as long, and is
resolved.

A condition that no longer holds is not a recovery: a window forgets a jump that stays, and a trend may end on the wrong
level. A fault is over when its metric is back in its band from before the onset, or when the harm is made good.
"""

from __future__ import annotations

from math import ceil

from msgspec import Struct, structs
from msgspec.structs import replace

from rltui.evidence.clock import capped
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, look_distance
from rltui.evidence.model import RecoveryBand
from rltui.evidence.signal import WARNING, Signal, num
from rltui.evidence.trends import CLEAR, apart, first_turn, running_medians, sd_d
from rltui.frameworks.load import metrics
from rltui.rules.base import solved
from rltui.rules.page import Recovery, Rule
from rltui.run.sums import median
from rltui.run.table import Floats, Series

Key = tuple[str, str | None]
"""Identifies a finding: rule id and subject."""


class Opening(Struct, frozen=True):
    """One episode, in steps and rows. `end_step`: None while it is open. `peak`: the highest level. `loud_step`: where
    the damage began that last made it a warning or worse."""

    onset_step: int | None
    opened_step: int
    end_step: int | None
    peak: int
    loud_step: int | None = None

    @property
    def begin(self) -> int | None:
        """The step from which the episode counts: where it became loud, else where it was first noticed."""
        return self.onset_step if self.loud_step is None else self.loud_step


LEAK = 2
"""The number of looks that are taken off for each look at which the condition does not hold. A condition that holds at
more than two of three looks opens in the end; one that noise causes now and then does not."""


class Streak(Struct, frozen=True):
    """The row since which a condition has held, and at how many looks, less what leaked (`_scored`)."""

    row: int
    looks: int


NOT_RISING = (None, None, None)


class Life(Struct, frozen=True):
    """State of one finding between looks. Immutable, so that a snapshot of all of them is a shallow copy.

    `level` 0 is closed. `rising[l]` is the streak of looks at which the signal was at level l or above, `falling` is
    the streak below the present level, and `falling_to` the highest level in it.
    """

    level: int = 0
    rising: tuple[Streak | None, Streak | None, Streak | None] = NOT_RISING
    falling: Streak | None = None
    falling_to: int = 0
    openings: tuple[Opening, ...] = ()
    signal: Signal | None = None  # the newest one that held, at any level
    eased: Signal | None = None  # what it says now that its condition no longer holds, if anything
    word: str = "open"
    word_row: int = 0
    last_step: int = 0
    band: RecoveryBand | None = None  # where its metric has to return to; from the last time that it became loud

    @property
    def quiet(self) -> bool:
        """Whether it is closed and stays so until its condition holds again."""
        return not self.level and self.rising == NOT_RISING

    @property
    def peak(self) -> int:
        return max((o.peak for o in self.openings), default=0)

    @property
    def onset_step(self) -> int | None:
        """The step at which the newest episode began, as severe as it is now."""
        if not self.openings:
            return None
        return self.openings[-1].onset_step if 0 < self.level < WARNING else self.openings[-1].begin


UNBORN = Life()
"""The life of a finding that has never been seen."""


def after_look(before: Life, rule: Rule, recovery: Recovery | None, signal: Signal | None, look: Look) -> Life:
    """The life of a rule's finding after one more look and its result. `recovery`: what ends the finding."""
    signal = upheld(recovery, before, signal, look)
    after = follow(before, signal, look.n, look.step, rule.hold.looks, rule.hold.rows)
    if after.level > before.level and after.signal is not None:
        after = dated(after, before, after.signal, look)
        if after.level >= WARNING > before.level:
            after = replace(after, band=band_of(recovery, after, look))
    best = after.signal.best_step if after.level and after.signal is not None else None
    return after if best is None else _since_best(after, best)


def _since_best(life: Life, best: int) -> Life:
    """The life, beginning no earlier than the best that its newest sentence names. It was dated by fewer values, or by
    another sign of the same fault."""
    opening = life.openings[-1]
    if opening.begin is None or opening.begin >= best:
        return life
    onset, loud = (None if step is None else max(step, best) for step in (opening.onset_step, opening.loud_step))
    return replace(life, openings=(*life.openings[:-1], replace(opening, onset_step=onset, loud_step=loud)))


def follow(life: Life, signal: Signal | None, n: int, step: int, looks: int, rows: int) -> Life:
    """The state after one more look at `n` rows. `looks` and `rows`: how long a level must hold before it counts in a
    run of 200 rows; it must be gone for twice as long. In a shorter run both are shorter in proportion."""
    now = signal.level if signal is not None else 0
    if not now and life.quiet:
        return life
    eased, signal = (None, signal) if now else (signal, None)
    one, two, three = life.rising
    row = n if signal is None else n + 1 - max(1, signal.lasted)
    rising = (
        _scored(one, now >= 1, looks, row),
        _scored(two, now >= 2, looks, row),
        _scored(three, now >= 3, looks, n),  # how long it has held does not show how long it has been this bad
    )
    reached, least, needed = 0, n + 1 - capped(rows, n), _needed(looks, rows, n)
    for i, streak in enumerate(rising):
        if streak is not None and streak.looks >= needed and streak.row <= least:
            reached = i + 1
    life = structs.replace(life, rising=rising)
    if reached > life.level:
        return _raise(life, signal, reached, n, step)
    if life.level == 0:
        return life
    if now >= life.level:
        return _word(structs.replace(life, falling=None, falling_to=0, signal=signal, eased=None, last_step=step), n)
    falling = _longer(life.falling, n)
    to = max(life.falling_to, now)
    life = (
        structs.replace(life, eased=eased)
        if signal is None
        else structs.replace(life, signal=signal, eased=None, last_step=step)
    )
    if falling.looks >= capped(2 * looks, n) and n - falling.row + 1 >= capped(2 * rows, n):
        return _lower(life, to, n)
    return _word(structs.replace(life, falling=falling, falling_to=to), n)


def _needed(looks: int, rows: int, n: int) -> int:
    """The number of looks at which a condition must hold: as many as are asked for. In a long run, whose looks lie rows
    apart, no more than as many rows span, but at least two. Five looks are 5 rows of 100, and 50 of 1,000."""
    return min(looks, max(2, 1 + ceil(max(rows, looks) / look_distance(n))))


def in_words(life: Life, rule: str, guard: Guard) -> Life:
    """The life with the texts of its signals made. What makes them holds on to the look that they come from."""
    signal, eased = _in_words(life.signal, rule, guard), _in_words(life.eased, rule, guard)
    return life if signal is life.signal and eased is life.eased else structs.replace(life, signal=signal, eased=eased)


def _in_words(signal: Signal | None, rule: str, guard: Guard) -> Signal | None:
    if signal is None or isinstance(signal.summary, str):
        return signal
    return guard.ask(rule, structs.replace(signal, summary=""), signal.worded)


def _scored(before: Streak | None, holds: bool, looks: int, row: int) -> Streak | None:
    """A streak that counts up while the condition holds and leaks while it does not, because a condition near its
    threshold holds at most looks but not at each. `row`: since when it holds, as this look sees it."""
    if holds:
        return Streak(row, 1) if before is None else Streak(before.row, min(looks, before.looks + 1))
    left = 0 if before is None else before.looks - LEAK
    return None if before is None or left <= 0 else Streak(before.row, left)


def _longer(streak: Streak | None, n: int) -> Streak:
    return Streak(n, 1) if streak is None else Streak(streak.row, streak.looks + 1)


def _raise(life: Life, signal: Signal | None, level: int, n: int, step: int) -> Life:
    openings = life.openings
    if life.level == 0:
        openings = (*openings, Opening(None, step, None, level))
    else:
        openings = (*openings[:-1], structs.replace(openings[-1], peak=max(openings[-1].peak, level)))
    word = "open" if life.level == 0 else "worse"
    return structs.replace(
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


def closed(life: Life, n: int) -> Life:
    """The finding as over, although it has not been gone for as long as usual."""
    return _lower(life, 0, n)


def _lower(life: Life, to: int, n: int) -> Life:
    if to > 0:
        return structs.replace(life, level=to, falling=None, falling_to=0, word="better", word_row=n)
    until = None if life.signal is None else life.signal.until
    end = life.last_step if until is None else max(until, life.openings[-1].begin or until)
    closed = structs.replace(life.openings[-1], end_step=end)
    return structs.replace(
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
    """The finding, marked as steady if it has not moved for a while."""
    quiet = max(20, life.word_row // 10)
    if life.word in ("open", "worse", "better") and n - life.word_row > quiet:
        return structs.replace(life, word="steady")
    return life


NOTICE_ROWS = 200
"""The number of newest points in which the change point of a notice is sought: as far as a trend looks back."""

LOUD_ROWS = 50
"""The number of points looked at before the row since which the loud condition has held. Its medians and trends lag
behind what they judge, so the damage began before that row. A wider window would find the learning before the damage
instead."""

EDGE = 0.2
"""A change point in this first share of the window means that the change began earlier: the window then doubles."""


def dated(after: Life, before: Life, signal: Signal, look: Look) -> Life:
    """The life of a finding that was just raised, with the steps at which its newest opening began and became loud."""
    if before.level == 0 and (resumed := _never_over(after, signal)) is not None:
        return resumed
    opening = after.openings[-1]
    earliest = after.openings[-2].end_step if len(after.openings) > 1 else None
    if signal.onset_step is None and (left := _left_zero(signal, look)) is not None:
        earliest = left if earliest is None else max(earliest, left)

    def at(step: int | None) -> int:
        step = opening.opened_step if step is None else step
        return step if earliest is None else max(step, earliest)

    if before.level == 0:
        known = signal.onset_step
        opening = structs.replace(opening, onset_step=at(_noticed(signal, look) if known is None else known))
    undated = signal.onset_step is None and opening.loud_step == opening.onset_step  # nothing had turned yet
    if after.level >= WARNING and (before.level < WARNING or signal.onset_step is not None or undated):
        held = after.rising[WARNING - 1]
        step = signal.onset_step
        if step is None:
            step = _became_loud(signal, look, held.row if held is not None else look.n)
        step = opening.onset_step if step is None else at(step)
        told = opening.loud_step if before.level >= WARNING and not undated else None
        earlier = step if step is None or told is None else min(step, told)  # getting worse moves no date later
        opening = structs.replace(opening, loud_step=earlier)
    return structs.replace(after, openings=(*after.openings[:-1], opening))


def _left_zero(signal: Signal, look: Look) -> int | None:
    """The first step at which the metric of a finding is not exactly 0, if it was 0 before and is not now. Nothing can
    have begun while it was 0."""
    series = None if signal.moved is None else look.series(signal.moved)
    if series is None or series.values[0] != 0 or series.values[-1] == 0:
        return None
    at = int((series.values != 0).argmax())
    return int(series.steps[at]) if at >= POINTS_BEFORE else None


def _never_over(after: Life, signal: Signal) -> Life | None:
    """The finding with its last two episodes as one, if by present knowledge the newest began before the other ended,
    and the gap is shorter than the other lasted: noise hid it for a while. None if they are two episodes."""
    if len(after.openings) < 2:
        return None
    last, newest = after.openings[-2:]
    if last.end_step is None or last.begin is None or last.loud_step is None or signal.onset_step is None:
        return None
    if signal.onset_step >= last.end_step or newest.opened_step - last.end_step >= last.end_step - last.begin:
        return None
    one = structs.replace(last, end_step=None, peak=max(last.peak, newest.peak))
    return structs.replace(after, openings=(*after.openings[:-2], one))


def _noticed(signal: Signal, look: Look) -> int | None:
    series = None if signal.moved is None else look.series(signal.moved)
    if series is None:
        return None
    return _step(series, first_turn(series.values[-NOTICE_ROWS:])[0], min(NOTICE_ROWS, len(series)))


def _became_loud(signal: Signal, look: Look, row: int) -> int | None:
    """The step at which a finding became loud: where its own metric breaks away or, if that was long before, where the
    damage beside it begins. None if neither turned: then it has only lasted too long. `row`: since when it is loud.
    """
    for name in dict.fromkeys((signal.moved, signal.hurt)):
        series = None if name is None else look.series(name)
        if series is None:
            continue
        after = len(series) - int(series.rows.searchsorted(row - 1))
        reach = after + LOUD_ROWS
        while True:
            rows = min(reach, len(series), after + NOTICE_ROWS)
            values = series.values[-rows:]
            at, clear = first_turn(values)
            if clear < CLEAR and name == signal.moved:
                at, clear = _turned_in_noise(values, at, clear)
            found = clear >= CLEAR and at > EDGE * rows and not _under_way(series.values, rows, at)
            if found or rows < reach:
                break
            reach *= 2
        damage = name == signal.moved or (at > 0 and float(values[at:].mean()) < float(values[:at].mean()))
        if damage and clear >= CLEAR:
            return _step(series, at, rows)
    return None


MIXED, OF_SWAYS = 0.5, 4.0
"""How far the values before and after a turn must lie apart even if they mix, and by how many sd of the row-to-row
noise their medians must differ."""


def _turned_in_noise(x: Floats, at: int, clear: float) -> tuple[int, float]:
    """The turn of the running medians of values that mix because they sway from row to row, if they have moved by far
    more than they swayed before. The KL of a few short answers is like that."""
    if clear < MIXED or abs(median(x[at:]) - median(x[:at])) < OF_SWAYS * sd_d(x[:at]):
        return at, clear
    return first_turn(running_medians(x))


def _under_way(x: Floats, rows: int, at: int) -> bool:
    """Whether the change that the newest `rows` make at index `at` had begun before them: ahead of the turn they lie
    apart from what came before, and had moved there at no less than half the rate."""
    before, window = x[: len(x) - rows][-LOUD_ROWS:], x[len(x) - rows :]
    head, after = window[:at], window[at:]
    if min(len(head), len(before)) < POINTS_BEFORE or apart(before, head) < CLEAR:
        return False
    gone = 2.0 * (median(head) - median(before)) / (len(before) + len(head))
    to_go = 2.0 * (median(after) - median(head)) / (len(head) + len(after))
    return gone * to_go > 0 and abs(gone) >= abs(to_go) / 2.0


def _step(series: Series, at: int, rows: int) -> int:
    return int(series.steps[len(series) - rows + at])


POINTS_BEFORE = 5
NEWEST = 10
"""The number of newest points since the onset that give the present value: one good row is not a recovery."""
SPREAD = 4.0
"""The least half-width of a band, in sd of the noise: for a noisy metric a factor may be narrower than that."""


def band_of(rule: Recovery | None, life: Life, look: Look) -> RecoveryBand | None:
    """The band of an episode that has just become loud. None if the rule has none, if too few points were logged before
    the onset, or if they were all 0."""
    onset = life.onset_step
    metric = None if rule is None else look.facts.metric(rule.metric)
    level = None if metric is None or onset is None else metric.before(onset)
    if rule is None or metric is None or onset is None or level is None or level.points < POINTS_BEFORE:
        return None
    spread = SPREAD * metric.noise
    if rule.side == "below":
        edge = max(level.value * rule.factor, level.value + spread, rule.least)
    else:
        edge = min(level.value * rule.factor, level.value - spread)
    if edge <= 0.0:
        return None
    return RecoveryBand(rule.metric, rule.side, level.value, edge, onset, None, "")


def told_band(band: RecoveryBand, look: Look) -> RecoveryBand:
    """The band with the present value, for a report."""
    now = _now(band, look)
    text = f"{metrics()[band.metric].label} is back {band.side} {num(band.edge)}: "
    text += f"it was {num(band.before)} before step {band.onset_step} and is {num(now)} now"
    return replace(band, now=now, text=text)


def upheld(rule: Recovery | None, life: Life, signal: Signal | None, look: Look) -> Signal | None:
    """The signal of a rule, but at least a warning while the fault that made it loud is there."""
    if rule is None or life.level < WARNING or life.band is None or (signal is not None and signal.level >= WARNING):
        return signal
    newest = life.signal if signal is None else signal
    if newest is None or _over(life.band, rule, look):
        return signal
    return structs.replace(newest, level=WARNING)


def _now(band: RecoveryBand, look: Look) -> float | None:
    metric = look.facts.metric(band.metric)
    return None if metric is None else metric.median_after(band.onset_step, NEWEST)


def _over(band: RecoveryBand, rule: Recovery, look: Look) -> bool:
    now = _now(band, look)
    back = now is None or (now <= band.edge if band.side == "below" else now >= band.edge)
    if back and not (rule.live and now == 0.0):
        return True
    if rule.paid and solved(look):
        return True
    score = look.facts.metric(look.reward) if rule.paid else None
    change = None if score is None else score.beyond(band.onset_step)
    return change is not None and change.direction > 0
