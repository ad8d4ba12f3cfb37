"""The decimal mark of a table's numbers: a point or a comma."""

from __future__ import annotations

from rltui.lazy_regex import lazy

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_POINT = lazy(rf"[+-]?(?:\d*\.\d+|\d+\.){_EXPONENT}|[+-]?[1-9]\d{{0,2}}(?:,\d{{3}})+\.\d*{_EXPONENT}")
"""In these numbers only the point can be the decimal mark, unless a single group of three digits follows it."""
_COMMA = lazy(rf"[+-]?\d*,\d+{_EXPONENT}|[+-]?[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d*{_EXPONENT}")
_GROUP = lazy(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""Numbers like `1,234` and `1.234`, which may mean 1234 or 1.234."""
_GROUPS = lazy(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}|(?:\.\d{3}){2,})")


class DecimalMark:
    """Learns the decimal mark from the cells of one table, and turns its numbers into text that `float` reads.

    `mark` is "" until a cell shows it, and "mixed" once two cells contradict each other.
    """

    def __init__(self) -> None:
        self.mark = ""

    def learn(self, cells: list[str]) -> bool:
        """Learns from a row. Returns False if the row holds a number that cannot be read yet, because no cell has shown
        the mark."""
        for cell in cells:
            told = _told(cell) if "," in cell or "." in cell else ""
            if told and told != self.mark:
                self.mark = "mixed" if self.mark else told
        return bool(self.mark) or not any("," in cell and _GROUP.fullmatch(cell.strip()) for cell in cells)

    def plain(self, cell: str) -> str | None:
        """The cell with a decimal point and without separators of thousands; None if the number is ambiguous."""
        if "," not in cell and (self.mark != "," or "." not in cell):
            return cell
        text = cell.strip()
        mark = _told(text)
        if not mark and _GROUP.fullmatch(text):
            if "," in text and self.mark not in (",", "."):
                return None
            mark = "." if self.mark == "mixed" else self.mark
        if mark == ",":
            return text.replace(".", "").replace(",", ".")
        return text.replace(",", "") if mark == "." else cell


def _told(cell: str) -> str:
    """The decimal mark of one cell; empty if it has none, is not a number, or may have either mark."""
    text = cell.strip()
    if _GROUP.fullmatch(text):
        return ""
    if _GROUPS.fullmatch(text):
        return "." if "," in text else ","
    if _POINT.fullmatch(text):
        return "."
    return "," if _COMMA.fullmatch(text) else ""
