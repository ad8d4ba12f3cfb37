"""Fixes that go back to a checkpoint. They name the checkpoint that is known, and ask for nothing that the report
answers."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.evidence.clock import Clock
from rltui.evidence.model import COPY_BEST, GO_BACK, USE_BEST, BestCheckpoint, Finding, Fix

NOT_FOUND = "if one is kept elsewhere, as none was found"
START = "Start again from {}, as no step beats it"
START_BY_REWARD = "Start again from {}, as the train reward was no lower then"
COMPARE = "Evaluate {}, too, as it may be better than step"
GOES_ON = 2
"""A log whose first step comes later than this many of its step intervals continues from a checkpoint."""


def began_from(clock: Clock) -> str:
    """What the first step of a log started from, in words."""
    if clock.first_step <= GOES_ON * clock.stride:
        return "the model that training began with"
    return f"the checkpoint that this log goes on from at step {clock.first_step}"


def going_back(finding: Finding, best: BestCheckpoint | None, rises: bool, origin: str) -> Finding:
    """The finding with these fixes adapted to this run; they come after all others if no checkpoint was found. `rises`:
    validation is rising, so what comes next is better than the best so far. `origin`: see `began_from`."""
    if not any(fix.act in (COPY_BEST, GO_BACK, USE_BEST) for fix in finding.fixes):
        return finding
    saved = best is not None and best.path is not None
    told = [one for fix in finding.fixes if (one := _told(fix, best, rises, origin)) is not None]
    if not saved:
        told.sort(key=lambda fix: fix.act == GO_BACK)
    return replace(finding, fixes=tuple(told))


def _told(fix: Fix, best: BestCheckpoint | None, rises: bool, origin: str) -> Fix | None:
    saved = best is not None and best.path is not None
    if fix.act == COPY_BEST:
        return fix if saved else None
    if fix.act == GO_BACK:
        return fix if saved else replace(fix, text=f"{fix.text}, {NOT_FOUND}")
    if fix.act != USE_BEST:
        return fix
    if rises or best is None:
        return None
    if not best.beats_start:
        unsure = f"{COMPARE} {best.step}" if not best.against else START_BY_REWARD
        return replace(fix, text=(unsure if best.unknown else START).format(origin))
    step = f"{fix.text}, that of step {best.step}"
    return replace(fix, text=step if saved else f"{step}, {NOT_FOUND}", act=GO_BACK)
