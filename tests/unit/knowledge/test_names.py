"""What the report calls each key and setting of each framework."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.knowledge.names import NAMES, Asked, called, write


@pytest.mark.parametrize("file", sorted(NAMES.glob("*.txt")), ids=lambda file: file.stem)
def test_names_of_a_framework(file: Path, tmp_path: Path) -> None:
    for number, part in enumerate(file.read_text(encoding="utf-8").strip().split("\n\n")):
        head, *lines = part.splitlines()
        asked = json.loads(head)
        framework = asked.pop("framework")
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder, Asked(**asked))
        assert called(folder) == (framework, lines)
