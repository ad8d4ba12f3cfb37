"""The bottom line: the keys of this screen, or a message; at the right, bytes per second to the terminal."""

from __future__ import annotations

from rltui.tui.keys import footer
from rltui.tui.rows import Row, cut, length, spread
from rltui.tui.view import View

MOST = 11
LAST = ("Esc", "?")  # always shown: how to leave, and how to see the other keys


def _name(view: View, key: str) -> str:
    return view.glyphs.enter if key == "↵" else key


def _size(view: View, item: tuple[str, str], gap: str) -> int:
    return len(_name(view, item[0])) + 1 + len(item[1]) + len(gap)


SEEKS = {"critical": "finding.next_critical", "warning": "finding.next_warning"}


def _idle(view: View) -> list[str]:
    """Ids of the keys that jump to findings of a severity of which none is open."""
    findings = view.report.findings if view.report is not None else ()
    there = {finding.severity for finding in findings if finding.status == "active"}
    return [key for severity, key in SEEKS.items() if severity not in there]


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
    items = footer(screen, _idle(view))
    if screen == "main" and view.several:
        items.append(("Esc", "all runs"))
    last = [item for item in items if item[0] in LAST]
    first = [item for item in items if item[0] not in LAST][: MOST - len(last)]
    room = width - 2 - length(tail) - (2 if tail else 0)
    room -= sum(_size(view, item, gap) for item in last)
    row: Row = [(" ", "fg")]
    shown = []
    for item in first:
        if room < _size(view, item, gap):
            break
        room -= _size(view, item, gap)
        shown.append(item)
    for key, what in [*shown, *last]:
        row += [(_name(view, key), "key"), (f" {what}{gap}", "dim")]
    return [spread(width - 1, row, tail)]
