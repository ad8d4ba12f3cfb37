"""The machine around the GPUs: memory that runs out, disks that fill up, and jobs beside the training."""

from __future__ import annotations

import numpy as np

from rltui.evidence.beside_rows import Measured, name
from rltui.evidence.forecast import disk_full, free_now, host_memory, saves
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import WINDOW, onset, trend
from rltui.hardware.base import HardwareSample, HostSample
from rltui.plots.numbers import percent
from rltui.prose import headed, sentence
from rltui.rules.base import Memory, Params, rule, since
from rltui.run.sums import median
from rltui.run.table import Series


def host_seen(seen: Measured) -> bool:
    """Whether the host was measured during the run."""
    return any(sample.host is not None for sample in seen.samples)


@rule("host-ram-creep", Measured, able=lambda seen: host_seen(seen) or seen.ram is not None)
def host_ram_creep(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """Memory near the limit at which Ray or the kernel kills processes, or on its way there."""
    series = seen.ram
    total = seen.host.ram_total_gb if seen.host is not None else None
    level, text = _fill(seen.host, p)
    said, began = [text] if level else [], None
    marks: tuple[Mark, ...] = ()
    if series is not None and trend(series.values).direction > 0:
        x = series.values[-WINDOW:]
        grown, ahead = trend(x).total, host_memory(seen, p["kill"])
        if grown > p["grown"] * (total or float(median(x[:10]))):
            level = max(level, NOTICE)
            said.append(f"grown by {num(grown)} GB in {len(x)} rows")
            began = int(series.steps[-WINDOW:][onset(x)])
            multiplied = total is None and grown > p["multiplied"] * float(median(x[:10]))
            marks = (Mark.COSTS,) if multiplied else ()  # the limit is unknown
            first, now = float(median(series.values[:10])), float(median(x[-10:]))
            if total is None and now > p["large_gb"] and now > (1.0 + p["leak"]) * first > 0.0:
                level = WARNING
                said.append(f"it is {num(now / first)} times what it began with, and no limit of it is known")
        if ahead is not None:
            level, began = max(level, WARNING), int(series.steps[-WINDOW:][onset(x)])
            said.append(ahead.text)
    if seen.host is not None and level and (largest := next(iter(seen.host.processes), None)) is not None:
        said.append(f"largest known process: {largest.role}, {num(largest.rss_gb)} GB")
    logged = series is not None and series is not seen.ram_sampled
    proofs = (("cpu_mem_used" if logged else "host.ram_used_gb", ""),)
    own = [Signal(level, headed("Host memory", said), proofs, onset_step=began, marks=marks)] if level else []
    return own + [
        Signal(level, f"Host memory of {node}: {text}.", subject=node)
        for node, host in seen.elsewhere
        for level, text in [_fill(host, p)]
        if level
    ]


def _fill(host: HostSample | None, p: Params) -> tuple[int, str]:
    """The severity of a host's memory use, and the use in words; (0, "") if it is not too high."""
    used, total = (host.ram_used_gb, host.ram_total_gb) if host is not None else (None, None)
    if not total or used is None or used / total <= p["warn"]:
        return 0, ""
    level = CRITICAL if used / total > p["critical"] else WARNING
    return level, f"{num(used)} of {num(total)} GB used ({percent(used / total)})"


@rule("disk-space-low", Measured, able=host_seen)
def disk_space_low(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """No free space at all, too little for two more checkpoints, or too little for those that the plan still writes."""
    left = free_now(seen)
    if left is None:
        return []
    total = seen.host.disk_total_gb if seen.host is not None else None
    if left < p["full_gb"] and (total is None or left < p["full_share"] * total):
        text = f"The disk is full: {num(left)} GB free. The next checkpoint, log line or spill fails."
        return [Signal(CRITICAL, text, _FREE, marks=(Mark.DISK_FULL,))]
    sizes, every, _ = saves(seen)
    if sizes:
        size = median(np.array(sizes))
        cleared = every is None and len(sizes) > 1  # an old one is deleted for each new one
        if left < p["mult"] * size:
            text = f"{num(left)} GB are free, and a checkpoint takes {num(size)} GB"
            text += ". Older ones are cleared away." if cleared else ": no room." if left < size else "."
            return [Signal(CRITICAL if left < size and not cleared else WARNING, text, _FREE)]
    ahead = disk_full(seen)
    if ahead is not None:
        return [Signal(NOTICE, sentence(ahead.text), _FREE)]
    if not sizes and total and left < p["share"] * total and left < p["free_gb"]:
        return [Signal(WARNING, f"{num(left)} GB free of {num(total)} GB on the disk of the run.", _FREE)]
    return []


_FREE = (("host.free_gb", ""),)


@rule("checkpoint-slow", Measured, able=lambda seen: bool(seen.saves))
def checkpoint_slow(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """Checkpoints that are written slowly and hold up the training."""
    if len(seen.saves) < p["saves"]:
        return []
    rows, seconds, sizes = (list(of) for of in zip(*seen.saves[-5:], strict=True))
    took, size = median(np.array(seconds)), median(np.array(sizes))
    speed = 1000.0 * size / took
    if took < p["long_s"] or speed >= p["mb_s"]:
        return []
    text = f"Checkpoints of {num(size)} GB take {num(took)} s: {num(speed)} MB/s"
    where = next((d for d in (seen.host.disks if seen.host is not None else ()) if "checkpoints" in d.what), None)
    text += f" to {where.path}" if where is not None else ""
    during = seen.seen.since(float(seen.ends[rows[-1]]) - seconds[-1]).until(float(seen.ends[rows[-1]])).samples
    waits = [s.host.pressure_io for s in during if s.host is not None and s.host.pressure_io is not None]
    if waits:
        text += f". Meanwhile tasks waited for io {percent(median(np.array(waits)))} of the time"
    level = WARNING if took > p["warn_s"] else NOTICE
    proofs = (("phase:save_checkpoint", ""),)
    slow = [took >= p["long_s"] and 1000.0 * size < p["mb_s"] * took for _, took, size in seen.saves]
    onset = int(seen.look.steps[seen.saves[since(np.array(slow))][0]])
    return [Signal(level, f"{text}.", proofs, subject="disk", onset_step=onset)]


@rule("background-interference", Measured, able=host_seen)
def background_interference(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """Jobs beside the training (a merger, an uploader, another user's job) and what they cost."""
    found = _beside(seen.newest, p["foreign_gb"])
    slower = _slower(seen, p)
    if not found:
        waits = _waiting(seen, p)
        return (
            [Signal(WARNING, f"{waits}, and {slower}.", _SLOWER, moved="time_per_step_s")] if waits and slower else []
        )
    text = f"{', '.join(found)} beside the training"
    more = _more_memory(seen, p)
    effects = [e for e in (slower, more) if e]
    proofs = (_SLOWER if slower else ()) + ((("host.ram_used_gb", ""),) if more else ())
    near = host_memory(seen, 1.0) if more else None
    level = CRITICAL if near is not None else WARNING if slower else NOTICE
    if near is not None:
        effects.append(near.text)
    return [Signal(level, headed(text, effects) if effects else f"{text}.", proofs, subject=None)]


_SLOWER = (("time_per_step_s", ""),)


def _beside(samples: tuple[HardwareSample, ...], least_gb: float) -> list[str]:
    """Which jobs run beside the training now, in words."""
    out: dict[str, None] = {}
    for node, host in (("", samples[-1].host), *samples[-1].others) if samples else ():
        for process in host.processes if host is not None else ():
            if process.aside:
                on = f" on {node}" if node else ""
                out[f"{process.role} (pid {process.pid}, {num(process.rss_gb)} GB){on}"] = None
    for gpu in samples[-1].gpus if samples else ():
        for p in gpu.processes:
            if p.ours is False and (p.memory_gb or 0.0) > least_gb:
                who = f" of {p.user}" if p.user else ""
                out[f"foreign process {p.pid}{who} with {num(p.memory_gb)} GB on {name((gpu.node, gpu.index))}"] = None
            elif p.zombie:
                out[f"zombie {p.pid} on {name((gpu.node, gpu.index))}"] = None
    return list(out)


def _flags(seen: Measured, least_gb: float) -> Series:
    """1 for each step during which another job ran, otherwise 0."""
    foreign = (seen.seen.gpu["foreign_gb"] > least_gb).any(axis=1)
    return seen.by_step(np.where(foreign, 1.0, np.nan_to_num(seen.seen.host["aside"])), "beside")


def _split(seen: Measured, series: Series, p: Params) -> tuple[float, float] | None:
    """Medians of a metric over the steps with another job and without. None if there are too few of either."""
    flags = _flags(seen, p["foreign_gb"])
    by_row = dict(zip(flags.rows.tolist(), flags.values.tolist(), strict=True))
    groups: dict[float, list[float]] = {0.0: [], 1.0: []}
    for row, value in zip(series.rows.tolist(), series.values.tolist(), strict=True):
        if row in by_row:
            groups[by_row[row]].append(value)
    if min(len(g) for g in groups.values()) < p["rows"]:
        return None
    return median(np.array(groups[1.0])), median(np.array(groups[0.0]))


def _slower(seen: Measured, p: Params) -> str:
    seconds = seen.look.series("time_per_step_s")
    pair = None if seconds is None else _split(seen, seconds, p)
    if pair is None or pair[1] <= 0 or pair[0] < p["slow"] * pair[1]:
        return ""
    return f"a step takes {num(pair[0])} s with it, {num(pair[1])} s without"


def _more_memory(seen: Measured, p: Params) -> str:
    pair = _split(seen, seen.ram_sampled, p)
    total = seen.host.ram_total_gb if seen.host is not None else None
    if pair is None or not total or pair[0] - pair[1] < 0.05 * total:
        return ""
    return f"host memory is at {num(pair[0])} GB with it, {num(pair[1])} GB without"


def _waiting(seen: Measured, p: Params) -> str:
    """What tasks wait for over the last minutes, if the system reports it."""
    hosts = [s.host for s in seen.newest if s.host is not None]
    for what in ("io", "memory"):
        shares = [v for h in hosts if (v := getattr(h, f"pressure_{what}")) is not None]
        if shares and median(np.array(shares)) > p["pressure"]:
            return f"tasks wait for {what} {percent(median(np.array(shares)))} of the time"
    loads = [h.load1 / h.cpus for h in hosts if h.load1 is not None and h.cpus]
    if loads and median(np.array(loads)) > p["load"]:
        return f"load is {num(median(np.array(loads)))} times the cores"
    return ""
