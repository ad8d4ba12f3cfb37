"""One run as everything above sees it: history under canonical names, config, phases, checkpoints, log, state.

Filled by the session from readers' records; knows neither files nor screens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rltui.readers.base import Exit, HardwareRow
from rltui.run.history import History, Series

State = Literal["running", "stalled", "finished", "crashed", "unknown"]


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A resolved config value. `key` and `source` as the user wrote it; `active` false when it is on the path not
    taken (a KL coefficient while the KL loss is off), and `note` then says why."""

    value: object
    key: str
    source: str
    active: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved state. `complete` is None where its completeness cannot be told (weights not in this copy)."""

    step: int
    path: str
    complete: bool | None
    time: float | None = None


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What was read from where. `skipped` counts by reason; `used` false for a file that was ignored (note: why)."""

    path: str
    format: str
    rows: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    note: str = ""
    used: bool = True
    mtime: float | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """State by the time rules of the design, with the evidence in words and the quoted line where there is one."""

    state: State
    because: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """A phase over the last steps: median seconds and share of the step. `expected` is a share band or None."""

    name: str
    key: str
    seconds: float
    share: float
    expected: tuple[float, float] | None = None
    status: str = "unknown"  # "usual" | "high" | "low" | "unknown"


@dataclass(frozen=True, slots=True)
class PhaseTable:
    """Medians over the last `window_steps` steps; items add up to the step ("other": the rest) unless `overlapped`."""

    window_steps: int
    step_s: float | None
    items: tuple[PhaseShare, ...]
    overlapped: bool = False
    bottleneck: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class MetricName:
    """How a raw key is called. `canonical` None for a key that the vocabulary does not know (shown under its prefix).

    `label` is the short name for the screen ("KL to reference"), `group` one of reward, validation, drift, policy,
    length, speed, memory, mismatch, critic, tools, off-policy, preference, progress, other; `member` tells several
    keys of one canonical metric apart (reward function, data set).
    """

    key: str
    canonical: str | None
    label: str
    unit: str
    group: str
    member: str = ""
    meaning: str = ""
    trap: str = ""


class Run:
    """See the module's docstring. Everything is cheap to ask; series are views, not copies."""

    def __init__(self, run_id: str, path: str) -> None:
        self.id = run_id
        self.path = path
        self.history = History()
        self.sources: list[SourceInfo] = []
        self.checkpoints: list[Checkpoint] = []
        self.exit: Exit | None = None
        self.recorded_hardware: list[HardwareRow] = []
        self.framework: str | None = None
        self.framework_version: str | None = None
        self.algorithm: str | None = None
        self.planned_steps: int | None = None
        self.followed = False  # a live follow: file times may stand in for missing time stamps
        self.as_of: float | None = None  # newest time stamp inside the data, seconds since the epoch

    # Filled in by the run floor's own modules (config.py, names.py, notes.py, phases.py, liveness.py):

    @property
    def config(self) -> dict[str, ConfigValue]:
        """Canonical config key -> value."""
        raise NotImplementedError

    @property
    def raw_config(self) -> dict[str, ConfigValue]:
        """Every config key in the framework's own spelling."""
        raise NotImplementedError

    @property
    def names(self) -> dict[str, MetricName]:
        """Raw key (a column of the history) -> its name."""
        raise NotImplementedError

    def series(self, name: str) -> Series | None:
        """By canonical name (the first key that resolves to it and holds points) or by raw key."""
        raise NotImplementedError

    def family(self, canonical: str) -> dict[str, Series]:
        """All keys of a canonical metric with several members (reward parts, validation sets): member -> series."""
        raise NotImplementedError

    def state(self, now: float | None = None) -> RunState:
        """`now` only where the run is being followed; without it the data's own newest time stamp rules."""
        raise NotImplementedError

    def phases(self, until_row: int | None = None, window: int = 20) -> PhaseTable:
        raise NotImplementedError
