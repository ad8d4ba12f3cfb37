"""CSV with a header: Lightning's metrics.csv, exports of W&B and TensorBoard, parsed logs."""

from __future__ import annotations

import csv
from collections import Counter
from math import nan

from msgspec.structs import replace

from rltui.readers.base import NO_STEP, EpochReader, Note, Record
from rltui.readers.blank_cells import BlankCells
from rltui.readers.csv_table import (
    SEPARATORS,
    SPACES,
    CsvTable,
    commented_header,
    cut,
    goes_on,
    header,
    headerless,
    is_open,
    is_preamble,
    is_title,
    text_of,
    with_index,
)
from rltui.readers.decimal_mark import DecimalMark
from rltui.readers.epochs import CountsByEpoch, epoch_of
from rltui.readers.keys import RISING, StepColumn, first_of, is_time, names, names_zone, step_of, time_of
from rltui.readers.lines import FEW_BYTES, MANY_BYTES, TOO_LONG, LineBuffer, unchanged
from rltui.readers.row_kinds import as_evaluation, kind_of, row_words
from rltui.readers.rows import RowBuilder, number
from rltui.readers.sample_means import SampleMeans

OTHER_COUNT = "row with another number of cells than the header"
NO_NUMBER = "row without a step and without numbers"
NO_ROW = "line of words among the rows of a table"
UNTOLD = "number with a comma that may be decimal or separate thousands"


_NO = ("nan", "none", "null", "<na>", "na", "n/a", "nat")
"""Texts for a number that is missing."""
_FIRST_BYTES = 1 << 11
"""How many bytes of lines are read one by one before the reader checks again whether the table is known. A few rows
show it."""
MAX_HELD = 1000
"""At most this many rows wait for the first number that shows the decimal mark."""


class CsvReader(EpochReader):
    """`name`: the file's name; `run`: the run to read, if the file holds several. Empty cells are missing. A row with
    another number of cells than the header is left out. The table's own numbers show whether commas are decimal;
    ambiguous numbers are left out and counted."""

    format = "csv"
    whole = False

    def __init__(self, name: str = "", run: str = "") -> None:
        self._file = name
        self._run = run
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._buffer = LineBuffer()
        self._rows = RowBuilder(self.skipped, self.skipped_at)
        self._table: CsvTable | None = None
        self._metrics: dict[str, str] = {}  # column -> key
        self._is_first = False  # the first row below a header that names a time is still to come
        self._line = 0
        self._steps = StepColumn(self._skip)
        self._epochs = CountsByEpoch()
        self._decimal = DecimalMark()
        self._held: list[tuple[int, list[str]]] = []  # with the numbers of their lines
        self._means = SampleMeans()
        self._before: tuple[int, dict[str, object], float] = (NO_STEP, {}, nan)
        self._by_step: dict[int, dict[str, object]] = {}  # of a table whose columns are steps
        self._header = b""  # the line before this one, if it is a header
        self._wraps = False
        self._blank: BlankCells | None = None  # for a table whose columns only blanks separate
        self._torn = False
        self._open: list[bytes] = []  # lines of a row whose quoted text continues
        self._step_by_index: dict[str, int] = {}  # of a data frame whose columns are printed in blocks
        self._many = False  # polars is imported
        self._total: str | None = None  # column of the planned steps
        self._plan: tuple[int, int] | None = None  # step and planned steps of the newest row
        self._measured: set[str] = set()  # columns that look like flags but are not
        self._words: set[int] = set()  # places of columns that do not hold only numbers

    @property
    def epoch(self) -> int | None:
        return None if self._epochs.last is None else self._epochs.last[0]

    def feed(self, data: bytes) -> list[Record]:
        block = self._buffer.feed(data)
        for before in self._buffer.too_long:
            self._skip(TOO_LONG, line=self._line + before + 1)
        if len(block) < (FEW_BYTES if self._many else MANY_BYTES):
            return self._read(block.split(b"\n")[:-1])
        self._many = True
        self._read_many(block)
        return self._told()

    def finish(self) -> list[Record]:
        rest = self._buffer.peek()
        records: list[Record] = []
        if self._table is not None and not self._open and self._is_whole(rest, self._table) and not is_open(rest):
            line = self._line
            self._torn = True
            with unchanged(self.skipped, self.skipped_at):  # the line may grow yet
                records = self._read([rest])
            self._line, self._torn = line, False
        self._let_go()
        for step, cells, time in self._means.so_far():
            self._rows.add(step, cells, time)
        by_step, self._by_step = self._by_step, {}
        for step in sorted(by_step):
            self._rows.add(step, by_step[step])
        return [*records, *self._rows.take(), *self._means.remarks()]

    @staticmethod
    def _is_whole(line: bytes, table: CsvTable) -> bool:
        marks = line.strip(b"| \r").count(table.separator.encode())
        return bool(line.strip()) and (table.separator == SPACES or marks == len(table.columns) - 1)

    def _read_many(self, block: bytes) -> None:
        """Reads the first lines one by one until it is known what the table holds, and the rest through polars."""
        at = 0
        while at < len(block) and not self._is_known(block):
            end = block.find(b"\n", at + _FIRST_BYTES) + 1 or len(block)
            self._read_lines(block[at:end])
            at = end
        self._halve(block[at:])

    def _is_known(self, block: bytes) -> bool:
        table = self._table
        points = self._decimal.mark == "." or b"." not in block
        if (
            table is None
            or self._held
            or self._open
            or not points
            or not table.is_plain
            or self._means.on
            or self._is_first
        ):
            return False
        return table.separator in SEPARATORS and (table.separator == "," or b"," not in block)

    @property
    def _counted_last(self) -> int:
        """The step that the newest row states."""
        return self._before[0] if self._epochs.last is None else self._epochs.last[1]

    def _halve(self, block: bytes) -> None:
        """Reads many lines at once. If one of them is unusual, each half is read separately, and so on until only a few
        lines around it are left, which are read one by one."""
        if len(block) < FEW_BYTES or (middle := block.find(b"\n", len(block) // 2) + 1) == len(block):
            self._read_lines(block)
        elif not self._take(block):
            self._halve(block[:middle])
            self._halve(block[middle:])

    def _read_lines(self, block: bytes) -> None:
        for line in block.split(b"\n")[:-1]:
            begun = self._table
            self._read_line(line)
            if begun is not None and begun is self._table:
                self._learn_words(line, begun)

    def _learn_words(self, line: bytes, table: CsvTable) -> None:
        cells = line.decode("utf-8", "replace").split(table.separator)
        if len(cells) == len(table.columns):
            self._words.update(i for i, cell in enumerate(cells) if cell.strip() and number(cell) is None)

    def _take(self, block: bytes) -> bool:
        """Adds the rows of a block. Returns False, with nothing added, if any of them is unusual."""
        table = self._table
        if table is None or not self._is_known(block):
            return False
        from rltui.readers import bulk
        from rltui.readers.bulk import repeats_a_step, table_columns

        found = table_columns(block, table.separator, len(table.columns), self._words)
        if found is None:
            return False
        cells = dict(zip(table.columns, found, strict=True))
        count, first = len(found[0]), self._line + 1
        if table.step is not None and repeats_a_step(cells[table.step], self._counted_last):
            return False
        self._line += count
        steps = bulk.steps(None if table.step is None else cells[table.step], count, self._steps, first)
        if table.epoch is not None:
            steps = self._epochs.many(bulk.numbers(table.epoch, cells[table.epoch]), steps)
        times = bulk.no_times(count) if table.time is None else bulk.times(cells[table.time])
        self._rows.zoned = table.time is not None and names_zone(cells[table.time][-1])
        columns = {key: bulk.numbers(key, cells[column]) for column, key in self._metrics.items()}
        self._means.alone += count
        self._rows.add_columns(steps, times, columns)
        newest: dict[str, object] = {
            key: float(column[-1]) for key, column in columns.items() if column[-1] == column[-1]
        }
        self._before = (int(steps[-1]), newest, float(times[-1]))
        if self._total is not None:
            self._planned(float(bulk.numbers(self._total, cells[self._total])[-1]))
        return True

    def _read(self, lines: list[bytes]) -> list[Record]:
        for line in lines:
            self._read_line(line)
        return self._told()

    def _told(self) -> list[Record]:
        plan, self._plan = self._plan, None
        told = [] if plan is None else [Note("progress", f"step {plan[0]} of {plan[1]}", self._line, *plan)]
        return [*told, *self._rows.take(), *self._means.remarks()]

    def _planned(self, cell: object) -> None:
        """Keeps the planned steps that the newest row states."""
        step, (total, _) = self._before[0], step_of(cell)
        if total and step != NO_STEP:
            self._plan = (step, total)

    def _read_line(self, line: bytes) -> None:
        self._line += 1
        if not line.strip() or (is_preamble(line) and not self._names_columns(line)):
            return
        if self._table is None:
            self._begin(line)
            return
        if self._table.separator in SEPARATORS and (self._open or is_open(line)):
            joined = self._rejoined(line, self._table)
            if joined is None:
                return
            line = joined
        header_above, self._header = self._header, b""
        if header_above and (indexed := with_index(self._table, header_above, line)) is not None:
            self._table, self._metrics = indexed, indexed.metrics
            return
        if self._wraps and not any(number(cell.decode("utf-8", "replace")) is not None for cell in line.split()):
            self._go_on(line)
            return
        text = line.decode("utf-8", "replace").replace("\0", "").rstrip("\r")
        try:
            cells = cut(text, self._table.separator)
        except csv.Error:
            cells = []
        if len(cells) == len(self._table.columns) + 1 and self._table.separator == SPACES:
            if self._wraps:
                self._add_wrapped(*cells)
                return
            cells = cells[1:]  # the number of the row, as pandas prints it
        if self._table.separator == SPACES and _is_said(cells, self._table):
            self._skip(NO_ROW)
            return
        if self._blank is not None and not self._torn and (rows := self._blank.take(self._line, text)) is not None:
            self._renamed(self._table, self._blank.names)
            if not rows:
                self._skip(OTHER_COUNT)  # so far
            for at, placed in rows:
                if at < self._line:
                    self.skipped[OTHER_COUNT] -= 1
                self._hold(placed, at)
            return
        if self._table.step in cells or (self._table.steps and cells[:1] == [self._table.columns[0]]):
            self._begin(line)  # a header again: from another launch, with more columns, or with the next steps
        elif len(cells) != len(self._table.columns):
            self._skip(OTHER_COUNT)
        else:
            self._hold(cells, self._line)

    def _rejoined(self, line: bytes, table: CsvTable) -> bytes | None:
        """The row that this line ends, joined with the lines before it in the same quotes; None if the row continues. A
        line that is itself a complete row ends a row whose quotes were never closed, and that row is left out."""
        if self._open and not is_open(line) and self._is_row(line, table):
            self._skip(OTHER_COUNT, self._line - len(self._open))
            self._open = []
            return line
        self._open.append(line)
        if goes_on(self._open):
            return None
        joined, self._open = b" ".join(self._open), []
        return joined

    def _is_row(self, line: bytes, table: CsvTable) -> bool:
        try:
            cells = cut(line.decode("utf-8", "replace"), table.separator)
        except csv.Error:
            return False
        if len(cells) != len(table.columns) or all(number(cell) is None for cell in cells):
            return False
        return table.step is None or step_of(cells[table.columns.index(table.step)])[0] is not None

    def _hold(self, cells: list[str], line: int) -> None:
        """Adds a row, or holds it until it is known which mark is decimal and whether the step column holds steps."""
        doubtful = self._steps.in_doubt and len(self._held) + 1 < RISING
        if not self._steps.in_doubt and self._decimal.mark == "." and not any("," in cell for cell in cells):
            self._add(cells, line)
            return
        self._held.append((line, cells))
        if (self._decimal.learn(cells) and not doubtful) or len(self._held) >= MAX_HELD:
            self._let_go()

    def _renamed(self, table: CsvTable, names_of: list[str]) -> None:
        """Takes the names of the columns as the rows show them."""
        if names_of != list(table.columns):
            self._table = replace(header("\t".join(names_of).encode(), self._file), separator=SPACES)
            self._metrics = self._table.metrics

    def _let_go(self) -> None:
        """Takes the rows that waited for the decimal mark."""
        held, self._held = self._held, []
        if self._steps.in_doubt and self._table is not None and self._table.step in self._table.columns:
            at = self._table.columns.index(self._table.step)
            self._steps.look_at([cells[at] for _, cells in held if at < len(cells)])
        for line, cells in held:
            plain = [self._decimal.plain(cell) for cell in cells]
            if untold := plain.count(None):
                self._skip(UNTOLD, line, untold)
            self._add([cell or "" for cell in plain], line)

    def _add(self, cells: list[str], line: int) -> None:
        table = self._table
        if table is None or len(cells) != len(table.columns):
            return
        row = dict(zip(table.columns, cells, strict=True))
        if self._is_first:
            table = self._find_time(table, row)
        if table.steps:
            for step, cell in zip(table.steps, cells[1:], strict=True):
                self._by_step.setdefault(step, {})[cells[0].strip()] = cell
            return
        step = NO_STEP if table.step is None else self._steps.step(row[table.step], line)
        if self._steps.counted and table.in_doubt:  # then it is a metric
            self._metrics.setdefault(table.step or "", table.step or "")
        if table.epoch is not None and step != NO_STEP:
            step = self._epochs.step(epoch_of(row[table.epoch]), step)
        time = nan if table.time is None else time_of(row[table.time])
        self._rows.zoned = table.time is not None and names_zone(row[table.time])
        metrics: dict[str, object] = {key: row[column] for column, key in self._metrics.items()}
        if not table.is_plain:
            if not table.is_of(self._run, row):
                return
            if table.long is not None:
                metrics |= {row[table.long[0]].strip(): row[table.long[1]]}
            measured = {flag: row[flag] for flag in table.flags if self._is_measured(flag, row[flag])}
            said = {flag.lower(): row[flag] for flag in table.flags if flag not in measured}
            kind = kind_of(said, said)
            metrics |= measured
            if kind in ("eval", "test"):
                metrics = {key: x for key, x in as_evaluation(metrics | said, kind).items() if key not in said}
        if step == NO_STEP and table.step is not None and all(number(cell) is None for cell in metrics.values()):
            self._skip(NO_NUMBER, line)
            return
        before, self._before = self._before, (step, metrics, time)
        if self._total is not None:
            self._planned(row[self._total])
        if not self._means.on and (step == NO_STEP or step != before[0]):
            self._means.alone += 1
            self._rows.add(step, metrics, time)
            return
        self._means.meet([_filled(before[1])], [before[0]], [before[2]])
        for mean in self._means.add(step, _filled(metrics), time):
            self._rows.add(*mean)

    def _is_measured(self, flag: str, cell: str) -> bool:
        """Whether a column that may be a flag for what each row is, like `eval`, holds measured values instead."""
        if flag not in self._measured and flag.lower() in row_words().switches:
            x = number(cell)
            if x is not None and x not in (0.0, 1.0):
                self._measured.add(flag)
        return flag in self._measured

    def _find_time(self, table: CsvTable, row: dict[str, str]) -> CsvTable:
        """The table with its time column, as the first row shows it. A column called time may also hold how long a step
        took."""
        self._is_first = False
        named = [column for column in names("time") if column in row]
        times = [column for column in named if is_time(row[column]) or not row[column].strip()]
        metrics = self._metrics | {column: column for column in named if table.long is None}
        self._metrics = {column: key for column, key in metrics.items() if column not in times}
        self._table = replace(table, time=times[0] if times else None)
        return self._table

    def _names_columns(self, line: bytes) -> bool:
        return self._table is None and line.lstrip().startswith(b"#") and commented_header(line, "") is not None

    def _begin(self, line: bytes) -> None:
        self._let_go()
        if self._table is None and (points := headerless(line, self._file)) is not None:
            self._table, self._metrics, self._words = points, points.metrics, set()
            self._line -= 1
            self._read_line(line)
            return
        try:
            table = commented_header(line, self._file) if line.lstrip().startswith(b"#") else header(line, self._file)
        except csv.Error:
            table = None
        if table is None:
            self._skip("header that is not CSV")
            return
        if is_title(table):
            return
        self._words = set()
        self._header, self._wraps, self._is_first = line, table.wraps, table.time is not None
        self._table = table
        by_places = table.separator == SPACES and not table.wraps
        self._blank = BlankCells(text_of(line).rstrip("\r\n"), table.columns) if by_places else None
        self._metrics = table.of_run(self._run) if self._run in table.run_prefixes() else table.metrics
        self._steps.in_doubt |= table.in_doubt and not self._steps.counted
        self._total = first_of("total", table.columns) if table.step is not None else None
        if self._total is not None:
            self._metrics = {column: key for column, key in self._metrics.items() if column != self._total}

    def _go_on(self, line: bytes) -> None:
        """Takes a further header, which names the next columns of the same rows."""
        table = header(b"index " + line, self._file)
        self._table, self._metrics = replace(table, columns=table.columns[1:], step=None), table.metrics

    def _add_wrapped(self, index: str, *cells: str) -> None:
        """Takes the cells of a row in one block. The first block states the steps of the rows."""
        table = self._table
        if table is None:
            return
        row = dict(zip(table.columns, cells, strict=True))
        if table.step is not None:
            self._step_by_index[index] = self._steps.step(row[table.step], self._line)
        if (step := self._step_by_index.get(index, NO_STEP)) == NO_STEP:
            self._skip("row without a known step")
            return
        self._by_step.setdefault(step, {}).update((key, row[column]) for column, key in self._metrics.items())

    def _skip(self, reason: str, line: int | None = None, count: int = 1) -> None:
        self.skipped[reason] += count
        self.skipped_at.setdefault(reason, f"line {line or self._line}")


def _is_said(cells: list[str], table: CsvTable) -> bool:
    """Whether a line with as many words as a blank-separated table has columns is not a row, because a word is where
    the step should be: a loop prints `eval: math500 acc 0.4` between its rows."""
    if len(cells) != len(table.columns) or table.step not in table.columns or table.step in cells:
        return False
    cell = cells[table.columns.index(table.step)]
    return any(map(str.isalpha, cell)) and step_of(cell)[0] is None and number(cell) is None and cell.lower() not in _NO


def _filled(cells: dict[str, object]) -> dict[str, object]:
    return {key: cell for key, cell in cells.items() if cell != ""}
