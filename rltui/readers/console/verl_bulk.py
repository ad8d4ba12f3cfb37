"""Step lines of verl's console logger with the same keys in the same order, many at once through polars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from rltui.readers.bulk import Flags, Floats, Ints, ManyLines, groups, halving

if TYPE_CHECKING:
    import polars as pl

_PIECE = re.compile(r"(.*):(np\.\w+\(|)([-+.\w]+)(\)?)")
_NOT_FINITE = ["nan", "inf", "-inf", "+inf"]

Template = tuple[tuple[str, str], ...]
"""Of each cell its key and what stands between that and the number: a name of numpy's and its bracket, or nothing."""


def parse(steps: Sequence[int], times: Sequence[float], lines: Sequence[bytes]) -> ManyLines:
    """The lines (without `step:N - `) that hold nothing but plain numbers under the keys of their group."""
    block = ManyLines(len(lines))
    known = np.array(steps, dtype=np.int64), np.array(times)
    _take(lines, known, block, np.arange(len(lines)))
    rest = block.rest()
    for at in groups(np.array([lines[i].count(b" - ") for i in rest.tolist()], dtype=np.int64)):
        _take(lines, known, block, rest[at])
    return block


def _take(lines: Sequence[bytes], known: tuple[Ints, Floats], block: ManyLines, at: Ints) -> None:
    template = _template(lines[at[0]].decode("utf-8", "replace"))
    if template is not None:
        halving(at, partial(_read, lines, known, template, block))


def _template(line: str) -> Template | None:
    """None for a line that is not made of keys and numbers alone."""
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


def _read(lines: Sequence[bytes], known: tuple[Ints, Floats], template: Template, block: ManyLines, at: Ints) -> bool:
    """Takes those lines of the template that hold a number in each cell. Each other line is odd, wherever it is."""
    import polars as pl

    some = lines if len(at) == len(lines) else [lines[i] for i in at.tolist()]
    try:
        text = pl.Series(some, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:  # no UTF-8
        return False
    pieces = text.str.splitn(" - ", len(template)).struct.unnest()  # what is too much stays in the last piece
    parsed = pieces.lazy().select(_numbers(template)).collect()
    grid: Floats = parsed.to_numpy(order="fortran")
    if not np.isfinite(grid).all():
        sure = _sure(pieces, template)
        at, grid = at[sure], np.asfortranarray(parsed.fill_nan(np.inf).to_numpy()[sure])
    block.take(at, known[0][at], known[1][at], {key: grid[:, place] for place, (key, _) in enumerate(template)})
    return True


@lru_cache(maxsize=8)
def _texts(template: Template) -> tuple[pl.Expr, ...]:
    """What should be the numbers of the pieces: a piece under another key stays as it is, and is none."""
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


def _sure(pieces: pl.DataFrame, template: Template) -> Flags:
    """Which lines hold a number in each cell, one that is not finite as Python writes it."""
    import polars as pl

    odd = [
        number.is_null() | (~number.is_finite() & ~text.is_in(_NOT_FINITE))
        for number, text in zip(_numbers(template), _texts(template), strict=True)
    ]
    found: Flags = pieces.select(~pl.any_horizontal(odd)).to_series().to_numpy()
    return found
