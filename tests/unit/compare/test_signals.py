"""A planted effect is found, a null one is not; constants and twins are told."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.compare.signals import PAIRS, signals

SWEEPS, RUNS = 200, 16
BELIEVED = 0.05


def sweep(seed: int, effect: float) -> tuple[list[dict[str, object]], list[float]]:
    """A random search over six settings; `effect`: what one decade of the learning rate does, in noise units."""
    rng = np.random.default_rng(seed)
    settings: list[dict[str, object]] = []
    metric = []
    for _ in range(RUNS):
        lr = 10 ** rng.uniform(-7, -5)
        chosen = {
            "beta": rng.choice([0.0, 0.001, 0.01]),
            "group": rng.choice([4, 8, 16]),
            "clip": rng.uniform(0.1, 0.3),
        }
        words = {"warmup": int(rng.integers(0, 50)), "temperature": rng.choice([0.8, 1.0]), "epochs": 1}
        settings.append({"lr": lr, **{k: float(v) for k, v in chosen.items()}, **words})
        metric.append(0.5 + 0.05 * (effect * np.log10(lr) + rng.normal()))
    return settings, metric


def believed(seed: int, effect: float) -> set[str]:
    return {s.setting for s in signals(*sweep(seed, effect)).items if s.q is not None and s.q < BELIEVED}


@pytest.mark.long
def test_a_planted_effect_is_found_and_the_null_ones_beside_it_are_not() -> None:
    found = [believed(seed, 3.0) for seed in range(SWEEPS)]
    assert sum("lr" in names for names in found) >= 0.97 * SWEEPS
    others = sum(len(names - {"lr"}) for names in found)
    assert others <= 0.05 * SWEEPS * 5, "five null settings a sweep"


@pytest.mark.long
def test_where_nothing_acts_nothing_is_found() -> None:
    assert sum(bool(believed(1000 + seed, 0.0)) for seed in range(SWEEPS)) <= 0.09 * SWEEPS  # 5 % plus three sigma


def test_lower_is_better_turns_rho_and_keeps_the_means() -> None:
    settings, metric = sweep(1, 3.0)
    up, down = signals(settings, metric), signals(settings, metric, higher_is_better=False)
    a, b = (next(s for s in of.items if s.setting == "lr") for of in (up, down))
    assert a.rho is not None
    assert b.rho == -a.rho
    assert a.bins == b.bins


def test_constants_are_counted_and_left_out() -> None:
    found = signals(*sweep(0, 1.0))
    assert found.constants == 1
    assert "epochs" not in {s.setting for s in found.items}


def test_twins_are_one_signal() -> None:
    settings, metric = sweep(0, 1.0)
    doubled = [{**one, "micro": 2 * float(str(one["group"]))} for one in settings]
    twin = next(s for s in signals(doubled, metric).items if "micro" in s.keys)
    assert twin.keys == ("group", "micro")
    assert len(signals(doubled, metric).items) == len(signals(settings, metric).items)


def test_bins_count_every_run_and_hold_the_means() -> None:
    settings: list[dict[str, object]] = [{"group": g} for g in (4, 4, 8, 8, 8, 16, 16, 16)]
    metric = [0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    only = signals(settings, metric).items[0]
    assert [(b.value, b.n, round(b.mean, 6)) for b in only.bins] == [("4", 2, 0.2), ("8", 3, 0.5), ("16", 3, 0.8)]
    assert only.gap is not None
    assert abs(only.gap - 0.6) < 1e-9


def test_many_numbers_are_cut_into_quarters() -> None:
    found = signals([{"clip": i / 10} for i in range(12)], [float(i) for i in range(12)]).items[0]
    assert [b.n for b in found.bins] == [3, 3, 3, 3]
    assert found.bins[0].value == "0 to 0.2"


def test_words_have_bins_and_no_correlation() -> None:
    found = signals([{"loss": "grpo" if i % 2 else "dapo"} for i in range(10)], [float(i) for i in range(10)]).items[0]
    assert found.rho is None
    assert [b.value for b in found.bins] == ["dapo", "grpo"]


def test_few_runs_give_bins_only_and_say_so() -> None:
    few = signals([{"lr": float(i)} for i in range(PAIRS - 1)], [float(i) for i in range(PAIRS - 1)])
    assert few.items[0].rho is None
    assert "no correlation" in few.note


def test_the_note_counts_the_tests() -> None:
    note = signals(*sweep(0, 1.0)).note
    assert "attribution, not proof" in note
    assert "6 settings were tested over 16 runs" in note


def test_a_setting_in_which_one_run_differs_is_no_test() -> None:
    settings: list[dict[str, object]] = [{"clip": 0.3 if i == 0 else 0.2, "lr": float(i)} for i in range(12)]
    found = {s.setting: s for s in signals(settings, [float(i) for i in range(12)]).items}
    assert found["clip"].p is None
    assert [b.n for b in found["clip"].bins] == [11, 1]
    assert found["lr"].p is not None
    assert "1 settings were tested" in signals(settings, [float(i) for i in range(12)]).note


def test_twins_go_by_the_name_that_every_framework_has() -> None:
    settings: list[dict[str, object]] = [{"actor.fsdp.size": i, "lora_rank": 2 * i} for i in range(9)]
    assert signals(settings, [float(i) for i in range(9)]).items[0].keys == ("lora_rank", "actor.fsdp.size")


def test_constants_of_two_runs_are_counted() -> None:
    found = signals([{"lr": 1.0, "clip": 0.2}, {"lr": 2.0, "clip": 0.2}], [0.1, 0.2])
    assert (found.constants, found.items) == (1, ())
    assert "nothing can be attributed" in found.note
