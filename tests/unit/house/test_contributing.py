"""CONTRIBUTING tells the truth: its map is the house, its paths exist, its order is that of the import contracts."""

from __future__ import annotations

import re
import tomllib

from tests.conftest import REPO

TEXT = (REPO / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAP = re.findall(r"^\| `rltui/(\w+)` \|", TEXT, re.MULTILINE)


def test_the_map_names_every_folder() -> None:
    folders = {path.parent.name for path in (REPO / "rltui").glob("*/__init__.py")}
    assert sorted(MAP) == sorted(folders)


def test_the_map_goes_down_as_the_contracts_do() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    floor = {part.strip().removeprefix("rltui."): n for n, layer in enumerate(layers) for part in layer.split("|")}
    assert [floor[name] for name in MAP] == sorted(floor[name] for name in MAP)


def test_every_path_that_is_named_exists() -> None:
    paths = re.findall(r"`((?:rltui|tests|\.ci)/[\w./]+)`", TEXT)
    assert len(paths) > 40
    assert [path for path in paths if not (REPO / path).exists()] == []
