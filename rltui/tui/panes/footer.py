"""The bottom line: the keys of the moment, or what was just done; at the right, bytes per second to the terminal."""

from __future__ import annotations

from rltui.tui.keys import footer
from rltui.tui.rows import Row, cut, length, spread
from rltui.tui.view import View

MOST = 11
LAST = ("Esc", "?")  # kept where not all fit: how to leave, how to learn the rest


def draw(view: View, width: int, height: int, screen: str) -> list[Row]:
    wide = width >= 120
    tail: Row = [(view.wire, "dim")] if wide and view.wire else []
    if view.message:
        return [
            spread(
                width - 1,
                [(" ", "fg"), (cut(view.message, width - 16 if tail else width - 2), view.message_role)],
                tail,
            )
        ]
    gap = "   " if wide else "  "
    items = footer(screen)[:]
    last = [item for item in items if item[0] in LAST]
    first = [item for item in items if item[0] not in LAST][: MOST - len(last)]
    room = width - 2 - length(tail) - (2 if tail else 0)
    size = lambda item: length([(view.glyphs.enter if item[0] == "↵" else item[0], ""), (f" {item[1]}{gap}", "")])  # noqa: E731
    room -= sum(size(item) for item in last)
    row: Row = [(" ", "fg")]
    shown = []
    for item in first:
        if room < size(item):
            break
        room -= size(item)
        shown.append(item)
    for key, what in [*shown, *last]:
        row += [(view.glyphs.enter if key == "↵" else key, "key"), (f" {what}{gap}", "dim")]
    return [spread(width - 1, row, tail)]
