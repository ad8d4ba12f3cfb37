"""Logs that were copied from a terminal, which broke their lines at its width, and logs that only look like that."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.readers.base import Rows
from rltui.readers.console.hard_wraps import WrappedConsole
from rltui.readers.sniff import sniff
from rltui.run.table import Table
from tests.unit.readers.reading import read
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_lines_of_home_made_loops import rows
from tests.unit.session import runs

FORMS = {
    "pairs": "step {n}/600 | loss {a:.4f} | policy_loss {b:.4f} | kl_loss 0.1250 | mean_reward {c:.4f} | ratio 0.99 | "
    "clip_frac 0.0312 | entropy 1.2345",
    "verl": "step:{n} - actor/pg_loss:{b} - actor/grad_norm:{a} - critic/score/mean:{c} - actor/kl_loss:0.125 - "
    "actor/lr:1e-06 - response_length/mean:{n}.0 - timing_s/step:20.5",
    "logged": "2026-01-02 10:00:00,123 - trainer - INFO - Iteration {n}: reward={c:.4f}, loss={a:.4f}, "
    "pg_loss={b:.4f}, kl={a:.4f}, 网络 entropy=1.2345",
    "dict": "{{'loss': {a}, 'grad_norm': {b}, 'learning_rate': 5e-06, 'reward': {c}, 'reward_std': 0.25, 'kl': 0.125, "
    "'epoch': 0.5}}",
}


def text(form: str) -> str:
    between = "Generating 64 completions, this takes a while because the model is large and slow and old ...\n"
    return "".join(
        form.format(n=n, a=round(n * 0.123457, 6), b=round(-n / 7, 6), c=round(n / 611, 6))
        + "\n"
        + (between if n % 7 == 3 else "")
        for n in range(1, 61)
    )


def broken(text: str, width: int) -> str:
    parts = (line[i : i + width] for line in text.split("\n") for i in range(0, max(len(line), 1), width))
    return "\n".join(parts)


@pytest.mark.parametrize("width", [80, 97, 120])
@pytest.mark.parametrize("form", ["pairs", "verl", "dict"])
def test_lines_that_a_terminal_broke_are_whole(form: str, width: int, tmp_path: Path) -> None:
    whole = rows(tmp_path, text(FORMS[form]))
    assert len(whole) == 60
    assert rows(tmp_path, broken(text(FORMS[form]), width)) == whole


def test_signs_that_fill_two_places_count_twice(tmp_path: Path) -> None:
    whole, out = text(FORMS["logged"]), []
    for line in whole.split("\n"):
        at = 0
        part = ""
        for sign in line:
            size = 1 if sign.isascii() else 2
            if at + size > 80:
                out.append(part)
                part, at = "", 0
            part, at = part + sign, at + size
        out.append(part)
    assert [row["entropy"] for row in rows(tmp_path, "\n".join(out)).values()] == [1.2345] * 60


@pytest.mark.parametrize("cut", [1, 7, 100, 5000])
def test_where_the_bytes_are_cut_makes_no_difference(cut: int) -> None:
    data = broken(text(FORMS["pairs"]), 80).encode()
    whole = read("wrapped-console", data)
    pieces = read("wrapped-console", data, [cut] * (len(data) // cut))
    assert sniff(data, "train.log") == "wrapped-console"
    assert (pieces.steps, pieces.rows) == (whole.steps, whole.rows)


ONLY_ALIKE = {
    "cut samples": "step {n} loss {a:.4f} reward {c:.3f}\nSample: "
    + "the answer is found in the book of numbers " * 2
    + "th",
    "rows of one width": "step {n:05d} loss {a:09.4f} reward {c:.4f} kl 0.1250 len 00311 clip 0.0312 grad 1.2345 saved",
    "set in columns": "[01/02/26 03:04:05] INFO     Step {n:04d} loss={a:09.4f} reward={c:.4f}     trainer.py:120\n"
    "                             kl=0.0012 lr=1e-06 clip=0.0312",
    "a table": "| step {n:04d} | loss {a:09.4f} | reward {c:.4f} | kl 0.1250 | entropy 1.2345 | lr 1e-06 |",
    "rules": "=" * 80 + "\nstep {n} loss {a:.4f} reward {c:.3f}\n" + "-" * 80,
}


@pytest.mark.parametrize("form", ONLY_ALIKE.values(), ids=ONLY_ALIKE)
def test_lines_of_one_width_that_are_whole_stay(form: str, tmp_path: Path) -> None:
    assert sniff(text(form).encode(), "train.log") == "console"
    found = rows(tmp_path, text(form))
    assert {n: row["reward_mean"] for n, row in found.items()} == {
        n: pytest.approx(n / 611, abs=6e-4) for n in range(1, 61)
    }


def test_a_long_first_line_was_not_broken(tmp_path: Path) -> None:
    """A bar that is painted often is one line: the log behind it is read."""
    painted = "".join(f"\rloading: {i // 10:3d}%|#####     | {i}/1000 [00:12<13:20,  1.06it/s]" for i in range(1001))
    path = tmp_path / "train.log"
    path.write_text(painted + "\n" + "".join(f"step {i} | loss {i / 64} | kl 0.5\n" for i in range(1, 31)))
    assert ends(reported(path), "total_loss") == (30, 1 / 64, 30 / 64)


@pytest.mark.parametrize("width", [80, 97])
@pytest.mark.parametrize("form", ["pairs", "verl"])
def test_rows_come_while_the_log_is_short(
    form: str, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that grows by few bytes shows each row once it is quiet, as the whole log has it."""
    monkeypatch.setattr("rltui.session.run_reader.REST_S", -1.0)
    data = broken(text(FORMS[form]), width).encode()
    log, start = tmp_path / "train.log", 2000
    log.write_bytes(data[:start])
    opened = runs.opened(log, follow=True)
    opened.rest()
    assert len(runs.content(opened)) >= 3
    for at in range(start, len(data), 311):
        with log.open("ab") as out:
            out.write(data[at : at + 311])
        opened.poll()
        opened.rest()
        complete = read("wrapped-console", data[: data.rfind(b"\n", 0, at + 311) + 1])
        assert len(runs.content(opened)) >= len(complete.steps) - 1
    assert runs.content(opened) == runs.content(runs.opened(log))


@pytest.mark.parametrize("cut", [1, 7, 80, 81, 311])
def test_a_quiet_log_is_read_as_the_whole_one(cut: int) -> None:
    data = broken(text(FORMS["pairs"]), 80).encode()
    reader = WrappedConsole()
    records = []
    for at in range(0, len(data), cut):
        records += [*reader.feed(data[at : at + cut]), *reader.rest()]
    records += reader.finish()
    table = Table()
    for one in records:
        if isinstance(one, Rows):
            table.add(one)
    found = {int(step): dict(table.cells(row)) for row, step in enumerate(table.steps)}
    assert found == dict(read("wrapped-console", data).rows)
    assert set(found) == set(range(1, 61))
