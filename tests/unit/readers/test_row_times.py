"""Time stamps in front of console lines are the times of the rows that these lines tell."""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.readers.reading import read
from tests.unit.readers.reported import reported
from tests.unjudged import unjudged

Stamped = Callable[[datetime], str]
BEGIN = datetime(2026, 11, 24, 18, 20, 1)
APART = 61
ROWS = 8


@pytest.fixture(params=["UTC", "America/New_York"], autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a stamp without a zone means does not change how far rows are apart."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def moment(row: int) -> datetime:
    return BEGIN + timedelta(seconds=APART * row)


def words(row: int) -> str:
    return f"step {row} | loss {0.9 - 0.013 * row:.4f} | reward {0.1 + 0.017 * row:.4f}"


def log(stamped: Stamped, said: Callable[[int], str] = words, rows: int = ROWS) -> str:
    return "".join(f"{stamped(moment(row))}{said(row)}\n" for row in range(rows))


def as_of(path: Path) -> float:
    return datetime.fromisoformat(reported(path)["as_of"]).timestamp()


def written(folder: Path, text: str) -> Path:
    path = folder / "train.log"
    path.write_text(text)
    return path


def iso(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M:%S")


DATED: dict[str, Stamped] = {
    "logging": lambda t: f"{iso(t)},000 INFO ",
    "brackets": lambda t: f"[{iso(t)}] ",
    "hydra": lambda t: f"[{iso(t)},000][trainer][INFO] - ",
    "hf-examples": lambda t: t.strftime("%m/%d/%Y %H:%M:%S - INFO - __main__ - "),
    "rich": lambda t: t.strftime("[%m/%d/%y %H:%M:%S] INFO     "),
    "log4j": lambda t: t.strftime("%y/%m/%d %H:%M:%S INFO "),
    "loguru": lambda t: f"{iso(t)}.000 | INFO     | trainer:fit:12 - ",
    "transformers": lambda t: f"[INFO|trainer.py:123] {iso(t)},000 >> ",
    "llama-factory": lambda t: f"[INFO|{iso(t)}] trainer.py:12 >> ",
    "ray": lambda t: f"(TaskRunner pid=123) {iso(t)} ",
    "torchrun": lambda t: f"[rank0]: {iso(t)} ",
    "compact": lambda t: t.strftime("%Y%m%d-%H:%M:%S "),
    "German": lambda t: t.strftime("%d.%m.%Y %H:%M:%S INFO "),
    "German, two digits": lambda t: t.strftime("[%d.%m.%y %H:%M:%S] trainer: "),
    "points": lambda t: t.strftime("%Y.%m.%d-%H:%M:%S "),
    "name of the month": lambda t: t.strftime("%d/%b/%Y %H:%M:%S INFO "),
    "web server": lambda t: t.strftime("[%d/%b/%Y:%H:%M:%S] INFO "),
    "month between blanks": lambda t: t.strftime("%d %b %Y %H:%M:%S,000 - INFO - "),
    "noon": lambda t: t.strftime("%Y-%m-%d %I:%M:%S %p "),
}
WITH_ZONE: dict[str, Stamped] = {
    "iso": lambda t: f"{iso(t).replace(' ', 'T')}Z ",
    "offset": lambda t: f"{iso(t + timedelta(hours=8)).replace(' ', 'T')}.000+08:00 ",
    "gunicorn": lambda t: f"[{iso(t)} +0000] [12] [INFO] ",
    "kubernetes": lambda t: f"{iso(t).replace(' ', 'T')}.000000000Z stdout F ",
    "kubernetes and logging": lambda t: (
        f"{iso(t).replace(' ', 'T')}.0Z stdout F {iso(t - timedelta(hours=5))},000 INFO "
    ),
    "epoch": lambda t: f"{t.replace(tzinfo=UTC).timestamp():.3f} ",
    "whole epoch": lambda t: f"{t.replace(tzinfo=UTC).timestamp():.0f} INFO ",
    "logfmt": lambda t: f"time={iso(t).replace(' ', 'T')}Z ",
}
UNDATED: dict[str, Stamped] = {
    "clock": lambda t: t.strftime("[%H:%M:%S] "),
    "clock alone": lambda t: t.strftime("%H:%M:%S.000 INFO "),
    "vllm": lambda t: t.strftime("INFO %m-%d %H:%M:%S [trainer.py:12] "),
    "absl": lambda t: t.strftime("I%m%d %H:%M:%S.000000 1234 file.py:12] "),
    "journald": lambda t: t.strftime("%b %d %H:%M:%S host trainer[12]: "),
}


@pytest.mark.parametrize("style", DATED)
def test_a_stamp_is_the_time_of_its_row(style: str, tmp_path: Path) -> None:
    assert as_of(written(tmp_path, log(DATED[style]))) == moment(ROWS - 1).timestamp()


@pytest.mark.parametrize("style", WITH_ZONE)
def test_a_zone_counts(style: str, tmp_path: Path) -> None:
    assert as_of(written(tmp_path, log(WITH_ZONE[style]))) == moment(ROWS - 1).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("style", UNDATED)
def test_a_date_comes_from_a_line_above(style: str, tmp_path: Path) -> None:
    head = f"{iso(BEGIN - timedelta(minutes=3))},123\tINFO worker.py:1752 -- Started a local Ray instance.\n"
    assert as_of(written(tmp_path, head + log(UNDATED[style]))) == moment(ROWS - 1).timestamp()


@pytest.mark.parametrize("style", UNDATED)
def test_no_date_is_made_up(style: str, tmp_path: Path) -> None:
    found = reported(written(tmp_path, log(UNDATED[style])))
    assert found["run"]["steps"]["rows"] == ROWS
    assert found["as_of"] is None
    assert "no date" in found["run"]["sources"][0]["note"]


def of(text: str, cuts: list[int] | None = None) -> list[tuple[int, float | None]]:
    found = read("console", text, cuts or [])
    return [(step, t if t == t else None) for step, t in zip(found.steps, found.times, strict=True)]


def test_midnight_and_new_year() -> None:
    for style in ("clock", "vllm", "journald"):
        begin = datetime(2026, 12, 31, 23, 57, 30)
        lines = [UNDATED[style](begin + timedelta(seconds=APART * i)) + words(i) for i in range(ROWS)]
        text = f"[{iso(begin - timedelta(seconds=5))}] starting\n" + "\n".join(lines) + "\n"
        assert dict(of(text)) == {i: begin.timestamp() + APART * i for i in range(ROWS)}


def test_a_clock_that_is_set_back_goes_to_no_next_day() -> None:
    moments = [BEGIN + timedelta(seconds=s) for s in (0, 60, 120, 90, 150, 210)]
    text = f"[{iso(BEGIN)}] starting\n" + "".join(f"{t:[%H:%M:%S]} {words(i)}\n" for i, t in enumerate(moments))
    assert [t for _, t in of(text)] == [t.timestamp() for t in moments]


@pytest.mark.parametrize("style", ["brackets", "logging", "clock"])
@pytest.mark.parametrize("apart", [60, 1500])
def test_the_hour_that_comes_twice(style: str, apart: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Summer time ends: a local clock shows the hour from one to two again, and no time goes back."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    begin = datetime(2026, 11, 1, 4, 40, tzinfo=UTC).timestamp()
    moments = [begin + apart * row for row in range(180 if apart == 60 else 12)]
    local = [datetime.fromtimestamp(moment) for moment in moments]
    stamped = {**DATED, **UNDATED}[style]
    text = f"[{iso(local[0])}] starting\n" + "".join(f"{stamped(t)}{words(i)}\n" for i, t in enumerate(local))
    assert [t for _, t in of(text)] == moments


SAID: dict[str, Callable[[int], str]] = {
    "verl": lambda i: f"step:{i} - actor/pg_loss:{0.9 - 0.01 * i:.4f} - critic/rewards/mean:{0.1 + 0.01 * i:.4f}",
    "dict": lambda i: f"{{'loss': {0.9 - 0.01 * i:.4f}, 'reward': {0.1 + 0.01 * i:.4f}, 'step': {i}}}",
    "trl": lambda i: (
        f"{{'loss': {0.9 - 0.01 * i:.4f}, 'reward': {0.1 + 0.01 * i:.4f}, 'step': {i}, 'epoch': {i / 9:.2f}}}"
    ),
    "words": lambda i: f"Batch {i}/300 | reward mean={0.1 + 0.01 * i:.4f} std=0.2 | loss={0.9 - 0.01 * i:.4f}",
    "slime": lambda i: (
        f"rollout {i}: {{'rollout/raw_reward': {0.1 + 0.01 * i:.4f}, 'rollout/response_len': {100 + i}}}"
    ),
    "roll": lambda i: f'metrics_tag: {{"step": {i}, "metrics": {{"critic/score/mean": {0.1 + 0.01 * i:.4f}}}}}',
}


@pytest.mark.parametrize("dialect", SAID)
def test_every_dialect(dialect: str) -> None:
    found = of(log(DATED["logging"], SAID[dialect]))
    assert found == [(i, moment(i).timestamp()) for i in range(ROWS)]


BLOCKS: dict[str, Callable[[int], str]] = {
    "heading": lambda i: f"===== Step {i}/300 =====\n  Loss: {0.9 - 0.01 * i:.4f}\n  Reward: {0.1 + 0.01 * i:.4f}",
    "pairs": lambda i: f"Iteration {i}\nloss: {0.9 - 0.01 * i:.4f}\nreward: {0.1 + 0.01 * i:.4f}",
    "dict below": lambda i: f"Step {i}: \n{{'reward/avg_raw_reward': '{0.1 + 0.01 * i:.4f}',\n 'policy/loss': '0.1'}}",
    "table": lambda i: (
        f"Train step {i + 1}/300 done.\nStats (1/1):\n╒════╤════╕\n│ loss │ {0.9 - 0.01 * i:.4f} │\n╘════╧════╛"
    ),
    "deepspeed": lambda i: (
        f"epoch: 0|step: {i}|ppo_ep: 1|act_loss: 0.2|cri_loss: {0.1 + 0.01 * i:.4f}|unsuper_loss: 0.0"
        f"\naverage reward score: {0.1 + 0.01 * i:.4f}"
    ),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_has_the_time_of_the_line_with_its_step(block: str) -> None:
    found = dict(of(log(DATED["brackets"], BLOCKS[block])))
    assert found == {i: moment(i).timestamp() for i in range(ROWS)}


@pytest.mark.parametrize("dialect", [*SAID, *BLOCKS])
def test_in_pieces_as_at_once(dialect: str) -> None:
    head = f"{iso(BEGIN - timedelta(minutes=3))},123\tINFO worker.py:1752 -- Started a local Ray instance.\n"
    said = {**SAID, **BLOCKS}[dialect]
    for stamped in (DATED["logging"], UNDATED["clock"]):
        text = head + log(stamped, said)
        whole = of(text)
        assert whole[-1][1] == moment(ROWS - 1).timestamp()
        for size in (1, 7, 100, 333):
            assert of(text, [size] * (len(text.encode()) // size)) == whole


def test_a_time_that_a_line_tells_of_is_none() -> None:
    text = log(lambda t: "", lambda i: f"{words(i)} | began 2026-11-24 18:20:{i:02}")
    chat = "".join(f"sample: at 2026-11-24 18:20:{i:02} step {i} was done\n{words(i)}\n" for i in range(ROWS))
    assert all(t is None for _, t in of(text))
    assert all(t is None for _, t in of(chat))


def test_another_program_with_a_clock_of_its_own() -> None:
    engine = "INFO 11-25 02:{0:02}:09 [loggers.py:123] Engine 000: Avg generation throughput: {0}.5 tokens/s\n"
    text = "".join(f"[{iso(moment(i))}] {words(i)}\n{engine.format(i)}" for i in range(ROWS))
    assert of(text) == [(i, moment(i).timestamp()) for i in range(ROWS)]


def run_of(folder: Path, now: float) -> dict[str, Any]:
    """The run as a report has it at a moment, of files that were written at their newest time."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), unjudged():
        at = datetime.fromtimestamp(now, UTC).isoformat()
        assert main(["report", str(folder), "--format", "json", "--now", at]) == 0
    report: dict[str, Any] = json.loads(out.getvalue())
    return {**report["run"], "as_of": report["as_of"]}


def planned(row: int) -> str:
    return words(row).replace(f"step {row}", f"step {row + 1}/100")


def test_a_run_with_stamps_goes_on_and_has_a_time_left(tmp_path: Path) -> None:
    path = written(tmp_path, log(DATED["brackets"], planned, rows=40))
    last = moment(39).timestamp()
    os.utime(path, (last, last))
    run = run_of(path, last + 20)
    assert (run["state"], run["last_row_time"], run["eta_s"]) == ("running", last, 60 * APART)
    os.utime(path, (last + 7 * 86400, last + 7 * 86400))  # a copy
    run = run_of(path, last + 7 * 86400 + 20)
    assert (run["state"], run["last_row_time"]) == ("stalled", last)


@pytest.mark.parametrize("hours", [-8, 5.5, 8])
def test_the_age_of_a_log_of_another_zone_is_that_of_its_run(hours: float, tmp_path: Path) -> None:
    path = written(tmp_path, log(lambda t: DATED["brackets"](t + timedelta(hours=hours)), planned, rows=40))
    last = moment(39).timestamp()
    os.utime(path, (last, last))
    run = run_of(path, last + 20)
    assert (run["state"], run["sources"][0]["note"]) == ("running", "as of 20 s ago")


@pytest.mark.parametrize("together", [5, 60])
def test_lines_that_were_written_at_once_have_no_negative_or_no_pace(together: int, tmp_path: Path) -> None:
    """What collects a log may stamp many lines when it gets them."""
    text = "".join(f"[{iso(moment(row // together * together))}] {planned(row)}\n" for row in range(70))
    path, last = written(tmp_path, text), moment(69 // together * together).timestamp()
    os.utime(path, (last, last))
    eta = run_of(path, last + 20)["eta_s"]
    assert eta is None or 0.5 < eta / (30 * APART) < 2


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("hours", [0, 8, -5.5])
def test_one_clock_for_a_run(hours: float, live: bool, tmp_path: Path) -> None:
    """The console of another zone beside a file that counts from the epoch: it has every second row, and begins late to
    state times."""
    moments = [moment(row).timestamp() for row in range(60)]
    console = log(lambda t: DATED["brackets"](t + timedelta(hours=hours)), rows=60).splitlines(keepends=True)
    timed = {row: {"time": moments[row]} if row >= 44 else {} for row in range(0, 60, 2)}
    metrics = {row: json.dumps({"step": row, "loss": 0.9 - 0.013 * row, **time}) + "\n" for row, time in timed.items()}
    so_far = 30 if live else 60
    path = written(tmp_path, "".join(console[:so_far]))
    (tmp_path / "metrics.jsonl").write_text("".join(metrics.get(row, "") for row in range(so_far)))
    opened = RunReader(locate([str(tmp_path)])[0])
    opened.load()
    assert len(opened.frame().run.steps) >= so_far - 1
    for row in range(so_far, 60):
        with path.open("a") as lines, (tmp_path / "metrics.jsonl").open("a") as rows:
            lines.write(console[row])
            rows.write(metrics.get(row, ""))
        opened.poll()
        known = [t for t in opened.frame().run.times.tolist() if t == t][
            :-1
        ]  # of the newest row one file may tell alone
        assert {b - a for a, b in pairwise(known)} == {APART}
    run = opened.frame().run
    opened.close()
    assert len(run.steps) >= 59  # a row may still go on
    assert dict(zip(run.steps.tolist(), run.times.tolist(), strict=True)) == dict(enumerate(moments[: len(run.steps)]))
    assert run.as_of == moments[len(run.steps) - 1]
