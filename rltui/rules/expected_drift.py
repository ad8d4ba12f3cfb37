"""Expectations of causes about where the first updates of a run led."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from rltui.data_files import Record
from rltui.rules.bounds import Unmet, Words


class Steady(Record, frozen=True, tag="steady", tag_field="test"):
    """From the first step on, the updates led one way little by little (`holds`; otherwise they did not). They follow
    another goal than the reward, rather than going too far. Only for findings that began in those steps. `assumed`: a
    condition of the cause, not a proof of it. `rose`: this metric must also have risen by at least `by` of its
    beginning meanwhile."""

    holds: bool = True
    rose: str = ""
    by: Annotated[float, Meta(ge=0)] = 0.0
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False


class WeightsStand(Record, frozen=True, tag="weights stand", tag_field="test"):
    """The policy equals its reference to the last digit in all rows, or what it writes has not changed since the start,
    although gradients are above 0."""

    unmet: Unmet = "contradicts"
    decisive: bool = True


class Retraced(Record, frozen=True, tag="retraced", tag_field="test"):
    """While the score fell back to near its start, the metric also fell by at least `by`: the policy went back the way
    that it had come, whatever it did afterwards."""

    metric: Words
    by: Annotated[float, Meta(gt=0, lt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Stays(Record, frozen=True, tag="stays", tag_field="test"):
    """Since the finding's onset the metric has been level: both halves of the time since then are within `by` of each
    other, including their error."""

    metric: Words
    by: Annotated[float, Meta(gt=0)]
    unmet: Unmet = "contradicts"
    decisive: bool = False


class AlwaysEqual(Record, frozen=True, tag="equal", tag_field="test"):
    """Two metrics are the same number in every row."""

    metric: Words
    of: Words
    unmet: Unmet = "contradicts"
    decisive: bool = True


class WentUp(Record, frozen=True, tag="went up", tag_field="test"):
    """Near the onset the metric went within a few rows to a level at least `times` as high, and stays there. A metric
    that grows little by little does not do that."""

    metric: Words
    times: Annotated[float, Meta(gt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class IsPenalty(Record, frozen=True, tag="is the penalty", tag_field="test"):
    """The loss is the KL to the reference times one number in all rows: it shows nothing that the KL does not show.
    With `holds` false, the loss must be more than that. `assumed`: a condition of the cause, not a proof of it."""

    holds: bool = True
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False
