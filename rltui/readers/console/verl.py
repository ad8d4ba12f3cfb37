"""The step lines of verl's console logger: `step:7 - actor/kl_loss:0.002 - timing_s/gen:np.float64(12.3) - ...`.

A few lines are turned into JSON and parsed together; many lines go through polars. A line that does not convert cleanly
(debug text joined to it, words among the numbers) is parsed piece by piece. All ways give the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import orjson

from rltui.cooperate import Meanwhile
from rltui.lazy_regex import lazy
from rltui.readers.lines import MANY_BYTES
from rltui.readers.number_text import shown_plainly
from rltui.readers.rows import RowBuilder

if TYPE_CHECKING:
    import polars as pl

    from rltui.readers.bulk import Flags, Floats, Ints, ManyLines

Cells = dict[str, object]

_HEAD = lazy(rb"step:(\d{1,15}) - (?=[^\s:]{1,300}:[-+.\w(])")
_GLUED = lazy(r"(?<![\w/])step:(\d{1,15}) - (?=[^\s:]{1,300}:[-+.\w(])")
_PLACE = lazy(rb":\w{1,50}_\Z")
"""Text before a `step:` that is part of a place in a logger's prefix: `trainer.loop:train_step:214 - `."""
_NUMPY = lazy(rb":np\.\w+\(([^()\s]*)\)")
_NON_FINITE = lazy(rb":([-+]?(?:nan|inf))(?= - |\n|\Z)")
_WORD = lazy(rb":(?:True|False|None)(?= - |\n|\Z)")
_NOT_PLAIN = (b'"', b"\\", b"{")  # would mean something in JSON
_BETWEEN = b'},{"'
_VALUE = lazy(r"\s*(?:np\.\w+\(\s*)?([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf))\)?(?![\w.])")
_PIECE = lazy(r"(.*):(np\.\w+\(|)([-+.\w]+)(\)?)")
_NOT_FINITE = ["nan", "inf", "-inf", "+inf"]

Template = tuple[tuple[str, str], ...]
"""For each cell its key, and the text between key and number: a numpy name with its bracket, or nothing."""


def cut(block: bytes) -> tuple[list[int], list[bytes], list[bytes]]:
    """Steps, step lines (without `step:N - `), and the text around them: one piece before each and one at the end."""
    steps: list[int] = []
    lines: list[bytes] = []
    around: list[bytes] = []
    carriage_returns = b"\r" in block
    kept = at = 0
    heads = [*_HEAD.finditer(block)]  # in one pass: a line is long
    while at < len(heads):
        head, at = heads[at], at + 1
        first, begin = head.span()
        if block[first - 1 : first] == b"_" and _PLACE.search(block, max(0, first - 60), first):
            continue
        end = block.find(b"\n", begin)
        if end < 0:
            end = len(block)
        if carriage_returns and (r := block.find(b"\r", begin, end)) >= 0:
            end = r
        line = block[begin:end]
        while at < len(heads) and heads[at].start() < end:
            if _is_glued(block, begin, end, heads[at]):  # its writer ended inside the line: the last number may be cut
                end = heads[at].start()
                line = block[begin:end]
                line = line.rstrip(b" -") if line[-1:] in (b" ", b"") else line.rpartition(b" - ")[0]
                break
            at += 1
        steps.append(int(head[1]))
        lines.append(line)
        around.append(block[kept:first])
        kept = end
    around.append(block[kept:])
    return steps, lines, around


def without_steps(block: bytes) -> bytes:
    """The text without its step lines and what follows them on the same line."""
    kept: list[bytes] = []
    begin = 0
    while (head := _HEAD.search(block, begin)) is not None:
        kept.append(block[begin : head.start()])
        end = block.find(b"\n", head.end())
        begin = end if end >= 0 else len(block)
    return b"".join([*kept, block[begin:]])


def _is_glued(block: bytes, begin: int, end: int, head: re.Match[bytes]) -> bool:
    """Whether another step line begins inside one that was cut off."""
    at = head.start()
    if at == begin or block[at - 1] not in b"_/ ":  # not the end of a key
        return True
    first = block[begin : block.find(b":", begin) + 1]
    return block.startswith(first, head.end()) and block.find(first, begin + 1, end) >= 0


def _is_shown(line: bytes) -> bool:
    """Whether a line may hold numbers as torch or jax show them."""
    return b"ensor(" in line or b"rray(" in line


def _plainly(lines: Sequence[bytes]) -> list[bytes]:
    """The lines with such numbers as plain ones."""
    return [shown_plainly(line.decode("utf-8", "replace")).encode() if _is_shown(line) else line for line in lines]


def ahead(lines: Sequence[bytes]) -> Meanwhile[ManyLines] | None:
    """Begins to parse step lines while their log is read on; None for a few of them."""
    return Meanwhile(partial(_many, lines)) if _are_many(lines) else None


def _are_many(lines: Sequence[bytes]) -> bool:
    return sum(map(len, lines)) >= MANY_BYTES


def parse(
    steps: list[int], times: list[float], lines: list[bytes], rows: RowBuilder, begun: Meanwhile[ManyLines] | None
) -> None:
    """Adds the rows of step lines. `begun`: what `ahead` gave for the same lines."""
    if begun is None and not _are_many(lines):
        _parse(steps, times, lines, rows)
        return
    import numpy as np

    block = _many(lines) if begun is None else begun.result()
    for start, stop, taken in block.stretches():
        if taken:
            known = np.array(steps[start:stop], dtype=np.int64), np.array(times[start:stop])
            rows.add_columns(*known, block.columns(start, stop))
        else:
            _parse(steps[start:stop], times[start:stop], lines[start:stop], rows)


def _parse(steps: list[int], times: list[float], lines: list[bytes], rows: RowBuilder) -> None:
    lines = _plainly(lines)
    parsed = _as_json(lines)
    at = 0
    while at < len(parsed):  # successive rows with the same keys: validation adds keys now and then
        first = parsed[at]
        end = at + 1
        if first is None:
            for step, cells in _pieces(steps[at], lines[at].decode("utf-8", "replace")):
                if cells:
                    rows.add(step, cells, times[at])
        else:
            layout, run = list(first), [first]
            while end < len(parsed) and (row := parsed[end]) is not None and list(row) == layout:
                run.append(row)
                end += 1
            rows.add_alike(steps[at:end], run, times[at:end], plain=True)
        at = end


def _as_json(lines: list[bytes]) -> list[Cells | None]:
    """The cells of each line; None for a line that does not convert."""
    text = b"\n".join(lines)
    if any(mark in text for mark in _NOT_PLAIN):
        text = b"\n".join(b"" if any(mark in line for mark in _NOT_PLAIN) else line for line in lines)
    if b":np." in text:
        text = _NUMPY.sub(rb":\1", text)
    try:
        parsed: list[Cells | None] = orjson.loads(b'[{"' + _converted(text) + b"}]")
    except orjson.JSONDecodeError:
        text = _NON_FINITE.sub(rb':"\1"', text)  # as text: JSON has no word for them
        parsed = [_one(line) for line in _converted(_WORD.sub(rb':""', text)).split(_BETWEEN)]
    return parsed if len(parsed) == len(lines) else [None] * len(lines)


def _converted(text: bytes) -> bytes:
    return text.replace(b" - ", b',"').replace(b":", b'":').replace(b"\n", _BETWEEN)


def _one(converted: bytes) -> Cells | None:
    try:
        cells: Cells = orjson.loads(b'{"' + converted + b"}")
    except orjson.JSONDecodeError:
        return None
    return cells


def _pieces(step: int, line: str) -> list[tuple[int, dict[str, float]]]:
    """Step and cells of a step line; several if step lines are joined."""
    rows = []
    at = 0
    for glued in _GLUED.finditer(line):
        rows.append((step, _cells(line[at : glued.start()])))
        step, at = int(glued[1]), glued.end()
    rows.append((step, _cells(line[at:])))
    return rows


def _cells(line: str) -> dict[str, float]:
    cells: dict[str, float] = {}
    pending = ""
    for piece in line.split(" - "):
        key, colon, value = (pending + piece).rpartition(":")
        if not colon:
            pending += piece + " - "  # a data source's name may hold " - "
            continue
        pending = ""
        found = _VALUE.match(value)
        if found is None:
            continue
        cells[key] = float(found[1])
        if value[found.end() :].strip():
            break  # other output is joined to the line: the rest holds no metrics
    return cells


# -- many lines at once, through polars --------------------------------------------------------------------------------


def _many(lines: Sequence[bytes]) -> ManyLines:
    """Takes the lines that hold only plain numbers, under the same keys and in the same order as their group."""
    import numpy as np  # with polars: for many lines at once

    from rltui.readers.bulk import ManyLines, groups

    if _is_shown(lines[0]):  # then the others usually are, too
        lines = _plainly(lines)
    block = ManyLines(len(lines))
    _take(lines, block, np.arange(len(lines)))
    rest = block.rest()
    for at in groups(np.array([lines[i].count(b" - ") for i in rest.tolist()], dtype=np.int64)):
        _take(lines, block, rest[at])
    return block


def _take(lines: Sequence[bytes], block: ManyLines, at: Ints) -> None:
    from rltui.readers.bulk import halving

    template = _template(lines[at[0]].decode("utf-8", "replace"))
    if template is not None:
        halving(at, partial(_read, lines, template, block))


def _template(line: str) -> Template | None:
    """The template of a line; None for a line that holds more than keys and plain numbers."""
    if _is_shown(line.encode()):
        return None
    cells = []
    for piece in line.split(" - "):
        found = _PIECE.fullmatch(piece)
        if found is None or bool(found[2]) != bool(found[4]):
            return None
        try:
            float(found[3])
        except ValueError:
            return None
        cells.append((found[1], found[2]))
    return tuple(cells) if len({key for key, _ in cells}) == len(cells) else None


def _read(lines: Sequence[bytes], template: Template, block: ManyLines, at: Ints) -> bool:
    """Takes the lines of the template that hold a number in each cell. Any other line stays for the slow way. False if
    the lines cannot be parsed at once."""
    import numpy as np
    import polars as pl

    some = lines if len(at) == len(lines) else [lines[i] for i in at.tolist()]
    try:
        text = pl.Series(some, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:  # not UTF-8
        return False
    split = pl.col("line").str.splitn(" - ", len(template))  # any further pieces stay in the last one
    pieces = pl.LazyFrame({"line": text}).select(split).unnest("line")
    parsed = pieces.select(_numbers(template)).collect()  # one plan, as polars uses several cores within a plan alone
    grid: Floats = parsed.to_numpy(order="fortran")
    if not np.isfinite(grid).all():
        sure = _sure(pieces, template)
        at, grid = at[sure], np.asfortranarray(parsed.fill_nan(np.inf).to_numpy()[sure])
    block.take(at, {key: grid[:, place] for place, (key, _) in enumerate(template)})
    return True


@lru_cache(maxsize=8)
def _texts(template: Template) -> tuple[pl.Expr, ...]:
    """The texts that should be numbers. A piece with another key stays unchanged, and so is not a number."""
    import polars as pl

    out = []
    for place, (key, wrapper) in enumerate(template):
        text = pl.col(f"field_{place}").str.strip_prefix(f"{key}:{wrapper}")
        out.append(text.str.strip_suffix(")") if wrapper else text)
    return tuple(out)


@lru_cache(maxsize=8)
def _numbers(template: Template) -> tuple[pl.Expr, ...]:
    import polars as pl

    return tuple(text.cast(pl.Float64, strict=False) for text in _texts(template))


def _sure(pieces: pl.LazyFrame, template: Template) -> Flags:
    """Which lines hold a number in each cell; a number that is not finite must be written as Python does."""
    import polars as pl

    odd = [
        number.is_null() | (~number.is_finite() & ~text.is_in(_NOT_FINITE))
        for number, text in zip(_numbers(template), _texts(template), strict=True)
    ]
    found: Flags = pieces.select(~pl.any_horizontal(odd)).collect().to_series().to_numpy()
    return found
