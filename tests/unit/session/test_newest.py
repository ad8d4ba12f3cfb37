"""The newest values of a run from the ends of its files: those that its report will show, or none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.report.build import build
from rltui.report.names import FirstValues, first_values
from rltui.session.locate import locate
from tests.moments import age_of, judged_after

from . import runs

STEPS = 3000
"""Of which the end holds a part: one row is some 100 bytes."""


def verl_line(step: int, **more: float) -> str:
    cells = {"critic/score/mean": step / 1000, "actor/grad_norm": 0.5, "actor/entropy": 0.7, **more}
    return f"(main pid=1) step:{step} - " + " - ".join(f"{key}:{value}" for key, value in cells.items()) + "\n"


def first_of(path: Path, key_map: dict[str, str] | None = None) -> FirstValues | None:
    (found,) = locate([str(path)])
    return first_values(found, key_map or {})


def agrees(path: Path) -> FirstValues:
    """First values, each of which the report of the whole run shows in the same words."""
    first = first_of(path)
    assert first is not None
    report = build(runs.opened(path).frame())
    assert (first.id, first.path, first.framework) == (report.run.id, report.run.path, report.run.framework)
    assert first.last_step == report.run.steps.last
    for name, value in first.metrics.items():
        shown = report.metrics[name]
        assert value.last_value == shown.last_value, name
        assert (value.key, value.label, value.unit, value.group, value.canonical) == (
            shown.key, shown.label, shown.unit, shown.group, shown.canonical
        )  # fmt: skip
    return first


def test_of_a_console_log(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("verl 0.7.0 starts\n" + "".join(map(verl_line, range(1, STEPS + 1))))
    first = agrees(log)
    assert first.framework == "verl"
    assert 1 < first.first_step < STEPS == first.last_step
    assert first.bytes == log.stat().st_size
    assert first.metrics["score_mean"].values.tolist()[-2:] == [(STEPS - 1) / 1000, STEPS / 1000]


def test_of_rows_in_json_and_in_csv(tmp_path: Path) -> None:
    log = tmp_path / "json" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_text(runs.lines(1, STEPS))
    assert agrees(log).last_step == STEPS
    table = tmp_path / "csv" / "metrics.csv"
    table.parent.mkdir()
    table.write_text("step,score,filler\n" + "".join(f"{s},{s / 1000},{'1' * 40}\n" for s in range(1, STEPS + 1)))
    assert next(iter(agrees(table).metrics.values())).last_value == STEPS / 1000


@pytest.mark.long
def test_of_several_files_the_one_that_is_believed_says_a_step_the_newer_one_is_newer(tmp_path: Path) -> None:
    """A console rounds, and is ahead of a file that is written late."""
    (tmp_path / "metrics.jsonl").write_text("".join(runs.line(s, score=s / 7) for s in range(1, STEPS + 1)))

    def console_line(step: int) -> str:
        return verl_line(step, **{"critic/score/mean": round(step / 7, 1), "actor/grad_norm": round(1 + step / 100, 1)})

    (tmp_path / "console.log").write_text("".join(map(console_line, range(1, STEPS + 1))))
    assert agrees(tmp_path).metrics["score_mean"].last_value == STEPS / 7
    with (tmp_path / "console.log").open("a") as out:
        out.write(console_line(STEPS + 1))
    assert agrees(tmp_path).metrics["score_mean"].last_value == round((STEPS + 1) / 7, 1)


def test_of_files_that_contradict_each_other_the_whole_run_tells_which_counts(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(runs.line(s, score=1 - s / 7) for s in range(1, STEPS + 1)))
    (tmp_path / "console.log").write_text("".join(map(verl_line, range(1, STEPS + 1))))
    assert first_of(tmp_path) is None


def test_a_value_that_is_no_number_is_none(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("".join(map(verl_line, range(1, STEPS))) + verl_line(STEPS, **{"actor/grad_norm": float("nan")}))
    first = agrees(log)
    assert first.metrics["grad_norm"].last_value is None
    assert len(first.metrics["grad_norm"].values) == len(first.metrics["entropy"].values)


def test_a_line_that_is_being_written_waits_until_nobody_writes(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("".join(map(verl_line, range(1, STEPS + 1))) + verl_line(STEPS + 1).rstrip("\n"))
    first = first_of(log)
    assert first is not None
    assert first.last_step == STEPS
    os.utime(log, (1.7e9, 1.7e9))
    assert agrees(log).last_step == STEPS + 1


def test_the_users_own_names_count(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(runs.line(s, **{"my/own": s / 10}) for s in range(1, STEPS + 1)))
    first = first_of(log, {"entropy": "my/own"})
    assert first is not None
    assert first.metrics["entropy"].last_value == STEPS / 10


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda: "".join(map(verl_line, range(STEPS - 9, STEPS))), id="it began anew"),
        pytest.param(lambda: verl_line(STEPS, **{"actor/entropy": 0.9}), id="a value is taken back"),
    ],
)
def test_none_where_the_end_does_more_than_go_on(tmp_path: Path, end: Callable[[], str]) -> None:
    log = tmp_path / "console.log"
    log.write_text("".join(map(verl_line, range(1, STEPS + 1))) + end())
    assert first_of(log) is None


def test_none_of_rows_that_are_counted_or_of_two_attempts(tmp_path: Path) -> None:
    printed = tmp_path / "trl" / "train.log"
    printed.parent.mkdir()
    printed.write_text("".join(f"{{'loss': 0.1, 'reward': {s / 100}, 'epoch': {s / 50}}}\n" for s in range(1, 50)))
    assert first_of(printed) is None
    both = tmp_path / "both"
    for name in ("train.log", "eval.log"):
        both.mkdir(exist_ok=True)
        (both / name).write_text("".join(map(verl_line, range(1, 50))))
    for found in locate([str(both)]):
        if len(found.candidate.files) > 1:
            assert first_values(found, {}) is None


def test_none_of_a_file_without_rows(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("verl starts\nLoading checkpoint shards: 10%\n")
    for found in locate([str(log)]):
        assert first_values(found, {}) is None


@pytest.mark.whole
def test_of_labelled_runs(runs_dir: Path) -> None:
    """The same as in the report of the whole run, where there are any. What a key is called may depend on the history:
    of two keys for one metric the other one may have begun long ago."""
    seen = 0
    for line in (runs_dir / "LABELS.jsonl").read_text().splitlines()[::18]:
        path = runs_dir / json.loads(line)["path"]
        with judged_after(path, age_of(path.name)):
            first = first_of(path)
            if first is None:
                continue
            report = build(runs.opened(path).frame())
        seen += 1
        by_key = {metric.key: metric for metric in report.metrics.values()}
        assert (path.name, first.last_step, first.framework) == (path.name, report.run.steps.last, report.run.framework)
        told = {key.key: (key.last_value, key.label, key.unit) for key in first.metrics.values()}
        assert told == {key: (by_key[key].last_value, by_key[key].label, by_key[key].unit) for key in told}, path.name
    assert seen > 2
