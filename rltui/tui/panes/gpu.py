"""Pane 4: GPU memory and power over the last samples, the host below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.meter import meter
from rltui.plots.numbers import duration, number, size
from rltui.tui.panes.header import gpu_kind
from rltui.tui.rows import Row, put, scrolled, title, wrap
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.hardware.base import GpuSample, HardwareSample
    from rltui.report.model import GpuNow

STEPS = 3
"""Steps that the power rows span."""


def needed(view: View) -> int:
    """Rows that the pane would like to have."""
    report = view.report
    if report is None:
        return 2
    host = report.hardware.host
    rows = 2 + len(report.hardware.gpus) if report.hardware.gpus else 3
    if host is not None:
        rows += (host.ram_used_gb is not None) + (host.disk_free_gb is not None)
    return rows


def samples(view: View) -> tuple[HardwareSample, ...]:
    """Samples up to the step cursor's time; all of them without a cursor or where times are unknown."""
    frame = view.frame
    if frame is None:
        return ()
    if view.cursor is None:
        return frame.hardware
    times = [
        float(s.times[i])
        for s in frame.series.values()
        if len(s) and (i := int(s.steps.searchsorted(view.cursor, "right")) - 1) >= 0 and s.times[i] == s.times[i]
    ]
    if not times:
        return frame.hardware
    end = max(times)
    return tuple(sample for sample in frame.hardware if sample.time <= end)


def _find(sample: HardwareSample, node: str, index: int) -> GpuSample | None:
    return next((g for g in sample.gpus if g.node == node and g.index == index), None)


def window(view: View, found: tuple[HardwareSample, ...]) -> tuple[float, float, str]:
    """(from, to, in words) of the power rows: the last three steps where their length is known, else all samples."""
    if len(found) < 2:
        return 0.0, 0.0, "power"
    end, start = found[-1].time, found[0].time
    step = sum(item.seconds for item in view.report.phases.items) if view.report else 0.0
    if step > 0 and STEPS * step <= end - start:
        return end - STEPS * step, end, f"power, last {STEPS} steps"
    return start, end, f"power, last {duration(end - start)}"


def power(view: View, found: tuple[HardwareSample, ...], gpu: GpuNow, width: int) -> str:
    """Power over the window of time that all rows share, from 0 to the limit, newest at the right."""
    from rltui.plots.spark import sparkline

    points = [(s.time, g.power_w) for s in found if (g := _find(s, gpu.node, gpu.index)) and g.power_w is not None]
    if not points:
        return " " * width
    first, last, _ = window(view, found)
    times, watts = [t - first for t, _ in points], [w for _, w in points]
    start = next((i for i, t in enumerate(times) if t >= 0), 0)
    bounds = (0.0, gpu.power_limit_w or max(watts))
    return sparkline(times[start:], watts[start:], width, 0.0, last - first, view.glyphs, bounds)


def _heading(view: View, width: int, focus: bool) -> Row:
    report = view.report
    gpus = report.hardware.gpus if report else ()
    nodes = dict.fromkeys(gpu.node for gpu in gpus if gpu.node)
    where = [", ".join(nodes) if len(nodes) < 3 else f"{len(nodes)} nodes", gpu_kind(view)]
    recorded = "recorded" if report and report.hardware.source == "recorded" else ""
    text = " · ".join(part for part in [*where, recorded] if part)
    return title(width, "4", "GPU", [(text, "dim")] if text else None, focus)


def _memory(gb: float | None) -> str:
    return number(gb, decimals=1, missing="–")


def draw(view: View, width: int, height: int, *, focus: bool, top: int = 0) -> list[Row]:
    report = view.report
    if report is None:
        return [title(width, "4", "GPU", None, focus)]
    found = samples(view)
    rows = [_heading(view, width, focus)]
    if height < 2:
        return rows
    hardware = report.hardware
    if height < 4 and (hardware.gpus or width >= 70):
        return [*rows, _one_line(view, width, found)]
    if view.cursor is not None and hardware.gpus and not found:
        return [*rows, [("   not sampled at that time", "dim")]]
    host: list[Row] = _host(view, width)
    if not hardware.gpus:
        why = hardware.note or "no GPU samples"
        return [
            *rows,
            *[[(f"   {line}", "dim")] for line in wrap(why, width - 4)[: max(1, height - 1 - len(host))]],
            *host,
        ]
    bar_w = max(6, width - 29)
    totals = {round(g.memory_total_gb) for g in hardware.gpus if g.memory_total_gb}
    head = f"GB of {totals.pop()}" if len(totals) == 1 else "GB"
    over = window(view, found)[2]
    rows.append([(f"   {head:>9}   ", "dim"), put(over, bar_w, "dim"), (f"{'W':>7}{'°C':>6}", "dim")])
    at_cursor = found[-1] if view.cursor is not None and found else None
    body: list[Row] = []
    for gpu in hardware.gpus:
        now: GpuSample | None = _find(at_cursor, gpu.node, gpu.index) if at_cursor else None
        used, watts, temp = (
            (now.memory_used_gb, now.power_w, now.temp_c) if now else (gpu.memory_used_gb, gpu.power_w, gpu.temp_c)
        )
        cells = power(view, found, gpu, bar_w)
        numbers = f"{number(watts, decimals=0, missing='–'):>7}{number(temp, decimals=0, missing='–'):>6}"
        body.append(
            [
                put(f" {gpu.index}", 4, "dim"),
                (f"{_memory(used):>8}", "fg"),
                ("   ", "fg"),
                (cells, "ink"),
                (numbers, "fg"),
            ]
        )
    room = height - len(rows) - len(host)
    body, _ = scrolled(body, max(1, room), None, top)
    return [*rows, *body, *host][:height]


def _host(view: View, width: int) -> list[Row]:
    host = view.report.hardware.host if view.report else None
    if host is None:
        return []
    bar_w = max(6, width - 29)
    rows: list[Row] = []
    if host.ram_used_gb is not None:
        share = host.ram_used_gb / host.ram_total_gb if host.ram_total_gb else None
        filled, track = meter(share, bar_w, view.glyphs)
        of = f"of {number(host.ram_total_gb)} GB" if host.ram_total_gb else "GB"
        rows.append(
            [
                (" RAM", "dim"),
                (f"{number(host.ram_used_gb):>8}", "fg"),
                ("   ", "fg"),
                (filled, "ink"),
                (track, "rule"),
                put(of, 13, "dim", ">"),
            ]
        )
    if host.disk_free_gb is not None:
        rows.append(
            [(" disk", "dim"), (f"{size(host.disk_free_gb):>10} ", "fg"), ("free in the run's directory", "dim")]
        )
    return rows


def _one_line(view: View, width: int, found: tuple[HardwareSample, ...]) -> Row:
    report = view.report
    if report is None:
        return []
    hardware, row = report.hardware, [("   ", "fg")]
    gpus = hardware.gpus
    if gpus:
        used = [g.memory_used_gb for g in gpus if g.memory_used_gb is not None]
        watts = [g.power_w for g in gpus if g.power_w is not None]
        if used:
            total = gpus[0].memory_total_gb
            row += [
                ("memory ", "dim"),
                (number(max(used)), "fg"),
                (f"/{total:.0f} GB   " if total else " GB   ", "dim"),
            ]
        if watts:
            limit = gpus[0].power_limit_w
            cells = power(view, found, gpus[0], 20 if width >= 76 else 8)
            mean = sum(watts) / len(watts)
            row += [
                ("power ", "dim"),
                (cells, "ink"),
                (f" {mean:.0f}", "fg"),
                (f"/{limit:.0f} W   " if limit else " W   ", "dim"),
            ]
    else:
        row.append(put(f"{hardware.note or 'no GPU samples'}   ", min(48, max(0, width - 28)), "dim"))
    host = hardware.host
    if host and host.ram_used_gb is not None:
        row += [
            ("RAM ", "dim"),
            (number(host.ram_used_gb), "fg"),
            (f"/{number(host.ram_total_gb)} GB" if host.ram_total_gb else " GB", "dim"),
        ]
    return row
