"""Where the time of a step goes: medians of its phases over the last steps, and the rest that no timer covers."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rltui.frameworks.load import dialect, phases
from rltui.frameworks.resolve import version_number
from rltui.frameworks.schema import PHASE, Timers
from rltui.prose import capital
from rltui.run.names import Names
from rltui.run.sums import median
from rltui.run.table import Floats, Ints, Table

OVERLAP = 1.02
"""Phases overlap if they sum to more than this many times the step."""
BOTTLENECK = 0.5
"""A phase that takes more than this share of the step is named as the bottleneck."""


class PhaseShare(Struct, frozen=True):
    """A phase over the last steps: median seconds and share of the step. `expected`: the usual range of the share, or
    None."""

    name: str
    key: str
    seconds: float
    share: float
    expected: tuple[float, float] | None = None
    status: str = "unknown"  # "usual" | "high" | "low" | "unknown"


class PhaseTable(Struct, frozen=True):
    """Medians over the last `window_steps` steps. The items add up to the step ("other": the rest) unless
    `overlapped`."""

    window_steps: int
    step_s: float | None
    items: tuple[PhaseShare, ...]
    overlapped: bool = False
    bottleneck: str | None = None
    note: str = ""


NO_PHASES = PhaseTable(0, None, ())


def outside_step(rules: Timers, version: str | None) -> frozenset[str]:
    """The phases that this version times outside the step."""
    have = version_number(version)
    out: tuple[str, ...] = ()
    for outside in rules.outside or ():
        start = version_number(outside.version)
        if start <= have or not any(start):
            out = outside.phases
    return frozenset(out)


def phase_table(
    table: Table, names: Names, version: str | None, until_row: int | None = None, window: int = 20
) -> PhaseTable:
    """The phases of the last `window` steps before row `until_row`.

    A phase that a step did not run (a checkpoint, a validation) counts as no time in that step, so the median step
    holds only what most steps run. The note names the others. "other" is the time that no timer covers.
    """
    rules = dialect(names.dialect).phases
    end = table.n if until_row is None else min(until_row, table.n)
    children = _children(names, version, rules)
    whole = None if rules.sum else _whole(names)
    rows, step_seconds = _step_rows(table, whole, children, end, window)
    if not len(rows):
        return PhaseTable(0, None, (), note="this run logs no phase times")
    per_step = {name: _per_step(table, key, rows, end) for name, key in children.items()}
    medians = {name: median(values) for name, values in per_step.items() if values.any()}
    total = median(step_seconds) if step_seconds is not None else sum(medians.values())
    if not np.isfinite(total) or total <= 0:
        return PhaseTable(len(rows), None, (), note="this run logs no phase times")
    if step_seconds is not None:
        medians = _apart(medians, total)
    shown = {name: seconds for name, seconds in medians.items() if 0 < seconds / total < np.inf}
    if not shown:
        return PhaseTable(len(rows), total, (), note="this run logs the time of a step but not of its phases")
    overlapped = step_seconds is not None and sum(shown.values()) > OVERLAP * total
    items = [_item(name, children[name], seconds, total, overlapped) for name, seconds in shown.items()]
    if step_seconds is not None and not overlapped:
        rest = max(0.0, total - sum(shown.values()))
        items.append(_item("other", "", rest, total, False))
    longest = max(items, key=lambda item: item.share)
    named = longest.share > BOTTLENECK and longest.key != "" and not overlapped and len(items) > 1
    notes = [rules.note] if rules.note else []
    if step_seconds is None:
        notes.append("no timer of the whole step: shares are of the sum of its phases")
    if overlapped:
        notes.append("phases run beside each other and do not add up")
    notes += _rare(per_step, medians)
    return PhaseTable(
        window_steps=len(rows),
        step_s=None if step_seconds is None else total,
        items=tuple(items),
        overlapped=overlapped,
        bottleneck=longest.name if named else None,
        note=". ".join(notes[:1] + [capital(one) for one in notes[1:]]),
    )


def _children(names: Names, version: str | None, rules: Timers) -> dict[str, str]:
    """Direct children of the step -> their key, in the order in which a step runs them."""
    outside = outside_step(rules, version)
    out = {}
    for name in phases():
        if name == "step" or name in outside or name in (rules.nested or ()) or name not in rules.keys:
            continue
        keys = names.sources(PHASE + name)
        if keys:
            out[name] = keys[0]
    return out


def _apart(medians: dict[str, float], total: float) -> dict[str, float]:
    """The seconds of the phases. If they sum to more than the step, a phase that may contain another is taken to
    contain it and is counted without it."""
    out = dict(medians)
    for name, seconds in medians.items():
        for part in phases()[name].holds:
            inside = medians.get(part, 0.0)
            if 0.0 < inside < seconds and sum(out.values()) > OVERLAP * total:
                out[name] -= inside
    return out


def _whole(names: Names) -> str | None:
    """The key of the whole step's timer: the phase timer, else any other key that the run logs for it; None if there is
    none."""
    keys = names.sources(PHASE + "step")
    return keys[0] if keys else names.only("time_per_step_s")


def _step_rows(
    table: Table, whole: str | None, children: dict[str, str], end: int, window: int
) -> tuple[Ints, Floats | None]:
    """The rows of the last steps, and the seconds of each if the whole step is timed."""
    if whole is not None:
        series = table.series(whole)
        if series is not None:
            series = series.until_row(end).finite()
            return series.rows[-window:], series.values[-window:]
    found = [s.until_row(end).rows for key in children.values() if (s := table.series(key)) is not None]
    if not found:
        return np.zeros(0, dtype=np.int64), None
    return np.unique(np.concatenate(found))[-window:], None


def _per_step(table: Table, key: str, rows: Ints, end: int) -> Floats:
    """The seconds of a phase in each of the steps that end at `rows`. A timer that is logged in its own rows, one for
    each call, counts for the step that ends next."""
    series = table.series(key)
    if series is None:
        return np.zeros(len(rows))
    n, began = len(rows), int(2 * rows[0] - rows[1]) + 1 if len(rows) > 1 else 0
    own = series.rows[-n:]
    alone = len(own) == n and (len(series) == n or bool(series.rows[-n - 1] < began))
    if alone and series.all_finite and bool((own == rows).all()):
        return series.values[-n:]  # logged with the step, as nearly all timers are
    series = series.until_row(min(end, int(rows[-1]) + 1)).since_row(began).finite()
    if len(series) == n and bool((series.rows == rows).all()):
        return series.values
    out: Floats = np.zeros(len(rows))
    np.add.at(out, np.searchsorted(rows, series.rows), series.values)
    return out


def _item(name: str, key: str, seconds: float, total: float, overlapped: bool) -> PhaseShare:
    phase = phases()[name]
    share = seconds / total
    usual = None if overlapped else phase.usual
    status = "unknown"
    if usual is not None:
        status = "high" if share > usual[1] else "low" if share < usual[0] else "usual"
    return PhaseShare(phase.label, key, seconds, share, usual, status)


def _rare(per_step: dict[str, Floats], medians: dict[str, float]) -> list[str]:
    """Texts about phases that only some of the steps ran: "checkpoint in 1 of 20 steps, 12.3 s each"."""
    out = []
    for name, seconds in medians.items():
        if seconds == 0:
            values = per_step[name][per_step[name] > 0]
            label = phases()[name].label
            out.append(f"{label} in {len(values)} of {len(per_step[name])} steps, {median(values):.3g} s each")
    return out
