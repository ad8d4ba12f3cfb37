from __future__ import annotations

import json
from collections.abc import Callable
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.cli import main
from rltui.readers.base import Rows
from rltui.readers.formats import make
from rltui.run.history import Table
from tests.unit.readers.reading import read

BLANK = "\r" + " " * 50 + "\r"


def bar(done: int, total: int = 300) -> str:
    return f"\r {100 * done // total:3d}%|███       | {done}/{total} [00:01<00:09, 21.7it/s]"


def line(step: int, extra: str = "") -> str:
    return f"{{'loss': '0.{step}', 'kl': nan, {extra}'epoch': '{step / 100}'}}"


def log(interval: int, steps: int, total: int = 300, first: int = 0) -> str:
    """As on a terminal: every line blanks the bar and paints it again; the bar lags behind in between."""
    out = bar(first, total)
    for step in range(first + 1, steps + 1):
        if step % 3 == 0:
            out += bar(step, total)
        if step % interval == 0:
            out += BLANK + line(step) + "\n" + bar(step, total)
    return out


def buffered(interval: int, steps: int, batch: int, total: int = 300) -> str:
    """As in a file: the bars at once, the lines in batches, one of which lands between blanking and painting."""
    out, waiting = bar(0, total), ""
    for step in range(1, steps + 1):
        out += bar(step, total)
        if step % interval == 0:
            out += BLANK
            if waiting.count("\n") == batch:
                out, waiting = out + waiting, ""
            waiting += line(step) + "\n"
            out += bar(step, total)
    return out + "\n" + waiting


def collected(log: str) -> str:
    """As what keeps logs by line leaves it: every bar is a line, those that blank another are gone."""
    return log.replace(BLANK, "\n").replace("\r", "\n")


@pytest.mark.parametrize("interval", [1, 2, 5, 20])
@pytest.mark.parametrize("total", [300, 1000])
def test_steps_where_each_line_has_its_bar_behind_it(interval: int, total: int) -> None:
    assert read("trl-console", collected(log(interval, 290, total))).steps == list(range(interval, 291, interval))


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_a_bar_behind_lines_that_come_late_is_not_theirs(batch: int) -> None:
    steps = read("trl-console", collected(buffered(5, 290, batch, 1000))).steps
    assert steps in (list(range(5, 291, 5)), list(range(1, 59)))


@pytest.mark.parametrize("interval", [1, 2, 5, 20])
def test_steps_on_a_terminal(interval: int) -> None:
    found = read("trl-console", log(interval, 100))
    assert found.steps == list(range(interval, 101, interval))
    assert found.rows[0][1] == {"loss": float(f"0.{interval}"), "kl": None, "epoch": interval / 100}


@pytest.mark.parametrize("interval", [1, 2, 5, 20])
@pytest.mark.parametrize("batch", [2, 3, 10])
def test_steps_of_a_buffered_log(interval: int, batch: int) -> None:
    assert read("trl-console", buffered(interval, 200, batch)).steps == list(range(interval, 201, interval))


def test_first_step_logged_too() -> None:
    text = bar(0) + bar(1) + BLANK + line(1) + "\n" + bar(1) + bar(10) + BLANK + line(10) + "\n" + bar(10)
    assert read("console", text).steps == [1, 10]


def test_killed_before_the_bar_was_painted_again() -> None:
    text = log(2, 20) + bar(21) + BLANK + line(22) + "\n"
    assert read("trl-console", text).steps[-2:] == [20, 22]


def test_evaluation_rows_stand_at_the_step_before() -> None:
    eval_bar = "\n\r 50%|████      | 4/8 [00:00<00:00, 32.6it/s]\x1b[A"
    text = (
        log(2, 50)
        + eval_bar
        + BLANK
        + "\n"
        + " " * 40
        + "\r\x1b[A{'eval_loss': '0.5', 'eval_reward': '1', 'epoch': '0.05'}\n"
        + bar(50)
        + "\n\r"
        + " " * 40
        + "\r\x1b[A"
        + log(2, 60, first=51)
    )
    found = read("trl-console", text)
    assert [step for step, cells in found.rows if "eval_loss" in cells] == [50]
    assert [step for step, cells in found.rows if "loss" in cells] == list(range(2, 61, 2))
    assert all(note.total == 300 for note in found.notes if note.kind == "progress")


def test_two_launches_in_one_file() -> None:
    found = read("trl-console", log(1, 84) + "\nTraceback\n" + bar(0) + bar(51) + log(1, 90, first=51))
    assert found.steps == [*range(1, 85), *range(52, 91)]


def test_without_a_bar_lines_are_numbered() -> None:
    text = "".join(line(i) + "\n" for i in range(1, 31))
    found = read("trl-console", text, finish=False)
    assert found.steps == list(range(1, 31))
    assert read("trl-console", "".join(line(i) + "\n" for i in range(1, 6))).steps == [1, 2, 3, 4, 5]


def test_a_bar_far_from_the_lines() -> None:
    """W&B's output.log keeps one bar at the top and one at the end."""
    text = bar(0) + "\n" + " " * 60 + "\n" + "".join(line(i) + "\n" for i in range(2, 301, 2)) + bar(300) + "\n"
    assert read("trl-console", text).steps == list(range(2, 301, 2))


def test_a_line_printed_twice_counts_once() -> None:
    text = bar(0) + bar(1) + BLANK + line(1) + "\n" + line(1) + "\n" + bar(1) + bar(2) + BLANK + line(2) + "\n" + bar(2)
    assert read("trl-console", text).steps == [1, 2]


def test_the_summary_ends_the_run_and_is_no_row() -> None:
    found = read("console", log(1, 9) + BLANK + "{'train_runtime': '4.5', 'train_loss': '0.01', 'epoch': '0.09'}\n")
    assert found.steps == list(range(1, 10))
    assert [(note.kind, note.step) for note in found.notes if note.kind == "end"] == [("end", 9)]
    assert "train_runtime" in next(note.text for note in found.notes if note.kind == "end")


def test_other_dicts_are_no_rows() -> None:
    assert read("console", "{'answer': '42', 'prompt': 'epoch', 'completion': 'x'}\n{'input_ids': 3}\n").rows == []


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(1, 60),
    st.booleans(),
    st.lists(st.integers(1, 300), max_size=40),
)
def test_the_same_however_it_is_cut(interval: int, steps: int, held: bool, sizes: list[int]) -> None:
    data = buffered(interval, steps, 4) if held else log(interval, steps)
    assert read("trl-console", data, sizes).rows == read("trl-console", data).rows


def tables(path: Path, format: str) -> Table:
    reader, table = make(format), Table()
    for record in [*reader.feed(path.read_bytes()), *reader.finish()]:
        if isinstance(record, Rows):
            table.add(record)
    return table


@pytest.mark.parametrize("name", ["g01-add-s0", "g02-sort-s1", "g04-copy-s3", "g53-sort-s2", "g54-add-s0"])
def test_console_and_trainer_state_agree(name: str, labelled_run: Callable[[str], Path]) -> None:
    """Two containers of one run: intervals 1, 2, 5, evaluations, dicts among the lines, two launches."""
    run = labelled_run(f"zoo/{name}")
    console = tables(run / "console.log", "console")
    states = sorted(run.glob("outputs/checkpoint-*/trainer_state.json"), key=lambda p: int(p.parent.name[11:]))
    state = tables(states[-1], "trainer-state")
    assert state.n > 40
    for row, step in enumerate(state.steps.tolist()):
        at = console.row_at(step)
        assert at is not None, step
        printed = console.cells(at)
        for key, value in state.cells(row).items():
            if value == value:
                assert isclose(value, printed[key], rel_tol=2e-3, abs_tol=1e-4), (step, key)
    assert console.steps[0] == state.steps[0]


@pytest.mark.parametrize("name", ["trl-grpo-finqa-2400-flat", "trl-grpo-gsm8k-g2-noisy-200"])
def test_buffered_logs_of_others(name: str, labelled_run: Callable[[str], Path]) -> None:
    run = labelled_run(f"real/{name}")
    index = json.loads(next(x for x in (run.parents[1] / "LABELS.jsonl").read_text().splitlines() if f'"{name}"' in x))
    table = tables(next(run.glob("*.log")), "console")
    first, last = index["steps"]
    assert table.steps.tolist() == list(range(first, last + 1))


def test_a_resumed_launch_without_bars_between_is_placed_by_its_epochs() -> None:
    """W&B's copy of the console of a run that went on at step 151."""
    lines = "".join(f"{{'loss': 0.5, 'epoch': {step / 1000}}}\n" for step in range(151, 251))
    text = f"{bar(0, 250)}\n{lines}{bar(250, 250)}\n"
    assert read("trl-console", text).steps == list(range(151, 251))
    coarse = "".join(f"{{'loss': {step}, 'epoch': {step / 1000:.1f}}}\n" for step in range(60, 260, 2))
    found = read("trl-console", f"{bar(0, 250)}\n{coarse}{bar(250, 250)}\n")
    assert found.steps == list(range(1, 101))  # too coarse to tell
    assert found.counted


def test_an_evaluation_among_the_numbers_of_a_step_takes_no_row_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"loss": 0.1, "reward": i / 64, **({"eval_reward": i / 128} if i % 10 == 0 else {}), "epoch": i / 100}
        for i in range(1, 101)
    ]
    path = tmp_path / "console.log"
    path.write_text("".join(f"{row}\n" for row in rows))
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["step"], row["reward_mean"]) for row in found] == [(i, i / 64) for i in range(1, 101)]
    assert {row["step"]: row["val_score"] for row in found if "val_score" in row} == {
        i: i / 128 for i in range(10, 101, 10)
    }


def stamped(step: int, total: int, style: str) -> str:
    """A bar as a line of its own: whole, without its bar, or without its share."""
    rate = f"{step}/{total} [00:01<00:09, 21.7it/s]"
    return {"whole": f" {100 * step // total:3d}%|███       | {rate}", "share": f"3% {rate}", "bare": rate}[style]


@pytest.mark.parametrize("style", ["whole", "share", "bare"])
@pytest.mark.parametrize("glue", ["\n", ""])
@pytest.mark.parametrize("steps", [3, 40])
def test_steps_where_each_line_has_its_bar_above_it(style: str, glue: str, steps: int) -> None:
    """Above all other lines: whoever counted them would say 1, 2, 3."""
    text = "".join(f"{stamped(i, 1500, style)}{glue}{line(i)}\n" for i in range(10, 10 * steps + 1, 10))
    assert read("trl-console", text).steps == list(range(10, 10 * steps + 1, 10))


def test_bars_above_lines_that_come_late_are_not_theirs() -> None:
    text = "".join(f"{stamped(i + 10, 1500, 'whole')}\n{line(i)}\n" for i in range(10, 400, 10))
    assert read("trl-console", text).steps == list(range(1, 40))


@pytest.mark.parametrize("quiet", ["rest", "finish"])
def test_a_launch_that_goes_on_is_not_counted_from_one_while_the_log_is_quiet(quiet: str) -> None:
    """Wherever a reader that follows finds the end of the file: in the newest line, behind it, within the bar."""
    first = log(1, 8, 200)
    second = "\n" + bar(0, 200) + "".join(bar(i, 200) + BLANK + line(i) + "\n" + bar(i, 200) for i in (9, 10))
    after = BLANK + line(11) + "\n" + bar(11, 200)
    for cut in range(len(second) + 1):
        found = read("trl-console", first + second[:cut], finish=False)
        found.take(getattr(found.reader, quiet)())
        found.take(found.reader.feed((second[cut:] + after).encode()))
        assert found.steps[8:] in ([9, 10], [9, 10, 11]), second[:cut][-30:]
