"""GPUs and host in full: each GPU's memory, power, use and temperature over the samples, its processes, the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rltui.plots.numbers import duration, number, size
from rltui.tui.panes import gpu as pane
from rltui.tui.rows import Row, cut, put, title, wrap
from rltui.tui.screens.text import Block, TextScreen

if TYPE_CHECKING:
    from rltui.hardware.base import GpuSample, HardwareSample

NAME = 12
NUMBERS = 18


class GpuScreen(TextScreen):
    """A block of rows a GPU, the host behind them; scrolls."""

    NAME = "gpu"
    HEAD = "GPU and host"

    def content(self, width: int) -> list[Block]:
        view = self.view
        found = pane.samples(view)
        report = view.report
        if report is None or not found:
            why = report.hardware.note if report else ""
            return [("", [[(f" {line}", "dim")] for line in wrap(why or "no samples", width - 2)])]
        span = duration(found[-1].time - found[0].time)
        where = "recorded by the run" if found[-1].source == "recorded" else "sampled here"
        blocks: list[Block] = [("", [[(f" {len(found)} samples over {span}, {where}", "dim")], []])]
        for now in found[-1].gpus:
            blocks.append((f"gpu {now.index} {now.node} {now.name}", self._gpu(found, now, width)))
        blocks.append(("host ram disk cpu load", self._host(found, width)))
        if report.hardware.note:
            blocks.append(("", [[(f" {line}", "dim")] for line in wrap(report.hardware.note, width - 2)]))
        return blocks

    def _gpu(self, found: tuple[HardwareSample, ...], now: GpuSample, width: int) -> list[Row]:
        name = (now.name or "").removeprefix("NVIDIA ")
        where = " · ".join(part for part in (now.node, name) if part)

        def of(read: Callable[[GpuSample], float | None]) -> list[tuple[float, float]]:
            out = []
            for sample in found:
                gpu = next((g for g in sample.gpus if (g.node, g.index) == (now.node, now.index)), None)
                value = read(gpu) if gpu is not None else None
                if value is not None:
                    out.append((sample.time, value))
            return out

        rows: list[Row] = [title(width, "", f"GPU {now.index}", [(where, "dim")])]
        rows.append(self._line("memory", of(lambda g: g.memory_used_gb), now.memory_total_gb, "GB", width))
        rows.append(self._line("power", of(lambda g: g.power_w), now.power_limit_w, "W", width))
        rows.append(self._line("use", of(lambda g: None if g.util is None else 100 * g.util), 100.0, "%", width))
        rows.append(self._line("temperature", of(lambda g: g.temp_c), None, "°C", width))
        for process in now.processes[:4]:
            text = f"{process.pid}  {process.user or ''}  {size(process.memory_gb)}  {process.command or ''}"
            rows.append([put(" process", NAME, "dim"), (cut(text, width - NAME - 2), "fg")])
        return [*[row for row in rows if row], []]

    def _host(self, found: tuple[HardwareSample, ...], width: int) -> list[Row]:
        hosts = [(s.time, s.host) for s in found if s.host is not None]
        if not hosts:
            return []
        now = hosts[-1][1]

        def of(field: str) -> list[tuple[float, float]]:
            return [(t, float(v)) for t, host in hosts if (v := getattr(host, field)) is not None]

        limit = f"limited by its {now.limited_by}" if now.limited_by else ""
        rows = [title(width, "", "Host", [(limit, "dim")] if limit else None)]
        rows.append(self._line("RAM", of("ram_used_gb"), now.ram_total_gb, "GB", width))
        rows.append(self._line("CPU", [(t, 100 * v) for t, v in of("cpu")], 100.0, "%", width))
        rows.append(self._line("load", of("load1"), None, f"/{now.cpus}" if now.cpus else "", width))
        rows.append(self._line("disk free", of("disk_free_gb"), now.disk_total_gb, "GB", width))
        return [row for row in rows if row]

    def _line(self, name: str, points: list[tuple[float, float]], limit: float | None, unit: str, width: int) -> Row:
        """`memory  ▂▂▃▅  71.2 of 80 GB`; nothing where nothing was sampled."""
        from rltui.plots.spark import sparkline

        if not points:
            return []
        bar_w = max(8, width - NAME - NUMBERS - 12)
        times, values = [t for t, _ in points], [v for _, v in points]
        bounds = (0.0, limit or max(values) or 1.0)
        text = sparkline(times, values, bar_w, times[0], max(times[-1], times[0] + 1), self.view.glyphs, bounds)
        of = f" of {number(limit)} {unit}" if limit and unit != "%" else f" {unit}"
        low_high = f"{number(min(values))}–{number(max(values))}"
        return [
            put(f" {name}", NAME, "dim"),
            (text, "ink"),
            put(number(values[-1]), 9, "fg", ">"),
            put(of, NUMBERS - 5, "dim"),
            (cut(low_high, 14), "dim"),
        ]
