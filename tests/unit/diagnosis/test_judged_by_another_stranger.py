"""What runs of a third generator showed: checkpoints of before a resume, dates of what fell at once, statements
that the numbers beside them refute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.reported import told_at

ROWS, AT = 360, 200
T = np.arange(ROWS)


def rising(seed: int = 1, noise: float = 0.03) -> np.ndarray:
    return 0.25 + 0.4 * (1 - np.exp(-T / 120)) + wave(0, noise, ROWS, seed)


def console(columns: dict[str, np.ndarray], told: dict[int, list[str]]) -> str:
    """A console log of verl that names a checkpoint each 50 steps. `told`: lines before a step."""
    lines = []
    for i in range(len(columns["score"])):
        lines += told.get(i + 1, [])
        cells = " - ".join(f"{name}:{float(values[i]):.6g}" for name, values in columns.items())
        lines.append(f"(TaskRunner pid=7) step:{i + 1} - {cells}".replace("score:", "critic/score/mean:"))
        if (i + 1) % 50 == 0:
            lines.append(f"(TaskRunner pid=7) local_global_step_folder: /ckpt/x/global_step_{i + 1}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("resumed", [200, 150], ids=["from the newest", "from the one before"])
def test_checkpoints_of_before_a_resume_are_there(
    resumed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing failed as the run was stopped and resumed, and then the reward fell: the states of before are kept."""
    score = np.where(T < AT, 0.2 + 0.6 * T / AT, 0.1) + wave(0, 0.02, ROWS, 2)
    columns = {"score": score, "actor/kl_loss": np.where(T < AT, 0.01, 0.9) + wave(0, 0.001, ROWS, 3)}
    told = {AT + 1: [f"Resuming from checkpoint: /ckpt/x/global_step_{resumed}"]}
    (tmp_path / "train.log").write_text(console(columns, told), encoding="utf-8")
    best = report(tmp_path, capsys)["verdict"]["best_checkpoint"]
    assert best["path"] == f"/ckpt/x/global_step_{best['step']}"
    assert best["step"] == resumed, "it was loaded, so it is whole; of a newer one nobody knows that it is"


def test_a_checkpoint_that_was_being_written_as_the_run_broke_off_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody resumed from it: the run went back to the one before."""
    columns = {"score": rising()[:260]}
    log = console({"score": columns["score"][:200]}, {}) + "Resuming from checkpoint: /ckpt/x/global_step_150\n"
    later = [f"(TaskRunner pid=7) step:{s} - critic/score/mean:{0.02 + s / 1e5:.6g}" for s in range(151, 260)]
    (tmp_path / "train.log").write_text(log + "\n".join(later) + "\n", encoding="utf-8")
    assert report(tmp_path, capsys)["verdict"]["best_checkpoint"]["step"] in (100, 150)


@pytest.mark.parametrize("seed", range(4))
def test_what_fell_at_once_began_in_that_row(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cause names the step of the jump: the finding has no other date."""
    columns = learning(ROWS) | {
        "score": np.where(T < AT, rising(seed), 0.15 + wave(0, 0.03, ROWS, seed + 9)),
        "entropy": np.where(T < AT, 0.6, 2.4) + wave(0, 0.01, ROWS, 3),
    }
    of = report(write(tmp_path / "run", columns), capsys)
    for rule in ("reward-collapse", "reward-peak-decline"):
        found = finding(of, rule)
        assert found is not None
        assert found["onset_step"] == AT + 1


@pytest.mark.parametrize(("train_falls", "told"), [(True, False), (False, True)], ids=["both fall", "validation alone"])
def test_training_that_fell_with_validation_has_not_gone_up(
    train_falls: bool, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another template: both lose most at one step, and come up a part of the way again. If validation does so alone,
    it changed and no policy did."""
    since = np.clip(T - AT, 0, None)
    fallen = np.where(T < AT, 0.22 + 0.38 * (1 - np.exp(-T / 120)), 0.1 + 0.15 * (1 - np.exp(-since / 80)))
    score = np.where(T < AT, rising(), 0.12 + 0.25 * (1 - np.exp(-since / 80)) + wave(0, 0.03, ROWS, 2))
    columns = learning(ROWS) | {
        "score": score if train_falls else rising() + 0.2 * np.clip((T - AT) / 100, 0, 1),
        "val": fallen + wave(0, 0.01, ROWS, 4),
    }
    of = report(write(tmp_path / "run", columns, {"val": 20}), capsys)
    assert (finding(of, "val-regression") is not None) is train_falls
    assert (finding(of, "validation-shift") is not None) is told
    assert finding(of, "train-val-divergence") is None


@pytest.mark.parametrize("seed", some(range(6), 2))
@pytest.mark.parametrize(("at_once", "leads"), [(False, "Stale weights"), (True, "The sampler changed at one step")])
def test_a_gap_that_widens_has_not_jumped(
    at_once: bool, leads: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is larger is noisier too: in a slope, ten rows beside ten others look like a jump by chance."""
    apart = np.where(T < AT, 0.0, 1.0) if at_once else np.clip((T - AT) / 160, 0, 1)
    noisy = np.exp(wave(0, 0.2, ROWS, seed + 20))
    columns = learning(ROWS) | {
        "score": rising() - 0.2 * np.clip((T - 240) / 120, 0, 1),
        "rollout_corr/kl": (0.001 + 0.06 * apart) * noisy,
        "training/rollout_probs_diff_mean": 0.004 + 0.03 * apart + np.abs(wave(0, 0.0005, ROWS, 6)),
        "training/off_policy/trajectory_staleness/mean": 0.5 + (0 if at_once else 7) * apart + wave(0, 0.05, ROWS, 7),
    }
    found = finding(report(write(tmp_path / "run", columns), capsys), "mismatch-high")
    assert found is not None
    assert found["causes"][0]["text"].startswith(leads)


@pytest.mark.parametrize("rows", [66, 72, 78])
def test_a_critic_that_got_worse_had_been_good(rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It rose to .75. As the finding begins it may just be on its way down through where it started."""
    worse = np.clip((T - AT) / rows, 0, 1)
    columns = learning(ROWS) | {
        "score": rising() - 0.3 * np.clip((T - 240) / 80, 0, 1),
        "critic/vf_explained_var": np.interp(T, [0, 40, 100], [0.3, 0.3, 0.75]) + wave(0, 0.03, ROWS, 5) - 1.9 * worse,
        "critic/vf_loss": 0.25 * np.exp(wave(0, 0.1, ROWS, 6)) * (1 + 14 * worse),
    }
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text('{"algorithm.adv_estimator": "gae", "critic.optim.lr": 1e-5}')
    found = finding(report(write(tmp_path / "run", columns), capsys), "critic-uninformative")
    assert found is not None
    assert found["causes"][0]["text"] == "The critic diverges: its loss grows"


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has 1.02 GiB free."
PREEMPTED = "slurmstepd: error: *** JOB 9 ON node07 CANCELLED AT 2025-11-24T18:22:01 DUE TO PREEMPTION ***"


@pytest.mark.parametrize(("end", "times", "told"), [(OOM, 3, True), (OOM, 1, False), (PREEMPTED, 3, False)])
def test_nothing_is_clear_of_a_run_that_ends_in_an_error_again_and_again(
    end: str, times: int, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It learns and was resumed each time. What the queue stopped, and what happened once, is no fault of the run."""
    lines = []
    for attempt in range(times + 1):
        columns = {"score": rising(attempt)[: 60 * attempt + 80], "actor/entropy": np.full(ROWS, 0.5)}
        first = 60 * attempt
        lines += console(columns, {}).splitlines()[first + first // 50 :]
        lines += [end, f"Resuming from checkpoint: /ckpt/x/global_step_{first + 60}"] if attempt < times else []
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    verdict = report(tmp_path, capsys)["verdict"]
    assert verdict["decision"] == "continue"
    assert ("in an error more than once" in verdict["text"]) is told
    assert ("GPU memory ran out 3 times" in verdict["text"]) is told


@pytest.mark.parametrize(("penalty", "told"), [(0.003, False), (0.3, True)])
def test_a_reward_that_went_as_its_score_did_is_not_told_twice(
    penalty: float, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {"score": rising()}
    columns["critic/rewards/mean"] = columns["score"] - penalty * T / ROWS
    text = report(write(tmp_path / "run", columns), capsys)["verdict"]["text"]
    assert "Score rose" in text
    assert ("Reward rose" in text) is told


def test_what_was_seen_for_a_few_rows_ended_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows after it are those in which the rule still counts it."""
    columns = learning(ROWS) | {"score": rising()}
    for name in ("grad", "loss"):
        columns[name] = np.where((T >= 140) & (T < 144), np.nan, columns[name])
    of = report(write(tmp_path / "run", columns), capsys)
    found = next(f for f in of["findings"] if f["id"] == "nonfinite-values")
    assert [(one["onset_step"], one["end_step"]) for one in found["episodes"]] == [(141, 144)]


def test_a_gradient_that_is_back_is_not_said_to_teach_nothing(tmp_path: Path) -> None:
    columns = learning(ROWS) | {"score": rising()}
    columns["grad"] = np.where((T >= 100) & (T < 200), 0.0, columns["grad"])
    run = write(tmp_path / "run", columns)
    told = told_at(run, (190, 225, 235))
    summaries = [f["summary"] for _, _, of in told for f in of["findings"] if f["id"] == "no-learning-signal"]
    assert any("teach nothing" in text for text in summaries)
    assert not any("zero on 0 %" in text and "teach nothing" in text for text in summaries)


@pytest.mark.parametrize(
    "line",
    [
        "ERROR update_weights: broadcast group is lost",
        "ERROR failed to send new weights",
        "WARN sync weights: timed out",
    ],
)
def test_a_weight_sync_that_failed_by_the_log_is_the_cause(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gap = np.where(T < AT, 0.004, 0.05) + np.abs(wave(0, 0.0005, ROWS, 6))
    columns = {"score": np.where(T < AT, rising(), 0.57 + wave(0, 0.03, ROWS, 2))}
    columns["training/rollout_probs_diff_mean"] = gap
    (tmp_path / "train.log").write_text(console(columns, {AT + 1: [line]}), encoding="utf-8")
    found = finding(report(tmp_path, capsys), "mismatch-high")
    assert found is not None
    assert found["causes"][0]["text"].startswith("New weights do not reach the sampler")
    assert line in found["causes"][0]["because"]


def test_a_drift_that_became_critical_began_where_it_was_said_to(tmp_path: Path) -> None:
    """The window in which nothing is gained goes on with the run. What rose all along in it had risen before."""
    rows = 700
    t = np.arange(rows)
    away = np.clip((t - 300) / 400, 0, 1)
    learnt = 0.25 + 0.35 * (1 - np.exp(-t / 60))
    late = 0.12 * np.clip((t - 480) / 220, 0, 1)
    columns = learning(rows) | {
        "score": learnt - late + wave(0, 0.02, rows, 1),
        "kl": (0.02 + 0.2 * away) * np.exp(wave(0, 0.05, rows, 2)),
        "val": learnt - late + wave(0, 0.008, rows, 3),
    }
    run = write(tmp_path / "run", columns, {"val": 20})
    early, last = (finding(of, "kl-up-reward-flat") for _, _, of in told_at(run, (520, rows)))
    assert early is not None
    assert last is not None
    assert (early["severity"], last["severity"]) == ("warning", "critical")
    assert last["onset_step"] == early["onset_step"]


def test_one_setting_is_advised_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A coefficient of 0 is turned on by raising it."""
    away = np.exp(np.clip(T - 120, 0, None) / 45) - 1
    columns = {"score": rising() - 0.4 * np.clip((T - 210) / 80, 0, 1), "kl": 0.02 + 0.01 * away}
    lines = [
        f"Global step {i + 1}: {{'reward': {columns['score'][i]:.5f}, 'kl': {columns['kl'][i]:.6f}, 'actor_lr': 1e-06}}"
        for i in range(ROWS)
    ]
    args = "Namespace(advantage_estimator='rloo', init_kl_coef=0.0, actor_learning_rate=1e-06, generate_max_len=1024)"
    (tmp_path / "train.log").write_text("\n".join([args, *lines]) + "\n", encoding="utf-8")
    found = finding(report(tmp_path, capsys), "kl-runaway")
    assert found is not None
    turned = [fix for fix in found["fixes"] if "KL" in fix["text"]]
    assert [(fix["value"], fix["to"]) for fix in turned] == [(0, 0.001)]


@pytest.mark.parametrize(("before", "told"), [(0.022, True), (0.003, False)], ids=["always", "since then"])
def test_a_gap_of_the_first_rows_is_not_dated_by_its_damage(
    before: float, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another engine differs from the first step on, and is paid for only as the reward falls."""
    columns = learning(ROWS) | {
        "score": rising() - 0.3 * np.clip((T - 220) / 80, 0, 1),
        "training/rollout_probs_diff_mean": np.where(T < 215, before, 0.022) + np.abs(wave(0, 0.001, ROWS, 6)),
    }
    found = finding(report(write(tmp_path / "run", columns), capsys), "mismatch-high")
    assert found is not None
    assert found["severity"] != "info"
    assert ("so in the first rows already" in found["summary"]) is told


@pytest.mark.parametrize("said", [True, False])
def test_a_template_that_was_replaced_at_a_resume_is_named(
    said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    since = np.clip(T - AT, 0, None)
    columns = {
        "score": np.where(T < AT, rising(), 0.12 + 0.25 * (1 - np.exp(-since / 80)) + wave(0, 0.03, ROWS, 2)),
        "actor/kl_loss": np.where(T < AT, 0.02, 0.32 + 0.004 * since) * np.exp(wave(0, 0.05, ROWS, 3)),
    }
    line = "chat_template of the tokenizer is overridden by data.chat_template=chatml_v2"
    told = {AT + 1: [f"Resuming from checkpoint: /ckpt/x/global_step_{AT}", *([line] if said else [])]}
    (tmp_path / "train.log").write_text(console(columns, told), encoding="utf-8")
    of = report(tmp_path, capsys)
    assert of["answer"]["why"].startswith("Something changed at a restart")
    assert (line in of["answer"]["why"]) is said
    assert of["verdict"]["best_checkpoint"]["step"] == AT
