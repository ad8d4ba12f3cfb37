"""The step that the lines below a step line or heading belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import nan

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.evaluation_titles import begins_evaluation, ends_evaluation, set_of
from rltui.readers.console.heading_forms import FENCE, HeadingForms, ends_text, opens_text
from rltui.readers.console.layouts import is_frame, pair_cells, title, titled, without_count, without_marks
from rltui.readers.console.lead import Lead, bare, of_container, program, split_lead, without_lead
from rltui.readers.console.line_pairs import MAX_BLOCK, attributes
from rltui.readers.console.plain_lines import done_within, of_evaluation, told_whole
from rltui.readers.console.sections import part_of_step
from rltui.readers.console.values_above import ends_step, stand_above, told_again
from rltui.readers.name_words import has_word, is_named, measures, words

COUNT = r"(\d{1,15}|\d{1,3}(?:,\d{3})+)"
OUT_OF = r"(?:\s?/\s?| (?:out )?of )"
BEGIN = lazy(
    rf"^\[?(?:global[_ ]?step|train(?:ing)?[_ ]?step|step|iter(?:ation)?)\s*[:=#]?\s*{COUNT}(?:{OUT_OF}{COUNT})?\]?"
    r"(?:\s*[:,;|>\-]+\s+|\s+)(?=[A-Za-z])",
    re.IGNORECASE,
)
_PART = lazy(rf"^(?:step|iter(?:ation)?)\s+{COUNT}(?:\s*:?$|:\s+[^\W\d])", re.IGNORECASE)
_DIGITS = lazy(r"\d+")
_WORDED = lazy(r"^(?![|│┃║]\D*$).*[^\W_]")
"""Words, except those that name the columns of a table."""
_OPENS = lazy(r"[:=\-#*>{\[(]\s*$|^[^\W\d]+(?: [^\W\d]+){0,2}$")
"""A message that only announces what follows: with a colon, as a heading, in a few words."""
_LED = lazy(r"[^\W\d][\w/\-]*:\s+[^\W\d]")
"""A title of one word, before words."""


def _alike(stamp: str, other: str) -> bool:
    """Whether the container's prefixes of two lines are equal, apart from the time."""
    return _DIGITS.sub("", stamp).split() == _DIGITS.sub("", other).split()


class StepBlock(Struct):
    """The step that the following lines belong to."""

    step: int
    total: int | None = None
    cells: dict[str, float] = field(default_factory=dict)
    lines: int = 0
    lead: str | None = None  # the text before the names in the lines below
    over: bool = False  # no further line belongs to it
    apart: bool = False  # another line is right below it
    headed: bool = False  # a heading began it
    source: str = ""  # the program that wrote it
    printed: bool = False  # a heading that was printed: its numbers may come from a logger
    second: str | None = None  # that logger
    title: str = ""  # that of the newest line
    title_above: str = ""  # that of lines without one of their own
    evaluated: bool = False  # a line said that an evaluation follows
    time: float = nan  # when the line with the step was written
    at: int = 0  # its line number
    led: Lead | None = None  # the lead of the line with the step, if it names a program
    worded: bool = False  # there were words after the heading
    elsewhere: bool = False  # the newest message is from another program
    parted: bool = False  # lines without that lead do not belong to it any more
    known: frozenset[str] = frozenset()  # names in the messages of earlier headings
    own: set[str] = field(default_factory=set)  # names in the message of this heading
    above: dict[str, float] = field(default_factory=dict)  # numbers right above the first step
    resumed: bool = False  # a line above the first step says that the log begins there
    before: frozenset[str] = frozenset()  # names of numbers that are, or may be, above their step
    text: bool = False  # below it a text with headings of its own is printed
    fenced: bool = False  # a piece of code is
    sampled: bool = False  # a sample is
    doubtful: set[str] = field(default_factory=set)  # names below that sample
    lines_below: HeadingForms = field(default_factory=HeadingForms)
    ahead: dict[str, float] = field(default_factory=dict)  # numbers below it that may belong to the next step
    below_names: list[str] = field(default_factory=list)
    inner: set[str] = field(default_factory=set)  # names in lines about work inside the step
    part: str = ""  # the part of the step that a tag before it names: `[critic] step 3`
    message: str = ""  # the line with the step
    form: str = ""  # what tells such lines from others: see `courses`
    twice: int = 0  # how many of its numbers have the name of another one in the line

    def line(self, message: str, prefix: str) -> bool:
        """Takes a further line, after Ray's `prefix`. Returns whether its numbers belong to the step."""
        message = without_count(message, lambda count: count == self.step)
        lead = split_lead(message)
        if prefix + program(lead) in (self.source, self.second):
            self.elsewhere = False
            return self.below(message)
        if self.printed and self.second is None and measures(self._cells(lead.message), "training"):
            self.second = prefix + program(lead)
            return self.below(message)
        if self.led is None or prefix + program(self.led) != self.source:
            return False
        container = of_container(message)
        text = message[len(container) :]
        if split_lead(text).before or not _alike(container, of_container(self.led.before)):
            self.elsewhere = True
            self.over |= _OPENS.search(lead.message) is not None  # what follows belongs to that message
            return False
        if not self.headed:
            return self._right_below(text)
        return self._further(text)

    def _right_below(self, text: str) -> bool:
        """Takes a line below a step line with numbers: lines of metrics right below it belong to the step too."""
        self.parted |= self.elsewhere or not measures(self._cells(text))
        return not self.parted and self.below(text)

    def _further(self, text: str) -> bool:
        """Takes a line that may belong to the heading's message, as logging puts its lead only before the first of
        several lines. Words end the numbers, and so does a title of samples or code. After a line of another program,
        only known names of metrics belong to the step."""
        cells = self._cells(text)
        if self.elsewhere and cells and not (measures(cells) or self.known & cells.keys()):
            return False
        taken = self.below(text)
        named = self.title.lower().split()
        self.over |= self.worded or not words().texts.isdisjoint((*named[:1], *named[-1:]))
        if taken and not self.elsewhere:
            self.own |= cells.keys()
        return taken

    def join(self, other: StepBlock, same: bool) -> None:
        """Takes another line of this step. If it is of the `same` program its numbers win, else the old ones. If two
        parts of the step share a name, it gets the name of its part."""
        mine, its = self.cells, other.cells
        if self.part and other.part and self.part != other.part:
            both = mine.keys() & its.keys()
            mine = {part_of_step(self.part, name) if name in both else name: x for name, x in mine.items()}
            its = {part_of_step(other.part, name) if name in both else name: x for name, x in its.items()}
        self.cells = mine | its if same else its | mine
        self.lines = 0

    def go_on(self, following: StepBlock, above: Mapping[str, float]) -> None:
        """Ends this step, as `following` begins. Numbers between the two go to `following` if this log writes numbers
        above their step. `above`: those right above it, below lines that belong to no step."""
        counts = [self.step, following.step]
        surely, between = self.resumed or ends_step(self.message), [[*self.below_names, *above]]
        self.above = told_again(self.above, between)
        if self.above and not stand_above(self.above, between, counts, surely):
            self.cells = {**self.cells, **self.ahead}
            return
        self.cells = {**self.cells, **self.above, **self.cells}  # what the line itself tells counts
        following.before = self.before
        led = {name: x for name, x in above.items() if name in self.before}
        following.cells = {**following.cells, **self.ahead, **led, **following.cells}

    @property
    def told(self) -> dict[str, float]:
        """Its numbers. Those of a message with several lines count only if one of them has a metric's name."""
        return self.cells if not self.own or measures(self.cells) else {}

    def _alone(self, text: str) -> dict[str, float]:
        """The only number of a line, if a title is before it, or if lines like it are below most headings."""
        if _LED.match(text):
            return told_whole(text, least=1)
        cells = told_whole(text, least=1) if self.headed and "." in text else {}
        return cells if self.lines_below.may_have_line(cells) else {}

    def _cells(self, message: str) -> dict[str, float]:
        """The numbers of a line, which may also be a table row right below a heading."""
        of_table = self.headed and not self.worded
        return attributes(message) or (pair_cells(without_lead(message)) or {} if of_table else {})

    def _is_text(self, message: str) -> bool:
        """Whether a line below a heading begins a piece of code, or a part of a response that is numbered as steps
        are: from there on, only lines with names that often came below headings belong to the step."""
        text = without_lead(message).strip()
        if not self.headed:
            return False
        if FENCE in text:
            self.fenced ^= text.count(FENCE) % 2 == 1
            return True
        self.sampled |= opens_text(text)
        self.text &= not ends_text(text)
        part = _PART.match(text)
        if part is None or count_of(part[1]) == self.step:
            return False
        self.text = True
        return True

    def _among_texts(self, cells: dict[str, float]) -> None:
        """Takes the numbers of a line below a heading. The same names before it, below a sample, were a part of that,
        if lines like this one are below most headings."""
        if self.sampled and self.lines_below.has_line(cells):
            for name in self.doubtful & cells.keys():
                self.cells.pop(name, None)
            self.doubtful -= cells.keys()
        elif self.sampled:
            self.doubtful |= cells.keys() - self.cells.keys()
        self.lines_below.add_line(cells)

    def below(self, message: str) -> bool:
        """Takes a further line. Its named numbers belong to the step if it is indented or marked like the first of such
        lines; without indent or mark the lines must follow each other. Returns whether they belong."""
        if self._is_text(message):
            return False
        named = BEGIN.match(bare(message))
        if named is not None and count_of(named[1]) != self.step:
            self.over = True  # it belongs to another step
            return False
        if inner := done_within(without_marks(without_lead(message))):
            for name in inner.keys() - (self.cells.keys() - self.inner):
                self.cells[name] = inner[name]  # the last one of a name counts
                self.inner.add(name)
            return True
        cells = self._cells(message)
        if cells and (self.text or self.fenced) and not self.lines_below.has_line(cells):
            return False
        heads, rest = titled(without_marks(without_lead(message)))
        if cells:
            self.title = heads or _work(message) or self.title_above
        else:
            cells = attributes(rest) if heads else self._alone(rest)
            self.title = heads if cells else self.title_above
        text = without_lead(message)
        before = message[: len(message.rstrip()) - len(text)]
        lead = before[len(before.rstrip()) + bool(before.strip()) :] + text[: len(text) - len(without_marks(text))]
        if not cells and begins_evaluation(text):
            self.evaluated, self.lead, self.title, self.title_above = True, None, "", ""
            return False
        if not cells and self.evaluated and ends_evaluation(text):
            self.evaluated, self.lead = False, None
        if not cells:
            self.title = self.title_above = title(text)
            self.worded |= not self.title and _WORDED.search(text) is not None and not is_frame(text)
            self.over |= self.lead == "" and bool(message.strip())
            self.apart |= bool(message.strip())
            return False
        if self.lead is None:
            self.lead = lead
            self.over |= not lead and self.apart and not self.headed
        if self.over or bool(lead) != bool(self.lead):
            return False
        if any(is_named(name, words().counters) and not has_word(name, words().amounts) for name in cells):
            self.over = True  # another step begins
            return False
        if self.headed:
            self._among_texts(cells)
        of = set_of(message) if self.evaluated else ""
        for name, x in cells.items():  # the first one of a name counts that is of the whole step
            key = of_evaluation(f"{of}/{name}" if of else name) if self.evaluated else name
            if self.title and key in self.cells:
                if has_word(self.title, words().texts):
                    continue  # of the sample
                key = f"{self.title}/{key}"
            if len(self.below_names) < MAX_BLOCK:
                self.below_names.append(key)
            if key in self.before:
                self.ahead.setdefault(key, x)
                continue
            if key in self.inner:
                self.inner.remove(key)
                self.cells[key] = x
            elif len(self.cells) < MAX_BLOCK:
                self.cells.setdefault(key, x)
        return True


def _work(message: str) -> str:
    """The work that the lead of a line names: `train: loss=0.1`; "" if it names none."""
    lead = split_lead(message)
    return "" if program(lead) else lead.source


def count_of(text: str) -> int:
    return int(text.replace(",", ""))
