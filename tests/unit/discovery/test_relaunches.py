"""Logs of one run that several launches or nodes wrote, one each, and logs of several runs with the same name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from tests.unit.readers.reported import reported
from tests.unit.session.runs import content, frames_until, opened

RESUMED = "Resuming from step 20\n"
NOW = 1.7e9


def own_loop(first: int, last: int, shift: float = 0.0) -> str:
    return "".join(
        f"step {n} | loss: {1 / n + shift:.4f} | reward: {n / 100 + shift:.3f} | kl: {n / 1000:.4f}\n"
        for n in range(first, last + 1)
    )


def verl(first: int, last: int, shift: float = 0.0) -> str:
    pages = "".join(f"(TaskRunner pid=7) loading layer {n} of the model from a safetensors file\n" for n in range(400))
    return pages + "".join(
        f"(TaskRunner pid=7) step:{n} - critic/rewards/mean:{n / 100 + shift} - actor/entropy:{n / 1000}\n"
        for n in range(first, last + 1)
    )


def jsonl(first: int, last: int, shift: float = 0.0) -> str:
    return "".join(json.dumps({"step": n, "reward": n / 100 + shift, "kl": n}) + "\n" for n in range(first, last + 1))


def trainer(first: int, last: int, shift: float = 0.0, total: int = 100) -> str:
    """Dict lines above the bar of a trainer, which begins at 0 also if the training goes on from a checkpoint."""

    def bar(n: int) -> str:
        return f"\r{n:3}%|{'█' * (n * 10 // total):<10}| {n}/{total} [00:{n % 60:02}<01:00,  1.02s/it]"

    return bar(0) + "".join(
        f"{bar(n)}\r{' ' * 60}\r{{'loss': {1 / n + shift:.4f}, 'reward': {n / 100 + shift:.3f}, 'epoch': {n / 50:.2f}}}"
        f"\n{bar(n)}"
        for n in range(first, last + 1)
    )


def written(folder: Path, files: dict[str, str]) -> Path:
    """A folder with these files, written one after the other."""
    for at, (name, text) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (NOW + 1000 * at, NOW + 1000 * at))
    return folder


def rewards(report: Path, tmp_path: Path) -> dict[int, float]:
    out = tmp_path / "rows.jsonl"
    assert main(["export", str(report), "--output", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({row["step"] for row in rows}) == len(rows)
    return {row["step"]: row["reward_mean"] for row in rows}


def run_of(folder: Path) -> dict[str, Any]:
    run: dict[str, Any] = reported(folder)["run"]
    return run


WHOLE = {n: n / 100 for n in range(1, 41)}
PAIRS = [
    ("slurm-101.out", "slurm-102.out"),
    ("slurm-99.out", "slurm-100.out"),
    ("grpo-101.out", "grpo-102.out"),
    ("grpo_7b-101.log", "grpo_7b-102.log"),
    ("job.o123", "job.o124"),
    ("train.log.1", "train.log"),
    ("train.log", "train_resume.log"),
    ("train_20261120_101010.log", "train_20261121_093000.log"),
    ("logs/attempt_0/train.log", "logs/attempt_1/train.log"),
    ("attempt_0/rank0.log", "attempt_1/rank0.log"),
    ("101/train.log", "102/train.log"),
    ("99/logs/train.log", "100/logs/train.log"),
    ("slurm-101/slurm-101.out", "slurm-102/slurm-102.out"),
    ("job_7/run.log", "job_8/run.log"),
]


@pytest.mark.parametrize("names", PAIRS, ids=lambda names: names[0])
@pytest.mark.parametrize("log", [own_loop, verl, trainer])
def test_a_job_that_was_requeued_is_one_run(names: tuple[str, str], log: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", {names[0]: log(1, 20), names[1]: RESUMED + log(21, 40)})
    assert rewards(folder, tmp_path) == WHOLE
    told = run_of(folder)
    assert len(told["sources"]) == 2
    assert told["restarts"] == [21]


@pytest.mark.parametrize("log", [own_loop, verl, jsonl, trainer])
def test_a_log_that_begins_where_the_other_ended_is_of_the_same_run(log: Any, tmp_path: Path) -> None:
    suffix = "jsonl" if log is jsonl else "out"
    folder = written(tmp_path / "run", {f"train-7.{suffix}": log(1, 20), f"train-8.{suffix}": log(21, 40)})
    assert rewards(folder, tmp_path) == WHOLE
    assert run_of(folder)["restarts"] == [21]


STARTED = "***** Running training *****\n"


@pytest.mark.parametrize(("log", "head"), [(trainer, ""), (own_loop, STARTED)])
def test_a_launch_that_says_nothing_of_a_checkpoint(log: Any, head: str, tmp_path: Path) -> None:
    """It holds its beginning, so that it is not cut, and yet its first row is of a later step."""
    folder = written(tmp_path / "run", {"slurm-1.out": head + log(1, 27), "slurm-2.out": head + log(21, 40, 1)})
    assert rewards(folder, tmp_path) == {n: pytest.approx(n / 100 + (n > 20)) for n in range(1, 41)}
    assert run_of(folder)["restarts"] == [21]


CUT = {
    "without its beginning": (trainer(1, 27), trainer(21, 40, 1).partition("\n")[2]),
    "other bars begin at 0": (
        trainer(1, 27),
        "Generating:   0%|          | 0/512 [00:00<?, ?it/s]\n" + trainer(21, 40, 1).partition("\n")[2],
    ),
    "both begin at the first step": (trainer(1, 27), trainer(1, 40, 1)),
    "rows without a beginning": (own_loop(1, 27), own_loop(21, 40, 1)),
}


@pytest.mark.parametrize(("one", "two"), CUT.values(), ids=CUT)
def test_a_log_that_may_be_cut(one: str, two: str, tmp_path: Path) -> None:
    assert len(locate([str(written(tmp_path / "runs", {"slurm-1.out": one, "slurm-2.out": two}))])) == 2


def test_steps_that_were_made_again_count_as_the_later_launch_has_them(tmp_path: Path) -> None:
    """Also if both files have the time at which they were copied."""
    folder = written(
        tmp_path / "run",
        {"slurm-99.out": own_loop(1, 27), "slurm-100.out": RESUMED + own_loop(21, 35, 1), "slurm-101.out": RESUMED},
    )
    written(folder, {"slurm-101.out": RESUMED.replace("20", "30") + own_loop(31, 40, 2)})
    for path in folder.iterdir():
        os.utime(path, (NOW, NOW))
    assert rewards(folder, tmp_path) == {
        n: pytest.approx(n / 100 + (0 if n < 21 else 1 if n < 31 else 2)) for n in range(1, 41)
    }
    assert run_of(folder)["restarts"] == [21, 31]


def test_a_launch_whose_last_rows_were_never_written(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", {"slurm-1.out": own_loop(1, 17), "slurm-2.out": RESUMED + own_loop(21, 40)})
    assert rewards(folder, tmp_path) == {n: x for n, x in WHOLE.items() if not 17 < n < 21}
    assert run_of(folder)["restarts"] == [21]


def test_rows_that_are_steps_apart(tmp_path: Path) -> None:
    every = [line for line in own_loop(1, 400).splitlines(keepends=True) if int(line.split()[1]) % 10 == 0]
    folder = written(tmp_path / "run", {"slurm-1.out": "".join(every[:20]), "slurm-2.out": "".join(every[20:])})
    assert list(rewards(folder, tmp_path)) == list(range(10, 401, 10))
    assert run_of(folder)["restarts"] == [210]


def test_both_streams_of_each_job(tmp_path: Path) -> None:
    error = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\ntorch.OutOfMemoryError: CUDA out of memory.\n'
    )
    folder = written(
        tmp_path / "run",
        {
            "slurm-1.err": error,
            "slurm-1.out": own_loop(1, 20),
            "slurm-2.err": "a warning\n",
            "slurm-2.out": RESUMED + own_loop(21, 40),
        },
    )
    assert rewards(folder, tmp_path) == WHOLE


SEVERAL = {
    "both begin at the first step": ("slurm-{}.out", own_loop(1, 20), own_loop(1, 20, 0.3)),
    "with rows ten steps apart": (
        "slurm-{}.out",
        own_loop(1, 9),
        "".join(line for line in own_loop(1, 99).splitlines(keepends=True) if line.split()[1].endswith("0")),
    ),
    "other names": ("{}.out", own_loop(1, 20), RESUMED + own_loop(21, 40)),
    "other metrics": (
        "slurm-{}.out",
        own_loop(1, 20),
        RESUMED + "".join(f"step {n} | sft_loss: 0.{n} | accuracy: 0.5\n" for n in range(21, 41)),
    ),
    "far ahead": ("slurm-{}.out", own_loop(1, 20), RESUMED.replace("20", "500") + own_loop(501, 540)),
    "tasks of an array": ("job-77_{}.out", own_loop(1, 20), own_loop(1, 20, 0.3)),
}


@pytest.mark.parametrize(("name", "one", "two"), SEVERAL.values(), ids=SEVERAL)
def test_several_runs(name: str, one: str, two: str, tmp_path: Path) -> None:
    names = ("a", "b") if name == "{}.out" else ("1", "2")
    folder = written(tmp_path / "runs", {name.format(names[0]): one, name.format(names[1]): two})
    assert len(locate([str(folder)])) == 2


IN_FOLDERS = {
    "both begin at the first step": ("1/train.log", own_loop(1, 20), "2/train.log", own_loop(1, 20, 0.3)),
    "other metrics": ("1/train.log", own_loop(1, 20), "2/train.log", SEVERAL["other metrics"][2]),
    "far ahead": ("1/train.log", own_loop(1, 20), "2/train.log", SEVERAL["far ahead"][2]),
    "other names": ("1/train.log", own_loop(1, 20), "2/other.log", RESUMED + own_loop(21, 40)),
    "no job numbers": ("a1/train.log", own_loop(1, 20), "a2/train.log", own_loop(21, 40)),
    "of two experiments": ("a/1/train.log", own_loop(1, 20), "b/2/train.log", RESUMED + own_loop(21, 40)),
    "the same rows": ("0/train.log", own_loop(1, 20), "1/train.log", own_loop(1, 20)),
}


@pytest.mark.parametrize(("first", "one", "second", "two"), IN_FOLDERS.values(), ids=IN_FOLDERS)
def test_several_runs_in_folders(first: str, one: str, second: str, two: str, tmp_path: Path) -> None:
    assert len(locate([str(written(tmp_path / "runs", {first: one, second: two}))])) == 2


def test_jobs_with_folders_beside_another_run(tmp_path: Path) -> None:
    """The settings of each job are those of the run."""
    logs = {
        "101/train.log": own_loop(1, 20),
        "102/train.log": RESUMED + own_loop(21, 40),
        "103/train.log": own_loop(1, 20, 0.5),
    }
    folder = written(tmp_path / "runs", logs | {f"{job}/config.yaml": "lr: 1.0e-6\n" for job in (101, 102, 103)})
    found = sorted(locate([str(folder)]), key=lambda one: len(one.files))
    assert [len(one.files) for one in found] == [1, 2]
    assert [{os.path.basename(os.path.dirname(path)) for path in one.candidate.configs} for one in found] == [
        {"103"},
        {"101", "102"},
    ]
    assert rewards(Path(f"{folder}#102"), tmp_path) == WHOLE


def test_the_older_log_was_written_while_the_newer_one_was(tmp_path: Path) -> None:
    folder = written(tmp_path / "runs", {"slurm-2.out": own_loop(21, 40), "slurm-1.out": own_loop(1, 20)})
    assert len(locate([str(folder)])) == 2


def test_each_task_of_an_array_goes_on_in_the_next_job(tmp_path: Path) -> None:
    logs = {
        "job-77_0.out": own_loop(1, 20),
        "job-77_1.out": own_loop(1, 20, 0.5),
        "job-78_0.out": RESUMED + own_loop(21, 40),
        "job-78_1.out": RESUMED + own_loop(21, 40, 0.5),
    }
    found = locate([str(written(tmp_path / "runs", logs))])
    assert sorted(sorted(os.path.basename(path) for path, _ in one.candidate.files) for one in found) == [
        ["job-77_0.out", "job-78_0.out"],
        ["job-77_1.out", "job-78_1.out"],
    ]


def test_a_run_of_several_logs_beside_another_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = {
        "slurm-1.out": own_loop(1, 20),
        "slurm-2.out": own_loop(21, 40),
        "slurm-3.out": own_loop(1, 20, 0.5),
    }
    folder = written(tmp_path / "runs", logs)
    assert main(["report", str(folder)]) == 2
    named = [line.strip().rpartition("  (")[0] for line in capsys.readouterr().err.splitlines()[1:]]
    assert len(named) == 2
    assert [len(locate([name])[0].files) for name in named] == [2, 1]
    assert [len(locate([name])) for name in named] == [1, 1]
    assert rewards(Path(named[0]), tmp_path) == WHOLE


NODES = [
    ("job-77_0.out", "job-77_1.out"),
    ("slurm-77-node01.out", "slurm-77-node02.out"),
    ("node1.log", "node2.log"),
    ("train_0.log", "train_1.log", "train_2.log"),
]


@pytest.mark.parametrize("names", NODES, ids=lambda names: names[0])
def test_nodes_that_print_the_same_rows_are_one_run(names: tuple[str, ...], tmp_path: Path) -> None:
    """Each may measure a time of its own, and one may be behind."""
    lines = own_loop(1, 40).splitlines()
    logs = {
        name: "".join(f"{line} | gen: {n + at / 7:.2f}s\n" for n, line in enumerate(lines[: 40 - at]))
        for at, name in enumerate(names)
    }
    folder = written(tmp_path / "run", logs)
    assert rewards(folder, tmp_path) == WHOLE
    told = run_of(folder)
    assert told["restarts"] == []
    assert [source["used"] for source in told["sources"]] == [True, False]
    assert f"not read as they repeat the first rank's: {len(names) - 1}" in locate([str(folder)])[0].candidate.note


@pytest.mark.parametrize("names", [("slurm-101.out", "slurm-102.out"), ("101/train.log", "102/train.log")])
def test_a_requeued_job_is_taken_up_while_its_run_is_watched(
    names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.session.live.LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr("rltui.session.live.LOOK_AGAIN_AT_ONCE_S", 0.0)
    folder = tmp_path / "run"
    older, newer = (folder / name for name in names)
    older.parent.mkdir(parents=True)
    older.write_text(own_loop(1, 25))
    live = LiveRun(locate([str(folder)])[0])
    frames_until(live, lambda: len(content(live.opened)) == 25)
    newer.parent.mkdir(exist_ok=True)
    newer.write_text(RESUMED + own_loop(21, 30, 1))
    frames_until(live, lambda: len(content(live.opened)) == 30)
    with newer.open("a") as out:
        out.write(own_loop(31, 40, 1))
    frames_until(live, lambda: len(content(live.opened)) == 40)
    live.close()
    assert content(live.opened) == content(opened(folder))
    assert live.opened.run.history.table.restarts == [21]
