"""What the terminal shows, cell by cell, so that only changed cells are sent: over ssh every byte costs time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style

NEAR = 12
"""Two changes of the same style are sent as one if at most this many cells lie between them."""

Cell = tuple[str, object]
"""A character and its style; the cell behind a wide character holds ""."""
UNKNOWN: Cell = ("", None)


def cells_of(segments: Iterable[Segment]) -> list[Cell]:
    """The cells that segments take."""
    out: list[Cell] = []
    for text, style, control in segments:
        if control:
            continue
        if text.isascii():
            out += [(char, style) for char in text]
            continue
        for char in text:
            out.append((char, style))
            out += [("", style)] * (cell_len(char) - 1)
    return out


def spans(before: Sequence[Cell], after: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """Spans (start, end) in which two rows of equal length differ. Near spans are joined if that costs fewer bytes.

    A span costs a move of the cursor and a style. Up to `NEAR` cells between two spans cost less than that, but only if
    they have the same style: another style between them costs as much as a span.
    """
    start = end = -1
    for x, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is new or old == new:
            continue
        if start >= 0 and x - end > 0:
            one_style = all(cell[1] == new[1] for cell in after[end - 1 : x])
            if x - end > NEAR or not one_style:
                yield start, end
                start = x
        elif start < 0:
            start = x
        end = x + 1
    if start >= 0:
        yield start, end


Piece = tuple[int, int, str, Style | None]
"""Row, column, text and style of something to be written."""


def written(pieces: Iterable[Piece], colours: ColorSystem | None) -> str:
    """The text for the terminal, with all pieces of one style together: a colour costs up to 40 bytes, a move 8."""
    by_style: dict[Style | None, list[str]] = {}
    for y, x, text, style in pieces:
        by_style.setdefault(style, []).append(f"\x1b[{y + 1};{x + 1}H{text}")
    out: list[str] = []
    for style, texts in by_style.items():
        start = style.render("|", color_system=colours).partition("|")[0] if style is not None else ""
        out += [start, *texts, "\x1b[0m" if start else ""]
    return "".join(out)


class Shown:
    """The cells on the terminal, as far as they are known."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell]] = {}

    def forget(self) -> None:
        """Forgets all cells, so that all are sent again: something else wrote there, or the size changed."""
        self._rows.clear()

    def put(self, y: int, x: int, segments: Sequence[Segment], send: Callable[[int, int, int], None]) -> None:
        """Puts segments at (x, y): calls `send(row, start, end)` for each span of columns that changed."""
        new = cells_of(segments)
        row = self._rows.setdefault(y, [])
        end = x + len(new)
        if len(row) < end:
            row += [UNKNOWN] * (end - len(row))
        old = row[x:end]
        if old == new:
            return
        for start, stop in spans(old, new):
            while start > 0 and new[start][0] == "":  # a wide character is sent as a whole
                start -= 1
            while stop < len(new) and new[stop][0] == "":
                stop += 1
            send(y, x + start, x + stop)
        row[x:end] = new
