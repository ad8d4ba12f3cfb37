"""Findings within a sentence: their titles, their onset, and which critical ones are over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rltui.evidence.model import Finding
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait

PAST_STEPS = 10
"""A finding that is over is mentioned if it lasted for at least this many steps."""


def began(finding: Finding) -> str:
    """`since step 40`, or `at step 40` for a crash; empty if the step is not known."""
    if finding.onset_step is None:
        return ""
    return f"{'at' if finding.id in having(Trait.CRASH) else 'since'} step {finding.onset_step}"


TOO_CLOSE = "too close to tell which began first"


def seems_earlier(finding: Finding, root: Finding) -> bool:
    """Whether a finding that follows from `root` is dated before it. Onsets are known only to within some steps, and
    the two lie within that."""
    return None not in (finding.onset_step, root.onset_step) and (finding.onset_step or 0) < (root.onset_step or 0)


def in_sentence(title: str) -> str:
    """A title within a sentence: `KL to reference` and `NaN` keep their capitals."""
    return title if title[1:2].isupper() or title.startswith("NaN") else title[:1].lower() + title[1:]


def titles(findings: Iterable[Finding]) -> list[str]:
    """The titles of findings for a list. A title with a comma is quoted, as it would read like two."""
    named = dict.fromkeys(in_sentence(finding.title) for finding in findings)
    return [f"“{title}”" if "," in title else title for title in named]


def worst_past(past: Sequence[Finding]) -> Finding | None:
    """The earliest finding that is over and worth mentioning: one that lasted `PAST_STEPS` and was critical, or a
    collapse of the reward or a fault of its source that was a warning. None if there is none."""
    told_of = [f for f in past if f.status == "resolved" and _was_loud(f) and _lasted(f) >= PAST_STEPS]
    return min(told_of, key=lambda f: f.onset_step or 0, default=None)


def _was_loud(finding: Finding) -> bool:
    worse = finding.id in having(Trait.COLLAPSE) or finding.id in having(Trait.MEASUREMENT)
    return finding.peak_severity == "critical" or (worse and finding.peak_severity == "warning")


def _lasted(finding: Finding) -> int:
    """Steps of its longest episode."""
    spans = ((e.onset_step, e.end_step) for e in finding.episodes)
    return max((end - onset for onset, end in spans if onset is not None and end is not None), default=0)


def over(past: Sequence[Finding]) -> str:
    """Which critical finding is over, and when; empty if there was none."""
    finding = worst_past(past)
    if finding is None:
        return ""
    longest = max(finding.episodes, key=lambda e: (e.end_step or 0) - (e.onset_step or 0))
    return f"over: {in_sentence(finding.title)}, from step {longest.onset_step} to {longest.end_step}"
