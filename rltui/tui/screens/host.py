"""The host, as blocks of the GPU screen: processes, memory, disks, what the run logs of its machines, forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import number, percent, size
from rltui.tui.panes.gpu import Span, marks, newest_gpus, newest_host, spark, whole
from rltui.tui.rows import Row, clip, put, title, wrap
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.hardware.base import GpuProcess, HostProcess
    from rltui.report.recording import Floats, SampleColumns
    from rltui.tui.screens.text import Block

NAME = 18
TAIL = 38
WIDE = 110
NODE_COLUMNS = {"swap GB": False, "shm GB": True, "CPU": False, "load": False, "memory": True, "io": True}
"""Columns for the hosts of the other nodes. True: also in a narrow terminal."""
SHOWN = 12
"""At most this many processes are listed. The others are counted."""
BELONGS = {True: "this run", False: "foreign", None: "unknown"}


def processes(view: View, seen: SampleColumns, width: int) -> list[Block]:
    """Processes that hold GPU memory or matter on the host, largest first, and whether they belong to this run."""
    if seen.samples[-1].source == "recorded":
        return []  # recorders write no processes
    told, gpus = newest_host(seen), newest_gpus(seen)
    home = gpus[0].node if gpus else ""  # `told` is the host of the first node
    hosts = [(home, told), *seen.samples[-1].others]
    roles = {(node, p.pid): p for node, host in hosts for p in (host.processes if host is not None else ())}
    held: dict[tuple[str, int], list[tuple[int, GpuProcess]]] = {}
    for gpu in gpus:
        for process in gpu.processes:
            held.setdefault((gpu.node, process.pid), []).append((gpu.index, process))
    several = len({gpu.node for gpu in gpus}) > 1 or len(hosts) > 1
    pids = sorted({*roles, *held}, key=lambda at: (-_gpu_gb(held.get(at, [])), -(_rss(roles.get(at)) or 0.0), at))
    head = title(width, "", "Processes", [(f"{len(pids)} that matter", "dim")])
    if not pids:
        return [("process", [head, [(" none found", "dim")], []])]
    names: Row = [put(" pid", 12, "dim"), put("user", 10, "dim"), put("is", 10, "dim"), put("role", 16, "dim")]
    names += [put("GPUs", 10, "dim"), put("GPU GB", 8, "dim", ">"), put("RAM GB", 8, "dim", ">"), ("  command", "dim")]
    blocks: list[Block] = [("process", [head, clip(names, width)])]
    for node, pid in pids[:SHOWN]:
        known, on = roles.get((node, pid)), held.get((node, pid), [])
        first = on[0][1] if on else None
        dead = any(p.zombie for _, p in on)
        whose = BELONGS[known.ours if known is not None and known.ours is not None else first.ours if first else None]
        role = known.role if known is not None else "zombie" if dead else ""
        command = (known.command if known is not None else None) or (first.command if first else None) or "not visible"
        row: Row = [
            (" ", "fg"),
            put(str(pid), 11),
            put(first.user or "" if first else "", 10, "dim"),
            put("zombie" if dead else whose, 10, "strong" if dead or whose == "foreign" else "dim"),
            put(role, 16),
            put(_gpus([index for index, _ in on]), 10, "dim"),
            put(number(_gpu_gb(on), missing="–") if on else "–", 8, "fg", ">"),
            put(number(_rss(known), missing="–"), 8, "fg", ">"),
            (f"  {node + '  ' if several else ''}{command}", "dim"),
        ]
        blocks.append((f"process {node} {pid} {role} {whose} {command}", [clip(row, width)]))
    more = len(pids) - SHOWN
    return [*blocks, ("", [*([[(f" and {more} more", "dim")]] if more > 0 else []), []])]


def _gpu_gb(held: list[tuple[int, GpuProcess]]) -> float:
    return sum(process.memory_gb or 0.0 for _, process in held)


def _rss(process: HostProcess | None) -> float | None:
    return process.rss_gb if process is not None else None


def _gpus(indices: list[int]) -> str:
    """`0–7`, `0,3`."""
    whole = len(indices) > 2 and indices == list(range(indices[0], indices[0] + len(indices)))
    return f"{indices[0]}–{indices[-1]}" if whole else ",".join(str(i) for i in indices)


def machine(view: View, seen: SampleColumns, width: int) -> list[Block]:
    """Memory, load, pressure and disks of the host, over the samples."""
    now = newest_host(seen)
    if now is None:
        return []
    over = whole(seen)
    limit = f"limited by its {now.limited_by}" if now.limited_by else ""
    rows: list[Row] = [title(width, "", "Host", [(limit, "dim")] if limit else None)]
    lines = _Lines(view, seen, over, width)
    rows += lines.of("RAM", "ram_used_gb", now.ram_total_gb, "GB")
    rows += lines.of("swap", "swap_used_gb", now.swap_total_gb, "GB") if now.swap_total_gb else []
    rows += lines.of("/dev/shm", "shm_used_gb", now.shm_total_gb, "GB")
    rows += lines.of("CPU", "cpu", 1.0, "%")
    rows += lines.of("load", "load1", float(now.cpus) if now.cpus else None, "cores")
    for what in ("cpu", "memory", "io"):
        rows += lines.of(f"waits for {what}", f"pressure_{what}", 1.0, "%")
    for disk in now.disks:
        of = f"of {size(disk.total_gb)} free" if disk.total_gb else "free"
        row: Row = [put(" disk", NAME, "dim"), put(size(disk.free_gb), 10, "fg", ">"), (f" {of}  ", "dim")]
        rows.append(clip([*row, (disk.what, "fg"), (f"  {disk.path}", "dim")], width))
    if not now.disks and now.disk_free_gb is not None:
        rows += lines.of("disk free", "disk_free_gb", now.disk_total_gb, "GB")
    blocks: list[Block] = [("host ram memory disk cpu load swap shm pressure", [*rows, []])]
    return [*blocks, *_others(view, seen, width)]


def _others(view: View, seen: SampleColumns, width: int) -> list[Block]:
    """A row for the host of each other node: its memory over the samples, and its values now."""
    others = seen.samples[-1].others
    if not others:
        return []
    columns = [name for name, is_needed in NODE_COLUMNS.items() if is_needed or width >= WIDE]
    over, bar = whole(seen), max(0, width - NAME - 18 - 8 * len(columns) - 12)
    marked = marks(view)
    head: Row = [put("   node", NAME + bar, "dim"), put("RAM GB", 18, "dim", ">")]
    head += [*[put(name, 8, "dim", ">") for name in columns], put("disk free", 12, "dim", ">")]
    about: Row = [("memory, io: share of the time that tasks wait for them", "dim")]
    blocks: list[Block] = [("host node", [title(width, "", "Other nodes", about), head])]
    for node, host in others:
        at = [(s.time, next((h.ram_used_gb for n, h in s.others if n == node), None)) for s in seen.samples]
        glyph, role = marked.get(node, (" ", "fg"))
        of = f" of {_short(host.ram_total_gb)}" if host.ram_total_gb else ""
        free = [d.free_gb for d in host.disks] or [host.disk_free_gb]
        now = {
            "swap GB": number(host.swap_used_gb, missing="n/a"),
            "shm GB": number(host.shm_used_gb, missing="n/a"),
            "CPU": percent(host.cpu, missing="n/a"),
            "load": number(host.load1, missing="n/a"),
            "memory": percent(host.pressure_memory, missing="n/a"),
            "io": percent(host.pressure_io, missing="n/a"),
        }
        row: Row = [(f" {glyph} ", role), put(node, NAME - 3)]
        row.append((_ram(view, at, over, bar, host.ram_total_gb), "ink"))
        row.append(put(f"{number(host.ram_used_gb, missing='n/a')}{of}", 18, role, ">"))
        row += [put(now[name], 8, "fg", ">") for name in columns]
        row.append(put(size(min((f for f in free if f is not None), default=None)), 12, "fg", ">"))
        blocks.append((f"host node {node} ram memory disk", [clip(row, width)]))
    return [*blocks, ("", [[]])]


def _ram(view: View, at: list[tuple[float, float | None]], over: Span, width: int, top: float | None) -> str:
    import numpy as np

    times, values = np.array(at, dtype=np.float64).T
    return spark(view, times, values, over, width, top)


class _Lines:
    """Rows such as `RAM  ▂▂▃▅  812 of 1007 GB   640–812`; no row if there is no value."""

    def __init__(self, view: View, seen: SampleColumns, over: Span, width: int) -> None:
        self._view, self._seen, self._over = view, seen, over
        self._bar = max(8, width - NAME - TAIL)

    def of(self, name: str, field: str, limit: float | None, unit: str) -> list[Row]:
        import numpy as np

        told = [getattr(s.host, field) if s.host is not None else None for s in self._seen.samples]
        values: Floats = np.array([np.nan if v is None else float(v) for v in told])
        known = values[np.isfinite(values)]
        if not len(known):
            return []
        cells = spark(self._view, self._seen.times, values, self._over, self._bar, limit)
        now, low, high = float(known[-1]), float(known.min()), float(known.max())
        if unit == "%":
            value, of, between = percent(now), "", f"{percent(low)[:-2]}–{percent(high)}"
        else:
            value, of = _short(now), f" of {_short(limit)} {unit}" if limit else f" {unit}"
            between = f"{_short(low)}–{_short(high)}"
        return [
            [
                put(f" {name}", NAME, "dim"),
                (cells, "ink"),
                put(value, 8, "fg", ">"),
                put(of, 15, "dim"),
                put(between, 15, "dim", ">"),
            ]
        ]


def _short(value: float) -> str:
    return number(value) if value else "0"


def logged(view: View, width: int) -> list[Block]:
    """What the trainer itself logs about its machines, over the steps."""
    from rltui.plots.spark import sparkline

    known = [name for name in (view.report.metrics if view.report else ()) if _is_memory(view, name)]
    bar_w = max(8, width - 32 - TAIL)
    first, last = view.axis()
    rows: list[Row] = []
    for name in known:
        series, metric = view.series(name), view.metric(name)
        if series is None or metric is None or not len(series):
            continue
        cells = sparkline(series.steps, series.values, bar_w, first, last, view.glyphs)
        between = f"{number(metric.min, missing='–')}–{number(metric.max, missing='–')}"
        row: Row = [put(f" {view.label(name)}", 32, "dim"), (cells, "ink")]
        row += [put(number(view.now_value(name), missing="–"), 8, "fg", ">"), put(f" {metric.unit}", 15, "dim")]
        rows.append([*row, put(between, 15, "dim", ">")])
    if not rows:
        return []
    head = title(width, "", "Logged by the run", [(f"steps {first} to {last}", "dim")])
    return [("logged memory", [head, *rows, []])]


def _is_memory(view: View, name: str) -> bool:
    metric = view.metric(name)
    return metric is not None and (metric.group == "memory" or metric.key.startswith(("ray/node", "system/")))


def ahead(view: View, width: int) -> list[Block]:
    """What will run out if the run goes on like this, when, with the error, and what would change that."""
    found = view.newest.machine if view.newest is not None else None
    if found is None or view.cursor is not None:
        return []
    head = title(width, "", "Runs out, if it goes on like this", [("middle 90 % in brackets", "dim")])
    if not found.forecasts:
        return [("runs out forecast", [head, [(" nothing, as far as is known", "dim")]])]
    blocks: list[Block] = [("runs out forecast", [head])]
    for one in sorted(found.forecasts, key=lambda f: f.at)[:SHOWN]:
        rows: list[Row] = [[(f" {line}", "fg")] for line in wrap(one.text[:1].upper() + one.text[1:], width - 2)]
        rows += [[(f"   {line}", "dim")] for line in wrap(f"changed by {one.would_change}", width - 4)]
        blocks.append((f"runs out forecast {one.text}", rows))
    return blocks
