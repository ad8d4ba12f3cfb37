"""How the diagnosis does on one planted run that grows before its eyes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Decision, Diagnosis
from tests.evaluation.drill.faults import FAULTS, Truth
from tests.evaluation.drill.world import World, healthy, prolong
from tests.unit.diagnosis.fake_run import FakeRun

HALT: frozenset[Decision] = frozenset({"stop-use-best", "pause-and-fix", "abort-now"})
LOOKS = 60
"""Looks at a run, evenly through its rows: what somebody who glances at it now and then is told."""
SETTLES = 0.1
"""Share of the run after a recovery in which the old fault may still be told."""


@dataclass(slots=True)
class Glance:
    """What was said when the newest row was of this step."""

    step: int
    decision: Decision
    loud: frozenset[str]


@dataclass(slots=True)
class Course:
    """All glances at one run. `truth`: what was planted; `unable`: rules that could not run, for the run does not log
    what they need."""

    fault: str
    world: World
    truth: Truth
    rows: int
    glances: list[Glance] = field(default_factory=list)
    closer: list[Glance] = field(default_factory=list)  # row by row before each at which a fault was named anew
    unable: frozenset[str] = frozenset()

    def found(self, rules: frozenset[str] | None = None) -> int | None:
        """Rows with the fault up to the one at which one of `rules` (by default any that names it) is loud; None if
        none ever is at a glance. What was loud before the fault counts only if it was quiet in between, and what is
        loud long after the recovery is a false alarm."""
        begins = self.truth.begins
        wanted = self.truth.rules if rules is None else rules
        if begins is None:
            return None
        old: frozenset[str] = frozenset()
        for g in sorted([*self.glances, *self.closer], key=lambda glance: glance.step):
            now = g.loud & wanted
            if g.step < begins:
                old = now
            elif not self.is_well(g.step):
                old &= now
                if now - old:
                    return math.ceil((g.step - begins + 1) / self.world.every)
        return None

    def false_alarms(self) -> list[str]:
        """Rules that became loud while nothing was wrong: before the fault, or well after its end."""
        out: list[str] = []
        before: frozenset[str] = frozenset()
        for g in self.glances:
            if self.is_well(g.step):
                out += sorted(g.loud - before)
            before = g.loud
        return out

    def is_well(self, step: int) -> bool:
        t = self.truth
        if t.begins is None:
            return t.quiet
        return step < t.begins or (t.ends is not None and step >= t.ends + SETTLES * self.world.length)

    def well_steps(self) -> int:
        """Steps in which a loud finding would have been false."""
        t, length = self.truth, self.world.length
        if t.begins is None:
            return length if t.quiet else 0
        after = 0 if t.ends is None else max(0, length - int(t.ends + SETTLES * length))
        return t.begins - 1 + after

    def false_resolves(self) -> int:
        """Times that nothing named the fault any more while it stood."""
        if self.truth.begins is None or not self.truth.rules or self.truth.clear:
            return 0
        named, count = False, 0
        for g in self.glances:
            if g.step < self.truth.begins or (self.truth.ends is not None and g.step >= self.truth.ends):
                continue
            now = bool(g.loud & self.truth.rules)
            count += named and not now
            named = now
        return count

    def flips(self) -> int:
        """Changes between "go on" and "halt"."""
        halts = [g.decision in HALT for g in self.glances if g.decision != "not-enough-evidence"]
        return sum(a != b for a, b in itertools.pairwise(halts))

    def false_stop(self) -> bool:
        """ "Halt" was said of a run that had nothing to stop for, then or at all."""
        if self.truth.stop:
            begins = self.truth.begins or 0
            return any(g.decision in HALT and g.step < begins for g in self.glances)
        return any(g.decision in HALT for g in self.glances)

    def false_clear(self) -> bool:
        """At the end the run is told to go on and no finding is loud, with the fault still there."""
        last = self.glances[-1]
        return not self.truth.clear and last.decision == "continue" and not last.loud


def planted(fault: str, seed: int) -> tuple[World, Truth]:
    world = healthy(seed)
    return world, FAULTS[fault](world)


def run_of(world: World) -> FakeRun:
    steps, columns = world.rows()
    config = {"learning_rate": float(world.columns["lr"][0])}
    return FakeRun(columns, steps=steps, config=config, planned=world.planned)


def course(fault: str, seed: int, looks: int = LOOKS, stands: int = 0) -> Course:
    """`stands`: a fault that lasts stands for so many times the length of the run more."""
    world, truth = planted(fault, seed)
    if stands and truth.ends is None:
        prolong(world, stands)
    run = run_of(world)
    n = len(run.all_steps)
    out = Course(fault, world, truth, n)
    engine, last = Engine(), Glance(0, "not-enough-evidence", frozenset())
    seen = 0
    for rows in sorted({max(1, round(n * k / looks)) for k in range(1, looks + 1)}):
        d = engine.advance(run.grow(rows))
        now = Glance(run.all_steps[rows - 1], d.verdict.decision, loud(d))
        if truth.begins is not None and now.step >= truth.begins and (now.loud - last.loud) & truth.rules:
            between = ((row, engine.at(run, row)) for row in range(seen + 1, rows))
            out.closer += [Glance(run.all_steps[row - 1], was.verdict.decision, loud(was)) for row, was in between]
        out.glances.append(now)
        last, seen = now, rows
        out.unable = frozenset(check.id for check in (*d.not_evaluable, *d.not_applicable))
    return out


def loud(d: Diagnosis) -> frozenset[str]:
    """Ids of the open warnings and critical findings."""
    return frozenset(f.id for f in d.findings if f.status == "active" and f.severity != "info")
