"""How much of a step's signal is left at each stage, from the rewards to the gradient: what a group of equal rewards, a
clipped token or a gradient near zero takes away, and since when."""

from __future__ import annotations

from msgspec import Struct

from rltui.report.courses import headed
from rltui.report.model import MetricSummary, Report


class Passed(Struct, frozen=True):
    """One stage. `share`, `at_start`: the share that it lets through in the last and in the first window, 0 to 1; None
    if no metric that shows it is logged. `of`: what the share refers to. `since`: the step since when a finding says
    that it fell. `metric`: the logged metric that shows it, or the one that would."""

    stage: str
    of: str
    share: float | None
    at_start: float | None
    since: int | None
    metric: str


START = "its start"


def _left(metric: MetricSummary) -> tuple[float | None, float | None]:
    """The share that is left in the first and in the last window, from a metric of the share that is lost."""
    first, last = metric.ends
    return None if first is None else _share(1.0 - first), None if last is None else _share(1.0 - last)


def _of_start(metric: MetricSummary) -> tuple[float | None, float | None]:
    """The present size as a share of the first one."""
    first, last = metric.ends
    if not first or last is None or first < 0.0:
        return None, None
    return 1.0, _share(last / first)


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


STAGES = (
    ("spread of rewards", START, ("reward_std",), _of_start),
    ("groups with variance", "all groups", ("frac_reward_zero_std",), _left),
    ("advantages", START, ("advantage_abs_mean", "advantage_max"), _of_start),
    ("unclipped tokens", "all tokens", ("clip_frac",), _left),
    ("gradient", START, ("grad_norm",), _of_start),
)


def signal_budget(report: Report) -> tuple[Passed, ...]:
    """The stages in order. Most are shares of what came in; a stage without a whole, such as the gradient, is a share
    of its start."""
    found, findings = [], headed(report, notes=True)
    for stage, of, names, ends in STAGES:
        name = next((one for one in names if one in report.metrics), names[0])
        metric = report.metrics.get(name)
        first, last = ends(metric) if metric is not None else (None, None)
        fell = first is not None and last is not None and last < first
        since = findings[name].onset_step if fell and name in findings else None
        found.append(Passed(stage, of, last, first, since, name))
    return tuple(found)
