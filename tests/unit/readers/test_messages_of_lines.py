"""Headings that a logger writes, with the numbers of their step on lines below that bear no lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import content, opened

STEPS = range(1, 21)
BELOW = "    reward: {x}\n    kl = 0.25\n"
LEADS = {
    "the file": "INFO 11-24 18:20:{i:02} [trainer.py:12] ",
    "the logger": "INFO:trainer:",
    "time, logger and level": "2026-11-24 18:20:{i:02},123 - trainer - INFO - ",
    "a process of Ray": "(Trainer pid=12) INFO:trainer:",
}
BODIES = {
    "set in": BELOW,
    "not set in": "reward: {x}\nkl = 0.25\n",
    "a box": "+----+----+\n| Metric | Value |\n+----+----+\n| reward | {x} |\n| kl | 0.25 |\n+----+----+\n",
    "columns": "    reward        {x}\n    kl            0.25\n",
    "a title between": "    rollout:\n        reward: {x}\n    policy:\n        kl: 0.25\n",
}
CONTAINERS = (
    "2026-11-24T18:20:{i:02}.123456789Z stdout F ",
    "pod/trainer-0 2026-11-24T18:20:{i:02}.123456789Z ",
    "trainer-0 master 2026-11-24T18:20:{i:02}.123Z stdout F ",
    "trainer-1  | ",
)
OTHERS = {
    "a line of another program": "INFO:vllm:usage: 0.91 reward: 7\n",
    "another program's message of several lines": "INFO:vllm:what the engine did in ten seconds\n    running: 3\n",
    "code of a completion": "Completion:\n    x = 3\n    score = 9\n",
    "code of a completion in marks": "```python\n    x = 3\n    score = 9\n```\n",
    "a function": "def f():\n    x = 3\n    loss = 9\n",
    "a table below a sentence": "The shop sells these.\n    apples        3\n    | pears | 4 |\n",
    "a prompt": "Prompt: how many are left?\n    answer: 3\n    margin: 4\n",
}
EXPECTED = {i: {"reward": i / 64, "kl": 0.25} for i in STEPS}


def log(lead: str, body: str, behind: str = "") -> str:
    heading = lead + "===== Step {i}/300 =====\n"
    return "".join(heading.format(i=i) + body.format(x=i / 64) + behind for i in STEPS)


def before_each(lead: str, text: str) -> str:
    """What a container or Ray puts before each line."""
    lines = text.splitlines()
    return "".join(f"{lead.format(i=n % 60)}{line}\n" for n, line in enumerate(lines))


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("body", BODIES)
def test_lines_below_a_heading_of_a_logger_are_of_its_step(lead: str, body: str, tmp_path: Path) -> None:
    process, _, logger = LEADS[lead].rpartition(") ")
    process += ") " if process else ""
    path = tmp_path / "train.log"
    path.write_text(before_each(process, log(logger, BODIES[body])))
    report = reported(path)
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["total"], steps["rows"]) == (1, 20, 300, 20)
    assert ends(report, "reward_mean") == (20, 1 / 64, 20 / 64)
    assert content(opened(path)) == EXPECTED


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_container_has_a_lead_before_each_line(container: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(before_each(container, log("INFO:trainer:", BELOW)))
    assert content(opened(path)) == EXPECTED


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_line_of_that_message_is_of_no_step(other: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log("INFO:trainer:", BELOW, OTHERS[other]))
    assert content(opened(path)) == EXPECTED


@pytest.mark.parametrize("line", ["INFO:vllm:usage: 0.91 reward: 7", "WARNING 11-24 18:20:01 [vllm.py:3] loss: 3"])
def test_a_line_of_another_program_between_them_is_of_no_step(line: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    text = log("INFO 11-24 18:20:01 [trainer.py:12] ", BELOW)
    path.write_text(text.replace("=====\n", f"=====\n{line}\n").replace("\n    kl", f"\n{line}\n    kl"))
    assert content(opened(path)) == EXPECTED


def test_lines_below_another_programs_heading_are_its_own(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    stats = "INFO:vllm:statistics:\n    reward: 7\n    kl: 8\n"
    path.write_text(log("INFO:trainer:", BELOW, stats))
    assert content(opened(path)) == EXPECTED


def test_numbers_that_no_training_has_make_no_row_below_a_heading(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    known = "".join(f"{{'step': {i}, 'loss': 0.5, 'reward': {i / 64}}}\n" for i in STEPS)
    path.write_text(known + log("INFO:cook:", "    flour: 3\n    sugar = 4\n"))
    assert content(opened(path)) == {i: {"loss": 0.5, "reward": i / 64} for i in STEPS}


@pytest.mark.parametrize("body", ["set in", "a box"])
def test_where_the_bytes_are_cut_makes_no_difference(body: str) -> None:
    lines = log("INFO:trainer:", BODIES[body], OTHERS["a prompt"]).split("INFO", 4)[:4]
    data = "INFO".join(lines).encode()
    whole = by_step([data])
    assert whole == {i: {"reward": i / 64, "kl": 0.25} for i in range(1, 4)}
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))
