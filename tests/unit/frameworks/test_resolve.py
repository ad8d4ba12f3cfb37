"""Keys are called what they are: the traps where two frameworks use one word for two things, or two for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.frameworks.detect import detect_dialect
from rltui.frameworks.load import dialect, dialect_names
from rltui.frameworks.resolve import bare_key, keys_for, resolve
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader


@pytest.mark.parametrize(
    ("framework", "key", "canonical"),
    [
        # three clippings that share a word
        ("trl", "clip_ratio", "clip_frac"),
        ("trl", "train/clip_ratio/region_mean", "clip_frac"),
        ("trl", "completions/clipped_ratio", "response_clip_ratio"),
        ("verl", "response_length/clip_ratio", "response_clip_ratio"),
        ("verl", "prompt_length/clip_ratio", "prompt_clip_ratio"),
        ("verl", "actor/pg_clipfrac_lower", "clip_frac_dual"),
        # a positive entropy that is called a loss
        ("verl_0_2", "actor/entropy_loss", "entropy"),
        ("search_r1", "actor/entropy_loss", "entropy"),
        ("openrlhf", "train/entropy_loss", "entropy"),
        ("slime", "train/entropy_loss", "entropy"),
        # four divergences
        ("verl", "actor/kl_loss", "kl_ref"),
        ("verl", "actor/ppo_kl", "ppo_kl"),
        ("verl", "rollout_corr/kl", "rollout_train_kl"),
        ("openrlhf", "vllm_kl", "rollout_train_kl"),
        ("open_instruct", "loss/kl_avg", "kl_ref_weighted"),
        ("trl_ppo", "objective/kl", "kl_ref_sequence"),
        # validation, and what only looks like it
        ("verl_0_2", "val/test_score/openai/gsm8k", "val_score"),
        ("verl", "val-core/openai/gsm8k/acc/mean@1", "val_score"),
        ("verl", "val-core/openai/gsm8k/acc/best@8/mean", "val_pass_at_k"),
        ("verl", "val-aux/num_turns/mean", "val_aux"),
        ("trl", "eval/reward", "val_score"),
        ("trl", "eval_reward", "val_score"),
        ("trl", "eval_rewards/f/mean", "val_aux"),
        ("open_instruct", "val/stop_rate", "response_clip_ratio"),
        ("trl_ppo", "val/ratio", "ppo_ratio_mean"),
        # reward after and before shaping
        ("trl", "reward", "reward_mean"),
        ("verl", "critic/rewards/mean", "reward_mean"),
        ("verl", "critic/score/mean", "score_mean"),
        # a prefix means implicit rewards in preference training
        ("trl", "rewards/accuracies", "dpo_accuracy"),
        ("trl", "rewards/accuracy_reward/mean", "reward_component_mean"),
        ("trl", "rewards/xmlcount_reward_func", "reward_component_mean"),
        # phases are seconds; counts and tokens under the same prefix are not
        ("verl", "timing_s/gen", "phase:rollout"),
        ("verl", "timing_s/agent_loop/slowest/prompt_length", None),
        ("verl", "timing_s/generation_timing/topk_ratio", None),
        ("verl", "timing_s/step", "time_per_step_s"),
        ("trl", "profiling/Time taken: GRPOTrainer._calculate_rewards", "phase:reward"),
        # a home-made loop
        (None, "avg_gen_tokens", "response_length_mean"),
        (None, "mean_reward", "reward_mean"),
        (None, "my/own_metric", None),
    ],
)
def test_key_means(framework: str | None, key: str, canonical: str | None) -> None:
    assert resolve(key, framework).canonical == canonical


def test_members_and_labels() -> None:
    meaning = resolve("val-core/openai/gsm8k/acc/mean@1", "verl")
    assert (meaning.member, meaning.label, meaning.group) == ("openai/gsm8k/acc/mean@1", "gsm8k acc", "validation")
    assert resolve("rewards/format_reward/mean", "trl").label == "format_reward"
    assert resolve("rewards/format_reward/std", "trl").label == "format_reward spread"


def test_an_unknown_key_keeps_its_name_under_its_prefix() -> None:
    meaning = resolve("critic/score/p90", "verl")
    assert (meaning.canonical, meaning.label, meaning.group) == (None, "critic/score/p90", "reward")
    assert resolve("something", "verl").group == "other"


def test_units_are_turned_into_canonical_ones() -> None:
    stop = resolve("val/stop_rate", "open_instruct")
    assert (stop.scale, stop.shift) == (-1, 1)
    assert resolve("actor/lr(1e-4)", "verl_0_2").scale == pytest.approx(1e-4)


def test_two_containers_of_a_run_agree_on_bare_keys() -> None:
    for framework in ("trl", "ms_swift", "unsloth", "openrlhf", "llama_factory"):
        assert bare_key("train/kl", framework) == "kl"
        assert bare_key("eval/reward", framework) == "eval_reward"
        assert bare_key("kl", framework) == "kl"
    assert bare_key("eval/eval_gsm8k_pass1", "openrlhf") == "eval_gsm8k_pass1"
    assert bare_key("train/num_gen_batches", "verl") == "train/num_gen_batches"
    assert bare_key("train/kl", None) == "train/kl"


@given(
    st.sampled_from(dialect_names()),
    st.text(min_size=1, max_size=40),
    st.sampled_from(["", "train/", "eval/", "eval/eval_"]),
)
def test_resolving_never_fails_and_bare_keys_mean_the_same(name: str, text: str, prefix: str) -> None:
    key = prefix + text
    meaning = resolve(key, name)
    assert meaning.key == key
    assert meaning.label
    assert resolve(bare_key(key, name), name).canonical == meaning.canonical


VERL = ["actor/pg_loss", "critic/score/mean", "response_length/mean", "timing_s/gen", "timing_s/step"]
TRL = ["loss", "reward", "rewards/f/mean", "completions/mean_length", "frac_reward_zero_std"]


def detect_framework(
    keys: list[str], config: tuple[str, ...] = (), text: tuple[str, ...] = ()
) -> tuple[str | None, str | None]:
    found = detect_dialect(keys, config, text)
    return (dialect(found.dialect).framework, found.version) if found else (None, None)


@pytest.mark.parametrize(
    ("keys", "framework", "version"),
    [
        ([*VERL, "actor/entropy", "timing_s/update_weights"], "verl", ">=0.8"),
        ([*VERL, "actor/entropy", "response/aborted_ratio"], "verl", ">=0.6"),
        ([*VERL, "actor/entropy"], "verl", ">=0.4"),
        ([*VERL, "actor/entropy_loss", "critic/kl"], "verl", "0.2-0.3"),
        ([*VERL, "actor/entropy_loss", "env/finish_ratio"], "search_r1", "verl 0.1"),
        ([*TRL, "entropy"], "trl", ">=0.20"),
        ([*TRL, "entropy", "step_time"], "trl", ">=0.26"),
        ([*TRL, "entropy", "step_time", "policy_loss"], "trl", ">=1.0"),
        ([f"train/{k}" for k in TRL], "trl", ">=0.20"),
        (["loss", "reward", "completion_length", "rewards/f"], "trl", "<=0.16"),
        ([*TRL, "completion_length"], "unsloth", "TRL >=0.20"),
        ([*TRL, "memory(GiB)", "train_speed(s/it)"], "ms_swift", "TRL >=0.20"),
        (["objective/kl", "policy/approxkl_avg", "val/ratio_var"], "trl", None),
        (["rewards/margins", "rewards/accuracies", "logps/chosen"], "trl", None),
        (["policy_loss", "actor_lr", "actor_grad_norm", "vllm_kl"], "openrlhf", None),
        (["train/gen_kl_error", "train/token_mult_prob_error"], "nemo_rl", None),
        (["rollout/raw_reward", "train/lr-pg_0", "perf/train_wait_time"], "slime", None),
        (["reward/avg_raw_reward", "policy/policy_entropy"], "skyrl", None),
        (["mismatch_kl/all/mean", "time/wait_for_batch"], "prime_rl", None),
        (["ppo_actor/task_reward/avg", "timeperf/rollout"], "areal", None),
        (["critic/score/mean", "actor/approxkl", "time/step_total", "system/tps"], "roll", None),
        (["objective/verifiable_reward", "val/stop_rate", "loss/kl_avg", "val/ratio"], "open_instruct", None),
        (["env/all/reward/total", "optim/kl_sample_train_v1"], "tinker_cookbook", None),
        (["current_steps", "loss"], "llama_factory", None),
        (["rl_trainer/avg_loss"], "torchforge", None),
        (["loss", "kl", "reward"], None, None),
        # names that any loop may have: one of them tells nothing, two do
        (["reward/mean", "response_length/mean", "ppo/clip_frac"], None, None),
        (["actor/entropy", "reward"], None, None),
        (["actor/entropy", "response_length/mean"], "verl", ">=0.4"),
        (["reward", "rewards/correct", "rewards/format"], None, None),
        (["reward", "completion_length"], None, None),
        ([], None, None),
    ],
)
def test_framework_is_told_by_its_keys(keys: list[str], framework: str | None, version: str | None) -> None:
    assert detect_framework(keys) == (framework, version)


def test_framework_is_told_by_config_or_text_before_the_first_row() -> None:
    assert detect_framework([], ("actor_rollout_ref.actor.kl_loss_coef",)) == ("verl", None)
    assert detect_framework([], ("actor_rollout_ref.rollout.n_agent",))[0] == "search_r1"
    assert detect_framework([], (), ("==((====))==  Unsloth 2026.4",))[0] == "unsloth"
    assert detect_framework(TRL, (), ("🦥 Unsloth",))[0] == "unsloth"


def test_bare_keys_give_the_same_framework() -> None:
    """The session asks again after it has taken the prefixes off."""
    for keys in (TRL, [*TRL, "completion_length"], ["rewards/margins", "logps/chosen"]):
        raw = [f"train/{key}" for key in keys]
        found = detect_dialect(raw)
        assert found is not None
        assert detect_dialect([bare_key(key, found.dialect) for key in raw]) == found


def test_one_key_may_serve_two_names() -> None:
    """The only loss of a trainer is its policy loss too, but it is shown as the loss."""
    assert resolve("loss", "trl").canonical == "total_loss"
    assert keys_for("pg_loss", "trl", ["loss"]) == ["loss"]
    assert keys_for("pg_loss", "trl", ["loss", "policy_loss"]) == ["policy_loss", "loss"]
    assert keys_for("kl_ref", "verl", ["actor/reward_kl_penalty", "actor/kl_loss"])[0] == "actor/kl_loss"


def test_val_is_no_validation_where_it_means_training() -> None:
    assert resolve("val/my_own", "verl").group == "validation"
    for name in ("trl_ppo", "trl_rloo_0_21", "online_dpo", "open_instruct"):
        assert resolve("val/num_eos_tokens", name).group == "policy"


@pytest.mark.parametrize(
    ("key", "canonical"),
    [("Mean Reward", "reward_mean"), ("KL", "kl_ref"), ("metrics/reward", "reward_mean"), ("Whatever Else", None)],
)
def test_a_home_made_loop_may_write_names_as_people_do(key: str, canonical: str | None) -> None:
    assert resolve(key, None).canonical == canonical
    grouped = canonical if "/" in key else None
    assert resolve(key, "trl").canonical == grouped, "a framework spells its keys"


@pytest.mark.parametrize("framework", ["trl", "verl", "openrlhf"])
@pytest.mark.parametrize(
    ("key", "canonical", "member"),
    [
        ("time/step", "time_per_step_s", ""),
        ("time/rollout", "phase:rollout", ""),
        ("reward/judge", "reward_component_mean", "judge"),
        ("gen_time", "phase:rollout", ""),
        ("my_number", None, ""),
    ],
)
def test_numbers_that_people_log_beside_those_of_a_framework(
    framework: str, key: str, canonical: str | None, member: str
) -> None:
    meaning = resolve(key, framework)
    assert (meaning.canonical, meaning.member) == (canonical, member)


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("actor/kl_ref", "kl_ref"),
        ("ppo/clip_frac", "clip_frac"),
        ("rollout/staleness_mean", "staleness_mean"),
        ("policy/approx_kl", "ppo_kl"),
        ("train/rollout_train_kl", "rollout_train_kl"),
        ("critic/kl_ref", None),
        ("actor/kl_ref_ema", None),
        ("step/3", None),
    ],
)
def test_a_known_name_below_a_group_is_that_name_beside_any_framework(key: str, canonical: str | None) -> None:
    assert resolve(key, "verl").canonical == canonical


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("host/load1", "host_load"),
        ("sys/load_avg", "host_load"),
        ("system.load", "host_load"),
        ("host/cpu_percent", "host_cpu"),
        ("system/cpu.percent", "host_cpu"),
        ("host/own_cpu_percent", None),
        ("data/load", None),
        ("system/load_time", None),
    ],
)
def test_the_load_of_the_host_is_known_wherever_it_is_logged(key: str, canonical: str | None) -> None:
    for framework in (None, "verl", "trl"):
        assert resolve(key, framework).canonical == canonical


def test_a_key_of_the_framework_counts_before_one_below_a_group() -> None:
    assert keys_for("kl_ref", "verl", ["actor/kl_ref", "actor/kl_loss"]) == ["actor/kl_loss"]
    assert keys_for("kl_ref", "verl", ["actor/kl_ref", "actor/entropy"]) == ["actor/kl_ref"]


def test_a_part_of_the_reward_is_one_with_or_without_the_prefix_of_training() -> None:
    for key in ("reward/accuracy", "train/reward/accuracy"):
        assert resolve(key, None).canonical == "reward_component_mean"


@pytest.mark.parametrize("word", ["avg", "average", "median", "sum", "var", "ema", "p90"])
def test_a_statistic_of_the_reward_is_no_part_of_it(word: str) -> None:
    for key in (f"reward/{word}", f"rewards/{word}"):
        assert resolve(key, None).canonical == ("reward_mean" if word in ("avg", "average") else None)


@pytest.mark.parametrize(
    ("key", "member"),
    [
        ("reward_correct", "correct"),
        ("train/reward_format_mean", "format"),
        ("reward_length_penalty", "length_penalty"),
        ("reward_accuracy", "accuracy"),
        ("reward_parts/length_bonus", "length_bonus"),
        ("train/reward_components/correct", "correct"),
        ("rewards/format_bonus/mean", "format_bonus"),
        ("length_bonus", "length_bonus"),
        ("train/format_reward", "format_reward"),
        ("accuracy_reward_mean", "accuracy_reward"),
        ("overlong_penalty", "overlong_penalty"),
    ],
)
def test_a_part_of_the_reward_may_be_named_behind_a_line(key: str, member: str) -> None:
    meaning = resolve(key, None)
    assert (meaning.canonical, meaning.member) == ("reward_component_mean", member)


@pytest.mark.parametrize(
    "key",
    [
        "reward_mean",
        "reward_std",
        "reward_scale",
        "reward_time",
        "reward_model_loss",
        "reward_ema",
        "reward/time",
        "reward/scale",
        "reward/model_loss",
        "reward/accuracy_std",
        "reward_parts/std",
        "reward_length_std",
        "reward_accuracy_weight",
        "kl_penalty",
        "entropy_bonus",
        "gradient_penalty",
        "mean_reward",
        "eval_reward",
        "best_reward",
        "eval/length_bonus",
        "length_bonus_weight",
    ],
)
def test_a_number_about_the_reward_is_no_part_of_it(key: str) -> None:
    assert resolve(key, None).canonical != "reward_component_mean"


def test_a_loop_with_short_names_is_judged_by_all_of_them(tmp_path: Path) -> None:
    lines = [
        f"[iter {i}/90] policy/loss=0.01 reward/avg={0.2 + i / 200:.3f} ent=1.{90 - i:02} g_norm=0.4 resp_len={300 + i}"
        for i in range(1, 91)
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    opened = RunReader(locate([str(tmp_path)])[0])
    opened.load()
    names = {name.canonical for name in opened.run.names.values()}
    assert {"pg_loss", "reward_mean", "entropy", "grad_norm", "response_length_mean"} <= names
