"""Labelled runs: what each label asks of a diagnosis, and how often it is met.

A label asks for findings (`any_of`: one of each group at warning or above, now or once; a group marked "info:" takes
notices; `none_of`: none of these open at warning or above), for quiet (`healthy`: nothing critical, at most one loud
root), for a `decision`, an `onset` and the step of the best checkpoint.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rltui.discovery.found import NotARun
from rltui.evidence.model import Decision, Diagnosis, Finding
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.moments import A_DAY_S, judged_after

LEAST = {"any_of": 0.92, "none_of": 0.95, "healthy": 0.95, "decision": 0.92, "onset": 0.85, "best_step": 0.80}
"""Shares of the labels that the diagnosis promises to meet."""
LATER = re.compile(r"zoo2/|real/[nr]\d\d")
"""Paths of runs that nobody had seen when the first rules were made: other tasks, other people's loops."""


@dataclass(frozen=True)
class Judged:
    """One labelled run: which parts of its label hold, the decision, and the accepted ones."""

    id: str
    parts: dict[str, bool]
    decision: Decision
    accepted: tuple[Decision, ...]
    rows: int
    loud: int  # findings at warning or above that are open
    healthy: bool


def judged(root: Path, every: int = 1, later: bool | None = None) -> Iterator[Judged]:
    """The labelled runs under `root` that are there, or one of `every` so many; each is read from its own files, and
    judged a day after they were written. `later`: only those that came after the rules were made, or only those
    before."""
    labels = [orjson.loads(line) for line in (root / "LABELS.jsonl").read_bytes().splitlines()]
    for label in [one for one in labels if later is None or bool(LATER.match(one["path"])) is later][::every]:
        path = root / label["path"]
        if path.exists():
            try:
                opened = RunReader(locate([str(path)])[0])
            except NotARun:
                yield unread(label)
                continue
            try:
                opened.load()
                with judged_after(path, A_DAY_S):
                    d = opened.diagnosis()
                rows = opened.run.history.table.n
            finally:
                opened.close()
            open_loud = [f for f in d.findings if f.status == "active" and f.severity != "info"]
            yield Judged(
                label["id"],
                check(label, d),
                d.verdict.decision,
                tuple(label.get("decision", ())),
                rows,
                len(open_loud),
                bool(label.get("healthy")),
            )


def unread(label: dict[str, Any]) -> Judged:
    """A run of which nothing is recognised: whatever its label asks is missed."""
    parts = {part: False for part in LEAST if label.get(part)}
    accepted = tuple(label.get("decision", ()))
    return Judged(label["id"], parts, "not-enough-evidence", accepted, 0, 0, bool(label.get("healthy")))


def check(label: dict[str, Any], d: Diagnosis) -> dict[str, bool]:
    """Each part of the label that a diagnosis can be asked: whether it holds."""
    loud: list[Finding] = [f for f in d.findings if f.status == "active" and f.severity != "info"]
    now = {f.id for f in loud}
    ever = now | {f.id for f in d.findings if f.peak_severity != "info"}
    told = {f.id for f in d.findings}
    out: dict[str, bool] = {}
    if groups := label.get("any_of"):
        out["any_of"] = all(any(i in (told if "info:" in g else ever) for i in g) for g in groups)
    if bad := label.get("none_of"):
        out["none_of"] = not now & set(bad)
    if label.get("healthy"):
        roots = {f.id for f in loud if f.root not in now}
        out["healthy"] = len(roots) <= 1 and all(f.severity != "critical" for f in loud)
    if wanted := label.get("decision"):
        out["decision"] = d.verdict.decision in wanted
    if onset := label.get("onset"):
        steps = [f.onset_step for f in d.findings if f.id in onset["ids"] and f.onset_step is not None]
        out["onset"] = bool(steps) and abs(min(steps) - onset["step"]) <= onset["tol"]
    if between := label.get("best_step"):
        best = d.verdict.best_checkpoint
        out["best_step"] = best is not None and between[0] <= best.step <= between[1]
    return out


def shares(runs: list[Judged]) -> dict[str, tuple[int, int]]:
    """Part of the label -> how many hold, of how many."""
    out = {}
    for part in LEAST:
        asked = [r.parts[part] for r in runs if part in r.parts]
        out[part] = (sum(asked), len(asked))
    return out


def promises_missed(runs: list[Judged]) -> dict[str, list[str]]:
    """Part of the label that is met too seldom -> the runs that miss it."""
    return {
        part: [r.id for r in runs if r.parts.get(part) is False]
        for part, (held, asked) in shares(runs).items()
        if held < LEAST[part] * asked
    }


def confusion(pairs: list[tuple[tuple[Decision, ...], Decision]]) -> Counter[tuple[Decision, Decision]]:
    """(wanted, judged) -> how often. Of several accepted decisions the judged one is the wanted one, else the first."""
    return Counter((got if got in accepted else accepted[0], got) for accepted, got in pairs if accepted)
