"""Pane 4: GPU memory and power over the last samples, the host below, and what will run out. The GPU screen uses the
functions on samples, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rltui.hardware.base import newest
from rltui.plots.glyphs import meter
from rltui.plots.numbers import number, size
from rltui.report.recording import sample_columns
from rltui.tui.panes.header import gpu_kind
from rltui.tui.rows import Row, cut, put, scrolled, title, wrap
from rltui.tui.view import GLYPH, ROLE, View

if TYPE_CHECKING:
    from rltui.hardware.base import GpuSample, HostSample
    from rltui.report.recording import Floats, SampleColumns


STEPS = 3
"""Steps that the power rows span."""


def sampled(view: View) -> SampleColumns:
    """Samples up to the time of the step cursor; all of them without a cursor, or if times are unknown."""
    seen = sample_columns(view.recording)
    frame = view.recording
    if frame is None or view.cursor is None:
        return seen
    times = [
        float(s.times[i])
        for s in frame.series.values()
        if len(s) and (i := int(s.steps.searchsorted(view.cursor, "right")) - 1) >= 0 and s.times[i] == s.times[i]
    ]
    return seen.until(max(times)) if times else seen


def newest_gpus(seen: SampleColumns) -> tuple[GpuSample, ...]:
    return newest(seen.samples)[0]


def newest_host(seen: SampleColumns) -> HostSample | None:
    return newest(seen.samples)[1]


class Span(Struct, frozen=True):
    """First and last time of the samples that are drawn, and a name for that span."""

    first: float
    last: float
    words: str


def span(view: View, seen: SampleColumns) -> Span:
    """The last three steps if their length is known, else all samples."""
    step = sum(item.seconds for item in view.report.phases.items) if view.report else 0.0
    if len(seen) and 0 < STEPS * step <= seen.times[-1] - seen.times[0]:
        end = float(seen.times[-1])
        return Span(end - STEPS * step, end, f"last {STEPS} steps")
    return whole(seen)


def whole(seen: SampleColumns) -> Span:
    """All samples."""
    from rltui.plots.numbers import duration

    if len(seen) < 2:
        return Span(0.0, 0.0, "")
    start, end = float(seen.times[0]), float(seen.times[-1])
    return Span(start, end, f"last {duration(end - start)}")


def spark(view: View, times: Floats, values: Floats, over: Span, width: int, top: float | None) -> str:
    """A sparkline over a span of time, from 0 to `top` (None: the highest value), the newest at the right."""
    import numpy as np

    from rltui.plots.spark import sparkline

    start = int(times.searchsorted(over.first))
    values = values[start:]
    known = values[np.isfinite(values)]
    if not len(known) or width <= 0:
        return " " * max(0, width)
    bounds = (0.0, top or float(known.max()) or 1.0)
    return sparkline(times[start:] - over.first, values, width, 0.0, over.last - over.first, view.glyphs, bounds)


def marks(view: View) -> dict[str, tuple[str, str]]:
    """Subject of an open finding (a GPU as `node GPU 3`) -> glyph and role of the worst one."""
    out: dict[str, tuple[str, str]] = {}
    for finding in view.open_findings():  # worst first
        if finding.subject and finding.severity != "info":
            out.setdefault(finding.subject, (GLYPH[finding.severity], ROLE[finding.severity]))
    return out


def subject(gpu: GpuSample) -> str:
    return f"{gpu.node} GPU {gpu.index}".strip()


def trouble(gpu: GpuSample) -> str:
    """What is wrong with a GPU, in words; empty if nothing is."""
    if gpu.lost:
        return "does not answer"
    said = []
    if gpu.xids:
        said.append("XID " + ", ".join(str(x) for x in dict.fromkeys(gpu.xids)))
    if gpu.ecc_uncorrected:
        said.append(f"{gpu.ecc_uncorrected} memory errors")
    if gpu.throttle:
        said.append("slowed: " + ", ".join(gpu.throttle))
    if any(p.zombie for p in gpu.processes):
        said.append("zombie")
    return " · ".join(said)


def remarks(gpu: GpuSample) -> str:
    """Other remarks: whether it is split into instances, and whether processes of others use it."""
    foreign = sum(p.ours is False and not p.zombie for p in gpu.processes)
    said = ["MIG"] if gpu.mig else []
    if foreign:
        said.append(f"{foreign} foreign process{'es' if foreign > 1 else ''}")
    return " · ".join(said)


MOST = 16
"""The pane asks for room for this many GPUs; the GPU screen has all."""


SLACK_S = 60.0
"""Samples within this many seconds after a run's newest row count as samples of the run."""


def of_another_time(view: View) -> bool:
    """Whether the run was over before the first sample, so that this machine's present state says nothing about it."""
    report, recording = view.report, view.recording
    if report is None or recording is None or not report.run.over:
        return False
    seen, as_of = sample_columns(recording), recording.run.as_of
    return not len(seen) or as_of is None or float(seen.times[0]) > as_of + SLACK_S


NOT_SAMPLED = "not sampled while it ran"


def needed(view: View) -> int:
    """Rows that the pane would like to have."""
    report = view.report
    if report is None or of_another_time(view):
        return 2
    host = report.hardware.host
    rows = 2 + min(MOST, len(report.hardware.gpus)) if report.hardware.gpus else 3
    if host is not None:
        rows += (host.ram_used_gb is not None) + (host.disk_free_gb is not None)
    return rows + bool(_ahead(view))


def draw(view: View, width: int, height: int, *, focus: bool, top: int = 0) -> list[Row]:
    report = view.report
    if report is None:
        return [title(width, "4", "GPU", None, focus)]
    seen = sampled(view)
    rows = [_heading(view, width, focus)]
    if height < 2:
        return rows
    if of_another_time(view):
        return [*rows, [(f"   {NOT_SAMPLED}, ", "dim"), ("4", "key"), (" shows this machine", "dim")]]
    hardware = report.hardware
    if height < 4 and (hardware.gpus or width >= 70):
        return [*rows, _one_line(view, width, seen)]
    if view.cursor is not None and hardware.gpus and not len(seen):
        return [*rows, [("   not sampled at that time", "dim")]]
    host: list[Row] = [*_host(view, width, seen), *_ahead(view, width)]
    gpus = newest_gpus(seen)
    if not gpus:
        lines = wrap(hardware.note or "no GPU samples", width - 4)[: max(1, height - 1 - len(host))]
        return [*rows, *[[(f"   {line}", "dim")] for line in lines], *host]
    bar_w = max(6, width - 29)
    totals = {round(g.memory_total_gb) for g in gpus if g.memory_total_gb}
    head = f"GB of {totals.pop()}" if len(totals) == 1 else "GB"
    over = span(view, seen)
    rows.append([(f"   {head:>9}   ", "dim"), put(f"power, {over.words}", bar_w, "dim"), (f"{'W':>7}{'°C':>6}", "dim")])
    marked = marks(view)
    body = [_gpu(view, seen, gpu, bar_w, marked.get(subject(gpu))) for gpu in gpus]
    room = max(1, height - len(rows) - len(host))
    if len(body) > room:
        body, _ = scrolled(body, room - 1, None, top)
        body.append(
            [put(f"   {len(gpus) - room + 1} more GPUs", width - 16, "dim"), ("4", "key"), (" shows them all", "dim")]
        )
    return [*rows, *body, *host][:height]


def _gpu(view: View, seen: SampleColumns, gpu: GpuSample, bar_w: int, mark: tuple[str, str] | None) -> Row:
    """`!0  71.2  ▂▂▇▇▂  226  58`. If something is wrong with the GPU, words replace the curve of its power."""
    glyph, role = mark or (" ", "fg")
    i = seen.gpus.index((gpu.node, gpu.index))
    words = trouble(gpu) if mark else ""
    cells = spark(view, seen.times, seen.gpu["power_w"][:, i], span(view, seen), bar_w, gpu.power_limit_w)
    return [
        (glyph, role),
        put(str(gpu.index), 3, "dim"),
        (f"{number(gpu.memory_used_gb, decimals=1, missing='–'):>8}", "fg"),
        ("   ", "fg"),
        put(words, bar_w, role) if words else (cells, "ink"),
        (f"{_whole(gpu.power_w):>7}{_whole(gpu.temp_c):>6}", "fg"),
    ]


def _whole(value: float | None) -> str:
    return number(value, decimals=0, missing="–")


def _heading(view: View, width: int, focus: bool) -> Row:
    report = view.report
    gpus = report.hardware.gpus if report else ()
    nodes = dict.fromkeys(gpu.node for gpu in gpus if gpu.node)
    where = [", ".join(nodes) if len(nodes) < 3 else f"{len(nodes)} nodes", gpu_kind(view)]
    recorded = "recorded" if report and report.hardware.source == "recorded" else ""
    text = " · ".join(part for part in [*where, recorded] if part)
    return title(width, "4", "GPU", [(text, "dim")] if text else None, focus)


def _host(view: View, width: int, seen: SampleColumns) -> list[Row]:
    host = newest_host(seen)
    if host is None:
        return []
    bar_w = max(6, width - 29)
    free, total = host.disk_free_gb, host.disk_total_gb
    rows: list[Row] = []
    if host.ram_used_gb is not None:
        share = host.ram_used_gb / host.ram_total_gb if host.ram_total_gb else None
        of = f"of {size(host.ram_total_gb)}" if host.ram_total_gb else ""
        rows.append(_meter(view, "RAM", size(host.ram_used_gb), share, bar_w, of))
    if free is not None:
        share = 1.0 - free / total if total else None
        rows.append(_meter(view, "disk", size(total - free if total else None), share, bar_w, f"{size(free)} free"))
    return rows


def _meter(view: View, name: str, used: str, share: float | None, bar_w: int, of: str) -> Row:
    filled, track = meter(share, bar_w, view.glyphs)
    used = put(used, 8, "fg", ">")[0]
    return [
        put(f" {name}", 5, "dim"),
        (f"{used} ", "fg"),
        (" ", "fg"),
        (filled, "ink"),
        (track, "rule"),
        put(of, 13, "dim", ">"),
    ]


def _ahead(view: View, width: int = 0) -> list[Row]:
    """The resource of the machine that will run out first, and when."""
    machine = view.newest.machine if view.newest is not None and view.cursor is None else None
    if machine is None or not machine.forecasts:
        return []
    first = min(machine.forecasts, key=lambda f: f.at)
    until = f"{first.low:.0f} to {first.high:.0f}" if first.high is not None else f"{first.low:.0f} or much later"
    text = f"{first.what} runs out at about step {first.at:.0f} ({until})"
    return [[(" ", "fg"), (cut(text, max(0, width - 1)), "fg")]]


def _one_line(view: View, width: int, seen: SampleColumns) -> Row:
    report = view.report
    if report is None:
        return []
    row: Row = [("   ", "fg")]
    gpus = newest_gpus(seen)
    if gpus:
        used = [g.memory_used_gb for g in gpus if g.memory_used_gb is not None]
        watts = [g.power_w for g in gpus if g.power_w is not None]
        total, limit = gpus[0].memory_total_gb, gpus[0].power_limit_w
        if used:
            of = f"/{total:.0f} GB   " if total else " GB   "
            row += [("memory ", "dim"), (number(max(used)), "fg"), (of, "dim")]
        if watts:
            i = seen.gpus.index((gpus[0].node, gpus[0].index))
            cell_w = 20 if width >= 76 else 8
            cells = spark(view, seen.times, seen.gpu["power_w"][:, i], span(view, seen), cell_w, limit)
            of = f"/{limit:.0f} W   " if limit else " W   "
            row += [("power ", "dim"), (cells, "ink"), (f" {sum(watts) / len(watts):.0f}", "fg"), (of, "dim")]
    else:
        why = (report.hardware.note or "no GPU samples").split(":")[0]  # the GPU screen has the full reason
        row.append((f"{cut(why, max(0, width - 30))}   ", "dim"))
    host = report.hardware.host
    if host and host.ram_used_gb is not None:
        of = f" of {size(host.ram_total_gb)}" if host.ram_total_gb else ""
        row += [("RAM ", "dim"), (size(host.ram_used_gb), "fg"), (of, "dim")]
    return row
