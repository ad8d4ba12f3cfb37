"""Finds out which open findings are reasons to stop, now and at the look before.

Advice changes only with evidence. A reason to stop begins when it is shown: the harm is present in the newest values,
and it lasts. It ends when the newest values contradict it, not when a test that looks at other rows each time no longer
sees it. A single look may be noise, so a fall has to be shown for as long as the window in which it is seen. That holds
for a critical fall too, if only scores show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from rltui.evidence.clock import Clock
from rltui.evidence.effects import Effect
from rltui.evidence.facts import Facts
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Episode, Severity
from rltui.rules.base import farmed, leapt, validation, validation_lately
from rltui.rules.page import Rule
from rltui.rules.traits import Trait
from rltui.run.run import RunState

FAR_KL = 0.5
"""The distance from the reference, in nats per token, that counts as far."""
GAINS, RISES, SURELY = 1.0, 2.0, 3.0
"""Standard errors by which validation must be better than before: it may be better; it is; it is, against advice that
already stands."""
WITHIN = 1.0
"""Standard errors within which a level counts as no lower than the best."""
PART, HALF = 0.25, 0.5
"""Of a loss, made good: it may heal; the score is nearer to what it was than to its lowest."""
FALLS = (Trait.REWARD_FALLS, Trait.VALIDATION_FALLS)
DIPS = (*FALLS, Trait.OVERFITS)
"""Findings about a score that may recover."""
REASONS = (Trait.PAST_ITS_BEST, Trait.DRIFT, Trait.SOLVED)
"""Findings that are a reason to stop even as a warning."""


def ended(look: Look, state: RunState | None) -> bool:
    """Whether no further row will come: the run is over, or its plan is reached and nothing shows that it continues."""
    if state is None:
        return False
    planned = look.settings.planned_steps
    silent = state.state in ("stalled", "unknown")
    return state.over or bool(silent and planned and look.step >= planned)


class OpenFinding(Protocol):
    """What must be known about an open finding."""

    @property
    def id(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def onset_step(self) -> int | None: ...
    @property
    def last_step(self) -> int | None: ...
    @property
    def episodes(self) -> Sequence[Episode]: ...


class Brief(Struct, frozen=True):
    """An open finding without its texts."""

    id: str
    severity: Severity
    onset_step: int | None
    last_step: int | None
    episodes: Sequence[Episode]


class Reasons(Struct, frozen=True):
    """The ids of the findings on which a stop rests, and those that are shown but not yet for long enough, each with
    the row since when."""

    stand: frozenset[str] = frozenset()
    shown: Mapping[str, int] = field(default_factory=dict)


class StopCase(Struct, frozen=True):
    """What findings are weighed with. `state`: None for a run as it stood at an earlier row. `reasons`: the reasons
    known from the looks so far."""

    look: Look
    catalogue: Mapping[str, Rule]
    state: RunState | None
    reasons: Reasons

    def has(self, finding: OpenFinding, *traits: Trait) -> bool:
        """Whether the rule of the finding has any of the traits."""
        return not self.catalogue[finding.id].traits.isdisjoint(traits)

    @property
    def over(self) -> bool:
        """Whether the run said that it ended."""
        return self.state is not None and self.state.over

    @property
    def ended(self) -> bool:
        return ended(self.look, self.state)

    @property
    def goes_on(self) -> bool:
        """Whether more rows may come; for an earlier row: they did."""
        return self.state is None or not (self.ended or self.state.state == "stalled")

    @property
    def broke_off(self) -> bool:
        """Whether nothing more came and nothing says that the run ended, whatever its plan."""
        return self.state is not None and self.state.broke_off and not self.ended

    @property
    def stopped_short(self) -> bool:
        """Whether rows stopped before the plan was reached and nothing says why, or an error came a moment ago.
        Somebody has to look whether the run continues."""
        if self.state is None or self.ended:
            return False
        return self.state.state == "stalled" or (self.state.state == "running" and self.state.broke_off)


def reasons(case: StopCase, found: Sequence[OpenFinding]) -> Reasons:
    """The reasons after one more look."""
    stand: set[str] = set()
    shown: dict[str, int] = {}
    for f in found:
        if f.severity == "info" or not case.has(f, *REASONS) or not _holds(case, f, found):
            continue
        since = case.reasons.shown.get(f.id, case.look.n)
        if f.id in case.reasons.stand or not _waits(case, f, since, found):
            stand.add(f.id)
        else:
            shown[f.id] = since
    return Reasons(frozenset(stand), shown)


def _waits(case: StopCase, finding: OpenFinding, since: int, found: Sequence[OpenFinding]) -> bool:
    """Whether a fall that is shown since row `since` has to be shown for longer. A critical fall of the reward may be a
    dip if only scores show that the policy has changed: it has to last for as long as it took to show, but no longer
    than a milder one. A fall of validation alone is not a dip."""
    if not case.has(finding, *DIPS):
        return False
    shown = case.look.n - since
    if finding.severity != "critical":
        return shown < NEWEST
    if not case.has(finding, Trait.REWARD_FALLS) or finding.onset_step is None:
        return False
    scores = (*DIPS, Trait.DRIFT, Trait.COST_ONLY, Trait.MEASUREMENT)
    if any(f.severity != "info" and not case.has(f, *scores) for f in found):
        return False
    clock, opened = case.look.facts.clock, finding.episodes[-1].opened_step if finding.episodes else None
    lasted = (clock.step - finding.onset_step) / clock.stride
    told = 0.0 if opened is None else (clock.step - opened) / clock.stride
    if told >= max(LONG, lasted - told):
        return False  # as a warning before
    return shown < max(NEWEST, min(lasted - shown, SHARE * (finding.onset_step - clock.first_step) / clock.stride))


def speaks(case: StopCase, finding: OpenFinding, found: Sequence[OpenFinding]) -> bool:
    """Whether a finding that may be a reason to stop is one. `found`: all open findings."""
    return not _is_awaited(case, finding) and _holds(case, finding, found)


def may_pass(case: StopCase, finding: OpenFinding) -> bool:
    """Whether a fall may recover, or is not yet shown for long enough."""
    return _is_awaited(case, finding) or may_heal(case, finding)


def _is_awaited(case: StopCase, finding: OpenFinding) -> bool:
    return finding.id in case.reasons.shown and case.goes_on


def _holds(case: StopCase, finding: OpenFinding, found: Sequence[OpenFinding]) -> bool:
    """Whether a reason is shown, or was shown before and has not been contradicted."""
    stands = finding.id in case.reasons.stand
    if not stands and case.goes_on and finding.last_step is not None and finding.last_step < case.look.step:
        return False  # no reason begins with what is no longer so
    if case.has(finding, Trait.SOLVED):
        gain = _gain_since(case.look, finding.onset_step)
        return gain is None or gain < (SURELY if stands else GAINS)
    if case.has(finding, Trait.DRIFT):
        if case.goes_on and _dipped(case, finding):
            return False
        falls = [f for f in found if f.severity != "info" and case.has(f, *FALLS)]
        return stands or (_long_drift(case, finding) and not any(may_pass(case, f) for f in falls))
    if validation_rises(case.look, SURELY if stands else RISES):
        return False
    return not (_contradicted(case, finding) if stands else may_heal(case, finding))


def may_heal(case: StopCase, finding: OpenFinding) -> bool:
    """Whether a fall of a score may pass, in a run that continues: it is young, or the newest values do not show it, or
    the score is coming up again. A critical fall was shown beyond doubt: the newest values have to contradict it. It is
    not enough that they are too few to show it again."""
    if not case.goes_on or finding.onset_step is None or not case.has(finding, *DIPS):
        return healed(case, finding)
    falls = case.has(finding, *FALLS)
    if falls and finding.severity != "critical" and young(case.look.facts.clock, *_told(case, finding)):
        return True
    below = _below_best(case, finding)
    doubted = below is not None and below.direction == 0
    if below is not None and finding.severity == "critical":
        doubted = abs(below.errors) < WITHIN
    return doubted or _comes_back(case, finding, PART, NEWEST)


def _gain_since(look: Look, step: int | None) -> float | None:
    """By how many standard errors validation is better than before; better than at a step, if there are enough
    evaluations since then, because what was learnt on the way to the ceiling is not a gain beyond it."""
    found = look.facts.validation
    since = None if found is None or step is None else found.since_step(step)
    late = None if since is None else since.late
    return validation(look) if late is None else late.errors


def _contradicted(case: StopCase, finding: OpenFinding) -> bool:
    """Whether the newest values no longer show a fall, or lie nearer to the level before it than to the lowest
    level."""
    if not case.goes_on or not case.has(finding, *DIPS):
        return healed(case, finding)
    below = _below_best(case, finding)
    if below is not None and abs(below.errors) < WITHIN:
        return True
    found = case.look.facts.metric(case.look.reward)
    return found is not None and _comes_back(case, finding, HALF, found.now.points)


def healed(case: StopCase, finding: OpenFinding) -> bool:
    """Whether the newest values are as good as the best before the fall, in a run that has ended: no more rows will
    come that could show again that the fall is over."""
    facts, step = case.look.facts, finding.onset_step
    score = _score(case, finding)
    if step is None or score is None or score.peak is None or not case.has(finding, *DIPS) or farmed(case.look):
        return False
    if (
        case.has(finding, *FALLS)
        and not _comes_back(case, finding, 1.0, NEWEST)
        and _fell(facts, case.look.reward, step)
    ):
        return False
    newest = score.after(step, 1 if score.held_out else NEWEST)
    return newest is not None and score.better * (newest.value - score.peak.value) >= -WITHIN * newest.se


def _fell(facts: Facts, reward: str, step: int) -> bool:
    """Whether the reward certainly lost something since a step. It need not regain what only validation lost."""
    found = _lost_and_gained(facts, reward, step, NEWEST)
    return found is not None and found[0] >= CLEAR * found[2]


def _comes_back(case: StopCase, finding: OpenFinding, part: float, points: int) -> bool:
    """Whether the newest points have made good this part of a fall of the reward. Evaluations are few: they may follow
    if the reward has come up."""
    if not case.has(finding, *FALLS) or farmed(case.look):
        return False
    return recovering(case.look.facts, case.look.reward, _began(case, finding), part, points)


def _below_best(case: StopCase, finding: OpenFinding) -> Effect | None:
    """How far the score that fell lies below its best; None if there are too few points."""
    found = _score(case, finding)
    return None if found is None else found.since_peak


def _score(case: StopCase, finding: OpenFinding) -> MetricFacts | None:
    """The score whose fall the finding reports."""
    facts = case.look.facts
    return facts.metric(case.look.reward) if case.has(finding, Trait.REWARD_FALLS) else facts.validation


def _began(case: StopCase, finding: OpenFinding) -> int:
    """The step at which the fall began: that of the first episode that was not made good."""
    return _told(case, finding)[0]


def _told(case: StopCase, finding: OpenFinding) -> tuple[int, int]:
    """The step at which the fall began (that of the first episode that was not made good), and the step at which it was
    first reported. The time to recover is counted from the latter, because a slow fall was small for a long time."""
    facts, reward = case.look.facts, case.look.reward
    began = [(e.onset_step, e.opened_step) for e in finding.episodes if e.onset_step is not None]
    lasting = [(step, told) for step, told in began if not made_good(facts, reward, step)]
    step, told = min(lasting, key=lambda one: one[0], default=(finding.onset_step or case.look.step, None))
    return step, step if told is None else max(step, told)


def _long_drift(case: StopCase, finding: OpenFinding) -> bool:
    """Whether KL has drifted without gain over a quarter of the run, or beyond half a nat. A KL that leapt there is
    another measure, or one update, and not a drift. While a run continues, the reward may rise late: a drift that is
    not critical must last for some rows."""
    kl, clock = case.look.facts.metric("kl_ref"), case.look.facts.clock
    span = case.look.step - (finding.onset_step or 0)
    waits = case.goes_on and finding.severity != "critical"
    least = max(SHARE * case.look.made, DRIFT_ROWS * clock.stride if waits else 1.0)
    far = kl is not None and kl.now.value > FAR_KL and not leapt(kl.values, kl.now.value)
    return far or span >= least


def _dipped(case: StopCase, finding: OpenFinding) -> bool:
    """Whether the reward fell since the drift began and is coming back, not long after its lowest point. That it did
    not gain meanwhile says nothing against the distance. It may have risen first, and fallen from there."""
    facts, onset = case.look.facts, finding.onset_step
    found = None if onset is None else _lost_and_gained(facts, case.look.reward, onset, NEWEST)
    reward = facts.metric(case.look.reward)
    if found is None or onset is None or reward is None or farmed(case.look):
        return False
    lost, gained, error, lowest = found
    highest = reward.highest_within(onset, lowest, NEWEST)
    if highest is not None:
        lost += max(0.0, highest - (reward.median_before(onset) or 0.0))
    if lost < 2.0 * CLEAR * error or gained < max(PART * lost, CLEAR * error):  # the best and the lowest of many
        return False
    return young(facts.clock, lowest)


def validation_rises(look: Look, errors: float = RISES) -> bool:
    """Whether validation is better than before by so many standard errors, and is neither below its best again nor
    falling lately."""
    held_out, seen = validation(look), look.facts.validation
    if held_out is None or held_out < errors or seen is None or validation_lately(look) < 0:
        return False
    below = seen.peak is not None and seen.better * (float(seen.values[-1]) - seen.peak.value) < 0
    return not (below and seen.below_best)


DRIFT_ROWS = 100
"""The number of rows after which a drift without gain may be a reason to stop. In many runs the reward stays level for
as long, and then rises."""
SHARE = 0.25
"""Share of the steps before a fall: what has been lost for this part of the time that it took to learn is lost."""
ROWS = 200
"""The number of rows after which a fall is no longer young: as far as a trend looks back."""
CLEAR = 3.0
"""Standard errors that this must be, because the lowest point is the lowest of many."""
NEWEST = 5
"""The fewest points whose median is the present level."""


LONG = 30
"""The number of rows after which a fall that lasts is reported in any case: few dips are as long."""


def young(clock: Clock, onset: int, told: int | None = None) -> bool:
    """Whether a fall that began at this step, and was reported later at `told`, has not lasted long yet."""
    return clock.step - (onset if told is None else told) < min(SHARE * (onset - clock.first_step), ROWS * clock.stride)


def recovering(facts: Facts, name: str, onset: int, part: float, points: int = NEWEST) -> bool:
    """Whether the metric has certainly made good this part of what it lost, not long after its lowest point, or all of
    it. A metric that has come up to half of its best and stays there has lost the other half. One that still rises is
    not there yet. One that certainly lost nothing has nothing to make good."""
    found = _lost_and_gained(facts, name, onset, points)
    if found is None:
        return False
    lost, gained, error, lowest = found
    if lost < CLEAR * error or gained < max(part * lost, CLEAR * error):
        return False
    return gained >= lost or young(facts.clock, lowest) or _still_rises(facts, name, lowest)


def _still_rises(facts: Facts, name: str, lowest: int) -> bool:
    """Whether the metric still rises: of the newer half of the points since its lowest one, the last third is better
    than the rest."""
    metric = facts.metric(name)
    half = None if metric is None else (lowest + int(metric.series.steps[-1])) // 2
    since = None if metric is None or half is None else metric.since_step(half)
    late = None if since is None else since.late
    return since is not None and late is not None and since.better * late.errors >= SURELY


def made_good(facts: Facts, name: str, onset: int) -> bool:
    """Whether the metric is where it was before the onset. False if there are too few points."""
    metric = facts.metric(name)
    if metric is None or len(metric.series) - int(metric.series.steps.searchsorted(onset)) < NEWEST:
        return False
    before, now = metric.median_before(onset), metric.median_after(onset, NEWEST)
    return before is not None and now is not None and now >= before


def _lost_and_gained(facts: Facts, name: str, onset: int, points: int) -> tuple[float, float, float, int] | None:
    """How far the lowest level since the onset lies below the level before it; how far the newest points lie above the
    lowest, with the standard error of that; and the step of the lowest. None if there are too few points."""
    metric = facts.metric(name)
    before = None if metric is None else metric.median_before(onset)
    now = None if metric is None else metric.after(onset, points)
    since = None if metric is None else metric.since_step(onset)
    lowest = None if since is None else since.lowest
    if before is None or now is None or lowest is None:
        return None
    least, step = lowest
    return before - least, now.value - least, now.se, step
