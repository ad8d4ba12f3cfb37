"""Decides if a run is hung, slow or fine: compares log silence, counters, processes and GPU power with its own pace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rltui.hardware.base import GpuSample, ProcessFact
from rltui.readers.base import Note
from rltui.run.progress import ENDED, LearnedPace, Pulse, Usual

Word = Literal["hung", "slow", "fine", "finished", "crashed", "unknown"]

SLOW = 2.0
SLOW_S = 10.0
HUNG = 3.0
HUNG_ADD_S = 600.0
"""Slow: no movement for twice the 95th percentile of the step time, and at least 10 s. Hung: no movement for 3 times
that percentile, and at least 600 s more than it. The 600 s are verl's NCCL time-out."""
QUIET = 60.0
QUIET_FROM = 30
QUIET_LEAST_S = 180.0
"""Hung already after 60 times the longest time between two rows, if 30 such times were seen: a run with one-second
steps does not pause for minutes. Some writers flush only every two minutes, so the limit is at least three minutes."""
IDLE_ADD_S = 60.0
"""Replaces the 600 s if processes and GPUs are seen to be idle."""
WORKING = 10.0
WORKING_ADD_S = 3600.0
"""If GPUs work or the log is written, a run is hung only after 10 times the 95th percentile, and at least an hour more
than it."""
SURE = 10.0
SURE_S = 1200.0
GPU_IDLE_S = 900.0
"""Beyond doubt: 10 times the 95th percentile and twice the NCCL time-out, or all GPUs idle for 15 minutes."""
FIRST_S = 1800.0
"""What has not yet been seen to end (first steps, the first validation) may take this long: models load and compile."""
KNOWN_FROM = 5
STOPPED_S = 2.0
"""A stopped process makes the run hung after the usual time of a step, but not sooner than this."""
HELD = ("stopped", "traced")
"""States of a process that does not run until somebody resumes it."""
IDLE_CPU = 0.05
LOW_POWER = 0.3
BUSY = 0.9
"""CPU cores of all processes, share of the power limit, and share of utilisation, respectively."""


class StallCard(Struct, frozen=True):
    """How a followed run is doing. `because`: the evidence, one phrase a line, the clearest first. `since`: when the
    current step (or `phase`, if the log announced one) began, seconds since the epoch. `usual_s`, `high_s`: median and
    95th percentile of its duration. `sure`: beyond doubt. `over`: nothing more will come."""

    verdict: Word
    because: tuple[str, ...] = ()
    phase: str = ""
    since: float | None = None
    usual_s: float | None = None
    high_s: float | None = None
    quote: str = ""
    sure: bool = False
    over: bool = False
    unread: str = ""  # why no file of the run can be read at the moment


_ANNOUNCED = re.compile(r"Started: '([^'\n]+)'|▶\s*([^\n|:(]+)|Timer (\w+) start")
_WORDS = re.compile(r"\W*((?!Started|Finished)[A-Za-z][A-Za-z _-]{2,23}): \d")
PHASE = 24
"""Most characters of a phase's name: a word or two, never a line of the log."""


def phase_name(phase: Note) -> str:
    """The name of the phase that a log announces: `generate` of "Started: 'generate'", "▶ generate" or "Timer
    generate start"; of a validation or a save its kind."""
    if phase.kind != "phase":
        return phase.kind
    found = _ANNOUNCED.search(phase.text) or _WORDS.match(phase.text)
    return next(part for part in found.groups() if part).strip()[:PHASE] if found is not None else ""


def weigh(
    pulse: Pulse, pace: LearnedPace, at: str, planned: bool, now: float, phase_takes: Usual | None = None
) -> StallCard:
    """The verdict for a run whose log states neither an end nor an error. `at`: its position, in words. `planned`: its
    planned steps are known and not reached. `phase_takes`: how long the phase that was announced last usually takes."""
    if pulse.phase is not None and pulse.phase.kind in ("validation", "checkpoint"):
        pace = replace(pace, next_special=True)
    age = _age(pulse.moved_at, now)
    usual = pace.now if pace.now is not None else pace.plain
    known = pace.now is not None and pace.now.count >= (1 if pace.next_special else KNOWN_FROM)
    wait = _Wait(pace, known)
    processes = [p for p in pulse.processes if p.how == "log"]
    word, sure = _verdict(pulse, processes, wait, age, now)
    observed = pulse.heard or bool(processes)
    if word == "hung" and not observed and not planned:
        word = "unknown"  # a log that merely ends: the run was not seen alive, and its planned end is unknown
    if word == "hung" and pulse.blind and not any(p.state in HELD for p in processes):
        word, sure = "unknown", False  # it may continue unseen
    silence = f"last sign of life {span(age)} ago" if word == "fine" else _silence(pulse, age, now)
    evidence = [*pulse.unread[:1], silence, _phase(pulse, phase_takes, now), _usual(pace, usual)]
    evidence += [*_process_words(pulse.processes), *_gpu_words(_gpus(pulse))]
    over = bool(processes) and all(p.state in ENDED for p in processes)
    if over:
        word = "crashed" if planned else "unknown"
        ended = f"its process {'is a zombie' if processes[0].state == 'zombie' else 'has ended'} at {at}"
        evidence = [f"{ended}, without an end mark", *evidence[:1]]
    elif word in ("hung", "unknown") and not observed:
        evidence.append("not seen alive so far: it may be over, or a copy")
    in_phase = pulse.phase is not None
    clocked, stride = (phase_takes, 1) if in_phase else (usual, _stride(pace))
    return StallCard(
        verdict=word,
        because=tuple(text for text in evidence if text),
        phase=phase_name(pulse.phase) if pulse.phase is not None else "",
        since=pulse.phase_at if in_phase else pulse.moved_at,
        usual_s=clocked.median_s * stride if clocked is not None else None,
        high_s=clocked.high_s * stride if clocked is not None else None,
        sure=sure,
        over=over,
        unread=pulse.unread[0] if pulse.blind and pulse.unread else "",
    )


def error_counts(pulse: Pulse, pace: LearnedPace, now: float) -> bool:
    """Whether an error at the end of a followed log has ended the run: its processes are gone, or nothing has come for
    longer than the delay that a caught error causes."""
    if pulse.processes and all(p.state in ENDED for p in pulse.processes):
        return True
    wait = _Wait(pace, pace.plain is not None)
    working = any((p.cpu or 0.0) >= IDLE_CPU for p in pulse.processes)
    return _age(pulse.output_at, now) > (wait.hung(HUNG_ADD_S) if working else wait.hung(IDLE_ADD_S, least=0.0))


def alive(pulse: Pulse) -> bool:
    """Whether a process that writes the run's log is known to be alive."""
    return any(p.how == "log" and p.state not in ENDED for p in pulse.processes)


class _Wait:
    """Seconds without movement after which a step counts as slow or hung."""

    def __init__(self, pace: LearnedPace, known: bool) -> None:
        usual = pace.now if pace.now is not None else pace.plain
        self.median = usual.median_s if usual is not None else 0.0
        self.high = usual.high_s * _stride(pace) if usual is not None else 0.0
        self._least = 0.0 if known else FIRST_S
        learned = known and pace.gaps >= QUIET_FROM and pace.longest_s > 0
        self.quiet = max(QUIET * pace.longest_s, QUIET_LEAST_S, SLOW * self.high) if learned else inf
        """Seconds without a row after which no more rows are expected, even if nothing else is known."""

    def slow(self) -> float:
        return max(SLOW * self.high, SLOW_S, self._least)

    def hung(self, add_s: float, least: float | None = None) -> float:
        return max(HUNG * self.high, self.high + add_s, self._least if least is None else least)

    def working(self) -> float:
        return max(WORKING * self.high, self.high + WORKING_ADD_S, self._least)

    def sure(self) -> float:
        return max(SURE * self.high, SURE_S)


def _verdict(pulse: Pulse, processes: Sequence[ProcessFact], wait: _Wait, age: float, now: float) -> tuple[Word, bool]:
    """The word, and whether it is beyond doubt."""
    observed = pulse.heard or bool(processes)
    if any(p.state in HELD for p in processes) and age > max(wait.median, STOPPED_S):
        return "hung", True
    gpus = _gpus(pulse)
    power = [_power_share(g) for g in gpus]
    low = bool(power) and all(share is not None and share <= LOW_POWER for share in power)
    working = any(share is not None and share > LOW_POWER for share in power)
    idle = bool(processes) and all(p.cpu is not None for p in processes)
    idle = idle and sum(p.cpu or 0.0 for p in processes) < IDLE_CPU and not working
    writes = _age(pulse.output_at, now) < min(age, max(wait.high, IDLE_ADD_S))
    limit = wait.working() if working or writes else wait.hung(IDLE_ADD_S if idle else HUNG_ADD_S)
    if not working and not writes and pulse.phase is None:
        limit = min(limit, wait.quiet)
    if age > limit:
        return "hung", observed and (age > wait.sure() or (low and age > GPU_IDLE_S))
    return ("slow" if age > wait.slow() else "fine"), False


def _stride(pace: LearnedPace) -> int:
    """The number of durations from one row to the next: a plain duration covers one step, a special one covers all
    steps between two rows."""
    return 1 if pace.next_special and pace.special is not None else pace.stride


def _age(then: float | None, now: float) -> float:
    return max(0.0, now - then) if then is not None else 0.0


# -- evidence in words -------------------------------------------------------------------------------------------------


def span(seconds: float) -> str:
    """A duration in words: 0.4 s, 95 s, 41 min, 3.5 h, 4 days."""
    if seconds < 10:
        return f"{round(seconds, 2):.2g} s"
    if seconds < 300:
        return f"{seconds:.0f} s"
    if seconds < 3 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def _silence(pulse: Pulse, age: float, now: float) -> str:
    quiet = _age(pulse.output_at, now)
    if age - quiet > max(1.0, 0.1 * age):
        return f"no counter has moved for {span(age)}, though the log was written {span(quiet)} ago"
    return f"no output for {span(age)}"


def _phase(pulse: Pulse, takes: Usual | None, now: float) -> str:
    if pulse.phase is None:
        return ""
    usually = f", usually {span(takes.median_s)} (p95 {span(takes.high_s)})" if takes is not None else ""
    return f"in “{pulse.phase.text[:80]}” for {span(_age(pulse.phase_at, now))}{usually}"


def _usual(pace: LearnedPace, usual: Usual | None) -> str:
    if usual is None:
        return "how long a step usually takes is not known yet"
    what = "a step that validates or saves" if pace.next_special else "a step"
    stride = _stride(pace)
    if stride > 1:
        what = f"{stride} steps, from row to row,"
    first = ", validation or a checkpoint is due for the first time" if pace.next_special and not pace.special else ""
    takes = "usually take" if stride > 1 else "usually takes"
    return f"{what} {takes} {span(usual.median_s * stride)} (p95 {span(usual.high_s * stride)}){first}"


_STATES = {
    "stopped": "is stopped (T)",
    "traced": "is held by a debugger (t)",
    "disk": "waits for the disk (D)",
    "zombie": "is a zombie",
}


def _process_words(processes: Sequence[ProcessFact]) -> list[str]:
    if not processes:
        return []
    words = []
    for state, text in _STATES.items():
        found = [p for p in processes if p.state == state]
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            words.append(f"process {found[0].pid} ({found[0].name}){more} {text}")
    used = [p.cpu for p in processes if p.cpu is not None]
    if used and not words:
        many = f"{len(processes)} processes use" if len(processes) > 1 else f"process {processes[0].pid} uses"
        words.append(f"{many} {sum(used):.1f} CPU cores" if sum(used) >= IDLE_CPU else f"{many} no CPU")
    if words and any(p.how != "log" for p in processes):
        words[-1] += " (found by its directory)"
    return words


def _gpus(pulse: Pulse) -> list[GpuSample]:
    """The run's GPUs: those that hold its processes if these are known, else all with memory in use."""
    pids = {p.pid for p in pulse.processes}
    own = [g for g in pulse.gpus if any(p.pid in pids for p in g.processes)]
    return own or [g for g in pulse.gpus if g.memory_used_gb is None or g.memory_used_gb > 1.0]


def _power_share(gpu: GpuSample) -> float | None:
    return gpu.power_w / gpu.power_limit_w if gpu.power_w is not None and gpu.power_limit_w else None


def _gpu_words(gpus: Sequence[GpuSample]) -> list[str]:
    """The power of all GPUs in one phrase; if only some draw little, these by number."""
    known = [(g, share) for g in gpus if (share := _power_share(g)) is not None]
    if not known:
        return []
    watts = [g.power_w or 0.0 for g, _ in known]
    limit = max(g.power_limit_w or 0.0 for g, _ in known)
    low = [g for g, share in known if share <= LOW_POWER]
    many = "" if len(known) == 1 else f" on all {len(known)}"
    if len(low) in (0, len(known)):
        lo, hi = min(watts), max(watts)
        power = f"{lo:.0f} W" if hi - lo < 10 else f"{lo:.0f} to {hi:.0f} W"
        spin = bool(low) and all((g.util or 0.0) >= BUSY for g in low)
        hint = ", busy waiting as for a rank that is behind or gone (NCCL)" if spin else ""
        return [f"GPU power {power} of {limit:.0f} W{many}{hint}"]
    names = ", ".join(f"{g.node} {g.index}".strip() for g in low[:4]) + (" …" if len(low) > 4 else "")
    return [f"GPU power low on {len(low)} of {len(known)} ({names}: {min(g.power_w or 0.0 for g in low):.0f} W)"]
