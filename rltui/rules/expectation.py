"""What to expect of this run if a cause is true: each expectation is one test of its numbers, config, log or samples.

The result is met, not met, or not testable. `unmet` says what "not met" means: by default, the cause is contradicted;
"open" means that it proves nothing (such as a log that names no error).
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from rltui.data_files import Record
from rltui.rules.bounds import NUMBERS, SETS, Bound, Unmet, Words, as_number, plain
from rltui.rules.expected_drift import AlwaysEqual, IsPenalty, Retraced, Stays, Steady, WeightsStand, WentUp
from rltui.rules.expected_grading import (
    BecameAlike,
    ByChance,
    GaveOneScore,
    Opposed,
    PartTurned,
    Stopped,
    Unpaid,
    UpsideDown,
)
from rltui.rules.expected_length import CouldCost, TookOfLimit
from rltui.rules.expected_validation import HeldOut


class MetricMoved(Record, frozen=True, tag="moved", tag_field="test"):
    """The metric went this way by at least `by` of its level before: from the finding's onset on ("onset"), or over the
    whole run ("start"). If the metric has members, any member will do, and the one that moved most is reported.
    `extra`: only those parts of the reward that are not the task. `first`: the move must have begun by the time the
    finding began, as a cause does not follow its effect. `decisive`: if this is found, no further search is needed."""

    metric: Words
    way: Literal["up", "down"]
    by: Annotated[float, Meta(ge=0)]
    since: Literal["onset", "start", "either"] = "onset"
    first: bool = False
    extra: bool = False
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False


class Jumped(Record, frozen=True, tag="jumped", tag_field="test"):
    """The metric jumped to another level shortly before the onset, by at least `by` of the level before. `within`: the
    row before is at most this many steps away, as the policy may change in more updates. `one_row`: most of the jump
    lies between two rows, and the metric was level before and is level since. Learning over some updates looks
    different."""

    metric: Words
    way: Literal["up", "down"]
    by: Annotated[float, Meta(ge=0)]
    within: Annotated[int, Meta(ge=1)] | None = None
    one_row: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Outgrew(Record, frozen=True, tag="outgrew", tag_field="test"):
    """The metric grew by at least `by` more than another one. Example: the longest answer more than the mean."""

    metric: Words
    of: Words
    by: Annotated[float, Meta(gt=0)]
    unmet: Unmet = "contradicts"
    decisive: bool = False


class HeldLevel(Record, frozen=True, tag="held", tag_field="test"):
    """The metric stays within `by` of its earlier level: right after the finding's onset ("onset"), or over the whole
    run ("start")."""

    metric: Words
    by: Annotated[float, Meta(gt=0)]
    since: Literal["onset", "start"] = "onset"
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False


class NoneMoved(Record, frozen=True, tag="none moved", tag_field="test"):
    """The metric has several members, and from the finding's onset on none of them went this way by `by` of its earlier
    level. `task`: only those parts of the reward that are the task count."""

    metric: Words
    way: Literal["up", "down"]
    by: Annotated[float, Meta(gt=0)]
    task: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Noisier(Record, frozen=True, tag="noisier", tag_field="test"):
    """The metric, or a member of it, jumps from row to row at least `times` as much as before the onset."""

    metric: Words
    times: Annotated[float, Meta(gt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Faded(Record, frozen=True, tag="faded", tag_field="test"):
    """The metric had come down little by little before the onset, to at most this `share` of its highest level."""

    metric: Words
    share: Annotated[float, Meta(gt=0, lt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = False


class LittleByLittle(Record, frozen=True, tag="little by little", tag_field="test"):
    """The metric did not go by `by` of its level, or of 1 if that is less, within one row about the onset: what a
    policy learns takes more rows. `assumed`: a condition of the cause, not a proof of it."""

    metric: Words
    by: Annotated[float, Meta(gt=0)]
    assumed: bool = True
    unmet: Unmet = "contradicts"
    decisive: bool = False


class RoseAgain(Record, frozen=True, tag="rose again", tag_field="test"):
    """The metric had come down to at most this `share` of its earlier value. Shortly before the onset it rose to about
    that value again, at once or within a warm-up: a schedule that begins anew."""

    metric: Words
    share: Annotated[float, Meta(gt=0, lt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Calm(Record, frozen=True, tag="calm", tag_field="test"):
    """The metric changed its level at once, and the update of that row was like those before: none of `updates` was
    above its band. If `place`, which shows where the policy is, is not logged, the metrics of `policy` must have held
    their level within `by`; otherwise the result is unknown. `holds`: false asks for an unusual update. `assumed`: a
    condition of the cause, not a proof of it; it counts as met if unknown."""

    metric: Words
    place: Words
    updates: tuple[Words, ...]
    policy: tuple[Words, ...]
    by: Annotated[float, Meta(gt=0)]
    holds: bool = True
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = True


class WentBack(Record, frozen=True, tag="went back", tag_field="test"):
    """At one step near the onset, at least two of the metrics went at least this `share` of the way back to where the
    run began. `led` must be among them if it is logged. The weights are then those of an earlier step."""

    metrics: tuple[Words, ...]
    led: Words
    share: Annotated[float, Meta(gt=0, lt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Mirrored(Record, frozen=True, tag="mirrored", tag_field="test"):
    """The other metric goes down from row to row whenever the metric, or a member of it, goes up, all other members
    being equal."""

    metric: Words
    of: Words
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Retained(Record, frozen=True, tag="retained", tag_field="test"):
    """The metric still has at least this `share` of its level at the start."""

    metric: Words
    share: Annotated[float, Meta(gt=0)]
    unmet: Unmet = "contradicts"
    decisive: bool = False


class NeverRose(Record, frozen=True, tag="never rose", tag_field="test"):
    """The metric was at its best in its first rows, which show the start of the run. Since then it has lost at least
    this `share`, little by little."""

    metric: Words
    share: Annotated[float, Meta(gt=0, lt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = False


class TaskScore(Record, frozen=True, tag="task score", tag_field="test"):
    """Where the task's reward is between its lowest and its highest value, 0..1: its own part if parts are logged,
    otherwise the whole. `validated`: if nothing bounds the reward, the validation score is used, if it is a share."""

    op: Bound
    value: float
    validated: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False


class Updates(Record, frozen=True, tag="updates", tag_field="test"):
    """A rollout is used for more than one optimiser step, as far as the config shows."""

    unmet: Unmet = "contradicts"
    decisive: bool = False


class Stands(Record, frozen=True, tag="stands", tag_field="test"):
    """The level of the metric, in its own unit: since the onset ("then"), in the first rows ("start"), at its best
    ("best"), at its highest ("highest"), or in the row in which something broke ("row"), as later rows show its effect.
    `named`: only members with this in their name. `assumed`: a condition of the cause, not a proof of it."""

    metric: Words
    op: Bound
    value: float
    at: Literal["then", "start", "best", "highest", "row"] = "then"
    named: str = ""
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False


class Configured(Record, frozen=True, tag="config", tag_field="test"):
    """A setting of this run, by its canonical name. `op` compares a number, or asks whether a value is among several;
    words compare without case. `of`: the number is multiplied by that other setting. A setting that is off is neither
    large nor on. `assumed`: a condition of the cause, not a proof of it; it counts as met if the config does not give
    the setting."""

    key: Words
    op: Literal[">", ">=", "<", "<=", "in", "not in"]
    value: float | tuple[float | str | bool | None, ...]
    of: str = ""
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.value, tuple) != (self.op in SETS):
            raise ValueError(f"`{self.op}` asks for {'a list' if self.op in SETS else 'a number'}")

    def holds(self, value: object, times: float = 1.0) -> bool | None:
        """Whether the setting meets the test. None if the value cannot be compared, such as a word with a number."""
        if isinstance(self.value, tuple):
            inside = any(plain(value) == plain(wanted) for wanted in self.value)
            return inside == (self.op == "in")
        number = as_number(value)
        return None if number is None else NUMBERS[self.op](number, self.value * times)


class UnlikeSet(Record, frozen=True, tag="unlike set", tag_field="test"):
    """The metric is logged as at least `times` the value that the config sets under the same name."""

    metric: Words
    times: Annotated[float, Meta(gt=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = False


class PenaltyOff(Record, frozen=True, tag="penalty off", tag_field="test"):
    """A KL coefficient is set, and neither loss nor reward uses it. With `off` False: that is not the case."""

    off: bool = True
    unmet: Unmet = "contradicts"
    decisive: bool = False


class SharedData(Record, frozen=True, tag="shared data", tag_field="test"):
    """Validation reads only files that are used for training."""

    unmet: Unmet = "contradicts"
    decisive: bool = True


class OtherFinding(Record, frozen=True, tag="finding", tag_field="test"):
    """One of these rules found something, at least as a note, no later than the finding began. `during`: or later while
    the finding is open, as some things show only with time. `of`: what the rules judge; if neither log nor config shows
    it, they could not run."""

    rules: tuple[str, ...]
    during: bool = False
    of: str = ""
    unmet: Unmet = "contradicts"
    decisive: bool = False


class BetweenSaves(Record, frozen=True, tag="between saves", tag_field="test"):
    """The finding's step lies between two planned saves, so it was never saved. `holds`: false asks for a step that was
    planned to be saved."""

    holds: bool = True
    unmet: Unmet = "contradicts"
    decisive: bool = False


class Said(Record, frozen=True, tag="log", tag_field="test"):
    """A line of the log with a warning, an error or a change matches, before or while the finding is open, and does not
    match `unless`: it is about something else. Case is ignored."""

    pattern: Words
    unless: str = ""
    unmet: Unmet = "open"
    decisive: bool = True

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
            re.compile(self.unless)
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None


class Took(Record, frozen=True, tag="phase", tag_field="test"):
    """These phases took at least this share of the extra seconds of a step since the onset; if steps did not become
    longer, of the whole step."""

    phases: tuple[str, ...]
    share: Annotated[float, Meta(ge=0, le=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class EveryPhase(Record, frozen=True, tag="every phase", tag_field="test"):
    """Steps became slower, and so did all of these phases that count, by about as much, except at most a short one.
    None of them is to blame."""

    phases: tuple[str, ...]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Explains(Record, frozen=True, tag="explains", tag_field="test"):
    """The growth of a metric (tokens of an answer) explains at least this share of the growth of step time, on a log
    scale."""

    metric: Words
    share: Annotated[float, Meta(ge=0, le=1)]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class InSamples(Record, frozen=True, tag="samples", tag_field="test"):
    """A number of the newest samples since the onset (a field of `SampleStats`)."""

    field: Words
    op: Bound
    value: float
    unmet: Unmet = "contradicts"
    decisive: bool = False


class OnMachine(Record, frozen=True, tag="machine", tag_field="test"):
    """What the newest samples of the machine show, as medians: GPU utilisation (0..1) and share of its power, and
    memory of other programs on a GPU (GB)."""

    column: Literal["util", "power", "foreign_gb"]
    op: Bound
    value: float
    unmet: Unmet = "contradicts"
    decisive: bool = False


class Resumed(Record, frozen=True, tag="resumed", tag_field="test"):
    """The run was resumed right before the onset. `changed`: with other settings, by its config or its log. `holds`:
    false asks for a run that was not resumed."""

    changed: bool = False
    holds: bool = True
    unmet: Unmet = "contradicts"
    decisive: bool = False


class AnyOf(Record, frozen=True, tag="any", tag_field="test"):
    """Met if one of the tests is met. Otherwise an answer from the run's own numbers takes precedence over a test that
    the config leaves open."""

    tests: tuple[Test, ...]
    unmet: Unmet = "contradicts"
    decisive: bool = False


Test = (
    MetricMoved
    | Jumped
    | Outgrew
    | HeldLevel
    | NoneMoved
    | Noisier
    | Faded
    | LittleByLittle
    | RoseAgain
    | UnlikeSet
    | Calm
    | WentBack
    | Mirrored
    | Unpaid
    | ByChance
    | BecameAlike
    | GaveOneScore
    | Opposed
    | UpsideDown
    | Retained
    | NeverRose
    | Steady
    | WeightsStand
    | AlwaysEqual
    | Stays
    | Retraced
    | CouldCost
    | IsPenalty
    | WentUp
    | TookOfLimit
    | HeldOut
    | Stopped
    | PartTurned
    | TaskScore
    | Updates
    | Stands
    | Configured
    | PenaltyOff
    | SharedData
    | OtherFinding
    | BetweenSaves
    | Said
    | Took
    | EveryPhase
    | Explains
    | InSamples
    | OnMachine
    | Resumed
    | AnyOf
)
