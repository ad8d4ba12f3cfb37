"""What a budget came to, and the table of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """A figure against its limits in the same unit; the smaller the better. `value` is None if it was not measured,
    and `why` says why; `against` names a baseline that was measured in the same run, if the figure is a ratio."""

    id: str
    what: str
    value: float | None
    must: float
    aim: float
    unit: str = ""
    against: str = ""
    why: str = ""

    @property
    def missed(self) -> bool:
        return self.value is not None and not self.value <= self.must

    @property
    def word(self) -> str:
        if self.value is None:
            return "not measured"
        return "MISSED" if self.missed else "ok" if self.value > self.aim else "ok, aim met"


HEAD = f"{'id':6} {'value':>8} {'unit':6} {'must':>7} {'aim':>7}  {'':12}  what"


def line(result: Result) -> str:
    value = "-" if result.value is None else f"{result.value:.3g}"
    behind = f", of {result.against}'s" if result.against else ""
    why = f" ({result.why})" if result.why else ""
    return (
        f"{result.id:6} {value:>8} {result.unit:6} {result.must:7.3g} {result.aim:7.3g}  {result.word:12}  "
        f"{result.what}{behind}{why}"
    )


def table(results: Iterable[Result]) -> str:
    return "\n".join([HEAD, *map(line, results)])
