"""What is wrong in what was read of a log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from rltui.discovery.found import NotARun
from tests.reading_styles.styles import Cells, Log
from tests.unit.session.runs import content, opened


@dataclass
class Outcome:
    """Counts of cells: `right`, `lost`, `wrong` values, `false` metrics (names that the log does not say), and rows of
    steps that it does not say (`steps`)."""

    cells: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return not self.examples

    def fault(self, kind: str, words: str) -> None:
        self.cells[kind] += 1
        if len(self.examples) < 6:
            self.examples.append(f"{kind}: {words}")


def read(log: Log, folder: Path) -> dict[int, Cells]:
    """What the session reads of it, as of a user's file."""
    path = folder / log.name
    path.write_text(log.text, encoding="utf-8", newline="")
    try:
        return content(opened(path))
    except (NotARun, AssertionError) as refused:
        return {-1: {f"refused: {refused}"[:80]: 0.0}}
    finally:
        path.unlink()


def compare(log: Log, found: dict[int, Cells]) -> Outcome:
    """What is wrong in it."""
    out = Outcome()
    names = {name for cells in log.rows.values() for name in cells} | log.also
    names |= {"s/it"} if "s/it, " in log.text else set()  # a bar says how long a step takes
    for step, cells in log.rows.items():
        for name, x in cells.items():
            seen = found.get(step, {}).get(name)
            if seen is None:
                out.fault("lost", f"step {step}: {name} = {x}")
            elif not isclose(seen, x, rel_tol=1e-9, abs_tol=1e-12):
                out.fault("wrong", f"step {step}: {name} is {seen}, not {x}")
            else:
                out.cells["right"] += 1
    for step in found.keys() - log.rows.keys():
        out.fault("steps", f"{step}: {list(found[step].items())[:3]}")
    for name in sorted({name for cells in found.values() for name in cells} - names):
        out.fault("false", name)
    return out
