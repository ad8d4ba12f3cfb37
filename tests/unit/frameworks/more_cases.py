"""Further runs: second sources of a framework, restarts, config where each framework leaves it."""

from __future__ import annotations

import json

from tests.unit.frameworks.cases import _PRIME, CASES, Case, _deepspeed, _lines, _nemo, _orchestrator, _prime, _roll

_YAML_OF_ROLL = (
    "exp_name: rlvr\nadv_estimator: grpo\nnum_return_sequences_in_group: 8\nrollout_batch_size: 64\nmax_steps: 3\n"
    "use_kl_loss: false\nkl_loss_coef: 0.001\nadd_token_level_kl: false\ninit_kl_coef: 0.2\n"
    "actor_train:\n  training_args:\n    learning_rate: 1.0e-06\n    weight_decay: 0\n"
)
_YAML_OF_SKYRL = (
    "generator:\n  n_samples_per_prompt: 5\n  sampling_params:\n    temperature: 1.0\n"
    "trainer:\n  algorithm:\n    advantage_estimator: grpo\n    kl_loss_coef: 0.001\n    use_kl_loss: true\n"
    "  policy:\n    optimizer_config:\n      lr: 1.0e-06\n"
    "environment:\n  env_class: gsm8k\n"
)
_TABLE = "wandb/offline-run-20260102_030405-abc/files/media/table/completions_1_ab.table.json"


def _jsonl(*rows: dict[str, object]) -> str:
    return _lines(*(json.dumps(row) for row in rows))


def _trainer_rows(step: int) -> list[dict[str, object]]:
    """One step of prime-rl's trainer: several rows."""
    time = 1.7e9 + 40 * step
    return [
        {"step": step, "time": time, "loss/mean": 0.5, "mismatch_kl/all/mean": 0.0625, "entropy/all/mean": 0.5},
        {"step": step, "time": time + 0.01, "optim/lr": 1e-6, "optim/grad_norm": 0.25},
        {"step": step, "time": time + 0.02, "perf/throughput": 12345.0, "perf/mfu": 31.25},
        {"step": step, "time": time + 0.03, "time/step": 42.0, "time/wait_for_batch": 30.0}
        | {"time/forward_backward": 10.0, "time/broadcast_weights": 1.0},
    ]


def _orchestrator_rows(step: int) -> list[dict[str, object]]:
    time = 1.7e9 + 40 * step - 5
    return [
        {"step": step, "time": time, "train/agg/effective/agent/reward/mean": step / 8}
        | {"train/agg/effective/agent/num_output_tokens/mean": 200.0, "off_policy/mean": 1.5}
        | {"train/agg/effective/agent/is_truncated/mean": 0.125, "time/step": 40.0, "time/pack": 0.5},
    ]


def _verl(step: int) -> str:
    return (
        f"(TaskRunner pid=7) step:{step} - batch/solve_none:0.25 - batch/solve_all:0.25 - batch/solve_partial:0.5 -"
        f" actor/pg_loss:0.1 - critic/score/mean:{step / 8} - timing_s/gen:12.0 - timing_s/update_actor:4.0 -"
        " timing_s/step:20.0"
    )


def _earlier_orchestrator(step: int) -> str:
    evaluated = (
        f"{_PRIME}Evaluated math500 in 33.21s (Avg@4={step / 8 + 0.25}, Pass@4: 0.5000, No-response: 0.0%,"
        " Completion Length: 512.31 (±88.12, ∈[33.00, 2048.00]), Truncated: 1.2%)"
    )
    return _lines(
        f"{_PRIME}Starting orchestrator step {step}",
        *([evaluated] if step % 2 == 0 else []),
        f"{_PRIME}Step {step} | Time: 5.25s | Reward: {step / 8} | Throughput: 3500.7 tokens/s"
        " | Seq. Length: 142.5 tokens/sample | Async Level: 1 | Max. Off-Policy Level: 1",
    )


def _forge(step: int) -> str:
    return _lines(
        f"WandbBackend: Logged 8 metrics at step {step}",
        f"=== [global_logger_fF8h_r0] - METRICS STEP {step} ===",
        "  buffer/add/count_episodes_added: 24.0",
        "  loss/avg_loss: 0.0625",
        "  reward/evaluate_response/avg_MathReward_reward: 0.25",
        "  reward/evaluate_response/std_MathReward_reward: 0.125",
        f"  reward/evaluate_response/avg_total_reward: {step / 8}",
        "  rl_trainer/learning_rate: 1e-05",
        "  generator/generate/avg_tokens_generated: 255",
        "==============================",
        "",
    )


def _hf(step: int, steps: int, **cells: float) -> str:
    """A dict line of the HF Trainer among its progress bars."""
    bar = f"\r{100 * step // steps:3d}%|##        | {step}/{steps} [00:0{step}<00:09,  1.00s/it]"
    return f"\r{' ' * 60}\r{cells | {'epoch': step / steps}}\n{bar}"


def _newer_deepspeed(step: int) -> str:
    return _lines(
        f"Epoch: 0 | Step: {step} | PPO Epoch: 1 | Actor Loss: 0.25 | Critic Loss: 0.125 | Unsupervised Loss: 0.0",
        "End-to-End => Latency: 7.99s, TFLOPs: 3.29, Samples/sec: 1.57, Time/seq 0.64s, Batch Size: 4",
        "Generation => Latency: 5.26s, Per-token Latency 6.92 ms, TFLOPs: 0.29, BW: 378.85 GB/sec",
        "Training   => Latency: 2.52s, TFLOPs: 10.12",
        f"Average reward score: {step / 8} | EMA reward score: {step / 9}",
        "-" * 90,
    )


MORE: tuple[Case, ...] = (
    Case(
        "prime_rl",
        {"orchestrator.log": _lines(*map(_earlier_orchestrator, range(6)), f"{_PRIME}Orchestrator finished.")},
        (0, 5),
        {"reward_mean": 0.625, "response_length_mean": 142.5, "val_score": 0.75, "val_pass_at_k": 0.5},
        state="finished",
    ),
    Case(
        "torchforge",
        {"train.log": _lines(*map(_forge, (1, 2, 3, 4)), "Shutting down...")},
        (1, 4),
        {"reward_mean": 0.5, "total_loss": 0.0625, "lr": 1e-5, "response_length_mean": 255.0},
        "GRPO",
    ),
    Case(
        "deepspeed_chat",
        {
            "training.log": _lines(
                "Beginning of Epoch 1/1, Total Generation Batches 3", *map(_newer_deepspeed, (0, 1, 2))
            )
        },
        (0, 2),
        {"reward_mean": 0.25, "pg_loss": 0.25, "vf_loss": 0.125, "time_per_step_s": 7.99},
        "PPO",
        phases=("phase:rollout", "phase:update_actor"),
        planned=3,
        state="finished",
    ),
    Case(
        "deepspeed_chat",
        {
            "training.log": _lines(
                "cmd = deepspeed main.py --actor_learning_rate 1e-6 --actor_zero_stage 3 --ppo_epochs 1",
                "Beginning of Epoch 1/2, Total Generation Batches 3",
                *map(_deepspeed, (0, 1, 2)),
                "Beginning of Epoch 2/2, Total Generation Batches 3",
                *(_deepspeed(step).replace("epoch: 0|", "epoch: 1|") for step in (0, 1, 2)),
            )
        },
        (0, 5),
        {"reward_mean": 0.25, "pg_loss": 0.25, "epoch": 1.0},
        "PPO",
        {"lr": 1e-6},
        ("phase:rollout",),
        planned=6,
        state="finished",
    ),
    Case(
        "roll",
        {"output/train.log": _YAML_OF_ROLL + _lines(*map(_roll, (0, 1, 2)))},
        (0, 2),
        {"score_mean": 0.25},
        "GRPO",
        {"group_size": 8, "lr": 1e-6, "train_batch_prompts": 64, "kl_coef_loss": 0.001, "kl_coef_reward": 0.2},
        planned=3,
        state="finished",
    ),
    Case(
        "skyrl",
        {
            "train.log": "2026-01-02 03:04:05.678 | INFO     | skyrl.train.entrypoints.main_base:run:258 - "
            + _YAML_OF_SKYRL
            + "=skyrl-0.4.0.log",
        },
        (1, 3),
        {"reward_mean": 0.375},
        "GRPO",
        {"group_size": 5, "kl_coef_loss": 0.001, "lr": 1e-6, "temperature": 1.0},
    ),
    Case(
        "torchtune",
        {"log_1767323045.txt": "=torchtune-0.6.1.txt", "torchtune_config.yaml": "=torchtune-0.6.1.yaml"},
        (1, 3),
        {"reward_mean": 0.375},
        config={"lr": 3e-6, "kl_coef_reward": 0.01, "max_response_length": 58, "clip_low": 0.2, "gae_lambda": 0.95},
    ),
    Case(
        "rllm",
        {
            "train.log": _lines(
                "(TaskRunner pid=7) {'actor_rollout_ref': {'rollout': {'n': 8}, 'actor': {'kl_loss_coef': 0.001,",
                "(TaskRunner pid=7)                                'use_kl_loss': False, 'optim': {'lr': 1e-06}}},",
                "(TaskRunner pid=7)  'algorithm': {'adv_estimator': 'grpo'},",
                "(TaskRunner pid=7)  'rllm': {'agent': {'name': 'math'}}}",
                *map(_verl, (1, 2, 3)),
            )
        },
        (1, 3),
        {"score_mean": 0.375, "frac_groups_mixed": 0.5, "frac_groups_all_wrong": 0.25, "time_per_step_s": 20.0},
        "GRPO",
        {"group_size": 8, "lr": 1e-6, "kl_coef_loss": 0.001},
        ("phase:rollout", "phase:update_actor"),
        samples=("logs/p/e/episodes/train_step_3_epoch_0/episode_hash0a_id7_0.json", "rollout_data/3.jsonl"),
    ),
    Case(
        "nemo_rl",
        {
            "run.log": "".join(
                _nemo(step).replace("Avg Reward:", "Avg Filtered Reward: 0.5\n  • Avg Total Reward:")
                for step in (1, 2, 3)
            )
        },
        (1, 3),
        {"reward_mean": 0.375, "response_length_mean": 512.25},
        planned=3,
    ),
    Case(
        "prime_rl",
        {
            "metrics.jsonl": _jsonl(
                *(row for s in (1, 2, 3) for row in (*_orchestrator_rows(s), *_trainer_rows(s))),
            ),
            "configs/rl.toml": "max_steps = 3\n[orchestrator]\ngroup_size = 16\n",
        },
        (1, 3),
        {"reward_mean": 0.375, "rollout_train_kl": 0.0625, "response_length_mean": 200.0, "staleness_mean": 1.5}
        | {"mfu_actor": 0.3125, "response_clip_ratio": 0.125},
        config={"group_size": 16, "total_steps": 3},
        phases=("phase:rollout", "phase:update_actor", "phase:weight_sync"),
        planned=3,
        state="finished",
    ),
    Case(
        "prime_rl",
        {
            "logs/attempt_1/trainer.log": _lines(*map(_prime, (1, 2))),
            "logs/attempt_1/orchestrator.log": _lines(*map(_orchestrator, (1, 2))),
            "logs/attempt_2/trainer.log": _lines(*map(_prime, (2, 3, 4)), "03:09:05 SUCCESS RL trainer finished!"),
            "logs/attempt_2/orchestrator.log": _lines(*map(_orchestrator, (2, 3, 4))).replace("Turns 1.0", "Turns 1.5"),
            "configs/trainer.toml": "max_steps = 4\n[optim]\nlr = 1e-6\n",
        },
        (1, 4),
        {"reward_mean": 0.5, "entropy": 0.4312},
        config={"lr": 1e-6},
        planned=4,
        state="finished",
        restarts=(2,),
    ),
    Case(
        "llama_factory",
        {
            "saves/train.log": _lines(
                "[INFO|2026-01-02 03:04:05] llamafactory.hparams.parser:465 >> Process rank: 0, world size: 1",
                *(_hf(s, 3, loss=0.5, reward=s / 8, learning_rate=1e-6) for s in (1, 2, 3)),
            ),
            "saves/training_args.yaml": "stage: ppo\nfinetuning_type: lora\nlearning_rate: 1.0e-06\nmax_steps: 3\n",
        },
        (1, 3),
        {"reward_mean": 0.375, "total_loss": 0.5, "lr": 1e-6},
        "PPO",
        {"lr": 1e-6, "adv_estimator": "ppo", "total_steps": 3},
        planned=3,
        state="finished",
    ),
    Case(
        "verifiers",
        {
            "train.log": _lines(
                "+ python examples/grpo/train_gsm8k.py --num_generations 8 --beta 0.04 --num_batches_ahead 1",
                "INFO verifiers.trainers.grpo_trainer: generating",
                *(
                    _hf(s, 3, **{"loss": 0.5, "reward": s / 8, "rewards/correct_answer": s / 8, "kl": 0.0625})
                    for s in (1, 2, 3)
                ),
            )
        },
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0625},
        config={"group_size": 8, "kl_coef_loss": 0.04, "max_staleness": 1},
        planned=3,
        state="finished",
        samples=(_TABLE,),
    ),
    Case(
        "async_grpo",
        {
            "train.log": _lines(
                *(
                    _hf(s, 3, **{"reward": s / 8, "sample/staleness_mean": 1.5, "perf/step_s": 20.0, "loss": 0.1})
                    for s in (1, 2, 3)
                )
            )
        },
        (1, 3),
        {"reward_mean": 0.375, "staleness_mean": 1.5, "time_per_step_s": 20.0},
        planned=3,
        state="finished",
    ),
    Case(
        "open_instruct",
        {
            "train.log": _lines(
                "+ python open_instruct/grpo_fast.py --beta 0.01 --num_samples_per_prompt_rollout 16"
                " --num_unique_prompts_rollout 32 --learning_rate 1e-6 --response_length 2048 --clip_higher 0.28",
            )
            + next(case for case in CASES if case.dialect == "open_instruct").text("train.log"),
        },
        (1, 3),
        {"reward_mean": 0.375},
        config={"kl_coef_loss": 0.01, "group_size": 16, "train_batch_prompts": 32, "clip_high": 0.28, "lr": 1e-6},
        samples=(_TABLE,),
    ),
)
ALL_CASES = (*CASES, *MORE)
