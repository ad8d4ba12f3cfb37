"""What readers yield, and the protocol that each of them keeps.

Contract of `feed`: the concatenation of the records over any cutting of the same bytes is the same (up to how rows
are spread over `Rows` blocks). No input raises. Text in records has passed `rltui.text`.
"""

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
"""Step of a row that states none."""


class Rows(Struct):
    """Metric rows in file order, as columns of equal length.

    A cell that the row did not hold is NaN in `values` and not listed in `nonfinite`; a cell that the trainer wrote
    as NaN or an infinity is NaN in `values` and its row index stands in `nonfinite[key]`. `times` is seconds since
    the epoch, NaN where the row has none. Keys are the trainer's own, untouched but cleaned.

    `printed`: where a program printed them all at once ("line 12"), of which some may have come before; empty if they
    came one by one. `zoned`: their times name the zone, and are no other clock's.
    """

    steps: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: dict[str, array[float]] = field(default_factory=dict)
    nonfinite: dict[str, list[int]] = field(default_factory=dict)
    printed: str = ""
    zoned: bool = False

    def __len__(self) -> int:
        return len(self.steps)

    def append(self, later: Rows) -> None:
        """Takes the rows of another block behind its own."""
        start = len(self)
        self.zoned = later.zoned
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
    "progress",  # a progress bar or counter: step of total
    "checkpoint",  # a checkpoint was written
    "validation",  # validation began or ended
    "traceback",  # a Python traceback (its last line is the text)
    "oom",  # CUDA or host out of memory, OOM killer
    "killed",  # a signal, "Killed", scheduler cancellation
    "fault",  # NCCL, XID, disk full, CUDA error
    "warning",  # worth a line in the log pane
    "grading",  # answers could not be graded: told once a step, for the count of steps alone
    "change",  # from here on other data, another reward or another state: the program says so
    "overflow",  # a step that was skipped, as its numbers overflowed; a few are usual
    "phase",  # a phase of the step began or ended (live phase)
    "module",  # the logger names the module that speaks
]


class Note(NamedTuple):
    """A line of text that matters beyond its numbers. `step` and `total` if the line states them. `frames`: of a
    traceback, "file.py:12 function", the innermost last. `begun`: the line where it begins; what it shows in the end
    takes the place of what it showed while it was written. `after`: the newest step before it. Of a failed grading
    `total` is the number of rows of the log before it whose steps it does not state."""

    kind: NoteKind
    text: str
    line: int  # 1-based line number in the file; 0 where the container has no lines
    step: int | None = None
    total: int | None = None
    time: float | None = None
    frames: tuple[str, ...] = ()
    begun: int = 0
    after: int | None = None

    def by(self, step: int) -> bool:
        """Whether the log had said it when the training stood at `step`; so it is thought of a line that nobody can
        date."""
        return self.step is None or self.step <= step


class LogLine(NamedTuple):
    """A plain line of a console log, for the log pane and the text behind a finding."""

    text: str
    line: int
    time: float | None = None


class ConfigRecord(NamedTuple):
    """Config as the container holds it: flat dotted keys (`actor_rollout_ref.actor.kl_loss_coef`) to plain values.

    `origin` says where in the file ("printed dict at line 12", "wandb config", "TensorBoard text tag args"). `after`:
    the newest step before it, in a log.
    """

    values: dict[str, object]
    origin: str
    after: int | None = None


class RunInfo(NamedTuple):
    """Identity that a container states: any subset of run_id, name, project, host, framework_version, start_time,
    step_key (the key that is the step, where a container such as W&B defines one)."""

    values: dict[str, str]


class Exit(NamedTuple):
    """The container records the end of the run (W&B exit record). `well`: a code of 0 says that it ended well, too."""

    code: int
    time: float | None = None
    well: bool = True


class HardwareRow(NamedTuple):
    """A recorded hardware sample (W&B stats), keys as in the container."""

    time: float
    values: dict[str, float]


class Counted(NamedTuple):
    """Whether rows of this source have a count for a step by now (`on`), as nothing tells theirs, and the steps of some
    that had: count -> step."""

    on: bool
    steps: dict[int, int]


class Treated(NamedTuple):
    """What the reader did with rows that the user should know of: a phrase in the plural, and of how many it is."""

    text: str
    rows: int


class LeftOut(Struct, frozen=True):
    """Lines or records of which nothing was taken: why, how many, where the first is ("line 12", "byte 4096"), and what
    it says ("" if that tells nothing)."""

    reason: str
    count: int
    first: str
    text: str = ""


class Hint(NamedTuple):
    """What would have more of this source read; empty if nothing would."""

    text: str


Record = Rows | Note | LogLine | ConfigRecord | RunInfo | Exit | HardwareRow | Counted | Hint | Treated


class Reader(Protocol):
    """Incremental parser of one container format. One instance reads one file once, from its first byte."""

    format: str  # name for `--format-in`, reports and `explain`
    whole: bool  # the file is one document that is rewritten as a whole (trainer_state.json): parse at `finish`
    skipped: Counter[str]  # reason -> how many records or lines were left out
    skipped_at: dict[str, str]  # reason -> where the first one was ("line 12", "byte 4096")

    def feed(self, data: bytes) -> list[Record]:
        """New bytes, any number of them. Keeps an incomplete last record for the next call."""

    def finish(self) -> list[Record]:
        """The file ends here for now: yields what a complete but unterminated last record holds (a last line without
        a newline that parses). Feeding may go on afterwards; nothing is yielded twice."""


class LineReader(ABC):
    """What a reader of lines that anybody may write has besides."""

    @property
    @abstractmethod
    def guesses_steps(self) -> bool:
        """A line that states no step got one that it may not have."""

    @abstractmethod
    def rest(self) -> list[Record]:
        """Rows held back until more lines say of which step they are, if nothing more comes for now."""

    @property
    def waits(self) -> bool:
        """Something is still held back: to be asked for once more if nothing comes until then."""
        return False

    @abstractmethod
    def left_out(self) -> list[LeftOut]:
        """The lines of which nothing was taken."""


class ContainedRun(NamedTuple):
    """One of the runs of a container that can hold several. `key` tells it from the others, `start` sorts by time;
    `metric`: the only one that is held of it, which other files complete."""

    format: str
    key: str
    name: str
    start: str
    metric: str = ""


class DatabaseReader(Protocol):
    """Reader of one run in a database, which is changed in place and so is no stream of bytes.

    The contract of `Reader` holds with rows in place of bytes: each `read` yields what was added since the one before,
    over any number of reads the same records come out, and no database raises.
    """

    format: str
    whole: bool  # another database under the same path is read anew from its first row
    skipped: Counter[str]
    skipped_at: dict[str, str]

    def read(self, connection: sqlite3.Connection) -> list[Record]:
        """What the database holds now beyond what was read before. The connection may see a new state each time."""
