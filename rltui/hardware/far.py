"""Hardware of a machine where nothing is installed: NVML through ctypes, else nvidia-smi; /proc and the cgroup.

Plain numbers in the units of `base`, under its names; what is not told is None. `remote` makes samples of them.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import ctypes
import os
import subprocess
import time
from typing import Any

from rltui.hardware.cgroup import cgroup_memory

GB = 1e9
MIB = 1 << 20
_SMI_FIELDS = "index,name,memory.used,memory.total,power.draw,enforced.power.limit,utilization.gpu,temperature.gpu"
_SMI_TIMEOUT_S = 10
_PROCESSES = 32


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _MemoryV2(ctypes.Structure):  # leaves out of `used` what the driver holds
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


_NOT_AVAILABLE = (1 << 64) - 1


class Sampler:
    """Reads GPUs and host of this machine. Not thread-safe. `disk`: a path on the file system of interest."""

    def __init__(self, disk: "str | None" = None) -> None:
        self._disk = disk
        self._busy = None  # type: tuple[int, int] | None  # busy and all CPU ticks at the last sample
        self._nvml = None  # type: Any
        self._why = ""
        self._ask_smi = True
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
            if self._nvml.nvmlInitWithFlags(0) != 0:
                self._nvml, self._why = None, "the NVIDIA driver does not answer"
        except (OSError, AttributeError):
            self._nvml, self._why = None, "no NVIDIA driver here: libnvidia-ml.so.1 not found"

    def sample(self) -> "dict[str, Any]":
        """One sample: `time`, `gpus`, `host`, and a `note` where there are no GPUs."""
        gpus = []  # type: list[dict[str, Any]]
        if self._nvml is not None:
            gpus = self._gpus()
        elif self._ask_smi:
            gpus = _smi()
            self._ask_smi = bool(gpus)
        note = "" if gpus else self._why or "the NVIDIA driver sees no GPU"
        return {"time": time.time(), "gpus": gpus, "host": self._host(), "note": note}

    def _gpus(self) -> "list[dict[str, Any]]":
        count = ctypes.c_uint()
        if self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return []
        return [self._gpu(index) for index in range(count.value)]

    def _gpu(self, index: int) -> "dict[str, Any]":
        device = ctypes.c_void_p()
        if self._nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
            return {"index": index}
        name = ctypes.create_string_buffer(96)
        named = self._call("nvmlDeviceGetName", device, name, len(name))
        memory = _MemoryV2(version=ctypes.sizeof(_MemoryV2) | (2 << 24))  # type: Any
        if not self._call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory)):
            memory = _Memory()
            if not self._call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory)):
                memory = None
        rates = _Rates()
        rated = self._call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(rates))
        power, limit = self._number("PowerUsage", device), self._number("EnforcedPowerLimit", device)
        degrees = ctypes.c_uint()
        warm = self._call("nvmlDeviceGetTemperature", device, 0, ctypes.byref(degrees))
        return {
            "index": index,
            "name": name.value.decode("utf-8", "replace") if named else None,
            "memory_used_gb": memory.used / GB if memory is not None else None,
            "memory_total_gb": memory.total / GB if memory is not None and memory.total else None,
            "power_w": power / 1000 if power is not None else None,
            "power_limit_w": limit / 1000 if limit else None,
            "util": rates.gpu / 100 if rated else None,
            "temp_c": degrees.value if warm else None,
            "processes": self._processes(device),
        }

    def _processes(self, device: "ctypes.c_void_p") -> "list[dict[str, Any]]":
        listed, count = (_Process * _PROCESSES)(), ctypes.c_uint(_PROCESSES)
        if not self._call("nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count), listed):
            return []
        return [
            {
                "pid": process.pid,
                "memory_gb": process.used / GB if process.used != _NOT_AVAILABLE else None,
                "command": _command(process.pid),
            }
            for process in listed[: count.value]
        ]

    def _number(self, name: str, device: "ctypes.c_void_p") -> "int | None":
        value = ctypes.c_uint()
        return value.value if self._call("nvmlDeviceGet" + name, device, ctypes.byref(value)) else None

    def _call(self, name: str, *arguments: Any) -> bool:
        """False where the driver refuses, or is too old to know the function."""
        function = getattr(self._nvml, name, None)
        return function is not None and function(*arguments) == 0

    def _host(self) -> "dict[str, Any]":
        memory = {line.split(":")[0]: line.split()[1] for line in _lines("/proc/meminfo") if len(line.split()) > 1}
        total = int(memory["MemTotal"]) * 1024 if "MemTotal" in memory else None
        used = total - int(memory["MemAvailable"]) * 1024 if total is not None and "MemAvailable" in memory else None
        group, limited = cgroup_memory(), None
        if group is not None and (total is None or group.limit < total):
            used, total, limited = group.used, group.limit, "cgroup"
        free, size = _disk(self._disk)
        return {
            "ram_used_gb": used / GB if used is not None else None,
            "ram_total_gb": total / GB if total is not None else None,
            "cpu": self._cpu(),
            "load1": os.getloadavg()[0],
            "cpus": os.cpu_count(),
            "disk_free_gb": free,
            "disk_total_gb": size,
            "limited_by": limited,
        }

    def _cpu(self) -> "float | None":
        """Share of all cores since the last call; None the first time."""
        first = (_lines("/proc/stat") or [""])[0].split()
        if not first or first[0] != "cpu":
            return None
        ticks = [int(value) for value in first[1:9]]  # user nice system idle iowait irq softirq steal
        everything = sum(ticks)
        now, before = (everything - ticks[3] - ticks[4], everything), self._busy
        self._busy = now
        if before is None or now[1] <= before[1]:
            return None
        return (now[0] - before[0]) / (now[1] - before[1])


def _smi() -> "list[dict[str, Any]]":
    try:
        text = subprocess.check_output(
            ["nvidia-smi", "--query-gpu=" + _SMI_FIELDS, "--format=csv,noheader,nounits"],
            stderr=subprocess.DEVNULL,
            timeout=_SMI_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split(", ") for line in text.decode("utf-8", "replace").splitlines()]
    return [_smi_gpu(row) for row in rows if len(row) == len(_SMI_FIELDS.split(",")) and row[0].isdigit()]


def _smi_gpu(row: "list[str]") -> "dict[str, Any]":
    used, total, power, limit, util, degrees = (_float(value) for value in row[2:])
    return {
        "index": int(row[0]),
        "name": row[1],
        "memory_used_gb": used * MIB / GB if used is not None else None,
        "memory_total_gb": total * MIB / GB if total is not None else None,
        "power_w": power,
        "power_limit_w": limit,
        "util": util / 100 if util is not None else None,
        "temp_c": degrees,
    }


def _float(text: str) -> "float | None":
    """None for `[N/A]` and its like."""
    try:
        return float(text)
    except ValueError:
        return None


def _disk(path: "str | None") -> "tuple[float | None, float | None]":
    try:
        found = os.statvfs(path) if path is not None else None
    except (OSError, ValueError):
        found = None
    if found is None or not found.f_blocks:
        return None, None
    return found.f_bavail * found.f_frsize / GB, found.f_blocks * found.f_frsize / GB


def _command(pid: int) -> "str | None":
    words = "\0".join(_lines(f"/proc/{pid}/cmdline")).split("\0")
    return " ".join(words).strip()[:400] or None


def _lines(path: str) -> "list[str]":
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
