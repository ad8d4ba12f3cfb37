"""Rows of text with roles, as panes draw them. The theme gives a role its colours when the row is painted."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

Segment = tuple[str, str]
"""Text and its role (`fg`, `dim`, `crit`, ...)."""
Row = list[Segment]

SELECTED = "SEL"
"""If the first segment of a row has this role, the whole row is drawn as selected."""


def length(row: Row) -> int:
    """Cells that a row takes."""
    return sum(cell_len(text) for text, _ in row)


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells, with an ellipsis if something was left out."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 1 else set_cell_size(text, max(0, width))


def shortened(text: str, width: int) -> str:
    """The name in at most `width` cells. Its middle is left out, because its ends distinguish it from similar names."""
    if cell_len(text) <= width or width < 5:
        return cut(text, width)
    end = (width - 1) // 2
    return set_cell_size(text, width - 1 - end).rstrip() + "…" + text[-end:].lstrip()


def put(text: str, width: int, role: str = "fg", align: str = "<") -> Segment:
    """The text as a column: cut, padded, aligned."""
    text = cut(text, width)
    pad = " " * (width - cell_len(text))
    return (pad + text if align == ">" else text + pad), role


def spread(width: int, left: Row, right: Row, fill: str = " ", role: str = "fg") -> Row:
    """`left` and `right` at the two edges of a row. If both do not fit, `left` is cut."""
    room = width - length(right)
    if length(left) >= room and right:
        left = clip(left, max(0, room - 1))
    return [*left, (fill * max(0, room - length(left)), role), *right]


def clip(row: Row, width: int) -> Row:
    """The row cut to `width` cells."""
    out: Row = []
    for text, role in row:
        room = width - length(out)
        if room <= 0:
            break
        out.append((cut(text, room), role))
    return out


def fitted(row: Row, width: int) -> Row:
    """The row if it fits, else cut to `width` cells with an ellipsis at its end."""
    if length(row) <= width:
        return row
    beyond = "".join(text for text, _ in row)[width:]
    mark = "" if beyond.isascii() and not beyond.strip() else "…"
    out: Row = []
    for text, role in row:
        room = max(0, width - len(mark) - length(out))
        if cell_len(text) > room:
            part = set_cell_size(text, room)
            return [*out, (part.rstrip() + mark if mark else part, role)]
        out.append((text, role))
    return out


def title(width: int, key: str, name: str, right: Row | None = None, focus: bool = False, note: str = "") -> Row:
    """`1 Findings  note ───────── right`: the only frame that a pane has."""
    left: Row = [(f"{key} ", "accent")] if key else []
    left.append((name, "accent.b" if focus else "strong"))
    tail: Row = [(" ", "fg"), *right] if right else []
    room = width - length(left) - length(tail) - 4
    if note and room > 8:
        left.append((f"  {cut(note, room)}", "dim"))
    return spread(width, [*left, (" ", "fg")], tail, "─", "rule")


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken between words. A longer word is broken too."""
    lines: list[str] = []
    line, used = "", 0
    for word in text.split():
        size = cell_len(word)
        if size > width:
            if line:
                lines.append(line)
            *whole, word = broken(word, width)
            lines += whole
            line, used = word, cell_len(word)
        elif line and used + 1 + size > width:
            lines.append(line)
            line, used = word, size
        else:
            line, used = (f"{line} {word}", used + 1 + size) if line else (word, size)
    return [*lines, line] if line else lines


def wrapped(text: str, width: int, most: int) -> list[str]:
    """The first `most` lines of a text. If there are more, the last one ends in an ellipsis."""
    lines = wrap(text, width)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], cut(f"{lines[most - 1]} …", width) if most > 0 else ""][:most]


def broken(word: str, width: int) -> list[str]:
    """Pieces of at most `width` cells, each with at least one character."""
    pieces: list[str] = []
    start = used = 0
    for i, char in enumerate(word):
        size = cell_len(char)
        if used + size > width and i > start:
            pieces.append(word[start:i])
            start, used = i, 0
        used += size
    return [*pieces, word[start:]]


def scrolled(rows: list[Row], height: int, keep: int | None, top: int = 0) -> tuple[list[Row], int]:
    """The `height` rows to show, and the index of the first one: `top`, moved only as far as is needed to show row
    `keep`."""
    top = min(top, max(0, len(rows) - height))
    if keep is not None and height > 0:
        top = min(max(top, keep - height + 1), keep)
    return rows[top : top + height], top
