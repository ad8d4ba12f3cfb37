"""Figures for text that is read, not steered: the one place that talks to plotext.

plotext does here what it is good at: points and several lines in one frame with labelled axes, written once into a
report or a comparison. The chart that a user zooms and moves a cursor through is our own (`canvas`, `chart`): it needs
roles instead of colours, dots behind lines, rules that give way to points, and 60 pictures a second; plotext gives a
string with colours in it, and reading that back was slower than drawing. plotext keeps one global figure, so a figure
is made under a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any

SMALLEST, GREATEST = 1e-200, 1e300
"""Beyond these plotext divides by 0, or by an infinity."""
_LOCK = Lock()
LEAST = 20, 6
"""Columns and rows below which a frame leaves no room for what is in it."""

Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Trace:
    """Points of one thing, drawn with a character that stands for it; `joined`: as a line through them."""

    xs: Sequence[float]
    ys: Sequence[float]
    marker: str
    joined: bool = True


def figure(
    traces: Sequence[Trace], width: int, height: int, *, x_ticks: Ticks, y_ticks: Ticks, rules: Sequence[float] = ()
) -> list[str]:
    """`height` lines of plain text at most `width` wide; later traces cover earlier ones. `rules`: vertical lines at
    these x. Points that are not finite, or greater than
    plotext can count with, are left out; empty if none is left, or below `LEAST`."""
    shown = [
        (list(xs), list(ys), trace)
        for trace in traces
        if (
            found := [
                (_drawn(x), _drawn(y))
                for x, y in zip(trace.xs, trace.ys, strict=True)
                if abs(x) <= GREATEST and abs(y) <= GREATEST
            ]
        )
        for xs, ys in [zip(*found, strict=True)]
    ]
    if not shown or width < LEAST[0] or height < LEAST[1]:
        return []
    plt: Any = import_module("plotext")  # late: only a figure needs it; untyped
    with _LOCK:
        plt.clear_figure()
        try:
            plt.theme("clear")
            plt.limit_size(False, False)
            plt.plotsize(width, height)
            plt.xticks(*_columns(x_ticks))
            plt.yticks(*_columns(y_ticks))
            for at in rules:
                plt.vline(at)
            for xs, ys, trace in shown:
                (plt.plot if trace.joined and len(xs) > 1 else plt.scatter)(xs, ys, marker=trace.marker)
            text: str = plt.uncolorize(plt.build())
        finally:
            plt.clear_figure()
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def _drawn(value: float) -> float:
    """Zero for what plotext would divide by and get an infinity."""
    return value if abs(value) > SMALLEST else 0.0


def _columns(ticks: Ticks) -> tuple[list[float], list[str]]:
    fitting = [(at, text) for at, text in ticks if abs(at) <= GREATEST]
    return [at for at, _ in fitting], [text for _, text in fitting]
