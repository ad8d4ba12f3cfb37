"""A program that prints a JSON object for each row also prints its last words into the same file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.readers.base import Note
from rltui.readers.formats import make
from tests.unit.reported import told

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 88, in <module>
    trainer.train()
  File "trainer.py", line 400, in step
    loss.backward()
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB
"""


def rows(first: int, last: int) -> str:
    return "".join(
        json.dumps({"step": n, "reward": 0.3 + 0.001 * n, "kl": 0.01, "entropy": 0.7, "lr": 1e-6}) + "\n"
        for n in range(first, last + 1)
    )


def notes(text: str, size: int) -> list[Note]:
    reader, data, out = make("jsonl"), text.encode(), []
    for at in range(0, len(data), size):
        out += reader.feed(data[at : at + size])
    out += reader.finish()
    return [record for record in out if isinstance(record, Note) and record.kind in ("traceback", "oom")]


@pytest.mark.parametrize("size", [7, 1000, 1 << 24])
def test_a_traceback_is_told_with_the_step_before_it(size: int) -> None:
    found = notes(rows(1, 150) + TRACEBACK + rows(151, 300), size)
    assert {note.step for note in found} == {150}
    assert any("OutOfMemoryError" in note.text for note in found)


def test_a_run_that_ends_with_a_traceback_has_crashed(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(rows(1, 120) + TRACEBACK)
    page = told(tmp_path)[2]
    assert page["run"]["state"] == "crashed"
    assert "GPU memory ran out" in page["verdict"]["text"]
    assert page["run"]["steps"]["rows"] == 120


def test_other_words_are_only_counted(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(rows(1, 60) + "saving a checkpoint\n" + rows(61, 120))
    page = told(tmp_path)[2]
    assert page["run"]["state"] != "crashed"
    assert page["run"]["sources"][0]["skipped"] == 1
    assert page["run"]["steps"]["rows"] == 120
