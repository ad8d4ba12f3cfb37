"""Makes the report from a frame. It puts together the run and the diagnosis; the only numbers computed here are those
of `summaries`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.model import CheckFailed
from rltui.evidence.outages import without
from rltui.hardware.base import HostSample, newest
from rltui.plots.numbers import duration
from rltui.prose import joined
from rltui.report.lost import lost
from rltui.report.model import (
    ConfigEntry,
    DiskNow,
    FirstMoves,
    GpuNow,
    Hardware,
    HostNow,
    MetricSummary,
    Outlook,
    PhaseItem,
    Phases,
    PhaseUse,
    Report,
    Rollouts,
    RunIdentity,
    SourceUsed,
    Steps,
)
from rltui.report.summaries import Summaries, SummaryCache
from rltui.rollouts.samples import Samples
from rltui.run.clocks import on_our_clock
from rltui.run.config import ConfigValue
from rltui.run.liveness import stood
from rltui.run.names import MetricName
from rltui.run.run import PhaseTable
from rltui.run.source_info import SourceInfo
from rltui.run.table import Series
from rltui.session.frame import Frame, RunSnapshot

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight
    from rltui.evidence.model import Finding, MachineView


NOTED = ("resume", "traceback", "oom", "killed", "fault")
NOTES_SHOWN = 20


MOST_OTHERS = 2000
"""The number of settings without a canonical key that are listed."""


def _other_config(raw: Mapping[str, ConfigValue], mapped: set[str]) -> dict[str, object]:
    """The settings without a canonical key, under their own keys."""
    others = ((key, entry.value) for key, entry in raw.items() if key not in mapped and entry.value is not None)
    return dict(islice(others, MOST_OTHERS))


def build(frame: Frame, *, window: int | None = None, cache: SummaryCache | None = None) -> Report:
    """The report about a frame. `window`: rows in the first, mid and last windows (default: max(5, 10 %)). `cache`:
    pass the same one on every new row of a run, so that what did not change is not computed again. Metrics have
    canonical names, see `summaries.report_names`. Never raises if a run lacks something: what is unknown is None, and
    the report says so."""
    run, diagnosis = frame.run, frame.diagnosis
    span = _span(run, frame.series)
    return Report(
        as_of=_iso(_as_of(run, span)),
        run=_identity(run, span, frame),
        config={
            name: ConfigEntry(entry.value, entry.key, entry.source, entry.active, entry.note)
            for name, entry in run.config.items()
        },
        other_config=_other_config(run.raw_config, {entry.key for entry in run.config.values()}),
        verdict=diagnosis.verdict,
        findings=diagnosis.findings,
        metrics=_metrics(frame, span, window, cache if cache is not None else SummaryCache()),
        phases=_phases(run.phases),
        pipeline=diagnosis.pipeline,
        hardware=_hardware(frame),
        rollouts=_rollouts(frame.rollout_files, run.samples),
        coverage=diagnosis.coverage,
        unknowns=(*_not_known(run), *(f"--map {text}" for text in run.unlogged), *diagnosis.unknowns),
        checks=diagnosis.checks,
        not_evaluable=tuple((check.title, check.needs, check.enable) for check in diagnosis.not_evaluable),
        not_applicable=tuple((check.title, check.needs) for check in diagnosis.not_applicable),
        checks_failed=_failed(frame),
        notes=_notes(frame),
        facts=diagnosis.facts,
        moved=frame.insight.moved if frame.insight is not None else (),
        outlook=_outlook(frame.insight, diagnosis.findings),
        lost=lost(run, diagnosis.coverage),
        recording=frame,
        machine=diagnosis.machine,
        at_step=diagnosis.at_step,
    )


COUNTED = "steps not known, rows counted"


def _not_known(run: RunSnapshot) -> list[str]:
    """What no source of the run shows, where two sources disagree, and which key was taken for the new name of
    another."""
    counted = [f"{COUNTED}: no source says which step a row is of."] if run.counted else []
    renamed = [
        f"From step {one.step} on {one.new} counts as the new name of {one.old}, which is no longer logged."
        for one in run.renamed
    ]
    return [*counted, *renamed, *(f"{text}." for text in run.contradictions)]


def _failed(frame: Frame) -> tuple[CheckFailed, ...]:
    """Everything that raised an error: readers, checks of the diagnosis, and parts beyond it."""
    readers = (CheckFailed(f"reader of {Path(one.path).name}", one.broken) for one in frame.run.sources if one.broken)
    beyond = frame.insight.failed if frame.insight is not None else ()
    return tuple(dict.fromkeys((*readers, *frame.failed, *frame.diagnosis.checks_failed, *beyond)))


class _Span(Struct, frozen=True):
    """The rows of the run that the frame's series cover. `rows` counts training steps, `all_rows` also validation
    rows."""

    first_step: int | None
    last_step: int | None
    rows: int
    all_rows: int
    last_time: float | None
    cut: bool  # the run goes on behind it: the frame is one of the past


def _span(run: RunSnapshot, series: Mapping[str, Series]) -> _Span:
    filled, training = _by_rows(series.values(), run.names)
    if not filled:
        return _Span(None, None, 0, 0, None, False)
    start = min(int(s.rows[0]) for s in filled)
    end = max(int(s.rows[-1]) for s in filled) + 1
    newest = [float(s.times[-1]) for s in filled if int(s.rows[-1]) == end - 1 and s.times[-1] == s.times[-1]]
    return _Span(
        first_step=min(int(s.steps[0]) for s in filled),
        last_step=max(int(s.steps[-1]) for s in filled),
        rows=_distinct(training or filled, start, end),
        all_rows=end - start,
        last_time=newest[0] if newest else None,
        cut=run.cut,
    )


def _by_rows(series: Iterable[Series], names: Mapping[str, MetricName]) -> tuple[list[Series], list[Series]]:
    """One series for each group that is logged in the same rows: of all series with points, and of those that are not
    validation."""
    every: dict[int, Series] = {}
    training: dict[int, Series] = {}
    for one in series:
        rows = id(one.rows)  # alive as long as the series
        if rows in training or not len(one.rows):
            continue
        every.setdefault(rows, one)
        name = names.get(one.key)
        if name is None or name.group != "validation":
            training[rows] = one
    return list(every.values()), list(training.values())


def _distinct(series: list[Series], start: int, end: int) -> int:
    """The number of rows that hold any of the series."""
    if any(len(one) == end - start for one in series):
        return end - start
    seen = np.zeros(end - start, dtype=np.bool_)
    whole: list[tuple[int, int]] = []
    for one in sorted(series, key=len, reverse=True):
        first, last = int(one.rows[0]), int(one.rows[-1])
        if any(a <= first and last <= b for a, b in whole):
            continue
        if last - first + 1 == len(one):
            seen[first - start : last - start + 1] = True
            whole.append((first, last))
        else:
            seen[one.rows - start] = True
    return int(seen.sum())


def _as_of(run: RunSnapshot, span: _Span) -> float | None:
    if span.cut and span.last_time is not None:
        return span.last_time
    if run.as_of is not None or not run.followed:
        return run.as_of
    written = [source.mtime for source in run.sources if source.mtime is not None and source.used]
    return max(written, default=None)


def _iso(time: float | None) -> str | None:
    if time is None:
        return None
    try:
        return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return None  # a time stamp that no calendar holds


def _identity(run: RunSnapshot, span: _Span, frame: Frame) -> RunIdentity:
    state = stood(span.last_step) if span.cut and span.last_step is not None else run.state
    facts, now = frame.diagnosis.facts, frame.aged_at
    pace = facts.pace if facts is not None and state.state == "running" and not span.cut else None
    at = now if state.state in ("running", "stalled") and not span.cut else None
    return RunIdentity(
        id=run.id,
        path=run.path,
        framework=run.framework,
        algorithm=run.algorithm,
        state=state.state,
        steps=Steps(span.first_step, span.last_step, run.planned_steps, span.rows),
        restarts=tuple(s for s in run.restarts if span.last_step is not None and s <= span.last_step),
        sources=tuple(_source(source, at) for source in run.sources),
        rows_counted=run.counted,
        framework_version=run.framework_version,
        state_because=state.because,
        state_quote=state.quote,
        before_again="" if span.cut else run.before_again,
        error_after=state.error_after,
        broke_off=state.broke_off,
        told_at=state.told_at,
        eta_s=pace.left_s if pace is not None else None,
        last_row_time=span.last_time,
        attempts=run.attempts if not span.cut else (),
        silences=tuple(one for one in run.silences if span.last_step is not None and one.step <= span.last_step),
        ends=tuple(end for end in run.ended if span.last_step is not None and end.step <= span.last_step),
    )


def _source(source: SourceInfo, now: float | None) -> SourceUsed:
    skipped, note = sum(source.skipped.values()), _source_note(source, now)
    newest = _iso(source.newest)
    left_out = source.left_out()
    return SourceUsed(source.path, source.format, source.rows, skipped, note, source.used, newest, source.lag, left_out)


def _source_note(source: SourceInfo, now: float | None) -> str:
    """`now`: set if the run continues, so that the note says how old the newest row is."""
    at = None if now is None else on_our_clock(source.newest, source.mtime, now, source.zoned)
    age = "" if now is None or at is None else f"as of {duration(max(0.0, now - at))} ago"
    age = ": ".join(part for part in (age, source.lag) if part) if age and source.used else ""
    skipped = source.skipped_text()
    parts = [age, source.note, f"skipped: {skipped}" if skipped else "", "" if source.used else "not used"]
    return joined(parts)


def _metrics(frame: Frame, span: _Span, window: int | None, cache: SummaryCache) -> Mapping[str, MetricSummary]:
    names = frame.run.names
    out = frame.diagnosis.gaps
    series = {key: one for key, one in frame.series.items() if len(one.rows)}
    if out:
        known = {key: names[key].canonical if key in names else None for key in series}
        measured = {key: without(one, known[key], out) for key, one in series.items()}
        series = {key: one for key, one in measured.items() if len(one)}
    keys = cache.keys(names, series, frame.run.keys)
    return Summaries(keys, names, series, frame.series, span.all_rows, window, cache)


def _phases(table: PhaseTable) -> Phases:
    items = tuple(
        PhaseItem(item.name, item.key, item.seconds, item.share, item.expected, item.status) for item in table.items
    )
    return Phases(table.window_steps, table.overlapped, table.bottleneck, items, table.note, table.step_s)


def _rollouts(files: tuple[str, ...], samples: Samples) -> Rollouts:
    """Trainers write one dump a step and call it after the step: `200.jsonl`, `completions_00200.parquet`, W&B
    `completions_200_<hash>.table.json`. Samples that were printed into a log have no file of their own."""
    read = [*samples.stats.values(), *([samples.nameless] if samples.nameless is not None else [])]
    if not files:
        if read:
            note = f"printed in the log, and {sum(one.samples for one in read)} of them were read for the checks"
            return Rollouts("the training log", samples.steps, len(read), note)
        way = f". To keep samples: {samples.enable}" if samples.enable else ""
        where = f" ({samples.missing})" if samples.missing else ""
        note = f"none found{where}: a limit of the monitoring, no sign of health{way}"
        return Rollouts(None, (), 0, note)
    named = (re.match(r"(?:[^.]*?\D)?(\d{1,9})(?:_[0-9a-f]{8,})?\.", os.path.basename(path)) for path in files)
    steps = sorted({int(match[1]) for match in named if match})
    where = files[0] if len(files) == 1 else os.path.commonpath(files)
    seen = f"{len(read)} of {max(len(samples.steps), len(read))} steps" if read else "none"
    return Rollouts(where, tuple(steps), len(files), f"the count is of files, and {seen} were read for the checks")


def with_outlook(report: Report, insight: Insight | None) -> Report:
    """The report with what a whole report adds to its findings: an insight about the onset of the worst one."""
    return replace(
        report, outlook=_outlook(insight, report.findings), moved=insight.moved if insight is not None else ()
    )


def _outlook(told: Insight | None, findings: tuple[Finding, ...]) -> Outlook | None:
    if told is None:
        return None
    from rltui.diagnosis.insight import worst

    asked = worst(findings)
    moves = FirstMoves(asked.id if asked is not None else None, told.step, told.moves)
    return Outlook(
        kl_reward=told.case,
        worth=told.worth,
        forecasts=told.forecasts,
        first_moves=moves,
        invariants=told.invariants,
        rewards=told.rewards,
        constants=told.constants,
        slow=told.slow,
        waits=told.waits,
        shares=told.shares,
    )


def _notes(frame: Frame) -> tuple[str, ...]:
    """The run's last notable lines, and whether it was read to its end."""
    out = []
    if not frame.loading.done and frame.loading.total_bytes:
        share = 100 * frame.loading.done_bytes / frame.loading.total_bytes
        out.append(f"still reading: {share:.0f} % of {frame.loading.total_bytes / 1e6:.1f} MB")
    said = []
    for note in frame.notes:
        if note.kind in NOTED:
            at = f"step {note.step}" if note.step is not None else f"line {note.line}" if note.line else ""
            said.append(": ".join(part for part in (at, note.kind, note.text) if part))
    return (*out, *list(dict.fromkeys(said))[-NOTES_SHOWN:])  # two logs of one run tell the same


def _hardware(frame: Frame) -> Hardware:
    machine = frame.diagnosis.machine
    phases = _phase_uses(machine) if machine is not None else ()
    if not frame.hardware:
        recorded = "no GPU or host samples beside the log's own metrics" if not frame.live else "nothing sampled yet"
        return Hardware((), None, "none", recorded, phases)
    sample = frame.hardware[-1]
    now, host = newest(frame.hardware)
    use = machine.power_use if machine is not None else {}
    gpus = tuple(
        GpuNow(
            node=gpu.node,
            index=gpu.index,
            name=gpu.name,
            memory_used_gb=gpu.memory_used_gb,
            memory_total_gb=gpu.memory_total_gb,
            power_w=gpu.power_w,
            power_limit_w=gpu.power_limit_w,
            util=gpu.util,
            temp_c=gpu.temp_c,
            processes=len(gpu.processes) if sample.source == "live" else None,
            power_use=use.get((gpu.node, gpu.index)),
            sm_clock_mhz=gpu.sm_clock_mhz,
            sm_clock_max_mhz=gpu.sm_clock_max_mhz,
            throttle=gpu.throttle,
            ecc_uncorrected=gpu.ecc_uncorrected,
            xids=gpu.xids,
            lost=gpu.lost,
        )
        for gpu in now
    )
    first = now[0].node if now and sample.others else ""
    others = tuple(_host(other, node) for node, other in sample.others)
    own = None if host is None else _host(host, first)
    return Hardware(gpus, own, sample.source, sample.note, phases, others)


def _host(host: HostSample, node: str) -> HostNow:
    return HostNow(
        ram_used_gb=host.ram_used_gb,
        ram_total_gb=host.ram_total_gb,
        disk_free_gb=host.disk_free_gb,
        limited_by=host.limited_by,
        cpu=host.cpu,
        load1=host.load1,
        cpus=host.cpus,
        swap_used_gb=host.swap_used_gb,
        shm_used_gb=host.shm_used_gb,
        shm_total_gb=host.shm_total_gb,
        pressure_cpu=host.pressure_cpu,
        pressure_memory=host.pressure_memory,
        pressure_io=host.pressure_io,
        disks=tuple(DiskNow(d.what, d.path, d.free_gb, d.total_gb) for d in host.disks),
        node=node,
    )


def _phase_uses(machine: MachineView) -> tuple[PhaseUse, ...]:
    return tuple(
        PhaseUse(
            phase=p.phase,
            samples=p.samples,
            power_of_limit=p.of_limit,
            power_use=p.power,
            memory_floor_gb=p.memory_floor_gb,
            memory_high_gb=p.memory_high_gb,
            idle=tuple(f"{node} GPU {index}".strip() for node, index in p.idle),
            ahead=tuple(f"{node} GPU {index}".strip() for node, index in p.ahead),
            note=p.note,
        )
        for p in machine.phases
    )
