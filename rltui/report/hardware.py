"""The machine in the report: the newest sample, and what the diagnosis worked out of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.hardware.base import HostSample, newest
from rltui.report.model import DiskNow, GpuNow, Hardware, HostNow, PhaseUse

if TYPE_CHECKING:
    from rltui.evidence.model import MachineView
    from rltui.session.frame import Frame


def hardware(frame: Frame) -> Hardware:
    machine = frame.diagnosis.machine
    phases = _phases(machine) if machine is not None else ()
    if not frame.hardware:
        recorded = "the run's own records hold no GPU or host samples" if not frame.live else "nothing sampled yet"
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


def _phases(machine: MachineView) -> tuple[PhaseUse, ...]:
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
