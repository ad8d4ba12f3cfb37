"""Fixes that go back to a checkpoint: what is known of one is told, and nothing is asked that the report answers."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.evidence.model import COPY_BEST, GO_BACK, USE_BEST, BestCheckpoint, Finding, Fix

NOT_FOUND = "if one is kept elsewhere, as none was found"
START = "Start again from the model that training began with, as no step beats it"
START_BY_REWARD = "Start again from the model that training began with, as the train reward was no lower then"
COMPARE = "Evaluate the model that training began with, too, as it may be better than step"


def going_back(finding: Finding, best: BestCheckpoint | None, rises: bool) -> Finding:
    """The finding with these fixes as this run has them, behind all others if no checkpoint was found. `rises`:
    validation does, so that what comes next is better than what was best so far."""
    if not any(fix.act in (COPY_BEST, GO_BACK, USE_BEST) for fix in finding.fixes):
        return finding
    saved = best is not None and best.path is not None
    told = [one for fix in finding.fixes if (one := _told(fix, best, rises)) is not None]
    if not saved:
        told.sort(key=lambda fix: fix.act == GO_BACK)
    return replace(finding, fixes=tuple(told))


def _told(fix: Fix, best: BestCheckpoint | None, rises: bool) -> Fix | None:
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
        return replace(fix, text=unsure if best.unknown else START)
    step = f"{fix.text}, that of step {best.step}"
    return replace(fix, text=step if saved else f"{step}, {NOT_FOUND}", act=GO_BACK)
