"""What readers yield, and the protocol that each reader follows. Contract of `feed`: the same bytes give the same
records, however they are cut (only the split of rows into `Rows` blocks may differ). No input raises. All text in
records was cleaned by `rltui.text`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from itertools import repeat
from math import nan
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    import sqlite3

NO_STEP = -1
"""The step of a row that states no step."""
FIRST_STEP = 10
"""A training that starts from scratch has its first row by this step: TRL logs every 10th."""


class Rows(Struct):
    """Metric rows in file order, as columns of equal length.

    A cell that a row does not have is NaN in `values` and is not listed in `nonfinite`. A cell that the trainer wrote
    as NaN or an infinity is NaN in `values`, and its row index is in `nonfinite[key]`. `times`: seconds since the
    epoch, NaN if the row has none. Keys are the trainer's own, only cleaned.

    `printed`: the place at which a program printed all these rows at once ("line 12"); some may have come before. Empty
    if they came one by one. `behind`: indices of rows whose line is above that of an earlier row, because it became
    known late how to read their lines. `anew`: indices of rows at which another training begins. `zoned`: whether the
    times name a time zone and need no correction. `laps`: in a log with notes, how often the steps had gone back by the
    last of these rows. `unplaced`: how many records of the log had stated no step by then.
    """

    steps: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: dict[str, array[float]] = field(default_factory=dict)
    nonfinite: dict[str, list[int]] = field(default_factory=dict)
    behind: list[int] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)
    printed: str = ""
    zoned: bool = False
    laps: int = 0
    unplaced: int = 0

    def __len__(self) -> int:
        return len(self.steps)

    def append(self, later: Rows) -> None:
        """Appends the rows of another block."""
        start = len(self)
        self.zoned, self.laps = later.zoned, max(self.laps, later.laps)
        self.unplaced = max(self.unplaced, later.unplaced)
        self.behind += [start + place for place in later.behind]
        self.anew += [start + place for place in later.anew]
        self.steps += later.steps
        self.times += later.times
        end = len(self)
        for key, column in later.values.items():
            held = self.values.get(key)
            if held is None:
                held = self.values[key] = array("d")
            if len(held) < start:
                held.extend(repeat(nan, start - len(held)))
            held += column
        for column in self.values.values():
            if len(column) < end:
                column.extend(repeat(nan, end - len(column)))
        for key, places in later.nonfinite.items():
            self.nonfinite.setdefault(key, []).extend(start + place for place in places)


NoteKind = Literal[
    "start",  # a launch: banner, new process
    "resume",  # continuing from a checkpoint
    "end",  # the trainer says that it is done
    "next",  # the log continues with another run
    "closed",  # whatever ran the trainer says that it ended well: an end if nothing comes after it
    "done",  # a program says that it is done, or has saved all that it saves last: which part is done is not clear
    "failed",  # whatever ran the trainer says that it ended with an error: true if nothing comes after it
    "progress",  # a progress bar or counter: step of total
    "checkpoint",  # a checkpoint was written
    "validation",  # validation began or ended
    "traceback",  # a Python traceback (its last line is the text)
    "oom",  # CUDA or host out of memory, OOM killer
    "killed",  # a signal, "Killed", scheduler cancellation
    "fault",  # NCCL, XID, disk full, CUDA error
    "warning",  # worth a line in the log pane
    "change",  # the program says that data, reward or state differ from here on
    "overflow",  # a step was skipped because its numbers overflowed; a few are usual
    "phase",  # a phase of the step began or ended (live phase)
    "module",  # the logger names the module that logs
]
ENDS: tuple[NoteKind, ...] = ("end", "next")
"""No row of the run comes after one of these."""
LAST_WORDS: tuple[NoteKind, ...] = ("closed", "done", "failed")
"""One of these ends a log if nothing comes after it."""


class Note(NamedTuple):
    """A line of text that matters beyond its numbers. `step`, `total`: if the line states them. `frames`: those of a
    traceback, "file.py:12 function", the innermost last. `begun`: the line where the note begins, if it may grow; the
    complete note then replaces the one that was given while it was being written. `after`: the newest step before the
    note. `laps`: how often the steps of the log went back before it. `rows`: how many logged records before it had no
    known step yet."""

    kind: NoteKind
    text: str
    line: int  # 1-based line number in the file; 0 if the container has no lines
    step: int | None = None
    total: int | None = None
    time: float | None = None
    frames: tuple[str, ...] = ()
    begun: int = 0
    after: int | None = None
    laps: int = 0
    rows: int = 0

    def by(self, step: int) -> bool:
        """Whether the log had this line when the training was at `step`. True for a line without a step."""
        return self.step is None or self.step <= step


class Ungraded(NamedTuple):
    """A line that says that answers could not be graded, yielded once for each step or row. `step`: the newest step
    before it, if the log states steps. `rows`: how many rows before it have no known step yet."""

    text: str
    step: int | None
    rows: int = 0


class LogLine(NamedTuple):
    """A plain line of a console log, for the log pane and the text behind a finding."""

    text: str
    line: int
    time: float | None = None


class ConfigRecord(NamedTuple):
    """Config as the container holds it: flat dotted keys (`actor_rollout_ref.actor.kl_loss_coef`) to plain values.

    `origin`: its place in the file ("printed dict at line 12", "wandb config", "TensorBoard text tag args"). `after`:
    in a log, the newest step before it.
    """

    values: dict[str, object]
    origin: str
    after: int | None = None


class RunInfo(NamedTuple):
    """What a container states about the run's identity: any of run_id, name, project, host, framework_version,
    start_time, step_key (the key that holds the step, if a container such as W&B defines one)."""

    values: dict[str, str]


class Exit(NamedTuple):
    """The end of the run, as the container records it (W&B exit record). `well`: a code of 0 means that it ended
    well."""

    code: int
    time: float | None = None
    well: bool = True


class HardwareRow(NamedTuple):
    """A recorded hardware sample (W&B stats), keys as in the container."""

    time: float
    values: dict[str, float]


class Counted(NamedTuple):
    """`on`: for now, rows of this source have counts instead of steps, because no steps are known. `steps`: count ->
    step, for counted rows whose steps have become known."""

    on: bool
    steps: dict[int, int]


class Foretold(NamedTuple):
    """The rows that follow are given early, as the log is now: they may be taken back."""


class TakenBack(NamedTuple):
    """The rows since `Foretold` do not count: what followed in the log shows that its end must be read differently."""


class Treated(NamedTuple):
    """What the reader did with rows, if the user should know it: a phrase in the plural, and the number of rows."""

    text: str
    rows: int


class LeftOut(Struct, frozen=True):
    """Lines or records from which nothing was taken: why, how many, where the first is ("line 12", "byte 4096"), and
    its text ("" if that does not help)."""

    reason: str
    count: int
    first: str
    text: str = ""


class Recurring(Struct, frozen=True):
    """Lines of one form from which nothing was taken: the names of their numbers (with `eval/` before those of an
    evaluation), how many lines there are, where the first is, its text, why nothing was taken, and a pattern for
    `--line` that reads them ("" if there is none)."""

    names: tuple[str, ...]
    count: int
    first: str
    text: str
    reason: str
    pattern: str = ""


class Hint(NamedTuple):
    """How the user can make rltui read more of this source; empty if there is no way."""

    text: str


Record = (
    Rows
    | Note
    | Ungraded
    | LogLine
    | ConfigRecord
    | RunInfo
    | Exit
    | HardwareRow
    | Counted
    | Hint
    | Treated
    | Foretold
    | TakenBack
)


class Reader(Protocol):
    """Incremental parser of one container format. One instance reads one file once, from its first byte."""

    format: str  # name for `--format-in`, reports and `explain`
    whole: bool  # the file is one document that is rewritten as a whole (trainer_state.json): parse at `finish`
    skipped: Counter[str]  # reason -> how many records or lines were left out
    skipped_at: dict[str, str]  # reason -> where the first one was ("line 12", "byte 4096")

    def feed(self, data: bytes) -> list[Record]:
        """The records of new bytes, any number of them. An incomplete last record is kept for the next call."""

    def finish(self) -> list[Record]:
        """The records at the current end of the file: a last record that is complete but not terminated (a last line
        that parses but has no newline). `feed` may be called again afterwards; nothing is yielded twice."""


class LineReader(ABC):
    """What a reader of free-form lines has in addition to `Reader`. `takes_back`: the consumer of the records can take
    back rows (`TakenBack`)."""

    takes_back = False

    def only_rows(self) -> None:  # noqa: B027  (most readers give nothing else)
        """Stops giving out plain lines and hints, which only a screen or a report shows."""

    @property
    @abstractmethod
    def guesses_steps(self) -> bool:
        """Whether a line without a step was given one that may be wrong."""

    @abstractmethod
    def rest(self) -> list[Record]:
        """Rows that were held back until later lines show their steps. Called if nothing more comes for now."""

    @property
    def waits(self) -> bool:
        """Whether something is still held back, so that `rest` must be called again later."""
        return False

    @abstractmethod
    def left_out(self) -> list[LeftOut]:
        """The lines from which nothing was taken."""

    @abstractmethod
    def recurring(self) -> list[Recurring]:
        """The lines of `left_out` that recur and hold named numbers, the most frequent first."""


class EpochReader(ABC):
    """What a reader has in addition to `Reader` if the steps of its rows may be counted anew in each epoch."""

    @property
    @abstractmethod
    def epoch(self) -> int | None:
        """The epoch of the newest row; None if no row states one."""


class ContainedRun(NamedTuple):
    """One of the runs of a container that can hold several. `key`: unique in the container. `start`: sorts by time.
    `metric`: the name of its metric, if the container holds only one; other files hold the others."""

    format: str
    key: str
    name: str
    start: str
    metric: str = ""


class DatabaseReader(Protocol):
    """Reader of one run in a database. A database is changed in place, so it is not a stream of bytes.

    The contract of `Reader` holds with rows instead of bytes: each `read` yields what was added since the last one, the
    records are the same for any number of reads, and no content of a database raises.
    """

    format: str
    whole: bool  # another database under the same path is read again from its first row
    skipped: Counter[str]
    skipped_at: dict[str, str]

    def read(self, connection: sqlite3.Connection) -> list[Record]:
        """The records that were added since the last call. The connection may see a new state each time."""
