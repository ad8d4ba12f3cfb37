"""Section 7 of the Markdown report, the machines: each GPU, what they did by phase, the host."""

from __future__ import annotations

from rltui.plots.numbers import NOT_AVAILABLE, number, percent, size
from rltui.report.escape import plain, table
from rltui.report.model import GpuNow, HostNow, PhaseUse, Report


def hardware(report: Report) -> list[str]:
    found = report.hardware
    if found.source == "none":
        return [f"Hardware: {plain(found.note) or 'not sampled'}."]
    rows = [
        [
            plain(f"{gpu.node} {gpu.index}".strip()),
            plain(gpu.name or NOT_AVAILABLE),
            _of(size(gpu.memory_used_gb), size(gpu.memory_total_gb)),
            _of(_watts(gpu.power_w), _watts(gpu.power_limit_w)),
            percent(gpu.power_use, missing=NOT_AVAILABLE),
            percent(gpu.util, missing=NOT_AVAILABLE),
            f"{number(gpu.temp_c, decimals=0)} °C" if gpu.temp_c is not None else NOT_AVAILABLE,
            plain(_trouble(gpu)),
        ]
        for gpu in found.gpus
    ]
    lines = [f"Hardware ({found.source}{', ' + plain(found.note) if found.note else ''}):"]
    if rows:
        heads = ["GPU", "name", "memory", "power", "use by power", "SM", "temperature", "trouble"]
        keep = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
        lines += ["", *table(heads[:keep], [row[:keep] for row in rows], "llrrrrrl"[:keep])]
    else:
        lines[0] += " no GPU samples."
    hosts = [host for host in (found.host, *found.others) if host is not None]
    return [*lines, *_phases(found.phases), *(line for host in hosts for line in _host(host))]


def _trouble(gpu: GpuNow) -> str:
    said = ["does not answer"] if gpu.lost else []
    said += [f"XID {', '.join(str(x) for x in dict.fromkeys(gpu.xids))}"] if gpu.xids else []
    said += [f"{gpu.ecc_uncorrected} memory errors"] if gpu.ecc_uncorrected else []
    return "; ".join([*said, *([f"slowed: {', '.join(gpu.throttle)}"] if gpu.throttle else [])])


def _phases(phases: tuple[PhaseUse, ...]) -> list[str]:
    if not phases:
        return []
    rows = []
    for p in phases:
        said = [p.note] if p.note else []
        said += [f"idle: {', '.join(p.idle)}"] if p.idle else []
        said += [f"the others wait for {', '.join(p.ahead)}"] if p.ahead else []
        memory = f"{size(p.memory_floor_gb)} to {size(p.memory_high_gb)}" if p.memory_high_gb is not None else ""
        power, use = (percent(v, missing=NOT_AVAILABLE) for v in (p.power_of_limit, p.power_use))
        rows.append([plain(p.phase), power, use, memory or NOT_AVAILABLE, plain("; ".join(said))])
    head = "GPUs by phase of a step (medians; power as a share of its limit; memory of the fullest GPU, least to most):"
    return ["", head, "", *table(["phase", "power", "use by power", "memory", "note"], rows, "lrrrl")]


def _host(host: HostNow) -> list[str]:
    memory = _of(size(host.ram_used_gb), size(host.ram_total_gb))
    limited = f" (limited by its {host.limited_by})" if host.limited_by else ""
    said = [
        f"Host memory{f' of {plain(host.node)}' if host.node else ''} {memory}{limited}",
        f"disk left {size(host.disk_free_gb)}",
    ]
    said += [f"{plain(d.what)} {size(d.free_gb)} of {size(d.total_gb)} free" for d in host.disks]
    if host.load1 is not None:
        said.append(f"load {number(host.load1)}" + (f" on {host.cpus} cores" if host.cpus else ""))
    for what, share in (("CPU", host.pressure_cpu), ("memory", host.pressure_memory), ("io", host.pressure_io)):
        said += [f"tasks wait for {what} {percent(share)} of the time"] if share and share >= 0.01 else []
    return ["", f"{', '.join(said)}."]


def _of(used: str, total: str) -> str:
    return used if total == NOT_AVAILABLE else f"{used} of {total}"


def _watts(value: float | None) -> str:
    return f"{number(value, decimals=0)} W" if value is not None else NOT_AVAILABLE
