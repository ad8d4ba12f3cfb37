"""Which mark a table writes before its decimals: `0.5`, or `0,5` as a German or French Excel exports it."""

from __future__ import annotations

from rltui.patterns import lazy

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_POINT = lazy(rf"[+-]?(?:\d*\.\d+|\d+\.){_EXPONENT}|[+-]?[1-9]\d{{0,2}}(?:,\d{{3}})+\.\d*{_EXPONENT}")
"""Only the point can be the decimal mark of these, but for a single group of three digits."""
_COMMA = lazy(rf"[+-]?\d*,\d+{_EXPONENT}|[+-]?[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d*{_EXPONENT}")
_GROUP = lazy(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""`1,234` and `1.234`: a thousand and something, or one and something."""
_GROUPS = lazy(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}|(?:\.\d{3}){2,})")

UNTOLD = "number with a comma that may stand before decimals or thousands"


class DecimalMark:
    """Learns the mark from the cells of one table, and turns its numbers into those that `float` reads.

    `mark` is "" until a cell tells, "mixed" once two cells contradict each other.
    """

    def __init__(self) -> None:
        self.mark = ""

    def learn(self, cells: list[str]) -> bool:
        """Takes up what a row says; false where the row holds a number that nothing so far tells how to read."""
        for cell in cells:
            told = _told(cell) if "," in cell or "." in cell else ""
            if told and told != self.mark:
                self.mark = "mixed" if self.mark else told
        return bool(self.mark) or not any("," in cell and _GROUP.fullmatch(cell.strip()) for cell in cells)

    def plain(self, cell: str) -> str | None:
        """The cell with a decimal point and without marks between thousands; None for a number that cannot be told."""
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
    """The decimal mark of one cell; empty where it holds none, or no number, or may have either."""
    text = cell.strip()
    if _GROUP.fullmatch(text):
        return ""
    if _GROUPS.fullmatch(text):
        return "." if "," in text else ","
    if _POINT.fullmatch(text):
        return "."
    return "," if _COMMA.fullmatch(text) else ""
