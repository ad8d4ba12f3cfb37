"""Many lines at once or few at a time: a table and a console give the same rows, and the same count of what is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.readers.base import Reader, Rows
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.csv_file import CsvReader
from rltui.readers.jsonl import JsonlReader
from rltui.readers.lines import FEW_BYTES, MANY_BYTES

Row = tuple[int, float | None, dict[str, float | None]]
"""Step, time, and cells: None for one that was logged as not finite."""


def rows_of(reader: Reader, pieces: Sequence[bytes]) -> list[Row]:
    blocks = [record for piece in pieces for record in reader.feed(piece) if isinstance(record, Rows)]
    blocks += [record for record in reader.finish() if isinstance(record, Rows)]
    out: list[Row] = []
    for block in blocks:
        bad = {key: set(places) for key, places in block.nonfinite.items()}
        for i, (step, time) in enumerate(zip(block.steps, block.times, strict=True)):
            cells: dict[str, float | None] = {}
            for key, column in block.values.items():
                assert i in bad.get(key, ()) or isfinite(column[i]) or column[i] != column[i]
                if i in bad.get(key, ()):
                    cells[key] = None
                elif column[i] == column[i]:
                    cells[key] = column[i]
            out.append((step, time if time == time else None, cells))
    return out


def at_once(data: bytes) -> list[bytes]:
    assert len(data) > MANY_BYTES
    return [data]


def in_pieces(data: bytes, size: int = 4000) -> list[bytes]:
    assert size < FEW_BYTES
    return [data[at : at + size] for at in range(0, len(data), size)]


def same(one: Reader, other: Reader, data: bytes) -> list[Row]:
    """The rows that both ways of reading give."""
    found, expected = rows_of(one, at_once(data)), rows_of(other, in_pieces(data))
    assert [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]] == []
    assert one.skipped == other.skipped
    assert one.skipped_at == other.skipped_at
    return found


WORDS = [
    "",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "Infinity",
    "-Infinity",
    "+1",
    ".5",
    "1.",
    "1e400",
    "1e-400",
    "-0.0",
    "None",
    "x",
]
WORDS += [
    "true",
    "1_000",
    "0x10",
    " 2",
    "3 ",
    "1,5",
    "1.234",
    '"4.5"',
    '"a,b"',
    '"',
    "٣",
    "1\0",
    "\ufffd",
    "99999999999999999999",
]
ODD = [
    b"", b"   ", b"1,2", b"a,b,c,d,e,f,g,h,i", b"\xff\xfe", b'"open', b"\0\0\0", b"plain text", b"\r", b"7/9,1,2,3,4,5",
    b"Traceback (most recent call last):", b"step:3 - a:1 - b:2step:4 - a:3", b"step:9 - a:1 - b:2 more text",
]  # fmt: skip
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(10**25), 10**25).map(str)
CELLS = st.one_of(NUMBERS, st.sampled_from(WORDS))
FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


class Log(bytes):
    """Shown by its odd lines only."""

    def __repr__(self) -> str:
        return f"Log of {len(self)} bytes, odd: {[line for line in self.splitlines() if b'0000' not in line]}"


@st.composite
def lines(draw: st.DrawFn, row: st.SearchStrategy[bytes], plain: st.SearchStrategy[list[bytes]]) -> bytes:
    """A long plain log with odd lines anywhere in it; it may end within a line."""
    out = draw(plain)
    for _ in range(draw(st.integers(0, 12))):
        at = draw(st.integers(0, len(out)))
        out[at:at] = draw(st.lists(st.one_of(row, row, st.sampled_from(ODD)), min_size=1, max_size=3))
    data = draw(st.sampled_from([b"\n", b"\r\n"])).join(out) + b"\n"
    return Log(data + draw(st.sampled_from([b"", b"12", b"step:5 - a:1", b"5,1,2,3,4,5"])))


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    separator = draw(st.sampled_from([",", ",", ";", "\t"]))
    columns = draw(st.permutations(["step", "time", "loss", "reward", "reward", "note"]))
    first = draw(st.integers(0, 10**9))
    words = draw(st.sampled_from(["0.25", "word", ""]))
    width = draw(st.integers(90, 180))

    def plain(i: int) -> bytes:
        cells = {"step": f"{first + i}", "time": f"{1.7e9 + i:.2f}", "note": words}
        return separator.join(cells.get(name, f"{i / 8:.{width}f}") for name in columns).encode()

    row = st.lists(CELLS, min_size=6, max_size=6).map(lambda cells: separator.join(cells).encode("utf-8", "replace"))
    body = draw(lines(row, st.just([plain(i) for i in range(500)])))
    return Log(draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + separator.join(columns).encode() + b"\n" + body)


@FEW
@given(tables())
def test_a_table_is_read_alike_at_once_and_in_pieces(data: bytes) -> None:
    assert len(same(CsvReader("metrics.csv"), CsvReader("metrics.csv"), data)) >= 500 - 3


@st.composite
def consoles(draw: st.DrawFn) -> bytes:
    names = st.sampled_from(["actor/kl", "a:b", "x y", 'q"', "val-core/set/reward", "ü"])
    keys = ["loss", *draw(st.lists(names, min_size=1, max_size=5, unique=True))]
    wrapped = draw(st.sets(st.sampled_from(keys)))
    every = draw(st.sampled_from([1, 5, 10_000]))

    def cell(key: str, value: str) -> str:
        return f"{key}:np.float64({value})" if key in wrapped else f"{key}:{value}"

    def plain(i: int) -> bytes:
        cells = [cell(key, f"{i / 8:.120f}") for key in keys]
        evaluation = ["val-core/acc:0.25"] if i % every == 0 else []
        return f"step:{i} - {' - '.join([*cells, *evaluation])}".encode()

    @st.composite
    def row(draw: st.DrawFn) -> bytes:
        values = draw(st.lists(CELLS, min_size=len(keys), max_size=len(keys)))
        late = draw(st.sampled_from([[], [], ["late:1.5"], ["loss:7"]]))
        cells = [cell(key, value) for key, value in zip(keys, values, strict=True)]
        return f"step:{draw(st.integers(0, 3000))} - {' - '.join([*cells, *late])}".encode("utf-8", "replace")

    return draw(lines(row(), st.just([plain(i) for i in range(900)])))


@FEW
@given(consoles())
def test_step_lines_are_read_alike_at_once_and_in_pieces(data: bytes) -> None:
    assert len(same(ConsoleReader(), ConsoleReader(), data)) >= 900


@st.composite
def json_logs(draw: st.DrawFn) -> bytes:
    """Rows whose keys keep an order, flat or below `data`, and rows that differ from them in anything."""
    names = st.sampled_from(["loss", "a:b", "x y", "val-core/set/reward", "ü", "step:", "k" * 170, "flag", "step"])
    keys = ["reward", *draw(st.lists(names, min_size=1, max_size=6, unique=True))]
    nested, spaced = draw(st.booleans()), draw(st.booleans())
    timed = draw(st.sampled_from([{}, {}, {"time": 1.7e9}, {"_timestamp": 5}]))
    every = draw(st.sampled_from([1, 7, 10_000]))

    def text(step: object, cells: dict[str, str]) -> bytes:
        separators = (", ", ": ") if spaced else (",", ":")
        inner = separators[0].join(f"{json.dumps(key)}{separators[1]}{value}" for key, value in cells.items())
        head = separators[0].join(f"{json.dumps(k)}{separators[1]}{v}" for k, v in {"step": step, **timed}.items())
        if nested:
            return f'{{{head}{separators[0]}"data"{separators[1]}{{{inner}}}}}'.encode("utf-8", "replace")
        return f"{{{head}{separators[0]}{inner}}}".encode("utf-8", "replace")

    def plain(i: int) -> bytes:
        cells = {key: f"{i / 8:.60f}" for key in keys if nested or key != "step"}
        return text(i, {**cells, "late": f"{i}"} if i % every == 1 else cells)

    @st.composite
    def row(draw: st.DrawFn) -> bytes:
        kept = keys if draw(st.booleans()) else draw(st.permutations(keys))
        cells = {key: draw(ODD_JSON) for key in kept if nested or key != "step"}
        return text(draw(st.integers(0, 3000) | st.sampled_from(["3.5", '"7"', "-1", "null", "1e3"])), cells)

    return draw(lines(row(), st.just([plain(i) for i in range(2000)])))


ODD_JSON = st.one_of(
    NUMBERS,
    st.sampled_from(["true", "null", "NaN", "-Infinity", '"0.5"', '"x"', "[1, 2]", '{"a": 1}', "1.", "01", "1e400"]),
)


@pytest.mark.long
@FEW
@given(json_logs())
def test_json_lines_are_read_alike_at_once_and_in_pieces(data: bytes) -> None:
    assert len(same(JsonlReader(), JsonlReader(), data)) > 1900


IMPORTS = "import sys; from rltui.cli import main; main(sys.argv[1:]); print('polars' in sys.modules, file=sys.stderr)"


def report(log: Path) -> tuple[dict[str, Any], bool]:
    """What `report` says of a log, and whether it took polars for it."""
    command = [sys.executable, "-c", IMPORTS, "report", "--format", "json", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), done.stderr.split()[-1] == "True"


def table(rows: int) -> list[str]:
    return ["step,reward,loss", *(f"{step},{step / 1e4:.60f},{1 / step:.60f}" for step in range(1, rows + 1))]


@pytest.mark.long
def test_a_long_table_goes_through_polars_and_a_bad_row_is_counted_with_its_line(tmp_path: Path) -> None:
    log, written = tmp_path / "metrics.csv", table(3000)
    written[1501:1503] = ["1501,0.1501", "1502,oops,0.5"]
    log.write_text("\n".join(written) + "\n")
    of, bulk = report(log)
    assert bulk
    assert of["run"]["steps"]["rows"] == 2999
    assert of["run"]["steps"]["last"] == 3000
    [source] = of["run"]["sources"]
    assert "1 row with another number of cells than the header (first at line 1502)" in source["note"]


def test_a_short_table_needs_no_polars(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text("\n".join(table(50)) + "\n")
    of, bulk = report(log)
    assert of["run"]["steps"]["rows"] == 50
    assert not bulk


@pytest.mark.long
def test_numbers_that_break_their_sum_are_read_without_a_word_on_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    odd = ["inf,-inf" if step % 7 == 0 else f"1.7e308,{-1.7e308 if step % 2 else 0.5}" for step in range(1, 2501)]
    lines = [f"{step},{cells},{step / 1e4:.40f}" for step, cells in enumerate(odd, 1)]
    log.write_text("\n".join(["step,kl,loss,reward", *lines]) + "\n")
    assert log.stat().st_size > MANY_BYTES
    done = subprocess.run(
        [sys.executable, "-m", "rltui", "export", str(log), "--format", "jsonl"], capture_output=True, check=True
    )
    assert done.stderr == b""
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 2501))
    assert [row.get("kl_ref") for row in rows[:8]] == [1.7e308] * 6 + [None, 1.7e308]
