"""The runs of a log that names them, one below the other: a script that trains with one seed or task after the other.

A title that names another run begins one if the steps below it begin anew. If they go on, it is the title of a part. A
title that was there before, as of a run that is resumed, goes on with that run. Until it is known which, the lines
below a title are held back.
"""

from __future__ import annotations

from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.base import FIRST_STEP, NO_STEP, Rows
from rltui.readers.console.run_titles import titles

HEAD = 1 << 16
"""A log whose first title is not within this many bytes has no titles: so many are read to tell its format."""
ENOUGH = 1 << 15
"""Bytes of the beginning and the end of a part that are kept, to tell its steps."""
MOST = 1 << 18
"""Bytes below a title after which it is no longer waited for steps."""
LONG = 1 << 12
"""A line with more bytes is no title, so it is given out before its end is there."""
LOOK_AT = 4
"""Lines below a title after which it is asked for steps; then after twice as many, and so on."""
SURE = 2
"""Rows below a title after which it is known what it begins."""
_LINE = lazy(rb"[^\r\n]*[\r\n]?")
_Names = dict[str, str]


class OwnText(NamedTuple):
    """What is to be read of a piece of the log. The lines of other runs are empty in it. `over`: the number of the line
    above which the run ended, as another one begins there; 0 if none does."""

    text: bytes
    over: int = 0


class _Part:
    """Lines that are known to be of one run, below its title: their first bytes and the newest ones."""

    def __init__(self, begin: bytes = b"") -> None:
        self._head, self._tail, self._steps = b"", b"", (0, _Steps())
        self._size = 0
        self.add(begin)

    def add(self, text: bytes) -> None:
        self._size += len(text)
        self._head += text[: max(0, ENOUGH - len(self._head))]
        self._tail = (self._tail + text[-ENOUGH:])[-ENOUGH:]

    @property
    def steps(self) -> _Steps:
        if self._steps[0] != self._size:
            found = _steps(self._head)
            if self._size > ENOUGH and (newest := _steps(self._tail)).rows:
                found = newest._replace(first=found.first, rows=found.rows + newest.rows)
            self._steps = self._size, found
        return self._steps[1]


class _Steps(NamedTuple):
    """The first and the newest step of some lines, None if none is stated, and how many rows they have."""

    first: int | None = None
    newest: int | None = None
    rows: int = 0

    @property
    def begun(self) -> bool:
        """Whether they are more than a score before training."""
        return self.newest is not None or self.rows >= SURE


class _Next:
    """Lines of which it is not known whose they are. `names`: those of the titles above them."""

    def __init__(self, names: _Names, lines: list[bytes]) -> None:
        self.names, self.lines, self.look_at = names, lines, LOOK_AT

    @property
    def size(self) -> int:
        return sum(map(len, self.lines))


class RunSections:
    """Cuts a log into the lines of its runs. `run`: the key of the run to read, "" for the first. `keys`: the runs that
    were found so far. `others`: how many lines are of others than the one that is read; `first_other`: the number of
    the first of them that come after it, 0 for none."""

    def __init__(self, run: str = "") -> None:
        self.keys: list[str] = []
        self.others = self.first_other = 0
        self._run = run
        self._names: _Names = {}
        self._order: list[str] = []  # names in the order in which titles brought them: the outer loop first
        self._now = _Part()
        self._newest: dict[str, _Part] = {}  # of each run
        self._parts_only: set[str] = set()  # names whose titles stand above parts of a run
        self._line = b""  # the beginning of a line that was not given out
        self._within = False  # the beginning of the line before the next bytes was given out
        self._at, self._seen = 1, 0
        self._next: _Next | None = None

    @property
    def waits(self) -> bool:
        """Whether lines are held back."""
        return self._next is not None

    @property
    def _key(self) -> str:
        return _key(self._names)

    @property
    def _is_own(self) -> bool:
        if not self._names or not (self._run or self.keys):
            return True
        return self._key == (self._run or self.keys[0])

    def feed(self, data: bytes) -> list[OwnText]:
        """What is to be read of the next bytes."""
        text = self._line + data
        if not self._names and self._seen > HEAD:
            self._line = b""
            return [OwnText(text)]
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        if len(text) - end > LONG and self._next is None:
            end = len(text)
        block, self._line = text[:end], text[end:]
        out: list[OwnText] = []
        at = 0
        for place, names in titles(block):
            if self._within and place == 0:
                continue
            out += self._take(block[at:place])
            at = block.index(b"\n", place) + 1
            out += self._title(block[place:at], names)
            self._at += 1
        out += self._take(block[at:])
        self._within = not block.endswith((b"\n", b"\r")) if block else self._within
        return [piece for piece in out if piece.text or piece.over]

    def _take(self, text: bytes) -> list[OwnText]:
        """Takes lines without a title."""
        out: list[OwnText] = []
        at = 0
        while self._next is not None and at < len(text) and (found := _LINE.match(text, at)) is not None:
            at = found.end()
            self._next.lines.append(found[0])
            self._at += found[0].endswith(b"\n")
            if len(self._next.lines) >= self._next.look_at:
                self._next.look_at *= 2
                out += self._decide(over=self._next.size > MOST)
        text = text[at:]
        self._at += text.count(b"\n")
        return [*out, self._given(text)]

    def _given(self, text: bytes, over: int = 0) -> OwnText:
        """Takes lines of the part that is read now."""
        self._seen += len(text)
        if self._names or self._seen <= HEAD:
            self._now.add(text)
        if self._is_own:
            return OwnText(text, over)
        lines = text.count(b"\n")
        self.others += lines
        self.first_other = self.first_other or over
        return OwnText(b"\n" * lines, over)

    def _with(self, before: _Names, names: _Names) -> _Names:
        """The names that hold below a title: those of the loops outside it stay."""
        self._order += [name for name in names if name not in self._order]
        first = min(self._order.index(name) for name in names)
        return {name: x for name, x in before.items() if self._order.index(name) < first} | names

    def _title(self, text: bytes, names: _Names) -> list[OwnText]:
        if not self._names and self._seen + len(text) > HEAD:
            return [self._given(text)]
        out: list[OwnText] = []
        if self._next is not None:
            if not _steps(b"".join(self._next.lines)).rows:  # a title below a title
                self._next.lines.append(text)
                self._next.names = self._with(self._next.names, names)
                return []
            out += self._decide(over=True)
        below = self._with(self._names, names)
        if names.keys() <= self._parts_only or _key(below) == self._key:
            return [*out, self._given(text)]
        if not self._now.steps.begun:  # above all rows: it names them
            self._names = below
            return [*out, self._given(text)]
        if not self._names:  # the first rows are of a run without a name, so that titles do not name runs
            self._parts_only |= names.keys()
            return [*out, self._given(text)]
        self._next = _Next(below, [text])
        return out

    def _decide(self, over: bool) -> list[OwnText]:
        """Tells whose the lines below the newest title are, if it can be told. `over`: no more of them come."""
        assert self._next is not None
        names, text = self._next.names, b"".join(self._next.lines)
        below = _steps(text)
        if below.rows < SURE and not over:
            return []
        self._next = None
        was_own, key = self._is_own, _key(names)
        if not below.rows or not (key in self._newest or _begins(below, self._now.steps)):
            if below.rows:
                self._parts_only |= {name for name, x in names.items() if self._names.get(name) != x}
            return [self._given(text)]
        if not self.keys:
            self.keys.append(self._key)
        self._newest[self._key] = self._now
        self._names, self._now = names, self._newest.get(key) or _Part()
        if key not in self.keys:
            self.keys.append(key)
        return [self._given(text, self._at - text.count(b"\n") if was_own and not self._is_own else 0)]

    def flush(self, surely: bool = True) -> list[OwnText]:
        """What is to be read if nothing follows. `surely`: also lines of which it is not known whose they are."""
        if self._next is not None and not surely:
            return []
        line, self._line = self._line, b""
        self._within |= bool(line)
        if self._next is not None:
            self._next.lines.append(line)
            return self._decide(over=True)
        return [self._given(line)] if line else []


def _key(names: _Names) -> str:
    return " ".join(f"{name} {x}" for name, x in names.items())


def _begins(below: _Steps, above: _Steps) -> bool:
    """Whether the steps below a title begin anew. If a log states none, its titles alone tell."""
    if below.first is None or above.newest is None or above.first is None:
        return below.first is above.newest is None
    return below.first <= above.newest and below.first <= max(FIRST_STEP, above.first)


def _steps(text: bytes) -> _Steps:
    """The steps that the console reader finds in some lines."""
    from rltui.readers.console.reader import ConsoleReader  # as that asks for no titles

    if not text:
        return _Steps()
    reader = ConsoleReader()
    reader.only_rows()
    rows = [one for one in [*reader.feed(text), *reader.finish()] if isinstance(one, Rows) and not one.printed]
    count = sum(map(len, rows))
    stated = [step for one in rows for step in one.steps if step != NO_STEP]
    if not stated or reader.counted or reader.guesses_steps:
        return _Steps(rows=count)
    return _Steps(stated[0], stated[-1], count)
