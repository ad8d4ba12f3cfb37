"""GPUs: memory that runs out, faults, heat, one that falls behind, and all GPUs idle while the log shows training."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rltui.evidence.beside_rows import GIB, Measured, name
from rltui.evidence.forecast import capacity, drift, gpu_memory
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import WINDOW, first_turn, theil_sen, trend
from rltui.frameworks.load import phases
from rltui.hardware.base import Gpu, GpuSample
from rltui.hardware.processes import role_of
from rltui.plots.numbers import percent
from rltui.prose import headed, listed
from rltui.rules.base import Memory, Params, rule
from rltui.run.sums import median
from rltui.run.table import Series


def gpus_seen(seen: Measured) -> bool:
    """Whether GPUs were measured during the run."""
    return any(sample.gpus for sample in seen.samples)


FATAL_XIDS = {
    48: "double-bit memory error",
    63: "memory page retired",
    64: "memory page could not be retired",
    79: "fell off the bus",
    94: "contained memory error",
    95: "uncontained memory error",
}
"""Errors after which a GPU cannot be trusted (docs.nvidia.com/deploy/xid-errors)."""
SLOWING = ("thermal", "thermal (hardware)", "hardware slowdown", "power brake")


MOST_POINTS = 400
"""Points of a whole run in which the beginning of a growth is looked for."""
MANY = 3
"""Up to this many GPUs get a finding each; if more have the same fault, they share one."""


@rule("gpu-memory-pressure", Measured, able=lambda seen: gpus_seen(seen) or seen.logged_peak is not None)
def gpu_memory_pressure(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """A peak near the GPU's total memory, or a floor that rises from step to step: memory that phases do not free."""
    out = []
    for gpu in seen.gpus:
        total = capacity(seen, gpu)
        used = [g.memory_used_gb for g in seen.of_gpu(gpu) if g.memory_used_gb is not None]
        if total is None or not used:
            continue
        share, level, said = max(used) / total, 0, []
        if share > p["notice"]:
            level = WARNING if share > p["warn"] else NOTICE
            said.append(f"{num(max(used))} of {num(total)} GB ({percent(share)}) at its peak")
        per_50, began = _creep(seen.gpu_memory(gpu, least=True), p["creep_rows"], p["creep_gb"])
        if per_50 > p["creep_gb"]:
            level = WARNING
            said.append(f"what stays between the phases grows by {num(per_50)} GB in {num(p['creep_rows'])} steps")
        ahead = gpu_memory(seen, gpu)
        if ahead is not None and ahead.at - seen.look.step <= p["horizon"]:
            level = WARNING
            said.append(ahead.text)
        if level:
            text = headed(name(gpu), said)
            out.append(Signal(level, text, _memory(gpu), subject=name(gpu), onset_step=began))
    return [*_together(out, seen), *_logged_peak(seen, p)]


def _together(found: list[Signal], seen: Measured) -> list[Signal]:
    """One finding for each GPU. If more than `MANY` have it, one for all of them, described by the worst."""
    if len(found) <= MANY:
        return found
    worst = max(found, key=lambda s: s.level)
    began = min((s.onset_step for s in found if s.onset_step is not None), default=None)
    text = f"{len(found)} of {len(seen.gpus)} GPUs, of them {worst.said}"
    return [replace(worst, summary=text, subject=None, onset_step=began)]


def _logged_peak(seen: Measured, p: Params) -> list[Signal]:
    """The peak that the trainer logs, used if no GPU was sampled: torch's counters, without the inference engine. The
    peak never falls, so it is informative only near the limit or if it keeps rising."""
    peak = seen.logged_peak
    if peak is None or seen.gpus or not len(peak):
        return []
    now, level, said = float(peak.values[-1]), 0, []  # shown as logged, in GiB
    marks: tuple[Mark, ...] = ()
    total = seen.capacity_gb / GIB if seen.capacity_gb is not None else None
    if total is not None and now / total > p["notice"]:
        level = WARNING if now / total > p["warn"] else NOTICE
        said.append(f"is {num(now)} of {num(total)} GiB ({percent(now / total)})")
    rise, began = _creep(peak, p["creep_rows"], p["creep_gb"])
    late = peak.values[len(peak) // 2 :]
    if rise * GIB > p["creep_gb"] and late[-1] > late[0]:
        level = max(level, NOTICE)
        said.append(f"still grows, by {num(rise)} GiB in {num(p['creep_rows'])} steps, to {num(now)} GiB")
        if began is not None and now >= p["costs"] * peak.values[peak.steps.searchsorted(began)]:
            marks = (Mark.COSTS,)
    proofs = ((peak.key, ""),)
    text = f"The peak of GPU memory that the trainer logs {' and '.join(said)}."
    return [Signal(level, text, proofs, subject="logged peak", onset_step=began, marks=marks)] if level else []


def _memory(gpu: Gpu) -> tuple[tuple[str, str], ...]:
    return ((f"gpu.memory_used_gb@{name(gpu)}", ""),)


def _creep(floor: Series, rows: float, least: float) -> tuple[float, int | None]:
    """How much the floor grows in `rows` steps, and the step at which the growth began. 0 without a trend, or if a
    cheap test shows that the growth cannot be `least`."""
    steps = float(floor.steps[-1] - floor.steps[-WINDOW:][0]) if len(floor) else 0.0
    if drift(floor) < 0.25 * least * steps / rows or trend(floor.values).direction <= 0:
        return 0.0, None
    x, t = floor.values[-WINDOW:], floor.steps[-WINDOW:].astype(np.float64)
    return theil_sen(t, x)[0] * rows, _began(floor)


def _began(floor: Series) -> int:
    """The step at which a growth that still goes on began, from the whole run: from the newest rows alone, the date
    would move with each row."""
    apart = -(-len(floor) // MOST_POINTS)
    return int(floor.steps[::apart][first_turn(floor.values[::apart])[0]])


@rule("gpu-fault-or-throttle", Measured, able=gpus_seen)
def gpu_fault_or_throttle(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """Errors, heat, and a GPU that does less than its peers at the same work."""
    faulty: list[Signal] = []
    slowed: list[Signal] = []
    for gpu in seen.gpus:
        samples = seen.of_gpu(gpu)
        fault = _fault(gpu, samples, seen)
        found = fault or _throttled(samples[-int(p["samples"]) :], p)
        if found is not None:
            signal = Signal(found[0], f"{name(gpu)}: {found[1]}.", _power(gpu), subject=name(gpu))
            (faulty if fault else slowed).append(signal)
    told = {s.subject for s in (*faulty, *slowed)}
    behind = [s for s in _outlier(seen, p) if s.subject not in told]
    return [*faulty, *_together(slowed, seen), *behind, *_disagreement(seen, p)]


def _fault(gpu: Gpu, samples: list[GpuSample], seen: Measured) -> tuple[int, str] | None:
    """An error of a GPU. Only a warning if the run does not use the GPU, or if the error is older than the first
    sample: the count stays until the driver is reloaded."""
    newest, found, level = samples[-1], None, CRITICAL
    fatal = [x for x in newest.xids or () if x in FATAL_XIDS]
    if newest.lost:
        found = "does not answer any more: it fell off the bus or waits for a reset"
    elif fatal:
        found = listed([f"critical error XID {x} ({FATAL_XIDS[x]})" for x in dict.fromkeys(fatal)])
    elif newest.ecc_uncorrected:
        found = f"{newest.ecc_uncorrected} uncorrected memory errors since the driver was loaded"
        if newest.ecc_uncorrected <= _first_errors(gpu, seen):
            found, level = f"{found}, none of them while this run was watched", WARNING
    if found is None:
        return None
    return (level, found) if _used(gpu, seen) else (WARNING, f"{found}, but no process of this run was seen on it")


def _first_errors(gpu: Gpu, seen: Measured) -> int:
    """Uncorrected memory errors of a GPU in the first sample that counts them."""
    first = next(g for sample in seen.samples for g in sample.gpus if (g.node, g.index) == gpu)
    return first.ecc_uncorrected or 0


def _used(gpu: Gpu, seen: Measured) -> bool:
    """Whether the run uses a GPU: its processes were seen there, or on no GPU of that node, which leaves it open."""
    on_node = [g for sample in seen.samples for g in sample.gpus if g.node == gpu[0]]
    own = {g.index for g in on_node if any(process.ours for process in g.processes)}
    return not own or gpu[1] in own


def _throttled(samples: list[GpuSample], p: Params) -> tuple[int, str] | None:
    slow = [g for g in samples if _clock(g) is not None and (_clock(g) or 1.0) < p["clock"] and g.throttle]
    if len(samples) < p["samples"] or 2 * len(slow) < len(samples):
        return None
    reasons = dict.fromkeys(r for g in slow for r in g.throttle or ())
    clock = median(np.array([_clock(g) for g in slow]))
    hot = [r for r in reasons if r in SLOWING]
    text = f"clock at {percent(clock)} of its maximum: {', '.join(hot or reasons)}"
    return (WARNING if hot else NOTICE), text + (f" at {num(slow[-1].temp_c)} °C" if slow[-1].temp_c else "")


def _clock(gpu: GpuSample) -> float | None:
    if gpu.sm_clock_mhz is None or not gpu.sm_clock_max_mhz:
        return None
    return gpu.sm_clock_mhz / gpu.sm_clock_max_mhz


def _outlier(seen: Measured, p: Params) -> list[Signal]:
    """One GPU that draws far less power than its peers in every phase, although its processes do the same kind of
    work."""
    if len(seen.gpus) < p["least"]:
        return []
    timed = [phase for phase in seen.phases if phase.samples >= p["samples"] and (phase.power or 0.0) > 0]
    busy = [phase for phase in timed if phase.idle]
    behind = set(busy[0].idle).intersection(*(phase.idle for phase in busy)) if busy else set()
    if len(behind) != 1 or len(busy) * 2 < len(timed):
        return []
    (gpu,) = behind
    if _work(seen, gpu) != _work(seen, next(g for g in seen.gpus if g != gpu)):
        return []
    text = f"{name(gpu)} draws less than {percent(p['peer'])} of its peers' power above idle in {busy[0].phase}."
    return [Signal(WARNING, text, _power(gpu), subject=name(gpu))]


def _work(seen: Measured, gpu: Gpu) -> frozenset[str]:
    """The roles of a GPU's processes: in a disaggregated run, rollout GPUs and trainers are not comparable."""
    samples = seen.of_gpu(gpu)
    commands = [p.command for p in samples[-1].processes if p.command] if samples else []
    return frozenset(found[0] for command in commands if (found := role_of(command)) is not None)


def _disagreement(seen: Measured, p: Params) -> list[Signal]:
    """The log reports steps, yet no GPU did anything for long: the two do not show the same run or work. GPUs are
    trusted more than the log, above all if processes of this run hold them."""
    if not seen.samples or not seen.gpus:
        return []
    end = float(seen.seen.times[-1])
    window = seen.seen.since(end - p["idle_s"])
    rows = int(((seen.ends >= end - p["idle_s"]) & (seen.ends <= end)).sum())
    if end - window.times[0] < 0.9 * p["idle_s"] or rows < 2:
        return []
    use = np.fmax(window.gpu["util"], window.power_use(seen.seen.idle_w()))
    known = use[np.isfinite(use)]
    if not len(known) or known.max() >= p["idle"]:
        return []
    own = any(process.ours for gpu in seen.gpus for process in seen.of_gpu(gpu)[-1].processes)
    text = f"The log tells of {rows} steps in the last {num(p['idle_s'] / 60)} minutes, in which no GPU "
    text += "did anything, though processes of this run hold them" if own else "seen here did anything"
    text += (
        ": steps without work (empty batches, a dead engine)."
        if own
        else ": the run may use others, or another machine."
    )
    proofs = tuple(proof for gpu in seen.gpus[:MANY] for proof in _power(gpu))
    return [Signal(WARNING if own else NOTICE, text, proofs, subject="log against GPUs")]


def _power(gpu: Gpu) -> tuple[tuple[str, str], ...]:
    return ((f"gpu.power_w@{name(gpu)}", ""),)


@rule("rollout-straggler", Measured, able=gpus_seen)
def rollout_straggler(seen: Measured, p: Params, memory: Memory) -> list[Signal]:
    """A GPU that still generates while the others wait for it."""
    out = []
    for phase in seen.phases:
        if phase.phase != phases()["rollout"].label:
            continue
        out += [
            Signal(
                NOTICE,
                f"{name(gpu)} still works in {phase.phase} while the other GPUs wait, in {phase.samples} samples.",
                (("phase:rollout", ""),),
                subject=name(gpu),
            )
            for gpu in phase.ahead
        ]
    return out
