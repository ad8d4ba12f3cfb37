"""What to run next: up to six experiments. Each changes one variable and states what would refute it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from math import inf, sqrt

from rltui.compare.configs import as_text
from rltui.compare.groups import open_roots
from rltui.compare.metric import Scored
from rltui.compare.model import Experiment, Primary, SettingSignal
from rltui.compare.read import ComparedRun
from rltui.frameworks.load import metrics
from rltui.plots.numbers import number
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait

MOST = 6
FIXES = 2  # most fixes of one finding
SEEDS = 3  # runs with the same settings: fewer do not show how much chance alone changes
LIKELY_Q = 0.2  # strong enough to try in an experiment, but not proof
_ONE_KEY = re.compile(r"[\w./+-]+")
BRACKET = (0.5, 2.0)  # around the best run's learning rate
LONGER = 1.5
BUDGET = ("total_steps", "total_epochs")
"""Settings of length. A larger value goes with a better metric simply because the run is longer; the experiment
`longer` tests that."""


def propose(
    base: ComparedRun,
    runs: Sequence[ComparedRun],
    healthy: Sequence[str],
    scores: Mapping[str, Scored],
    signals: Sequence[SettingSignal],
    primary: Primary,
    cost: str,
) -> tuple[Experiment, ...]:
    """Experiments around `base`, the best run: test its lead with another seed, move the strongest settings, fix its
    own findings. If it is not `healthy`: fix what broke it, one change at a time. `runs`: those that log the primary
    metric."""
    plan = _Plan(base, runs, healthy, scores, primary, cost)
    if plan.broken:
        fixes = list(plan.fixes(FIXES))
        slower = iter(()) if any(e.setting == base.spelled.get("lr", "lr") for e in fixes) else plan.bracket()
        leads = [iter(fixes), plan.held_out(), slower]
    else:
        leads = [plan.replicate(), plan.settings(signals), plan.fixes(1), plan.longer(), plan.held_out()]
        leads += [plan.bracket(), plan.rivals()]
    found: dict[tuple[str | None, str | None, str | None, str], Experiment] = {}
    for experiment in chain.from_iterable(leads):
        same = experiment.title if experiment.after is None else ""
        found.setdefault((experiment.base, experiment.setting, experiment.after, same), experiment)
    return tuple(islice(found.values(), MOST))


class _Plan:
    def __init__(
        self,
        base: ComparedRun,
        runs: Sequence[ComparedRun],
        healthy: Sequence[str],
        scores: Mapping[str, Scored],
        primary: Primary,
        cost: str,
    ) -> None:
        self.base, self.scores, self.primary, self.cost = base, scores, primary, cost
        self.others = sorted((r for r in runs if r.id != base.id), key=lambda r: (-scores[r.id].best_good, r.id))
        self.broken = base.id not in healthy
        self.score = scores[base.id]
        self.seeds = [run for run in self.others if run.id in healthy and _is_seed_of(base, run)]
        self.healthy_others = [
            run for run in self.others if run.id in healthy and scores[run.id].learned and run not in self.seeds
        ]
        reached = [scores[run.id].best for run in (base, *self.seeds)]
        self.spread = max(reached) - min(reached)
        self.noise = max(self.score.noise, self.spread)

    def _make(
        self, title: str, why: str, expected: str, refuted: str, key: str | None, after: str | None, cost: str = ""
    ) -> Experiment:
        spelled = self.base.spelled.get(key, key) if key is not None else None
        value = self.base.raw_config.get(spelled) if spelled is not None else None
        return Experiment(
            title=title,
            base=self.base.id,
            setting=spelled,
            before=None if value is None else as_text(value),
            after=after,
            expected=expected,
            refuted_by=refuted,
            cost=cost or self.cost,
            why=why,
        )

    @property
    def _better(self) -> str:
        side = "above" if self.primary.higher_is_better else "below"
        return f"{side} {number(self.score.best + self.noise * self.score.sign)}"

    @property
    def _no_better(self) -> str:
        what = "the spread of its seeds" if self.spread > self.score.noise else "two standard errors"
        best = f"the best smoothed {self.primary.label}"
        return f"{best} does not get {self._better} ({what} from {number(self.score.best)})"

    def _tried(self, key: str, after: float) -> bool:
        """Whether one of the runs is the base with this one change."""
        wanted = _as_texts({**self.base.settings, key: after})
        return any(_as_texts(run.settings) == wanted for run in self.others)

    def replicate(self) -> Iterator[Experiment]:
        """Another seed of the best run, until there are three. Their spread is the noise of every comparison."""
        if len(self.seeds) >= SEEDS - 1:
            return
        rivals = [
            self.scores[run.id].best_good
            for run in self.others
            if run not in self.seeds and (self.broken or run in self.healthy_others)
        ]
        lead = self.score.best_good - max(rivals, default=-inf)
        if self.seeds:
            word = f"{len(self.seeds) + 1} seeds are {number(self.spread)} apart: too few to tell what chance does"
        elif not rivals:
            word = "one seed is one draw"
        else:
            word = f"the lead over the next run is {number(lead)}, two standard errors are {number(self.noise)}"
            word += ". Nothing else separates luck from settings" if lead <= self.noise else ". One seed is one draw"
        seeds = [str(run.raw_config.get("seed")) for run in (self.base, *self.seeds)]
        yield self._make(
            f"another seed of {self.base.id}, everything else the same",
            word,
            f"within {number(self.noise)} of {number(self.score.best)}",
            f"it ends further than {number(self.noise)} from {number(self.score.best)}: the order of the runs is luck",
            "seed",
            as_text(1.0 + max(map(int, seeds))) if all(seed.isdecimal() for seed in seeds) else "another",
        )

    def settings(self, signals: Sequence[SettingSignal]) -> Iterator[Experiment]:
        """Moves each leading setting of the best run in its good direction, beyond or between the values that were
        tried."""
        for signal in signals:
            value = self.base.settings.get(signal.setting)
            if not _is_number(value) or signal.rho is None or signal.q is None or signal.q > LIKELY_Q:
                continue
            if signal.setting in BUDGET:
                continue
            after = self._step(signal.setting, float(str(value)), signal.rho > 0)
            if after is None or self._tried(signal.setting, after):
                continue
            also = f", told apart from {', '.join(signal.keys[1:3])} only by this" if len(signal.keys) > 1 else ""
            yield self._make(
                f"{self.base.spelled.get(signal.setting, signal.setting)} {as_text(value)} → {as_text(after)}{also}",
                f"rho {signal.rho:+.2f} over {signal.n} runs, q {signal.q:.2g}",
                f"{self._better}, if the trend over the runs goes on",
                self._no_better,
                signal.setting,
                as_text(after),
            )

    def _step(self, setting: str, value: float, up: bool) -> float | None:
        """The geometric mean of `value` and the next one that was tried on that side; twice or half `value` if none
        was."""
        tried = {float(str(v)) for r in (self.base, *self.others) if _is_number(v := r.settings.get(setting))}
        beyond = sorted(v for v in tried if (v > value if up else v < value))
        if value <= 0:
            return None
        if beyond:
            next_one = beyond[0] if up else beyond[-1]
            between = sqrt(value * next_one) if next_one > 0 else value / 2
        else:
            between = value * (2 if up else 0.5)
        if float(value).is_integer() and value >= 1:
            between = round(between)
        return None if between == value or between <= 0 else float(f"{between:.2g}")

    def fixes(self, most: int) -> Iterator[Experiment]:
        """The first fixes that change one setting, for each finding that is open in the run."""
        for finding in open_roots(self.base):
            tied = [
                (fix, fix.config_key) for fix in finding.fixes if fix.config_key and _ONE_KEY.fullmatch(fix.config_key)
            ]
            for fix, key in tied[:most]:
                value = self.base.raw_config.get(key)
                yield Experiment(
                    title=fix.text,
                    base=self.base.id,
                    setting=key,
                    before=None if value is None else as_text(value),
                    after=None,
                    expected=f"{finding.title} closes, {self.primary.label} no worse than {number(self.score.best)}",
                    refuted_by=f"it comes again at about step {finding.onset_step}, or {self.primary.label} gets worse",
                    cost=self.cost,
                    why=f"open in {self.base.id} since step {finding.onset_step}: {finding.summary or finding.title}",
                )

    def longer(self) -> Iterator[Experiment]:
        """More steps, if the best run was still improving at its end."""
        last = self.base.last_step
        if last is None or self.score.best_step < 0.9 * last or "total_steps" not in self.base.settings:
            return
        if self.base.state == "running":
            return
        yield self._make(
            f"{LONGER:g} times the steps of {self.base.id}",
            f"its best value is at step {self.score.best_step} of {last}: it may still have been getting better",
            f"{self._better}, while KL and entropy stay where they are",
            self._no_better,
            "total_steps",
            as_text(round(last * LONGER)),
            f"{LONGER:g} times: {self.cost}",
        )

    def held_out(self) -> Iterator[Experiment]:
        """Switches validation on, if the runs are ranked by a metric of the prompts that they train on."""
        if self.base.validates or (self.primary.name is not None and self.primary.name.startswith("val")):
            return
        yield self._make(
            f"{self.base.id} with validation every 20 steps on prompts that are not trained on",
            f"the ranking uses {self.primary.label}, which is measured on training prompts",
            f"{metrics()['val_score'].label} gets better with {self.primary.label}",
            "validation stays flat or gets worse while the training metric gets better: the ranking favours exploits",
            "test_freq",
            "20",
        )

    def bracket(self) -> Iterator[Experiment]:
        """Half and twice the run's learning rate, the one setting that always matters. Leaves out the direction that a
        finding of the run warns of, and rates that were tried."""
        lr = self.base.settings.get("lr")
        if not _is_number(lr):
            return
        active = {f.id for f in self.base.findings if f.status == "active"}
        for factor in BRACKET:
            after = float(f"{float(str(lr)) * factor:.3g}")
            higher = factor > 1
            warned = (higher and self.broken) or bool(active & having(Trait.RATE_HIGH if higher else Trait.RATE_LOW))
            if warned or self._tried("lr", after):
                continue
            expected, refuted = f"not {self._better}, if the rate is right", f"{self._better}: the rate was not right"
            if self.broken:
                expected, refuted = "what broke the run comes later or not at all", "it breaks at the same step"
            yield self._make(
                f"{self.base.spelled.get('lr', 'lr')} {as_text(lr)} → {as_text(after)}",
                "a slower policy breaks later, if the rate is the cause"
                if self.broken
                else "brackets the run's learning rate",
                expected,
                refuted,
                "lr",
                as_text(after),
            )

    def rivals(self) -> Iterator[Experiment]:
        """Other seeds of the next healthy runs. Nothing else can be proposed if no config is recorded."""
        for run in self.healthy_others[:2]:
            yield self._seed(run, f"another seed of {run.id}", "another", "the next run by the primary metric")
        if len(self.healthy_others) == 1:
            yield self._seed(
                self.base, f"a third seed of {self.base.id}", "a third", "an order of two runs is one draw"
            )

    def _seed(self, run: ComparedRun, title: str, after: str, why: str) -> Experiment:
        own = self.scores[run.id]
        luck = "the order of the runs is luck"
        seed = run.raw_config.get("seed")
        return Experiment(
            title=f"{title}, everything else the same",
            base=run.id,
            setting="seed",
            before=None if seed is None else as_text(seed),
            after=after,
            expected=f"within {number(max(own.noise, self.spread))} of {number(own.best)}",
            refuted_by=f"it reaches {number(self.score.best)}: {luck}"
            if run is not self.base
            else f"it does not: {luck}",
            cost=f"about that of {run.id}",
            why=why,
        )


def _is_seed_of(base: ComparedRun, run: ComparedRun) -> bool:
    """Whether both runs have the same settings and different seeds."""
    seeds = [one.raw_config.get("seed") for one in (base, run)]
    alike = bool(base.settings) and _as_texts(base.settings) == _as_texts(run.settings)
    return alike and None not in seeds and seeds[0] != seeds[1]


def _as_texts(settings: Mapping[str, object]) -> dict[str, str]:
    return {key: as_text(value) for key, value in settings.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
