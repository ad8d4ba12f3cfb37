"""What a diagnosis consists of. Field names are those of the report's JSON (contract in the schema)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from rltui.evidence.facts import RunFacts
    from rltui.evidence.outages import Gap
    from rltui.run.hardware import PhaseHardware

Severity = Literal["info", "warning", "critical"]
Status = Literal["active", "resolved"]
Basis = Literal["hypothesis", "config", "samples", "log"]
Level = Literal["pass", "warn", "fail", "unknown"]
Decision = Literal["continue", "continue-watch", "stop-use-best", "pause-and-fix", "abort-now", "not-enough-evidence"]
Kind = Literal["healthy", "unstable", "not-learning", "reward-hacking", "misconfigured", "degraded", "stopped"]

Tone = Literal["ok", "warn", "crit", "none"]

SEVERITY_RANK: dict[str, int] = {"info": 0, "warning": 1, "critical": 2}


class Mark(StrEnum):
    """What a judge needs to know about a finding beyond its level, so that it need not parse sentences."""

    TO_ITS_FLOOR = "to-its-floor"
    """The fall left nothing of the reward."""

    DISK_FULL = "disk-full"
    """There is no room left, not only little."""

    INTERRUPTED = "interrupted"
    """The run was ended from outside and nothing in it failed, so it can be resumed as it is."""

    PAID = "paid"
    """Reward or validation still gains: fix it, but it is no reason to stop."""

    NOT_THE_POLICY = "not-the-policy"
    """Its first cause lies outside the policy, so an earlier checkpoint would not help."""

    NOT_YET = "not-yet"
    """The finding says that something has not come yet. Once that has come, the finding has nothing left to report."""

    COSTS = "costs"
    """It costs time or signal and harms nothing. A run with such a note is not called clear. If the run is over, it is
    no reason to start again."""

    UNREFUTED = "unrefuted"
    """The log has answered every question that could have refuted the finding, and none of the answers does."""


class Episode(Struct, frozen=True):
    """One opening of a finding. `end_step` is None while it is open; `severity` is the highest it reached;
    `opened_step` is the step at which it was first reported, None if that was not recorded."""

    onset_step: int | None
    end_step: int | None
    severity: Severity
    opened_step: int | None = None


class Evidence(Struct, frozen=True):
    """The numbers behind a finding. first/mid/last are window means in the metric's own unit; None = no data."""

    metric: str  # canonical name or raw key
    key: str  # the raw key it came from
    first: float | None
    mid: float | None
    last: float | None
    slope_per_100_steps: float | None
    text: str


class RecoveryBand(Struct, frozen=True):
    """Where `metric` has to be again before a loud finding is over, in the metric's own unit: on this `side` of `edge`.
    `before`: the median before step `onset_step`. `now`: the median of the newest points. `text` says all of it in
    words."""

    metric: str
    side: Literal["below", "above"]
    before: float
    edge: float
    onset_step: int
    now: float | None
    text: str


CauseStatus = Literal["supported", "contradicted", "untestable"]


class Cause(Struct, frozen=True):
    """A possible cause. `config_key` in this framework's spelling and its value here, None if it has no setting.
    `because`: the numbers for or against it, or what would make it testable. `look`: what to look at by hand if the log
    does not show it."""

    text: str
    config_key: str | None = None
    value: str | float | int | bool | None = None
    status: CauseStatus = "untestable"
    because: str = ""
    look: str = ""


class Fix(Struct, frozen=True):
    """`value`: what the setting is now. `to`: what to try. Both are None if the run's config does not say, or if the
    fix is not a setting. `act`: shared by fixes of several findings that are the same change."""

    text: str
    config_key: str | None
    impact: str  # one of `IMPACTS`
    risk: str  # one of `RISKS`
    value: str | float | int | bool | None = None
    to: str | float | int | bool | None = None
    act: str = ""


COPY_BEST = "copy-best"
"""The `act` of a fix that keeps the best checkpoint that is left: without a checkpoint there is nothing to keep."""
GO_BACK = "go-back"
"""The `act` of a fix that needs a saved checkpoint."""
USE_BEST = "use-best"
"""The `act` of a fix that needs the best checkpoint, which the report names."""
IMPACTS = ("high", "medium", "low")
RISKS = ("none", "low", "medium", "high")
"""The order in which fixes are listed."""


class Finding(Struct, frozen=True):
    """One rule that found something on one subject. `severity` is the current one, and info once it is resolved."""

    id: str
    subject: str | None
    title: str
    severity: Severity
    peak_severity: Severity
    status: Status
    episodes: tuple[Episode, ...]
    stage: str | None  # "reward" | "advantages" | "log-probs" | "loss" | "generation"
    onset_step: int | None
    last_step: int | None
    confidence: float  # 0..1
    basis: Basis
    root: str | None  # id of the finding whose symptom this is
    evidence: tuple[Evidence, ...]
    causes: tuple[Cause, ...]
    fixes: tuple[Fix, ...]
    refute: tuple[str, ...]
    life: str = "open"  # "open" | "worse" | "better" | "steady" | "resolved"
    summary: str = ""  # one sentence: what is wrong, in this run's numbers
    marks: tuple[Mark, ...] = ()
    where: tuple[str, ...] = ()  # files of this framework's code to open, to confirm or refute it
    band: RecoveryBand | None = None  # None if it is over when its condition is


class BestCheckpoint(Struct, frozen=True):
    """`value` is the smoothed metric at the step, `se` its standard error, `on_disk` None if that is unknown.

    `basis` says in words by what it is best: which validation sets, or the train reward if there are none. `against`:
    how it compares with the start, if it does not beat it. `sets`: the number of validation sets that rank together, of
    which `metric` is one. `before`: the step at which the fault begins, if a later state would be the best of all.
    `unknown`: a sentence for the case that no evaluation shows the start; `beats_start` then says whether the train
    reward was above its own start. `logged`: the evaluation of that step exactly as logged, None without one.
    """

    step: int
    path: str | None
    on_disk: bool | None
    metric: str
    value: float
    se: float | None
    basis: str = ""
    beats_start: bool = False  # by more than the errors of both
    against: str = ""
    sets: int = 1
    before: int | None = None
    unknown: str = ""
    logged: float | None = None

    @property
    def called(self) -> str:
        """What it is called: a step at which no save was seen is not a checkpoint."""
        return "best step" if self.path is None else "best checkpoint"

    @property
    def worth_keeping(self) -> bool:
        """Whether it was saved, may still be there, and is better than the start of the run."""
        return self.path is not None and self.on_disk is not False and self.beats_start


class Verdict(Struct, frozen=True):
    decision: Decision
    kinds: tuple[Kind, ...]
    confidence: float  # 0 if nothing was judged
    because: tuple[str, ...]
    text: str
    would_change: str
    best_checkpoint: BestCheckpoint | None
    badge: str = "NO EVIDENCE"  # the decision in two or three words that fit the state of the run
    tone: Tone = "none"

    @property
    def judged(self) -> bool:
        """Whether there was enough data to judge anything."""
        return self.decision != "not-enough-evidence"


class StageResult(Struct, frozen=True):
    """One of the five pipeline stages, in order: reward, advantages, log-probs, loss, generation."""

    stage: str
    status: Level
    because: str


class MissingMetric(Struct, frozen=True):
    """An expected metric that is not logged, the rules that it blocks, and how to log it in this framework. `zero`: it
    is logged, but as 0 in every row, as some trainers do for what they do not measure."""

    metric: str
    blocks: tuple[str, ...]
    enable: str
    zero: bool = False

    @property
    def named(self) -> str:
        """The metric's name, with a remark if a constant 0 is logged for it."""
        return f"{self.metric} (0 throughout)" if self.zero else self.metric

    @property
    def text(self) -> str:
        """What is wrong with it."""
        return (
            f"{self.metric} is 0 throughout, as if it were not measured"
            if self.zero
            else f"{self.metric} is not logged"
        )


class Coverage(Struct, frozen=True):
    expected: int
    present: int
    missing: tuple[MissingMetric, ...]


class NotEvaluable(Struct, frozen=True):
    """A rule that could not run, and what it needs, in the user's words."""

    id: str
    title: str
    needs: str
    enable: str
    applies: bool = True  # false: this kind of run has no use for the rule, `needs` says why


class CheckFailed(Struct, frozen=True):
    """A check that raised: a fault of rltui, not of the run. `rule`: the id of the rule, or the name of the check."""

    rule: str
    error: str


class Forecast(Struct, frozen=True):
    """`at`, `low`, `high`: the middle estimate and the middle 90 %, in `unit` ("s" from now, or "step"). `high` None:
    the trend may be too slow to ever get there. `rows`: how many rows it rests on. `subject`: which GPU or disk, if
    there are several. `would_change`: what would change the forecast."""

    what: str  # a key of data/forecasts.json
    metric: str
    at: float
    low: float
    high: float | None
    rows: int
    text: str
    unit: str
    would_change: str
    subject: str | None = None


class MachineView(Struct, frozen=True):
    """The machine beside the findings: what each phase draws and holds, each GPU's utilisation by power ((node, index)
    -> median of the last minutes, 0..1), and what runs out."""

    phases: tuple[PhaseHardware, ...]
    power_use: Mapping[tuple[str, int], float]
    forecasts: tuple[Forecast, ...]


class Diagnosis(Struct, frozen=True):
    """The whole result at one step (None before the first row): findings worst first, symptoms after their roots."""

    at_step: int | None
    verdict: Verdict
    findings: tuple[Finding, ...]
    pipeline: tuple[StageResult, ...]
    coverage: Coverage
    not_evaluable: tuple[NotEvaluable, ...]
    checks: int  # rules that ran
    unknowns: tuple[str, ...]
    not_applicable: tuple[NotEvaluable, ...] = ()  # rules that this kind of run has no use for
    machine: MachineView | None = None  # None if nothing was measured
    facts: RunFacts | None = None  # None before the first row
    checks_failed: tuple[CheckFailed, ...] = ()  # by name; none of them is among `checks`
    gaps: tuple[Gap, ...] = ()  # rows in which the reward was not measured, or not on the scale of the newest


STAGES: dict[str, tuple[str, ...]] = {
    "reward": ("score_mean", "reward_mean"),
    "advantages": ("frac_reward_zero_std", "advantage_mean", "frac_groups_mixed", "grad_norm"),
    "log-probs": ("rollout_train_logprob_diff", "rollout_train_kl", "ppo_kl", "kl_ref"),
    "loss": ("grad_norm", "pg_loss", "total_loss"),
    "generation": ("response_length_mean", "response_clip_ratio", "entropy"),
}
"""Stage -> metrics. At least one of them must be logged before anything can be said about the stage."""


def unread() -> Diagnosis:
    """The diagnosis while the run is still being read: it claims nothing."""
    return _blank("Reading the run.", "The rest of the files.", "still reading")


def stuck(before: Diagnosis | None, error: str) -> Diagnosis:
    """The diagnosis after it failed as a whole: the state `before` the failure (None if there was none), and the error
    that stopped it."""
    failed = CheckFailed("diagnosis", error)
    if before is None or before.at_step is None:
        text = f"The diagnosis failed, by a fault of rltui: {error}. Nothing was judged."
        return replace(_blank(text, "A version of rltui without this fault.", "not judged"), checks_failed=(failed,))
    text = f"The diagnosis stands at step {before.at_step}: it failed there, by a fault of rltui: {error}."
    verdict = replace(before.verdict, text=f"{text} {before.verdict.text}")
    return replace(before, verdict=verdict, checks_failed=(*before.checks_failed, failed))


def _blank(text: str, would_change: str, because: str) -> Diagnosis:
    verdict = Verdict("not-enough-evidence", (), 0.0, (), text, would_change, None)
    stages = tuple(StageResult(stage, "unknown", because) for stage in STAGES)
    return Diagnosis(None, verdict, (), stages, Coverage(0, 0, ()), (), 0, ())
