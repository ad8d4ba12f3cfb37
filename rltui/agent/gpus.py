"""Reads the GPUs of a machine where nothing is installed: NVML through ctypes, or else occasional calls of nvidia-smi.

Values are plain numbers under the names in `rltui/hardware/base.py`; None if unknown. `throttle`: the driver's mask of
reasons.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import ctypes
import subprocess
import time
from typing import Any

GB = 1e9
MIB = 1 << 20
_SMI_FIRST = "index,uuid,name,memory.used,memory.total,power.draw,enforced.power.limit,utilization.gpu,temperature.gpu"
_SMI_MORE = (
    "clocks.sm,clocks.max.sm,clocks_throttle_reasons.active,ecc.errors.uncorrected.volatile.total,mig.mode.current"
)
_SMI_TIMEOUT_S = 10
_SMI_EVERY_S = 30.0  # it costs a tenth of a second of CPU
_PROCESSES = 32
_MOST_XIDS = 32
_SM_CLOCK, _UNCORRECTED, _VOLATILE, _XID = 1, 1, 0, 8  # constants of nvml.h
_TOO_SMALL = 7
_LOST = (15, 16)  # off the bus, or waiting for a reset
_NOT_AVAILABLE = (1 << 64) - 1


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _MemoryV2(ctypes.Structure):  # its `used` excludes what the driver holds
    _fields_ = [("version", ctypes.c_uint)] + [
        (name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")
    ]


class _Rates(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute", ctypes.c_uint),
    ]


class _Event(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_void_p),
        ("type", ctypes.c_ulonglong),
        ("data", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute", ctypes.c_uint),
    ]


class Gpus:
    """All GPUs of this machine. Not thread-safe."""

    def __init__(self) -> None:
        self._smi = Smi()
        self._nvml = None  # type: Any
        self._devices = []  # type: list[Any]
        self._xids = []  # type: list[list[int] | None]
        self._events = None  # type: Any
        self._code = 0  # what the last call returned
        self._why = "no NVIDIA driver here: libnvidia-ml.so.1 not found"
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")  # type: Any
            if nvml.nvmlInitWithFlags(0) == 0:
                self._nvml = nvml
                self._open()
            else:
                self._why = "the NVIDIA driver does not answer"
        except (OSError, AttributeError):
            self._nvml = None

    def read(self) -> "tuple[list[dict[str, Any]], str]":
        """The current GPUs, and if there are none, the reason."""
        if self._nvml is None:
            found = self._smi.read()
            return found, "" if found else self._why
        self._hear()
        found = [self._gpu(index) for index in range(len(self._devices))]
        return found, "" if found else "the NVIDIA driver sees no GPU"

    def _open(self) -> None:
        count = ctypes.c_uint()
        if not self._call("nvmlDeviceGetCount_v2", ctypes.byref(count)):
            return
        events = ctypes.c_void_p()
        if self._call("nvmlEventSetCreate", ctypes.byref(events)):
            self._events = events
        for index in range(count.value):
            device = ctypes.c_void_p()
            known = self._call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(device))
            self._devices.append(device if known else None)
            heard = known and self._events is not None
            heard = heard and self._call("nvmlDeviceRegisterEvents", device, ctypes.c_ulonglong(_XID), self._events)
            self._xids.append([] if heard else None)

    def _hear(self) -> None:
        """Collects the critical errors since the last call, without waiting."""
        event, index = _Event(), ctypes.c_uint()
        for _ in range(_MOST_XIDS if self._events is not None else 0):
            if not self._call("nvmlEventSetWait_v2", self._events, ctypes.byref(event), 0):
                return
            if self._call("nvmlDeviceGetIndex", ctypes.c_void_p(event.device), ctypes.byref(index)):
                heard = self._xids[index.value] if index.value < len(self._xids) else None
                if heard is not None and len(heard) < _MOST_XIDS:
                    heard.append(int(event.data))

    def _gpu(self, index: int) -> "dict[str, Any]":
        device = self._devices[index]
        if device is None:
            return {"index": index, "lost": True}
        name = ctypes.create_string_buffer(96)
        named = self._call("nvmlDeviceGetName", device, name, len(name))
        memory = _MemoryV2(version=ctypes.sizeof(_MemoryV2) | (2 << 24))  # type: Any
        if not self._call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory)):
            memory = _Memory()
            if not self._call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory)):
                memory = None
        lost = self._code in _LOST
        rates = _Rates()
        rated = self._call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(rates))
        power, limit = self._number("PowerUsage", device), self._number("EnforcedPowerLimit", device)
        reasons = self._long("CurrentClocksThrottleReasons", device)
        if reasons is None:  # the name since driver 535
            reasons = self._long("CurrentClocksEventReasons", device)
        fastest = self._number("MaxClockInfo", device, _SM_CLOCK)
        split = self._pair("MigMode", device)
        return {
            "index": index,
            "name": name.value.decode("utf-8", "replace") if named else None,
            "memory_used_gb": memory.used / GB if memory is not None else None,
            "memory_total_gb": memory.total / GB if memory is not None and memory.total else None,
            "power_w": power / 1000 if power is not None else None,
            "power_limit_w": limit / 1000 if limit else None,
            "util": rates.gpu / 100 if rated else None,
            "temp_c": self._number("Temperature", device, 0),
            "processes": [] if lost else self._processes(device),
            "sm_clock_mhz": self._number("ClockInfo", device, _SM_CLOCK),
            "sm_clock_max_mhz": fastest or None,
            "throttle": reasons,
            "ecc_uncorrected": self._long("TotalEccErrors", device, _UNCORRECTED, _VOLATILE),
            "xids": self._xids[index],
            "mig": bool(split) if split is not None else None,
            "lost": lost,
        }

    def _processes(self, device: "ctypes.c_void_p") -> "list[dict[str, Any]]":
        """The compute and graphics processes, each process once."""
        found = {}  # type: dict[int, float | None]
        for kind in ("Compute", "Graphics"):
            for version in ("_v3", "_v2"):
                listed, count = (_Process * _PROCESSES)(), ctypes.c_uint(_PROCESSES)
                known = self._call(
                    "nvmlDeviceGet" + kind + "RunningProcesses" + version, device, ctypes.byref(count), listed
                )
                if known:
                    for process in listed[: count.value]:
                        held = process.used / GB if process.used != _NOT_AVAILABLE else None
                        before = found.get(process.pid)
                        found[process.pid] = held if before is None else max(before, held or 0.0)
                if known or self._code == _TOO_SMALL:
                    break
        return [{"pid": pid, "memory_gb": held} for pid, held in found.items()]

    def _number(self, name: str, device: "ctypes.c_void_p", *of: int) -> "int | None":
        value = ctypes.c_uint()
        return value.value if self._call("nvmlDeviceGet" + name, device, *of, ctypes.byref(value)) else None

    def _long(self, name: str, device: "ctypes.c_void_p", *of: int) -> "int | None":
        value = ctypes.c_ulonglong()
        return value.value if self._call("nvmlDeviceGet" + name, device, *of, ctypes.byref(value)) else None

    def _pair(self, name: str, device: "ctypes.c_void_p") -> "int | None":
        """The first of the two numbers that a call returns."""
        value, other = ctypes.c_uint(), ctypes.c_uint()
        known = self._call("nvmlDeviceGet" + name, device, ctypes.byref(value), ctypes.byref(other))
        return value.value if known else None

    def _call(self, name: str, *arguments: Any) -> bool:
        """Calls the driver. False if it refuses, or is too old to know the function."""
        function = getattr(self._nvml, name, None)
        self._code = function(*arguments) if function is not None else -1
        return self._code == 0


class Smi:
    """What nvidia-smi reports. It is called at most once in half a minute."""

    def __init__(self) -> None:
        self._there = True
        self._fields = _SMI_FIRST + "," + _SMI_MORE
        self._asked = -_SMI_EVERY_S
        self._found = []  # type: list[dict[str, Any]]

    def read(self) -> "list[dict[str, Any]]":
        now = time.monotonic()
        if self._there and now - self._asked >= _SMI_EVERY_S:
            self._asked = now
            self._found = self._ask()
            self._there = bool(self._found)
        return self._found

    def _ask(self) -> "list[dict[str, Any]]":
        rows = _smi("--query-gpu=" + self._fields)
        if not rows and self._fields != _SMI_FIRST:  # an old version refuses the whole query if it lacks one name
            self._fields = _SMI_FIRST
            rows = _smi("--query-gpu=" + self._fields)
        width = len(self._fields.split(","))
        gpus = {row[1]: _smi_gpu(row) for row in rows if len(row) == width and row[0].isdigit()}
        for row in _smi("--query-compute-apps=gpu_uuid,pid,used_gpu_memory") if gpus else []:
            if len(row) == 3 and row[0] in gpus and row[1].isdigit():
                held = _float(row[2])
                process = {"pid": int(row[1]), "memory_gb": held * MIB / GB if held is not None else None}
                gpus[row[0]]["processes"].append(process)
        return list(gpus.values())


def _smi(query: str) -> "list[list[str]]":
    try:
        text = subprocess.check_output(
            ["nvidia-smi", query, "--format=csv,noheader,nounits"], stderr=subprocess.DEVNULL, timeout=_SMI_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in text.decode("utf-8", "replace").splitlines()]


def _smi_gpu(row: "list[str]") -> "dict[str, Any]":
    used, total, power, limit, util, degrees = (_float(value) for value in row[3:9])
    found = {
        "index": int(row[0]),
        "name": row[2],
        "memory_used_gb": used * MIB / GB if used is not None else None,
        "memory_total_gb": total * MIB / GB if total is not None else None,
        "power_w": power,
        "power_limit_w": limit,
        "util": util / 100 if util is not None else None,
        "temp_c": degrees,
        "processes": [],
    }  # type: dict[str, Any]
    if len(row) > 9:
        clock, fastest, reasons, errors, split = row[9:]
        found["sm_clock_mhz"], found["sm_clock_max_mhz"] = _float(clock), _float(fastest)
        found["throttle"] = int(reasons, 16) if reasons.startswith("0x") else None
        found["ecc_uncorrected"] = int(errors) if errors.isdigit() else None
        found["mig"] = split == "Enabled" if split in ("Enabled", "Disabled") else None
    return found


def _float(text: str) -> "float | None":
    """The number; None for `[N/A]` and the like."""
    try:
        return float(text)
    except ValueError:
        return None
