"""What a rule may see: the rows known when it judges, and nothing after them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from rltui.evidence.blocks import BlockCache, Blocks
from rltui.evidence.evaluations import evaluations, held_out
from rltui.evidence.facts import Facts
from rltui.evidence.outages import Gap, Outage, OutageCache, without
from rltui.evidence.profile import Profile, RunSettings
from rltui.evidence.rescales import Rescale, Rescales
from rltui.evidence.revalued import Revaluations, Revalued
from rltui.evidence.seen import Worked
from rltui.evidence.summed_steps import STEP, summed_steps
from rltui.evidence.trends import NO_TREND, Trend, trend
from rltui.frameworks.load import dialect
from rltui.records import cached
from rltui.run.run import Run
from rltui.run.sums import median
from rltui.run.table import Floats, Series

NOTHING: Floats = np.zeros(0)

STUBS = frozenset(
    {
        "entropy",
        "kl_ref",
        "ppo_kl",
        "clip_frac",
        "clip_frac_high",
        "clip_frac_low",
        "rollout_train_kl",
        "rollout_train_logprob_diff",
        "kl_ref_max",
    }
)
"""Metrics that some trainers write as a constant 0.0 when they are not measured."""
STUB_ROWS = 10
PAIRS = ("dpo_reward_chosen", "dpo_reward_margin")
"""What the policy gained over its reference for an answer, times beta. A 0 in either shows that the policy equals its
reference."""
MOVED = 1e-3
"""Nats a token: two engines that hold the same weights differ by less."""

FAMILIES = frozenset({"reward_component_mean"})
"""Metrics of which only the members are logged."""


def look_distance(n: int) -> int:
    """The number of rows from the look at `n` rows to the next."""
    return max(1, n // (100 if n < LONG_ROWS else 50 if n < VERY_LONG_ROWS else 25))


def look_rows(start: int = 0) -> Iterator[int]:
    """The row counts at which the run is judged: every row at first, then every 1 %, for a long run every 2 %, for a
    very long one every 4 %. They depend on nothing else."""
    at = bisect_right(_LOOKS, start)
    while True:
        if at == len(_LOOKS):
            n = _LOOKS[at - 1]
            _LOOKS[at : at + 1] = [n + look_distance(n)]  # the same in any thread
        yield _LOOKS[at]
        at += 1


LONG_ROWS, VERY_LONG_ROWS = 1_000, 10_000
"""From each of these row counts on, a run is looked at half as often in proportion to its length: a look costs the same
at any row, and the newest row of a followed run is always judged."""
CENTRED, SMALL = ("advantage_mean", "pg_loss"), 1e-8
"""Metrics that are 0 apart from rounding errors, and the greatest size of such a number."""
DECIMALS = 9
"""A log that rounds has fewer decimals: in a log with this many, learning rates of 1e-7 and more do not become 0."""
_LOOKS = [1]
"""The first row counts, as far as they have been requested."""


class _Known(Struct):
    """What looks at the first `n` rows computed: the rules and the report after them ask for the same."""

    n: int
    series: dict[str, Series | None] = field(default_factory=dict)
    trends: dict[tuple[str, int], Trend] = field(default_factory=dict)
    blocks: dict[str, Blocks | None] = field(default_factory=dict)
    profile: Profile | None = None
    facts: Facts | None = None
    outages: tuple[Outage, ...] | None = None
    gaps: tuple[Gap, ...] | None = None


class LookFeed:
    """The run's series as they are now, fetched once; each look takes its first rows."""

    def __init__(
        self,
        run: Run,
        blocks: BlockCache,
        settings: RunSettings,
        window: int | None = None,
        outages: OutageCache | None = None,
        rescales: dict[str, Rescales] | None = None,
        revaluations: Revaluations | None = None,
        rows: int | None = None,
        absent: Iterable[str] = (),
    ) -> None:
        """`rows`: as if the run had no more, so that a name has the meaning that it had then. `absent`: names that are
        known to be in no row."""
        self.run = run
        self.window = window
        self.blocks = blocks
        self.settings = settings
        self._outages = outages or OutageCache()
        self._series = run.all_series(rows)
        self._absent: dict[str, Series | None] = dict.fromkeys(absent)
        self._logged, self._finite = self._absent.copy(), self._absent.copy()
        self._family: dict[str, dict[str, Series]] = {}
        self._scales = {} if rescales is None else rescales
        self._rescales: dict[str, list[Rescale]] = {}
        self._revaluations = revaluations or Revaluations()
        self.evaluated: dict[str, Any] = {}  # facts of evaluations
        self._known = _Known(0)
        self._held: list[_Known] = []  # with facts

    def known(self, n: int) -> _Known:
        """What earlier looks computed from the first `n` rows."""
        if self._known.n != n:
            if n > self._known.n:
                self.let_go()
            self._known = _Known(n, self._absent.copy())
        return self._known

    def facts(self, look: Look, known: _Known) -> Facts:
        """The fact table of a look, shared by all looks that share what is `known`."""
        if known.facts is None:
            known.facts = Facts(look)
            self._held.append(known)
        return known.facts

    def let_go(self) -> None:
        """Drops the facts, which hold the look that asked for them. Without them, a look and the columns that it saw
        are freed as soon as nobody needs them, and not only at garbage collection."""
        for known in self._held:
            known.facts = None
        self._held.clear()

    def logged(self, name: str) -> Series | None:
        if name in self._logged:  # requested hundreds of times a row
            return self._logged[name]
        found = self._series(name)
        if found is None and name == STEP:
            found = summed_steps(self._series, dialect(self.run.dialect))
        self._logged[name] = found
        return found

    def finite(self, name: str) -> Series | None:
        if name in self._finite:
            return self._finite[name]
        series = self.logged(name)
        found = self._finite[name] = None if series is None else series.finite()
        return found

    def holds(self, name: str) -> bool:
        """Whether the metric, or a member of it, is logged anywhere in the run."""
        return self.logged(name) is not None or (name in FAMILIES and bool(self.family(name)))

    def family(self, name: str) -> dict[str, Series]:
        if name not in self._family:
            self._family[name] = {member: s.finite() for member, s in self.run.family(name).items()}
        return self._family[name]

    @cached
    def restarts(self) -> tuple[int, ...]:
        """The steps at which the run was resumed: rows go back, or the log says so. Notes before the first row count as
        the start of the run. If rows are only counted, steps that the log names are not used, as they differ from these
        numbers."""
        table, notes = self.run.history.table, () if self.run.history.counted else self.run.notes
        said = [note.step for note in notes if note.kind == "resume" and note.step is not None]
        after = {int(table.steps.searchsorted(step, "right")) for step in said}
        told = {int(table.steps[row]) for row in after if 0 < row < len(table.steps)}
        return tuple(
            sorted([*table.restarts, *(told - set(table.restarts))])
        )  # a loop goes back to one step repeatedly

    def outages(self, reward: str, look: Look) -> tuple[Outage, ...] | None:
        """The outages of a reward that are known at a look; None if it has no points by then."""
        series, stem = self.finite(reward), reward.removesuffix("_mean")
        points = series.until_row(look.n) if series is not None else None
        if series is None or not points:
            return None
        source = self._outages.get(reward, series, self.finite("reward_std"), self.finite(f"{stem}_max"))
        return source.outages(points, look.logged)

    def rescales(self, reward: str) -> list[Rescale]:
        """The changes of the reward to another scale (`rescales.Rescales`)."""
        if reward not in self._rescales:
            series, stem = self.finite(reward), reward.removesuffix("_mean")
            if series is None:
                self._rescales[reward] = []
            else:
                found = self._scales.setdefault(reward, Rescales()).of(series, partial(self._spread, stem), self.logged)
                self._rescales[reward] = [replace(one, of=reward) for one in found]
        return self._rescales[reward]

    @cached
    def revalued(self) -> list[Revalued]:
        """The changes of validation sets to another measure (`revalued.Revalued`), oldest first."""
        main = self.finite("val_score")
        sets = {} if main is None else {main.key: main}
        sets |= {one.key: one for one in self.family("val_score").values()}
        found = [one for each in sets.values() for one in self._leaps_of(each)]
        return sorted(found, key=lambda one: one.first_row)

    def _leaps_of(self, held_out: Series) -> list[Revalued]:
        seen = evaluations(held_out) if len(held_out) else held_out
        return self._revaluations.of(seen, self._train_reward, self.logged)

    def _train_reward(self) -> Series | None:
        score = self.finite("score_mean")
        return score if score is not None and len(score) else self.finite("reward_mean")

    def _spread(self, stem: str, row: int) -> Series | None:
        """Standard deviation of the rewards of a batch, from a row on; the highest less the lowest reward if only those
        are logged, in the same rows."""
        known = self.finite("reward_std")
        if known is not None:
            return known.since_row(row)
        low, high = self.finite(f"{stem}_min"), self.finite(f"{stem}_max")
        if low is None or high is None:
            return None
        low, high = low.since_row(row), high.since_row(row)
        if not np.array_equal(low.rows, high.rows):
            return None
        return Series(high.key, high.steps, high.values - low.values, high.rows, high.times)

    def absent(self) -> list[str]:
        """The names requested so far that the run does not log."""
        return [name for name, series in self._logged.items() if series is None]

    def keys(self) -> dict[str, str]:
        """Raw key behind each name requested so far. If a name gets another key, earlier looks are void."""
        return {name: s.key for name, s in self._logged.items() if s is not None}


class Look:
    """The first `n` rows of a run. `open_levels`: the levels of the findings that were open at the look before."""

    def __init__(self, feed: LookFeed, n: int, open_levels: Mapping[str, int]) -> None:
        self._feed = feed
        self.n = n
        self.open = open_levels
        table = feed.run.history.table
        self.steps, self.times = table.steps[:n], table.times[:n]
        self.step = int(table.steps[n - 1]) if n else 0
        self.dialect = dialect(feed.run.dialect)
        self.settings, self.window = feed.settings.at(self.step), feed.window
        self._known = known = feed.known(n)
        self._series, self._trends, self._blocks = known.series, known.trends, known.blocks

    @property
    def made(self) -> int:
        """Steps since the first step of the log."""
        return self.step - int(self.steps[0]) if self.n else 0

    @property
    def set_since(self) -> int | None:
        """The first step that was made with the settings of the newest row; None before the first row."""
        if not self.n:
            return None
        return int(self.steps[0]) if self.settings.since is None else self.settings.since

    def until(self, n: int) -> Look:
        """An earlier look, at the first `n` rows."""
        return Look(self._feed, n, self.open)

    def logged(self, name: str) -> Series | None:
        """Points of a metric as logged, including non-finite ones (NaN); None if there are none yet."""
        series = self._feed.logged(name)
        if series is None:
            return None
        series = series.until_row(self.n)
        return series if len(series) else None

    def series(self, name: str) -> Series | None:
        """Finite points of a metric; None if there are none yet or if a constant 0 stands for "not measured". For
        metrics made from the rewards, rows of an outage and rows before a change of scale are left out. So are
        evaluations that are only logged again."""
        known = self._series
        if name not in known:  # requested hundreds of times a row
            known[name] = self._measured(name)
        return known[name]

    def _measured(self, name: str) -> Series | None:
        series = self._feed.finite(name)
        if series is None:
            return None
        series = series.until_row(self.n)
        if not len(series) or (name in STUBS and len(series) >= STUB_ROWS and self.is_zero(name)):
            return None
        if name == "lr" and self.rate_rounded:
            return None
        if name in held_out():
            series = evaluations(series)
        gaps = self._known.gaps
        if gaps is None:
            gaps = self.gaps
        if not gaps:
            return series
        series = without(series, name, gaps)
        return series if len(series) else None

    @property
    def outages(self) -> tuple[Outage, ...]:
        """Rows in which the reward's source failed, oldest first: the source of the score, else that of the reward that
        is trained on, which may be graded elsewhere."""
        if self._known.outages is None:
            self._known.outages = self._find_outages()
        return self._known.outages

    def _find_outages(self) -> tuple[Outage, ...]:
        each = (self._feed.outages(name, self) for name in ("score_mean", "reward_mean"))
        return next((found for found in each if found), ())

    @cached
    def rescales(self) -> tuple[Rescale, ...]:
        """The newest change of scale of the score, and that of the reward if it is logged beside the score and changed
        alone: what is optimised is then another number, and the score is unchanged."""
        found: list[Rescale] = []
        for name in ("score_mean", "reward_mean"):
            finite = self._feed.finite(name)
            if finite is None or not len(finite.until_row(self.n)):
                continue
            newest = next((one for one in reversed(self._feed.rescales(name)) if one.known <= self.n), None)
            if newest is not None and not any(one.first_row >= newest.first_row for one in found):
                found.append(newest)
        return tuple(found)

    @property
    def rescale(self) -> Rescale | None:
        """The newest change of scale."""
        return max(self.rescales, key=lambda one: one.first_row, default=None)

    @cached
    def revalued(self) -> tuple[Revalued, ...]:
        """The newest change of each validation set to another measure."""
        newest = {one.key: one for one in self._feed.revalued if one.known <= self.n}
        return tuple(sorted(newest.values(), key=lambda one: one.first_row))

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Rows whose rewards are left out of everything: outages, and what came before another scale or another measure
        of validation."""
        if self._known.gaps is None:
            self._known.gaps = (*self.outages, *self.rescales, *self.revalued)
        return self._known.gaps

    @property
    def rate_rounded(self) -> bool:
        """Whether the learning rate prints as 0 in every row although the policy moves, judged by its KL to the
        reference or, if none is logged, by its gradient: the log rounds it away."""
        if not self.is_zero("lr") or self.settings.lr == 0.0 or (self.exact and self.at_reference):
            return False
        kl = self.values("kl_ref")[-STUB_ROWS:]
        return float(kl.mean()) > MOVED if len(kl) else bool(np.count_nonzero(self.values("grad_norm")[-STUB_ROWS:]))

    @property
    def at_reference(self) -> str:
        """The metric by which the policy equals its reference in every row, to the last digit logged; empty if none
        shows it."""
        pairs = next((name for name in PAIRS if self.logged(name) is not None), "")  # equal pairs have no margin either
        return next((name for name in ("kl_ref", pairs) if name and self.is_zero(name)), "")

    @property
    def exact(self) -> bool:
        """Whether numbers have more digits than in a log that rounds, or some are smaller than any learning rate in
        use: a 0 is then really 0."""
        for name in CENTRED:
            sizes = np.abs(self.values(name)[-STUB_ROWS:])
            if ((sizes > 0.0) & (sizes < SMALL)).any():
                return True
        for name in ("entropy", "grad_norm", "reward_std", "score_mean", "reward_mean"):
            x = self.values(name)[-STUB_ROWS:]
            if len(x):
                scaled = x * 10.0**DECIMALS
                return median(np.abs(scaled - np.round(scaled))) > 1e-3
        return False

    def is_zero(self, name: str) -> bool:
        """Whether every finite point so far is exactly 0."""
        series = self._feed.finite(name)
        if series is None:
            return False
        values = series.until_row(self.n).values
        if not len(values) or values[-1] != 0.0:
            return False
        blocks = self._feed.blocks.get(name, values)
        return bool(np.maximum.reduce(blocks.highs) == 0.0 and np.minimum.reduce(blocks.lows) == 0.0)

    def values(self, name: str) -> Floats:
        """Finite values of a metric in row order; empty if there are none."""
        series = self.series(name)
        return NOTHING if series is None else series.values

    def family(self, name: str) -> dict[str, Series]:
        """Members of a metric (reward parts, validation sets) that have points by now."""
        cut = {member: s.until_row(self.n) for member, s in self._feed.family(name).items()}
        if name in held_out():
            cut = {member: evaluations(s) for member, s in cut.items()}
        measured = {member: without(s, name, self.gaps) for member, s in cut.items() if len(s)}
        return {member: s for member, s in measured.items() if len(s)}

    def forced(self, name: str) -> bool:
        """Whether the user chose the key of this metric."""
        return name in self._feed.run.key_map

    def weighed(self, name: str) -> bool:
        """Whether an unknown coefficient may be in the values: nothing then follows from how large they are."""
        series = self._feed.logged(name)
        return series is not None and self._feed.run.is_turned(series.key)

    def blocks(self, name: str) -> Blocks | None:
        """Medians, lows and highs of the whole series in at most a few hundred blocks."""
        if name not in self._blocks:
            series = self.series(name)
            held = f"{name} but {[one.first_row for one in self.gaps]}" if self.gaps else name
            self._blocks[name] = None if series is None else self._feed.blocks.get(held, series.values)
        return self._blocks[name]

    def trend(self, name: str, window: int = 200) -> Trend:
        """Trend of a metric over its last `window` points."""
        key = (name, window)
        if key not in self._trends:
            values = self.values(name)
            self._trends[key] = trend(values, window) if len(values) else NO_TREND
        return self._trends[key]

    @property
    def profile(self) -> Profile:
        """What kind of run this is, as far as these rows show."""
        if self._known.profile is None:
            self._known.profile = Profile.of(self)
        return self._known.profile

    @property
    def facts(self) -> Facts:
        """The fact table of these rows."""
        return self._feed.facts(self, self._known)

    @cached
    def reward(self) -> str:
        """Canonical name of the raw task reward: score_mean, else reward_mean."""
        return "score_mean" if self.series("score_mean") is not None else "reward_mean"

    def kept(self, name: str, facts: Worked) -> Worked:
        """The facts of evaluations as earlier looks computed them, if no evaluation came since: few of many
        rows hold one."""
        known: Worked | None = self._feed.evaluated.get(name)
        if known is not None and known.series.key == facts.series.key:
            then, now = known.series, facts.series
            if np.array_equal(then.rows, now.rows) and np.array_equal(then.values, now.values):
                return known
        self._feed.evaluated[name] = facts
        return facts

    def restarts(self, rows: int) -> list[int]:
        """The steps at which the run was resumed, within the last `rows` rows: rows go back, or the log says so and the
        rows go straight on."""
        if not self.n:
            return []
        first = int(self.steps[max(0, self.n - rows)])
        return [step for step in self._feed.restarts if first <= step <= self.step]
