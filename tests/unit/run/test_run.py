"""Names, series and families of a run; framework, algorithm, plan and time left."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.frameworks.resolve import resolve
from rltui.run.names import told_apart
from rltui.run.run import Run
from tests.unit.run.builder import LOG, note, rows, run_of, trl

VERL = ("actor/pg_loss", "actor/entropy", "response_length/mean")


def verl(steps: int = 10, **extra: list[float | None]) -> dict[str, list[float | None]]:
    return {**{name: [0.5] * steps for name in VERL}, **extra}


def test_series_by_canonical_and_by_raw_name() -> None:
    run = run_of(rows(trl(reward=[0.1, 0.2, 0.3])))
    by_name, by_key = run.series("reward_mean"), run.series("reward")
    assert by_name is not None
    assert by_key is not None
    assert by_name.values.tolist() == by_key.values.tolist() == [0.1, 0.2, 0.3]
    assert run.series("vf_loss") is None
    assert run.names["reward"].label == "reward mean"


def test_a_key_that_was_never_more_than_zero_yields_to_one_that_was() -> None:
    zeros, penalty = [0.0] * 10, [0.01 * i for i in range(10)]
    run = run_of(rows(verl(**{"actor/kl_loss": zeros, "actor/reward_kl_penalty": penalty})))
    found = run.series("kl_ref")
    assert found is not None
    assert found.key == "actor/reward_kl_penalty"
    only = run_of(rows(verl(**{"actor/kl_loss": zeros})))
    assert (found := only.series("kl_ref")) is not None
    assert found.values.tolist() == zeros


def test_values_come_in_canonical_units_and_raw_ones_as_logged() -> None:
    run = run_of(rows({"val/stop_rate": [0.9, 0.8], "loss/kl_avg": [0.0, 0.0], "objective/kl2_avg": [0.1, 0.1]}))
    assert run.framework == "open_instruct"
    cut, raw = run.series("response_clip_ratio"), run.series("val/stop_rate")
    assert cut is not None
    assert raw is not None
    assert cut.values == pytest.approx([0.1, 0.2])
    assert raw.values.tolist() == [0.9, 0.8]


def test_validation_score_is_the_set_with_most_points_then_most_samples() -> None:
    sparse, dense = [None] * 9 + [0.4], [0.5] * 10
    run = run_of(
        rows(
            verl(
                **{
                    "val-core/math/acc/mean@1": sparse,
                    "val-core/gsm8k/acc/mean@1": dense,
                    "val-core/gsm8k/acc/mean@8": dense,
                }
            )
        )
    )
    found = run.series("val_score")
    assert found is not None
    assert found.key == "val-core/gsm8k/acc/mean@8"
    assert set(run.family("val_score")) == {"math/acc/mean@1", "gsm8k/acc/mean@1", "gsm8k/acc/mean@8"}


def test_reward_parts_by_function() -> None:
    run = run_of(rows(trl(3, **{"rewards/accuracy/mean": [1, 1, 1], "rewards/format/mean": [0, 1, 1]})))
    assert {m: s.values.tolist() for m, s in run.family("reward_component_mean").items()} == {
        "accuracy": [1, 1, 1],
        "format": [0, 1, 1],
    }


def test_the_user_may_say_which_key_is_which() -> None:
    run = run_of(rows(trl(3, my_score=[3.0, 4.0, 5.0])))
    run.key_map = {"score_mean": "my_score", "own": "kl"}
    run.history.parts[0].table.put(4, float("nan"), {"another": 1.0})
    found, own = run.series("score_mean"), run.series("own")
    assert found is not None
    assert own is not None
    assert found.values.tolist() == [3.0, 4.0, 5.0]
    assert own.key == "kl"
    assert run.names["my_score"].canonical == "score_mean"


def test_new_columns_are_named_as_they_come() -> None:
    run = run_of(rows(trl(3)))
    assert run.series("entropy") is None
    run.history.parts[0].table.put(4, float("nan"), {"entropy": 1.5})
    found = run.series("entropy")
    assert found is not None
    assert found.values.tolist() == [1.5]
    assert run.names["entropy"].group == "policy"


@pytest.mark.parametrize(
    ("columns", "config", "expected"),
    [
        (verl(), {"algorithm.adv_estimator": "grpo"}, "GRPO"),
        (verl(), {"algorithm.adv_estimator": "grpo", "algorithm.filter_groups.enable": True}, "DAPO"),
        (verl(), {"algorithm.adv_estimator": "gae"}, "PPO"),
        (verl(), {"algorithm.adv_estimator": "reinforce_plus_plus"}, "REINFORCE++"),
        (
            verl(),
            {"algorithm.adv_estimator": "grpo", "actor_rollout_ref.actor.policy_loss.loss_mode": "gspo"},
            "GSPO",
        ),
        (verl(**{"critic/vf_loss": [1.0] * 10}), {}, "PPO"),
        (
            verl(
                **{f"critic/{what}/{end}": [1.0] * 10 for what in ("advantages", "returns") for end in ("max", "min")}
            ),
            {},
            "GRPO",
        ),
        (verl(), {}, None),
        (trl(), {}, "GRPO"),
        (trl(), {"loss_type": "dapo"}, "GRPO"),
        ({"rewards/margins": [1.0], "logps/chosen": [-3.0]}, {"loss_type": "sigmoid"}, "DPO"),
        ({"objective/kl": [1.0], "policy/approxkl_avg": [0.0], "loss/value_avg": [1.0]}, {}, "PPO"),
    ],
)
def test_algorithm(columns: dict[str, list[float | None]], config: dict[str, object], expected: str | None) -> None:
    assert run_of(rows(columns), config).algorithm == expected


def test_version_in_the_runs_own_words_is_better_than_a_hint() -> None:
    run = run_of(rows(verl()))
    assert run.framework_version == ">=0.4"
    run.add_note(note("start", "launching with verl==0.7.0"), LOG)
    run.identify()
    assert (run.framework, run.framework_version, run.dialect) == ("verl", "0.7.0", "verl")


class TestPlan:
    def test_by_config_even_where_a_launch_left_it_open(self) -> None:
        run = run_of(rows(trl(5)), {"max_steps": -1})
        assert run.planned_steps is None
        run.add_config({"max_steps": 300}, "trainer_state.json")
        run.add_config({"max_steps": -1}, "wandb config")
        run.identify()
        assert run.planned_steps == 300

    def test_by_progress_lines_not_by_those_of_other_work(self) -> None:
        run = run_of(rows(trl(50)))
        run.add_note(note("progress", "26/26", step=26, total=26), LOG)
        for step in (10, 20):
            run.add_note(note("progress", "", step=step, total=200), LOG)
        run.add_note(note("progress", "", step=1, total=999), LOG)
        run.identify()
        assert run.planned_steps == 200

    def test_by_the_share_that_is_done(self) -> None:
        share = [(i + 1) / 180 for i in range(85)]
        columns = {"env/all/reward/total": [0.5] * 85, "progress/done_frac": share, "optim/lr": [1e-5] * 85}
        assert run_of(rows(columns, first=0)).planned_steps == 180

    def test_by_epochs_only_once_they_tell(self) -> None:
        config = {"num_train_epochs": 2}
        early = trl(10, epoch=[0.01 * (i + 1) for i in range(10)])
        assert run_of(rows(early), config).planned_steps is None
        later = trl(60, epoch=[0.01 * (i + 1) for i in range(60)])
        assert run_of(rows(later), config).planned_steps == 200

    def test_a_plan_that_was_passed_is_none(self) -> None:
        assert run_of(rows(trl(50)), {"max_steps": 20}).planned_steps is None

    def test_a_plan_that_lay_behind_the_first_step_counts_from_there(self) -> None:
        assert run_of(rows(trl(50), first=1001), {"max_steps": 80}).planned_steps == 1080
        assert run_of(rows(trl(50), first=1001), {"max_steps": 20}).planned_steps is None
        assert run_of(rows(trl(50), first=1001), {"max_steps": 1500}).planned_steps == 1500


def test_an_empty_run_answers() -> None:
    run = Run("r", "/runs/r")
    run.identify()
    assert run.names == {}
    assert run.config == {}
    assert run.series("reward_mean") is None
    assert run.family("val_score") == {}
    assert run.phases().items == ()
    assert run.state().state == "unknown"
    assert (run.framework, run.algorithm, run.planned_steps) == (None, None, None)


def test_looking_back_forgets_what_came_later() -> None:
    run = run_of(rows(trl(30)), {"max_steps": 30})
    run.add_note(note("checkpoint", "saved", step=10), LOG)
    run.add_note(note("checkpoint", "saved", step=20), LOG)
    run.add_note(note("progress", "", step=30, total=30), LOG)
    for part in run.history.parts:
        part.table.keep(15)
    run.history.rebuild()
    run.forget_after(15)
    assert [n.step for n in run.notes] == [10, 15]
    assert run.state().state == "running"


def test_nan_stays_nan_through_units() -> None:
    block = rows({"val/stop_rate": [0.5, None], "loss/kl_avg": [0.0, 0.0]})
    block.nonfinite["val/stop_rate"] = [1]
    found = run_of(block).series("response_clip_ratio")
    assert found is not None
    assert np.isnan(found.values).tolist() == [False, True]


def test_two_keys_of_one_metric_are_not_called_alike() -> None:
    run = run_of(rows(trl(train_loss=[0.1] * 20)))
    labels = [name.label for name in run.names.values()]
    assert len(set(labels)) == len(labels)
    assert (run.names["loss"].label, run.names["train_loss"].label) == ("loss", "loss (train_loss)")


def test_nor_are_three_of_which_two_end_alike() -> None:
    told = resolve("loss", "generic")
    keys = ("loss", "a/mean_loss", "b/mean_loss", "c/loss")
    labels = [one.label for one in told_apart(dict.fromkeys(keys, told)).values()]
    assert labels == ["loss", "loss (mean_loss)", "loss (b/mean_loss)", "loss (c/loss)"]
