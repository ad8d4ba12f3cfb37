"""A console log that names its runs: one training after the other, each with a seed, task or setting of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.readers.formats import make
from rltui.session import run_reader
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.readers.reading import Read
from tests.unjudged import unjudged


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log is taken for quiet right after each look."""
    monkeypatch.setattr(run_reader, "REST_S", -1.0)


Told = list[tuple[int, float]]


def rows(first: int, last: int, more: float = 0.0) -> Told:
    return [(step, round(0.2 + step / 100 + more, 3)) for step in range(first, last + 1)]


def lines(told: Told, plan: int = 30) -> str:
    return "".join(f"step {step}/{plan} | reward {x:.3f} | loss {1 / step:.4f}\n" for step, x in told)


def written(folder: Path, text: str) -> Path:
    log = folder / "sweep.log"
    log.write_text(text)
    return log


def exported(target: str, folder: Path) -> Told:
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    assert main(["export", target, "--output", str(out)]) == 0
    return [(row["step"], row["reward_mean"]) for row in map(json.loads, out.read_text().splitlines())]


def keys(log: Path) -> list[str]:
    return [dict(found.candidate.inside).get(str(log), "") for found in locate([str(log)])]


TITLES = {
    "=== seed {n} ===": "seed {n}",
    "2026-03-01 10:00:00 INFO ## seed={n}": "seed {n}",
    "[run {n}/9] lr=1e-{n}": "run {n} lr 1e-{n}",
    "Starting experiment foo_lr{n}e-6 ...": "experiment foo_lr{n}e-6",
    "Task: part{n}": "task part{n}",
}


@pytest.mark.parametrize("title", TITLES)
def test_each_is_a_run(title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = rows(1, 30), rows(1, 25, 0.1)
    text = f"loading\n{title.format(n=7)}\n{lines(first)}{title.format(n=8)}\n{lines(second)}"
    log = written(tmp_path, text)
    assert keys(log) == [TITLES[title].format(n=n) for n in (7, 8)]
    assert exported(f"{log}#{TITLES[title].format(n=7)}", tmp_path) == first
    assert exported(f"{log}#{TITLES[title].format(n=8)}", tmp_path) == second
    assert main(["report", str(log)]) == 2
    assert f"{log}#{TITLES[title].format(n=8)}" in capsys.readouterr().err
    with unjudged():
        main(["report", str(log), "--newest", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["run"]["steps"]["last"] == 25


def test_the_list_of_runs_shows_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, f"=== seed 7 ===\n{lines(rows(1, 20))}=== seed 8 ===\n{lines(rows(1, 30))}")
    assert main(["runs", str(tmp_path), "--format", "json"]) == 0
    told = {row["id"]: (row["state"], row["last_step"]) for row in json.loads(capsys.readouterr().out)["runs"]}
    assert told == {"seed 7": ("finished", 20), "seed 8": ("finished", 30)}


def test_runs_of_two_loops(tmp_path: Path) -> None:
    text = "".join(
        f"=== Task: {task} ===\n" + "".join(f"--- seed {seed} ---\n{lines(rows(1, 12, seed / 10))}" for seed in (1, 2))
        for task in ("gsm8k", "math")
    )
    log = written(tmp_path, text)
    assert keys(log) == ["task gsm8k seed 1", "task gsm8k seed 2", "task math seed 1", "task math seed 2"]
    assert exported(f"{log}#task math seed 2", tmp_path) == rows(1, 12, 0.2)


def test_a_run_that_is_taken_up_again(tmp_path: Path) -> None:
    text = f"=== seed 7 ===\n{lines(rows(1, 20))}=== seed 8 ===\n{lines(rows(1, 30, 0.1))}"
    log = written(tmp_path, f"{text}=== seed 7 (resumed) ===\n{lines(rows(21, 30))}")
    assert exported(f"{log}#seed 7", tmp_path) == rows(1, 30)
    assert exported(f"{log}#seed 8", tmp_path) == rows(1, 30, 0.1)


EVALUATED = "=== Task: gsm8k ===\naccuracy: 0.6\n=== Task: math ===\naccuracy: 0.4\n"
ONE_RUN = {
    "a restart": f"=== seed 7 ===\n{lines(rows(1, 20))}=== seed 7 ===\n{lines(rows(11, 30))}",
    "parts whose steps go on": f"Task: gsm8k\n{lines(rows(1, 15))}Task: math\n{lines(rows(16, 30))}",
    "evaluated": f"=== seed 7 ===\n{lines(rows(1, 9))}{EVALUATED}{lines(rows(10, 20))}{EVALUATED}{lines(rows(1, 30))}",
    "a crash below a question": f"{lines(rows(1, 9))}Task: one\n{lines(rows(10, 20))}Task: two\n{lines(rows(1, 30))}",
    "a setting": f"seed: 7\n{lines(rows(1, 20))}seed: 8\n{lines(rows(1, 30))}",
    "rounds": f"=== Round 1 ===\n{lines(rows(1, 20))}=== Round 2 ===\n{lines(rows(1, 20))}",
    "a title below which nothing comes": f"=== seed 7 ===\n{lines(rows(1, 30))}=== seed 8 ===\nloading\n",
}


@pytest.mark.parametrize("text", ONE_RUN.values(), ids=ONE_RUN)
def test_other_titles_name_no_runs(text: str, tmp_path: Path) -> None:
    assert keys(written(tmp_path, text)) == [""]


def test_the_first_of_a_pipe_is_told_with_the_others(tmp_path: Path) -> None:
    """`--format-in` and a pipe cannot name one of several runs."""
    log = written(tmp_path, f"=== seed 7 ===\n{lines(rows(1, 30))}=== seed 8 ===\n{lines(rows(1, 30))}")
    (found,) = locate([str(log)], format_in="console")
    opened = RunReader(found)
    opened.load()
    assert opened.run.history.table.n == 30
    told = opened.run.sources[0].skipped
    assert told == {"line of another run in this log": 31}
    opened.close()


@pytest.mark.parametrize("size", [97, 1000])
@pytest.mark.parametrize("titles", [("=== seed 7 ===", "=== seed 8 ==="), ("Task: gsm8k", "Task: math")])
@pytest.mark.usefixtures("at_once")
def test_followed_it_is_the_first_run(size: int, titles: tuple[str, str], tmp_path: Path) -> None:
    """Whoever follows the first run keeps it, and is told that it is over; the list shows both."""
    first, second = titles
    whole = f"{first}\n{lines(rows(1, 20))}{second}\n{lines(rows(1, 30, 0.1))}".encode()
    log = tmp_path / "sweep.log"
    log.write_bytes(whole[:400])
    opened = RunReader(locate([str(log)])[0], follow=True)
    opened.load()
    for at in range(400, len(whole), size):
        with log.open("ab") as file:
            file.write(whole[at : at + size])
        opened.poll()
        opened.rest()
    table = opened.run.history.table
    series = table.series("reward")
    assert series is not None
    rewards = [round(float(x), 3) for x in series.values]
    assert list(zip(table.steps, rewards, strict=True)) == rows(1, 20)
    assert not table.restarts
    assert opened.run.state(2e9).state == "finished"
    opened.close()
    assert len(keys(log)) == 2


@pytest.mark.usefixtures("at_once")
def test_a_run_that_is_followed_by_its_name(tmp_path: Path) -> None:
    log = written(tmp_path, f"=== seed 7 ===\n{lines(rows(1, 20))}=== seed 8 ===\n{lines(rows(1, 10))}")
    (found,) = locate([f"{log}#seed 8"])
    opened = RunReader(found, follow=True)
    opened.load()
    with log.open("a") as file:
        file.write(lines(rows(11, 30)))
    opened.poll()
    opened.rest()
    assert opened.run.history.table.n == 30
    opened.close()


@pytest.mark.parametrize("run", ["seed 7", "seed 8"])
def test_any_cutting_reads_the_same(run: str) -> None:
    bars = "".join(f"\r{step}/30 [{step * '='}]" for step in range(30))
    parts = [f"=== seed {seed} ===\r\n{lines(rows(1, 12, seed / 10))}{bars}\n" for seed in (7, 8, 7)]
    log = f"loading\n{''.join(parts)}=== se".encode()
    whole = cut(log, [len(log)], run)
    assert whole[0]
    for size in (7, 211):
        assert cut(log, [size] * (len(log) // size + 1), run) == whole


def cut(log: bytes, sizes: Sequence[int], run: str) -> tuple[object, ...]:
    """The rows and notes of a log that comes in pieces of these sizes."""
    reader, ends = make("console", run=run), [0, *accumulate(sizes)]
    told = Read(reader)
    for at, end in pairwise(ends):
        told.take(reader.feed(log[at:end]))
    told.take(reader.finish())
    return told.rows, told.notes
