"""Lines that hold a dict and no step, `metrics: {'policy_loss': 1.2}`: they are counted, and that is said."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.reading import read
from tests.unit.readers.reported import refused, reported
from tests.unit.readers.test_lines_of_home_made_loops import rows
from tests.unit.session.runs import content, opened

STEPS = 30
DICT = "{{'policy_loss': {sign}1.{n}, 'reward': 0.{n}}}"
LINES = {
    "named": f"metrics: {DICT}",
    "of a logger": f"2026-11-30 10:00:{{n}},123 - trainer - INFO - Train metrics = {DICT}",
    "JSON": 'stats: {{"policy_loss": {sign}1.{n}, "reward": 0.{n}}}',
    "others between": f"Sampling a batch of 16 prompts\nmetrics: {DICT}\nsaving nothing today",
    "bare": f"generating\n{DICT}",
    "arrays": "metrics: {{'policy_loss': np.float64({sign}1.{n}), 'reward': tensor(0.{n})}}",
    "objects within": "metrics: {{'policy_loss': {sign}1.{n}, 'reward': {{'mean': 0.{n}, 'std': 0.25}}}}",
    "settings above": f"\nmetrics: {DICT}",
}


def log(line: str, count: int = STEPS) -> str:
    above = "config: {'lr': 1e-06, 'beta': 0.1, 'reward': 3}\n" if line.startswith("\n") else "Loading the model\n"
    each = range(10, 10 + count)
    return above + "".join(line.lstrip("\n").format(n=n, sign="-" if n % 3 else "") + "\n" for n in each)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_they_are_counted_and_said_to_be(line: str, tmp_path: Path) -> None:
    found = rows(tmp_path, log(line))
    assert {step: (row["pg_loss"], row["reward_mean"]) for step, row in found.items()} == {
        n - 9: (float(f"-1.{n}" if n % 3 else f"1.{n}"), float(f"0.{n}")) for n in range(10, 10 + STEPS)
    }
    assert reported(tmp_path / "train.log")["run"]["rows_counted"]


def test_one_number_is_enough(tmp_path: Path) -> None:
    found = rows(tmp_path, log("metrics: {{'reward': 0.{n}}}"))
    assert [row["reward_mean"] for row in found.values()] == [float(f"0.{n}") for n in range(10, 10 + STEPS)]


@pytest.mark.parametrize(
    "line",
    [
        f"metrics: {DICT}\nstep {{step}} done in 4.{{n}}s",
        f"step {{step}} took 4.{{n}}s\nmetrics: {DICT}",
        f"Step {{step}}/60\nmetrics: {DICT}",
        f"metrics: {DICT}\n=== step {{step}} is over",
    ],
)
def test_a_line_beside_them_that_names_the_step_wins(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(step=n - 9, n=n, sign="-" if n % 3 else "") + "\n" for n in range(10, 40))
    assert {step: row["reward_mean"] for step, row in rows(tmp_path, text).items()} == {
        n - 9: float(f"0.{n}") for n in range(10, 40)
    }


def test_dicts_behind_other_words_belong_to_the_row_of_the_first(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        log("rollout metrics: {{'reward': 0.{n}, 'length': 1{n}}}\ntrain metrics: {{'policy_loss': 1.{n}, 'kl': 0.5}}"),
    )
    assert [list(row.values()) for row in found.values()] == [
        [float(f"0.{n}"), float(f"1{n}"), float(f"1.{n}"), 0.5] for n in range(10, 10 + STEPS)
    ]


@pytest.mark.parametrize("line", [LINES["named"], LINES["others between"], LINES["objects within"]])
def test_pieces_of_the_log_and_a_followed_one_give_the_same(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.session.run_reader.REST_S", -1.0)
    data = log(line).encode()
    whole = read("console", data).rows
    pieces: dict[int, dict[str, float | None]] = {}
    for step, cells in read("console", data, [random.randint(1, 60) for _ in range(200)]).rows:
        pieces.setdefault(step, {}).update(cells)
    assert pieces == dict(whole)
    path = tmp_path / "train.log"
    path.write_bytes(data[: len(data) // 2])
    followed = opened(path, follow=True)
    for at in range(len(data) // 2, len(data), 97):
        with path.open("ab") as out:
            out.write(data[at : at + 97])
        followed.poll()
        followed.rest()
    assert content(followed) == content(opened(path))


@pytest.mark.parametrize("named", ["sample", "prompt", "config", "eval"])
def test_dicts_of_other_things_are_no_rows_but_can_be_read(
    named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint names their numbers by their keys."""
    path = tmp_path / "train.log"
    path.write_text(log(f"{named}: {{{{'reward': 0.{{n}}, 'kl div': 2.{{n}}}}}}").partition("\n")[2])
    words = shlex.split(refused(path).partition("If they are steps: ")[2])
    assert words[0] == "--line"
    assert words[1].endswith("...'reward': {reward}, 'kl div': {kl div}...")
    out = tmp_path / "rows.jsonl"
    assert main(["export", str(path), "--output", str(out), *words]) == 0
    capsys.readouterr()
    assert len(out.read_text().splitlines()) == STEPS


def test_glued_letters_have_a_hint_that_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = "".join(f"s{n:05d} R{(-1) ** n * n / 100:+.3f} L+1.{n} KL0.0{n}\n" for n in range(10, 40))
    path.write_text("loading the model from disk in 3.5 s\n" + lines.replace("s00020", "saved 20\ns00020"))
    words = shlex.split(refused(path).partition("If they are steps: ")[2])
    assert words == ["--line", "s{step} R{R} L{L} KL{KL}"]
    out = tmp_path / "rows.jsonl"
    assert main(["export", str(path), "--output", str(out), *words, "--map", "reward_mean=R"]) == 0
    assert len(out.read_text().splitlines()) == 30


def test_a_line_that_says_from_which_step_it_resumes_names_no_step_of_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.log"
    rows = [f"metrics: {{'policy_loss': {0.01 * (i % 3):.4f}, 'reward': {0.2 + 0.01 * i:.3f}}}" for i in range(25)]
    log.write_text("\n".join(["Loading model", "Resuming from step 20", *rows, ""]))
    assert main(["report", str(log), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run"]["steps"]["rows"] == 25
    assert [f["id"] for f in told["findings"] if f["id"] == "resume-discontinuity"] == []
