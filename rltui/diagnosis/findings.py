"""Builds the findings that people see from the life of each rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from msgspec import Struct, field, structs
from msgspec.structs import replace

from rltui.diagnosis.causes import BORNE_OUT, MOST_FIXES, TELL, fixes, to_tell, unanswered, weighed, where
from rltui.diagnosis.life import Key, Life, Opening, closed, told_band
from rltui.diagnosis.lived_with import lived_with
from rltui.diagnosis.outcome import Spell
from rltui.diagnosis.reliability import of_finding
from rltui.diagnosis.remarks import Remark, remarks
from rltui.diagnosis.roots import Fired, roots
from rltui.diagnosis.stopping import Brief, StopCase, healed
from rltui.diagnosis.tempered import tempered
from rltui.diagnosis.tested import Ground
from rltui.evidence.beside_rows import MACHINE, SAMPLES
from rltui.evidence.clock import whole_parts
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import SEVERITY_RANK, Basis, Cause, Episode, Evidence, Finding, Fix, Mark, Severity
from rltui.evidence.outages import without
from rltui.evidence.shapes import Trends, describe, settled
from rltui.evidence.shifts import stands_on_both_sides, step_between
from rltui.evidence.signal import WARNING, Signal
from rltui.rules.page import Rule
from rltui.rules.traits import Trait
from rltui.run.table import Series

SEVERITY: tuple[Severity, ...] = ("info", "info", "warning", "critical")
BASES: dict[str, Basis] = {"hypothesis": "hypothesis", "config": "config", "samples": "samples", "log": "log"}


ANEW, ANEW_ROWS = 25, 4
"""Causes are tested again after this part of the run at the latest, and not before so many rows. To test them at every
row took a fifth of the time."""


class Advice(NamedTuple):
    """Causes and fixes of a finding. `weight`: how much speaks for the first cause. `marks`: what that cause says
    beyond its text. `alone`: for a cause that only one finding proves, that finding. `refute`: what would show that the
    finding is wrong, as far as the run has not answered it. `at_once`: its metric jumped when it began."""

    causes: tuple[Cause, ...]
    fixes: tuple[Fix, ...]
    weight: int
    marks: tuple[Mark, ...]
    alone: Mapping[str, str]
    refute: tuple[str, ...]
    at_once: bool


class Kept(Struct):
    """What is kept from one row to the next, for a run under one config."""

    trends: Trends = field(default_factory=dict)
    _beside: tuple[int, tuple[Remark, ...], dict[str, str]] = (-1, (), {})
    _advice: dict[Key, tuple[tuple[object, ...], Advice, dict[str, str]]] = field(default_factory=dict)
    _where: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def beside(self, look: Look, guard: Guard) -> tuple[Remark, ...]:
        """The remarks on the `settled` rows, because remarks look at whole columns."""
        rows = settled(look.n)
        if self._beside[0] != rows:
            own = Guard()
            found = remarks(look if rows == look.n else look.until(rows), own)
            self._beside = rows, found, own.failed
        guard.take(self._beside[2])
        return self._beside[1]

    def advice(self, key: Key, rule: Rule, severity: Severity, ground: Ground, spell: Spell, guard: Guard) -> Advice:
        """Causes and fixes of a finding, tested again if anything that they rest on is new."""
        asked = (severity, spell, ground.state)
        kept = self._advice.get(key)
        if kept is None or kept[0] != asked:
            own = Guard()
            found = own.ask(f"causes of {rule.id}", (), weighed, rule, ground, spell, own)
            told = own.ask(rule.id, (), fixes, rule, ground.look.dialect, severity, ground, found, spell)
            kept = self._advice[key] = (
                asked,
                Advice(
                    tuple(one.cause for one in found),
                    told,
                    found[0].weight if found else 0,
                    (Mark.NOT_THE_POLICY,) if found and found[0].outside else (),
                    {one.cause.text: one.alone for one in found if one.alone},
                    own.ask(rule.id, tuple(one.text for one in rule.refutations), unanswered, rule, ground, spell),
                    own.ask(rule.id, False, came_at_once, ground.look, spell),
                ),
                own.failed,
            )
        guard.take(kept[2])
        return kept[1]

    def where(self, rule: Rule, look: Look, guard: Guard) -> tuple[str, ...]:
        """The files to open."""
        if rule.id not in self._where:
            self._where[rule.id] = guard.ask(rule.id, (), where, rule, look.dialect, look.settings.algorithm)
        return self._where[rule.id]

    def rewind(self, row: int) -> None:
        """Forgets what rests on row number `row`, as it was revised."""
        self._advice.clear()
        if row < self._beside[0]:
            self._beside = -1, (), {}


HALF = 0.5
"""Least share of its whole way that a metric goes in one row if it came at once."""


def came_at_once(look: Look, spell: Spell) -> bool:
    """Whether the metric of a finding went from one level to another in one row when the finding began."""
    facts = look.facts.metric(spell.moved) if spell.moved else None
    if facts is None or spell.onset is None:
        return False
    shift = step_between(facts.series, spell.onset - spell.late, spell.onset + spell.late + spell.early)
    if shift is None or not stands_on_both_sides(facts.values, facts.series.steps, shift):
        return False
    return abs(shift.after - shift.before) >= HALF * abs(facts.now.value - facts.start.value)


def build(
    lives: Mapping[Key, Life],
    catalogue: Mapping[str, Rule],
    ground: Ground,
    window: int | None,
    kept: Kept,
    guard: Guard,
) -> tuple[Finding, ...]:
    """Every finding that ever opened: worst first, roots before their symptoms, resolved ones last. `ground`: what
    causes are tested on. Its samples and the measurements of the machine add their numbers to the evidence."""
    look = ground.look
    shown = {key: life for key, life in lives.items() if life.openings and life.signal is not None}
    shown = tempered(shown, catalogue, look.made)
    active = {key: life for key, life in shown.items() if life.level > 0}
    ground = replace(
        ground, spells=_widest({key: _spell(catalogue[key[0]], life, look) for key, life in shown.items()})
    )
    teller = _Teller(catalogue, ground, _at_last(ground), _Shapes(look, window, kept.trends), kept, guard)
    advised = {key: teller.advice(key, life) for key, life in shown.items()}
    fired = [
        Fired(
            i,
            life.level,
            life.onset_step or 0,
            of_finding(i, SEVERITY[life.level], look.n),
            subject,
            Mark.NOT_THE_POLICY in advised[i, subject].marks,
            advised[i, subject].at_once,
        )
        for (i, subject), life in active.items()
    ]
    root_of = roots(fired, catalogue, look.made)
    beside = kept.beside(look, guard) if any(life.level >= WARNING for life in active.values()) else ()
    findings = [
        teller.finding(
            key,
            life,
            advised[key],
            root_of.get(key) if life.level else None,
            [remark for remark in beside if remark.rule == key[0] and life.level >= WARNING],
        )
        for key, life in shown.items()
    ]
    weights = {key: advice.weight for key, advice in advised.items()}
    findings = [_explained(f, findings, weights, catalogue) for f in findings]
    findings = [_not_by_itself(f, findings, advised[f.id, f.subject].alone, catalogue) for f in findings]
    level = {f.id: SEVERITY_RANK[f.severity] for f in findings if f.status == "active"}
    old = lived_with(findings, ground.look, catalogue)

    def order(f: Finding) -> tuple[object, ...]:
        head = f.root if f.root in level else f.id
        rank = max(level.get(head, 0), level.get(f.id, 0)) if f.status == "active" else -1
        first = min((x.onset_step or 0 for x in findings if x.id == head), default=0)
        return (
            -rank,
            head in old,
            first,
            head,
            f.root is not None,
            -SEVERITY_RANK[f.severity],
            f.onset_step or 0,
            f.id,
            f.subject or "",
        )

    return tuple(sorted(findings, key=order))


def _explained(
    root: Finding, findings: Sequence[Finding], weights: Mapping[Key, int], catalogue: Mapping[str, Rule]
) -> Finding:
    """The finding, with the causes of a symptom that may also have led to it, if more speaks for them than for its own:
    what drives one of the two drives both. Left out are the root, and causes that the run contradicts for the root."""
    if root.status != "active" or root.root is not None or SEVERITY_RANK[root.severity] == 0:
        return root
    against = {cause.text for cause in root.causes if cause.status == "contradicted"}

    def weight(of: Finding) -> int:
        return weights[of.id, of.subject] // 10 * 10  # equally strong tests weigh the same

    for other in sorted(findings, key=lambda f: (-weight(f), f.onset_step or 0)):
        back = other.root == root.id and other.status == "active" and root.id in catalogue[other.id].relations.leads_to
        if not back or weight(other) <= weight(root) or SEVERITY_RANK[other.severity] == 0:
            continue
        shown = root.evidence[0].metric if root.evidence else ""
        circular = {text.text for text in catalogue[other.id].causes if text.names(root.id) or text.is_of(shown)}
        supported = [cause for cause in other.causes if cause.status == "supported" and cause.text not in against]
        taken = [cause for cause in supported if cause.text not in circular]
        if taken and taken[0] is other.causes[0]:
            own = [cause for cause in root.causes if cause.text not in {one.text for one in taken}]
            remedies = {fix.act or fix.text: fix for fix in (*other.fixes, *_of_proven(root.fixes))}
            causes = sorted((*taken, *own), key=lambda cause: BORNE_OUT[cause.status])
            return replace(root, causes=tuple(causes), fixes=tuple(remedies.values())[:MOST_FIXES])
    return root


def _not_by_itself(
    root: Finding, findings: Sequence[Finding], alone: Mapping[str, str], catalogue: Mapping[str, Rule]
) -> Finding:
    """The finding without those causes of a root that only a symptom of it proves, unless the symptom is known to lead
    to the root as well: what follows from a finding does not explain it."""
    after = {f.id for f in findings if root.status == "active" and f.root == root.id}
    after = {i for i in after if root.id not in catalogue[i].relations.leads_to}
    circular = {
        text.text
        for text in catalogue[root.id].causes
        if (by := alone.get(text.text)) in after and text.names(by, later=False)
    }
    causes = tuple(cause for cause in root.causes if cause.text not in circular)
    return root if len(causes) == len(root.causes) else replace(root, causes=causes)


def briefly(lives: Mapping[Key, Life], catalogue: Mapping[str, Rule], look: Look) -> list[Brief]:
    """The open findings at a look, without texts, as severe as `build` makes them."""
    shown = tempered({key: life for key, life in lives.items() if life.openings}, catalogue, look.made)
    return [
        Brief(i, SEVERITY[life.level], life.onset_step, life.last_step, tuple(_episode(o) for o in life.openings))
        for (i, _), life in shown.items()
        if life.level > 0
    ]


def at_the_end(lives: Mapping[Key, Life], case: StopCase) -> dict[Key, Life]:
    """The lives of a run that has ended. A fall that is made good is over as well, because no more rows will show it
    for longer."""
    over = {f.id for f in briefly(lives, case.catalogue, case.look) if healed(case, f)}
    return {key: closed(life, case.look.n) if key[0] in over and life.level else life for key, life in lives.items()}


def _spell(rule: Rule, life: Life, look: Look) -> Spell:
    last = look.step if life.level > 0 else life.openings[-1].end_step
    early = _until_seen(life.onset_step, look) if rule.traits & {Trait.VALIDATION_FALLS, Trait.OVERFITS} else 0
    moved = life.signal.moved if life.signal is not None else None
    heads = life.signal.proofs[0][0] if life.signal is not None and life.signal.proofs else ""
    last = look.step if last is None else last
    level = life.level or life.peak
    peak = max(level, life.openings[-1].peak)
    return Spell(life.onset_step, last, early, level, moved or "", heads, peak, look.facts.clock.first_step)


def _until_seen(onset: int | None, look: Look) -> int:
    """The steps from a peak of validation, at which its fall is dated, to the next evaluation."""
    held_out = look.series("val_score")
    if onset is None or held_out is None:
        return 0
    after = held_out.steps[held_out.steps > onset]
    return int(after[0]) - onset if len(after) else 0


def _at_last(ground: Ground) -> Ground:
    """The ground as it was when causes were last tested, because causes look at whole columns. It depends on the rows
    alone, so rows read one by one and all at once are judged alike."""
    rows = whole_parts(ground.look.n, ANEW)
    rows -= rows % ANEW_ROWS
    if not 0 < rows < ground.look.n:
        return ground
    look = ground.look.until(rows)
    return replace(ground, look=look, spells={rule: _by(spell, look) for rule, spell in ground.spells.items()})


def _by(spell: Spell, look: Look) -> Spell:
    """The spell as it was known at a look; if it began later, its beginning."""
    return structs.replace(spell, end=min(spell.end, max(look.step, spell.onset or 0)))


def _widest(spells: Mapping[Key, Spell]) -> dict[str, Spell]:
    """The span from the first onset of a rule, for any subject, to its last end."""
    out: dict[str, Spell] = {}
    for (rule, _), spell in spells.items():
        other = out.get(rule, spell)
        onset = None if spell.onset is None or other.onset is None else min(spell.onset, other.onset)
        loudest = max(other, spell, key=lambda one: one.level)
        early, peak = max(spell.early, other.early), max(spell.peak, other.peak)
        out[rule] = structs.replace(loudest, onset=onset, end=max(spell.end, other.end), early=early, peak=peak)
    return out


class _Teller(Struct, frozen=True):
    """Makes findings from lives, with everything that they rest on."""

    catalogue: Mapping[str, Rule]
    ground: Ground
    before: Ground  # tests the causes of findings that began by then
    shapes: _Shapes
    kept: Kept
    guard: Guard

    def advice(self, key: Key, life: Life) -> Advice:
        """The causes of the finding, by what is known now or was known when it began."""
        rule, severity = self.catalogue[key[0]], SEVERITY[life.level or life.peak]
        spell, began = _spell(rule, life, self.ground.look), life.onset_step
        known = began is None or began <= self.before.look.step
        ground, spell = (self.before, _by(spell, self.before.look)) if known else (self.ground, spell)
        if not life.level and ground.look.settings.earlier:
            ground = replace(ground, config=ground.look.settings.at(spell.end).config)
        return self.kept.advice(key, rule, severity, ground, spell, self.guard)

    def finding(self, key: Key, life: Life, advice: Advice, root: str | None, beside: Sequence[Remark]) -> Finding:
        """`beside`: remarks about other metrics, which are evidence too."""
        assert life.signal is not None
        rule, subject = self.catalogue[key[0]], key[1]
        look, guard, active = self.ground.look, self.guard, life.level > 0
        signal = life.eased or life.signal
        proofs = [*signal.proofs, *((remark.metrics[0], remark.text) for remark in beside)]
        return Finding(
            id=rule.id,
            subject=subject,
            title=rule.title if (life.level or life.peak) >= WARNING else rule.notice,
            severity=SEVERITY[life.level],
            peak_severity=SEVERITY[life.peak],
            status="active" if active else "resolved",
            episodes=tuple(_episode(o) for o in life.openings),
            stage=signal.stage or rule.stage,
            onset_step=life.onset_step,
            last_step=life.last_step if active else life.openings[-1].end_step,
            confidence=of_finding(rule.id, SEVERITY[life.level], look.n),
            basis=BASES[rule.basis],
            root=root,
            evidence=tuple(e for proof in proofs if (e := self._evidence(*proof)) is not None),
            causes=signal.causes or advice.causes,
            fixes=_fixes(signal, advice.fixes)[:MOST_FIXES],
            refute=advice.refute or tuple(one.text for one in rule.refutations),
            life=life.word if active else "resolved",
            summary=guard.ask(rule.id, "", lambda: signal.said) + _since_eased(life, look),
            where=self.kept.where(rule, look, guard),
            marks=(*signal.marks, *advice.marks, *(() if advice.refute else (Mark.UNREFUTED,))),
            band=told_band(life.band, look) if life.level >= WARNING and life.band is not None else None,
        )

    def _evidence(self, name: str, text: str) -> Evidence | None:
        """The evidence; None if the metric is not logged."""
        if name.startswith(MACHINE):
            return None if self.ground.measured is None else self.ground.measured.evidence(name, text)
        if name.startswith(SAMPLES):
            sampled = self.ground.sampled
            return None if sampled is None else sampled.evidence(name.removeprefix(SAMPLES), text)
        shown = self.shapes[name]
        if shown is None or not text:
            return shown
        return Evidence(
            name, shown.key, shown.first, shown.mid, shown.last, shown.slope_per_100_steps, f"{text} ({shown.text})"
        )


def _since_eased(life: Life, look: Look) -> str:
    """Why a finding is still open although its condition no longer holds, and the step that its numbers come from."""
    if life.level == 0 or life.last_step >= look.step:
        return ""
    return f" This was last so at step {life.last_step}" + ("." if life.eased else ", and these numbers are of then.")


def _fixes(signal: Signal, advised: Sequence[Fix]) -> tuple[Fix, ...]:
    """The causes; those that the signal itself names come first. If it names causes, those of the page do not count."""
    if Mark.INTERRUPTED in signal.marks:
        return signal.fixes
    if not signal.causes:
        return (*signal.fixes, *advised)
    proven = any(cause.status == "supported" for cause in signal.causes)
    return (*([] if proven else to_tell(signal.causes)), *signal.fixes, *_of_proven(advised))


def _of_proven(advised: Sequence[Fix]) -> list[Fix]:
    """The fixes without those that are needed only while no cause is proven."""
    return [fix for fix in advised if not fix.act.startswith(TELL)]


def _episode(o: Opening) -> Episode:
    return Episode(o.begin, o.end_step, SEVERITY[o.peak], o.opened_step)


class _Shapes(dict[str, Evidence | None]):
    """The shape of each metric as evidence without further words, computed once because several findings rest on the
    same metrics. None if a metric is not logged."""

    def __init__(self, look: Look, window: int | None, trends: Trends) -> None:
        self._look, self._window, self._trends = look, window, trends

    def __missing__(self, name: str) -> Evidence | None:
        shown = self[name] = self._shown(name)
        return shown

    def _shown(self, name: str) -> Evidence | None:
        series = _points(self._look, name)
        if series is None:
            return None
        shape = describe(series, self._window, self._trends)
        first, mid, last, slope = map(_known, (shape.first, shape.mid, shape.last, shape.slope))
        if first is not None and last is not None and slope is not None and slope * (last - first) < 0:
            slope = None  # it rose and fell: one slope would contradict its ends
        return Evidence(name, series.key, first, mid, last, slope, shape.word)


def _points(look: Look, name: str) -> Series | None:
    """A metric as logged, without rows in which it was not measured: what the tables show."""
    series = look.logged(name)
    return None if series is None else without(series, name, look.gaps)


def _known(value: float | None) -> float | None:
    """The value; None if it overflowed."""
    return value if value is not None and isfinite(value) else None
