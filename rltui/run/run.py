"""One run as all higher layers see it: history under canonical names, config, phases, checkpoints, log, state.

The session fills it from the readers' records. It knows nothing of files and screens. The session calls, in any order,

    add_config(values, source)   add_note(note, source)   add_info(info)   set_checkpoints(found)

and sets `exit`, `sources`, `recorded_hardware`, `as_of`. After new rows or config it calls `identify()` (framework,
version, algorithm, plan), then `refresh_names()`. Both are cheap to call again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from rltui.frameworks.detect import MODULE, detect_dialect
from rltui.frameworks.load import dialect, metrics
from rltui.frameworks.resolve import keys_for, resolve
from rltui.frameworks.schema import GENERIC, PHASE
from rltui.hardware.base import HardwareSample
from rltui.readers.base import Exit, HardwareRow, Note, RunInfo, Ungraded
from rltui.rollouts.samples import Samples
from rltui.run.attempts import Crash, earlier_ends
from rltui.run.changed import Changed, Prints
from rltui.run.checkpoints import Checkpoint
from rltui.run.clocks import written_beside
from rltui.run.config import Config, ConfigValue
from rltui.run.history import History
from rltui.run.identity import FIRST_ROWS, algorithm, stated_version
from rltui.run.liveness import LifeSigns, RunState, State, judge, outlived, stood
from rltui.run.metric_series import Renamed, canonical_series, columns_by_key, courses, renamed
from rltui.run.names import MetricName, Names, is_canonical, named, read_otherwise
from rltui.run.notes import Notes
from rltui.run.phases import PhaseShare, PhaseTable, phase_table
from rltui.run.progress import RECENT, LearnedPace, Pulse, Usual, learn, phase_key, planned_steps, row_gap, usual
from rltui.run.slow_steps import marked_steps, planned_periods
from rltui.run.source_info import SourceInfo
from rltui.run.stall import StallCard
from rltui.run.table import Series

__all__ = [
    "Checkpoint",
    "ConfigValue",
    "MetricName",
    "PhaseShare",
    "PhaseTable",
    "Run",
    "RunState",
    "StallCard",
    "State",
]

_HINTS = 400
"""This many lines of text are kept to recognise the framework: its banner is near the beginning."""


class Run:
    """See the module's docstring. Every question is cheap; series are views, not copies."""

    def __init__(self, run_id: str, path: str) -> None:
        self.id = run_id
        self.path = path
        self.history = History()
        self.history.meaning = lambda key: resolve(key, self.dialect).canonical or key
        self.sources: list[SourceInfo] = []
        self.checkpoints: list[Checkpoint] = []  # on disk
        self.exit: Exit | None = None
        self.recorded_hardware: list[HardwareRow] = []
        self.hardware: tuple[HardwareSample, ...] = ()  # from the machines it runs on, recorded or live, oldest first
        self.samples = Samples()  # what is known about its rollouts
        self.framework: str | None = None
        self.framework_version: str | None = None
        self.dialect = GENERIC  # the file of names in use, finer than the framework (verl_0_2, trl_ppo)
        self.algorithm: str | None = None
        self.planned_steps: int | None = None
        self.followed = False  # followed live: file times may replace missing time stamps
        self.scheduled = False  # the scheduler reports that it runs
        self.as_of: float | None = None  # newest time stamp inside the data, seconds since the epoch
        self.info: dict[str, str] = {}  # what containers state: run_id, name, project, host, ...
        self._config = Config()
        self._resolved: dict[str, ConfigValue] | None = None
        self._names = Names()
        self._metric_names: dict[str, MetricName] | None = {}  # None: not built yet
        self._keys: tuple[object, Mapping[str, tuple[str, ...]]] | None = None  # names, and `keys` made for them
        self._heard: tuple[int, int] | None = None  # id and length of the table whose values last decided meanings
        self._named_for: str | None = None  # the version for which the names warn of traps
        self._notes = Notes()
        self.prints = Prints()
        self._hints: list[str] = []
        self._told_by = 0  # the number of rows from which the algorithm was identified
        self._seen: tuple[int, int, int, int] | None = None
        self._unnamed = True  # something new may change names and algorithm
        self._cut_at: int | None = None
        self.pulse = Pulse()
        self._pace: tuple[object, LearnedPace] | None = None
        self._ends: tuple[list[Note], object, list[Crash]] | None = None

    # -- filling -------------------------------------------------------------------------------------------------

    def add_config(self, values: Mapping[str, object], source: str) -> None:
        """Takes the flat dotted keys of one container; `source` names it in the user's words."""
        self._config.add(values, source)
        self._resolved = None

    def add_note(self, note: Note, source: str) -> None:
        """Takes a notable line. `source` is the part of the history that its log fills, if it fills one."""
        if note.kind == "module":
            self._hint(f"{MODULE}{note.text}")
            return
        part = next((p for p in self.history.parts if p.name == source), None)
        self._notes.add(note, source, part.table.head_step if part is not None else None)
        self._hint(note.text)

    def add_ungraded(self, said: Ungraded, source: str) -> None:
        """Takes a log line which says that answers could not be graded. `source`: as in `add_note`."""
        self._notes.add_ungraded(said, source)

    def ungraded(self, newest: int = 0) -> tuple[list[int], str]:
        """The steps after which a log says that answers could not be graded, in the order they came (-1: before the
        first step), all or the `newest` ones, and the text of the first such line."""
        steps = {part.name: part.table.steps for part in self.history.parts}

        def placed(source: str, said: Ungraded) -> int:
            if said.step is not None:
                return said.step
            own = steps.get(source, ())
            return int(own[min(said.rows, len(own)) - 1]) if said.rows and len(own) else -1

        first = self._notes.ungraded[0][1].text if self._notes.ungraded else ""
        return [placed(*one) for one in self._notes.ungraded[-newest:]], first

    def add_info(self, info: RunInfo) -> None:
        """Takes what a container states about the run's identity. The first value for a key wins."""
        self.info = {**info.values, **self.info}
        for value in info.values.values():
            self._hint(value)

    def set_checkpoints(self, found: Iterable[Checkpoint]) -> None:
        self.checkpoints = sorted(found, key=lambda c: c.step)

    def _hint(self, text: str) -> bool:
        if len(self._hints) < _HINTS:
            self._hints.append(text)
        return len(self._hints) < _HINTS

    @property
    def key_map(self) -> dict[str, str]:
        """Canonical name -> raw key, as the user set it. Assign before `refresh_names`."""
        return self._names.forced

    @key_map.setter
    def key_map(self, forced: dict[str, str]) -> None:
        self._names.forced = dict(forced)

    def identify(self) -> None:
        """Identifies the framework, version, algorithm and plan from keys, config and text."""
        self.detect()
        rows = {part.name for part in self.history.parts if part.table.n}
        bars = [log.bar for name, log in self._notes.sources.items() if name not in rows and log.bar is not None]
        self.history.reach(max(bars, default=None), self._every())
        if self._unnamed or self._told_by < min(self.history.table.n, FIRST_ROWS):
            self._unnamed, self._told_by = False, self.history.table.n
            self.refresh_names()
            named = [(m.canonical, key) for key, m in self._names.meanings.items() if m.canonical is not None]
            keys, table = dict(reversed(named)), self.history.table
            self.algorithm = algorithm(self.dialect, self.config, self.raw_config, keys, self._hints, table)
        self.planned_steps = planned_steps(self._config, self.dialect, self._notes, self.all_series())

    def _every(self) -> int | None:
        """The steps from one row to the next in the config, if the counted rows then fit into the plan; else None. It
        is used for rows without a step."""
        said, planned = self.config.get("logging_steps"), self._config.positive(self.dialect, "total_steps")
        if said is None or planned is None or not isinstance(said.value, int) or isinstance(said.value, bool):
            return None
        rows = max((p.table.n for p in self.history.parts if p.counted), default=0)
        return said.value if said.value > 1 and (rows - 1) * said.value <= planned else None

    def detect(self) -> None:
        """Identifies only the framework and version: keys may have to be renamed before anything else can be found."""
        keys = self.history.keys
        seen = (len(keys), len(self._config.raw), len(self._hints), len(self.info))
        if seen != self._seen:
            self._seen, self._unnamed = seen, True
            found = detect_dialect(keys, self._config.raw, self._hints)
            if found is not None:
                names = dialect(found.dialect)
                self.dialect, self.framework = names.name, names.framework
                stated = self.info.get("framework_version") or stated_version(names.framework, self._hints)
                self.framework_version = stated or found.version
                self._resolved = None

    def refresh_names(self) -> None:
        """Takes new columns, and what new values show about the meaning of keys."""
        version, table, before = self.framework_version, self.history.table, self._names.meanings
        changed = self._names.refresh(table.columns, self.dialect)
        if self._names.open and (changed or self._heard != (id(table), table.n)):
            self._heard = id(table), table.n
            changed |= self._names.listen(table.series)
        if changed and table.n and read_otherwise(before, self._names.meanings):
            table.read_otherwise()
        if changed or version != self._named_for:
            self._named_for = version
            self._metric_names = None

    @property
    def stated_plan(self) -> int | None:
        """The planned steps that the config states, even if the run has passed them."""
        stated = self._config.positive(self.dialect, "total_steps")
        return None if stated is None else int(stated)

    @property
    def bar_totals(self) -> set[int]:
        """The totals that progress lines count towards and that the run has not passed."""
        table = self.history.table
        return {total for total in self._notes.totals if not table.n or total >= table.steps[-1]}

    def forget_after(self, step: int) -> None:
        """Makes the run as it was at `step`: drops later notes and checkpoints, and its end. The caller cuts the
        rows."""
        self._cut_at = step
        self._notes.forget_after(step)
        self.exit = None
        self.checkpoints = [c for c in self.checkpoints if c.step <= step]

    # -- asking --------------------------------------------------------------------------------------------------

    @property
    def notes(self) -> list[Note]:
        """The notable lines, oldest first. Only the newest progress lines are kept, at the end."""
        return self._notes.all

    @property
    def changed(self) -> tuple[Changed, ...]:
        """The settings that differ between one launch and the next."""
        return self.prints.changed(self._notes.of_kind("resume"), self.history)

    @property
    def earlier_configs(self) -> list[tuple[int, dict[str, ConfigValue]]]:
        """For each launch with other settings, oldest first: its first step, and the config before it."""
        changed = self.changed
        out = []
        for step in sorted({one.step for one in changed}):
            later = [one for one in reversed(changed) if one.step >= step]
            out.append((step, self._config.before(later).resolved(self.dialect)))
        return out

    @property
    def saved(self) -> list[Checkpoint]:
        """The checkpoints on disk, or those that the logs name if there are none (only the log was copied)."""
        return self.checkpoints or self._notes.saved()

    def newest_time(self, reached: bool = False) -> float | None:
        """The newest time stamp of rows and notes. If rows have times, only notes of logs whose rows have times count:
        others may be in another time zone. `reached`: if rows have no times, only notes after the newest row of their
        log count: the time of the launch does not show when the rows after it were written."""
        rows = self.history.table.newest_time
        if self._cut_at is not None and rows is not None:
            return rows  # notes without a step may be later
        timed = {part.name for part in self.history.parts if part.table.newest_time is not None}
        behind = self.history.behind
        if rows is None:
            heads = {part.name: part.table.head_step for part in self.history.parts} if reached else {}
            timed = {name for name in self._notes.newest if not self._notes.is_behind(name, heads.get(name))}
        notes = [t + behind.get(name, 0.0) for name, t in self._notes.newest.items() if name in timed]
        return max(notes if rows is None else [rows, *notes], default=None)

    @property
    def config(self) -> dict[str, ConfigValue]:
        """Canonical config key -> value."""
        if self._resolved is None:
            self._resolved = self._config.resolved(self.dialect)
        return self._resolved

    @property
    def raw_config(self) -> dict[str, ConfigValue]:
        """Every config key in the framework's own spelling."""
        return self._config.raw

    @property
    def names(self) -> dict[str, MetricName]:
        """Raw key (a column of the history) -> its name."""
        self.refresh_names()
        if self._metric_names is None:
            meanings, version = self._names.meanings.items(), self.framework_version
            self._metric_names = {key: named(meaning, self.dialect, version) for key, meaning in meanings}
        return self._metric_names

    def series(self, name: str) -> Series | None:
        """A series by canonical name (the first key that resolves to it and holds points, in canonical units) or by raw
        key (as logged); None if there is none."""
        return self.all_series()(name)

    def all_series(self, rows: int | None = None) -> Callable[[str], Series | None]:
        """A function like `series`, for all current rows or the first `rows` of them. It is quick for many names in a
        row."""
        self.refresh_names()
        table, names, forced = self.history.table, self._names, self.key_map

        def series(name: str) -> Series | None:
            key = names.only(name) if rows is None else None
            column = None if key is None else table.columns.get(key)
            if column is not None and key is not None and column.axis.count:
                return column.series(key)
            if names.sources(name) if is_canonical(name) or name in forced else ():
                found = canonical_series(table, names, name, rows)
                if found is not None:
                    return found
            own = table.series(name)
            return own if own is None or rows is None else own.until_row(rows)

        return series

    def keys_for(self, canonical: str) -> list[str]:
        """The raw keys that may stand for a canonical name, the preferred one first."""
        self.refresh_names()
        return self._names.sources(canonical)

    @property
    def keys(self) -> Mapping[str, tuple[str, ...]]:
        """Canonical name -> the raw keys that may stand for it, the preferred one first."""
        names = self.names
        if self._keys is None or self._keys[0] is not names:
            known = {name: tuple(self._names.sources(name)) for name in (*metrics(), *self.key_map)}
            self._keys = names, {name: keys for name, keys in known.items() if keys}
        return self._keys[1]

    def is_turned(self, key: str) -> bool:
        """Whether the sign of a key's series is flipped because its values are those of a loss."""
        return self._names.is_turned(key)

    def unlogged(self) -> list[str]:
        """A message for each entry of `key_map` whose key this run does not log."""
        self.refresh_names()
        return self._names.unlogged()

    def family(self, canonical: str) -> dict[str, Series]:
        """Member -> series, for all keys of a canonical metric with several members (reward parts, validation sets)."""
        self.refresh_names()
        table, meanings = self.history.table, self._names.meanings
        held = (s for key in self._names.sources(canonical) if (s := table.series(key)) is not None and len(s))
        return {meanings[one.key].member or one.key: one for one in courses(held, meanings)}

    def columns(self) -> dict[str, Series]:
        """Every column by raw key. Those that the vocabulary knows are in canonical units, and under the newest key if
        the key changed."""
        self.refresh_names()
        return columns_by_key(self.history.table, self._names)

    @property
    def renamed(self) -> tuple[Renamed, ...]:
        """The metrics whose key changed."""
        self.refresh_names()
        return tuple(renamed(self.history.table, self._names))

    def listen(self) -> None:
        """Begins to follow after the first read: what was already there was not seen to arrive."""
        written = max((s.mtime for s in self.sources if s.used and s.mtime is not None), default=self.as_of)
        self.pulse.start(written, *self._counters())

    def heard(self, now: float) -> None:
        """Records that something new was read at `now`."""
        self.pulse.hear(now, *self._counters())

    def _counters(self) -> tuple[int | None, tuple[object, ...], Note | None]:
        """The newest step of rows and bars, everything that changes while work is done, and the phase announced
        last."""
        head = self.history.table.head_step
        bars = tuple(source.bar for source in self._notes.sources.values())
        phase = self._notes.under_way
        known = [step for step in (head, *bars) if step is not None]
        said = (phase.kind, phase.text) if phase is not None else None
        return max(known, default=None), (head, bars, self.history.table.n, said), phase

    def pace(self) -> LearnedPace:
        """How long steps usually take, as far as recent steps show."""
        table, pulse = self.history.table, self.pulse
        newest = pulse.beats[-1] if pulse.beats else None
        state = (id(table), table.n, newest, len(self.checkpoints), len(self._config.raw), self.dialect)
        if self._pace is None or self._pace[0] != state:
            timer = self.series("time_per_step_s")
            bars = [source.bar for source in self._notes.sources.values() if source.bar is not None]
            head = table.head_step
            step = max([*bars, *([] if head is None else [head])], default=None)
            pace = learn(
                table,
                np.zeros(0) if timer is None else timer.finite().values,
                tuple(pulse.beats),
                marked_steps(table, self._names, self.checkpoints, self._notes),
                planned_periods(self._config, self.dialect, self.planned_steps or 0),
                step,
                1 if bars else row_gap(table),
            )
            self._pace = (state, pace)
        return self._pace[1]

    def _phase_takes(self) -> Usual | None:
        """The seconds that the current phase usually takes: measured while following, else from the logged timers."""
        phase = self.pulse.phase
        if phase is None:
            return None
        seen = self.pulse.durations.get(phase_key(phase), ())
        if len(seen) > 2 or phase.kind == "phase":
            return usual(list(seen))
        columns = self.history.table.columns
        timed = [
            s for key in keys_for(PHASE + phase.kind, self.dialect, columns) if (s := self.history.table.series(key))
        ]
        return usual(np.concatenate([s.finite().values[-RECENT:] for s in timed])) if timed else usual(list(seen))

    def state(self, now: float | None = None) -> RunState:
        """The state of the run at `now`, seconds since the epoch; without `now` it does not depend on the present."""
        if self._cut_at is not None:
            return stood(self._cut_at)
        return judge(self.evidence(now))

    def evidence(self, now: float | None = None) -> LifeSigns:
        """The evidence for the state, with the newest rows and file times."""
        for part in self.history.parts:
            laps = min(part.laps, len(part.table.abandoned))  # lines above their step seem to go back, too
            self._notes.reach(part.name, part.table.head_step, laps, part.unplaced)
        if self.followed and self.pulse.moved_at is None:
            self.listen()
        return LifeSigns(
            self.history.table,
            self.planned_steps,
            self._notes,
            self.exit,
            now=self.pulse.output_at if now is None and self.followed else now,
            stamped=None if self.as_of is None else self.newest_time(reached=True),
            zoned=all(one.table.zoned for one in self.history.parts if one.table.newest_time is not None),
            written=max((s.mtime for s in self.sources if s.used and s.mtime is not None), default=None),
            beside=written_beside(self.history.parts),
            followed=self.followed,
            scheduled=self.scheduled,
            pulse=self.pulse,
            pace=self.pace,
            phase_takes=self._phase_takes,
            counts=self.history.counts,
            outlived=outlived(self.sources),
            counted=self.history.counted,
            ended=self.ended_at,
        )

    def earlier_ends(self, step: int | None = None) -> list[Crash]:
        """What ended the attempts before the last one, oldest first. `step`: what the log showed at that step. The
        current answer is kept until the run says more, as both diagnosis and snapshot ask for it."""
        table, notes = self.history.table, self.notes
        if step is not None:
            return earlier_ends([note for note in notes if note.by(step)], self.ended_at, step)
        state = self.ended_at, int(table.steps[-1]) if table.n else None, self._notes.go_on
        if self._ends is None or self._ends[0] is not notes or self._ends[1] != state:
            self._ends = notes, state, earlier_ends(notes, *state)
        return self._ends[2]

    @property
    def ended_at(self) -> frozenset[int]:
        """The last steps of attempts that a later attempt partly replaced."""
        return frozenset(last for _, last, _ in self.history.abandoned)

    def phases(self, until_row: int | None = None, window: int = 20) -> PhaseTable:
        self.refresh_names()
        return phase_table(self.history.table, self._names, self.framework_version, until_row, window)
