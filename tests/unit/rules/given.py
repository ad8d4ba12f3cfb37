"""What a rule is shown in a case, one shape for whatever it looks at: rows, samples, the machine, or the run as it
stands. Each is a small run that the case itself writes; `level` asks the rule's detector about it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from rltui.evidence.beside_rows import Measured, Sampled, Standing
from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.evidence.ranking import ranking
from rltui.rollouts.samples import Samples
from rltui.rules.catalogue import rules
from rltui.rules.coverage import coverage
from rltui.rules.registry import REGISTERED, ids
from rltui.run.checkpoints import Checkpoint
from rltui.run.contradictions import Contradiction
from rltui.run.run import RunState
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.rollouts.dumps import index, verl

N = 300
NOTICE, WARNING, CRITICAL = 1, 2, 3
Columns = Mapping[str, Any]
Writer = Callable[[int, int], tuple[str, float]]
"""Text and reward of a sample, by the step of its dump and its number."""
Asker = Callable[[int], str]
"""Prompt of a sample, by its number."""
T = np.arange(N)


def wave(level: float, sd: float = 0.02, seed: int = 0, n: int = N) -> Floats:
    """A level with noise of so many parts of it."""
    return np.asarray(level * (1 + sd * noise(np.random.default_rng(seed), n)))


def ramp(start: int, length: int) -> Floats:
    return np.asarray(np.clip((T - start) / length, 0, 1))


def spiked(level: float, rows: list[int], times: float) -> Floats:
    x = wave(level)
    x[rows] *= times
    return x


def rare(values: Floats, every: int = 10) -> list[float | None]:
    return [float(v) if i % every == 0 else None for i, v in enumerate(values)]


def validation(peak: int, fall: float) -> list[float | None]:
    """Rises to .6 at a row and falls by so much 20 rows later."""
    return rare(0.3 + 0.3 * ramp(0, peak) - fall * ramp(peak + 20, 100) + 0.005 * noise(np.random.default_rng(2), N))


NONE: list[float | None] = [None] * N
FALLING: Columns = {"score_mean": np.maximum(0.0, wave(0.6, 0.03) - 0.4 * ramp(120, 100)), "val_score": NONE}
LEVEL: Columns = {"score_mean": wave(0.5, 0.03), "val_score": NONE}


class Given(Protocol):
    @property
    def sees(self) -> type[object]:
        """What the detector must look at to be asked about it."""
        ...

    def looks(self) -> Iterator[Any]:
        """What it sees, look after look."""
        ...


def feed_of(run: FakeRun) -> LookFeed:
    return LookFeed(run, BlockCache(), RunSettings.of(run))


@dataclass(frozen=True)
class Rows:
    """Columns laid over a run that learns."""

    columns: Columns
    config: Mapping[str, object] = field(default_factory=dict)
    opened: Mapping[str, int] = field(default_factory=dict)
    framework: str = "trl"
    algorithm: str = "grpo"
    planned: int | None = None
    restarts: tuple[int, ...] = ()
    sees: ClassVar[type[object]] = Look

    def run(self) -> FakeRun:
        run = FakeRun(
            {**learning_run(0, N), **self.columns},  # type: ignore[dict-item]
            config=self.config,
            framework=self.framework,
            algorithm=self.algorithm,
            planned=self.planned,
        ).grow()
        run.history.table.restarts.extend(self.restarts)
        return run

    def looks(self) -> Iterator[Look]:
        feed = feed_of(self.run())
        for n in range(20, N + 1, 10):
            yield Look(feed, n, self.opened)


@dataclass(frozen=True)
class Dumps:
    """Samples beside the rows: six dumps, written as verl writes them and read as any other, in groups of four."""

    write: Writer
    columns: Columns
    samples: int = 32
    cap: int | None = None
    ask: Asker = lambda n: f"What is {n // 4}?"
    sees: ClassVar[type[object]] = Sampled

    def looks(self) -> Iterator[Sampled]:
        run = Rows(self.columns).run()
        with tempfile.TemporaryDirectory() as folder:
            for step in range(N // 6, N + 1, N // 6):
                told = [(self.ask(n), *self.write(step, n)) for n in range(self.samples)]
                verl(Path(folder), step, told)
            found = index(Path(folder), cap=self.cap)
            stats = {entry.step: found.read(entry).stats() for entry in found.entries if entry.step is not None}
        run.samples = Samples(tuple(stats), stats, None, False)
        yield Sampled.of(run, Look(feed_of(run), N, {}), now=True)


@dataclass(frozen=True)
class Machine:
    """A run with samples of its machine (`machines.sampled`), made when it is asked for."""

    make: Callable[[], FakeRun]
    sees: ClassVar[type[object]] = Measured

    def looks(self) -> Iterator[Measured]:
        run = self.make()
        yield Measured.of(run, Look(feed_of(run), run.history.table.n, {}), now=False)


UNGRADED = "judge: connection refused"


@dataclass(frozen=True)
class Stands:
    """A run in a state, with what it saved at these steps, where its sources contradict each other, and behind which
    steps its log says that answers could not be graded."""

    columns: Columns
    state: RunState
    saved: Sequence[int] = ()
    against: Sequence[Contradiction] = ()
    ungraded: Sequence[int] = ()
    restarts: tuple[int, ...] = ()
    sees: ClassVar[type[object]] = Standing

    def looks(self) -> Iterator[Standing]:
        look = Look(feed_of(Rows(self.columns, restarts=self.restarts).run()), N, {})
        saved = [Checkpoint(step, f"checkpoint-{step}", True) for step in self.saved]
        seen = coverage(look, rules(), list(ids(Look)))
        yield Standing(look, self.state, seen, ranking(look), saved, None, self.against, (self.ungraded, UNGRADED))


@dataclass(frozen=True)
class Case:
    """`level`: of the fault; `still`: the highest that the near miss may have. They differ in one thing, which in the
    near miss stays just within the threshold or takes the damage away."""

    rule: str
    fault: Given
    near: Given
    level: int = WARNING
    still: int = 0


def rows(
    rule: str,
    fault: Columns,
    near: Columns,
    level: int = WARNING,
    still: int = 0,
    config: Mapping[str, object] | None = None,
    near_config: Mapping[str, object] | None = None,
    restarts: tuple[int, ...] = (),
    near_restarts: tuple[int, ...] = (),
    **run: Any,
) -> Case:
    """`near_config`: as `config` where it is not given. `run`: what both have, as `Rows` has it."""
    own = config or {}
    return Case(
        rule,
        Rows(fault, config=own, restarts=restarts, **run),
        Rows(near, config=own if near_config is None else near_config, restarts=near_restarts, **run),
        level,
        still,
    )


def samples(
    rule: str,
    fault: Writer,
    near: Writer,
    level: int = WARNING,
    still: int = 0,
    columns: Columns = LEVEL,
    cap: int | None = None,
) -> Case:
    return Case(rule, Dumps(fault, columns, cap=cap), Dumps(near, columns, cap=cap), level, still)


def asking(rule: str, fault: Asker, near: Asker, level: int = WARNING) -> Case:
    """The prompts are at fault, and the answers are not."""

    def write(step: int, n: int) -> tuple[str, float]:
        return f"At step {step} it is <answer>{n}</answer>", float(n % 3 == 0)

    return Case(rule, Dumps(write, LEVEL, ask=fault), Dumps(write, LEVEL, ask=near), level)


def machine(
    rule: str, fault: Callable[[], FakeRun], near: Callable[[], FakeRun], level: int = WARNING, still: int = 0
) -> Case:
    return Case(rule, Machine(fault), Machine(near), level, still)


def level(rule: str, given: Given) -> int:
    """At the last look, notes kept from look to look. What the detector needs must be there: that it could not look
    makes no near miss."""
    (one,) = (d for d in REGISTERED if d.rule == rule and d.sees is given.sees)
    memory: dict[str, float] = {}
    found = 0
    for seen in given.looks():
        assert one.able(seen), f"{rule} has nothing to look at"
        signals = one.detect(seen, rules()[rule].values(), memory)
        found = max((s.level for s in signals), default=0)
        assert all(s.said for s in signals)
    return found
