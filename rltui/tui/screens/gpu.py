"""GPUs and host in full: every GPU over the samples, power and memory of each phase, processes, host, forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import duration, number, percent
from rltui.prose import joined
from rltui.tui.panes.gpu import Span, marks, newest_gpus, remarks, sampled, span, spark, subject, trouble, whole
from rltui.tui.rows import Row, clip, put, title, wrap
from rltui.tui.screens import host
from rltui.tui.screens.text import Block, TextScreen

if TYPE_CHECKING:
    from rltui.hardware.base import GpuSample
    from rltui.report.recording import PhaseHardware, SampleColumns

WIDE, NARROW = 120, 70
NOTE = "use: power above idle, as a share of the limit above idle. SM only says that some kernel ran."


class GpuScreen(TextScreen):
    """Blocks that scroll: a row for each GPU, by node, then what they did in each phase, and the host."""

    NAME = "gpu"
    HEAD = "GPU and host"

    def content(self, width: int) -> list[Block]:
        view = self.view
        seen = sampled(view)
        report = view.report
        blocks: list[Block] = []
        if len(seen):
            blocks += [*self._gpus(seen, width), *self._phases(width)]
            blocks += [*host.processes(view, seen, width), *host.machine(view, seen, width)]
        else:
            why = report.hardware.note if report else ""
            blocks.append(("", [[(f" {line}", "dim")] for line in wrap(why or "no samples", width - 2)]))
        return [*blocks, *host.logged(view, width), *host.ahead(view, width)]

    def _gpus(self, seen: SampleColumns, width: int) -> list[Block]:
        gpus = newest_gpus(seen)
        note = self.view.report.hardware.note if self.view.report else ""
        noted: list[Row] = [[(f" {line}", "dim")] for line in wrap(note, width - 2)]
        took = duration(float(seen.times[-1] - seen.times[0]))
        how = "recorded by the run" if seen.samples[-1].source == "recorded" else "sampled"
        told: Row = [(f" {len(seen)} samples over {took}, {how}", "dim")]
        if not gpus:
            return [("gpu", [told, *noted, []])]
        table = _Columns(width, span(self.view, seen), whole(seen))
        blocks: list[Block] = [("", [told, *noted, [], table.head()])]
        marked, use, at = marks(self.view), self._use(), {gpu: i for i, gpu in enumerate(seen.gpus)}
        nodes = list(dict.fromkeys(g.node for g in gpus))
        for node in nodes:
            here = [g for g in gpus if g.node == node]
            names = dict.fromkeys((g.name or "").removeprefix("NVIDIA ") for g in here)
            what = ", ".join(f"{sum((g.name or '').endswith(n) for g in here)} × {n}" for n in names if n)
            blocks.append((f"gpu {node}", [[(f" {node or 'GPUs'}", "strong"), (f"  {what}", "dim")]]))
            for g in here:
                i = at[g.node, g.index]
                row = table.row(self, seen, g, i, use.get((g.node, g.index)), marked.get(subject(g)))
                blocks.append((f"gpu {g.index} {node} {g.name} {trouble(g)} {remarks(g)}", [row]))
        return [*blocks, ("", [[(f" {line}", "dim")] for line in wrap(NOTE, width - 2)] + [[]])]

    def _use(self) -> dict[tuple[str, int], float]:
        machine = self.view.newest.machine if self.view.newest is not None else None
        return dict(machine.power_use) if machine is not None and self.view.cursor is None else {}

    def _phases(self, width: int) -> list[Block]:
        """What the GPUs did in each phase of the newest steps."""
        machine = self.view.newest.machine if self.view.newest is not None else None
        head: Row = title(width, "3", "By phase of a step", [("medians of all GPUs, the last 50 steps", "dim")])
        if machine is None or not machine.phases:
            why = "no samples yet of a step with timed phases and a known end"
            return [("phase", [head, [(f" {why}", "dim")], []])]
        names: Row = [put("", 3), put("phase", 18, "dim"), put("power", 8, "dim", ">"), put("use", 8, "dim", ">")]
        names += [put("memory GB, floor–high", 24, "dim", ">"), put("samples", 10, "dim", ">")]
        blocks: list[Block] = [("phase", [head, clip(names, width)])]
        for phase in machine.phases:
            memory = f"{_gb(phase.memory_floor_gb)}–{_gb(phase.memory_high_gb)}"
            row: Row = [
                put("", 3),
                put(phase.phase, 18),
                put(percent(phase.of_limit, missing="n/a"), 8, "fg", ">"),
                put(percent(phase.power, missing="n/a"), 8, "fg", ">"),
                put(memory if phase.memory_high_gb is not None else "n/a", 24, "fg", ">"),
                put(str(phase.samples), 10, "dim", ">"),
            ]
            said = _said(phase)
            lines = wrap(said, max(20, width - 22))
            rows = [clip(row, width), *[[(" " * 21, "fg"), (line, "dim")] for line in lines]]
            blocks.append((f"phase {phase.phase} {said}", rows))
        return [*blocks, ("", [[]])]


def _gb(value: float | None) -> str:
    return number(value, decimals=1, missing="–")


def _said(phase: PhaseHardware) -> str:
    """Which GPUs wait, which GPUs the others wait for, and what is usual."""
    said = []
    if phase.ahead:
        said.append(f"{_names(phase.ahead)} still works while the others wait")
    if phase.idle:
        said.append(f"{_names(phase.idle)} draws far less power than the others")
    return joined([*said, phase.note])


def _names(gpus: tuple[tuple[str, int], ...]) -> str:
    shown = [f"{node} GPU {index}".strip() for node, index in gpus[:4]]
    return ", ".join(shown) + (f" and {len(gpus) - 4} more" if len(gpus) > 4 else "")


class _Columns:
    """The columns of the table of GPUs that fit into the width."""

    def __init__(self, width: int, recent: Span, history: Span) -> None:
        self._recent, self._history = recent, history
        self.wide, self.narrow = width >= WIDE, width < NARROW
        self.words = 30 if self.wide else 14 if self.narrow else 17
        rest = width - 3 - 7 - 2 - 6 - 7 - 6 - 2 - self.words - (0 if self.narrow else 7)
        rest -= 9 + 6 + 2 if self.wide else 0
        self.memory = rest * 2 // 5 if self.wide else 0
        self.power = rest - self.memory

    def head(self) -> Row:
        row: Row = [put(" GPU", 5, "dim"), put("GB", 5, "dim", ">"), ("  ", "fg")]
        if self.wide:
            row += [put(f"memory, {self._history.words}", self.memory, "dim"), put("high", 6, "dim", ">"), ("  ", "fg")]
        row += [
            put(f"power, {self._recent.words}", self.power, "dim"),
            put("W", 6, "dim", ">"),
            put("use", 7, "dim", ">"),
        ]
        row += [] if self.narrow else [put("SM", 7, "dim", ">")]
        return [*row, *([put("MHz", 9, "dim", ">")] if self.wide else []), put("°C", 6, "dim", ">")]

    def row(
        self,
        screen: GpuScreen,
        seen: SampleColumns,
        gpu: GpuSample,
        i: int,
        use: float | None,
        mark: tuple[str, str] | None,
    ) -> Row:
        view = screen.view
        glyph, role = mark or (" ", "fg")
        used, watts = seen.gpu["memory_used_gb"][:, i], seen.gpu["power_w"][:, i]
        row: Row = [
            (f" {glyph}", role),
            put(str(gpu.index), 3),
            put(_gb(gpu.memory_used_gb), 5, "fg", ">"),
            ("  ", "fg"),
        ]
        if self.wide:
            known = used[used == used]
            high = _gb(float(known.max()) if len(known) else None)
            row += [(spark(view, seen.times, used, self._history, self.memory, gpu.memory_total_gb), "ink")]
            row += [put(high, 6, "dim", ">"), ("  ", "fg")]
        row += [
            (spark(view, seen.times, watts, self._recent, self.power, gpu.power_limit_w), "ink"),
            put(number(gpu.power_w, decimals=0, missing="n/a"), 6, "fg", ">"),
            put(percent(use, missing="–"), 7, "fg", ">"),
            *([] if self.narrow else [put(percent(gpu.util, missing="n/a"), 7, "dim", ">")]),
        ]
        if self.wide:
            row.append(put(number(gpu.sm_clock_mhz, decimals=0, missing="n/a"), 9, "dim", ">"))
        row += [put(number(gpu.temp_c, decimals=0, missing="n/a"), 6, "fg", ">"), ("  ", "fg")]
        words = " · ".join(part for part in (trouble(gpu), remarks(gpu)) if part)
        return [*row, put(words, self.words, role if mark else "dim")]
