"""Makes the one comparison object from the facts about many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rltui.compare import fair
from rltui.compare.configs import diff, shared_by, usual
from rltui.compare.configurations import replicates
from rltui.compare.experiments import LIKELY_Q, propose
from rltui.compare.groups import flags, group, limits, open_roots, readings
from rltui.compare.metric import Scored, choose, score
from rltui.compare.model import COSTS, Comparison, ConfigDiff, Experiment, Flag, Primary, RunLine, SettingSignal
from rltui.compare.read import COMPONENT, ComparedRun, RunCurve
from rltui.compare.signals import signals
from rltui.plots.numbers import duration, number
from rltui.plots.spark import downsample
from rltui.prose import joined
from rltui.settings.model import Compare as CompareSettings

CURVE_POINTS = 60
NOT_HELD_OUT = "ranked by a metric of the training prompts: log a validation score to rank by what was not trained on"

NO_SHARED_SET = (
    "ranked by a metric of the training prompts, as no validation set is shared by more than half of the runs"
)


def compare(
    runs: Sequence[ComparedRun],
    *,
    primary: str | None = None,
    lower_is_better: bool = False,
    cost: str | None = None,
    pair: tuple[str, str] | None = None,
) -> Comparison:
    """Compares `runs`. In the result the best runs come first.

    `cost`: the cost of the Pareto front (one of `COSTS`; default: the first that every scored run logs). `pair`: ids of
    two runs whose configs are compared; raises KeyError for an unknown id.
    """
    chosen = choose(runs, primary, lower_is_better)
    scores = {
        run.id: score(chosen.name, run.curves[chosen.name], chosen.higher_is_better, run.broken_at)
        for run in runs
        if chosen.name is not None and chosen.name in run.curves
    }
    curves = {name: {run.id: run.cost(name) for run in runs} for name in COSTS}
    totals = {name: {run: fair.total(c) for run, c in of.items()} for name, of in curves.items()}
    axis = cost if cost is not None else _axis(totals, scores)
    ugly = {run.id: flags(run) for run in runs}
    healthy = [run for run in scores if not ugly[run]]
    learned = [run for run in healthy if scores[run].learned]  # the others did not improve on their own start
    fronts = {name: fair.front({r: scores[r] for r in learned}, curves[name]) for name in COSTS}
    equal = {name: fair.at_equal(scores, of) for name, of in curves.items()}
    lines = [
        _line(run, scores, ugly[run.id], healthy, curves, axis, fronts, {n: e[1] for n, e in equal.items()})
        for run in runs
    ]
    lines.sort(key=lambda line: _order(line, scores))
    by_id = {run.id: run for run in runs}
    good = [by_id[line.id] for line in lines if line.group == "good"]
    rest = [by_id[line.id] for line in lines if line.group != "good"]
    scored = [run for run in runs if run.id in scores]
    found = signals([run.settings for run in scored], [scores[run.id].best for run in scored], chosen.higher_is_better)
    best = good[0] if good else next((by_id[r] for r in (x.id for x in lines) if r in healthy), None)
    cautions = _cautions(runs, chosen)
    default = None if cautions else _default(best, runs)
    return Comparison(
        primary=chosen,
        cautions=cautions,
        cost=axis,
        runs=tuple(lines),
        front=fronts[axis] if axis is not None else (),
        fronts=fronts,
        equal_budget={name: budget for name, (budget, _) in equal.items()},
        shared=_shared(good, rest, lines),
        limits=limits(rest),
        readings=readings(rest),
        signals=found,
        replicates=replicates(
            runs,
            scores,
            {run: "broke: " + ", ".join(flag.word for flag in of) for run, of in ugly.items() if of},
            totals["gpu_hours"] if any(totals["gpu_hours"].values()) else totals["hours"],
            chosen.higher_is_better,
        ),
        experiments=_experiments(
            best, [best] if best is not None and cautions else scored, healthy, scores, found.items, chosen, totals
        ),
        best_default=default,
        diff=_pair(pair, by_id),
        notes=(*_notes(runs, chosen, scores), *_borne_out(default, best, found.items)),
        spread=_spread(scores),
        flag_counts=dict(sorted(Counter(flag.word for of in ugly.values() for flag in of).items())),
        curves={run: _thin(s) for run, s in scores.items()},
    )


def compare_as_set(runs: Sequence[ComparedRun], own: CompareSettings) -> Comparison:
    """`compare` with the user's settings. Their primary metric is used only if one of the runs logs it."""
    logged = {key for run in runs for key in run.curves}
    fits = any(key == own.primary or key.startswith(f"{own.primary}:") for key in logged if own.primary)
    return compare(
        runs,
        primary=own.primary if fits else None,
        lower_is_better=fits and own.lower_is_better,
        cost=own.cost or None,
    )


def _axis(totals: Mapping[str, Mapping[str, float | None]], scores: Mapping[str, Scored]) -> str | None:
    """The first of these costs that is known for every scored run: tokens, GPU hours, hours, steps."""
    return next((n for n in COSTS if scores and all(totals[n][run] is not None for run in scores)), None)


def _line(
    run: ComparedRun,
    scores: Mapping[str, Scored],
    ugly: tuple[Flag, ...],
    healthy: Sequence[str],
    curves: Mapping[str, Mapping[str, RunCurve | None]],
    axis: str | None,
    fronts: Mapping[str, tuple[str, ...]],
    equal: Mapping[str, Mapping[str, float]],
) -> RunLine:
    own = scores.get(run.id)
    which, because = group(run, ugly, scores, healthy, curves[axis] if axis is not None else {})
    return RunLine(
        id=run.id,
        path=run.path,
        framework=run.framework,
        algorithm=run.algorithm,
        state=run.state,
        decision=run.decision,
        badge=run.badge,
        group=which,
        because=because,
        best=own.best if own else None,
        best_step=own.best_step if own else None,
        se=own.se if own else None,
        first=own.first if own else None,
        last=own.last if own else None,
        cost={name: fair.total(of[run.id]) for name, of in curves.items()},
        at_equal={name: of.get(run.id) for name, of in equal.items()},
        on_front=axis is not None and run.id in fronts[axis],
        flags=ugly,
        limits=tuple(f.title for f in open_roots(run)),
        band=fair.band(run.id, scores) if own else None,
        health=run.health,
    )


def _order(line: RunLine, scores: Mapping[str, Scored]) -> tuple[int, float, str]:
    own = scores.get(line.id)
    return ("good", "bad", "ugly").index(line.group), -own.best_good if own else np.inf, line.id


def _shared(good: Sequence[ComparedRun], rest: Sequence[ComparedRun], lines: Sequence[RunLine]) -> tuple[str, ...]:
    """What the good runs have in common and most others do not: settings, then levels of health metrics."""
    out = [
        f"{good[0].spelled.get(key, key)} = {value} in all {len(good)} good runs, in {count} of the {len(rest)} others"
        for key, value, count in shared_by([r.settings for r in good], [r.settings for r in rest])
    ]
    for name in sorted({name for line in lines for name in line.health}):
        sides = []
        for of in ("good", "other"):
            held = [v for x in lines if (x.group == "good") == (of == "good") and (v := x.health.get(name)) is not None]
            sides.append(held)
        if len(sides[0]) > 1 and len(sides[1]) > 1:
            low, high = min(sides[0]), max(sides[0])
            outside = sum(not low <= v <= high for v in sides[1])
            if outside * 2 >= len(sides[1]):
                out.append(
                    f"{name} ends between {number(low)} and {number(high)} in the good runs, and {outside} of "
                    f"{len(sides[1])} others end outside"
                )
    return tuple(out)


def _experiments(
    best: ComparedRun | None,
    scored: Sequence[ComparedRun],
    healthy: Sequence[str],
    scores: Mapping[str, Scored],
    found: Sequence[SettingSignal],
    primary: Primary,
    totals: Mapping[str, Mapping[str, float | None]],
) -> tuple[Experiment, ...]:
    """Experiments that start from the best run. If no run is healthy, they start from the best broken one and first fix
    what broke it."""
    best = best or max(scored, key=lambda run: (scores[run.id].best_good, run.id), default=None)
    if best is None or best.id not in scores:
        return ()
    parts = [
        text
        for name, text in (
            ("gpu_hours", f"{number(totals['gpu_hours'][best.id])} GPU hours"),
            ("hours", duration((totals["hours"][best.id] or 0) * 3600)),
            ("tokens", f"{number(totals['tokens'][best.id])} tokens"),
            ("steps", f"{totals['steps'][best.id] or 0:.0f} steps"),
        )
        if totals[name][best.id] is not None
    ]
    cost = f"about that of {best.id}: {', '.join(parts)}"
    return propose(best, scored, healthy, scores, found, primary, cost)


def _default(best: ComparedRun | None, runs: Sequence[ComparedRun]) -> ConfigDiff | None:
    """The best run's settings compared with what most runs use. None if there is no best run or only one run."""
    if best is None or len(runs) < 2:
        return None
    common = usual([run.settings for run in runs])
    own = {key: value for key, value in best.settings.items() if key in common}
    spelled = {best.spelled.get(key, key): value for key, value in own.items()}
    return diff(
        "what most runs use", {best.spelled.get(k, k): v for k, v in common.items() if k in own}, best.id, spelled
    )


def _borne_out(default: ConfigDiff | None, best: ComparedRun | None, found: Sequence[SettingSignal]) -> tuple[str, ...]:
    """Which changes in the best default config the other runs confirm, and which may be luck."""
    if default is None or best is None or not default.changes:
        return ()
    likely = {best.spelled.get(key, key) for s in found if s.q is not None and s.q <= LIKELY_Q for key in s.keys}
    held = [change.key for change in default.changes if change.key in likely]
    others = len(default.changes) - len(held)
    said = f"{', '.join(held)} confirmed by the runs (q up to {LIKELY_Q})" if held else ""
    own = f"{others} of its {len(default.changes)} changes are the best run's own and may be luck" if others else ""
    return (f"best default config: {joined((said, own))}",)


def _pair(pair: tuple[str, str] | None, runs: Mapping[str, ComparedRun]) -> ConfigDiff | None:
    if pair is None:
        return None
    a, b = (runs[name] for name in pair)
    return diff(a.id, a.raw_config, b.id, b.raw_config)


def _cautions(runs: Sequence[ComparedRun], primary: Primary) -> tuple[str, ...]:
    if primary.name not in ("reward_mean", "score_mean"):
        return ()
    parts = {tuple(sorted(c.partition(":")[2] for c in run.curves if c.startswith(COMPONENT + ":"))) for run in runs}
    told = sorted(", ".join(p) for p in parts if p)
    if len(told) < 2:
        return ()
    return (
        f"the runs are scored by different reward functions ({' against '.join(told)}): do not compare their values",
    )


def _notes(runs: Sequence[ComparedRun], primary: Primary, scores: Mapping[str, Scored]) -> tuple[str, ...]:
    out = []
    name = primary.name or ""
    if name and not name.startswith(("val", "eval")) and primary.how.startswith("guessed"):
        out.append(NO_SHARED_SET if all(run.validates for run in runs) else NOT_HELD_OUT)
    models = sorted({run.model for run in runs if run.model is not None})
    if len(models) > 1:
        out.append(f"the runs train {len(models)} different models: {', '.join(models[:6])}")
    missing = [run.id for run in runs if run.id not in scores]
    if missing and scores:
        out.append(f"{len(missing)} of {len(runs)} runs do not log {name}: {', '.join(missing[:6])}")
    if len({run.framework for run in runs}) > 1:
        out.append("the runs use several frameworks, whose steps and keys differ: prefer tokens or time to steps")
    return tuple(out)


def _spread(scores: Mapping[str, Scored]) -> tuple[float, float, float] | None:
    ordered = sorted(scores.values(), key=lambda s: s.best_good)
    if not ordered:
        return None
    return ordered[0].best, float(np.median([s.best for s in ordered])), ordered[-1].best


def _thin(s: Scored) -> tuple[tuple[int, float], ...]:
    at, low, high = downsample(s.steps, s.good * s.sign, CURVE_POINTS)
    return tuple((int(step), float((a + b) / 2)) for step, a, b in zip(at, low, high, strict=True))
