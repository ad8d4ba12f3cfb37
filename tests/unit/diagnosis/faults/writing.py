"""A run that learns, in the keys of several frameworks, for a fault to be planted in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

Columns = dict[str, np.ndarray]

KEYS: Mapping[str, Mapping[str, str]] = {
    "verl": {
        "reward": "critic/rewards/mean",
        "score": "critic/score/mean",
        "score_min": "critic/score/min",
        "score_max": "critic/score/max",
        "part": "reward_extra_info/{}/mean",
        "val": "val-core/math/acc/mean@8",
        "kl": "actor/kl_loss",
        "entropy": "actor/entropy",
        "loss": "actor/pg_loss",
        "grad": "actor/grad_norm",
        "lr": "actor/lr",
        "ppo_kl": "actor/ppo_kl",
        "clip": "actor/pg_clipfrac",
        "length": "response_length/mean",
        "longest": "response_length/max",
        "cut": "response_length/clip_ratio",
        "prompt_cut": "prompt_length/clip_ratio",
        "prompt": "prompt_length/mean",
        "mismatch": "training/rollout_probs_diff_mean",
        "mismatch_most": "training/rollout_probs_diff_max",
        "vf_loss": "critic/vf_loss",
        "explained": "critic/vf_explained_var",
        "values": "critic/values/mean",
        "critic_lr": "critic/lr",
        "critic_grad": "critic/grad_norm",
        "epoch": "training/epoch",
        "step_s": "timing_s/step",
        "gen_s": "timing_s/gen",
        "reward_s": "timing_s/reward",
        "update_s": "timing_s/update_actor",
        "ref_s": "timing_s/ref",
        "old_s": "timing_s/old_log_prob",
        "save_s": "timing_s/save_checkpoint",
        "host_gb": "perf/cpu_memory_used_gb",
        "gpu_gb": "perf/max_memory_allocated_gb",
        "tokens_s": "perf/throughput",
    },
    "trl": {
        "reward": "reward",
        "spread": "reward_std",
        "part": "rewards/{}/mean",
        "val": "eval_reward",
        "kl": "kl",
        "entropy": "entropy",
        "loss": "loss",
        "grad": "grad_norm",
        "lr": "learning_rate",
        "clip": "clip_ratio/region_mean",
        "length": "completions/mean_length",
        "longest": "completions/max_length",
        "ended": "completions/mean_terminated_length",
        "cut": "completions/clipped_ratio",
        "dead": "frac_reward_zero_std",
        "mismatch": "sampling/sampling_logp_difference/mean",
        "mismatch_most": "sampling/sampling_logp_difference/max",
        "tools": "tools/call_frequency",
        "failed_tools": "tools/failure_frequency",
        "epoch": "epoch",
        "step_s": "step_time",
        "gen_s": "profiling/Time taken: GRPOTrainer.vLLM.generate",
        "reward_s": "profiling/Time taken: GRPOTrainer._calculate_rewards",
    },
    "openrlhf": {
        "reward": "reward",
        "score": "score",
        "kl": "kl",
        "entropy": "entropy_loss",
        "loss": "policy_loss",
        "grad": "actor_grad_norm",
        "lr": "actor_lr",
        "ppo_kl": "ppo_kl",
        "clip": "ppo_clip_ratio",
        "length": "response_length",
        "cut": "rollout/truncated_rate",
        "spread": "group_reward_std",
        "mismatch": "logprobs_diff",
        "vf_loss": "critic_loss",
        "values": "values",
        "critic_lr": "critic_lr",
        "critic_grad": "critic_grad_norm",
        "val": "eval_math_pass1",
        "step_s": "timing/step_total",
        "gen_s": "timing/generation",
        "update_s": "timing/ppo_train",
        "sync_s": "timing/broadcast",
    },
    "nemo_rl": {
        "reward": "train/reward",
        "val": "validation/accuracy",
        "kl": "train/kl_penalty",
        "entropy": "train/approx_entropy",
        "loss": "train/loss",
        "grad": "train/grad_norm",
        "lr": "train/lr",
        "ratio": "train/probs_ratio",
        "mismatch_kl": "train/gen_kl_error",
        "prob_error": "train/token_mult_prob_error",
        "length": "train/mean_gen_tokens_per_sample",
        "longest": "train/max_gen_tokens_per_sample",
        "cut": "train/truncation_rate",
        "ended": "train/natural_termination_rate",
        "all_right": "train/baseline_reward/pct_1",
        "all_wrong": "train/baseline_reward/pct_0",
        "age": "train/avg_trajectory_age",
        "step_s": "timing/train/total_step_time",
        "gen_s": "timing/train/generation",
        "reward_s": "timing/train/reward_calculation",
        "update_s": "timing/train/policy_training",
        "sync_s": "timing/train/weight_sync",
        "tokens_s": "performance/tokens_per_sec_per_gpu",
    },
    "prime_rl": {
        "reward": "reward/mean",
        "part": "train/math/effective/all/rewards/{}/mean",
        "val": "eval/math500/avg@4",
        "entropy": "entropy/all/mean",
        "loss": "loss/mean",
        "grad": "optim/grad_norm",
        "lr": "optim/lr",
        "mismatch_kl": "mismatch_kl/all/mean",
        "masked": "is_masked/all/mean",
        "length": "completion_len/mean",
        "longest": "completion_len/max",
        "cut": "is_truncated/mean",
        "age": "off_policy/mean",
        "oldest": "off_policy/max",
        "dropped": "off_policy/dropped",
        "errors": "error/mean",
        "step_s": "time/step",
        "gen_s": "time/wait_for_batch",
        "update_s": "time/forward_backward",
        "sync_s": "time/broadcast_weights",
        "save_s": "time/save_ckpt",
    },
    "skyrl": {
        "reward": "loss/avg_final_rewards",
        "score": "reward/avg_raw_reward",
        "val": "eval/math/avg_score",
        "kl": "policy/policy_kl",
        "entropy": "policy/policy_entropy",
        "loss": "policy/policy_loss",
        "grad": "policy/grad_norm",
        "lr": "policy/policy_lr",
        "clip": "policy/loss_metrics/clip_ratio",
        "mismatch": "policy/rollout_train_logprobs_abs_diff_mean",
        "length": "generate/avg_num_tokens",
        "longest": "generate/max_num_tokens",
        "age": "async/staleness_mean",
        "oldest": "async/staleness_max",
        "step_s": "timing/step",
        "gen_s": "timing/generate",
        "update_s": "timing/policy_train",
        "old_s": "timing/fwd_logprobs_values_reward",
        "sync_s": "timing/sync_weights",
        "save_s": "timing/save_checkpoints",
    },
    "slime": {
        "reward": "rollout/rewards",
        "score": "rollout/raw_reward",
        "val": "eval/aime",
        "kl": "train/kl_loss",
        "entropy": "train/entropy_loss",
        "loss": "train/pg_loss",
        "grad": "train/grad_norm",
        "lr": "train/lr-pg_0",
        "ppo_kl": "train/ppo_kl",
        "clip": "train/pg_clipfrac",
        "mismatch": "train/train_rollout_logprob_abs_diff",
        "length": "rollout/response_len/mean",
        "longest": "rollout/response_len/max",
        "cut": "rollout/truncated_ratio",
        "repeated": "rollout/repetition_frac",
        "step_s": "perf/step_time",
        "gen_s": "perf/rollout_time",
        "update_s": "perf/actor_train_time",
        "ref_s": "perf/ref_log_probs_time",
        "sync_s": "perf/update_weights_time",
        "tokens_s": "perf/tokens_per_gpu_per_sec",
    },
}
"""Framework -> short name -> its key. `{}` takes the name of a part of the reward."""
PHASES = ("gen_s", "reward_s", "update_s", "sync_s", "ref_s", "old_s", "save_s")

CONFIG: Mapping[str, Mapping[str, object]] = {
    "verl": {
        "algorithm.adv_estimator": "grpo",
        "algorithm.use_kl_in_reward": False,
        "actor_rollout_ref.model.path": "Qwen/Qwen3-8B-Base",
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "actor_rollout_ref.actor.use_kl_loss": True,
        "actor_rollout_ref.actor.kl_loss_coef": 0.001,
        "actor_rollout_ref.actor.clip_ratio_low": 0.2,
        "actor_rollout_ref.actor.clip_ratio_high": 0.28,
        "actor_rollout_ref.actor.entropy_coeff": 0.0,
        "actor_rollout_ref.actor.ppo_epochs": 1,
        "actor_rollout_ref.actor.ppo_mini_batch_size": 256,
        "actor_rollout_ref.actor.grad_clip": 1.0,
        "actor_rollout_ref.rollout.n": 8,
        "actor_rollout_ref.rollout.temperature": 1.0,
        "actor_rollout_ref.rollout.gpu_memory_utilization": 0.6,
        "data.train_batch_size": 256,
        "data.max_prompt_length": 1024,
        "data.max_response_length": 4096,
        "trainer.save_freq": 20,
        "trainer.test_freq": 10,
    },
    "trl": {
        "learning_rate": 1e-6,
        "beta": 0.01,
        "num_generations": 8,
        "epsilon": 0.2,
        "temperature": 1.0,
        "max_completion_length": 2048,
        "max_prompt_length": 512,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 8,
        "num_iterations": 1,
        "max_grad_norm": 1.0,
        "save_steps": 50,
        "eval_steps": 20,
        "loss_type": "grpo",
        "use_vllm": True,
        "bf16": True,
    },
    "openrlhf": {
        "algo.advantage.estimator": "group_norm",
        "algo.kl.init_coef": 0.001,
        "algo.kl.use_loss": True,
        "rollout.n_samples_per_prompt": 8,
        "rollout.batch_size": 128,
        "rollout.temperature": 1.0,
        "rollout.max_new_tokens": 4096,
        "actor.adam.lr": 5e-7,
        "actor.eps_clip": 0.2,
        "train.batch_size": 1024,
        "train.max_epochs": 1,
        "ckpt.save_steps": 20,
        "eval.steps": 10,
    },
    "nemo_rl": {
        "grpo.num_prompts_per_step": 64,
        "grpo.num_generations_per_prompt": 16,
        "grpo.val_period": 10,
        "loss_fn.reference_policy_kl_penalty": 0.01,
        "loss_fn.ratio_clip_min": 0.2,
        "loss_fn.ratio_clip_max": 0.2,
        "policy.optimizer.kwargs.lr": 1e-6,
        "policy.generation.temperature": 1.0,
        "policy.generation.max_new_tokens": 4096,
        "policy.train_global_batch_size": 1024,
        "policy.max_grad_norm": 1.0,
        "checkpointing.save_period": 20,
    },
    "prime_rl": {
        "trainer.optim.lr": 1e-6,
        "trainer.loss.kl_tau": 0.0,
        "orchestrator.batch_size": 512,
        "orchestrator.rollouts_per_example": 16,
        "orchestrator.max_off_policy_steps": 4,
        "orchestrator.sampling.temperature": 1.0,
        "orchestrator.sampling.max_tokens": 8192,
        "max_steps": 400,
        "ckpt.interval": 50,
    },
    "skyrl": {
        "trainer.algorithm.advantage_estimator": "grpo",
        "trainer.algorithm.use_kl_loss": True,
        "trainer.algorithm.kl_loss_coef": 0.001,
        "trainer.algorithm.eps_clip_low": 0.2,
        "trainer.algorithm.eps_clip_high": 0.2,
        "trainer.policy.optimizer_config.lr": 1e-6,
        "trainer.update_epochs_per_batch": 1,
        "trainer.train_batch_size": 256,
        "trainer.policy_mini_batch_size": 256,
        "generator.n_samples_per_prompt": 8,
        "generator.sampling_params.temperature": 1.0,
        "generator.sampling_params.max_generate_length": 4096,
        "trainer.ckpt_interval": 20,
        "trainer.eval_interval": 10,
    },
    "slime": {
        "advantage_estimator": "grpo",
        "lr": 1e-6,
        "use_kl_loss": True,
        "kl_loss_coef": 0.001,
        "eps_clip": 0.2,
        "eps_clip_high": 0.28,
        "entropy_coef": 0.0,
        "n_samples_per_prompt": 8,
        "rollout_batch_size": 64,
        "global_batch_size": 512,
        "rollout_temperature": 1.0,
        "rollout_max_response_len": 8192,
        "save_interval": 20,
        "eval_interval": 10,
    },
}


@dataclass(frozen=True)
class Fault:
    """`truth`: the cause as a colleague would say it. `named`: a pattern of the words that name it, in a cause or in
    the title of the finding that leads. `untrue`: what this run's numbers speak against.
    `mild`: the rule that is asked if nothing of it is loud."""

    truth: str
    framework: str
    plant: Callable[[Columns, int], None]
    named: str
    untrue: str = r"\A\Z"
    config: Mapping[str, object] = field(default_factory=dict)
    log: str = ""
    rows: int = 160
    noise: float = 1.0
    seed: int = 0
    samples: Callable[[Path], None] | None = None
    mild: str = ""


def to(rows: int, before: float, after: float, at: int, over: int = 1) -> np.ndarray:
    """A level that goes over to another from row `at` on, within `over` rows."""
    return before + (after - before) * np.clip((np.arange(rows) - at + 1) / over, 0, 1)


def noisy(values: np.ndarray, size: float, seed: int) -> np.ndarray:
    return np.asarray(values * (1 + size * np.random.default_rng(seed).standard_normal(len(values))))


def healthy(fault: Fault) -> Columns:
    """What a run logs that learns; every column with noise of its own."""
    n, size = fault.rows, fault.noise
    x = np.arange(n)
    level = {
        "reward": 0.25 + 0.4 * (1 - np.exp(-x / (n / 2.5))),
        "val": 0.28 + 0.25 * (1 - np.exp(-x / (n / 2.5))),
        "kl": np.linspace(0.0005, 0.03, n),
        "entropy": np.linspace(0.9, 0.6, n),
        "grad": np.full(n, 0.4),
        "ppo_kl": np.full(n, 0.0008),
        "clip": np.full(n, 0.006),
        "length": np.linspace(520, 610, n),
        "longest": np.linspace(1500, 1700, n),
        "cut": np.full(n, 0.012),
        "gen_s": np.full(n, 34.0),
        "reward_s": np.full(n, 2.5),
        "update_s": np.full(n, 21.0),
        "sync_s": np.full(n, 3.0),
    }
    spread = {"grad": 0.08, "ppo_kl": 0.2, "clip": 0.2, "cut": 0.2, "reward": 0.03, "val": 0.02, "longest": 0.04}
    c = {
        name: np.abs(noisy(values, size * spread.get(name, 0.02), 31 * fault.seed + i))
        for i, (name, values) in enumerate(level.items())
    }
    c["score"] = c["reward"]
    c["loss"] = noisy(np.full(n, 0.01), 1.0, fault.seed + 90)
    c["lr"] = np.full(n, 1e-6)
    return c


def write(fault: Fault, folder: Path) -> Path:
    """The run as its trainer leaves it: metrics, config, log, samples."""
    folder.mkdir(parents=True)
    columns, keys = healthy(fault), KEYS[fault.framework]
    fault.plant(columns, fault.rows)
    columns["step_s"] = sum((columns[name] for name in PHASES if name in columns), np.full(fault.rows, 2.0))
    lines = []
    for i in range(fault.rows):
        row: dict[str, object] = {"step": i + 1, "timestamp": 1.76e9 + float(np.sum(columns["step_s"][:i]))}
        for name, values in columns.items():
            short, _, part = name.partition(":")
            key, value = keys.get(short), float(values[i])
            if key is not None and not (short == "val" and (i + 1) % 10):
                row[key.format(part)] = value
        lines.append(json.dumps(row))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({**CONFIG[fault.framework], **fault.config}), encoding="utf-8")
    if fault.log:
        (folder / "train.log").write_text(fault.log, encoding="utf-8")
    if fault.samples is not None:
        fault.samples(folder)
    return folder
