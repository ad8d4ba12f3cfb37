"""The breakdown of a step adds up, whatever the version nests where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.run.phases import PhaseTable
from tests.unit.run.builder import rows, run_of, trl

N = 30
STEP = {"actor/pg_loss": [0.1] * N, "actor/entropy": [1.0] * N, "timing_s/step": [100.0] * N}


def timed(**phases: float) -> dict[str, list[float | None]]:
    return {**STEP, **{f"timing_s/{name}": [seconds] * N for name, seconds in phases.items()}}  # type: ignore[dict-item]


def shown(table: PhaseTable) -> dict[str, float]:
    return {item.name: item.seconds for item in table.items}


def test_children_and_the_rest_add_up() -> None:
    table = run_of(rows(timed(gen=60.0, old_log_prob=10.0, ref=5.0, update_actor=20.0))).phases()
    assert shown(table) == {"generation": 60, "log-probs": 10, "reference": 5, "update": 20, "other": 5}
    assert sum(item.share for item in table.items) == pytest.approx(1.0)
    assert (table.bottleneck, table.overlapped, table.window_steps) == ("generation", False, 20)


def test_what_is_no_time_never_enters() -> None:
    names = ["agent_loop/slowest/prompt_length", "agent_loop/num_preempted/max", "generation_timing/topk_ratio"]
    table = run_of(rows(timed(gen=60.0, **dict.fromkeys(names, 40.0)))).phases()
    assert shown(table) == {"generation": 60, "other": 40}


@pytest.mark.parametrize(
    ("mark", "inside"),
    [
        ("actor/entropy", True),  # up to 0.5 both run inside the step
        ("response/aborted_ratio", False),  # 0.6 and 0.7 time both beside it
    ],
)
def test_nesting_by_version(mark: str, inside: bool) -> None:
    columns = timed(gen=60.0, testing=20.0, save_checkpoint=20.0)
    columns[mark] = [0.0] * N
    table = run_of(rows(columns)).phases()
    assert (("validation" in shown(table)), ("checkpoint" in shown(table))) == (inside, inside)
    assert not table.overlapped


def test_since_0_8_saving_is_inside_and_validation_beside() -> None:
    table = run_of(rows(timed(gen=60.0, update_weights=5.0, testing=80.0, save_checkpoint=20.0))).phases()
    assert shown(table) == {"generation": 60, "weight sync": 5, "checkpoint": 20, "other": 15}


def test_a_rare_phase_is_told_but_not_part_of_the_usual_step() -> None:
    columns = timed(gen=60.0)
    columns["timing_s/save_checkpoint"] = [30.0 if i % 10 == 9 else None for i in range(N)]
    table = run_of(rows(columns)).phases()
    assert shown(table) == {"generation": 60, "other": 40}
    assert "checkpoint in 2 of 20 steps, 30 s each" in table.note


def test_overlapping_phases_are_said_to_overlap() -> None:
    table = run_of(rows(timed(gen=90.0, update_actor=60.0))).phases()
    assert table.overlapped
    assert shown(table) == {"generation": 90, "update": 60}
    assert table.bottleneck is None
    assert all(item.expected is None and item.status == "unknown" for item in table.items)


def test_without_a_timer_of_the_step_the_phases_are_the_whole() -> None:
    columns = {"actor/pg_loss": [0.1] * N, "actor/entropy_loss": [1.0] * N, "critic/kl": [0.1] * N}
    columns |= {"timing/gen": [30.0] * N, "timing/update_actor": [10.0] * N}
    table = run_of(rows(columns)).phases()
    assert shown(table) == {"generation": 30, "update": 10}
    assert table.step_s is None  # their sum is no time of a step
    assert "no timer of the whole step" in table.note


def test_profiler_rows_between_the_steps_count_for_the_step_that_follows() -> None:
    call = "profiling/Time taken: GRPOTrainer."
    length = 60  # two calls, then the row of the step
    columns = {
        "reward": [0.5 if i % 3 == 2 else None for i in range(length)],
        "completions/mean_length": [9.0 if i % 3 == 2 else None for i in range(length)],
        "step_time": [10.0 if i % 3 == 2 else None for i in range(length)],
        f"{call}vLLM.generate": [6.0 if i % 3 == 0 else None for i in range(length)],
        f"{call}compute_loss": [3.0 if i % 3 == 1 else None for i in range(length)],
        f"{call}_get_per_token_logps_and_entropies": [2.0 if i % 3 == 1 else None for i in range(length)],
    }
    table = run_of(rows(columns)).phases()
    assert shown(table) == {"generation": 6, "update": 3, "other": 1}


def test_the_table_as_it_stood_then() -> None:
    columns = timed(gen=60.0)
    columns["timing_s/gen"] = [50.0] * 20 + [70.0] * 10
    run = run_of(rows(columns))
    assert shown(run.phases(until_row=20))["generation"] == 50
    assert shown(run.phases(window=5))["generation"] == 70


def test_trl_without_profiling_has_a_step_but_no_phases() -> None:
    table = run_of(rows(trl(20, step_time=[5.0] * 20))).phases()
    assert (table.items, table.step_s) == ((), 5.0)
    assert table.note


@given(
    st.lists(
        st.tuples(st.floats(0, 50), st.floats(0, 50), st.one_of(st.none(), st.floats(0, 50)), st.floats(0.1, 200)),
        min_size=1,
        max_size=40,
    )
)
def test_items_always_add_up_or_say_that_they_overlap(steps: list[tuple[float, float, float | None, float]]) -> None:
    columns = {
        "actor/pg_loss": [0.1] * len(steps),
        "actor/entropy": [1.0] * len(steps),
        "timing_s/gen": [s[0] for s in steps],
        "timing_s/update_actor": [s[1] for s in steps],
        "timing_s/save_checkpoint": [s[2] for s in steps],
        "timing_s/step": [s[3] for s in steps],
    }
    table = run_of(rows(columns)).phases()
    if table.items and not table.overlapped:
        assert sum(item.share for item in table.items) == pytest.approx(1.0, abs=0.021)
    assert all(item.seconds >= 0 for item in table.items)


def test_a_share_that_overflows_is_none() -> None:
    table = run_of(rows({"timing_s/step": [5e-324] * 5, "timing_s/gen": [1e300] * 5})).phases()
    assert table.items == ()
