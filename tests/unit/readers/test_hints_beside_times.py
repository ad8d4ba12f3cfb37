"""Dates and durations in the words of a line are no numbers of a training: no hint makes a step of a day."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import refused

LINES = [
    "Starting DPO fine-tuning at 2026-05-{n} 19:10:01.010021 for model type: llama3",
    "saved a copy after 1:{n}:12.047",
    "We will use 90% of the memory on device 0 for the model, and 10% for the buffer",
    "Loading the base model Llama-2-{n}b-hf as llama3\nLoading the base model Llama-2-7b-hf as llama3",
    "━━━━━━━━━━━━ 239.{n}/239.9 KB 23.7 MB/s eta 0:00:00",
    "Run completed at 2026-05-{n}T20:13:19.8. Total duration: 1:00:{n}.5",
]


@pytest.mark.parametrize("line", LINES)
def test_lines_that_only_tell_when_are_not_offered(line: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(line.format(n=n) + "\n" for n in range(10, 30)))
    assert "--line" not in refused(path)


def test_nor_is_a_day_the_step_of_one_with_other_numbers(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    each = range(10, 30)
    path.write_text("".join(f"written on 2026-05-{n} at stage {n} out: quality 0.{n} and zeal 3.{n}\n" for n in each))
    assert "-{step}" not in refused(path)
