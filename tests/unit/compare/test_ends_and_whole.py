"""`rltui runs` looks at the ends of logs, `rltui report` at all of them: what both tell, they tell alike."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace

from rltui.cli import main
from rltui.session.ends import ENDS
from tests.unjudged import unjudged

DAY = 86_400.0
LONG = 320
"""Steps of a run of which the list reads no more than the ends, if they are as short as `short_ends` makes them."""
SHORT = 20


@pytest.fixture
def short_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part a sixteenth of what it is: what holds of 320 steps then holds of 5000, and takes a twentieth."""
    parts = {name: getattr(ENDS, name) // 16 for name in ("head_bytes", "tail_bytes", "whole_bytes", "again_bytes")}
    monkeypatch.setattr("rltui.compare.runs.ENDS", replace(ENDS, **parts))


def verl(steps: range, started: float, total: int = 0, lift: float = 0.0) -> Iterator[str]:
    for step in steps:
        cells = {"critic/score/mean": 0.2 + step / 9e3, "actor/grad_norm": 0.4, "actor/entropy": 0.7}
        stamp = f"(main pid=1) step:{step} - " + " - ".join(f"{key}:{value + lift:.4f}" for key, value in cells.items())
        yield stamp + "\n"


def trl(steps: range, started: float, total: int = 10_000, lift: float = 0.0) -> Iterator[str]:
    """As tqdm and the trainer print by turns: the bar is blanked, the line printed, the bar painted again."""
    for step in steps:
        bar = f"{100 * step // total:3d}%|####      | {step}/{total} [00:10<00:10, 9.30it/s]"
        cells = {"loss": 0.01, "reward": 0.2 + step / 9e3, "kl": 0.001, "grad_norm": 0.4, "num_tokens": 100 * step}
        cells |= {"completions/mean_length": 90, "frac_reward_zero_std": 0.1, "epoch": step / total}
        line = str({key: f"{value + lift * (key != 'epoch'):.6g}" for key, value in cells.items()})
        yield f"\r{' ' * len(bar)}\r{line}\n\r{bar}"


def jsonl(steps: range, started: float, total: int = 0, lift: float = 0.0) -> Iterator[str]:
    for step in steps:
        data = {
            "critic/score/mean": 0.2 + step / 9e3 + lift,
            "actor/grad_norm": 0.4 + lift,
            "actor/entropy": 0.7 + lift,
        }
        yield json.dumps({"step": step, "timestamp": started + 20.0 * step, "data": data}) + "\n"


def csv(steps: range, started: float, total: int = 0, lift: float = 0.0) -> Iterator[str]:
    if steps.start == 1:
        yield "step,timestamp,reward,loss,grad_norm\n"
    for step in steps:
        yield f"{step},{started + 20.0 * step},{0.2 + step / 9e3 + lift:.4f},{0.01 + lift},{0.4 + lift}\n"


def state_file(steps: range, total: int) -> str:
    history = [{"step": n, "epoch": n / 300, "reward": 0.2 + n / 9e3, "loss": 0.01, "grad_norm": 0.4} for n in steps]
    return json.dumps({"global_step": steps[-1], "max_steps": total, "log_history": history})


WRITERS: dict[str, tuple[str, Callable[..., Iterator[str]]]] = {
    "verl": ("console.log", verl),
    "trl": ("train.log", trl),
    "jsonl": ("metrics.jsonl", jsonl),
    "csv": ("metrics.csv", csv),
}
CRASH = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nKeyError: 'deh'\n"
BAR = "Training Progress:  10%|#         | {}/{} [00:10<00:10, 9.30it/s]\n"
CONFIG = '{{"trainer.total_training_steps": {0}, "max_steps": {0}}}\n'


def written(folder: Path, kind: str, life: str, steps: int, now: float) -> None:
    """A run of one container in one turn of fate."""
    folder.mkdir(parents=True)
    young = life == "running"
    started = now - 20.0 * steps - (30.0 if young else 40 * DAY)
    plan = 10_000 if life in ("running", "stalled", "crashed", "resumed", "late plan") else steps
    if kind == "trainer-state":
        (folder / f"checkpoint-{steps}").mkdir()
        path = folder / f"checkpoint-{steps}" / "trainer_state.json"
        path.write_text(state_file(range(1, steps + 1), plan))
    else:
        name, writer = WRITERS[kind]
        path = folder / name
        rows = list(writer(range(1, steps + 1), started, plan))
        text = is_text(kind)
        if life == "resumed":
            rows += writer(range(steps // 2, 3 * steps // 4), started, plan, 0.1)
        if text and life not in ("no plan", "late plan"):
            rows.insert(0, BAR.format(0, plan))
        if life == "late plan":
            rows.insert(
                len(rows) // 2, BAR.format(steps // 2, plan) if text else CONFIG.format(plan) * (kind == "jsonl")
            )
        if life == "survived" and text:
            rows.insert(len(rows) // 2, CRASH)
        if life in ("crashed", "survived") and text:
            rows.append("\n" + CRASH)
        path.write_text("".join(rows))
    at = now - 30.0 if young else now - 40 * DAY
    os.utime(path, (at, at))


def is_text(kind: str) -> bool:
    return WRITERS[kind][0].endswith(".log")


LIVES = ("running", "finished", "crashed", "survived", "stalled", "resumed", "no plan", "late plan")


def told(capsys: pytest.CaptureFixture[str], *words: str, judged: bool = False) -> dict[str, object]:
    with nullcontext() if judged else unjudged():
        assert main([*words, "--format", "json"]) == 0
    out: dict[str, object] = json.loads(capsys.readouterr().out)
    return out


def contradictions(row: dict[str, object], report: dict[str, object]) -> list[str]:
    """The fields of a row of `runs` that say something else than the report. What is not known contradicts nothing."""
    run: dict[str, object] = report["run"]  # type: ignore[assignment]
    steps: dict[str, object] = run["steps"]  # type: ignore[assignment]
    pairs = {
        "id": (row["id"], run["id"]),
        "path": (row["path"], run["path"]),
        "framework": (row["framework"], run["framework"]),
        "algorithm": (row["algorithm"], run["algorithm"]),
        "state": (row["state"], run["state"]),
        "last step": (row["last_step"], steps["last"]),
        "planned steps": (row["total_steps"], steps["total"]),
    }
    return [f"{name}: {a} in runs, {b} in report" for name, (a, b) in pairs.items() if a is not None and a != b]


@pytest.mark.parametrize("steps", [SHORT, LONG])
@pytest.mark.parametrize("kind", [*WRITERS, "trainer-state"])
def test_the_list_says_nothing_else_than_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None, kind: str, steps: int
) -> None:
    now = time.time()
    for life in LIVES:
        written(tmp_path / life.replace(" ", "-"), kind, life, steps, now)
    rows: list[dict[str, object]] = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[assignment]
    assert len(rows) == len(LIVES)
    for row in rows:
        assert contradictions(row, told(capsys, "report", str(row["path"]))) == [], row["path"]
    if kind != "trainer-state":
        known = [row for row in rows if row["last_step"] is not None and row["framework"] is not None]
        assert len(known) >= len(LIVES) // 2 or kind == "csv"
    if steps == SHORT:
        assert all(row["last_step"] is not None and row["state"] is not None for row in rows)


def test_a_live_run_with_a_plan_is_running_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its newest row is half a minute old; a day later it stopped."""
    now = time.time()
    run = tmp_path / "run"
    run.mkdir()
    rows = "".join(jsonl(range(1, SHORT + 1), now - 20.0 * SHORT - 30.0))
    (run / "metrics.jsonl").write_text(rows)
    (run / "config.json").write_text(
        json.dumps({"trainer": {"total_training_steps": 200}, "algorithm": {"adv_estimator": "grpo"}})
    )
    report = told(capsys, "report", str(run))
    assert (report["run"]["state"], report["run"]["steps"]["total"]) == ("running", 200)  # type: ignore[index]
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    assert row["state"] == "running"
    compared = told(capsys, "compare", str(run), str(run))
    lines: list[dict[str, object]] = compared["runs"]  # type: ignore[assignment]
    assert {line["state"] for line in lines} == {"running"}
    assert {line["group"] for line in lines} != {"ugly"}
    later = told(capsys, "report", str(run), "--now", "2100-01-01T00:00:00Z")
    assert later["run"]["state"] == "stalled"  # type: ignore[index]
    assert later["run"]["state_because"] == f"stopped at {SHORT} of 200, no end mark"  # type: ignore[index]


def test_a_young_file_alone_is_no_sign_of_life(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its rows bear no time: it may be a copy."""
    log = tmp_path / "console.log"
    log.write_text(BAR.format(0, 200) + "".join(verl(range(1, 31), 0.0)))
    for one in (told(capsys, "report", str(log))["run"], told(capsys, "runs", str(tmp_path))["runs"][0]):  # type: ignore[index]
        assert one["state"] == "unknown"  # type: ignore[index]
    assert "may be running: written" in str(told(capsys, "report", str(log))["run"]["state_because"])  # type: ignore[index]


def test_what_nobody_judged_is_not_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None) -> None:
    written(tmp_path / "run", "jsonl", "no plan", LONG, 1.7e9)
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    assert (row["health"], row["decision"]) == ("not looked", None)
    assert main(["runs", str(tmp_path)]) == 0
    assert "not looked" in capsys.readouterr().out
    (whole,) = told(capsys, "runs", "--full", str(tmp_path), judged=True)["runs"]  # type: ignore[misc]
    assert whole["decision"] == told(capsys, "report", str(tmp_path / "run"), judged=True)["verdict"]["decision"]  # type: ignore[index]


def test_an_algorithm_named_between_the_ends_is_not_guessed_by_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None
) -> None:
    """Of a step line the numbers name none, whatever its keys are called."""
    ends = " - ".join(f"critic/{of}/{end}" for of in ("advantages", "returns") for end in ("max:1.5", "min:-1.5"))
    rows = [f"{row.strip()} - {ends}\n" for row in verl(range(1, LONG + 1), 1.7e9)]
    for name, between in {
        "silent": [],
        "told": ["{'algorithm.adv_estimator': 'gae'}\n"],
        "key": ["step:40 - actor/loss_mode:1.0 - critic/score/mean:0.5\n"],
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "console.log").write_text("".join(rows[: LONG // 2] + between + rows[LONG // 2 :]))
    listed = {row["name"]: row for row in told(capsys, "runs", str(tmp_path))["runs"]}  # type: ignore[attr-defined]
    assert [listed[name]["algorithm"] for name in ("silent", "told", "key")] == ["GRPO", None, "GRPO"]


LAST_WORDS = (
    "slurmstepd: error: *** JOB 4711 ON gpu03 CANCELLED AT 2026-02-01T08:00:00 DUE TO TIME LIMIT ***\n",
    "OSError: [Errno 28] No space left on device: '/ckpt/global_step_300/model.pt'\n",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB\n",
)


@pytest.mark.parametrize("last", LAST_WORDS)
@pytest.mark.parametrize(
    ("kind", "lives"), [("verl", ("no plan", "resumed", "late plan")), ("trl", ("resumed", "late plan"))]
)
def test_an_error_in_the_last_lines_is_seen_whatever_else_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None, kind: str, lives: tuple[str, ...], last: str
) -> None:
    """No plan is stated, steps go back, or rows are counted: the end says what it says."""
    trace = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n' if "Error" in last else ""
    for life in lives:
        written(tmp_path / life.replace(" ", "-"), kind, life, LONG, time.time())
        with next((tmp_path / life.replace(" ", "-")).iterdir()).open("a") as log:
            log.write("\n" + trace + last)
    for row in told(capsys, "runs", str(tmp_path))["runs"]:  # type: ignore[attr-defined]
        assert contradictions(row, told(capsys, "report", str(row["path"]))) == []
        assert row["state"] == "crashed"
        assert last[:60].strip() in " ".join(row["signs"])


def test_an_error_that_was_survived_before_is_still_no_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None
) -> None:
    written(tmp_path / "run", "verl", "survived", LONG, time.time())
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    assert contradictions(row, told(capsys, "report", str(row["path"]))) == []
    assert row["state"] != "crashed"


def epochs(style: str, anew: bool) -> Iterator[str]:
    """Three epochs; `anew`: each counts its steps from 1."""
    if style == "csv":
        yield "epoch,step,reward,loss,grad_norm\n"
    for i in range(3 * LONG):
        epoch, step = i // LONG, i % LONG + 1 if anew else i + 1
        cells = {"reward": round(0.2 + i / 9e3, 4), "loss": 0.01 + i % 7 / 1e4, "grad_norm": 0.4}
        if style == "jsonl":
            yield json.dumps({"epoch": epoch, "step": step, **cells}) + "\n"
        elif style == "csv":
            yield ",".join(str(value) for value in (epoch, step, *cells.values())) + "\n"
        else:
            head = f"Epoch {epoch + 1}/3, Step {step}/{LONG}: " if style == "of" else f"Epoch {epoch} | step {step} | "
            yield head + ", ".join(f"{key} = {value}" for key, value in cells.items()) + "\n"


@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.parametrize("style", ["jsonl", "csv", "of", "bars"])
def test_only_the_whole_log_tells_whether_steps_count_anew_in_each_epoch(
    style: str, anew: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None
) -> None:
    name = {"jsonl": "metrics.jsonl", "csv": "metrics.csv"}.get(style, "train.log")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("".join(epochs(style, anew or style == "of")))
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    report = told(capsys, "report", str(tmp_path / "run"))
    assert report["run"]["steps"]["last"] == 3 * LONG  # type: ignore[index]
    assert contradictions(row, report) == []


LAUNCHES: dict[str, Callable[[int], str]] = {
    "words": "Total training steps: {}\n".format,
    "a config": "{{'trainer': {{'total_epochs': 3, 'total_training_steps': {}}}, 'seed': 1}}\n".format,
}


@pytest.mark.parametrize("second", [1000, 1500, 2000])
@pytest.mark.parametrize("launch", list(LAUNCHES))
def test_a_later_launch_between_the_ends_may_have_another_plan(
    launch: str, second: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None
) -> None:
    """If its plan is the same, it is known."""
    rows = list(verl(range(1, LONG + 1), 0.0))
    rows[100:100] = [CRASH, LAUNCHES[launch](second), *verl(range(90, 101), 0.0)]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").write_text(LAUNCHES[launch](1000) + "".join(rows))
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    report = told(capsys, "report", str(tmp_path / "run"))
    assert report["run"]["steps"]["total"] == second or launch == "a config"  # type: ignore[index]
    assert contradictions(row, report) == []
    assert row["total_steps"] == (1000 if second == 1000 else None)


def test_a_plan_that_a_later_launch_left_behind_is_no_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None
) -> None:
    first, later = verl(range(1, 101), 0.0), verl(range(101, LONG + 1), 0.0)
    (tmp_path / "run").mkdir()
    launches = ["Total training steps: 100\n", *first, "Total training steps: 5000\n", *later]
    (tmp_path / "run" / "train.log").write_text("".join(launches))
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    assert contradictions(row, told(capsys, "report", str(tmp_path / "run"))) == []
    assert row["state"] != "finished"


@pytest.mark.parametrize("second", ["grpo", "rloo"])
def test_a_later_launch_between_the_ends_may_have_another_algorithm(
    second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], short_ends: None
) -> None:
    rows = list(jsonl(range(1, LONG + 1), 1.7e9))
    rows.insert(LONG // 2, json.dumps({"config": {"algorithm": second, "lr": 1e-6}}) + "\n")
    (tmp_path / "run").mkdir()
    start = json.dumps({"config": {"algorithm": "grpo", "lr": 1e-6}}) + "\n"
    (tmp_path / "run" / "metrics.jsonl").write_text(start + "".join(rows))
    (row,) = told(capsys, "runs", str(tmp_path))["runs"]  # type: ignore[misc]
    assert contradictions(row, told(capsys, "report", str(tmp_path / "run"))) == []
    assert row["algorithm"] == (None if second == "rloo" else "GRPO")
