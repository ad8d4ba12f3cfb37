"""What a report says first about a run whose cause is known."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.evaluation.causes import machine, policy
from tests.evaluation.causes.case import PLANTS, drawn, write
from tests.unit.reported import told

__all__ = ["RESULTS", "Told", "ask", "machine", "policy"]

RESULTS = ("leads", "perhaps", "of its finding", "supported", "other", "silent")
"""The true cause is the report's first one (or is what the finding that leads is called); it is told first as one that
nothing logged can test; it is the first one of a finding that does not lead; supported, but behind another; not among
the supported ones; or there is no finding at all."""
PERHAPS = "not known, perhaps: "
STATED = ("supported", "untestable")


@dataclass(frozen=True, slots=True)
class Told:
    """`why`: the first cause that the answer names; `findings`: those that are open, the loudest first. `refuted`: the
    page shows a cause that the run contradicts."""

    plant: str
    seed: int
    kind: str
    result: str
    what: str
    why: str
    findings: tuple[str, ...]
    refuted: bool


def ask(name: str, seed: int, keep: Path | None = None) -> Told:
    """Plants the fault in the run of this seed and reads the report on it. `keep`: where the run's files stay."""
    case = drawn(seed)
    causes = PLANTS[name](case)
    with tempfile.TemporaryDirectory() as scratch:
        page, _, report = told(write(case, (keep or Path(scratch)) / f"{name.replace(' ', '-')}-{seed}"))
    open_now = [f for f in report["findings"] if f["status"] != "resolved"]
    why = report["answer"]["why"] or ""
    leads = [f["causes"][0] for f in open_now if f["causes"]]
    supported = [one for f in open_now for one in f["causes"] if one["status"] == "supported"]
    what = report["answer"]["what"]
    at_the_end = any(f"an error: {cause}".lower() in what.lower() for cause in causes)
    if why.startswith(causes) or what.startswith(causes) or at_the_end:
        result = "leads"
    elif why.removeprefix(PERHAPS).startswith(causes):
        result = "perhaps"
    elif any(one["text"].startswith(causes) and one["status"] == "supported" for one in leads):
        result = "of its finding"
    elif any(one["text"].startswith(causes) for one in supported):
        result = "supported"
    else:
        result = "other" if open_now else "silent"
    against = [one["text"] for f in open_now for one in f["causes"] if one["status"] == "contradicted"]
    backed = [one["text"] for f in open_now for one in f["causes"] if one["status"] in STATED]
    refuted = any(f"{text}:" in page or f" {text} (" in page for text in against if text not in backed)
    heard = tuple(f"{f['id']}/{f['severity']}" for f in open_now)
    return Told(name, seed, f"{case.writer}, {case.w}", result, what, why, heard, refuted)
