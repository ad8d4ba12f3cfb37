"""The comparison as a whole, on made runs: metric, groups, front, budgets, band, experiments, configs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from rltui.compare.build import NOT_HELD_OUT, compare
from rltui.compare.configs import as_text, diff, usual
from rltui.compare.fair import front
from rltui.compare.markdown import render
from rltui.compare.metric import Scored, choose, score
from rltui.compare.model import Comparison, RunLine, to_json
from rltui.compare.read import ComparedRun, RunCurve
from tests.conftest import schema_of
from tests.unit.compare.made import STEPS, curve, finding, made


def line(c: Comparison, id: str) -> RunLine:
    return next(r for r in c.runs if r.id == id)


def mixed() -> list[ComparedRun]:
    return [
        made("best", 0.8, settings={"lr": 1e-6, "group": 8}, tokens_a_step=2000),
        made("cheap", 0.7, settings={"lr": 1e-6, "group": 4}, tokens_a_step=500),
        made("dear", 0.6, settings={"lr": 3e-6, "group": 4}, tokens_a_step=2000),
        made("flat", 0.1, settings={"lr": 1e-9, "group": 8}, findings=(finding("cfg-lr-too-low", "warning"),)),
        made("blown", 0.79, settings={"lr": 1e-4, "group": 8}, findings=(finding("kl-runaway"),)),
        made("dead", 0.5, settings={"lr": 1e-6, "group": 8}, state="crashed"),
        made("mute", None, settings={"lr": 1e-6, "group": 8}),
    ]


def test_groups_and_their_reasons() -> None:
    c = compare(mixed())
    assert {r.id: r.group for r in c.runs} == {
        "best": "good", "cheap": "good", "dear": "bad", "flat": "bad", "mute": "bad", "blown": "ugly", "dead": "ugly",
    }  # fmt: skip
    assert [r.id for r in c.runs] == ["best", "cheap", "dear", "flat", "mute", "blown", "dead"]
    assert "behind best" in line(c, "dear").because or "behind cheap" in line(c, "dear").because
    assert "no gain" in line(c, "flat").because
    assert "not logged" in line(c, "mute").because
    assert [f.word for f in line(c, "blown").flags] == ["kl-blow-up"]
    assert [f.word for f in line(c, "dead").flags] == ["crashed"]
    assert c.flag_counts == {"crashed": 1, "kl-blow-up": 1}


def test_a_low_level_alone_is_not_ugly() -> None:
    small = made(
        "a", 0.8, findings=(finding("kl-runaway", "warning", status="resolved"), finding("kl-runaway", "info"))
    )
    assert line(compare([small, made("b")]), "a").group == "good"


def test_the_front_holds_what_nothing_beats() -> None:
    c = compare(mixed())
    assert c.cost == "tokens"
    assert c.front == ("cheap", "best")
    assert [r.id for r in c.runs if r.on_front] == ["best", "cheap"]
    points = {"a": (1, 1.0), "b": (1, 1.0), "c": (2, 1.0), "d": (3, 2.0), "e": (0.5, 0.1)}
    costs = {run: RunCurve(np.array([1, 2]), np.array([0.0, cost])) for run, (cost, _) in points.items()}
    at_the_end = {run: scored(np.array([0.0, good])) for run, (_, good) in points.items()}
    assert front(at_the_end, costs) == ("e", "a", "d")
    at_once = {**at_the_end, "d": scored(np.array([2.0, 2.0]))}
    assert front(at_once, costs) == ("d",)  # it had come further before the others ended


def scored(good: np.ndarray) -> Scored:
    best = float(good.max())
    return Scored(np.array([1.0, 2.0]), good, 1.0, best, 2, 0.01, 0.0, best, 1.0)


def slowly(run: ComparedRun, seconds_a_step: float) -> ComparedRun:
    return replace(run, tokens=None, gpus=None, hours=RunCurve(STEPS, STEPS * seconds_a_step / 3600))


def test_a_run_that_costs_a_little_less_is_not_let_off_its_rival() -> None:
    """A clock is never the same twice: of two runs of one length the cheaper one is no less behind."""
    behind, ahead = slowly(made("behind", 0.6), 29.9), slowly(made("ahead", 0.9), 30.1)
    c = compare([behind, ahead])
    assert c.cost == "hours"
    assert line(c, "behind").group == "bad"
    assert line(c, "behind").because == "behind ahead at its cost, by more than two standard errors"
    assert c.front == ("ahead",)


def test_a_run_that_ended_before_its_rival_had_come_as_far_is_good() -> None:
    short = made("short", 0.6, steps=np.arange(1, 41))
    short = replace(slowly(short, 30.0), hours=RunCurve(np.arange(1, 41), np.arange(1, 41) / 120))
    c = compare([short, slowly(made("a", 0.9), 30.0)])
    assert line(c, "short").group == "good"
    assert set(c.front) == {"short", "a"}


def test_the_best_of_all_is_not_bad_for_having_begun_high() -> None:
    high = made("high", 0.9)
    curves = {"val_score:math": curve(0.9, start=0.6, noise=0.005)}
    c = compare([replace(high, curves=curves), made("low", 0.8)])
    assert line(c, "high").group == "good"


def test_the_lead_is_told_over_runs_that_did_not_break() -> None:
    broken = made("broken", 0.95, findings=(finding("reward-collapse"),), decision="abort-now")
    told = " ".join(one.why for one in compare([made("a", 0.8), made("b", 0.7), broken]).experiments)
    assert "the lead over the next run is 0.1" in told
    assert "is −" not in told


def test_the_cost_axis_is_the_first_that_all_tell() -> None:
    runs = [made("a", tokens_a_step=None), made("b", 0.5)]
    assert compare(runs).cost == "gpu_hours"
    assert compare([made("a", tokens_a_step=None, gpus=None), made("b", 0.5)]).cost == "hours"
    assert line(compare(runs), "a").cost["tokens"] is None


def test_equal_budget_is_what_every_run_reached() -> None:
    short = made("short", 0.8, steps=STEPS[:100], noise=0)
    long = made("long", 0.8, noise=0)
    c = compare([short, long])
    assert c.equal_budget["steps"] == 100
    own, other = line(c, "short").at_equal["steps"], line(c, "long").at_equal["steps"]
    assert own == pytest.approx(0.8, abs=0.01)
    assert other == pytest.approx(0.1 + 0.7 * 99 / 100, abs=0.05)


def test_the_band_says_since_when_a_run_is_behind() -> None:
    runs = [made(f"r{i}", 0.7 + i / 100) for i in range(6)]
    fallen = curve(0.75, noise=0.002)
    values = fallen.values.copy()
    values[140:] = 0.3
    c = compare([*runs, made("fallen", 0.75)])
    assert line(c, "fallen").band is not None
    broken = [r if r.id != "fallen" else _with_curve(r, RunCurve(STEPS, values)) for r in [*runs, made("fallen", 0.75)]]
    band = line(compare(broken), "fallen").band
    assert band is not None
    assert band.behind_since is not None
    assert 125 <= band.behind_since <= 145
    assert band.ahead_since is None
    assert band.inside + band.below + band.above == pytest.approx(1)


def _with_curve(run: ComparedRun, of: RunCurve) -> ComparedRun:
    return replace(run, curves=dict.fromkeys(run.curves, of))


def test_too_few_others_make_no_band() -> None:
    assert line(compare([made("a"), made("b"), made("c")]), "a").band is None


def test_the_primary_metric_by_the_stated_order() -> None:
    held_out = [made("a", metric="val_score:math"), made("b", metric="val_score:math"), made("c", metric="reward_mean")]
    assert choose(held_out, None, False).name == "val_score:math"
    rewards = [made("a", metric="val_score:math"), made("b", metric="reward_mean"), made("c", metric="reward_mean")]
    assert choose(rewards, None, False).name == "reward_mean"
    part = [made("a", metric="reward_component_mean:accuracy_reward")]
    assert choose(part, None, False).label == "accuracy_reward"
    own = choose(held_out, "reward_mean", True)
    assert (own.name, own.higher_is_better, own.how, own.runs) == ("reward_mean", False, "named with --primary", 1)
    assert choose([made("a", None)], None, False).name is None


def test_lower_is_better_turns_the_order() -> None:
    runs = [made("low", 0.01, metric="loss"), made("high", 0.9, metric="loss")]
    falling = [
        _with_curve(runs[0], RunCurve(STEPS, 1 - STEPS / 210)),
        _with_curve(runs[1], RunCurve(STEPS, 1 - STEPS / 400)),
    ]
    c = compare(falling, primary="loss", lower_is_better=True)
    assert [r.id for r in c.runs] == ["low", "high"]
    assert c.runs[0].best is not None
    assert c.runs[0].best < 0.1


def test_the_best_is_not_flattered_by_noise() -> None:
    noise = np.random.default_rng(0).normal(size=2000) * 0.1
    flat = score("reward_mean", RunCurve(np.arange(2000), 0.5 + noise), True)
    assert flat.best < 0.55
    assert noise.max() > 0.25, "the single best point would say more"
    assert flat.se == pytest.approx(1.25 * 0.1 / np.sqrt(200), rel=0.15), "200 points, medians of 8 among them"


def test_experiments_change_one_thing_and_say_what_refutes_them() -> None:
    c = compare(mixed())
    assert 3 <= len(c.experiments) <= 6
    assert all(e.expected and e.refuted_by and e.cost and e.why for e in c.experiments)
    assert len({(e.base, e.setting, e.after) for e in c.experiments}) == len(c.experiments)
    assert c.experiments[0].base == "best"
    bare = compare([made("a"), made("b", 0.7), made("c", 0.6)])
    assert len(bare.experiments) >= 3, "seeds are left where no config is recorded"
    assert len(compare([made("a", 0.8), made("b", 0.6)]).experiments) == 3, "of two runs too"


def test_the_strongest_setting_is_moved_on() -> None:
    runs = [made(f"r{i}", 0.3 + 0.05 * i, settings={"beta": 0.001 * 2**i, "lr": 1e-6}) for i in range(9)]
    moved = [e for e in compare(runs).experiments if e.setting == "actor.beta"]
    assert [(e.before, e.after) for e in moved] == [("0.256", "0.51")]


def test_from_broken_runs_only_their_repair_is_proposed() -> None:
    broken = made("a", settings={"lr": 1e-5}, findings=(finding("nonfinite-values"),))
    c = compare([broken, made("b", 0.5, state="crashed")])
    assert {e.base for e in c.experiments} == {"a"}
    assert c.experiments[0].title == "halve the rate"
    assert c.experiments[0].before == "1e-05"
    assert [e.after for e in c.experiments if e.setting == "actor.lr"] == [None], "the fix moves the rate already"
    crashed = compare([made("a", settings={"lr": 1e-5}, state="crashed")]).experiments
    assert [e.after for e in crashed if e.setting == "actor.lr"] == ["5e-06"], "slower only"
    assert not any("seed" in e.title or "steps of" in e.title for e in c.experiments)
    assert c.best_default is None
    assert "first fix what broke" in render(c)


def test_what_was_tried_is_not_proposed_again() -> None:
    tried = [made("base", 0.8, settings={"lr": 2e-6}), made("half", 0.6, settings={"lr": 1e-6})]
    rates = [e.after for e in compare(tried).experiments if e.setting == "actor.lr"]
    assert rates == ["4e-06"]


def test_the_learning_rate_is_not_moved_where_a_finding_warns_of_it() -> None:
    warned = made("base", 0.8, settings={"lr": 2e-6}, findings=(finding("cfg-lr-too-high", "info"),))
    rates = [e.after for e in compare([warned, made("b", 0.5)]).experiments if e.setting == "actor.lr" and e.after]
    assert rates == ["1e-06"]


def seeded(id: str, end: float, seed: int) -> ComparedRun:
    run = made(id, end, settings={"lr": 2e-6})
    return replace(run, raw_config={**run.raw_config, "seed": seed})


def test_seeds_that_were_run_tell_the_noise() -> None:
    two = compare([seeded("a", 0.8, 1), seeded("b", 0.7, 2), made("other", 0.5)]).experiments[0]
    assert (two.setting, two.before, two.after) == ("seed", "1", "3")
    assert re.search(r"2 seeds are 0\.(09|10)\d* apart", two.why)
    assert re.match(r"within 0\.(09|10)", two.expected), "seeds differ by more than the noise within a run"
    cut_short = replace(seeded("b", 0.3, 2), state="crashed")
    assert compare([seeded("a", 0.8, 1), cut_short]).experiments[0].after == "2", "a run that broke is no draw"
    three = compare([seeded(x, 0.8 - 0.02 * i, i) for i, x in enumerate("abc")]).experiments
    assert not any(e.title.startswith("another seed of a") for e in three), "three seeds are enough"


def test_runs_that_did_not_learn_are_on_no_front() -> None:
    idle = made("idle", 0.1, tokens_a_step=10)
    c = compare([made("best"), idle])
    assert c.front == ("best",)
    assert not line(c, "idle").on_front


def test_the_best_default_is_a_diff_against_the_usual() -> None:
    others = [made(f"r{i}", 0.5, settings={"lr": 1e-6, "group": 8}) for i in range(3)]
    default = compare([made("best", 0.9, settings={"lr": 1e-6, "group": 16}), *others]).best_default
    assert default is not None
    assert [(x.key, x.a, x.b) for x in default.changes] == [("actor.group", "8", "16")]
    lone = compare([made("best", 0.9, settings={"lr": 1e-6, "group": 16}), *others])
    assert "best default config: 1 of its 1 changes are the best run's own and may be luck" in lone.notes
    sweep = [made(f"r{i}", 0.3 + 0.05 * i, settings={"beta": 0.001 * 2**i, "lr": 1e-6}) for i in range(9)]
    same = [made(f"s{i}", 0.3, settings={"beta": 0.001, "lr": 1e-6}) for i in range(3)]
    assert "best default config: actor.beta confirmed by the runs (q up to 0.2)" in compare([*sweep, *same]).notes
    assert usual([{"a": 1}, {"a": 1.0}, {"a": 2}]) == {"a": 1}


def test_two_configs_side_by_side() -> None:
    found = diff("a", {"x": 1, "y": None, "z": "u"}, "b", {"x": 1.0, "y": 2})
    assert [(x.key, x.a, x.b) for x in found.changes] == [("y", "none", "2"), ("z", "u", None)]
    assert found.same == 1
    assert as_text(1e-06) == as_text(0.000001) == "1e-06"
    c = compare(mixed(), pair=("best", "cheap"))
    assert c.diff is not None
    assert [x.key for x in c.diff.changes] == ["actor.group"]


def test_what_the_good_share_and_what_limits_the_others() -> None:
    c = compare([*mixed(), made("dear2", 0.4, settings={"lr": 3e-5}, findings=(finding("cfg-lr-too-low", "warning"),))])
    assert c.limits[0].startswith("title of cfg-lr-too-low. Likely: the rate is too high")
    assert "2 of" in c.limits[0]
    assert any("too conservative" in text for text in c.readings)


def test_different_reward_functions_do_not_compare() -> None:
    def scored(id: str, part: str) -> ComparedRun:
        run = replace(made(id, metric="reward_mean"), model=f"model-{id}")
        return replace(run, curves={**run.curves, f"reward_component_mean:{part}": run.curves["reward_mean"]})

    c = compare([scored("a", "style"), scored("b", "format")])
    assert "different reward functions (format against style)" in c.cautions[0]
    assert c.best_default is None
    assert "**the order may not hold**: the runs are scored" in render(c)
    assert NOT_HELD_OUT in c.notes
    assert "the runs train 2 different models: model-a, model-b" in c.notes
    assert not compare([scored("a", "style"), scored("b", "style")]).cautions
    assert not compare([scored("a", "style"), made("b", metric="reward_mean")]).cautions, "what is not told differs not"


def test_json_keeps_its_schema_and_its_bytes() -> None:
    first, second = to_json(compare(mixed())), to_json(compare(mixed()))
    assert first == second
    parsed = json.loads(first, parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))
    Draft202012Validator(schema_of("compare")).validate(parsed)
    assert parsed["schema"] == "rltui.compare/1"


def test_an_empty_config_and_a_lone_run_are_no_error() -> None:
    for runs in ([made("a", None)], [made("a")], [made("a", None), made("b", None)]):
        c = compare(runs)
        Draft202012Validator(schema_of("compare")).validate(json.loads(to_json(c)))
        assert render(c).startswith(f"# Comparison of {len(runs)} run{'s' if len(runs) > 1 else ''}:")


def test_a_lone_run_is_not_held_against_others() -> None:
    text = render(compare([made("a", settings={"lr": 1e-6})]))
    assert "1 run with the metric: nothing can be attributed" in text
    assert "one seed is one draw" in text
    assert "one run has nothing to differ from" in text
    assert "best at its cost |" not in text
    assert "next run" not in text


def test_markdown_has_its_parts_in_order_and_escapes_names() -> None:
    text = render(compare([*mixed(), made("a|b`c", 0.75)], pair=("best", "dear")))
    heads = [x[3:].split(":")[0] for x in text.splitlines() if x.startswith("## ")]
    assert heads == [
        "Good", "Bad", "Ugly", "Configurations", "At equal budget", "Hyperparameter signals", "Next experiments",
        "Best default config", "Config difference",
    ]  # fmt: skip
    assert "a\\|b`c" in text
    assert "capitals: on the front" in text
    assert "nan" not in text.lower().replace("nan,", "")


def test_without_a_common_metric_those_that_could_be_named_are_told() -> None:
    runs = [replace(made(x, None), traces={"my/loss": curve(0.1), f"only/{x}": curve(0.2)}) for x in "ab"]
    text = render(compare(runs))
    assert "primary metric: none, no run logs a metric that could rank it" in text
    assert "Name one with --primary: my/loss (in 2), only/a (in 1), only/b (in 1)" in text
    assert "no settings are recorded" in render(compare([made("a"), made("b")]))


def test_a_run_that_validates_is_not_told_to_validate() -> None:
    """Each validates on a set of its own: they are ranked by training, and nobody has to log what is logged."""
    own = {"val_score:gsm8k": curve(0.5, noise=0.005, steps=STEPS, seed=1)}
    runs = [
        replace(made("a", 0.8, metric="score_mean"), traces=own),
        replace(made("b", 0.6, metric="score_mean"), traces={"val_score:math": own["val_score:gsm8k"]}),
    ]
    c = compare(runs)
    assert not any(e.setting == "test_freq" for e in c.experiments)
    assert not any("log a validation score" in note for note in c.notes)
    without = compare([made("a", 0.8, metric="score_mean"), made("b", 0.6, metric="score_mean")])
    assert any("log a validation score" in note for note in without.notes)
