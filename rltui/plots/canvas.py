"""The one place that talks to plotext: points and lines on a grid of dots in, cells of (character, role) out.

Dots are set here, array by array, and plotext gets finished cells: its own lines and braille take three times as long,
and a chart is drawn between two keys. It keeps one global figure, so a call clears it under a lock. Roles travel
through it as colour numbers and are read back from the colours it writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_LOCK = Lock()
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")

_BRAILLE = 0x2800
_BITS = np.array([[0x40, 0x80], [0x04, 0x20], [0x02, 0x10], [0x01, 0x08]])  # dot of a cell: row from below, column

Cell = tuple[str, str]
BLANK: Cell = (" ", "")


@dataclass(frozen=True, slots=True)
class Layer:
    """Dots, or a line through them, in dot coordinates from the lower left; a later layer covers an earlier one."""

    xs: Ints
    ys: Ints
    role: str
    joined: bool
    marker: str  # "braille", or the one character to draw with


def dots(width: int, height: int, braille: bool) -> tuple[int, int]:
    """Dots across and up of a canvas of so many cells: two by four a cell in braille."""
    return (2 * width, 4 * height) if braille else (width, height)


def rasterise(layers: Sequence[Layer], width: int, height: int, braille: bool) -> list[list[Cell]]:
    """`height` rows of `width` cells, the top row first."""
    layers = [layer for layer in layers if len(layer.xs)]
    if not layers or width <= 0 or height <= 0:
        return [[BLANK] * width for _ in range(height)]
    plt: Any = import_module("plotext")  # late: only a chart needs it; untyped
    roles = sorted({layer.role for layer in layers})
    xs, ys, marks, owners = _set(layers, width, height, braille)
    colours = [1 + roles.index(layers[owner].role) for owner in owners]
    with _LOCK:
        try:
            plt.theme("clear")  # no background: only what is drawn carries a colour
            plt.limit_size(False, False)
            plt.plotsize(width, height)
            plt.frame(False)
            plt.xticks([])
            plt.yticks([])
            # a range of one cell would have no length
            plt.xlim(0, max(1, width - 1))
            plt.ylim(0, max(1, height - 1))
            plt.scatter(xs, ys, marker=marks, color=colours)
            text = plt.build()
        finally:
            plt.clear_figure()
    rows = [_cells(line, roles, width) for line in text.split("\n")[:height]]
    return rows + [[BLANK] * width for _ in range(height - len(rows))]


def _set(
    layers: Sequence[Layer], width: int, height: int, braille: bool
) -> tuple[list[int], list[int], list[str], list[int]]:
    """Cells that hold something: column, row from below, character, number of the layer whose colour it has."""
    dots_in = np.zeros((height, width), np.int64)
    owner = np.full((height, width), -1, np.int64)
    for k, layer in enumerate(layers):
        xs, ys = _joined(layer.xs, layer.ys) if layer.joined else (layer.xs, layer.ys)
        own = np.zeros((height, width), np.int64)
        if braille:
            np.bitwise_or.at(own, (ys // 4, xs // 2), _BITS[ys % 4, xs % 2])
        else:
            own[ys, xs] = 1
        hit = own > 0
        over = hit & (owner >= 0) & np.array([layer.joined and other.joined for other in layers] + [False])[owner]
        dots_in[hit] = own[hit] | np.where(over, dots_in, 0)[hit]  # a line goes on in another colour
        owner[hit] = k
    rows, columns = np.nonzero(owner >= 0)
    owners = owner[rows, columns].tolist()
    marks = [chr(_BRAILLE + mask) for mask in dots_in[rows, columns]] if braille else [layers[k].marker for k in owners]
    return columns.tolist(), rows.tolist(), marks, owners


def _joined(xs: Ints, ys: Ints) -> tuple[Ints, Ints]:
    """Every dot of the lines from each point to the next."""
    steps = np.maximum(np.maximum(np.abs(np.diff(xs)), np.abs(np.diff(ys))), 1)
    start = np.repeat(np.arange(len(steps)), steps)
    share = (np.arange(len(start)) - np.repeat(np.cumsum(steps) - steps, steps)) / np.repeat(steps, steps)
    line_x = np.rint(xs[start] + share * np.diff(xs)[start]).astype(np.int64)
    line_y = np.rint(ys[start] + share * np.diff(ys)[start]).astype(np.int64)
    return np.append(line_x, xs[-1:]), np.append(line_y, ys[-1:])


def _cells(line: str, roles: Sequence[str], width: int) -> list[Cell]:
    """One written line back into cells: colour number n is role n - 1, no colour is blank."""
    cells: list[Cell] = []
    role = ""
    pieces = _ESCAPE.split(line)  # text, codes, text, codes, ...
    for i, piece in enumerate(pieces):
        if i % 2:
            codes = piece.split(";")
            if codes[:2] == ["38", "5"]:
                role = roles[int(codes[2]) - 1]
            elif piece in ("", "0"):
                role = ""
        else:
            cells += [(ch, role) if ch != " " else BLANK for ch in piece]
    return (cells + [BLANK] * width)[:width]
