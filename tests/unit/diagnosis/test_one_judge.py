"""What holds of every diagnosis of a labelled run, at its end and on its way: roots, stages, invariants, badge. One run
in thirty-two, all of them with `-m "fuzz_full or not fuzz_full"`;
the contradictions hold the end of each to the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from rltui.discovery.found import NotARun
from rltui.evidence.model import SEVERITY_RANK, Diagnosis
from rltui.report.build import build
from rltui.report.model import Report
from rltui.report.to_json import to_dict
from rltui.rules.catalogue import rules
from rltui.rules.invariants import Invariant
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import labelled_runs
from tests.moments import age_of, judged_after, unless_drawn
from tests.unit.diagnosis.test_badge import ENDED, GOES_ON
from tests.unit.diagnosis.test_roots import wrong_folds

ROOT = labelled_runs()
LABELS = [] if ROOT is None else [orjson.loads(x) for x in (ROOT / "LABELS.jsonl").read_bytes().splitlines()]
EVERY = 32
ON_THE_WAY = (0.3, 0.6)


def wrong(report: Report, past: bool) -> Iterator[str]:
    """What the report says that cannot be said together."""
    yield from wrong_folds(to_dict(report))
    verdict, state = report.verdict, report.run.state
    stages = {s.stage: s.status for s in report.pipeline}
    loud = [f for f in report.findings if f.status == "active" and SEVERITY_RANK[f.severity]]
    for f in loud:
        least = ("fail",) if f.severity == "critical" else ("warn", "fail")
        if f.stage is not None and stages[f.stage] not in least:
            yield f"{f.id} is {f.severity}, its stage {f.stage} says {stages[f.stage]}"
        if f.stage is None and "cost-only" not in rules()[f.id].traits:
            yield f"{f.id} is {f.severity} and fails no stage"
    fits = ENDED if state in ("finished", "crashed") and not past else GOES_ON
    if not (fits.match(verdict.badge) or (state in ("stalled", "unknown") and ENDED.match(verdict.badge))):
        yield f"{verdict.badge} of a run that is {state}"
    best = verdict.best_checkpoint
    if "KEEP" in verdict.badge and not (best is not None and best.worth_keeping):
        yield f"{verdict.badge}, and nothing is worth keeping"
    if "All clear" in verdict.text:
        if loud:
            yield f"all clear beside {loud[0].id}"
        if report.not_evaluable and f"{len(report.not_evaluable)} could not" not in verdict.text:
            yield "all clear, and what nobody could see is not told"
        if not re.search(r" rose | fell ", verdict.text):
            yield "all clear without a gain"


def broken_alone(held: tuple[Invariant, ...], told: Diagnosis) -> Iterator[str]:
    """Invariants that fail where the pipeline does not."""
    stages = {s.stage: s.status for s in told.pipeline}
    for one in held:
        if one.status in ("fail", "warn") and stages[one.stage] not in ("fail", "warn"):
            yield f"{one.name}: {one.status}, its stage says {stages[one.stage]}"


@pytest.mark.parametrize(
    "label",
    [pytest.param(x, id=x["id"], marks=unless_drawn(x["id"], EVERY, "one judge")) for x in LABELS],
)
def test_what_is_said_of_a_run_goes_together(label: dict[str, str]) -> None:
    assert ROOT is not None
    path: Path = ROOT / label["path"]
    try:
        run = RunReader(locate([str(path)])[0])
    except NotARun:
        pytest.skip("not read")
    try:
        run.load()
        table = run.run.history.table
        steps = [int(table.steps[int(share * (table.n - 1))]) for share in ON_THE_WAY] if table.n > 20 else []
        for at in [None, *steps]:
            with judged_after(path, age_of(path.name)):
                frame = run.frame() if at is None else run.past_frame(at)
            assert not list(wrong(build(frame), at is not None)), f"at {at}"
            if table.n:
                step = int(table.steps[-1]) if at is None else at
                held = run.insight(step, at).invariants
                assert not list(broken_alone(held, frame.diagnosis)), f"at {at}"
    finally:
        run.close()
