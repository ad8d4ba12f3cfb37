"""A folder with one file that cannot be read says of it what the file alone does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import refused

LINES = "".join(f"after {i} rounds the agent got {0.2 + 0.01 * i:.2f} of the reward\n" for i in range(1, 30))


@pytest.mark.parametrize("text", [LINES, "", "nothing but words\n" * 20])
def test_one_refused_file_in_a_folder(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out" / "train.log"
    path.parent.mkdir()
    path.write_text(text)
    assert refused(path.parent) == refused(path)


def test_the_pattern_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(LINES)
    assert "--line 'after {step} rounds" in refused(tmp_path)


def test_of_several_files_the_number_is_told(tmp_path: Path) -> None:
    for name in ("train.log", "other.log"):
        (tmp_path / name).write_text(LINES)
    assert "in 2 files" in refused(tmp_path)
