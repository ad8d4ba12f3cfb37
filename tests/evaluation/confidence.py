"""python -m tests.evaluation confidence [--seeds N] [--from SEED] [--jobs J] [--write]

How often a loud finding, or that there is none, was right: on simulated runs with one planted fault or none while they
grow, and on the labelled runs at their end. A statement is counted once a run and band of rows. The tables show how
well the confidence that is made from one half of the sources holds for the other half. `--write` ships the counts.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import orjson

from rltui.diagnosis.engine import Engine
from rltui.diagnosis.reliability import BANDS, FILE, Counts, Reliability, band, logged, of_clear, of_finding
from rltui.discovery.found import NotARun
from rltui.evidence.model import Diagnosis, Severity
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import REPO
from tests.evaluation.drill.faults import FAULTS
from tests.evaluation.drill.measure import LOOKS, Course, planted, run_of
from tests.evaluation.drill.rates import write
from tests.moments import A_DAY_S, judged_after

HOW = (
    "Statements on runs whose truth is known: simulated ones with one planted fault or none while they grow, labelled "
    "ones at their end. A finding is right if it names the fault, wrong if nothing was wrong; beside another fault it "
    "is not counted. That nothing is loud is right if nothing is wrong. Each counts once a run and number of rows."
)
BINS = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 1.01)


@dataclass(frozen=True)
class Told:
    """One statement of one run. `rule`: None that nothing is loud. `share`: of the expected metrics, those logged."""

    run: str
    source: str
    rule: str | None
    severity: Severity
    rows: int
    share: float
    right: bool


def _statements(
    d: Diagnosis, run: str, source: str, rows: int, right: set[str], wrong: set[str] | None
) -> Iterator[Told]:
    """`right`: rules that name what is wrong; `wrong`: those that are known to be false, None all others."""
    share = d.coverage.present / d.coverage.expected if d.coverage.expected else 0.0
    loud = [f for f in d.findings if f.status == "active" and f.severity != "info"]
    for f in loud:
        if f.id in right or wrong is None or f.id in wrong:
            yield Told(run, source, f.id, f.severity, rows, share, f.id in right)


def simulated(job: tuple[str, int]) -> list[Told]:
    fault, seed = job
    world, truth = planted(fault, seed)
    run, engine, out = run_of(world), Engine(), []
    n = len(run.all_steps)
    course = Course(fault, world, truth, n)
    for rows in sorted({max(1, round(n * k / LOOKS)) for k in range(1, LOOKS + 1)}):
        d = engine.advance(run.grow(rows))
        step = run.all_steps[rows - 1]
        if d.verdict.decision == "not-enough-evidence":
            continue
        well, stands = course.is_well(step), truth.begins is not None and truth.begins <= step
        name = f"{fault} {seed}"
        source = f"simulated {fault}"
        if well:
            told = list(_statements(d, name, source, rows, set(), None))
        elif stands and truth.rules and (truth.ends is None or step < truth.ends):
            told = list(_statements(d, name, source, rows, set(truth.rules), set()))
        else:
            continue
        share = d.coverage.present / d.coverage.expected if d.coverage.expected else 0.0
        if not any(f.status == "active" and f.severity != "info" for f in d.findings):
            told.append(Told(name, source, None, "info", rows, share, well or truth.clear))
        out += told
    return out


def labelled(root: Path) -> Iterator[Told]:
    for line in (root / "LABELS.jsonl").read_bytes().splitlines():
        label = orjson.loads(line)
        path = root / label["path"]
        try:
            opened = RunReader(locate([str(path)])[0])
        except NotARun:
            continue
        opened.load()
        with judged_after(path, A_DAY_S):
            d = opened.diagnosis()
        rows = opened.run.history.table.n
        opened.close()
        if d.verdict.decision == "not-enough-evidence":
            continue
        groups = label.get("any_of") or ()
        right = {i for g in groups for i in g}
        wrong = set(label.get("none_of") or ()) - right
        source = "labelled " + path.parent.name
        yield from _statements(
            d, label["id"], source, rows, right, None if label.get("healthy") and not groups else wrong
        )
        if not any(f.status == "active" and f.severity != "info" for f in d.findings):
            must = [g for g in groups if "info:" not in g]
            if label.get("healthy") or must:
                share = d.coverage.present / d.coverage.expected if d.coverage.expected else 0.0
                yield Told(label["id"], source, None, "info", rows, share, not must)


def counted(told: Iterable[Told], command: str = "-") -> Reliability:
    """Counts once a run, statement and band: the share of its looks in which it was right."""
    by: dict[tuple[str, str, str, str], list[bool]] = defaultdict(list)
    rules: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for t in told:
        kind = ("loud", t.severity) if t.rule is not None else ("clear", logged(t.share))
        by[(t.run, *kind, band(t.rows))].append(t.right)
        if t.rule is not None:
            rules[t.run, t.rule].append(t.right)
    groups: dict[str, dict[str, dict[str, list[float]]]] = {
        k: defaultdict(lambda: defaultdict(list)) for k in ("loud", "clear")
    }
    for (_, kind, of, rows), right in by.items():
        groups[kind][of][rows].append(mean(right))
    own: dict[str, list[float]] = defaultdict(list)
    for (_, rule), right in rules.items():
        own[rule].append(mean(right))

    def counts(shares: Sequence[float]) -> Counts:
        return Counts(round(sum(shares), 2), len(shares))

    told_by = {
        kind: {of: {b: counts(by_band[b]) for b in BANDS if b in by_band} for of, by_band in sorted(found.items())}
        for kind, found in groups.items()
    }
    return Reliability(HOW, command, told_by["loud"], told_by["clear"], {r: counts(s) for r, s in sorted(own.items())})


def table(known: Reliability, asked: Sequence[Told]) -> list[tuple[str, int, float, float]]:
    """(bin of the stated confidence, statements, mean stated, share right); a run's statement of a band counts once."""
    found: dict[tuple[object, ...], list[tuple[float, bool]]] = defaultdict(list)
    for t in asked:
        sure = of_clear(t.rows, t.share, known) if t.rule is None else of_finding(t.rule, t.severity, t.rows, known)
        found[t.run, t.rule, band(t.rows)].append((sure, t.right))
    points = [(mean(s for s, _ in pairs), mean(r for _, r in pairs)) for pairs in found.values()]
    out = []
    for low, high in itertools.pairwise(BINS):
        inside = [p for p in points if low <= p[0] < high]
        if inside:
            out.append(
                (f"{low:g} to {min(high, 1):g}", len(inside), mean(s for s, _ in inside), mean(r for _, r in inside))
            )
    return out


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation confidence", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="simulated runs of each fault")
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(words)
    names = list(FAULTS)
    jobs = [(name, args.start + i) for i, name in enumerate(names * args.seeds)]
    with ProcessPoolExecutor(args.jobs) as pool:
        told = [t for found in pool.map(simulated, jobs, chunksize=4) for t in found]
    own = len(told)
    root = REPO.parent / "shared" / "runs"
    told += labelled(root) if root.exists() else ()
    sources = sorted({t.source for t in told})
    folds = {
        "simulated, by labelled": (told[own:], told[:own]),
        "labelled, by simulated": (told[:own], told[own:]),
        "odd sources, by even ones": tuple([t for t in told if sources.index(t.source) % 2 == k] for k in (0, 1)),
        "even sources, by odd ones": tuple([t for t in told if sources.index(t.source) % 2 == k] for k in (1, 0)),
    }
    for name, (fitted, asked) in folds.items():
        print(f"\n{name}\n| stated | statements | mean stated | right |\n|---|--:|--:|--:|")
        for words_, n, stated, right in table(counted(fitted), asked):
            print(f"| {words_} | {n} | {stated:.2f} | {right:.2f} |")
    if args.write:
        command = f"python -m tests.evaluation confidence --from {args.start} --seeds {args.seeds} --write"
        write(counted(told, command), FILE)
