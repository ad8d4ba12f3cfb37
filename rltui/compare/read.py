"""Reads, for each run found, the facts that a comparison needs, as plain values and small arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from rltui.compare import tables
from rltui.compare.model import RunHead
from rltui.discovery.found import Found
from rltui.evidence.model import Finding
from rltui.evidence.outages import Gap, without
from rltui.report.build import build
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.run.table import Series
from rltui.session.frame import Recording, RunSnapshot
from rltui.session.run_reader import RunReader
from rltui.settings import SettingsError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
COMPONENT = "reward_component_mean"
HELD_OUT = "val_score"
TRACE = 400  # most points of a curve that is drawn beside another run's


class RunCurve(Struct, frozen=True):
    """Finite points of one metric, in step order."""

    steps: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)


class ComparedRun(RunHead, frozen=True):
    """One run. `settings`: canonical or raw config key -> value, only those that have an effect. `spelled`: the same
    keys -> the framework's own spelling.

    `tokens` and `hours` are cumulative over the steps; None if not logged. `gpus`: None if unknown.
    """

    listed_as: str  # its id among the runs that were listed together
    because: tuple[str, ...]  # ids of the findings that the verdict rests on
    findings: tuple[Finding, ...]
    updated: str
    words: tuple[str, ...]  # names and tags that a filter can match
    settings: Mapping[str, object]
    spelled: Mapping[str, str]
    raw_config: Mapping[str, object]
    curves: Mapping[str, RunCurve]
    last_step: int | None
    tokens: RunCurve | None = None
    hours: RunCurve | None = None
    gpus: float | None = None
    health: Mapping[str, float | None] = field(default_factory=dict)
    traces: Mapping[str, RunCurve] = field(default_factory=dict)  # every metric, thinned, by its name in the report
    model: str | None = None  # the trained model's name, without the directory

    @property
    def broken_at(self) -> int | None:
        """The step from which on the run's report counts the policy as broken; None if it does not."""
        breaking = having(Trait.BREAKS_POLICY)
        open_ones = (f for f in self.findings if f.status == "active" and f.severity == "critical" and f.id in breaking)
        return min((f.onset_step for f in open_ones if f.onset_step is not None), default=None)

    @property
    def validates(self) -> bool:
        """Whether the run logs a score on prompts that it does not train on, under any key."""
        return any(name.partition(":")[0] == HELD_OUT for name in (*self.curves, *self.traces))

    def cost(self, name: str) -> RunCurve | None:
        """Cumulative cost over the steps; None if unknown."""
        if name == "tokens":
            return self.tokens
        if name == "hours":
            return self.hours
        if name == "gpu_hours":
            if self.hours is None or self.gpus is None:
                return None
            return RunCurve(self.hours.steps, self.hours.values * self.gpus)
        longest = max(self.curves.values(), key=lambda c: int(c.steps[-1]), default=None)
        if longest is None:
            return None
        steps = longest.steps
        if (
            self.last_step is not None and self.last_step > steps[-1]
        ):  # steps without values, as in an outage, also cost something
            steps = np.append(steps, self.last_step)
        return RunCurve(steps, steps.astype(np.float64))


def read(
    found: Iterable[Found],
    key_map: dict[str, str] | None = None,
    primary: str | None = None,
    lost: Callable[[Found, Exception], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[ComparedRun]:
    """The facts about every run, each read to its end, one after the other. A run that fails because of a fault in
    rltui is passed to `lost` and left out; without `lost` the fault is raised. If `cancelled`, the rest is not read."""
    out = []
    for one in found:
        if cancelled():
            break
        try:
            out.append(facts(one, key_map, primary, cancelled))
        except SettingsError:
            raise
        except Exception as error:
            if lost is None:
                raise
            lost(one, error)
    return told_apart(out)


def told_apart(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """Gives runs with the same id different ids: what they are listed as, else their paths, else a number after it."""
    ids = [f.id for f in runs]
    runs = [f if ids.count(f.id) == 1 else replace(f, id=f.listed_as) for f in runs]
    ids = [f.id for f in runs]
    runs = [f if ids.count(f.id) == 1 else replace(f, id=f.path) for f in runs]
    ids = [f.id for f in runs]
    return [
        f if ids.count(f.id) == 1 else replace(f, id=f"{f.id} ({ids[: i + 1].count(f.id)})") for i, f in enumerate(runs)
    ]


def facts(
    found: Found,
    key_map: dict[str, str] | None = None,
    primary: str | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> ComparedRun:
    """The facts about one run, read to its end. `cancelled` is called between blocks; if it returns True, reading stops
    and the facts cover what was read so far."""
    opened = RunReader(found, key_map=key_map)
    try:
        while not cancelled() and not opened.read_block().done:
            pass
        frame = opened.frame()
        report = build(frame)
    finally:
        opened.close()
    read, run = report.recording, report.recording.run
    settings, spelled = _settings(run)
    tokens, hours = _tokens(read), _hours(read)
    return ComparedRun(
        id=run.id,
        path=run.path,
        framework=run.framework,
        algorithm=run.algorithm,
        state=report.run.state,
        decision=report.verdict.decision,
        badge=report.verdict.badge,
        listed_as=found.candidate.id,
        because=report.verdict.because,
        findings=report.findings,
        updated=report.as_of or "",
        words=tuple(str(v) for k, v in run.info.items() if k in ("run_id", "name", "project", "host")) + _tags(run),
        settings=settings,
        spelled=spelled,
        raw_config={key: entry.value for key, entry in run.raw_config.items()},
        curves=_curves(read, primary, frame.diagnosis.gaps),
        last_step=report.run.steps.last,
        tokens=tokens,
        hours=hours,
        gpus=_gpus(run),
        health={
            name: report.metrics[name].last if name in report.metrics else None for name in tables.readings().health
        },
        traces={
            name: thinned(curve)
            for name, metric in report.metrics.items()
            if (curve := _curve(read.named(name) or read.series.get(metric.key))) is not None
        },
        model=_model(run),
    )


def thinned(curve: RunCurve, points: int = TRACE) -> RunCurve:
    """The curve with at most `points` points: means over equal spans of rows, at the last step of each span."""
    n = len(curve)
    if n <= points:
        return curve
    starts = np.linspace(0, n, points + 1).astype(np.int64)[:-1]
    ends = np.append(starts[1:], n)
    return RunCurve(curve.steps[ends - 1], np.add.reduceat(curve.values, starts) / (ends - starts))


def _curve(series: Series | None) -> RunCurve | None:
    if series is None:
        return None
    finite = series.finite()
    return RunCurve(finite.steps.copy(), finite.values.copy()) if len(finite) else None


def _curves(read: Recording, primary: str | None, out: tuple[Gap, ...]) -> dict[str, RunCurve]:
    """Every metric that may become the primary one. Members of a family are named `canonical:member`."""
    named: dict[str, Series | None] = {}
    for canonical in (HELD_OUT, COMPONENT):
        family = {member: without(series, canonical, out) for member, series in read.family(canonical).items()}
        named |= {f"{canonical}:{member}": series for member, series in family.items()}
    for line in tables.primary_order().order:
        named |= {name: _measured(read, name, out) for name in line.names if name != HELD_OUT}
    if primary is not None and primary not in named:
        named[primary] = _measured(read, primary, out)
    return {name: curve for name, series in named.items() if (curve := _curve(series)) is not None}


def _measured(read: Recording, name: str, out: tuple[Gap, ...]) -> Series | None:
    series = read.named(name)
    return None if series is None else without(series, name, out)


def _settings(run: RunSnapshot) -> tuple[dict[str, object], dict[str, str]]:
    """Settings that have an effect, under canonical names if the vocabulary knows the key, and the log's own spellings.
    Names of runs and files are not settings."""
    left_out = tables.readings()
    values: dict[str, object] = {}
    spelled: dict[str, str] = {}
    taken = set()
    for canonical, entry in run.config.items():
        taken.add(entry.key)
        spelled[canonical] = entry.key
        if entry.active and canonical not in left_out.not_settings and _is_plain(entry.value):
            values[canonical] = entry.value
    for key, entry in run.raw_config.items():
        about_files = any(word in key.lower() for word in left_out.not_setting_words)
        if key not in taken and not about_files and _is_plain(entry.value):
            values[key], spelled[key] = entry.value, key
    return values, spelled


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= 60 and "/" not in value
    return isinstance(value, bool | int | float)


def _tags(run: RunSnapshot) -> tuple[str, ...]:
    for key in ("tags", "wandb_tags", "trainer.tags"):
        entry = run.raw_config.get(key)
        if entry is not None and entry.value is not None:
            value = entry.value
            return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
    return ()


def _model(run: RunSnapshot) -> str | None:
    entry = run.config.get("model")
    value = entry.value if entry is not None else None
    return value.rstrip("/").rpartition("/")[2] or None if isinstance(value, str) else None


def _gpus(run: RunSnapshot) -> float | None:
    def known(name: str) -> float | None:
        entry = run.config.get(name)
        value = entry.value if entry is not None else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None

    world = known("world_size")
    per_node = known("n_gpus_per_node")
    return world if world is not None else None if per_node is None else per_node * (known("nnodes") or 1.0)


def _summed(curve: RunCurve, scale: float) -> RunCurve:
    """The curve summed up over the steps; a step without a row counts like the next row."""
    gaps = np.diff(curve.steps, prepend=curve.steps[0] - (curve.steps[1] - curve.steps[0] if len(curve) > 1 else 1))
    return RunCurve(curve.steps, np.cumsum(curve.values * np.maximum(gaps, 1)) * scale)


def _tokens(read: Recording) -> RunCurve | None:
    seen = _curve(read.named("total_tokens_seen"))
    if seen is not None:
        return RunCurve(seen.steps, np.maximum.accumulate(seen.values))
    each = _curve(read.named("total_tokens_step"))
    return None if each is None else _summed(each, 1.0)


def _hours(read: Recording) -> RunCurve | None:
    """Cumulative hours by the step timer; without one by time stamps, which include pauses."""
    each = _curve(read.named("time_per_step_s"))
    if each is not None:
        return _summed(each, 1 / 3600)
    times, steps = read.run.times, read.run.steps
    known = np.flatnonzero(np.isfinite(times))
    if len(known) < 2:
        return None
    return RunCurve(steps[known].copy(), np.maximum.accumulate(times[known] - times[known[0]]) / 3600)
