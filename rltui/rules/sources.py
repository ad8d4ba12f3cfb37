"""What the sources of a run say of each other."""

from __future__ import annotations

from rltui.evidence.signal import NOTICE, WARNING, Signal
from rltui.evidence.standing import Standing
from rltui.rules.base import Memory, Params, rule


@rule("sources-contradict", Standing)
def sources_contradict(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """Two files of the run state other values for the same steps, one signal for each that is left out. Loud where
    nothing that was measured is the same in both: they are then of two runs, and the judgement is of one of them."""
    out = []
    for one in seen.contradictions:
        level = WARNING if one.whole else NOTICE
        out.append(Signal(level, f"The file {one.text}.", subject=one.names[1], onset_step=one.since))
    return out
