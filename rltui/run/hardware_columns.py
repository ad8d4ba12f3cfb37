"""Samples of the machines as columns, so that what is asked of all of them at once is one step of numpy.

Utilisation is told by power: a GPU's own figure only says that some kernel ran, so a rank that waits for others shows
100 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.hardware.base import Gpu, GpuSample, HardwareSample, HostSample
from rltui.run.table import Floats

IDLE_SHARE = 0.15
"""Idle power over the limit where the GPU was never seen idle: about 60 of 400 W on an A100 SXM, 70 to 100 of 700 W on
an H100 SXM."""

OF_GPU = ("memory_used_gb", "memory_total_gb", "power_w", "power_limit_w", "util", "foreign_gb")
OF_HOST = ("ram_used_gb", "free_gb", "aside")


@dataclass(frozen=True, eq=False, slots=True)
class SampleColumns:
    """One row a sample, oldest first, one column a GPU; NaN where nothing was told.

    `gpu` holds arrays of (samples, GPUs) by the names of `OF_GPU`, `host` of (samples,) by those of `OF_HOST`.
    `foreign_gb`: memory that processes of others (or dead ones, as inf) hold. `free_gb`: of the disk of the
    checkpoints, else of the run's directory. `aside`: 1 where a job ran beside the training.
    """

    samples: tuple[HardwareSample, ...]
    times: Floats
    gpus: tuple[Gpu, ...]
    gpu: Mapping[str, Floats]
    host: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.samples)

    def until(self, time: float) -> SampleColumns:
        """Those taken up to `time`."""
        return self._cut(slice(0, int(self.times.searchsorted(time, "right"))))

    def since(self, time: float) -> SampleColumns:
        return self._cut(slice(int(self.times.searchsorted(time)), None))

    def of_gpus(self, chosen: NDArray[np.bool_]) -> SampleColumns:
        """Those of the GPUs that are chosen, by column."""
        if chosen.all():
            return self
        gpus = tuple(gpu for gpu, taken in zip(self.gpus, chosen.tolist(), strict=True) if taken)
        gpu = {name: x[:, chosen] for name, x in self.gpu.items()}
        return SampleColumns(self.samples, self.times, gpus, gpu, self.host)

    def _cut(self, at: slice) -> SampleColumns:
        if at.indices(len(self)) == (0, len(self), 1):
            return self
        gpu, host = ({name: x[at] for name, x in of.items()} for of in (self.gpu, self.host))
        return SampleColumns(self.samples[at], self.times[at], self.gpus, gpu, host)

    def idle_w(self) -> Floats:
        """Watts of each GPU at rest, learned where no kernel ran; else `IDLE_SHARE` of its limit."""
        at_rest = np.where(self.gpu["util"] == 0.0, self.gpu["power_w"], np.nan)
        learned = np.fmin.reduce(at_rest, axis=0, initial=np.nan)
        limit = np.fmax.reduce(self.gpu["power_limit_w"], axis=0, initial=np.nan)
        idle: Floats = np.where(np.isfinite(learned), learned, IDLE_SHARE * limit)
        return idle

    def power_use(self, idle_w: Floats) -> Floats:
        """(power - idle) / (limit - idle) of every GPU at every sample, cut to 0..1."""
        span = self.gpu["power_limit_w"] - idle_w
        use: Floats = np.clip((self.gpu["power_w"] - idle_w) / np.where(span > 0, span, np.nan), 0.0, 1.0)
        return use


def columns(samples: tuple[HardwareSample, ...]) -> SampleColumns:
    """All samples taken apart."""
    alike: dict[tuple[Gpu, ...], list[int]] = {}  # GPUs of a sample -> the samples that tell of just these
    for row, sample in enumerate(samples):
        alike.setdefault(tuple([(g.node, g.index) for g in sample.gpus]), []).append(row)
    gpus = tuple(dict.fromkeys(gpu for known in alike for gpu in known))
    at = {gpu: i for i, gpu in enumerate(gpus)}
    gpu = np.full((len(samples), len(gpus), len(OF_GPU)), np.nan)
    for known, rows in alike.items():
        if known:
            gpu[np.ix_(rows, [at[g] for g in known])] = np.array(
                [[_of_gpu(g) for g in samples[row].gpus] for row in rows], dtype=np.float64
            )
    host = np.array([_of_host(s.host) for s in samples], dtype=np.float64).reshape(len(samples), len(OF_HOST))
    times = np.array([s.time for s in samples], dtype=np.float64)
    by_gpu = {name: gpu[:, :, i].copy() for i, name in enumerate(OF_GPU)}
    return SampleColumns(samples, times, gpus, by_gpu, {name: host[:, i].copy() for i, name in enumerate(OF_HOST)})


def _of_gpu(g: GpuSample) -> tuple[float | None, ...]:
    """In the order of `OF_GPU`; None becomes NaN."""
    foreign = 0.0
    for p in g.processes:
        if p.zombie or p.ours is False:
            foreign += np.inf if p.zombie else p.memory_gb or 0.0
    return g.memory_used_gb, g.memory_total_gb or None, g.power_w, g.power_limit_w or None, g.util, foreign


def _of_host(host: HostSample | None) -> tuple[float | None, ...]:
    """In the order of `OF_HOST`."""
    if host is None:
        return (None,) * len(OF_HOST)
    free = next((d.free_gb for d in host.disks if "checkpoints" in d.what and d.free_gb is not None), host.disk_free_gb)
    return host.ram_used_gb, free, float(any(p.aside for p in host.processes))


class ColumnCache:
    """Columns of samples that are appended to and thinned: only new ones are taken apart."""

    def __init__(self) -> None:
        self._of = columns(())

    def of(self, samples: tuple[HardwareSample, ...]) -> SampleColumns:
        old = self._of.samples
        if samples is not old:
            self._of = self._updated(samples)
        return self._of

    def _updated(self, samples: tuple[HardwareSample, ...]) -> SampleColumns:
        old, n = self._of, len(self._of)
        if n and len(samples) >= n and samples[n - 1] is old.samples[-1]:
            kept, fresh = old, samples[n:]
        else:
            known = {id(s): i for i, s in enumerate(old.samples)}
            held = [i for s in samples if (i := known.get(id(s))) is not None]
            if not held or any(id(s) in known for s in samples[len(held) :]):
                return columns(samples)  # others, or in another order
            pick = np.array(held, dtype=np.int64)
            gpu, host = ({name: x[pick] for name, x in of.items()} for of in (old.gpu, old.host))
            kept = SampleColumns(samples[: len(held)], old.times[pick], old.gpus, gpu, host)
            fresh = samples[len(held) :]
        new = columns(fresh)
        if set(new.gpus) - set(kept.gpus):
            return columns(samples)
        place = [kept.gpus.index(g) for g in new.gpus]
        wide = {name: np.full((len(fresh), len(kept.gpus)), np.nan) for name in OF_GPU}
        for name, x in new.gpu.items():
            wide[name][:, place] = x
        return SampleColumns(
            samples,
            np.concatenate((kept.times, new.times)),
            kept.gpus,
            {name: np.concatenate((kept.gpu[name], wide[name])) for name in OF_GPU},
            {name: np.concatenate((kept.host[name], new.host[name])) for name in OF_HOST},
        )
