"""What to run next: three to six experiments, one variable each, with what would refute it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import sqrt

from rltui.compare.configs import as_text
from rltui.compare.groups import open_roots
from rltui.compare.metric import Scored
from rltui.compare.model import Experiment, Primary, Signal
from rltui.compare.read import RunFacts
from rltui.plots.numbers import number
from rltui.vocabulary.load import metrics

MOST = 6
LIKELY_Q = 0.2  # a lead worth an experiment is less than a proof
BRACKET = (0.5, 2.0)  # around the best run's learning rate
LONGER = 1.5
BUDGET = ("total_steps", "total_epochs")
"""More of these goes with a better metric for no other reason than time: `longer` asks whether it would help."""


def propose(
    base: RunFacts,
    runs: Sequence[RunFacts],
    scores: Mapping[str, Scored],
    signals: Sequence[Signal],
    primary: Primary,
    cost: str,
) -> tuple[Experiment, ...]:
    """Around `base`, the best run: the lead settled, the strongest settings moved, its own findings fixed."""
    plan = _Plan(base, runs, scores, primary, cost)
    leads = (plan.settings(signals), plan.fixes(), plan.longer(), plan.held_out(), plan.bracket(), plan.rivals())
    found = {(e.base, e.setting, e.after): e for e in plan.replicate()}
    for lead in leads:
        for experiment in lead:
            found.setdefault((experiment.base, experiment.setting, experiment.after), experiment)
    return tuple(islice(found.values(), MOST))


class _Plan:
    def __init__(
        self,
        base: RunFacts,
        runs: Sequence[RunFacts],
        scores: Mapping[str, Scored],
        primary: Primary,
        cost: str,
    ) -> None:
        self.base, self.runs, self.scores, self.primary, self.cost = base, runs, scores, primary, cost
        self.score = scores[base.id]
        self.noise = 2 * sqrt(2) * (self.score.se or 0.0)

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
    def _no_better(self) -> str:
        side = "above" if self.primary.higher_is_better else "below"
        limit = self.score.best + self.noise * self.score.sign
        return f"the best smoothed {self.primary.label} stays not {side} {number(limit)} (two standard errors)"

    def replicate(self) -> Iterator[Experiment]:
        """Another seed of the best run, where its lead is small or stands on one run."""
        others = [s.best_good for run, s in self.scores.items() if run != self.base.id]
        lead = self.score.best_good - max(others, default=self.score.best_good)
        seed = self.base.raw_config.get("seed")
        word = f"the lead over the next run is {number(lead)}, two standard errors are {number(self.noise)}"
        yield self._make(
            f"another seed of {self.base.id}, everything else the same",
            word + ("; nothing else tells luck from settings" if lead <= self.noise else "; one seed is one draw"),
            f"within {number(self.noise)} of {number(self.score.best)}",
            f"it ends further than {number(self.noise)} from {number(self.score.best)}: the order of the runs is luck",
            "seed",
            "1" if seed is None else as_text(float(str(seed)) + 1) if str(seed).isdigit() else "another",
        )

    def settings(self, signals: Sequence[Signal]) -> Iterator[Experiment]:
        """Each leading setting moved one value further, or between two that are known, in the best run."""
        for signal in signals:
            value = self.base.settings.get(signal.setting)
            if not _is_number(value) or signal.rho is None or signal.q is None or signal.q > LIKELY_Q:
                continue
            if signal.setting in BUDGET:
                continue
            after = self._step(signal.setting, float(str(value)), signal.rho > 0)
            if after is None:
                continue
            also = f", told apart from {', '.join(signal.keys[1:3])} only by this" if len(signal.keys) > 1 else ""
            yield self._make(
                f"{self.base.spelled.get(signal.setting, signal.setting)} {as_text(value)} → {as_text(after)}{also}",
                f"rho {signal.rho:+.2f} over {signal.n} runs, q {signal.q:.2g}",
                f"better than {number(self.score.best)} if the trend over the runs goes on",
                self._no_better,
                signal.setting,
                as_text(after),
            )

    def _step(self, setting: str, value: float, up: bool) -> float | None:
        """Half way (in ratio) to the next value that was tried on that side; beyond the last one, twice or half."""
        tried = {float(str(v)) for r in self.runs if _is_number(v := r.settings.get(setting))}
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

    def fixes(self) -> Iterator[Experiment]:
        """The first tied fix of each finding that is open in the best run."""
        for finding in open_roots(self.base):
            fix = next((f for f in finding.fixes if f.config_key is not None), None)
            if fix is None:
                continue
            refute = finding.refute[0] if finding.refute else f"{finding.title} stays open"
            yield Experiment(
                title=fix.text,
                base=self.base.id,
                setting=fix.config_key,
                before=None,
                after=None,
                expected=f"{finding.title} closes, {self.primary.label} no worse than {number(self.score.best)}",
                refuted_by=refute,
                cost=self.cost,
                why=f"open in the best run since step {finding.onset_step}: {finding.summary or finding.title}",
            )

    def longer(self) -> Iterator[Experiment]:
        """More steps, where the best run was still rising at its end."""
        last = self.base.last_step
        if last is None or self.score.best_step < 0.9 * last or "total_steps" not in self.base.settings:
            return
        yield self._make(
            f"{LONGER:g} times the steps of {self.base.id}",
            f"its best value stands at step {self.score.best_step} of {last}: it may not have ended",
            f"above {number(self.score.best)} while KL and entropy stay where they are",
            self._no_better,
            "total_steps",
            as_text(round(last * LONGER)),
            f"{LONGER:g} times: {self.cost}",
        )

    def held_out(self) -> Iterator[Experiment]:
        """Validation switched on, where the runs are ranked by what they train on."""
        if self.primary.name is not None and self.primary.name.startswith("val"):
            return
        yield self._make(
            f"{self.base.id} with validation every 20 steps on prompts that are not trained on",
            f"the ranking stands on {self.primary.label}, which is measured on training prompts",
            f"{metrics()['val_score'].label} rises with {self.primary.label}",
            "validation stays flat or falls while the training metric rises: then the ranking is of exploits",
            "test_freq",
            "20",
        )

    def bracket(self) -> Iterator[Experiment]:
        """Half and twice the learning rate of the best run: the one setting that always matters."""
        lr = self.base.settings.get("lr")
        if not _is_number(lr):
            return
        for factor in BRACKET:
            after = float(f"{float(str(lr)) * factor:.3g}")
            yield self._make(
                f"{self.base.spelled.get('lr', 'lr')} {as_text(lr)} → {as_text(after)}",
                "brackets the best run's learning rate",
                f"no better than {number(self.score.best)} if the rate is right",
                f"better than {number(self.score.best)} by more than {number(self.noise)}: the rate was not right",
                "lr",
                as_text(after),
            )

    def rivals(self) -> Iterator[Experiment]:
        """Other seeds of the next runs: what is left to do where no config is recorded."""
        others = sorted((r for r in self.runs if r.id != self.base.id), key=lambda r: -self.scores[r.id].best_good)
        for run in others[:2]:
            yield self._seed(run, f"another seed of {run.id}", "another", "the next run by the primary metric")
        if len(others) < 2:
            yield self._seed(
                self.base, f"a third seed of {self.base.id}", "a third", "an order of two runs is one draw"
            )

    def _seed(self, run: RunFacts, title: str, after: str, why: str) -> Experiment:
        reached = self.scores[run.id].best
        expected = f"within {number(self.noise)} of {number(reached)}"
        luck = "the order of the runs is luck"
        return Experiment(
            title=f"{title}, everything else the same",
            base=run.id,
            setting="seed",
            before=None,
            after=after,
            expected=expected,
            refuted_by=f"it reaches {number(self.score.best)}: {luck}" if run is not self.base else f"not so: {luck}",
            cost=f"about that of {run.id}",
            why=why,
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
