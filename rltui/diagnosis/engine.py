"""The diagnosis as a fold over looks: its result after n rows depends on these n rows and on nothing after them.

Looks are made at row counts that depend on the row index alone, so rows that arrive one by one and rows read at once
give the same findings. Rows after the last look are judged by looks that are not remembered (`_newest`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from rltui import cooperate
from rltui.diagnosis.conclusions import Conclusions
from rltui.diagnosis.findings import briefly
from rltui.diagnosis.insight import Insight, insight
from rltui.diagnosis.life import UNBORN, after_look, in_words
from rltui.diagnosis.machine import Machine, due, judge_machine
from rltui.diagnosis.state import State
from rltui.diagnosis.stopping import Reasons, StopCase, ended, reasons
from rltui.diagnosis.usual_rows import UsualRows
from rltui.evidence.beside_rows import Measured
from rltui.evidence.blocks import BlockCache
from rltui.evidence.evaluations import held_out
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, LookFeed, look_rows
from rltui.evidence.model import SEVERITY_RANK, Decision, Diagnosis, Finding
from rltui.evidence.outages import OutageCache
from rltui.evidence.profile import RunSettings
from rltui.evidence.rescales import Rescales
from rltui.evidence.revalued import Revaluations
from rltui.evidence.signal import WARNING
from rltui.rules.base import Detect, Memory
from rltui.rules.catalogue import rules
from rltui.rules.limits import beside_limits, subjects
from rltui.rules.page import Rule
from rltui.rules.registry import Panel, detectors
from rltui.run.hardware import ColumnCache, row_time
from rltui.run.run import Run, RunState
from rltui.run.table import Table

KEEP_NEWEST = 4
KEEP_EVERY = 32
NEAR_ROWS = 8
"""After the last look, all checks are asked at every eighth row, and at others that hold anything unusual."""
WHOLE_ROWS, WHOLE_PART = 4, 50
"""One look in so many rows (or in such a part of a longer run) asks all checks. So does any other look that holds
anything unusual, for twice as many rows if that stays. A check that has begun to see something is asked at each
look."""


class Engine:
    """Diagnoses one run each time it grows. `window`: rows of the first, mid and last window. `until`: the number of
    rows after which the run is treated as ended."""

    def __init__(
        self, window: int | None = None, catalogue: Mapping[str, Rule] | None = None, until: int | None = None
    ) -> None:
        self._until = until
        self._earlier: Engine | None = None  # judges rows at which metrics belonged to other keys
        self.catalogue = catalogue if catalogue is not None else rules()
        self.window = window
        own = {one.rule: one.detect for one in detectors(Look) if one.rule in self.catalogue}
        self._row_rules = list(own)
        limits_alone = [rule.id for rule in self.catalogue.values() if rule.limits and rule.id not in own]
        self._by_rows = [(self.catalogue[i], own.get(i)) for i in [*own, *limits_alone]]
        self._of_evaluations = {
            rule.id for rule, _ in self._by_rows if any(not held_out().isdisjoint(group) for group in rule.needs)
        }
        self._params = {rule.id: rule.values() for rule, _ in self._by_rows}
        self._limited = {rule.id: subjects(rule) for rule, _ in self._by_rows}
        self._machine = Panel(Measured, self.catalogue)
        self._blocks = BlockCache()
        self._outages = OutageCache()
        self._scales: dict[str, Rescales] = {}
        self._revaluations = Revaluations()
        self._states: list[State] = [State()]
        self._looks = 0
        self._logged: object = None  # what `_can_run` was last derived from
        self._can_run: list[tuple[str, Rule, Detect[Look]]] = []
        self._table: Table | None = None
        self._identity: object = None
        self._keys: dict[str, str] = {}
        self._revised: int | None = None
        self._absent: tuple[object, int, list[str]] = (None, 0, [])  # names without a column, while all stays the same
        self._samples = ColumnCache()
        self._conclusions = self._concluded_anew()
        self._near: tuple[State, State, UsualRows] | None = None
        self._usual: UsualRows | None = None

    def advance(self, run: Run, state: RunState | None = None) -> Diagnosis:
        """Takes in the new rows and returns the diagnosis. `state`: the state of a run that is being followed."""
        with np.errstate(all="ignore"):  # values that overflow are data here, not a fault of ours
            feed = self._feed(run)
            table = run.history.table
            self._fold(feed, table.n)
            found = self._concluded(feed, self._states[-1], table.n, state or run.state())
            feed.let_go()
            return found

    def at(self, run: Run, rows: int) -> Diagnosis:
        """The diagnosis as it was after the first `rows` rows."""
        with np.errstate(all="ignore"):
            feed = self._feed(run)
            if (then := self._as_named(feed, run, rows)) is not self:
                return then.at(run, rows)
            n = run.history.table.n
            self._fold(feed, n if self._until is None else min(n, self._until))
            start = next(s for s in reversed(self._states) if s.n <= rows)
            state = start
            for n in look_rows(start.n):
                if n > rows:
                    break
                state = self._look(feed, state, n)
            found = self._concluded(feed, state, rows, run.state() if rows >= run.history.table.n else None)
            feed.let_go()
            return found

    def insight(self, run: Run, rows: int, around: int, findings: Sequence[Finding], decision: Decision) -> Insight:
        """What the first `rows` rows show about the changes around a step, and about going on. `findings` and
        `decision`: those of the diagnosis of these rows."""
        active = [f for f in findings if f.status == "active"]
        with np.errstate(all="ignore"):
            feed = self._feed(run)
            if (then := self._as_named(feed, run, rows)) is not self:
                return then.insight(run, rows, around, findings, decision)
            look = Look(feed, rows, {f.id: 1 + SEVERITY_RANK[f.severity] for f in reversed(active)})
            now = rows >= run.history.table.n
            measured = Measured.of(run, look, now, self._samples.of(run.hardware))
            told = insight(look, around, findings, decision, self.catalogue, measured)
            feed.let_go()
            over = rows >= run.history.table.n and ended(look, run.state())
        if not over:
            return told
        return replace(told, forecasts=(), worth=None, case=replace(told.case, advice=""))  # nothing goes on

    def _as_named(self, feed: LookFeed, run: Run, rows: int) -> Engine:
        """The engine that judges the first `rows` rows: another one if a metric had another key then, because the
        preferred key came later. It is kept, and ends right before the first of the present keys began."""
        series, began = run.all_series(rows), []
        for name, key in feed.keys().items():
            then, now = series(name), feed.logged(name)
            if then is not None and now is not None and then.key != key:
                began.append(int(now.rows[0]))
        if not began:
            return self
        until = max(rows, min(began))
        if self._earlier is None or self._earlier._until != until:
            self._earlier = Engine(self.window, self.catalogue, until)
        return self._earlier

    def rewind(self, row: int) -> None:
        """Forgets what was concluded from row number `row`, as it was revised."""
        self._states = [s for s in self._states if s.n <= row] or [State()]
        self._revised = row if self._revised is None else min(self._revised, row)
        self._conclusions.rewind(row)
        self._forget()

    def _forget(self) -> None:
        """What is kept about the rows as they were."""
        self._near = self._usual = self._logged = None
        self._absent = None, 0, []
        self._scales.clear()
        self._revaluations = Revaluations()
        self._earlier = None

    def _feed(self, run: Run) -> LookFeed:
        """Updates the run's series. Starts again if the run is not the same as before (config, names, merged rows)."""
        table = run.history.table
        settings = RunSettings.of(run)
        changed = table.take_changed()
        if table is not self._table or settings != self._identity or table.n < self._states[-1].n:
            self._restart()
        elif changed is not None:
            self.rewind(changed)
        self._table, self._identity = table, settings
        caches = self._outages, self._scales, self._revaluations
        known, columns, absent = self._absent
        same = self._until is None and known is run.names and columns == len(table.columns)
        feed = LookFeed(run, self._blocks, settings, self.window, *caches, self._until, absent if same else ())
        for name, key in self._keys.items():
            series = feed.logged(name)
            if series is None or series.key != key:
                self._restart()
                break
        if self._revised is not None:
            for cache in (self._blocks, self._outages):
                for name in cache.names():
                    series = feed.finite(name)
                    cache.forget(name, 0 if series is None else len(series.until_row(self._revised)))
            self._revised = None
        return feed

    def _restart(self) -> None:
        self._states = [State()]
        self._forget()
        self._blocks.clear()
        self._outages.clear()
        self._conclusions = self._concluded_anew()
        self._keys = {}
        self._looks = 0
        self._revised = None

    def _fold(self, feed: LookFeed, rows: int) -> None:
        before = self._states[-1].n
        for n in look_rows(before):
            if n > rows:
                break
            self._states.append(self._look(feed, self._states[-1], n))
            self._looks += 1
            if len(self._states) > KEEP_NEWEST and self._looks % KEEP_EVERY:
                del self._states[-KEEP_NEWEST]
        self._states = [state.worded() if state.n > before else state for state in self._states]
        self._keys.update(feed.keys())
        self._absent = feed.run.names, len(feed.run.history.table.columns), feed.absent()

    def _look(self, feed: LookFeed, before: State, n: int) -> State:
        """The next look. Between looks that ask all checks, it asks only checks that have a finding or have begun to
        see one, if nothing that came since the last look is unusual."""
        if self._usual is None or self._usual.since != before.usual:
            self._usual = _usual_before(feed.run, before.usual)
        calm, apart = self._usual.lasts(n, before.n), max(WHOLE_ROWS, n // WHOLE_PART)
        whole = not calm or n - before.whole >= apart
        state = self._step(feed, before, n, not whole, whole or self._usual.beside_stay(n, before.n))
        moves = (calm and whole) or n - before.usual >= 2 * apart
        return replace(state, whole=n if whole else before.whole, usual=n if moves else before.usual)

    def _newest(self, feed: LookFeed, state: State, rows: int) -> State:
        """What is known after `rows` rows, of which `state` has all but the newest. Every eighth of the newest rows is
        a look of its own. The rows after that ask only checks that have a finding, if nothing in them is unusual: in a
        long run a row adds nothing to what was found a few rows before."""
        near = rows - (rows - state.n) % NEAR_ROWS
        if self._near is None or self._near[0] is not state or self._near[1].n != near:
            then = self._step(feed, state, near).worded() if near > state.n else state
            self._near = state, then, _usual_before(feed.run, near)
        _, then, calm = self._near
        return then if rows == near else self._step(feed, then, rows, calm.lasts(rows), calm.beside_stay(rows, near))

    def _step(self, feed: LookFeed, state: State, n: int, calm: bool = False, same: bool = False) -> State:
        """One look: every detector once, then the life of every finding. `calm`: only detectors with a finding that is
        open or begins, and those of evaluations unless these are the `same` as before, because a new one is news."""
        cooperate.give_way()
        look = Look(feed, n, state.open())
        memory: dict[str, Mapping[str, float]] = dict(state.memory)
        lives = dict(state.lives)
        lived: dict[str, list[str | None]] = {}
        for rule_id, subject in lives:
            lived.setdefault(rule_id, []).append(subject)
        guard = Guard(state.failed)
        asked = self._running(feed)
        if calm:
            stirs = {rule_id for (rule_id, _), life in lives.items() if not life.quiet}
            wanted = stirs if same else stirs | self._of_evaluations
            asked = [one for one in asked if one[0] in wanted]
        for rule_id, rule, detect in asked:
            noted = memory.get(rule_id)
            notes: Memory = {} if noted is None else dict(noted)
            found = guard.ask(rule_id, None, detect, look, self._params[rule_id], notes)
            if found is None:
                continue
            if notes or noted is not None:
                memory[rule_id] = notes
            known = lived.get(rule_id, ())
            if not found and not known:
                continue
            signals = {s.subject: s for s in found}
            limited = self._limited[rule_id]
            for subject in {*signals, *known}:
                before = lives.get((rule_id, subject), UNBORN)
                signal = signals.get(subject)
                if signal is None or not signal.level:
                    before = in_words(before, rule_id, guard)
                recovery = None if subject in limited else rule.recovery
                lives[rule_id, subject] = guard.ask(rule_id, before, after_look, before, rule, recovery, signal, look)
        now = State(n, lives, memory, self._past_machine(feed.run, look, state.machine), guard.failed)
        return replace(now, reasons=self._reasons(feed, now, state.reasons))

    def _reasons(self, feed: LookFeed, state: State, before: Reasons) -> Reasons:
        if all(level < WARNING for level in state.open().values()):
            return Reasons()
        case = StopCase(Look(feed, state.n, state.open()), self.catalogue, None, before)
        return reasons(case, briefly(state.lives, self.catalogue, case.look))

    def _past_machine(self, run: Run, look: Look, before: Machine) -> Machine:
        samples = self._samples.of(run.hardware)
        if not due(before, samples, row_time(run, look.n - 1) if len(samples) else before.time):
            return before
        return judge_machine(before, Measured.of(run, look, False, samples), self._machine)[1]

    def _running(self, feed: LookFeed) -> list[tuple[str, Rule, Detect[Look]]]:
        """The detectors that are switched on and have the metrics that they need, with their rules and rule ids. The
        others would find nothing."""
        logged = (tuple(feed.run.history.table.columns), feed.run.dialect)
        if logged != self._logged:
            self._logged = logged
            self._can_run = []
            for rule, detect in self._by_rows:
                able = detect is not None and all(any(map(feed.holds, group)) for group in rule.needs)
                if rule.enabled and (able or any(map(feed.holds, rule.limits))):
                    self._can_run.append((rule.id, rule, beside_limits(rule, detect if able else None)))
        return self._can_run

    def _concluded(self, feed: LookFeed, state: State, rows: int, run_state: RunState | None) -> Diagnosis:
        """`run_state`: None for a run as it was at an earlier row."""
        if rows > state.n:
            state = self._newest(feed, state, rows)
        return self._conclusions.of(Look(feed, rows, state.open()), state, feed.run, run_state)

    def _concluded_anew(self) -> Conclusions:
        limited = [rule for rule, _ in self._by_rows if rule.enabled and rule.limits]
        return Conclusions(self.catalogue, self._row_rules, limited, self._samples, self.window)


def _usual_before(run: Run, row: int) -> UsualRows:
    """Only of what is trained on: rules about evaluations are asked about each new one."""

    def evaluates(key: str) -> bool:
        name = run.names.get(key)
        return name is not None and name.group == "validation"

    return UsualRows(run.history.table, row, evaluates)
