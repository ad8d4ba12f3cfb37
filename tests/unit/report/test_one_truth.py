"""No two places of what is said of a run contradict each other, whatever it is asked by."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.evidence.peak import borne_out
from tests.draws import some
from tests.unit.diagnosis.written import learning, report, wave, write
from tests.unit.reported import told, told_at

ROWS = 240
T0 = 1_760_000_000
STEP_S = 20
Course = Callable[[float], float]
T = np.arange(ROWS)


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(list(words))
    return code, capsys.readouterr().out


def validated(score: Course, every: int = 10, rows: int = ROWS, seed: int = 5, noise: float = 0.004) -> dict[str, Any]:
    """A run that learns, with evaluations every so many rows (the writer leaves the others out)."""
    at = np.arange(1, rows + 1) / rows
    values = np.array([score(x) for x in at]) + wave(0.0, noise, rows, seed)
    return {**learning(rows), "eval_accuracy": values, "_every": every}


def saved(folder: Path, columns: dict[str, Any], checkpoints: range = range(0)) -> Path:
    every = {"eval_accuracy": columns.pop("_every", 1)}
    for step in checkpoints:
        (folder / f"checkpoint-{step}").mkdir(parents=True)
        (folder / f"checkpoint-{step}" / "model.safetensors").write_bytes(b"weights")
    return write(folder, columns, every)


# -- checks that fail --


@pytest.mark.parametrize(("begin", "end"), [(0.45, 0.55), (0.3, 0.36), (0.6, 0.75)])
def test_a_reward_that_fell_and_came_back_higher_fails_no_check(
    begin: float, end: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it was at before the fall is lower than what it came back to: that is no fall to date."""
    rows = 280
    at = np.arange(1, rows + 1) / 300
    rises = 0.2 + 0.55 / (1 + np.exp(-(at - 0.4) / 0.1))
    columns = learning(rows) | {"score": np.where((at > begin) & (at < end), 0.05, rises) + wave(0, 0.03, rows, 1)}
    assert report(write(tmp_path / "run", columns), capsys)["checks_failed"] == []


# -- the checkpoint to keep --

TURNS: dict[str, Course] = {
    "falls faster than it rose": lambda x: 0.2 + 0.5 * x if x <= 0.6 else 0.5 - 1.5 * (x - 0.6),
    "falls at once": lambda x: 0.2 + 0.5 * x if x <= 0.6 else 0.44,
    "rises and stays": lambda x: 0.2 + 0.5 * min(x, 0.5),
    "turns slowly": lambda x: 0.5 - 1.2 * (x - 0.55) ** 2,
}


@pytest.mark.parametrize("course", list(TURNS))
def test_later_evaluations_never_send_back_the_checkpoint_to_keep(course: str, tmp_path: Path) -> None:
    """What comes after a checkpoint tells nothing bad of it."""
    run = saved(tmp_path / "run", validated(TURNS[course], noise=0.002), range(10, ROWS + 1, 10))
    kept = [of["verdict"]["best_checkpoint"]["step"] for _, _, of in told_at(run, range(90, ROWS, 20))]
    assert kept == sorted(kept)


@pytest.mark.parametrize("seed", range(8))
def test_an_evaluation_stays_as_good_as_it_was_shown_to_be(seed: int) -> None:
    good = np.random.default_rng(seed).standard_normal(40).cumsum()
    for n in range(10, len(good)):
        newest = borne_out(good[:n], 5)[-1]
        assert newest <= good[n - 1] + 1e-12  # nor better than it is
        assert all(borne_out(good[:later], 5)[n - 1] >= newest - 1e-12 for later in range(n + 1, len(good)))


def test_a_single_high_evaluation_is_not_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = validated(lambda x: 0.2 + 0.4 * x)
    columns["eval_accuracy"][79] = 0.9
    run = saved(tmp_path / "run", columns, range(20, ROWS + 1, 20))
    best = report(run, capsys)["verdict"]["best_checkpoint"]
    assert best["value"] < 0.7


# -- when a row was written --


def stamped(folder: Path, stamp: Callable[[float], Any], written: float) -> Path:
    folder.mkdir()
    draw = random.Random(3)
    rows = []
    for step in range(1, 61):
        row = {"step": step, "timestamp": stamp(T0 + STEP_S * step), "reward": 0.3 + 0.004 * step + draw.gauss(0, 0.02)}
        rows.append(json.dumps(row | {"loss": draw.gauss(0, 0.01), "total_steps": 400}))
    log = folder / "metrics.jsonl"
    log.write_text("\n".join(rows) + "\n")
    os.utime(log, (written, written))
    return folder


ZONED: dict[str, Callable[[float], Any]] = {
    "Z": lambda t: datetime.fromtimestamp(t, UTC).isoformat().replace("+00:00", "Z"),
    "offset": lambda t: datetime.fromtimestamp(t, UTC).isoformat(),
}
LAST = T0 + 60 * STEP_S


@pytest.mark.parametrize("form", list(ZONED))
@pytest.mark.parametrize("half_hours", [1, 7, 14])
def test_a_copy_of_an_old_log_does_not_run(
    form: str, half_hours: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stamp that names its zone is as old as it says, though the file is some half hours younger."""
    copied = LAST + 1800 * half_hours + 10
    run = stamped(tmp_path / "run", ZONED[form], copied)
    now = datetime.fromtimestamp(copied + 5, UTC).isoformat()
    assert report(run, capsys, "--now", now)["run"]["state"] == "stalled"


@pytest.mark.parametrize("half_hours", [-11, 4, 14])
def test_a_clock_without_a_zone_may_be_of_another_one(
    half_hours: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = LAST + 3.0
    run = stamped(tmp_path / "run", lambda t: datetime.fromtimestamp(t - 1800 * half_hours).isoformat(), written)
    now = datetime.fromtimestamp(written + 5, UTC).isoformat()
    assert report(run, capsys, "--now", now)["run"]["state"] == "running"


@pytest.mark.parametrize(("zone", "state"), [("Z", "stalled"), ("", "running")])
def test_the_stamps_of_a_console_name_their_zone_or_do_not(
    zone: str, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for step in range(1, 61):
        at = datetime.fromtimestamp(T0 + STEP_S * step, UTC if zone else None).strftime("%Y-%m-%dT%H:%M:%S")
        lines.append(f"{at}{zone} Step {step}/400 | reward {0.3 + 0.004 * step:.3f} | loss 0.0{step % 7}")
    log = tmp_path / "train.log"
    log.write_text("\n".join(lines) + "\n")
    copied = LAST + 1800 * 7 + 10
    os.utime(log, (copied, copied))
    now = datetime.fromtimestamp(copied + 5, UTC).isoformat()
    assert report(log, capsys, "--now", now)["run"]["state"] == state


# -- the verdict and its findings --


def hacked(fall: float, seed: int) -> dict[str, Any]:
    """The reward rises to its level; validation rises first, and falls from two fifths of the run on, or stays."""
    rows = 300
    at = np.arange(1, rows + 1) / rows
    score = 0.3 + 0.6 / (1 + np.exp(-(at - 0.3) / 0.1)) + wave(0, 0.03, rows, 1)
    held_out = validated(
        lambda x: 0.4 + 0.2 / (1 + np.exp(-(x - 0.2) / 0.1)) - fall * max(0.0, x - 0.4), 20, rows, seed, 0.015
    )
    return held_out | learning(rows) | {"score": score}


@pytest.mark.parametrize("seed", some(range(3, 6)))
def test_a_critical_fall_of_validation_stops_at_the_best(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is critical is not doubted because the newest evaluations are too few to show it once more."""
    of = report(saved(tmp_path / "run", hacked(0.35, seed), range(50, 301, 50)), capsys)
    assert any(f["severity"] == "critical" for f in of["findings"] if f["status"] == "active")
    assert of["verdict"]["decision"] == "stop-use-best"


@pytest.mark.parametrize("seed", range(3, 6))
def test_validation_that_holds_stops_nothing(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = report(saved(tmp_path / "run", hacked(0.0, seed), range(50, 301, 50)), capsys)
    assert of["verdict"]["decision"] in ("continue", "continue-watch")


def sick(folder: Path) -> Path:
    """Validation falls slowly from its best; later the KL runs away."""
    rows = 320
    at = np.arange(1, rows + 1) / 400
    columns = validated(lambda x: 0.2 + 0.45 / (1 + np.exp(-(x * 0.8 - 0.2) / 0.05)) - 0.35 * max(0.0, 0.8 * x - 0.35),
                        10, rows, noise=0.012)  # fmt: skip
    columns["score"] = 0.2 + 0.5 / (1 + np.exp(-(at - 0.25) / 0.06)) + wave(0, 0.03, rows, 1)
    columns["kl"] = np.where(at < 0.6, 0.02, 0.02 * np.exp((at - 0.6) * 40)) + np.abs(wave(0, 0.002, rows, 2))
    return saved(folder, columns, range(40, rows + 1, 40))


def test_what_is_critical_leads_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Headline, the first card, the first row of the JSON and of `runs`, the first fixes: all of one finding."""
    run = sick(tmp_path / "run")
    short, whole, of = told(run)
    loud = [f for f in of["findings"] if f["status"] == "active" and f["severity"] != "info"]
    assert {f["severity"] for f in loud} == {"critical", "warning"}
    first = loud[0]
    assert first["severity"] == "critical"
    assert of["verdict"]["text"].startswith(first["title"])
    assert of["verdict"]["because"][0] == first["id"]
    for page in (short, whole):
        cards = re.findall(r"^### . \w+ · (.*?)(?:, since.*)?$", page, re.M)
        assert cards[0] == first["title"]
    _, listed = ran(capsys, "runs", str(tmp_path), "--full", "--format", "json")
    assert json.loads(listed)["runs"][0]["signs"][0] == first["title"]


def test_the_short_report_has_the_fixes_of_the_long_one_in_their_order(tmp_path: Path) -> None:
    rows = 180
    at = np.arange(1, rows + 1) / 200
    columns = {name: learning(rows)[name] for name in ("entropy", "loss")}
    columns["kl"] = 0.02 + 0.04 * at + np.abs(wave(0, 0.003, rows, 2))
    columns["score"] = 0.7 - 0.5 / (1 + np.exp(-(at - 0.3) / 0.05)) + wave(0, 0.03, rows, 1)
    for run in (write(tmp_path / "fallen", columns), sick(tmp_path / "sick")):
        short, whole, _ = told(run)
        in_short = re.findall(r"^\d+\. (.*?)(?: \(`.*)? · \w+ impact", _section(short, 5), re.M)
        in_long = re.findall(r"^\| \d+ \| (.*?) \|", _section(whole, 5), re.M)
        places = [next(i for i, fix in enumerate(in_long) if fix.startswith(said)) for said in in_short]
        assert places
        assert places == sorted(places)
        do = short.split("- To do: ", 1)[1].split("\n", 1)[0]
        assert in_short[0] in do


def _section(page: str, number: int) -> str:
    return page.split(f"## {number}. ", 1)[1].split(f"## {number + 1}. ", 1)[0]


def test_the_order_of_steps_ends_at_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No run is judged again behind its last planned step."""
    columns = learning(290) | {"max_steps": np.full(290, 300.0)}
    of = report(write(tmp_path / "run", columns), capsys, "--now", datetime.fromtimestamp(T0, UTC).isoformat())
    again = re.search(r"judged again at step (\d+)", of["verdict"]["would_change"])
    assert of["run"]["steps"]["total"] == 300
    assert again is None or int(again[1]) <= 300


def test_an_error_is_shown_by_the_log_and_by_no_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"Step {i}/200 | reward {0.2 + 0.004 * i:.3f} | loss 0.0{i % 7}" for i in range(1, 131)]
    lines.append("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.")
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    of = report(tmp_path, capsys)
    crashed = next(f for f in of["findings"] if f["id"] == "run-crashed")
    assert crashed["evidence"] == []


def test_validation_that_fell_is_not_hoped_to_still_rise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The task is solved; of three validation sets one fell."""
    rows = 120
    at = np.arange(rows) / rows
    columns = learning(rows) | {"score": np.minimum(0.99, 0.3 + 9 * at) + wave(0, 0.004, rows, 1)}
    columns["frac_reward_zero_std"] = np.minimum(0.96, 0.2 + 3 * at)
    sets = {"gsm8k": np.minimum(0.98, 0.4 + 3 * at), "math500": 0.44 + 0.46 * at, "aime24": 0.33 - 0.3 * at}
    keys = {f"val-core/{name}/acc/mean@1": values + wave(0, 0.003, rows, 2) for name, values in sets.items()}
    of = report(write(tmp_path / "run", columns | keys, dict.fromkeys(keys, 10)), capsys)
    assert {"reward-saturated", "val-regression"} <= {f["id"] for f in of["findings"] if f["status"] == "active"}
    assert of["verdict"]["because"][0] == "reward-saturated"
    assert of["verdict"]["decision"] == "stop-use-best"
    assert "validation still rises" not in of["verdict"]["would_change"]


# -- what a report says of itself --


def test_a_report_of_the_past_says_so_at_its_top(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning(ROWS))
    notes = tmp_path / "STATUS.md"
    _, then = ran(capsys, "report", str(run), "--at", "140", "--append", str(notes))
    assert then.splitlines()[0] == "# run, as it stood at step 140"
    assert "as it stood then" in notes.read_text().splitlines()[0]
    assert report(run, capsys, "--at", "140")["run"]["told_at"] == 140
    _, now = ran(capsys, "report", str(run))
    assert now.splitlines()[0] == "# run"
    assert report(run, capsys)["run"]["told_at"] is None


@pytest.mark.parametrize(
    ("steps", "code"), [(400, 1), (ROWS, 0), (None, 0)], ids=["short of its plan", "done", "no plan"]
)
def test_a_stalled_run_is_a_warning_for_the_exit_code(
    steps: int | None, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `watch` warns of it. What reached its plan, or has none, is no stall."""
    columns = learning(ROWS)
    run = write(tmp_path / "run", columns | ({} if steps is None else {"max_steps": np.full(ROWS, float(steps))}))
    later = ("--now", datetime.fromtimestamp(T0 + 10**6, UTC).isoformat())
    assert ran(capsys, "report", str(run), "--fail-on", "warning", *later)[0] == code
    assert ran(capsys, "report", str(run), "--fail-on", "critical", *later)[0] == 0


@pytest.mark.parametrize("name", ["z.foo", "z.xlsx", "z.parq"])
def test_an_export_of_no_known_ending_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning(30))
    assert main(["export", str(run), "-o", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert all(ending in said for ending in (".csv", ".parquet", ".jsonl"))
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["z", "z.CSV", "z.jsonl"])
def test_an_export_goes_by_its_ending(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning(30))
    assert main(["export", str(run), "-o", str(tmp_path / name)]) == 0
    assert main(["export", str(run), "-o", str(tmp_path / "z.foo"), "--format", "csv"]) == 0
    capsys.readouterr()
    text = (tmp_path / name).read_text()
    assert text.startswith("{") == name.endswith(".jsonl")


@pytest.mark.parametrize("gains", [True, False])
@pytest.mark.parametrize(("name", "last"), [("entropy", 0.001), ("grad", 200.0), ("length", 30.0)])
def test_the_ends_of_a_log_warn_of_nothing_that_the_reward_pays_for(
    gains: bool, name: str, last: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the whole log has it; a run without a gain is warned of."""
    columns = learning(ROWS)
    columns[name] = columns[name][0] * (last / columns[name][0]) ** np.linspace(0, 1, ROWS)
    if not gains:
        columns["score"] = 0.3 + wave(0, 0.02, ROWS, 1)
    write(tmp_path / "run", columns)
    _, listed = ran(capsys, "runs", str(tmp_path), "--format", "json")
    assert json.loads(listed)["runs"][0]["health"] == ("not looked" if gains else "warning")


@pytest.mark.parametrize("everything", [True, False])
def test_a_hole_in_the_log_is_no_fault_of_the_reward_function(
    everything: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the clock is no number either, nobody looked; where only the reward is none, its function gave none."""
    columns = learning(200)
    draw = np.random.default_rng(4)
    for name in columns if everything else ["score"]:
        columns[name] = np.where(draw.random(200) < 0.15, np.nan, columns[name])
    notes = [f["summary"] for f in report(write(tmp_path / "run", columns), capsys)["findings"]]
    told_of = [text for text in notes if "reward is NaN" in text]
    assert told_of
    assert all(("the log has holes" in text) == everything for text in told_of)


def test_a_few_evaluations_are_not_called_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = validated(lambda x: 0.2 + 0.4 * min(x, 0.6), 80) | {"score": 0.2 + 0.5 * np.minimum(1, T / 120)}
    run = saved(tmp_path / "run", columns, range(80, ROWS + 1, 80))
    _, page = ran(capsys, "report", str(run))
    assert "no validation is logged" not in page.lower()
    assert "log a validation score" not in page


def test_no_more_than_all_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for after in (0.02, -0.3):
        columns = learning(ROWS) | {"score": np.where(T < 150, 0.6, after) + wave(0, 0.003, ROWS, 1)}
        run = write(tmp_path / f"run{after}", columns)
        notes = [f["summary"] for f in report(run, capsys)["findings"]]
        shares = [float(found) for text in notes for found in re.findall(r"(\d+) % (?:lost|lower)", text)]
        assert bool(shares) == (after > 0)  # of what is below zero no share is left
        assert all(share <= 100 for share in shares)


def test_a_slope_is_told_of_what_went_one_way_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rise and a fall have one that contradicts the finding."""
    _, page = ran(capsys, "report", str(sick(tmp_path / "run")))
    line = next(line for line in page.splitlines() if "validation score" in line and "→" in line and line[:2] == "- ")
    assert "per 100 steps" not in line
