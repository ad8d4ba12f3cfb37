"""Which findings a run has lived with: later findings are reported before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rltui.diagnosis.case import AT_THE_START
from rltui.diagnosis.outcome import REWARDS
from rltui.diagnosis.roots import FALLS, dating_tolerance
from rltui.evidence.effects import between
from rltui.evidence.look import Look
from rltui.evidence.metric import NOW_POINTS
from rltui.evidence.model import SEVERITY_RANK, Finding
from rltui.rules.page import Rule
from rltui.rules.traits import Trait


def lived_with(findings: Sequence[Finding], look: Look, catalogue: Mapping[str, Rule]) -> set[str]:
    """The ids of findings that the run has lived with. They are not about a score, and one of these holds: they were
    there from the start and led to nothing that is open; they were there long before a score fell and did not lead to
    the fall; or the reward rose beside them until something else set in. Later findings are reported before them if
    these are about more than cost, or did harm."""
    first = look.facts.clock.first_step
    until = first + AT_THE_START * (look.step - first)
    loud = [f for f in findings if f.status == "active" and SEVERITY_RANK[f.severity] > 0]
    falls = [f for f in loud if not FALLS.isdisjoint(catalogue[f.id].traits)]
    hurt, led = {f.root or f.id for f in falls}, {f.root for f in findings if f.status == "active"}
    fell = min((f.onset_step for f in falls if f.onset_step is not None), default=until)
    scores = {*REWARDS, "val_score"}
    alone = [f for f in findings if f.status == "active" and f.root is None]
    old = [f for f in alone if f.onset_step is not None and f.evidence and f.evidence[0].metric not in scores]
    out = {f.id for f in old if f.id not in led and (f.onset_step or 0) <= until}
    before = fell - dating_tolerance(look.made)
    out |= {f.id for f in old if hurt and f.id not in hurt and (f.onset_step or 0) < before}
    news = [f.onset_step for f in alone if f in loud and f.onset_step is not None and not _no_news(catalogue[f.id])]
    led = {f.root for f in loud}  # a note is not harm
    out |= {f.id for f in old if f.id not in led and _paid_until(f.onset_step or 0, max(news, default=0), look)}
    later = [f for f in alone if f in loud and f.id not in out]
    return out if any(Trait.COST_ONLY not in catalogue[f.id].traits or f.id in hurt for f in later) else set()


def _no_news(rule: Rule) -> bool:
    return bool({Trait.COST_ONLY, Trait.HINT, Trait.SOLVED} & {*rule.traits})


def _paid_until(onset: int, news: int, look: Look) -> bool:
    """Whether the reward rose beyond its errors from the onset of a finding to the step at which something else set in,
    so that the finding did no harm until then."""
    reward = look.facts.metric(look.reward)
    if reward is None or onset >= news - dating_tolerance(look.made):
        return False
    before, then = reward.before(onset) or reward.start, reward.within(onset, news - 1, NOW_POINTS)
    rose = None if then is None or then.first_step <= before.last_step else between(before, then)
    return rose is not None and rose.direction == reward.better
