"""Lines and bars behind the stamps of containers, of C and in angles: all rows, at their steps and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import but_pace, content, opened

BEGIN = datetime(2026, 11, 3, 9, 59, 1, tzinfo=UTC)
APART = 61
STEPS = range(1, 41)
LEADS = {
    "a pod": "pod/trainer-0 %Y-%m-%dT%H:%M:%S.123Z ",
    "a pod and its container": "[pod/trainer-0/main] %Y-%m-%dT%H:%M:%S.123Z ",
    "Kubernetes": "%Y-%m-%dT%H:%M:%S.123456789Z stderr F ",
    "angles": "<%Y-%m-%d %H:%M:%S> ",
    "C": "%c ",
    "C and a colon": "%c: ",
    "C in brackets": "[%c] ",
}
LINES = {
    "named": "step {i} | loss {x} | reward 0.5",
    "counted": "[{i}/300] loss {x} reward 0.5",
    "a dict": "{{'step': {i}, 'loss': {x}, 'reward': 0.5}}",
    "verl": "step:{i} - loss:{x} - reward:0.5",
    "a heading": "===== Step {i}/300 =====\n    loss: {x}\n    reward: 0.5",
    "a bar": "{i:3}%|▏ | {i}/200 [00:12<13:20, 4.06s/it, loss={x}, reward=0.5]",
    "a bar of training": "Training:  {i}%|▏ | {i}/200 [00:12<13:20, 4.06s/it, loss={x}, reward=0.5]",
    "a bar of an episode": "Episode [{r}/9]: {n}%|▏ | {n}/10 [00:12<13:20, 4.06s/it, loss={x}, reward=0.5]",
}
EXPECTED = {i: {"loss": pytest.approx(i / 64), "reward": 0.5} for i in STEPS}


def stamped(lead: str, i: int) -> str:
    moment = BEGIN + timedelta(seconds=APART * i)
    return moment.strftime(lead.replace("%c", "%a %b {day} %H:%M:%S %Y")).replace("{day}", f"{moment.day:2}")


def log(lead: str, form: str) -> str:
    out = []
    for i in STEPS:
        text = form.format(i=i, x=i / 64, r=1 + (i - 1) // 10, n=1 + (i - 1) % 10)
        out += [f"{stamped(lead, i)}{line}\n" for line in text.split("\n")]
    return "".join(out)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("form", LINES)
def test_rows_and_their_times(form: str, lead: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(LEADS[lead], LINES[form]))
    run = opened(path)
    assert but_pace(content(run)) == EXPECTED
    times = [float(time) for time in run.run.history.table.times]
    assert {round(b - a, 3) for a, b in pairwise(times)} == {APART}


@pytest.mark.parametrize("lead", LEADS)
def test_a_bar_behind_a_stamp_tells_the_steps_of_the_dicts_below(lead: str, tmp_path: Path) -> None:
    lines = []
    for i in STEPS:
        lines.append(f"{stamped(LEADS[lead], i)}{i:3}%|▏ | {i}/200 [00:12<13:20,  4.06s/it]\n")
        if i % 5 == 0:
            lines.append(f"{stamped(LEADS[lead], i)}{{'loss': {i / 64}, 'reward': 0.5, 'epoch': {i / 200}}}\n")
    path = tmp_path / "train.log"
    path.write_text("".join(lines))
    rows = content(opened(path))
    assert {step: row["loss"] for step, row in rows.items()} == {i: i / 64 for i in STEPS if i % 5 == 0}
    steps = reported(path)["run"]["steps"]
    assert (steps["first"], steps["last"], steps["total"], steps["rows"]) == (5, 40, 200, 8)


@pytest.mark.parametrize("said", ["Tue Nov 3 was warm", "Mon Sep 21 10:00:00 is late", "<b> 3 of 4 </b>", "pod/x 3 4"])
def test_words_that_look_like_a_lead_are_of_no_step(said: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"step {i} | loss {i / 64} | reward 0.5\n{said}\n" for i in STEPS))
    assert content(opened(path)) == EXPECTED


@pytest.mark.parametrize("form", ["named", "a bar of an episode"])
def test_where_the_bytes_are_cut_makes_no_difference(form: str) -> None:
    data = log(LEADS["Kubernetes"], LINES[form])[:900].rpartition("\n")[0].encode() + b"\n"
    whole = by_step([data])
    assert len(whole) > 5
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))
