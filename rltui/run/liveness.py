"""Is the run alive? Told from the data's own times and words; silence counts only where someone listens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from rltui.readers.base import Exit, Note
from rltui.run.notes import Notes, quoted
from rltui.run.pace import Pace, Pulse, Usual
from rltui.run.progress import row_gap, steps_short
from rltui.run.stall import StallCard, Word, error_counts, span, weigh
from rltui.run.table import Table

State = Literal["running", "stalled", "finished", "crashed", "unknown"]

_STATES: dict[Word, State] = {
    "hung": "stalled",
    "slow": "running",
    "fine": "running",
    "finished": "finished",
    "crashed": "crashed",
    "unknown": "unknown",
}
_CONSEQUENCE = re.compile(
    r"Actor\w*Error|WorkerCrashedError|ChildFailedError|closing signal|BrokenPipe|SignalException"
)
"""What processes say that lost another one: another line of the same end is the better quote."""


@dataclass(frozen=True, slots=True)
class RunState:
    """State by the time rules of the design, with the evidence in words and the quoted line where there is one.

    `card` is there where the run is followed. `sure`: a stall beyond doubt; no log that merely ends is one."""

    state: State
    because: str
    quote: str = ""
    card: StallCard | None = None

    @property
    def sure(self) -> bool:
        return self.card is not None and self.card.sure


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the judgement needs. `now`: None when the run is not followed; only then `pulse` and `pace` count."""

    table: Table
    planned: int | None
    notes: Notes
    exit: Exit | None
    now: float | None = None
    pulse: Pulse = field(default_factory=Pulse)
    pace: Pace = field(default_factory=Pace)
    phase_takes: Usual | None = None


def judge(seen: Evidence) -> RunState:
    """A plan fulfilled outweighs every word; an error with no training after it outweighs a banner; silence only
    counts where someone listened."""
    table, planned = seen.table, seen.planned
    last = int(table.steps[-1]) if table.n else None
    stood = "the start" if last is None else f"step {last}"
    of = f"{stood} of {planned}" if planned is not None else stood
    short, gap = steps_short(table, planned), row_gap(table)
    if short == 0:
        return _ended(seen, "finished", f"all planned steps are done: {of}")
    ended, deadly = _last_words(seen.notes, last, gap)
    quote = quoted(deadly[0]) if deadly else ""
    if seen.exit is not None and seen.exit.code != 0:
        return _ended(seen, "crashed", f"the process exited with code {seen.exit.code} at {of}", quote)
    if deadly and (seen.now is None or error_counts(seen.pulse, seen.pace, seen.now)):
        return _ended(seen, "crashed", f"an error ended the log at {of}", quote)
    if deadly and seen.now is not None:
        ago = span(max(0.0, seen.now - (seen.pulse.output_at or seen.now)))
        because = f"an error {ago} ago may have ended the run at {of}"
        return RunState("running", because, quote, StallCard("slow", (because,), quote=quote))
    if short is not None and short < gap:
        return _ended(seen, "finished", f"all planned steps are done: {of}, a row every {gap}")
    if ended is not None and last is not None:
        return _ended(seen, "finished", f"the trainer says that it is done, at {of}", quoted(ended))
    if seen.exit is not None and last is not None:
        return _ended(seen, "finished", f"the process exited with code 0, at {of}")
    if seen.now is not None and seen.pulse.moved_at is not None:
        card = weigh(seen.pulse, seen.pace, of, planned is not None, seen.now, seen.phase_takes)
        return RunState(_STATES[card.verdict], "; ".join(card.because), card.quote, card)
    if last is None:
        return RunState("unknown", "no training step is logged")
    if planned is not None:
        return RunState("stalled", f"the log ends at {of} without an end mark: stopped or cut off")
    return RunState("unknown", f"the log ends at {of}, the plan is not known and there is no end mark")


def _ended(seen: Evidence, word: Literal["finished", "crashed"], because: str, quote: str = "") -> RunState:
    card = StallCard(word, (because,), quote=quote, sure=True, over=True) if seen.now is not None else None
    return RunState(_STATES[word], because, quote, card)


def _last_words(notes: Notes, last: int | None, gap: int) -> tuple[Note | None, list[Note]]:
    """The end that a log announces, and the errors that nothing survived, the first one first.

    Survived is an error with more than one more row after it: a log that several processes write into may show the
    row of the failed step after the error. What came after an announced end is no crash; what came before it is one,
    unless training went on. A log that ends more than a row before the newest one speaks of an earlier attempt.
    """
    ended: Note | None = None
    deadly: list[Note] = []
    for source in notes.sources.values():
        at = source.step
        if at is not None and last is not None and at < last - gap:
            continue
        words = source.since(at - gap if at is not None else 0)
        end = next((i for i, word in enumerate(words) if word.note.kind == "end"), None)
        if end is not None:
            ended = words[end].note
            words = words[:end]
        deadly += [word.note for word in words]
    return ended, sorted(deadly, key=lambda note: _CONSEQUENCE.search(note.text) is not None)
