"""The order of the list of all metrics: by stage, or by one of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

COLUMNS = ("stage", "name", "now", "change", "spread")
WORDS = {
    "stage": "by stage of the pipeline",
    "name": "by name",
    "now": "by present value",
    "change": "by change from the first window to the last",
    "spread": "by range against the mean",
}


@dataclass(frozen=True, slots=True)
class Order:
    """`reverse`: the smallest first, of names the last one."""

    column: str = "stage"
    reverse: bool = False

    @property
    def words(self) -> str:
        return WORDS[self.column] + (", turned round" if self.reverse else "")

    def next(self, by: int) -> Order:
        return Order(COLUMNS[(COLUMNS.index(self.column) + by) % len(COLUMNS)])

    def turned(self) -> Order:
        return replace(self, reverse=not self.reverse)
