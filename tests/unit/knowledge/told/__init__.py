"""Runs that were drawn, and what the report is told of each: facts, verdict, forecasts, first moves, words of a course.

A line of `runs.jsonl` holds a run, the places of the report that it was kept for, and what stands there. It was kept
because a wrong constant or comparison of `rltui/evidence` or `rltui/diagnosis` puts something else there
(`python -m tests.mutants.told` looks for such runs); `tells` names the constants. Rules of rows have
`tests/unit/rules/contexts` for the same; here the findings beside which the facts stand are given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rltui.diagnosis.engine import Engine
from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.evidence.shapes import describe
from rltui.evidence.signal import Signal
from rltui.records import is_record, names
from rltui.rules.catalogue import rules
from rltui.run.checkpoints import Checkpoint
from rltui.run.run import RunState, State
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.knowledge.behaviour import Speech, only

RUNS = Path(__file__).with_name("runs.jsonl")
NAMED_BY = ("id", "metric", "what", "name", "phase", "stage")
"""Fields by which an element of a list is called."""
FACTS = ("course", "shifts", "since_first", "late")
"""Of a metric: what rules and texts take from the fact table."""


@dataclass(frozen=True)
class Line:
    """A metric: straight between `points` (row, value), with `noise` parts of its size and a swing of `swing` parts
    every `period` rows; logged every so many rows; so many `times` its size at some `rows` (0: NaN there)."""

    points: tuple[tuple[int, float], ...]
    noise: float = 0.0
    swing: float = 0.0
    period: int = 40
    every: int = 1
    rows: tuple[int, ...] = ()
    times: float = 1.0

    def values(self, seed: int, n: int) -> list[float | None]:
        t = np.arange(n)
        x: Floats = np.interp(t, *zip(*self.points, strict=True))
        x = x * (1 + self.noise * np.random.default_rng(seed).standard_normal(n))
        x = x * (1 + self.swing * np.sin(2 * np.pi * t / self.period))
        x[[row for row in self.rows if row < n]] *= self.times or np.nan
        return [float(v) if i % self.every == 0 else None for i, v in enumerate(x)]


Levels = tuple[tuple[int, int], ...]
"""(row, level): what a rule says from there on. 0: no more than a notice, and less than it was; -1: nothing."""


@dataclass(frozen=True)
class Written:
    """`speak`: rules that speak at every look, and their level, or its course. `around`: the row whose first moves are
    asked for. `stride`: steps from row to row. `seconds`: from row to row, if the rows have times. `saved`: steps of
    its checkpoints. `state`: what its process is known to do; none: rows arrive."""

    lines: dict[str, Line]
    n: int = 120
    settings: dict[str, Any] = field(default_factory=dict)
    speak: dict[str, int | Levels] = field(default_factory=dict)
    framework: str = "verl"
    algorithm: str = "GRPO"
    planned: int | None = None
    restarts: tuple[int, ...] = ()
    around: int = 60
    stride: int = 1
    seconds: Line | None = None
    saved: tuple[int, ...] = ()
    state: State | None = None

    def run(self) -> FakeRun:
        run = FakeRun(
            {name: line.values(seed, self.n) for seed, (name, line) in enumerate(self.lines.items())},
            [self.stride * (row + 1) for row in range(self.n)],
            self.settings,
            None if self.state is None else RunState(self.state, "it said so"),
            self.planned,
            self.framework,
            self.algorithm,
            None if self.seconds is None else 1.7e9 + np.nancumsum(np.array(self.seconds.values(99, self.n), float)),
        ).grow()
        run.history.table.restarts.extend(self.restarts)
        run.checkpoints = [Checkpoint(step, f"checkpoint-{step}", True) for step in self.saved]
        return run


def speech(rule: str, levels: Levels) -> Speech:
    """What a rule says whose level takes this course, of the metric that it goes by."""
    page = rules()[rule]
    moved = page.recovery.metric if page.recovery else next(iter(page.metrics), None)
    proofs = () if moved is None else ((moved, ""),)

    def says(look: Look) -> list[Signal]:
        level = next((level for row, level in reversed(levels) if row < look.n), -1)
        return (
            [] if level < 0 else [Signal(level, f"It speaks of {look.n} rows.", proofs, moved=moved, hurt=look.reward)]
        )

    return says


def told(written: Written) -> dict[str, str]:
    """Place -> what stands there."""
    run = written.run()
    said = {rule: of if isinstance(of, int) else speech(rule, of) for rule, of in written.speak.items()}
    with only(said), np.errstate(all="ignore"):
        engine = Engine(catalogue=rules() | {i: msgspec.structs.replace(rules()[i], needs=()) for i in written.speak})
        found = engine.advance(run)
        around = written.stride * (written.around + 1)
        insight = engine.insight(run, written.n, around, found.findings, found.verdict.decision)
        shapes = {name: describe(run.series(name)) for name in written.lines}
        look = Look(LookFeed(run, BlockCache(), RunSettings.of(run)), written.n, {})
        facts = {name: of for name in written.lines if (of := look.facts.metric(name)) is not None}
        metrics = {name: {part: getattr(of, part) for part in FACTS} for name, of in facts.items()}
        parts = {"diagnosis": found, "insight": insight, "shapes": shapes, "metrics": metrics, "profile": look.profile}
    return dict(_flat(parts, ""))


MEASURED = "confidence"
"""Comes from counts that are taken anew with each change of a rule."""


def _flat(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if is_record(value):
        value = {name: getattr(value, name) for name in names(value) if name != MEASURED}
    if isinstance(value, Mapping):
        for key, inside in value.items():
            yield from _flat(inside, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple | frozenset):
        yield where, str(len(value))
        for number, inside in enumerate(value):
            name = next((str(told) for by in NAMED_BY if (told := getattr(inside, by, None))), str(number))
            yield from _flat(inside, f"{where}[{name}]")
    else:
        yield where, f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Held:
    """What was agreed on for a run. `tells`: constants (`file NAME`) of which a wrong value shows here."""

    run: Written
    says: dict[str, str]
    tells: tuple[str, ...]

    def wrong(self) -> dict[str, tuple[str, str | None]]:
        """Place -> what was agreed, and what stands there."""
        found = told(self.run)
        return {at: (text, found.get(at)) for at, text in self.says.items() if found.get(at) != text}


def _line(told: dict[str, Any]) -> Line:
    points = tuple((int(row), float(value)) for row, value in told["points"])
    return Line(**told | {"points": points, "rows": tuple(told.get("rows", ()))})


def _read(text: str) -> Held:
    line = json.loads(text)
    run = line["run"]
    lines = {name: _line(of) for name, of in run.pop("lines").items()}
    if "seconds" in run:
        run["seconds"] = _line(run["seconds"])
    for rule, of in run.get("speak", {}).items():
        run["speak"][rule] = of if isinstance(of, int) else tuple((row, level) for row, level in of)
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in run.items()}
    return Held(Written(lines, **plain), line["says"], tuple(line["tells"]))


def kept() -> list[Held]:
    return [_read(text) for text in RUNS.read_text(encoding="utf-8").splitlines()] if RUNS.exists() else []


def line_of(held: Held) -> str:
    """One line of the file; what is as usual is left out."""
    usual, plain = asdict(Written({})), asdict(Line(()))

    def short(line: Line) -> dict[str, Any]:
        return {key: value for key, value in asdict(line).items() if value != plain[key]}

    run = {key: value for key, value in asdict(held.run).items() if value != usual[key]}
    run |= {"lines": {name: short(line) for name, line in held.run.lines.items()}}
    if held.run.seconds is not None:
        run["seconds"] = short(held.run.seconds)
    return json.dumps({"tells": held.tells, "run": run, "says": held.says}, ensure_ascii=False)


def save(all_of: list[Held]) -> None:
    RUNS.write_text("".join(line_of(held) + "\n" for held in all_of), encoding="utf-8")


def write() -> None:
    """Says of every kept run anew what stands at its places; those that are gone are dropped."""
    out = []
    for held in kept():
        found = told(held.run)
        out.append(Held(held.run, {at: found[at] for at in held.says if at in found}, held.tells))
    save(out)
