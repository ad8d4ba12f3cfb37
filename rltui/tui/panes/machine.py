"""Look-ups in the samples of the machines that pane 4 and its screen share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rltui.hardware.base import newest
from rltui.report.recording import sample_columns
from rltui.tui.view import GLYPH, ROLE

if TYPE_CHECKING:
    from rltui.hardware.base import GpuSample, HostSample
    from rltui.report.recording import Floats, SampleColumns
    from rltui.tui.view import View

STEPS = 3
"""Steps that the power rows span."""


def sampled(view: View) -> SampleColumns:
    """Samples up to the step cursor's time; all of them without a cursor or where times are unknown."""
    seen = sample_columns(view.recording)
    frame = view.recording
    if frame is None or view.cursor is None:
        return seen
    times = [
        float(s.times[i])
        for s in frame.series.values()
        if len(s) and (i := int(s.steps.searchsorted(view.cursor, "right")) - 1) >= 0 and s.times[i] == s.times[i]
    ]
    return seen.until(max(times)) if times else seen


def newest_gpus(seen: SampleColumns) -> tuple[GpuSample, ...]:
    return newest(seen.samples)[0]


def newest_host(seen: SampleColumns) -> HostSample | None:
    return newest(seen.samples)[1]


@dataclass(frozen=True, slots=True)
class Span:
    """Times from which to which rows of samples are drawn, and what that is in words."""

    first: float
    last: float
    words: str


def span(view: View, seen: SampleColumns) -> Span:
    """The last three steps where their length is known, else all samples."""
    step = sum(item.seconds for item in view.report.phases.items) if view.report else 0.0
    if len(seen) and 0 < STEPS * step <= seen.times[-1] - seen.times[0]:
        end = float(seen.times[-1])
        return Span(end - STEPS * step, end, f"last {STEPS} steps")
    return whole(seen)


def whole(seen: SampleColumns) -> Span:
    """All samples."""
    from rltui.plots.numbers import duration

    if len(seen) < 2:
        return Span(0.0, 0.0, "")
    start, end = float(seen.times[0]), float(seen.times[-1])
    return Span(start, end, f"last {duration(end - start)}")


def spark(view: View, times: Floats, values: Floats, over: Span, width: int, top: float | None) -> str:
    """A row over a span of time, from 0 to `top` (None: to the highest), newest at the right."""
    import numpy as np

    from rltui.plots.spark import sparkline

    start = int(times.searchsorted(over.first))
    values = values[start:]
    known = values[np.isfinite(values)]
    if not len(known) or width <= 0:
        return " " * max(0, width)
    bounds = (0.0, top or float(known.max()) or 1.0)
    return sparkline(times[start:] - over.first, values, width, 0.0, over.last - over.first, view.glyphs, bounds)


def marks(view: View) -> dict[str, tuple[str, str]]:
    """Subject of an open finding (a GPU as `node GPU 3`) -> glyph and role of the worst one."""
    out: dict[str, tuple[str, str]] = {}
    for finding in view.open_findings():  # worst first
        if finding.subject and finding.severity != "info":
            out.setdefault(finding.subject, (GLYPH[finding.severity], ROLE[finding.severity]))
    return out


def subject(gpu: GpuSample) -> str:
    return f"{gpu.node} GPU {gpu.index}".strip()


def trouble(gpu: GpuSample) -> str:
    """What is wrong with a GPU, in words; empty where nothing is."""
    if gpu.lost:
        return "does not answer"
    said = []
    if gpu.xids:
        said.append("XID " + ", ".join(str(x) for x in dict.fromkeys(gpu.xids)))
    if gpu.ecc_uncorrected:
        said.append(f"{gpu.ecc_uncorrected} memory errors")
    if gpu.throttle:
        said.append("slowed: " + ", ".join(gpu.throttle))
    if any(p.zombie for p in gpu.processes):
        said.append("zombie")
    return " · ".join(said)


def remarks(gpu: GpuSample) -> str:
    """What else there is to say: split into instances, who else works there."""
    foreign = sum(p.ours is False and not p.zombie for p in gpu.processes)
    said = ["MIG"] if gpu.mig else []
    if foreign:
        said.append(f"{foreign} foreign process{'es' if foreign > 1 else ''}")
    return " · ".join(said)
