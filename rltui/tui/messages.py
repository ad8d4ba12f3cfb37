"""The messages to the screen from the threads that find, read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from textual.message import Message

if TYPE_CHECKING:
    from rltui.compare.model import Comparison, ConfigDiff
    from rltui.compare.read import ComparedRun
    from rltui.compare.runs import RunRow
    from rltui.diagnosis.insight import Insight
    from rltui.events.changes import Event
    from rltui.events.digest import Digest
    from rltui.report.model import Report
    from rltui.report.names import FirstValues
    from rltui.report.rollouts_page import RolloutPage
    from rltui.report.user_marks import Marks


class Choice(Struct, frozen=True):
    """A run that can be opened."""

    name: str
    path: str
    format: str
    bytes: int


class ReportArrived(Message):
    """A new report, from which the whole screen is drawn. A newer one replaces one that is still waiting."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ReportArrived)


class PastArrived(Message):
    """The report as it stood at a step."""

    def __init__(self, step: int, report: Report) -> None:
        super().__init__()
        self.step = step
        self.report = report

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, PastArrived)


class InsightArrived(Message):
    """What moved around step `around`, as known at step `at` (None: now)."""

    def __init__(self, around: int, at: int | None, insight: Insight) -> None:
        super().__init__()
        self.around = around
        self.at = at
        self.insight = insight


class FirstValuesRead(Message):
    """The newest values, before anything else is known about the run."""

    def __init__(self, values: FirstValues) -> None:
        super().__init__()
        self.values = values


class RunsFound(Message):
    """More than one run: the user chooses."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        super().__init__()
        self.choices = choices


class SourceFailed(Message):
    """The run could not be opened (`opened` false) or read further. One sentence says why and what to do."""

    def __init__(self, text: str, opened: bool) -> None:
        super().__init__()
        self.text = text
        self.opened = opened


class RunAwaited(Message):
    """There is no run yet, but one may come. One sentence says what is there."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class PageRead(Message):
    """A page of text: a rule, the settings, or what works here."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__()
        self.word = word
        self.text = text


class MarksRead(Message):
    """The user's marks for the run that is open. `first_time`: the user has never opened the screen before."""

    def __init__(self, marks: Marks, first_time: bool = False) -> None:
        super().__init__()
        self.marks = marks
        self.first_time = first_time


class RolloutsRead(Message):
    """The rollouts of a step, for the screen that asked; `problem` says why they could not be read."""

    def __init__(self, page: RolloutPage | None, problem: str = "") -> None:
        super().__init__()
        self.page = page
        self.problem = problem

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RolloutsRead)


class Written(Message):
    """The path of a file that the user asked for, or why it was not written."""

    def __init__(self, what: str, path: str, error: str = "") -> None:
        super().__init__()
        self.what = what
        self.path = path
        self.error = error


class RowsRead(Message):
    """The state of some of the runs found, by number. `done`: these are the last."""

    def __init__(self, rows: dict[int, RunRow], done: bool) -> None:
        super().__init__()
        self.rows = rows
        self.done = done


class CompareProgress(Message):
    """How many runs of the total were read, and the name of the one that is being read."""

    def __init__(self, done: int, total: int, name: str) -> None:
        super().__init__()
        self.done = done
        self.total = total
        self.name = name

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, CompareProgress)


class Compared(Message):
    """The comparison, or why there is none. `left_out`: runs that fail by an error in rltui, each with the error."""

    def __init__(
        self,
        comparison: Comparison | None,
        facts: tuple[ComparedRun, ...],
        problem: str = "",
        left_out: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.left_out = left_out
        self.comparison = comparison
        self.facts = facts
        self.problem = problem


class Differs(Message):
    """The configs of two runs side by side."""

    def __init__(self, diff: ConfigDiff) -> None:
        super().__init__()
        self.diff = diff


class DigestMade(Message):
    """What happened since the last look; None if nothing did."""

    def __init__(self, digest: Digest | None) -> None:
        super().__init__()
        self.digest = digest


class Happened(Message):
    """Events of the run that is open."""

    def __init__(self, events: list[Event]) -> None:
        super().__init__()
        self.events = events
