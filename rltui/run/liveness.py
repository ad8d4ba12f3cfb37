"""Whether the run is alive. Only this module decides a run's state at a moment, for every command and screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from signal import Signals
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.readers.base import ENDS, LAST_WORDS, Exit, Note
from rltui.run.attempts import Crash, again, came_again, earlier_ends, first_first, named_end
from rltui.run.clocks import on_our_clock
from rltui.run.contradictions import LATER_S
from rltui.run.notes import Notes, quoted
from rltui.run.progress import LearnedPace, Pulse, Usual, row_gap, steps_short
from rltui.run.source_info import SourceInfo
from rltui.run.stall import StallCard, Word, alive, error_counts, span, weigh
from rltui.run.table import Table

State = Literal["running", "stalled", "finished", "crashed", "unknown"]
ENDED: tuple[State, ...] = "finished", "crashed"

_STATES: dict[Word, State] = {
    "hung": "stalled",
    "slow": "running",
    "fine": "running",
    "finished": "finished",
    "crashed": "crashed",
    "unknown": "unknown",
}


class RunState(Struct, frozen=True):
    """The state of a run, with the evidence in words (`because`) and the line that is quoted, if any.

    `crash`: the named end of a crashed run. None if the errors have no name; `error` is then the first of them. `loop`:
    what the ends of earlier attempts have in common with this one. `card`: only if the run is followed. `sure`: the
    state is beyond doubt; the state of a log that merely ends never is. `followed`: the run's growth is watched.
    `expected`: a process or the scheduler shows that it should be running. `vanished`: its process went before the plan
    was done, and the log does not mention it. `error_after`: the error that ends the log of a run with all steps done:
    what it saves at the end may be missing. `told_at`: the step of an earlier state. `broke_off`: nothing has come for
    longer than usual, and nothing shows that the run ended; or the run is running but its log ends with an error.
    `last_words`: the state is known only from the last words of the program that ran the trainer."""

    state: State
    because: str
    quote: str = ""
    card: StallCard | None = None
    followed: bool = False
    expected: bool = False
    crash: Crash | None = None
    error: Note | None = None
    loop: str = ""
    vanished: bool = False
    error_after: str = ""
    told_at: int | None = None
    broke_off: bool = False
    last_words: bool = False

    @property
    def over(self) -> bool:
        """Whether it ended, well or not: no more rows or saves will come."""
        return self.state in ENDED

    @property
    def sure(self) -> bool:
        return self.card is not None and self.card.sure


def stood(step: int) -> RunState:
    """The state of a run at an earlier step."""
    return RunState("running", f"as it stood at step {step}", told_at=step)


class LifeSigns(Struct, frozen=True):
    """The evidence for the judgement. Times are seconds since the epoch.

    `now`: the moment; None if the present does not matter. `stamped`: the newest time inside the data, which may be
    `zoned` (see `Rows`). `written`: the last write to its files. `beside`: the last write to a log without times if
    another log has times (`written_beside`). `scheduled`: the scheduler reports that it runs. `pulse` counts only if
    `followed`. `pace` and `phase_takes` are called only if nothing else decides. `counts`: the last count of each
    source whose rows are counted. `outlived`: logs without steps whose last line is older than the newest rows.
    `counted`: the steps of the run are unknown, so its rows are counted. `ended`: the last steps of earlier attempts.
    """

    table: Table
    planned: int | None
    notes: Notes
    exit: Exit | None
    now: float | None = None
    stamped: float | None = None
    zoned: bool = False
    written: float | None = None
    beside: float | None = None
    followed: bool = False
    scheduled: bool = False
    pulse: Pulse = field(default_factory=Pulse)
    pace: Callable[[], LearnedPace] = LearnedPace
    phase_takes: Callable[[], Usual | None] = lambda: None
    counts: Mapping[str, int] = field(default_factory=dict)
    outlived: frozenset[str] = frozenset()
    counted: bool = False
    ended: frozenset[int] = frozenset()


def judge(seen: LifeSigns) -> RunState:
    """The state. A finished plan takes precedence over any words in the log. An error with no training after it takes
    precedence over an end mark. Without an end mark a run is running while its newest row is younger than the usual gap
    allows. It is unknown if only the age of a file suggests that it runs, and stalled if it did not reach a known
    plan."""
    state = _judged(seen)
    return replace(state, followed=seen.followed, expected=_expected(seen))


def _judged(seen: LifeSigns) -> RunState:
    table, planned = seen.table, seen.planned
    last = int(table.steps[-1]) if table.n else None
    stood = "the start" if last is None else f"row {last}" if seen.counted else f"step {last}"
    known = planned is not None and not seen.counted
    of = stood
    if known:
        of = f"{stood} of {planned}" if last is not None else f"{stood}, with {planned} steps planned"
    short, gap = steps_short(table, planned), row_gap(table)
    ended, deadly = _ends(seen, last, gap)
    crash = named_end(deadly, seen.notes.of_kind("fault"))
    quote = crash.quote if crash is not None else quoted(deadly[0]) if deadly else ""
    if short == 0:
        done = _ended(seen, "finished", f"all planned steps are done: {of}")
        return replace(done, error_after=crash.title if crash is not None else quote)
    if _counted_out(seen.notes, planned):
        return _ended(seen, "finished", f"the progress bar ended at {planned} of {planned}, the rows at {stood}")
    if seen.exit is not None and seen.exit.code != 0:
        because = f"{crash.title}, and the process exited" if crash is not None else "the process exited"
        return _crashed(seen, f"{because} with code {seen.exit.code} at {of}", quote, crash, deadly)
    pulse, is_seen = _life(seen)
    if deadly and (seen.now is None or not is_seen or error_counts(pulse, seen.pace(), seen.now)):
        because = crash.title if crash is not None else "an error ended the log"
        return _crashed(seen, f"{because} at {of}", quote, crash, deadly)
    if deadly and seen.now is not None:
        ago = span(max(0.0, seen.now - (pulse.output_at or seen.now)))
        error = f"an error ({crash.title})" if crash is not None else "an error"
        because = f"{error} {ago} ago may have ended the run at {of}"
        card = StallCard("slow", (because,), quote=quote) if seen.followed else None
        return RunState("running", because, quote, card, broke_off=True)
    if short is not None and short < gap:
        return _ended(seen, "finished", f"all planned steps are done: {of}, a row every {gap}")
    if ended is not None and last is not None:
        why = "the trainer says that it is done" if ended.kind == "end" else "its log goes on with another run"
        return _ended(seen, "finished", f"{why}, at {of}", quoted(ended))
    if seen.exit is not None and last is not None and seen.exit.well:
        return _ended(seen, "finished", f"the process exited with code 0, at {of}")
    if last is not None and planned is None and _closed(seen):
        return _ended(seen, "finished", f"its tracker says that it ended, at {of}")
    if last is None:
        stopped = "no training step is logged"
    elif planned is None:
        stopped = f"the log ends at {of}, no planned end lies ahead and there is no end mark"
    else:
        stopped = f"stopped at {last} of {planned}, no end mark"
        stopped = f"stopped at {stood} with {planned} steps planned, no end mark" if seen.counted else stopped
    silent: State = "unknown" if last is None or planned is None else "stalled"
    if seen.now is None or pulse.moved_at is None:
        return _closed_by(seen, last, of) or RunState(silent, stopped, broke_off=silent == "stalled")
    card = weigh(pulse, seen.pace(), of, planned is not None, seen.now, seen.phase_takes())
    state, because = _STATES[card.verdict], ", ".join(card.because)
    observed = pulse.heard or _expected(seen)
    broke_off = last is not None and (state == "stalled" or (state == "unknown" and not observed))
    silent_now = state != "running" if not observed else state == "stalled" and not _expected(seen)
    if not observed and state == "running" and not is_seen:
        ago = span(max(0.0, seen.now - pulse.moved_at))
        words = "" if last is not None else f"{stopped}, "
        card = replace(card, verdict="unknown", because=(f"{words}may be running: written {ago} ago",))
        state, because = "unknown", card.because[0]
    elif not observed and state in ("stalled", "unknown"):
        card = replace(card, because=(stopped, *card.because))
        state, because = silent, ", ".join(card.because) if seen.followed else stopped
    elif not observed:
        because = f"the newest row is {span(max(0.0, seen.now - pulse.moved_at))} old"
    vanished = card.verdict == "crashed"
    if (vanished or silent_now) and (closed := _closed_by(seen, last, of)) is not None:
        return closed
    told = card if seen.followed else None
    return RunState(state, because, card.quote, told, vanished=vanished, broke_off=broke_off)


CLOSED_S = 60.0
"""Rows may be stamped up to this many seconds after the end that a tracker records."""


def _closed(seen: LifeSigns) -> bool:
    """Whether a tracker recorded the end of the run, good or bad, and nothing came later: a resumed run continues."""
    end = None if seen.exit is None else seen.exit.time
    return end is not None and (seen.stamped is None or seen.stamped <= end + CLOSED_S)


def _counted_out(notes: Notes, planned: int | None) -> bool:
    """Whether a log's newest bar is at the end of the plan, even if the last rows are not logged."""
    return planned is not None and any(source.bar == planned for source in notes.sources.values())


def _expected(seen: LifeSigns) -> bool:
    return seen.scheduled or (seen.followed and alive(seen.pulse))


def _life(seen: LifeSigns) -> tuple[Pulse, bool]:
    """The run's signs of life, and whether they are more than a file's time: times of rows, growth, a process."""
    if seen.followed and seen.pulse.heard:
        return seen.pulse, True
    if seen.now is None:
        return seen.pulse, False
    at = on_our_clock(seen.stamped, seen.written, seen.now, seen.zoned)
    is_seen = at is not None or _expected(seen)
    of_files = seen.written if at is None or _expected(seen) else seen.beside
    newest = [time for time in (at, of_files) if time is not None]
    pulse = seen.pulse if seen.followed else Pulse()
    if not newest:
        return pulse, is_seen
    return replace(pulse, moved_at=max(newest), output_at=max(newest)), is_seen


def _crashed(seen: LifeSigns, because: str, quote: str, crash: Crash | None, deadly: Sequence[Note]) -> RunState:
    newest = int(seen.table.steps[-1]) if seen.table.n else None
    loop = again([*earlier_ends(seen.notes.all, seen.ended, newest), crash]) if crash is not None else ""
    error = deadly[0] if deadly and crash is None else None
    loop = loop or came_again(seen.notes.all, error)
    return replace(_ended(seen, "crashed", because, quote), crash=crash, error=error, loop=loop)


def _ended(seen: LifeSigns, word: Literal["finished", "crashed"], because: str, quote: str = "") -> RunState:
    card = StallCard(word, (because,), quote=quote, sure=True, over=True) if seen.followed else None
    return RunState(_STATES[word], because, quote, card)


def _ends(seen: LifeSigns, last: int | None, gap: int) -> tuple[Note | None, list[Note]]:
    """The end that a log announces, and the errors that ended the training, the first error first.

    The training survived an error if more than one row came after it: if several processes write one log, the row of
    the failed step may come after the error. An error after an announced end is not a crash. An error before it is a
    crash, unless training continued. A log that ends more than one row before the newest row belongs to an earlier
    attempt.
    """
    ended: Note | None = None
    deadly: list[Note] = []
    newest, apart = last, gap
    for name, source in seen.notes.sources.items():
        at = source.step
        if at is None and name in seen.outlived:
            continue
        last, gap = (seen.counts[name], 1) if name in seen.counts else (newest, apart)
        if at is not None and last is not None and at < last - gap:
            continue
        words = source.since(at - gap if at is not None else 0, seen.ended)
        end = next((i for i, word in enumerate(words) if word.note.kind in ENDS), None)
        if end is not None:
            ended = words[end].note
            words = words[:end]
        deadly += [word.note for word in words if word.note.kind not in LAST_WORDS]
    return ended, first_first(deadly)


def _last_words(seen: LifeSigns, last: int | None) -> Note | None:
    """The last words, after the newest row, of the program that ran the trainer; the first of them about a failure if
    there is one. Words that also came with earlier rows do not count: an agent's tools end as well. If a plan is known,
    only "failed" and "closed" notes count: only the program that ran the trainer knows."""
    found: list[Note] = []
    for name, source in seen.notes.sources.items():
        if name in seen.outlived or (source.step is not None and last is not None and source.step < last):
            continue
        words = source.since(source.step if source.step is not None else 0, seen.ended)
        found += [word.note for word in words if word.note.kind in LAST_WORDS]
    failed = next((note for note in found if note.kind == "failed"), None)
    closed = [note for note in found if note.kind == "closed" or seen.planned is None]
    return failed or (closed[-1] if closed else None)


def _closed_by(seen: LifeSigns, last: int | None, of: str) -> RunState | None:
    """The end that another program's last words report; None if there are none."""
    if (said := _last_words(seen, last)) is None:
        return None
    quote = quoted(said)
    if said.kind != "failed":
        return replace(_ended(seen, "finished", f"its log ends by saying so, at {of}", quote), last_words=True)
    code, crash = _CODE.search(quote), named_end([said], seen.notes.of_kind("fault"))
    how = "with an error" if _RAISED.search(quote) else "by saying that it failed"
    why = f"its log ends {how}" if code is None else f"the process exited with code {_named(code[1])}"
    why = why if crash is None else crash.title
    return replace(_crashed(seen, f"{why} at {of}", quote, crash, [said]), last_words=True)


_RAISED = re.compile(r"[A-Z]\w*(?:Error|Exception)\b")
_CODE = re.compile(r"(?i)(?:code|status|exit\w*|error)\W{0,3}(-?\d+)\W*$")


def _named(code: str) -> str:
    """An exit code, with the name of its signal if it has one."""
    number = -int(code) if code.startswith("-") else int(code) - SIGNALLED
    try:
        return f"{code} ({Signals(number).name})"
    except ValueError:
        return code


SIGNALLED = 128
"""If a signal ended a program, its exit code in a shell is this plus the signal's number."""


def outlived(sources: Sequence[SourceInfo]) -> frozenset[str]:
    """Logs without rows whose last line is older than rows in another file."""
    rows = max((s.mtime for s in sources if s.used and s.rows and s.mtime is not None), default=None)
    if rows is None:
        return frozenset()
    of = (s for s in sources if not s.rows and s.mtime is not None and s.mtime < rows - LATER_S)
    return frozenset(s.path for s in of)
