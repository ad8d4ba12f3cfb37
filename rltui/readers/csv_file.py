"""CSV with a header: Lightning's metrics.csv, exports of W&B and TensorBoard, parsed logs."""

from __future__ import annotations

import csv
import re
from collections import Counter
from math import nan

from rltui.lazy_regex import lazy
from rltui.readers.base import NO_STEP, Record
from rltui.readers.keys import StepColumn, first_of, time_of
from rltui.readers.lines import TOO_LONG, LineBuffer, unchanged
from rltui.readers.rows import RowBuilder

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_POINT = lazy(rf"[+-]?(?:\d*\.\d+|\d+\.){_EXPONENT}|[+-]?[1-9]\d{{0,2}}(?:,\d{{3}})+\.\d*{_EXPONENT}")
"""Only the point can be the decimal mark of these, but for a single group of three digits."""
_COMMA = lazy(rf"[+-]?\d*,\d+{_EXPONENT}|[+-]?[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d*{_EXPONENT}")
_GROUP = lazy(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""`1,234` and `1.234`: a thousand and something, or one and something."""
_GROUPS = lazy(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}|(?:\.\d{3}){2,})")

UNTOLD = "number with a comma that may stand before decimals or thousands"


class DecimalMark:
    """Learns the mark from the cells of one table, and turns its numbers into those that `float` reads.

    `mark` is "" until a cell tells, "mixed" once two cells contradict each other.
    """

    def __init__(self) -> None:
        self.mark = ""

    def learn(self, cells: list[str]) -> bool:
        """Takes up what a row says; false where the row holds a number that nothing so far tells how to read."""
        for cell in cells:
            told = _told(cell) if "," in cell or "." in cell else ""
            if told and told != self.mark:
                self.mark = "mixed" if self.mark else told
        return bool(self.mark) or not any("," in cell and _GROUP.fullmatch(cell.strip()) for cell in cells)

    def plain(self, cell: str) -> str | None:
        """The cell with a decimal point and without marks between thousands; None for a number that cannot be told."""
        if "," not in cell and (self.mark != "," or "." not in cell):
            return cell
        text = cell.strip()
        mark = _told(text)
        if not mark and _GROUP.fullmatch(text):
            if "," in text and self.mark not in (",", "."):
                return None
            mark = "." if self.mark == "mixed" else self.mark
        if mark == ",":
            return text.replace(".", "").replace(",", ".")
        return text.replace(",", "") if mark == "." else cell


def _told(cell: str) -> str:
    """The decimal mark of one cell; empty where it holds none, or no number, or may have either."""
    text = cell.strip()
    if _GROUP.fullmatch(text):
        return ""
    if _GROUPS.fullmatch(text):
        return "." if "," in text else ","
    if _POINT.fullmatch(text):
        return "."
    return "," if _COMMA.fullmatch(text) else ""


SEPARATORS = ",;\t"
_NOT_METRICS = {"parsed_index", ""}
_BANDS = ("__MIN", "__MAX")
"""W&B exports write each metric three times: the value and the band of the samples that it stands for."""
_TENSORBOARD = {"Wall time", "Step", "Value"}
_TENSORBOARD_NAME = re.compile(r"(?:run-.*-tag-)?(.+?)(?: ?\(\d+\))?\.csv(?:\.\w+)?", re.IGNORECASE)
"""`run-RUN-tag-TAG.csv`, as TensorBoard names a download."""
_EXCEL = re.compile(rb"(?:\xef\xbb\xbf)?sep=.\s*", re.IGNORECASE)
"""A first line that Excel writes and reads."""
MAX_HELD = 1000
"""Rows that wait for the first number that tells the decimal mark."""


def is_preamble(line: bytes) -> bool:
    """Whether a line before the header says how the table is written."""
    return _EXCEL.fullmatch(line) is not None


def header(line: bytes) -> tuple[str, list[str]]:
    """Separator and column names of a header line: the separator that leaves a column of steps, of several the one
    that is there most often."""
    text = line.decode("utf-8-sig", "replace").strip("\r\n")
    cut = {mark: [name.strip() for name in next(csv.reader([text], delimiter=mark), [])] for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: (_step_column(cut[mark]) is not None, text.count(mark)))
    return separator, cut[separator]


def _step_column(columns: list[str]) -> str | None:
    lowered = {name.lower(): name for name in reversed(columns)}
    name = first_of("step", columns) or first_of("step", lowered)
    return None if name is None else lowered.get(name, name)


class CsvReader:
    """`name` is the file's. Empty cells are missing. A row with another number of cells than the header is left out.
    Decimal commas are told from the table's own numbers; what cannot be told is left out and counted."""

    format = "csv"
    whole = False

    def __init__(self, name: str = "") -> None:
        self._file = name
        self._metrics: dict[str, str] = {}  # column -> key
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer()
        self._rows = RowBuilder(self.skipped, self.skipped_at)
        self._separator = ","
        self._columns: list[str] = []
        self._step: str | None = None
        self._time: str | None = None
        self._line = 0
        self._steps = StepColumn(self._skip)
        self._decimal = DecimalMark()
        self._held: list[tuple[int, list[str]]] = []  # with the numbers of their lines

    def feed(self, data: bytes) -> list[Record]:
        block = self._buffer.feed(data)
        for before in self._buffer.too_long:
            self._skip(TOO_LONG, line=self._line + before + 1)
        return self._read(block.split(b"\n")[:-1]) if block else []

    def finish(self) -> list[Record]:
        rest = self._buffer.peek()
        records: list[Record] = []
        if self._columns and rest.count(self._separator.encode()) == len(self._columns) - 1:
            line = self._line
            with unchanged(self.skipped, self.skipped_at):  # the line may grow yet
                records = self._read([rest])
            self._line = line
        self._let_go()
        return [*records, *self._rows.take()]

    def _read(self, lines: list[bytes]) -> list[Record]:
        for line in lines:
            self._line += 1
            if not line.strip():
                continue
            if not self._columns:
                if not is_preamble(line):
                    self._begin(line)
                continue
            text = line.decode("utf-8", "replace").replace("\0", "").rstrip("\r")
            try:
                cells = next(csv.reader([text], delimiter=self._separator), [])
            except csv.Error:
                cells = []
            if len(cells) != len(self._columns):
                self._skip("row with another number of cells than the header")
                continue
            if self._decimal.mark == "." and not any("," in cell for cell in cells):
                self._add(cells, self._line)
                continue
            self._held.append((self._line, cells))
            if self._decimal.learn(cells) or len(self._held) >= MAX_HELD:
                self._let_go()
        return [*self._rows.take()]

    def _let_go(self) -> None:
        """Takes the rows that waited, as their numbers can be read by now."""
        held, self._held = self._held, []
        for line, cells in held:
            plain = [self._decimal.plain(cell) for cell in cells]
            if untold := plain.count(None):
                self._skip(UNTOLD, line, untold)
            self._add([cell or "" for cell in plain], line)

    def _add(self, cells: list[str], line: int) -> None:
        row = dict(zip(self._columns, cells, strict=True))
        self._rows.add(
            NO_STEP if self._step is None else self._steps.step(row[self._step], line),
            {key: row[column] for column, key in self._metrics.items()},
            nan if self._time is None else time_of(row[self._time]),
        )

    def _begin(self, line: bytes) -> None:
        try:
            self._separator, self._columns = header(line)
        except csv.Error:
            self._skip("header that is no CSV")
            return
        self._step, self._time = _step_column(self._columns), first_of("time", self._columns)
        self._metrics = self._keys([name for name in self._columns if self._is_metric(name)])

    def _keys(self, columns: list[str]) -> dict[str, str]:
        """The key of each metric column. An export of several W&B runs keeps their names, so that none hides another;
        TensorBoard names the metric only in the name of the file."""
        match = _TENSORBOARD_NAME.fullmatch(self._file)
        if match and set(self._columns) == _TENSORBOARD:
            return {"Value": match[1]}
        plain = [_plain_name(column) for column in columns]
        return dict(zip(columns, plain if len(set(plain)) == len(plain) else columns, strict=True))

    def _is_metric(self, key: str) -> bool:
        return key not in (self._step, self._time) and key not in _NOT_METRICS and not key.endswith(_BANDS)

    def _skip(self, reason: str, line: int | None = None, count: int = 1) -> None:
        self.skipped[reason] += count
        self.skipped_at.setdefault(reason, f"line {line or self._line}")


def _plain_name(key: str) -> str:
    """The metric's key behind the run's name of a W&B export (`run - metric`)."""
    return key.rpartition(" - ")[2]
