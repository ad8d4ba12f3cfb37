"""Names as people write them, and evaluations told by their file, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.frameworks.resolve import resolve
from tests.unit.readers.reported import ends, reported

SPELLINGS = {
    "reward_mean": ("Mean Reward", "meanReward", "avg-reward", "Reward (mean)", "charts/average_reward", "REWARD_MEAN"),
    "kl_ref": ("KL Divergence", "klDivergence", "kl-div", "KL [nats]", "losses/kl_divergence", "KL_REF"),
    "pg_loss": ("Policy Loss", "policyLoss", "policy-loss", "Loss/policy", "losses/pg_loss", "PG_LOSS"),
    "grad_norm": ("Gradient Norm", "gradNorm", "grad-norm", "Grad norm (L2)", "optim/grad_norm", "GradientNorm"),
    "lr": ("Learning Rate", "learningRate", "learning-rate", "LR", "charts/learning_rate", "Lr"),
    "response_length_mean": (
        *("Completion Length", "completionLength", "avg-response-length", "Response length [tokens]"),
        *("rollout/response_length", "Response Length Mean"),
    ),
    "entropy": ("Entropy", "policyEntropy", "policy-entropy", "Entropy (nats)", "losses/entropy", "ENTROPY"),
}


@pytest.mark.parametrize("style", range(6), ids=["title", "camel", "hyphen", "unit", "group", "capitals"])
def test_names_as_people_write_them(style: int, tmp_path: Path) -> None:
    named = {names[style]: canonical for canonical, names in SPELLINGS.items()}
    rows = [{"step": s, **dict.fromkeys(named, s / 10)} for s in range(1, 13)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = reported(tmp_path)["metrics"]
    assert {metric["key"]: canonical for canonical, metric in found.items()} == named


def test_a_unit_turns_values_into_canonical_ones(tmp_path: Path) -> None:
    rows = [{"step": s, "Clip frac (%)": 12.5, "Step time (ms)": 2500.0} for s in range(1, 13)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = reported(tmp_path)
    assert ends(report, "clip_frac") == (12, 0.125, 0.125)
    assert ends(report, "time_per_step_s") == (12, 2.5, 2.5)


@pytest.mark.parametrize("key", ["mean", "std", "value", "metric_1", "my number", "reward coefficient", "delta"])
def test_a_name_that_tells_nothing_stays_as_it_is_and_is_shown(key: str, tmp_path: Path) -> None:
    rows = [{"step": s, key: s / 10, "kl": 0.1} for s in range(1, 13)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ends(reported(tmp_path), key) == (12, 0.1, 1.2)


def test_groups_of_other_libraries_make_no_run_of_trl(tmp_path: Path) -> None:
    rows = [{"step": s, "train/rewards/mean": s / 10, "losses/policy_loss": 0.5} for s in range(1, 13)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = reported(tmp_path)
    assert report["run"]["framework"] is None
    assert set(report["metrics"]) == {"reward_mean", "pg_loss"}


@pytest.mark.parametrize(
    ("train", "held_out"),
    [
        ("train.jsonl", "eval.jsonl"),
        ("metrics.jsonl", "eval_metrics.jsonl"),
        ("train/metrics.jsonl", "eval/metrics.jsonl"),
        ("train_log.jsonl", "val_log.jsonl"),
    ],
)
def test_an_evaluation_in_a_file_of_its_own(train: str, held_out: str, tmp_path: Path) -> None:
    """Its rows were another attempt at the run, which hid the training's."""
    rows = [{"step": s, "reward": s / 100, "loss": 0.5} for s in range(1, 41)]
    found = [{"step": s, "reward": 0.5 + s / 100} for s in range(10, 41, 10)]
    for name, lines in ((train, rows), (held_out, found)):
        path = tmp_path / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in lines))
    report = reported(tmp_path / "run")
    assert report["run"]["restarts"] == []
    assert ends(report, "reward_mean") == (40, 0.01, 0.4)
    assert ends(report, "val_score") == (4, 0.6, 0.9)


def test_percentages_and_scores_at_k_of_an_evaluation(tmp_path: Path) -> None:
    rows = [
        {
            "step": s,
            "kl": 0.1,
            **({"ndcg@10": 0.25, "Percentage correct": 50.0, "eval/pass@1": 0.5} if s % 4 == 0 else {}),
        }
        for s in range(1, 25)
    ]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = reported(tmp_path)
    assert ends(report, "val_score") == (6, 0.5, 0.5)
    assert ends(report, "score_mean") == (6, 0.5, 0.5)
    assert ends(report, "val_aux") == (6, 0.25, 0.25)


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("t", "time_per_step_s"),
        ("wall_time_s", "time_per_step_s"),
        ("time/vLLM", "phase:rollout"),
        ("|y|", "response_length_mean"),
        ("avg generated tokens", "response_length_mean"),
        ("R̄", "reward_mean"),
        ("σ_r", "reward_std"),
        ("H(π)", "entropy"),
        ("peak_mem_mb", "gpu_mem_allocated_peak"),
        ("reward/overall", "reward_mean"),
        ("r_format", "reward_component_mean"),
        ("strict_format_reward_func_mean", "reward_component_mean"),
        ("fmt_rate", "reward_component_mean"),
        ("kl_old_new", "ppo_kl"),
        ("grad norm (pre-clip)", "grad_norm"),
        ("frac_hit_max_len", "response_clip_ratio"),
        ("gen_ms", "phase:rollout"),
        ("time/train_ms", "phase:update_actor"),
        ("step_ms", "time_per_step_s"),
        ("logs/train/reward", "reward_mean"),
        ("T", None),
        ("y", None),
        ("mb_loss", None),
    ],
)
def test_names_of_home_made_loops(key: str, canonical: str | None) -> None:
    assert resolve(key, None).canonical == canonical


def test_a_name_tells_the_unit_of_memory() -> None:
    assert resolve("peak_mem_mb", None).scale == pytest.approx(1 / 1024)
    assert resolve("peak_mem_gb", None).scale == 1


@pytest.mark.parametrize("key", ["gen_ms", "step_ms", "time/train_ms"])
def test_a_name_tells_milliseconds(key: str) -> None:
    assert resolve(key, None).scale == 0.001


@pytest.mark.parametrize("key", ["globalStep", "trainStep", "STEP", "step_num", "grpo_step", "round"])
def test_keys_of_steps(key: str, tmp_path: Path) -> None:
    """Else their rows would be counted, whatever steps they state."""
    log, out = tmp_path / "m.jsonl", tmp_path / "rows.jsonl"
    log.write_text("".join(json.dumps({key: 10 * n, "reward": n / 10, "loss": 0.5}) + "\n" for n in range(1, 9)))
    assert main(["export", str(log), "--output", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["step"], row["reward_mean"]) for row in rows] == [(10 * n, n / 10) for n in range(1, 9)]
