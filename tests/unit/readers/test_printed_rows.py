"""Rows that a program prints or writes at once: no row is lost, none is doubled, and what is no metric is none."""

from __future__ import annotations

import json
import pprint
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rltui.readers.formats import make
from tests.unit.readers.reading import Read, read
from tests.unit.readers.reported import ends, reported

N = 8
Row = dict[str, Any]
ROWS: list[Row] = [
    {"loss": round(0.9 - 0.0713 * i, 5), "reward": round(0.1234 + 0.051 * i, 4), "step": i} for i in range(1, N + 1)
]
STEPLESS = [{key: row[key] for key in ("loss", "reward")} for row in ROWS]
COLUMNS = {key: [row[key] for row in ROWS] for key in ROWS[0]}
BY_STEP = {row["step"]: cells for row, cells in zip(ROWS, STEPLESS, strict=True)}
CELLS = [tuple(row[key] for key in ("step", "loss", "reward")) for row in ROWS]
CONFIG = "Config: {'learning_rate': 2e-06, 'num_generations': 8, 'seed': 1}\n"


def hf(row: Row) -> Row:
    """A row as the HF Trainer logs it."""
    return {
        "loss": row["loss"],
        "grad_norm": 0.5,
        "learning_rate": 1e-6,
        "reward": row["reward"],
        "epoch": 0.1 * row["step"],
        "step": row["step"],
    }


def check(report: dict[str, Any]) -> None:
    """All rows of `ROWS`, each at its step, nothing beside them, and one attempt."""
    steps = report["run"]["steps"]
    assert (steps["rows"], steps["first"], steps["last"]) == (N, 1, N)
    assert ends(report, "total_loss") == (N, ROWS[0]["loss"], ROWS[-1]["loss"])
    assert ends(report, "reward_mean") == (N, ROWS[0]["reward"], ROWS[-1]["reward"])
    assert not {"step", "steps"} & set(report["metrics"])
    assert not report["run"]["attempts"]
    assert not report["run"]["restarts"]


def wrapped(text: str, width: int) -> str:
    """A text as a terminal breaks it."""
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


PRINTED = {
    "a list": repr(ROWS),
    "a list in JSON": json.dumps(ROWS),
    "a name before a list": f"history: {ROWS!r}",
    "a name before JSON": f"log_history = {json.dumps(ROWS)}",
    "an f-string that names it": f"trainer.state.log_history={ROWS!r}",
    "behind a logger": f"2026-03-01 10:00:00,123 INFO trainer: history: {ROWS!r}",
    "behind Ray": f"(TaskRunner pid=71) Final training history: {ROWS!r}",
    "columns": f"metrics = {COLUMNS!r}",
    "columns in JSON": f"metrics: {json.dumps(COLUMNS)}",
    "columns in a defaultdict": f"history: defaultdict(<class 'list'>, {COLUMNS!r})",
    "arrays of numpy": "history: {"
    + ", ".join(f"{k!r}: array([{', '.join(map(str, column))}])" for k, column in COLUMNS.items())
    + "}",
    "columns without steps": "history: " + repr({k: COLUMNS[k] for k in ("loss", "reward")}),
    "by step": f"history: {BY_STEP!r}",
    "by step in JSON": f"history: {json.dumps(BY_STEP)}",
    "by step, alone": repr(BY_STEP),
    "numbers of numpy": "history: "
    + repr([{**row, "loss": f"~{row['loss']}~"} for row in ROWS]).replace("'~", "np.float64(").replace("~'", ")"),
    "tuples": f"history (step, loss, reward): {CELLS!r}",
    "tuples below their names": f"('step', 'loss', 'reward')\n{CELLS!r}",
    "lists below their names": f"step, loss, reward\n{[list(cells) for cells in CELLS]!r}",
    "lists below their names, within": repr([["step", "loss", "reward"], *map(list, CELLS)]),
    "pprint": pprint.pformat(ROWS),
    "pprint, a cell a line": "history:\n" + pprint.pformat(ROWS, width=20),
    "pprint of columns": "history = " + pprint.pformat(COLUMNS),
    "pprint by step": pprint.pformat(BY_STEP),
    "pprint behind Ray": "\n".join(f"(TaskRunner pid=71) {line}" for line in pprint.pformat(ROWS).splitlines()),
    "indented": "Final history:\n" + json.dumps(ROWS, indent=2),
    "indented columns": json.dumps(COLUMNS, indent=4),
    "indented by step": "history = " + json.dumps(BY_STEP, indent=1),
    "as the HF Trainer holds it": repr([hf(row) for row in ROWS]),
    "that, by pprint": pprint.pformat([hf(row) for row in ROWS]),
    "broken by a terminal": wrapped(f"history: {ROWS!r}", 80),
    "behind a sentence": f"Training took 12 steps of it. Full history: {ROWS!r}",
    "behind a bar": f"100%|████| 8/8 [00:01<00:00,  9.1it/s]history: {ROWS!r}",
    "pprint, each line logged": "\n".join(
        f"2026-03-01 10:00:00,12{i % 10} INFO trainer: {line}"
        for i, line in enumerate(pprint.pformat(ROWS).split("\n"))
    ),
    "lines that end in CR LF": pprint.pformat(ROWS).replace("\n", "\r\n"),
    "a row a list": "\n".join(f"metrics: {[row]!r}" for row in ROWS),
}


@pytest.mark.parametrize("form", PRINTED)
@pytest.mark.parametrize("before", ["", "starting the training\n", CONFIG, '{"lr": 2e-06, "seed": 1, "model": "q"}\n'])
def test_printed_rows_are_rows(form: str, before: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(f"{before}{PRINTED[form]}\ndone\n")
    check(reported(tmp_path / "train.log"))


@pytest.mark.parametrize(
    "form", ["a list", "a list in JSON", "by step, alone", "pprint", "pprint by step", "indented columns"]
)
@pytest.mark.parametrize("name", ["train.log", "history.json", "train_history.json", "out.txt"])
def test_a_file_of_printed_rows(form: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PRINTED[form])
    check(reported(tmp_path / name))


@pytest.mark.parametrize("form", PRINTED)
@pytest.mark.parametrize("size", [1, 17, 1000])
def test_the_same_however_it_comes(form: str, size: int) -> None:
    data = f"{CONFIG}{PRINTED[form]}\ndone\n".encode()
    whole, pieces = read("console", data), read("console", data, [size] * (len(data) // size))
    assert pieces.rows == whole.rows
    assert len(whole.rows) == N


@pytest.mark.parametrize("form", PRINTED)
def test_the_same_if_the_writer_pauses(form: str) -> None:
    """Rows of a list that is half written come early, and are no others when it is whole."""
    data = f"{CONFIG}{PRINTED[form]}\ndone\n".encode()
    live, whole = Read(make("console")), read("console", data)
    for at in range(0, len(data), 61):
        live.take(live.reader.feed(data[at : at + 61]))
        live.take(live.reader.rest())  # type: ignore[attr-defined]
    live.take(live.reader.finish())
    if "without steps" not in form:
        assert folded(live) == folded(whole)
    assert live.rows[-1] == whole.rows[-1]
    assert live.reader.left_out() == whole.reader.left_out()  # type: ignore[attr-defined]


def folded(found: Read) -> dict[int, Row]:
    rows: dict[int, Row] = {}
    for step, cells in found.rows:
        rows.setdefault(step, {}).update(cells)
    return rows


@pytest.mark.parametrize("form", ["a list", "by step", "pprint", "columns without steps"])
def test_a_list_whose_end_comes_late(form: str) -> None:
    """A line is looked at before its end came, and is read once."""
    data = f"{CONFIG}{PRINTED[form]}\n".encode()
    live, whole = Read(make("console")), read("console", data)
    for begin, end in pairwise((0, 2 * len(data) // 3, len(data) - 1, len(data))):
        live.take(live.reader.feed(data[begin:end]))
        live.take(live.reader.finish())
    assert folded(live) == folded(whole)


LIVE = {
    "rounded": lambda row: f"step {row['step']}/8 | loss: {row['loss']:.3f} | reward: {row['reward']:.2f}",
    "as they are": lambda row: f"step {row['step']}/8 | loss: {row['loss']} | reward: {row['reward']}",
    "as dicts": repr,
    "learnt": lambda row: f"update {row['step']} was run: loss {row['loss']}, reward {row['reward']}",
    "verl": lambda row: f"step:{row['step']} - loss:{row['loss']} - reward:{row['reward']}",
    "TRL, no step": lambda row: repr({k: f"{v:.4g}" for k, v in hf(row).items() if k != "step"}),
}


@pytest.mark.parametrize("live", LIVE)
@pytest.mark.parametrize("form", ["a list", "columns", "pprint", "by step", "columns without steps", "indented"])
def test_what_was_printed_live_comes_once_more_at_the_end(live: str, form: str, tmp_path: Path) -> None:
    lines = "".join(LIVE[live](row) + "\n" for row in ROWS)
    (tmp_path / "train.log").write_text(f"start\n{lines}done\n{PRINTED[form]}\n")
    report = reported(tmp_path / "train.log")
    check(report)
    [source] = report["run"]["sources"]
    assert f"{N}" in source["note"]
    assert "again" in source["note"]


@pytest.mark.parametrize("every", [2, 10])
def test_a_history_tells_the_steps_of_lines_that_state_none(every: int, tmp_path: Path) -> None:
    log = [{**hf(row), "step": every * row["step"]} for row in ROWS]
    live = "".join(repr({k: v for k, v in row.items() if k != "step"}) + "\n" for row in log)
    (tmp_path / "train.log").write_text(f"start\n{live}{log!r}\n")
    report = reported(tmp_path / "train.log")
    steps = report["run"]["steps"]
    assert (steps["rows"], steps["first"], steps["last"]) == (N, every, every * N)
    assert not report["run"]["attempts"]


def test_the_end_of_an_hf_history_is_no_row(tmp_path: Path) -> None:
    log = [*map(hf, ROWS), {"train_runtime": 12.5, "train_loss": 0.5, "epoch": 1.0, "step": N}]
    for name, text in {
        "train.log": f"log_history: {log!r}\n",
        "log.json": json.dumps(log),
        "log.txt": repr(log),
    }.items():
        (tmp_path / name).write_text(text)
        report = reported(tmp_path / name)
        check(report)
        assert "train_runtime" not in json.dumps(report["metrics"])
        (tmp_path / name).unlink()


def test_lists_of_training_and_evaluation(tmp_path: Path) -> None:
    evaluated = [{"step": step, "reward": 0.7 + 0.01 * step} for step in (4, 8)]
    for text in (
        f"train history: {ROWS!r}\neval history: {evaluated!r}\n",
        f"history: {{'train': {ROWS!r}, 'eval': {evaluated!r}}}\n",
        f"train={ROWS!r} eval={evaluated!r}\n",
    ):
        (tmp_path / "train.log").write_text("start\n" + text)
        report = reported(tmp_path / "train.log")
        check(report)
        [evaluation] = [m for name, m in report["metrics"].items() if name not in ("total_loss", "reward_mean")]
        assert (evaluation["count"], evaluation["first_value"], evaluation["last_value"]) == (2, 0.74, 0.78)


TORN = {
    **{form: PRINTED[form] for form in ("a list", "pprint", "by step", "indented", "lists below their names, within")},
    "columns": "history: " + repr({key: COLUMNS[key] for key in ("step", "loss", "reward")}),
}


@pytest.mark.parametrize("form", TORN)
@pytest.mark.parametrize("then", ["", "Killed\n", "\nnext launch\n", " 12 GiB, next launch\nready (9)\n"])
def test_of_a_torn_list_the_complete_rows_come(form: str, then: str, tmp_path: Path) -> None:
    whole = TORN[form]
    place = whole.index(repr(ROWS[5]["reward"])) + 3  # within a number of the sixth row
    (tmp_path / "train.log").write_text(f"{CONFIG}{whole[:place]}{then}")
    report = reported(tmp_path / "train.log")
    assert report["run"]["steps"]["rows"] == (N if form == "columns" else 5)
    assert ends(report, "reward_mean") == (5, ROWS[0]["reward"], ROWS[4]["reward"])
    [source] = report["run"]["sources"]
    torn = [one for one in source["left_out"] if "cut off" in one["reason"]]
    row = max(whole.rfind(bracket, 0, place) for bracket in "{[")
    line = 2 + whole[:row].count("\n")
    assert [(one["count"], one["first"]) for one in torn] == [(1, f"line {line}")]


def test_two_launches_that_print_their_rows_are_two_attempts(tmp_path: Path) -> None:
    first = [{**row, "loss": row["loss"] + 0.3} for row in ROWS]
    (tmp_path / "train.log").write_text(f"start\nhistory: {first!r}\nstart\nhistory: {ROWS!r}\n")
    report = reported(tmp_path / "train.log")
    assert report["run"]["steps"]["rows"] == N
    assert ends(report, "total_loss") == (N, ROWS[0]["loss"], ROWS[-1]["loss"])
    assert [attempt["rows"] for attempt in report["run"]["attempts"]] == [N]


def test_a_history_that_grows_is_one_run(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("".join(f"history: {ROWS[:end]!r}\n" for end in range(2, N + 1)))
    check(reported(tmp_path / "train.log"))


def test_rows_of_samples_are_averaged(tmp_path: Path) -> None:
    samples = [{"step": s, "sample": i, "reward": 0.1 * s + 0.02 * i, "kl": 0.01} for s in (1, 2, 3) for i in range(4)]
    (tmp_path / "train.log").write_text(f"start\nresults: {samples!r}\n")
    report = reported(tmp_path / "train.log")
    assert report["run"]["steps"]["rows"] == 3
    assert ends(report, "reward_mean") == (3, pytest.approx(0.13), pytest.approx(0.33))
    [source] = report["run"]["sources"]
    assert "averaged by step: 12" in source["note"]


LINES = "".join(f"step {row['step']}/8 | loss: {row['loss']} | reward: {row['reward']}\n" for row in ROWS)
FOREIGN = [{"step": i, "loss": 1.0 / i, "reward": 3.0 * i} for i in (1, 2, 3)]
NO_METRICS = {
    "a completion": f"Completion: the history would be {FOREIGN!r}",
    "a prompt": f"prompt: {FOREIGN!r}",
    "prose": f"If you log {FOREIGN!r} then a plot is easy.",
    "code": f"```python\nhistory = {FOREIGN!r}\nprint(history)\n```",
    "code of several lines": "```\nhistory = [\n" + "".join(f"    {row!r},\n" for row in FOREIGN) + "]\n```",
    "an answer in JSON": json.dumps([{"step": 1, "answer": 7}, {"step": 2, "answer": 9}]),
    "an answer over lines": json.dumps([{"step": 1, "answer": 7}, {"step": 2, "answer": 9}], indent=2),
    "other values": f"{FOREIGN!r}",
    "samples with text": repr([{"step": 4, "completion": "so x = 3", "reward": 1.0}] * 3),
    "rewards of a group": "rewards: " + repr({"format": [1.0, 0.0, 1.0], "accuracy": [0.0, 0.0, 1.0]}),
    "a matrix": "[[1, 0.5], [2, 0.25], [3, 0.125]]",
    "advantages": "advantages: [[0.5, -0.5], [1.0, -1.0]]",
    "a table's cell": f"│ history = {FOREIGN!r} │",
}


@pytest.mark.parametrize("form", NO_METRICS)
@pytest.mark.parametrize("place", ["before", "within", "behind"])
def test_lists_in_other_text_are_no_metrics(form: str, place: str, tmp_path: Path) -> None:
    if form == "other values" and place == "before":
        pytest.skip("nothing tells then that they are none")
    lines = LINES.splitlines(keepends=True)
    at = {"before": 0, "within": 5, "behind": N}[place]
    lines.insert(at, NO_METRICS[form] + "\n")
    (tmp_path / "train.log").write_text("start\n" + "".join(lines))
    report = reported(tmp_path / "train.log")
    check(report)
    assert set(report["metrics"]) == {"total_loss", "reward_mean"}
    [source] = report["run"]["sources"]
    if place != "before":  # it may be of a printed config there
        assert sum(one["count"] for one in source["left_out"]) >= 2  # and the first line
    assert all(one["first"].startswith("line ") for one in source["left_out"])
