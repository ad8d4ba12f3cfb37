"""Reads GPUs through NVML. An old driver, a container or a lost GPU may refuse any single value; it is then None.

`CUDA_VISIBLE_DEVICES` is not applied: a monitor shows all GPUs of the node, including the work of others on them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rltui.hardware.base import GpuProcess, GpuSample
from rltui.prose import joined
from rltui.text import clean

Identity = tuple[str | None, str | None]  # user, command
_COMMAND_LIMIT = 400  # characters
_CACHE_LIMIT = 1024


class ProcessNames:
    """The cached user and command of processes; None if the OS hides them or the process is gone."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, float], Identity] = {}

    def of(self, pid: int) -> Identity:
        psutil: Any = import_module("psutil")
        try:
            process = psutil.Process(pid)
            key = (pid, process.create_time())
        except (psutil.Error, OSError, ValueError):
            return None, None
        if key not in self._known:
            if len(self._known) >= _CACHE_LIMIT:
                self._known.clear()
            self._known[key] = (_ask(process.username, psutil), _ask(lambda: " ".join(process.cmdline()), psutil))
        return self._known[key]


def is_zombie(pid: int) -> bool | None:
    """Whether the process ended and was not collected; None if it cannot be seen (gone, or in another container)."""
    psutil: Any = import_module("psutil")
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except (psutil.Error, OSError, ValueError):
        return None


def _ask(call: Any, psutil: Any) -> str | None:
    try:
        return clean(call(), _COMMAND_LIMIT) or None
    except (psutil.Error, OSError, KeyError, ValueError):
        return None


GB = 1e9

_MOST_XIDS = 32
_THROTTLE = (
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x20, "thermal"),
    (0x40, "thermal (hardware)"),
    (0x80, "power brake"),
)
"""Bits of the clock event reasons (nvml.h). Idle clocks, user-set clocks and sync boost are not throttling."""


def throttle_words(reasons: int | None) -> tuple[str, ...] | None:
    """Why the clock is held below its maximum, from the driver's mask of reasons."""
    return None if reasons is None else tuple(name for bit, name in _THROTTLE if reasons & bit)


class GpuReader:
    """Reads all GPUs of this node. Not thread-safe: one thread opens, reads and closes it. Nothing here raises.

    `belongs` returns whether a pid is part of the run; None if unknown.
    """

    def __init__(self, node: str, belongs: Callable[[int], bool | None] | None = None) -> None:
        self.node = node
        self.driver: str | None = None
        self._nvml: Any = None
        self._errors: tuple[type[Exception], ...] = ()
        self._handles: list[Any] = []
        self._identities: list[str | None] = []
        self._processes: list[tuple[GpuProcess, ...]] = []
        self._hidden = ""
        self._failed: dict[int, str] = {}
        self._names = ProcessNames()
        self._belongs = belongs
        self._events: Any = None
        self._xids: list[list[int] | None] = []

    def open(self) -> str:
        """Opens NVML. Returns "", or the reason why there are no GPUs."""
        try:
            nvml: Any = import_module("pynvml")
        except ImportError:
            return "nvidia-ml-py is not installed"
        self._errors = (nvml.NVMLError, nvml.NVMLLibraryMismatchError, AttributeError, ValueError)
        try:
            nvml.nvmlInit()
        except self._errors as error:
            return _why_absent(nvml, error)
        self._nvml = nvml
        self.driver = _text(self._ask(nvml.nvmlSystemGetDriverVersion))
        count = self._ask(nvml.nvmlDeviceGetCount) or 0
        self._handles = [self._ask(nvml.nvmlDeviceGetHandleByIndex, i) for i in range(count)]
        self._identities = [_text(self._on(i, nvml.nvmlDeviceGetName)) for i in range(count)]
        self._processes = [()] * count
        self._listen(count)
        return "" if count else "the NVIDIA driver sees no GPU"

    def close(self) -> None:
        if self._nvml is not None:
            if self._events is not None:
                self._ask(self._nvml.nvmlEventSetFree, self._events)
                self._events = None
            self._ask(self._nvml.nvmlShutdown)
            self._nvml = None

    def read(self, processes: bool = True) -> tuple[tuple[GpuSample, ...], str]:
        """All current GPUs, and what is wrong with them, in words. `processes=False` repeats the last process list."""
        if self._nvml is None:
            return (), ""
        self._failed.clear()
        if processes:
            self._hidden = ""
        self._hear()
        samples = tuple(self._sample(i, processes) for i in range(len(self._handles)))
        notes = [f"GPU {i}: {why}" for i, why in sorted(self._failed.items())]
        return samples, joined([*notes, self._hidden])

    def _sample(self, i: int, processes: bool) -> GpuSample:
        nvml = self._nvml
        memory = self._on(i, nvml.nvmlDeviceGetMemoryInfo, nvml.nvmlMemory_v2)  # v2 excludes what the driver holds
        if memory is None:
            memory = self._on(i, nvml.nvmlDeviceGetMemoryInfo)
        power = self._on(i, nvml.nvmlDeviceGetPowerUsage)
        limit = self._on(i, nvml.nvmlDeviceGetEnforcedPowerLimit)
        rates = self._on(i, nvml.nvmlDeviceGetUtilizationRates)
        temperature = self._on(i, nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU)
        clock = self._on(i, nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM)
        fastest = self._on(i, nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM)
        reasons = self._on(i, nvml.nvmlDeviceGetCurrentClocksThrottleReasons)
        if reasons is None:  # the name since driver 535
            reasons = self._on(i, nvml.nvmlDeviceGetCurrentClocksEventReasons)
        counter = (nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC)
        ecc = self._on(i, nvml.nvmlDeviceGetTotalEccErrors, *counter)
        mig = self._on(i, nvml.nvmlDeviceGetMigMode)
        if processes:
            self._processes[i] = self._running(i)
        xids = self._xids[i]
        return GpuSample(
            self.node,
            i,
            self._identities[i],
            memory_used_gb=memory.used / GB if memory is not None else None,
            memory_total_gb=memory.total / GB if memory is not None and memory.total else None,
            power_w=power / 1000 if power is not None else None,
            power_limit_w=limit / 1000 if limit else None,
            util=rates.gpu / 100 if rates is not None else None,
            temp_c=float(temperature) if temperature is not None else None,
            processes=self._processes[i] if i not in self._failed else (),
            sm_clock_mhz=float(clock) if clock is not None else None,
            sm_clock_max_mhz=float(fastest) if fastest else None,
            throttle=throttle_words(reasons),
            ecc_uncorrected=ecc,
            xids=tuple(xids) if xids is not None else None,
            mig=bool(mig[0]) if mig is not None else None,
            lost=i in self._failed,
        )

    def _listen(self, count: int) -> None:
        """Asks the driver to report critical errors. If it refuses, their numbers stay unknown."""
        nvml = self._nvml
        self._xids = [None] * count
        self._events = self._ask(nvml.nvmlEventSetCreate)
        if self._events is None:
            return
        for i, handle in enumerate(self._handles):
            try:
                if handle is not None:
                    nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, self._events)
                    self._xids[i] = []
            except self._errors:
                continue

    def _hear(self) -> None:
        """Collects the critical errors since the last call, without waiting."""
        if self._events is None:
            return
        for _ in range(_MOST_XIDS):
            event = self._ask(self._nvml.nvmlEventSetWait_v2, self._events, 0)
            if event is None:
                return
            i = self._ask(self._nvml.nvmlDeviceGetIndex, event.device)
            heard = self._xids[i] if i is not None and i < len(self._xids) else None
            if heard is not None and len(heard) < _MOST_XIDS:
                heard.append(int(event.eventData))

    def _running(self, i: int) -> tuple[GpuProcess, ...]:
        """The compute and graphics processes, each process once, largest first."""
        found: dict[int, float | None] = {}
        for kind in ("Compute", "Graphics"):
            listed = self._on(i, getattr(self._nvml, f"nvmlDeviceGet{kind}RunningProcesses_v3"), keep=True)
            if listed is None:
                listed = self._on(i, getattr(self._nvml, f"nvmlDeviceGet{kind}RunningProcesses_v2"))
            for process in listed or ():
                memory = process.usedGpuMemory / GB if process.usedGpuMemory is not None else None
                known = found.get(process.pid)
                found[process.pid] = memory if known is None else max(known, memory or 0.0)
        described = [
            GpuProcess(pid, memory, *self._names.of(pid), self._belongs and self._belongs(pid), is_zombie(pid))
            for pid, memory in found.items()
        ]
        return tuple(sorted(described, key=lambda p: (-(p.memory_gb or 0.0), p.pid)))

    def _on(self, i: int, call: Callable[..., Any], *arguments: Any, keep: bool = False) -> Any:
        """The result of one call on one GPU; None if it fails. A lost GPU is remembered for the note."""
        handle = self._handles[i]
        if handle is None:
            self._failed[i] = "does not answer"
            return None
        if i in self._failed:
            return None
        try:
            return call(handle, *arguments)
        except self._errors as error:
            code = getattr(error, "value", None)
            if code in (self._nvml.NVML_ERROR_GPU_IS_LOST, self._nvml.NVML_ERROR_RESET_REQUIRED):
                self._failed[i] = str(error)
            elif keep and code == self._nvml.NVML_ERROR_NO_PERMISSION:
                self._hidden = "processes are hidden: no permission"
            return None

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except self._errors:
            return None


def _why_absent(nvml: Any, error: Exception) -> str:
    code = getattr(error, "value", None)
    if code == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        if sys.platform == "darwin":
            return "no NVIDIA GPUs on macOS"
        return "no NVIDIA driver here: libnvidia-ml.so.1 not found"
    if code == nvml.NVML_ERROR_DRIVER_NOT_LOADED:
        return "the NVIDIA driver is installed but not loaded"
    if code == nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "driver/library version mismatch: the NVIDIA driver was updated, reload it or reboot"
    if code == nvml.NVML_ERROR_NO_PERMISSION:
        return "no permission to talk to the NVIDIA driver"
    return f"NVML does not start: {error}"


def _text(value: Any) -> str | None:
    return clean(value if isinstance(value, str) else value.decode("utf-8", "replace"), 100) if value else None
