"""What each framework sends to its trackers, by its own keys and its own idea of a step, in files built to the format
of the tracker; the trackers' libraries wrote the fixtures of `test_tracker_writers.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.unit.frameworks.opening import check_config, opened
from tests.unit.readers_binary import encode

Cells = Mapping[str, float]


def wandb(rows: Sequence[tuple[int | None, Cells]], config: Mapping[str, object]) -> bytes:
    """An offline run; a step of None: `wandb.log` was called without one, and counts the calls."""
    items = b"".join(
        encode.field(1, encode.field(1, key) + encode.field(16, json.dumps(config[key]))) for key in config
    )
    records = [encode.field(1, 1) + encode.field(17, encode.field(1, "abc") + encode.field(4, items))]
    for call, (step, cells) in enumerate(rows):
        logged = {key: json.dumps(value) for key, value in cells.items()}
        internal = {"_step": str(call if step is None else step), "_timestamp": str(1.7e9 + 20 * call)}
        records.append(encode.history(call + 2, logged | internal, call if step is None else step))
    return encode.blocks(records)[0]


def tensorboard(rows: Sequence[tuple[int | None, Cells]], config: Mapping[str, object]) -> bytes:
    events = [
        encode.event(step or 0, *(encode.simple(k, v) for k, v in cells.items()), wall=1.7e9 + 20 * (step or 0))
        for step, cells in rows
    ]
    return encode.tfrecords(events)[0]


@dataclass(frozen=True)
class Tracked:
    """`rows`: (step as passed to the tracker, cells). `steps` and `last`: what has to be read."""

    dialect: str
    rows: tuple[tuple[int | None, Cells], ...]
    steps: tuple[int, int]
    last: dict[str, float]
    config: dict[str, object] = field(default_factory=dict)
    resolved: dict[str, object] = field(default_factory=dict)
    phases: tuple[str, ...] = ()
    with_tensorboard: bool = True
    algorithm: str | None = None


def each(
    steps: Sequence[int], cells: dict[str, float], rising: str, counter: str = ""
) -> tuple[tuple[int | None, Cells], ...]:
    return tuple((step, {**cells, rising: step / 8, **({counter: step} if counter else {})}) for step in steps)


VERL = {"actor/pg_loss": 0.1, "timing_s/gen": 12.0, "timing_s/step": 20.0}
TRACKED = (
    Tracked(
        "areal",
        each(
            (0, 1, 2),
            {
                "ppo_actor/update/approx_kl/avg": -0.0125,
                "ppo_actor/update/entropy/avg": 0.5,
                "timeperf/rollout": 32.0,
                "timeperf/train_step": 12.5,
                "timeperf/update_weights": 1.25,
            },
            "ppo_actor/final_reward/avg",
        ),
        (0, 2),
        {"reward_mean": 0.25, "ppo_kl": 0.0125, "entropy": 0.5},
        {"actor": {"optimizer": {"lr": 1e-6}, "eps_clip": 0.2, "kl_ctl": 0.1}, "gconfig": {"n_samples": 8}},
        {"lr": 1e-6, "clip_low": 0.2, "group_size": 8, "kl_coef_reward": 0.1},
        ("phase:rollout", "phase:update_actor"),
    ),
    Tracked(
        "nemo_rl",
        each(
            (1, 2, 3),
            {
                "train/loss": 0.5,
                "train/gen_kl_error": 0.0625,
                "train/mean_gen_tokens_per_sample": 512.0,
                "train/truncation_rate": 0.125,
                "timing/train/total_step_time": 64.0,
                "timing/train/generation": 40.0,
                "timing/train/policy_training": 10.0,
                "validation/accuracy": 0.5,
            },
            "train/reward",
        ),
        (1, 3),
        {"reward_mean": 0.375, "rollout_train_kl": 0.0625, "val_score": 0.5, "time_per_step_s": 64.0},
        {"grpo": {"num_generations_per_prompt": 16}, "loss_fn": {"reference_policy_kl_penalty": 0.01}},
        {"group_size": 16, "kl_coef_loss": 0.01},
        ("phase:rollout", "phase:update_actor"),
    ),
    Tracked(
        "openrlhf",
        tuple(
            (
                None,
                {
                    "train/policy_loss": 0.5,
                    "train/actor_lr": 1e-6,
                    "train/actor_grad_norm": 0.25,
                    "train/kl": 0.0625,
                    "train/ppo_clip_ratio": 0.125,
                    "train/reward": step / 8,
                    "train/timing/generation": 12.0,
                    "train/timing/ppo_train": 4.0,
                    "train/timing/step_total": 20.0,
                    "train/global_step": step,
                },
            )
            for step in (5, 10, 15)
        ),
        (5, 15),
        {"reward_mean": 1.875, "kl_ref": 0.0625, "clip_frac": 0.125, "grad_norm": 0.25},
        {"actor": {"eps_clip": 0.2, "adam": {"lr": 1e-6}}, "rollout": {"n_samples_per_prompt": 8}},
        {"clip_low": 0.2, "lr": 1e-6, "group_size": 8},
        ("phase:rollout", "phase:update_actor"),
        with_tensorboard=False,
    ),
    Tracked(
        "openrlhf",
        tuple(
            (
                None,
                {"train/loss": 0.5, "train/acc": 0.75, "train/chosen_reward": 0.125, "train/reject_reward": -0.125}
                | {"train/lr": 1e-6, "train/grad_norm": 0.25, "train/global_step": step},
            )
            for step in (1, 2, 3)
        ),
        (1, 3),
        {"dpo_accuracy": 0.75, "dpo_reward_chosen": 0.125, "dpo_reward_rejected": -0.125, "total_loss": 0.5},
        algorithm="DPO",
        with_tensorboard=False,
    ),
    Tracked(
        "skyrl",
        each(
            (1, 2, 3),
            {
                "loss/avg_final_rewards": 0.5,
                "policy/policy_entropy": 0.5,
                "policy/policy_kl": 0.0625,
                "policy/grad_norm": 0.25,
                "generate/avg_num_tokens": 200.0,
                "timing/generate": 12.0,
                "timing/policy_train": 5.0,
                "timing/step": 20.0,
            },
            "reward/avg_raw_reward",
            "trainer/global_step",
        ),
        (1, 3),
        {"score_mean": 0.375, "entropy": 0.5, "kl_ref": 0.0625, "response_length_mean": 200.0},
        {
            "trainer": {
                "algorithm": {"advantage_estimator": "grpo", "use_kl_loss": True, "kl_loss_coef": 0.001},
                "policy": {"optimizer_config": {"lr": 1e-6}},
            },
            "generator": {"n_samples_per_prompt": 5},
        },
        {"adv_estimator": "grpo", "kl_coef_loss": 0.001, "group_size": 5, "lr": 1e-6},
        ("phase:rollout",),
    ),
    Tracked(
        "roll",
        each(
            (0, 1, 2),
            {
                "actor/pg_loss": 0.5,
                "actor/approxkl": 0.0625,
                "actor_train/grad_norm": 0.25,
                "tokens/response_length/mean": 200.0,
                "time/step_total": 20.0,
                "time/step_generate": 12.0,
                "time/step_train": 5.0,
                "system/tps": 100.0,
            },
            "critic/score/mean",
        ),
        (0, 2),
        {"score_mean": 0.25, "ppo_kl": 0.0625, "grad_norm": 0.25, "response_length_mean": 200.0},
        {
            "adv_estimator": "grpo",
            "num_return_sequences_in_group": 8,
            "init_kl_coef": 0.2,
            "add_token_level_kl": False,
            "actor_train": {"training_args": {"learning_rate": 1e-6}},
        },
        {"adv_estimator": "grpo", "group_size": 8, "lr": 1e-6, "kl_coef_reward": 0.2},
        ("phase:rollout", "phase:update_actor"),
    ),
    Tracked(
        "slime",
        tuple(
            (None, row)
            for rollout in (0, 1, 2)
            for row in (
                {"rollout/response_len/mean": 200.0, "perf/rollout_time": 12.0, "rollout/step": rollout},
                {"rollout/rewards": 0.5, "rollout/raw_reward": rollout / 8, "rollout/step": rollout},
                {"train/loss": 0.5, "train/kl_loss": 0.15, "train/grad_norm": 0.5, "train/step": 2 * rollout},
                {"train/loss": 0.5, "train/kl_loss": 0.25, "train/grad_norm": 0.5, "train/step": 2 * rollout + 1},
                {"perf/train_wait_time": 15.0, "perf/actor_train_time": 4.0, "perf/step_time": 20.0}
                | {"rollout/step": rollout},
            )
        ),
        (0, 2),
        {"score_mean": 0.25, "kl_ref": 0.25, "response_length_mean": 200.0, "time_per_step_s": 20.0},
        {"advantage_estimator": "grpo", "n_samples_per_prompt": 8, "use_kl_loss": False, "kl_loss_coef": 0.001},
        {"group_size": 8, "kl_coef_loss": 0.001, "adv_estimator": "grpo"},
        ("phase:rollout",),
        with_tensorboard=False,
    ),
    Tracked(
        "open_instruct",
        each(
            (1, 2, 3),
            {
                "objective/kl2_avg": 0.25,
                "objective/verifiable_correct_rate": 0.5,
                "loss/policy_avg": 0.125,
                "val/sequence_lengths": 200.0,
                "val/stop_rate": 0.75,
                "time/total": 20.0,
                "time/training": 4.0,
                "time/trainer_waiting_for_data": 12.0,
            },
            "scores",
            "training_step",
        ),
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.25, "response_clip_ratio": 0.25, "response_length_mean": 200.0},
        {"beta": 0.0, "num_samples_per_prompt_rollout": 16, "learning_rate": 1e-6, "num_unique_prompts_rollout": 32},
        {"kl_coef_loss": 0.0, "group_size": 16, "lr": 1e-6, "train_batch_prompts": 32},
        ("phase:rollout", "phase:update_actor"),
        with_tensorboard=False,
    ),
    Tracked(
        "search_r1",
        each(
            (1, 2, 3),
            {**VERL, "actor/entropy_loss": 0.5, "env/finish_ratio": 0.75, "env/number_of_valid_search": 1.5},
            "critic/score/mean",
        ),
        (1, 3),
        {"score_mean": 0.375, "entropy": 0.5, "finish_ratio": 0.75, "tool_calls_mean": 1.5},
        {"actor_rollout_ref": {"rollout": {"n_agent": 5}, "actor": {"state_masking": True}}, "max_turns": 2},
        {"group_size": 5, "state_masking": True, "max_turns": 2},
        ("phase:rollout",),
        with_tensorboard=False,
    ),
    Tracked(
        "verl_0_2",
        each(
            (1, 2, 3),
            {**VERL, "actor/entropy_loss": 0.5, "critic/kl": 0.0625, "mfu/actor": 0.25, "val/test_score/gsm8k": 0.5},
            "critic/score/mean",
        ),
        (1, 3),
        {"score_mean": 0.375, "entropy": 0.5, "kl_ref": 0.0625, "val_score": 0.5},
        {"algorithm": {"adv_estimator": "gae", "kl_ctrl": {"kl_coef": 0.001}}},
        {"adv_estimator": "gae", "kl_coef_reward": 0.001},
        ("phase:rollout",),
    ),
    Tracked(
        "verifiers",
        tuple(
            (
                None,
                {"train/reward": step / 8, "train/rewards/format_reward": 0.5, "train/completions/mean_length": 200.0}
                | {"train/kl": 0.0625, "train/loss": 0.5, "train/grad_norm": 0.25, "train/global_step": step},
            )
            for step in (1, 2, 3)
        ),
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0625, "response_length_mean": 200.0},
        {"num_generations": 8, "beta": 0.04, "learning_rate": 1e-6, "zero_truncated_completions": True}
        | {"mask_env_responses": True},
        {"group_size": 8, "kl_coef_loss": 0.04, "lr": 1e-6, "state_masking": True},
        with_tensorboard=False,
    ),
    Tracked(
        "unsloth",
        tuple(
            (
                None,
                {"train/reward": step / 8, "train/completion_length": 200.0, "train/completions/mean_length": 200.0}
                | {"train/kl": 0.0625, "train/loss": 0.5, "train/grad_norm": 0.25, "train/global_step": step},
            )
            for step in (1, 2, 3)
        ),
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0625, "response_length_mean": 200.0},
        {"num_generations": 8, "beta": 0.0, "learning_rate": 5e-6, "unsloth_num_chunks": -1, "epsilon": 0.2},
        {"group_size": 8, "kl_coef_loss": 0.0, "lr": 5e-6, "clip_low": 0.2},
        with_tensorboard=False,
    ),
    Tracked(
        "async_grpo",
        tuple(
            (
                None,
                {"train/reward": step / 8, "train/sample/staleness_mean": 1.5, "train/perf/step_s": 20.0}
                | {"train/perf/fwd_bwd_s": 5.0, "train/perf/rollout_wait_s": 12.0, "train/global_step": step},
            )
            for step in (1, 2, 3)
        ),
        (1, 3),
        {"reward_mean": 0.375, "staleness_mean": 1.5, "time_per_step_s": 20.0},
        {"num_generations": 8, "learning_rate": 1e-6, "epsilon": 0.2},
        {"group_size": 8, "lr": 1e-6, "clip_low": 0.2},
        ("phase:rollout", "phase:update_actor"),
        with_tensorboard=False,
    ),
)
WRITE = {"wandb": wandb, "tensorboard": tensorboard}
NAMES = {"wandb": "wandb/offline-run-20260102_030405-abc/run-abc.wandb", "tensorboard": "tb/events.out.tfevents.1.host"}
BOTH = [(t, tracker) for t in TRACKED for tracker in WRITE if tracker == "wandb" or t.with_tensorboard]


@pytest.mark.parametrize(("expected", "tracker"), BOTH, ids=[f"{t.dialect}-{tracker}" for t, tracker in BOTH])
def test_what_a_tracker_was_sent(expected: Tracked, tracker: str, tmp_path: Path) -> None:
    file = tmp_path / NAMES[tracker]
    file.parent.mkdir(parents=True)
    file.write_bytes(WRITE[tracker](expected.rows, expected.config))
    run = opened(tmp_path).run
    assert run.dialect == expected.dialect
    assert run.history.table.restarts == []
    assert expected.algorithm in (None, run.algorithm)
    steps = run.history.table.steps
    assert (int(steps[0]), int(steps[-1]), len(steps)) == (*expected.steps, 3)
    for metric, value in expected.last.items():
        series = run.series(metric)
        assert series is not None, metric
        assert series.values[-1] == pytest.approx(value), metric
    for phase in expected.phases:
        assert run.series(phase) is not None, phase
    if tracker == "wandb":
        check_config(run, expected.resolved)
