"""What the header of a table shows: how lines are split into cells, which columns are step, time and metrics, and to
which run they belong."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.readers.epochs import epoch_key
from rltui.readers.keys import NOTEBOOK_LOSS, first_of, names, of_headings, step_of, time_of
from rltui.readers.row_kinds import (
    flag_of,
    is_measure,
    long_columns,
    of_seed,
    row_words,
    run_column,
    seed_column,
    words_of,
)
from rltui.readers.rows import number

SEPARATORS = ",;\t|"
SPACES = " "
_VALUE = lazy(r"=\s*[-+]?\.?\d|^\d+:$")
"""A cell that holds a value or a count, and so does not name a column."""
WRAPS = "  \\"
"""pandas ends a line of column names with this if further columns follow in a block of their own."""
_NOT_METRICS = {"parsed_index", ""}
_INDEX = ("", "unnamed: 0", "index")
"""Names of the column with the row number, which pandas writes before the others."""
_BANDS = ("__MIN", "__MAX")
"""Endings of columns: W&B exports write each metric three times, as its value and as the lowest and highest of the
samples that the value represents."""
_TENSORBOARD_NAME = lazy(r"(?:run-(.*?)-tag-)?(.+?)(?: ?\(\d+\))?\.(?:csv|tsv|txt)(?:\.\w+)?", re.IGNORECASE)
"""`run-RUN-tag-TAG.csv`: the name that TensorBoard gives a download."""
_PREAMBLE = lazy(
    rb"(?:\xef\xbb\xbf)?(?:sep=.\s*|\s*(?:#|//|%).*|[\s|:+=\-]*|\s*\[\d+ rows x \d+ columns\]\s*)",
    re.IGNORECASE | re.DOTALL,
)
"""Lines that hold no data: the line that Excel writes before a header (`sep=;`), comments, rules of Markdown tables,
and the size that pandas prints below a table."""
_RUN_MARK = " - "
_FEWEST_STEPS = 3
_FEWEST_POINTS = 5
_POINT_FILES = (".csv", ".tsv", ".txt", ".dat")


def is_preamble(line: bytes) -> bool:
    """Whether a line holds no data and may come before the header."""
    return _PREAMBLE.fullmatch(line) is not None


def cut(text: str, separator: str) -> list[str]:
    """Splits a line into cells. Raises csv.Error."""
    if separator == SPACES:
        return text.split()
    if separator == "|":
        return [cell.strip() for cell in text.strip().strip("|").split("|")]
    return next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])


_OPENS = lazy(rb'(?:^|[,;\t|])\s*"')
MOST_LINES = 1000
"""The most lines of one row: a quote that is never closed loses no more lines than this."""


def is_open(line: bytes) -> bool:
    """Whether a quoted cell of this line is not closed, so that its text continues in the next line."""
    return line.count(b'"') % 2 == 1 and _OPENS.search(line) is not None


def goes_on(held: Sequence[bytes]) -> bool:
    """Whether the quotes that these lines open are not closed by the last of them."""
    return sum(one.count(b'"') for one in held) % 2 == 1 and len(held) < MOST_LINES


def rejoined(lines: Iterable[bytes]) -> list[bytes]:
    """The lines of a table, with the lines of a quoted text joined to one."""
    out: list[bytes] = []
    held: list[bytes] = []
    for line in lines:
        held.append(line)
        if goes_on(held) and (len(held) > 1 or is_open(line)):
            continue
        out.append(b" ".join(held))
        held = []
    return [*out, *held]


class CsvTable(Struct, frozen=True):
    """The columns of a table, by what they hold.

    `metrics`: column -> key. `steps`: the steps, if the columns are steps and the rows are metrics. `long`: the columns
    of a metric's name and value, if each row holds one value. `flags`: columns that may show what a row is. `run`: the
    column that names the run of a row; `seed`: the one that distinguishes runs of one name. `named_run`: the run in the
    name of the file.
    """

    separator: str
    columns: tuple[str, ...]
    step: str | None
    time: str | None
    metrics: dict[str, str]
    steps: tuple[int, ...] = ()
    long: tuple[str, str] | None = None
    flags: tuple[str, ...] = ()
    run: str | None = None
    seed: str | None = None
    named_run: str = ""
    wraps: bool = False
    """pandas printed the columns in several blocks, one below the other."""

    @property
    def is_plain(self) -> bool:
        """Whether each row is a step, and no column but step, time and metrics matters."""
        return not (self.steps or self.long or self.flags or self.run)

    @property
    def in_doubt(self) -> bool:
        """Whether the name of the step column leaves open whether it holds steps."""
        return self.step is not None and self.step.lower() in names("perhaps_step")

    @property
    def epoch(self) -> str | None:
        """The column that states the epoch of a row."""
        return None if self.step is None else epoch_key(self.columns, self.step)

    def is_of(self, run: str, row: Mapping[str, str]) -> bool:
        """Whether a row belongs to this run; an empty name means any run."""
        if not run or self.run is None:
            return True
        name = row[self.run].strip()
        return name == run or (self.seed is not None and of_seed(name, row[self.seed].strip()) == run)

    def run_prefixes(self) -> list[str]:
        """The runs whose names are prefixes of the columns' names, as in W&B's export of a chart."""
        return list(dict.fromkeys(c.partition(_RUN_MARK)[0] for c in self.metrics if _RUN_MARK in c))

    def of_run(self, run: str) -> dict[str, str]:
        """Column -> key of one run's metrics; columns that name no run belong to every run."""
        prefix = run + _RUN_MARK
        return {
            column: column.rpartition(_RUN_MARK)[2] if column.startswith(prefix) else key
            for column, key in self.metrics.items()
            if column.startswith(prefix) or _RUN_MARK not in column
        }

    def metric(self, run: str) -> str:
        """The only metric of a run; empty if there are several."""
        own = self.of_run(run) if run in self.run_prefixes() else self.metrics
        return next(iter(own.values())) if len(own) == 1 and not (self.long or self.steps) else ""


def text_of(line: bytes) -> str:
    """The text of a line in UTF-8, or in the code page that spreadsheets in western Europe use."""
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def header(line: bytes, name: str = "") -> CsvTable:
    """The table of a header line; `name`: the file's name. The separator is one that gives a column of steps; if there
    are several, the one that occurs most often. Raises csv.Error."""
    text = text_of(line).strip("\r\n")
    wraps = text.endswith(WRAPS)
    text = text.removesuffix(WRAPS)
    found = {mark: [cell.strip() for cell in cut(text, mark)] for mark in (*SEPARATORS, SPACES)}
    separator = max(SEPARATORS, key=lambda mark: (step_column(found[mark]) is not None, text.count(mark)))
    if len(found[separator]) < 2 and len(found[SPACES]) > 1:
        separator = SPACES
    columns = _numbered(found[separator])
    if any(_VALUE.search(column) for column in columns):
        raise csv.Error("a header names columns, and this line tells values")
    step = step_column(columns)
    steps = _steps(columns) if step is None else ()
    time = first_of("time", columns)
    there = {column.lower(): column for column in reversed(columns)}
    if step is None:
        others = (*names("checkpoint"), *_INDEX, *names("perhaps_step"))
        step = next((there[name] for name in others if name in there), None)
    long = long_columns(columns) if not steps else None
    flags = tuple(there[key] for key in flag_of(there))
    run = run_column(columns)
    seed = None if run is None else seed_column(columns, run)
    aside = {step, time, run, seed, *flags, *(long or ())}
    items = row_words().items if step is not None else frozenset()
    plain = [
        column
        for column in columns
        if column not in aside
        and column.lower() not in _NOT_METRICS
        and column.lower() not in items
        and not column.endswith(_BANDS)
    ]
    match = _TENSORBOARD_NAME.fullmatch(name)
    stated = (match[1] or "") if match else ""
    return CsvTable(
        separator,
        tuple(columns),
        step,
        time,
        {} if long or steps else _keys(plain, match[2] if match else ""),
        steps,
        long,
        flags,
        run,
        seed,
        stated,
        wraps,
    )


def with_index(table: CsvTable, above: bytes, line: bytes) -> CsvTable | None:
    """The table of a header with the index's name, here the steps', on the line below, where pandas writes it; None if
    `line` is any other line. `above`: the header."""
    if table.separator != SPACES or table.step is not None or len(name := line.split()) != 1:
        return None
    index = name[0].decode("utf-8", "replace")
    return header(b" ".join([name[0], above.strip()])) if step_column([index]) is not None else None


def headerless(line: bytes, name: str) -> CsvTable | None:
    """The table of points (step and value, and perhaps a time) that begins with this row; None if it is not a point.
    The file's name is the metric's name."""
    found = next(((mark, point) for mark in (*SEPARATORS, SPACES) if (point := _point(line, mark)) is not None), None)
    if found is None:
        return None
    separator, point = found
    key = name.partition(".")[0] or "value"
    columns = ["step", key]
    if point.time_at is not None:
        columns.insert(point.time_at, "time")
    return CsvTable(separator, tuple(columns), "step", None if point.time_at is None else "time", {key: key})


def is_points(lines: Sequence[bytes], name: str) -> bool:
    """Whether all of these lines are points, at rising steps."""
    table = headerless(lines[0], name) if len(lines) >= _FEWEST_POINTS and name.endswith(_POINT_FILES) else None
    if table is None:
        return False
    points = [point for line in lines if (point := _point(line, table.separator)) is not None]
    rises = all(a.step < b.step for a, b in pairwise(points))
    return rises and len(points) == len(lines) and any("." in point.value for point in points)


class _Point(NamedTuple):
    """The step and value of a line, and the place of its time."""

    step: int
    value: str
    time_at: int | None = None


def _point(line: bytes, separator: str) -> _Point | None:
    """The point in a line of two numbers, or of three if one of the first two is a time."""
    try:
        cells = [cell.strip() for cell in cut(line.decode("utf-8-sig", "replace").strip(), separator)]
    except csv.Error:
        return None
    time_at = None
    if len(cells) == 3:
        time_at = next((i for i, cell in enumerate(cells[:2]) if time_of(cell) == time_of(cell)), None)
        if time_at is None:
            return None
        del cells[time_at]
    if len(cells) != 2 or number(cells[1]) is None:
        return None
    step = cells[0] if time_at is None else cells[0].removesuffix(".0")
    return _Point(int(step), cells[1], time_at) if step.isdecimal() and len(step) < 16 else None


def table_of(lines: Iterable[bytes], name: str) -> CsvTable | None:
    """The table that begins with these lines; None if they are not a table."""
    lines = list(lines)
    for line, below in zip(lines, [*lines[1:], b""], strict=False):
        commented = line.lstrip().startswith(b"#")
        try:
            if commented and (found := commented_header(line, name)) is not None:
                return found
            if line.strip() and not is_preamble(line) and not is_title(table := header(line, name)):
                return with_index(table, line, below) or table
        except csv.Error:
            return None
    return None


def is_title(table: CsvTable) -> bool:
    """Whether the line taken for a header is only a title above the table."""
    named = table.step is not None or table.steps or table.long or looks_like_metrics(table)
    return not named and (table.separator == SPACES or len(table.columns) < 2)


def commented_header(line: bytes, name: str) -> CsvTable | None:
    """The header after a `#`, as numpy writes it. Raises csv.Error."""
    found = header(line.lstrip().lstrip(b"#").strip(), name)
    return found if found.step is not None and len(found.columns) > 1 and found.step in found.columns[:2] else None


def step_column(columns: Sequence[str]) -> str | None:
    """The column of steps among these names, whatever their case."""
    lowered = {name.lower(): name for name in reversed(columns)}
    name = first_of("step", columns) or first_of("step", lowered)
    return None if name is None else lowered.get(name, name)


def _numbered(columns: list[str]) -> list[str]:
    """The names with numbers that make them unique, as pandas writes them: `loss`, `loss.1`."""
    seen: dict[str, int] = {}
    out = []
    for column in columns:
        count = seen[column] = seen.get(column, -1) + 1
        out.append(f"{column}.{count}" if count else column)
    return out


def _steps(columns: Sequence[str]) -> tuple[int, ...]:
    """The steps that name the columns after the first one, if all these columns are named by steps and the steps
    rise."""
    named = [words_of(column) for column in columns[1:]]
    if len(named) < _FEWEST_STEPS or not all(words and words[-1].isdecimal() and len(words) < 3 for words in named):
        return ()
    steps = [step_of(words[-1])[0] for words in named]
    found = tuple(step for step in steps if step is not None)
    return found if len(found) == len(named) and all(a < b for a, b in pairwise(found)) else ()


def _keys(columns: list[str], of_file: str) -> dict[str, str]:
    """The key of each metric column. In an export of several W&B runs, the keys keep the runs' names, so that no column
    hides another. A single column called "value" gets its key from the file's name."""
    if len(columns) == 1 and columns[0].lower() in row_words().values and of_file:
        return {columns[0]: of_file}
    if NOTEBOOK_LOSS in columns and sum(column[:1].isupper() for column in columns) == 1:
        return of_headings(columns)
    plain = [column.rpartition(_RUN_MARK)[2] for column in columns]
    return dict(zip(columns, plain if len(set(plain)) == len(plain) else columns, strict=True))


def looks_like_metrics(table: CsvTable) -> bool:
    """Whether a table without a column of steps holds metrics, by its columns' names."""
    return any(is_measure(key) for key in table.metrics.values())
