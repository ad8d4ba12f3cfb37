"""The list of runs as a table for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rltui.compare.runs import NOT_LOOKED, RunRow, primary
from rltui.manual.glossary import called
from rltui.plots.numbers import duration, number
from rltui.prose import counted, joined
from rltui.session.ends import ENDS

SCHEMA = "rltui.runs/1"


def limits(rows: Sequence[RunRow]) -> str:
    """What the numbers of the list rest on, and what they cannot tell."""
    if not any(row.decision is None for row in rows):
        return "verdicts from whole logs"
    cut = [row for row in rows if not row.whole]
    first, newest = max(row.first_rows for row in rows), max(row.newest_rows for row in rows)
    which = f"the first {first} and last {newest} rows at most" if cut else f"the last {newest} rows at most"
    size = f" ({ENDS.head_bytes >> 10} + {ENDS.tail_bytes >> 10} KiB of a log)" if cut else ""
    return f"health from {which}{size}: blind to onset, peak, trend and earlier validation"


def verdict(row: RunRow) -> str:
    """The badge if the whole log was read, else the trouble that its ends show, marked so; else nobody looked."""
    if row.badge is not None:
        return row.badge
    return called(row.health) if row.health == NOT_LOOKED else f"tail: {row.health}"


def to_json(rows: Sequence[RunRow]) -> str:
    """`rltui.runs/1`. `updated` in ISO 8601; values that are not known are null."""
    listed = []
    for row in rows:
        known = asdict(row)
        known["updated"] = None if row.updated is None else _iso(row.updated)
        listed.append(known)
    data = {"schema": SCHEMA, "basis": limits(rows), "primary": primary(rows), "runs": listed}
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _iso(time: float) -> str | None:
    try:
        return datetime.fromtimestamp(time, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def to_text(rows: Sequence[RunRow], now: float) -> str:
    """Columns aligned for a terminal, a line for each run, below them what they rest on."""
    name = primary(rows)
    cells = [("run", "framework", "state", "step", "age", name or "metric", "verdict", "because")]
    several = len({row.host for row in rows}) > 1
    for row in rows:
        cells.append(
            (
                f"{row.host or 'here'}:{row.name}" if several else row.name,
                " ".join(x for x in (row.framework, row.algorithm) if x) or "unknown",
                row.state or "unknown",
                step(row),
                age(row, now),
                number(row.values.get(name), missing="-") if name else "-",
                verdict(row),
                joined([*row.signs[:3], row.note]),
            )
        )
    widths = [max(len(line[i]) for line in cells) for i in range(7)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(x[:7], widths, strict=True)), x[7]]).rstrip() for x in cells]
    more = ". --full reads the whole logs" if any(row.decision is None for row in rows) else ""
    return "\n".join([*lines, "", f"{counted(len(rows), 'run')}: {limits(rows)}{more}"]) + "\n"


def step(row: RunRow) -> str:
    """Newest step of planned ones."""
    if row.last_step is None:
        return "-"
    return f"{row.last_step}/{row.total_steps}" if row.total_steps else str(row.last_step)


def age(row: RunRow, now: float) -> str:
    """How old the newest row is; "file" where only the time of the last write is known."""
    if row.updated is None:
        return "-"
    return f"{duration(max(0.0, now - row.updated))}{' (file)' if row.is_file_time else ''}"
