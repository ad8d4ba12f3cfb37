"""A verdict in two or three words, with its colour."""

from __future__ import annotations

from rltui.evidence.model import BestCheckpoint, Decision, Tone

GOES_ON: dict[Decision, tuple[str, Tone]] = {
    "continue": ("CONTINUE", "ok"),
    "continue-watch": ("WATCH", "warn"),
    "stop-use-best": ("STOP", "crit"),
    "pause-and-fix": ("PAUSE · FIX", "crit"),
    "abort-now": ("STOP", "crit"),
    "not-enough-evidence": ("NO EVIDENCE", "none"),
}
ENDED: dict[Decision, tuple[str, Tone]] = {
    "continue": ("DONE", "ok"),
    "continue-watch": ("DONE", "warn"),
    "stop-use-best": ("DONE", "warn"),
    "pause-and-fix": ("FIX · RERUN", "crit"),
    "abort-now": ("FIX · RERUN", "crit"),
    "not-enough-evidence": ("NO EVIDENCE", "none"),
}
GOING: tuple[Decision, ...] = ("continue", "continue-watch")
RESUME: tuple[str, Tone] = ("RESUME", "warn")
KEEPS: tuple[Decision, ...] = ("stop-use-best", "abort-now")
"""Decisions after which an earlier state is the result."""


def badge(
    decision: Decision,
    ended: bool,
    broken: bool,
    best: BestCheckpoint | None,
    gained: bool,
    interrupted: bool = False,
) -> tuple[str, Tone]:
    """The words and their colour. `ended`: no further row will come. `broken`: the decision rests on a critical
    finding, so the run must be repeated if there is no checkpoint to keep. `gained`: a score that counts rose;
    otherwise an end is neither good nor bad. `interrupted`: the run was ended from outside and has nothing of its own
    to fix."""
    if ended and interrupted and decision in GOING:
        return RESUME
    words, tone = (ENDED if ended else GOES_ON)[decision]
    if ended and decision == "continue" and not gained:
        return words, "none"
    worth = best is not None and best.worth_keeping
    if ended and decision == "abort-now" and worth:
        words = "DONE"  # what was saved before the damage is the result
    if ended and decision == "stop-use-best" and not worth and broken:
        words, tone = ENDED["pause-and-fix"]
    if decision in KEEPS and best is not None and worth:
        words = f"{words} · KEEP {best.step}"
    return words, "crit" if broken and ended and decision in KEEPS else tone
