"""What is concluded about a run after some of its rows: findings with causes and fixes, the verdict, the stages, and
what could not be checked. It takes over where the fold over looks (`engine`) ends: with the lives of the row findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from rltui.diagnosis.case import Case
from rltui.diagnosis.findings import Kept, at_the_end, build
from rltui.diagnosis.going_back import began_from
from rltui.diagnosis.life import UNBORN, Key, Life, dated, follow
from rltui.diagnosis.machine import Present, judge_machine, view_of
from rltui.diagnosis.remarks import confirmed
from rltui.diagnosis.state import State
from rltui.diagnosis.stopping import StopCase, ended, validation_rises
from rltui.diagnosis.tested import Ground
from rltui.diagnosis.verdict import as_decided, judge, stages
from rltui.diagnosis.worth import best_checkpoint
from rltui.evidence.beside_rows import Measured, Sampled, Standing
from rltui.evidence.facts import RunFacts
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import Coverage, Diagnosis, Finding
from rltui.evidence.ranking import FEWEST_ROWS, Ranking, ranking, usable
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal
from rltui.readers.formats import formats
from rltui.rules.catalogue import having, unread_pages
from rltui.rules.coverage import Evaluable, without_input
from rltui.rules.limits import is_asked
from rltui.rules.page import Rule
from rltui.rules.registry import Panel, ids
from rltui.rules.traits import Trait
from rltui.run.hardware import ColumnCache
from rltui.run.run import Run, RunState


class Conclusions:
    """Draws conclusions about one run each time it grows, and keeps what is costly to compute. `row_rules`: rules that
    look at rows. `limited`: rules with limits. `samples`: the hardware samples as columns."""

    def __init__(
        self,
        catalogue: Mapping[str, Rule],
        row_rules: Sequence[str],
        limited: Iterable[Rule],
        samples: ColumnCache,
        window: int | None,
    ) -> None:
        self._catalogue, self._row_rules, self._limited = catalogue, row_rules, list(limited)
        self._samples, self._window = samples, window
        self._kept = Kept()
        self._present = Present()
        self._machine, self._dumps = Panel(Measured, catalogue), Panel(Sampled, catalogue)
        self._standing = Panel(Standing, catalogue)
        self._only_samples = [i for i in ids(Sampled) if i not in set(row_rules)]
        self._evaluable = Evaluable(catalogue, row_rules)
        self._checked: tuple[list[str], Counter[str | None]] = [], Counter()  # the rules that ran, by stage

    def rewind(self, row: int) -> None:
        """Forgets what was concluded from row number `row` on, as that row was revised."""
        self._kept.rewind(row)

    def of(self, look: Look, state: State, run: Run, run_state: RunState | None) -> Diagnosis:
        """The diagnosis at a look. `state`: what is known after the rows of this look. `run_state`: None for a run as
        it was at an earlier row."""
        rows = look.n
        lives = dict(state.lives)
        guard = Guard({**unread_pages(), **state.failed})
        over = run_state is not None and ended(look, run_state)
        if over:
            last = StopCase(look, self._catalogue, run_state, state.reasons)
            lives = guard.ask("falls that are made good", lives, at_the_end, lives, last)
        seen, unable = self._evaluable.of(look)
        measured = Measured.of(run, look, run_state is not None, self._samples.of(run.hardware))
        if run_state is not None:
            ran_on_machine, machine = self._present.judge(state.machine, measured, self._machine)
        else:
            ran_on_machine, machine = judge_machine(state.machine, measured, self._machine)
            machine = state.machine if state.machine.rows == rows else machine  # these rows are already judged
        lives |= machine.lives
        guard.take(machine.failed)
        sampled = Sampled.of(run, look, now=run_state is not None)
        of_samples: dict[str, list[Signal]] = {}
        if sampled.dumps:
            logged = set(self._row_rules) - {b.id for b in unable}  # what rows show is not counted again in samples
            of_samples = dict(self._dumps.ask(sampled, guard, without=logged))
        lives |= _at_once(of_samples, look)  # what samples show also spoils the steps after it
        farmed_at, doubted = (_began(lives, Trait.FARMS_REWARD, least) for least in (WARNING, NOTICE))
        rank = partial(ranking, look, farmed=farmed_at is not None, doubted=doubted is not None)
        ranked = guard.ask("ranking of steps", None, rank)
        broken_at, of_all = _broken_at(lives, ranked, look), ranked
        now = run_state is not None
        on_disk, saved = ([c for c in kept if now or c.step <= look.step] for kept in (run.checkpoints, run.saved))
        if broken_at is not None:
            states = bool(usable(saved, look.step, broken_at))
            unspoiled = guard.ask("ranking of steps", None, rank, before=broken_at, saved=states)
            ranked = unspoiled or ranked
        against = [one for one in run.history.contradictions if one.since <= look.step]
        ungraded = run.ungraded(NEWEST_SAID if now else 0)
        notes = run.notes if now else [note for note in run.notes if note.by(look.step)]
        ends = run.earlier_ends(None if now else look.step)
        standing = Standing(look, run_state, seen, ranked, on_disk, broken_at, against, ungraded, ends)
        of_standing = dict(self._standing.ask(standing, guard))
        lives |= _at_once(of_standing, look)
        told = of_standing | of_samples
        by_limits = [rule.id for rule in self._limited if is_asked(look, rule)]
        out_of_place = [b for b in unable if b.id not in told and b.id not in by_limits]
        able = [*self._row_rules, *by_limits, *ran_on_machine, *told]
        only_samples = [i for i in self._only_samples if i not in by_limits]
        tried = [*able, *guard.failed]  # rules that raised had all their inputs
        out_of_place += without_input(self._catalogue, tried, only_samples, run.samples, look)
        skipped = [b for b in out_of_place if b.applies]
        blind = {b.id for b in out_of_place}
        failed = guard.failed
        could = frozenset(i for i in able if i not in blind and i not in failed)
        printed = any(one.used and formats()[one.format].prints for one in run.sources if one.format in formats())
        ground = Ground(
            look,
            run.config,
            notes,
            printed,
            sampled,
            measured,
            ran=could,
            changed=run.changed,
            raw=run.raw_config,
            over=over,
        )
        built = build(lives, self._catalogue, ground, self._window, self._kept, guard)
        findings = confirmed(built, sampled, guard)
        active = [f for f in findings if f.status == "active"]
        machine_view = guard.ask("machine", None, view_of, measured, guard)
        spoiled_at = broken_at if ranked is None or ranked.task else _first(broken_at, farmed_at)
        best = guard.ask("best checkpoint", None, best_checkpoint, ranked, saved, look.step, spoiled_at, of_all)
        out = {*blind, *guard.failed}
        ran = [i for i in dict.fromkeys(able) if i not in out] if rows else []
        if ran != self._checked[0]:
            self._checked = ran, Counter(self._catalogue[i].stage for i in ran)
        case = Case(
            look,
            self._catalogue,
            run_state,
            state.reasons,
            active,
            seen,
            len(ran),
            len(skipped),
            findings,
            len(guard.failed),
            ends,
        )
        verdict = judge(case, best)
        return Diagnosis(
            at_step=look.step if rows else None,
            verdict=verdict,
            findings=as_decided(findings, verdict, validation_rises(look), began_from(look.facts.clock)),
            pipeline=stages(findings, look, self._checked[1]),
            coverage=seen,
            not_evaluable=tuple(skipped),
            checks=len(ran),
            unknowns=_unknowns(seen, findings, look),
            not_applicable=tuple(b for b in out_of_place if not b.applies),
            machine=machine_view,
            facts=guard.ask("facts", None, _facts, look) if rows else None,
            checks_failed=guard.told(),
            gaps=look.gaps,
        )


def _at_once(told: Mapping[str, Sequence[Signal]], look: Look) -> dict[Key, Life]:
    """The lives of findings that one look is enough to see."""
    return {
        (rule_id, signal.subject): dated(follow(UNBORN, signal, look.n, look.step, 1, 1), UNBORN, signal, look)
        for rule_id, found in told.items()
        for signal in found
    }


NEWEST_SAID = 400
"""How many of the newest lines about failed grading are used for the newest rows."""
HARDLY_ANY_ENDS = 0.9
"""Share of cut answers from which on the reward measures other answers than before."""
FEW_ROWS = 100
"""A shorter run counts as undertrained in published tables."""


def breakdown(lives: Mapping[Key, Life]) -> int | None:
    """Step at which the first critical fault began that spoils what comes after it; None if there is none."""
    return _began(lives, Trait.BREAKS_POLICY, CRITICAL)


def _broken_at(lives: Mapping[Key, Life], ranked: Ranking | None, look: Look) -> int | None:
    """The step from which the ranking cannot be trusted. Answers that are cut spoil the train reward, if that ranks,
    once hardly any answer ends, and if there are enough rows before to rank by."""
    broken, spoiled = breakdown(lives), _began(lives, Trait.CUT_OFF, CRITICAL)
    reward, cut = look.facts.metric(look.reward), look.facts.metric("response_clip_ratio")
    if spoiled is None or ranked is None or ranked.held_out or reward is None:
        return broken
    if cut is None or cut.now.value < HARDLY_ANY_ENDS:
        return broken
    before = int(reward.series.steps.searchsorted(spoiled))
    return _first(broken, spoiled) if before >= FEWEST_ROWS else broken


def _began(lives: Mapping[Key, Life], trait: Trait, least: int) -> int | None:
    """Step at which the first of the open faults with this trait began; None if there is none."""
    bearers = having(trait)
    return _first(*(life.onset_step for (i, _), life in lives.items() if i in bearers and life.level >= least))


def _first(*steps: int | None) -> int | None:
    return min((step for step in steps if step is not None), default=None)


def _unknowns(seen: Coverage, findings: tuple[Finding, ...], look: Look) -> tuple[str, ...]:
    out = [m.text + (f": {', '.join(m.blocks)} cannot run" if m.blocks else "") for m in seen.missing]
    if any(m.metric == "val_score" for m in seen.missing):
        out.append("Without validation nobody can tell learning from reward hacking.")
    if any(m.metric == "rollout_train_logprob_diff" for m in seen.missing) and any(
        f.id in having(Trait.COLLAPSE) for f in findings
    ):
        out.append("Sampler mismatch cannot be excluded as a cause: it is not logged.")
    if 0 < look.n < FEW_ROWS:
        out.append(f"{look.n} metric rows are few: below {FEW_ROWS} the course says little about where the run ends.")
    return tuple(out)


def _facts(look: Look) -> RunFacts:
    return look.facts.told
