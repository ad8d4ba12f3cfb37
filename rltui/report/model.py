"""The report object. Screen, Markdown and JSON show its numbers and no others. Its keys follow the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct, field

from rltui.evidence.model import CheckFailed, Coverage, Finding, StageResult, Verdict
from rltui.readers.base import LeftOut

if TYPE_CHECKING:
    from rltui.diagnosis.constants import Constant, RewardValues
    from rltui.diagnosis.insight import FirstMover
    from rltui.diagnosis.kl_reward import KlRewardCase
    from rltui.diagnosis.remarks import Moved
    from rltui.diagnosis.worth import Worth
    from rltui.evidence.facts import RunFacts
    from rltui.evidence.model import Forecast, MachineView
    from rltui.evidence.step_time import OwnShare, SlowStep, Waits
    from rltui.rules.invariants import Invariant
    from rltui.run.attempts import Attempt, Ended
    from rltui.run.silences import Silence
    from rltui.session.frame import Recording

SCHEMA = "rltui.report/1"


class Steps(Struct, frozen=True):
    first: int | None
    last: int | None
    total: int | None  # planned
    rows: int  # distinct training steps


class SourceUsed(Struct, frozen=True):
    """A file of the run. `newest`: the ISO 8601 time of its newest row; None if rows have no time. `lag`: how late its
    writer is known to be, in words. `left_out`: what was not used, with the reason: rows and records that could not be
    read (their number is `skipped`), and console lines that are not rows."""

    path: str
    format: str
    rows: int
    skipped: int
    note: str
    used: bool = True
    newest: str | None = None
    lag: str = ""
    left_out: tuple[LeftOut, ...] = ()


class RunIdentity(Struct, frozen=True):
    id: str
    path: str
    framework: str | None
    algorithm: str | None
    state: str  # running | stalled | finished | crashed | unknown
    steps: Steps
    restarts: tuple[int, ...]
    sources: tuple[SourceUsed, ...]
    # more than the contract asks for
    framework_version: str | None = None
    state_because: str = ""
    state_quote: str = ""  # the line of the log that the state rests on
    eta_s: float | None = None
    last_row_time: float | None = None
    attempts: tuple[Attempt, ...] = ()
    ends: tuple[Ended, ...] = ()  # why it had to be restarted
    silences: tuple[Silence, ...] = ()  # hours without a row
    before_again: str = ""  # what to change before it is started again, if the same ended several attempts
    error_after: str = ""  # with which the log ends after all planned steps
    broke_off: bool = False  # nothing more came, and no word says that it ended
    told_at: int | None = None  # the step at which it stood so, of a report of the past
    rows_counted: bool = False  # no source tells the steps: rows are counted from 1

    @property
    def over(self) -> bool:
        """Whether the run ended, well or not: no row and no checkpoint will come."""
        from rltui.run.liveness import ENDED  # not at the top: the first paint judges no run

        return self.state in ENDED

    @property
    def before_restarts(self) -> list[str]:
        """For each restart, what had ended the attempt before it; empty if the logs do not say."""
        out, left = [], list(self.ends)
        for step in self.restarts:
            named = bool(left) and left[0].step == step
            out.append(left.pop(0).because if named else "")
        return out


class ConfigEntry(Struct, frozen=True):
    value: object
    key: str
    source: str
    active: bool
    note: str


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """The numbers of one metric. Windows are means of max(5, 10 %) rows. Undefined numbers are None."""

    key: str
    count: int
    missing: int
    nan: int
    first_value: float | None
    last_value: float | None
    first: float | None
    mid: float | None
    last: float | None
    min: float | None
    max: float | None
    mean: float | None
    pct_change: float | None
    slope_per_100_steps: float | None
    corr_step: float | None
    shape: str
    label: str = ""
    unit: str = ""
    group: str = ""
    canonical: str | None = None  # None: the vocabulary does not know the key
    member: str = ""  # of several keys of one canonical metric: the validation set, the reward function
    trap: str = ""  # what is easily misread about it in this framework and version
    left_out: int = 0  # rows of a failing grader, or of one with another scale: no mean or range has them
    steady: bool = False  # first and last window differ by no more than noise: what the sentences say of it
    overlap: bool = False  # its first and last window share values, so that they tell of no change

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The two values between which a change is reported: the first and the last window, or the first and the newest
        value if the windows overlap."""
        return (self.first_value, self.last_value) if self.overlap else (self.first, self.last)


class PhaseItem(Struct, frozen=True):
    name: str
    key: str
    seconds: float
    share: float
    expected: tuple[float, float] | None
    status: str  # "usual" | "high" | "low" | "unknown"


class Phases(Struct, frozen=True):
    window_steps: int
    overlapped: bool
    bottleneck: str | None
    items: tuple[PhaseItem, ...]
    note: str = ""
    step_s: float | None = None  # median seconds of a whole step


class GpuNow(Struct, frozen=True):
    node: str
    index: int
    name: str | None
    memory_used_gb: float | None
    memory_total_gb: float | None
    power_w: float | None
    power_limit_w: float | None
    util: float | None
    temp_c: float | None
    processes: int | None
    # more than the contract asks for
    power_use: float | None = None  # (power - idle) / (limit - idle), median of the last minutes
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    throttle: tuple[str, ...] | None = None
    ecc_uncorrected: int | None = None
    xids: tuple[int, ...] | None = None
    lost: bool = False


class DiskNow(Struct, frozen=True):
    what: str  # "checkpoints", "log", "Ray"
    path: str
    free_gb: float | None
    total_gb: float | None


class HostNow(Struct, frozen=True):
    ram_used_gb: float | None
    ram_total_gb: float | None
    disk_free_gb: float | None
    # more than the contract asks for
    limited_by: str | None = None
    cpu: float | None = None
    load1: float | None = None
    cpus: int | None = None
    swap_used_gb: float | None = None
    shm_used_gb: float | None = None
    shm_total_gb: float | None = None
    pressure_cpu: float | None = None
    pressure_memory: float | None = None
    pressure_io: float | None = None
    disks: tuple[DiskNow, ...] = ()
    node: str = ""  # of a run on several nodes


class PhaseUse(Struct, frozen=True):
    """What the GPUs did in one phase of a step; shares 0..1, memory of the fullest GPU in GB."""

    phase: str
    samples: int
    power_of_limit: float | None
    power_use: float | None
    memory_floor_gb: float | None
    memory_high_gb: float | None
    idle: tuple[str, ...]  # GPUs that do far less than the others
    ahead: tuple[str, ...]  # GPUs that still work while the others wait
    note: str


class Hardware(Struct, frozen=True):
    gpus: tuple[GpuNow, ...]
    host: HostNow | None
    source: str  # live | recorded | none
    note: str
    phases: tuple[PhaseUse, ...] = ()
    others: tuple[HostNow, ...] = ()  # the hosts of further nodes


class Rollouts(Struct, frozen=True):
    source: str | None
    steps: tuple[int, ...]
    count: int
    note: str


class FirstMoves(Struct, frozen=True):
    """The metrics that moved before the worst finding, in order of onset."""

    finding: str | None  # its id; None: no finding, the newest step is asked about
    around: int
    moves: tuple[FirstMover, ...]


class Outlook(Struct, frozen=True):
    """What a report says beyond the findings. It never changes the verdict."""

    kl_reward: KlRewardCase
    worth: Worth | None
    forecasts: tuple[Forecast, ...]
    first_moves: FirstMoves
    invariants: tuple[Invariant, ...]
    rewards: RewardValues | None
    constants: tuple[Constant, ...]
    slow: SlowStep | None  # the step that is asked about, where it was slow
    waits: Waits | None
    shares: tuple[OwnShare, ...]


class Report(Struct, frozen=True, kw_only=True):
    """The only object that is passed from the data to screens, Markdown, JSON, events and comparisons. It holds no live
    run, so it does not change while the run continues."""

    as_of: str | None  # ISO 8601 with zone
    run: RunIdentity
    config: Mapping[str, ConfigEntry]
    verdict: Verdict
    findings: tuple[Finding, ...]
    metrics: Mapping[str, MetricSummary]
    phases: Phases
    pipeline: tuple[StageResult, ...]
    hardware: Hardware
    rollouts: Rollouts
    coverage: Coverage
    unknowns: tuple[str, ...]
    checks: int = 0
    not_evaluable: tuple[tuple[str, str, str], ...] = ()  # (title, needs, enable)
    not_applicable: tuple[tuple[str, str], ...] = ()  # (title, why this kind of run has no use for the check)
    checks_failed: tuple[CheckFailed, ...] = ()  # checks that raised: a fault of rltui, not of the run
    schema: str = SCHEMA
    notes: tuple[str, ...] = field(default=())
    facts: RunFacts | None = None  # None before the first row
    moved: tuple[Moved, ...] = ()  # since the start, whatever the verdict makes of it; for whole reports only
    other_config: Mapping[str, object] = field(default_factory=dict)  # own keys -> values that no canonical key has
    outlook: Outlook | None = None  # worked out for whole reports only
    at_step: int | None  # the step that the diagnosis is of
    lost: str = ""  # what of the logs was not read and would matter, in sentences
    machine: MachineView | None  # what it worked out of the hardware samples
    recording: Recording  # what the report was built from
