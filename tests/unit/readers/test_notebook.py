"""Trainings in notebooks and in JSON files of any name, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main


def reported(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code = main(["report", str(path), "--format", "json"])
    out = capsys.readouterr()
    assert code == 0, out.err
    found: dict[str, Any] = json.loads(out.out)
    return found


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def table(names: list[str], rows: list[list[object]], total: int) -> dict[str, Any]:
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    html = f"<div><progress value='{rows[-1][0]}' max='{total}'></progress></div><table><tr>{head}</tr>{body}</table>"
    return {"output_type": "display_data", "data": {"text/html": [html], "text/plain": ["<IPython.core.HTML>"]}}


def notebook(path: Path, *cells: list[dict[str, Any]]) -> Path:
    made = [{"cell_type": "code", "source": [], "outputs": outputs} for outputs in cells]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    return path


def rewards(first: int, last: int, loss: float = 0.1) -> list[list[object]]:
    return [[i, loss, 0.01 * i, "No log" if i == first else 120.0] for i in range(first, last + 1)]


COLUMNS = ["Step", "Training Loss", "reward", "completion_length"]


def test_html_table_behind_a_warm_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table counts, the answers printed beside it do not; the warm start's rows are counted, not mixed in."""
    warm = table(["Step", "Training Loss"], [[i, 0.5] for i in range(1, 21)], 20)
    prints = stream("Step 1/15: health 55.30%\nThe answer: 42 = 6 * 7, step 3: loss = 9\n")
    path = notebook(tmp_path / "grpo.ipynb", [], [warm], [prints, table(COLUMNS, rewards(1, 40), 50)])
    report = reported(path, capsys)
    assert report["run"]["steps"] == {"first": 1, "last": 40, "total": 50, "rows": 40}
    by_key = {m["key"]: m for m in report["metrics"].values()}
    assert by_key["reward"]["last_value"] == pytest.approx(0.4)
    assert by_key["loss"]["last_value"] == 0.1
    assert by_key["completion_length"]["count"] == 39
    assert report["run"]["sources"][0]["skipped"] == 20


def test_training_that_goes_on_in_a_later_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = notebook(tmp_path / "a.ipynb", [table(COLUMNS, rewards(1, 20), 40)], [table(COLUMNS, rewards(21, 40), 40)])
    assert reported(path, capsys)["run"]["steps"]["rows"] == 40


def test_lines_in_the_output_of_a_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"iteration {i}/60: mean_reward=0.{i:02} kl=0.01\n" for i in range(1, 31))
    report = reported(notebook(tmp_path / "b.ipynb", [stream(text)]), capsys)
    assert (report["run"]["steps"]["last"], report["run"]["steps"]["total"]) == (30, 60)


def test_a_notebook_beside_a_log_is_no_run_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {i}, "reward": 0.5, "kl": 0.1}}\n' for i in range(20)))
    notebook(tmp_path / "look.ipynb", [stream("just a plot\n")])
    assert reported(tmp_path, capsys)["run"]["steps"]["rows"] == 20


def test_a_list_of_rows_under_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": i, "reward_mean": 0.01 * i, "kl": 0.1} for i in range(1, 31)]
    (tmp_path / "step_numbers.json").write_text(json.dumps(rows, indent=1))
    assert reported(tmp_path, capsys)["run"]["steps"]["rows"] == 30


def test_one_object_with_a_step_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state.json").write_text('{"step": 5, "loss": 0.5, "reward": 0.1, "kl": 0.1}')
    assert main(["report", str(tmp_path), "--format", "json"]) == 2
    assert "no training log recognised" in capsys.readouterr().err


def test_rows_with_answers_beside_their_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = '{{"step": {i}, "mean_reward": 0.5, "lr": 1e-6, "loss": 0.1, "answers": ["a", "b"], "ground_truth": "{i}"}}\n'
    (tmp_path / "log.jsonl").write_text("".join(row.format(i=i) for i in range(1, 31)))
    assert reported(tmp_path, capsys)["run"]["steps"]["rows"] == 30


def test_rows_that_end_with_the_state_of_the_trainer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"loss": 0.5, "reward": 0.1, "global_step/max_steps": f"{i}/30"} for i in range(1, 31)]
    state = {"best_metric": 0.5, "log_history": [{"loss": 0.5, "step": 1}], "memory": 16.5}
    (tmp_path / "logging.jsonl").write_text("\n".join(map(json.dumps, [*rows, state])) + "\n")
    report = reported(tmp_path, capsys)
    assert report["run"]["steps"] == {"first": 1, "last": 30, "total": 30, "rows": 30}


IPYTHON = """\x1b[31m---------------------------------------------------------------------------\x1b[39m
\x1b[31mValueError\x1b[39m                                Traceback (most recent call last)
\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[7]\x1b[39m\x1b[32m, line 19\x1b[39m
\x1b[32m     17\x1b[39m \x1b[38;5;28;01mimport\x1b[39;00m random
\x1b[32m---> 19\x1b[39m trainer.train()
File \x1b[32m/opt/trl/trainer.py:88\x1b[39m, in \x1b[36mGRPOTrainer.train\x1b[39m\x1b[34m(self)\x1b[39m
\x1b[32m     86\x1b[39m batch = next(self.data)
\x1b[32m---> 88\x1b[39m raise ValueError("no prompt column")
\x1b[31mValueError\x1b[39m: no prompt column in the data"""


@pytest.mark.parametrize("inside", ["notebook", "log"])
def test_the_error_that_ipython_shows_ends_the_run(
    inside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code stands without indent in an IPython traceback; the error is the line that begins with its name."""
    rows = "".join(f"{{'loss': 0.1, 'reward': {0.01 * i:.2f}, 'epoch': {i / 100}}}\n" for i in range(1, 21))
    if inside == "notebook":
        error = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": IPYTHON.split("\n")}
        path = notebook(tmp_path / "grpo.ipynb", [stream(rows), error])
    else:
        path = tmp_path / "ipython.log"
        path.write_text(rows + IPYTHON + "\n")
    report = reported(path, capsys)
    assert report["run"]["state"] == "crashed"
    crash = next(f for f in report["findings"] if f["id"] == "run-crashed")
    assert "ValueError: no prompt column in the data" in json.dumps(crash)
    assert "In[7]" not in json.dumps(crash)


@pytest.mark.parametrize("code", ["# happens only when resuming from a checkpoint", 'print("Training completed")'])
def test_what_the_code_of_a_traceback_says_is_no_event(
    code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comment beside the line that failed made the run one that was resumed, and its end was forgotten."""
    trace = [
        "-" * 75,
        "KeyboardInterrupt                         Traceback (most recent call last)",
        "\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[4]\x1b[39m\x1b[32m, line 2\x1b[39m\n----> 2 trainer.train()",
        f"File /opt/loop.py:31, in Trainer.train(self)\n     30 {code}\n---> 31 self.inputs()",
        "KeyboardInterrupt: ",
    ]
    error = {"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": trace}
    path = notebook(tmp_path / "grpo.ipynb", [table(COLUMNS, rewards(1, 30), 200), error])
    report = reported(path, capsys)
    assert report["run"]["state"] == "crashed"
    assert "stopped by hand at step 30 of 200" in json.dumps(report["findings"])


def shown(html: str, plain: str) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {"text/html": [html], "text/plain": [plain]}}


def frame(last: int) -> dict[str, Any]:
    body = "".join(f"<tr><th>{i - 1}</th><td>{i}</td><td>{i / 64}</td></tr>" for i in range(1, last + 1))
    html = f"<table><tr><th></th><th>step</th><th>reward</th></tr>{body}</table>"
    return shown(html, "   step  reward")


@pytest.mark.parametrize("kind", ["frame", "list"])
def test_a_result_is_read_if_nothing_was_printed(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": i, "reward": i / 64} for i in range(1, 21)]
    result = frame(20) if kind == "frame" else shown("", str(rows))
    report = reported(notebook(tmp_path / "n.ipynb", [stream("done\n")], [result]), capsys)
    assert report["run"]["steps"]["rows"] == 20
    assert report["metrics"]["reward_mean"]["last_value"] == 20 / 64


def test_a_part_of_a_table_that_is_shown_later_hides_no_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = stream("".join(f"step {i}: loss=0.25 reward={i / 64}\n" for i in range(1, 41)))
    report = reported(notebook(tmp_path / "n.ipynb", [printed], [frame(5)]), capsys)
    assert report["run"]["steps"]["rows"] == 40


EVALUATED = ["Epoch", "Training Loss", "Validation Loss", "Reward", "Completions/mean Length"]


def by_epoch(label: str, epochs: int) -> dict[str, Any]:
    """What HF's callback shows with `eval_strategy="epoch"`: the other columns are the evaluation's."""
    made = table(EVALUATED, [[e, e / 32, e / 16, e / 8, 100 + e] for e in range(1, epochs + 1)], 96)
    made["data"]["text/html"][0] = made["data"]["text/html"][0].replace("</progress>", f"</progress>{label}")
    return made


def test_a_table_by_epoch_has_the_steps_that_its_bar_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(notebook(tmp_path / "n.ipynb", [by_epoch("[96/96 00:12, Epoch 3/3]", 3)]), capsys)
    assert report["run"]["steps"] == {"first": 32, "last": 96, "total": 96, "rows": 3}
    by_key = {m["key"]: m for m in report["metrics"].values()}
    assert (by_key["loss"]["last_value"], by_key["eval_loss"]["last_value"]) == (3 / 32, 3 / 16)
    assert (by_key["eval_reward"]["last_value"], by_key["eval_completions/mean_length"]["last_value"]) == (3 / 8, 103)
    assert by_key["eval_reward"]["count"] == 3


@pytest.mark.parametrize("label", ["", "[81/81 00:12, Epoch 2/3]", "[50/100 00:12, Epoch 1.5/3]"])
def test_a_table_by_epoch_without_steps_is_counted(
    label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No bar, one that a planned number of steps cut short, one whose epochs are not equally long."""
    report = reported(notebook(tmp_path / "n.ipynb", [by_epoch(label, 3)]), capsys)
    assert report["run"]["steps"] == {"first": 1, "last": 3, "total": None, "rows": 3}
    by_key = {m["key"]: m for m in report["metrics"].values()}
    assert (by_key["epoch"]["last_value"], by_key["loss"]["last_value"]) == (3, 3 / 32)


def told(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The report of a notebook and what is said beside it."""
    assert main(["report", str(path)]) == 0
    out = capsys.readouterr()
    return out.out, out.err


def test_a_notebook_without_output_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was said to have no rows so far, and one was to wait for more."""
    report, beside = told(notebook(tmp_path / "grpo.ipynb", [], [], []), capsys)
    assert "none of its 3 code cells holds output" in report
    assert "one of its 3 code cells holds output" in beside
    assert "To do: wait" not in report


def test_output_without_a_step_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"loss/total -0.{i % 90 + 10}\n" for i in range(300))
    report, _ = told(notebook(tmp_path / "ppo.ipynb", [stream("ready\n")], [stream(lines)]), capsys)
    assert "300 lines, the first in cell 2, are like “loss/total -0.10”" in report
    assert "To do: wait" not in report


def test_a_notebook_with_rows_has_nothing_to_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, beside = told(notebook(tmp_path / "grpo.ipynb", [], [table(COLUMNS, rewards(1, 40), 50)]), capsys)
    assert "code cells" not in report + beside


def test_rows_that_were_passed_over_are_counted_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It said `20 row of an earlier training`."""
    warm = table(["Step", "Training Loss"], [[i, 0.5] for i in range(1, 21)], 20)
    path = notebook(tmp_path / "grpo.ipynb", [warm], [table(COLUMNS, rewards(1, 40), 50)])
    assert "20 rows of an earlier training" in reported(path, capsys)["run"]["sources"][0]["note"]


def test_lines_that_are_no_json_are_counted_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"step": i, "reward": i / 64}) for i in range(1, 31)]
    path = tmp_path / "metrics.jsonl"
    path.write_text("\n".join([*lines[:9], "{broken", *lines[9:20], "{again", *lines[20:]]) + "\n")
    note = reported(path, capsys)["run"]["sources"][0]["note"]
    assert "2 lines that are not JSON" in note
    report, _ = told(path, capsys)
    assert "Nothing was taken" not in report


def test_a_warm_start_in_the_same_cell_is_no_attempt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run was told to have been restarted at step 1."""
    warm = table(["Step", "Training Loss"], [[i, 0.5 - i / 100] for i in range(1, 21)], 20)
    path = notebook(tmp_path / "grpo.ipynb", [warm, stream("warm\n"), table(COLUMNS, rewards(1, 40), 50)])
    run = reported(path, capsys)["run"]
    assert run["restarts"] == []
    assert run["steps"] == {"first": 1, "last": 40, "total": 50, "rows": 40}
    assert "20 rows of an earlier training" in run["sources"][0]["note"]


@pytest.mark.parametrize("again", [(1, 40), (1, 31), (25, 40)])
def test_a_table_that_a_cell_shows_twice_is_one(
    again: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, last = again
    whole, shown_rows = table(COLUMNS, rewards(1, 31), 50), rewards(1, 40)[first - 1 : last]
    path = notebook(tmp_path / "grpo.ipynb", [whole, table(COLUMNS, shown_rows, 50)])
    run = reported(path, capsys)["run"]
    assert run["restarts"] == []
    assert run["steps"]["rows"] == max(31, last)
    assert not run["sources"][0]["note"]


def test_tables_that_go_on_below_each_other_are_one_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = notebook(tmp_path / "grpo.ipynb", [table(COLUMNS, rewards(1, 20), 50), table(COLUMNS, rewards(21, 40), 50)])
    assert reported(path, capsys)["run"]["steps"]["rows"] == 40
