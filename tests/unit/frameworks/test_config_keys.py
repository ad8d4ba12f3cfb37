"""The config keys that matter, by each framework's own spelling, and those that are set but have no effect."""

from __future__ import annotations

import pytest

from rltui.run.config import Config

KEYS: dict[str, dict[str, str]] = {
    "verl": {
        "adv_estimator": "algorithm.adv_estimator",
        "kl_coef_loss": "actor_rollout_ref.actor.kl_loss_coef",
        "use_kl_loss": "actor_rollout_ref.actor.use_kl_loss",
        "kl_in_reward": "algorithm.use_kl_in_reward",
        "kl_coef_reward": "algorithm.kl_ctrl.kl_coef",
        "kl_estimator": "actor_rollout_ref.actor.kl_loss_type",
        "group_size": "actor_rollout_ref.rollout.n",
        "lr": "actor_rollout_ref.actor.optim.lr",
        "clip_low": "actor_rollout_ref.actor.clip_ratio_low",
        "clip_high": "actor_rollout_ref.actor.clip_ratio_high",
        "clip_dual": "actor_rollout_ref.actor.clip_ratio_c",
        "entropy_coef": "actor_rollout_ref.actor.entropy_coeff",
        "loss_agg_mode": "actor_rollout_ref.actor.loss_agg_mode",
        "max_response_length": "data.max_response_length",
        "train_batch_prompts": "data.train_batch_size",
        "mini_batch": "actor_rollout_ref.actor.ppo_mini_batch_size",
        "micro_batch": "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        "save_freq": "trainer.save_freq",
        "test_freq": "trainer.test_freq",
    },
    "search_r1": {"group_size": "actor_rollout_ref.rollout.n_agent"},
    "trl": {
        "kl_coef_loss": "beta",
        "group_size": "num_generations",
        "lr": "learning_rate",
        "clip_low": "epsilon",
        "clip_high": "epsilon_high",
        "clip_dual": "delta",
        "entropy_coef": "entropy_coef",
        "loss_agg_mode": "loss_type",
        "max_response_length": "max_completion_length",
        "rollout_batch": "generation_batch_size",
        "micro_batch": "per_device_train_batch_size",
        "save_freq": "save_steps",
        "test_freq": "eval_steps",
    },
    "openrlhf": {
        "adv_estimator": "algo.advantage.estimator",
        "kl_coef_loss": "algo.kl.init_coef",
        "use_kl_loss": "algo.kl.use_loss",
        "kl_estimator": "algo.kl.estimator",
        "group_size": "rollout.n_samples_per_prompt",
        "lr": "actor.adam.lr",
        "clip_low": "actor.eps_clip",
        "clip_dual": "actor.dual_clip",
        "entropy_coef": "actor.entropy_coef",
        "max_response_length": "rollout.max_new_tokens",
        "train_batch_prompts": "rollout.batch_size",
        "mini_batch": "train.batch_size",
        "micro_batch": "train.micro_batch_size",
        "save_freq": "ckpt.save_steps",
        "test_freq": "eval.steps",
    },
    "openrlhf before 0.10": {
        "adv_estimator": "advantage_estimator",
        "kl_coef_loss": "init_kl_coef",
        "use_kl_loss": "use_kl_loss",
        "kl_estimator": "kl_estimator",
        "group_size": "n_samples_per_prompt",
        "lr": "actor_learning_rate",
        "clip_low": "eps_clip",
        "max_response_length": "generate_max_len",
        "train_batch_prompts": "rollout_batch_size",
    },
    "nemo_rl": {
        "adv_estimator": "grpo.adv_estimator.name",
        "kl_coef_loss": "loss_fn.reference_policy_kl_penalty",
        "kl_in_reward": "loss_fn.use_kl_in_reward",
        "kl_estimator": "loss_fn.reference_policy_kl_type",
        "group_size": "grpo.num_generations_per_prompt",
        "lr": "policy.optimizer.kwargs.lr",
        "clip_low": "loss_fn.ratio_clip_min",
        "clip_high": "loss_fn.ratio_clip_max",
        "clip_dual": "loss_fn.ratio_clip_c",
        "loss_agg_mode": "loss_fn.token_level_loss",
        "max_response_length": "policy.generation.max_new_tokens",
        "train_batch_prompts": "grpo.num_prompts_per_step",
        "mini_batch": "policy.train_global_batch_size",
        "micro_batch": "policy.train_micro_batch_size",
        "save_freq": "checkpointing.save_period",
        "test_freq": "grpo.val_period",
    },
    "slime": {
        "adv_estimator": "advantage-estimator",
        "kl_coef_loss": "kl-loss-coef",
        "use_kl_loss": "use-kl-loss",
        "kl_coef_reward": "kl-coef",
        "kl_estimator": "kl-loss-type",
        "group_size": "n-samples-per-prompt",
        "lr": "lr",
        "clip_low": "eps-clip",
        "clip_high": "eps-clip-high",
        "clip_dual": "eps-clip-c",
        "entropy_coef": "entropy-coef",
        "loss_agg_mode": "calculate-per-token-loss",
        "max_response_length": "rollout-max-response-len",
        "train_batch_prompts": "rollout-batch-size",
        "mini_batch": "global-batch-size",
        "save_freq": "save-interval",
        "test_freq": "eval-interval",
    },
    "skyrl": {
        "adv_estimator": "trainer.algorithm.advantage_estimator",
        "kl_coef_loss": "trainer.algorithm.kl_loss_coef",
        "use_kl_loss": "trainer.algorithm.use_kl_loss",
        "kl_in_reward": "trainer.algorithm.use_kl_in_reward",
        "kl_estimator": "trainer.algorithm.kl_estimator_type",
        "group_size": "generator.n_samples_per_prompt",
        "lr": "trainer.policy.optimizer_config.lr",
        "clip_low": "trainer.algorithm.eps_clip_low",
        "clip_high": "trainer.algorithm.eps_clip_high",
        "clip_dual": "trainer.algorithm.clip_ratio_c",
        "entropy_coef": "trainer.algorithm.entropy_loss_coef",
        "loss_agg_mode": "trainer.algorithm.loss_reduction",
        "max_response_length": "generator.sampling_params.max_generate_length",
        "train_batch_prompts": "trainer.train_batch_size",
        "mini_batch": "trainer.policy_mini_batch_size",
        "micro_batch": "trainer.micro_train_batch_size_per_gpu",
        "save_freq": "trainer.ckpt_interval",
        "test_freq": "trainer.eval_interval",
    },
    "areal": {
        "norm_adv_by_std": "actor.adv_norm.std_level",
        "kl_coef_reward": "actor.kl_ctl",
        "kl_estimator": "actor.kl_estimator",
        "group_size": "gconfig.n_samples",
        "lr": "actor.optimizer.lr",
        "clip_low": "actor.eps_clip",
        "clip_high": "actor.eps_clip_higher",
        "clip_dual": "actor.c_clip",
        "max_response_length": "gconfig.max_new_tokens",
        "train_batch_prompts": "train_dataset.batch_size",
        "mini_batch": "actor.ppo_n_minibatches",
        "save_freq": "saver.freq_steps",
        "test_freq": "evaluator.freq_steps",
    },
    "roll": {
        "adv_estimator": "adv_estimator",
        "kl_coef_loss": "kl_loss_coef",
        "use_kl_loss": "use_kl_loss",
        "kl_in_reward": "add_token_level_kl",
        "kl_coef_reward": "init_kl_coef",
        "group_size": "num_return_sequences_in_group",
        "lr": "actor_train.training_args.learning_rate",
        "clip_low": "pg_clip_low",
        "clip_high": "pg_clip_high",
        "clip_dual": "dual_clip_loss",
        "entropy_coef": "entropy_loss_coef",
        "loss_agg_mode": "loss_agg_mode",
        "max_response_length": "response_length",
        "train_batch_prompts": "rollout_batch_size",
        "save_freq": "save_steps",
        "test_freq": "eval_steps",
    },
    "open_instruct": {
        "norm_adv_by_std": "advantage_normalization_type",
        "kl_coef_loss": "beta",
        "use_kl_loss": "load_ref_policy",
        "kl_estimator": "kl_estimator",
        "group_size": "num_samples_per_prompt_rollout",
        "lr": "learning_rate",
        "clip_low": "clip_lower",
        "clip_high": "clip_higher",
        "loss_agg_mode": "loss_denominator",
        "max_response_length": "response_length",
        "train_batch_prompts": "num_unique_prompts_rollout",
        "mini_batch": "num_mini_batches",
        "save_freq": "save_freq",
        "test_freq": "local_eval_every",
    },
}


@pytest.mark.parametrize(
    ("name", "canonical", "key"), [(name, c, key) for name, keys in KEYS.items() for c, key in keys.items()]
)
def test_a_key_of_a_framework(name: str, canonical: str, key: str) -> None:
    config = Config()
    config.add({key: 0.125}, "here")
    found = config.resolved(name.partition(" ")[0])[canonical]
    assert (found.value, found.key, found.source) == (0.125, key, "here")


INACTIVE = [
    (
        "verl",
        "kl_coef_loss",
        {"actor_rollout_ref.actor.kl_loss_coef": 0.001, "actor_rollout_ref.actor.use_kl_loss": False},
    ),
    ("verl", "kl_coef_reward", {"algorithm.kl_ctrl.kl_coef": 0.001, "algorithm.use_kl_in_reward": False}),
    (
        "search_r1",
        "kl_coef_loss",
        {"actor_rollout_ref.actor.kl_loss_coef": 0.1, "actor_rollout_ref.actor.use_kl_loss": False},
    ),
    ("search_r1", "kl_coef_reward", {"algorithm.kl_ctrl.kl_coef": 0.1, "actor_rollout_ref.actor.use_kl_loss": True}),
    ("trl", "kl_coef_loss", {"beta": 0.0}),
    ("trl", "is_correction", {"vllm_importance_sampling_correction": True, "use_vllm": False}),
    ("verl", "is_correction", {"actor_rollout_ref.actor.tis_imp_ratio_cap": -1}),
    ("skyrl", "is_correction", {"trainer.algorithm.tis_imp_ratio_cap": -1.0}),
    ("slime", "kl_coef_loss", {"kl-loss-coef": 0.001, "use-kl-loss": False}),
    ("skyrl", "kl_coef_loss", {"trainer.algorithm.kl_loss_coef": 0.001, "trainer.algorithm.use_kl_loss": False}),
    ("roll", "kl_coef_loss", {"kl_loss_coef": 0.001, "use_kl_loss": False}),
    ("roll", "kl_coef_reward", {"init_kl_coef": 0.2, "add_token_level_kl": False}),
    ("open_instruct", "kl_coef_loss", {"beta": 0.01, "load_ref_policy": False}),
    ("openrlhf", "entropy_coef", {"actor.entropy_coef": None}),
    ("nemo_rl", "kl_coef_loss", {"loss_fn.reference_policy_kl_penalty": 0}),
]


@pytest.mark.parametrize(("name", "canonical", "values"), INACTIVE)
def test_a_value_without_effect_is_marked_with_the_reason(name: str, canonical: str, values: dict[str, object]) -> None:
    config = Config()
    config.add(values, "here")
    found = config.resolved(name)[canonical]
    assert not found.active
    assert found.note
