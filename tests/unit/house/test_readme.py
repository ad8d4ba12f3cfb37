"""The README tells the truth: its key table is the one in the code, its links and commands exist."""

from __future__ import annotations

import re

import pytest

from rltui.cli import main
from rltui.frameworks.support import markdown_table as frameworks_table
from rltui.tui.keys import markdown_table
from tests.conftest import REPO

README = (REPO / "README.md").read_text(encoding="utf-8")


def test_key_table_is_the_codes() -> None:
    found = re.search(r"<!-- keys:.*?-->\n(.*?)<!-- /keys -->", README, re.DOTALL)
    assert found
    assert found.group(1).strip() == markdown_table().strip(), "write rltui.tui.keys.markdown_table() into the README"


def test_table_of_frameworks_is_the_vocabularys() -> None:
    found = re.search(r"<!-- frameworks:.*?-->\n(.*?)<!-- /frameworks -->", README, re.DOTALL)
    assert found
    wanted = frameworks_table().strip()
    assert found.group(1).strip() == wanted, "write rltui.frameworks.support.markdown_table() into the README"


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (REPO / target).exists(), target


def test_commands_of_the_tour_are_understood(capsys: object) -> None:
    commands = set(re.findall(r"^rltui (report|runs|doctor|demo)\b", README, re.MULTILINE))
    assert commands == {"report", "runs", "doctor"}
    for command in commands:
        with pytest.raises(SystemExit) as done:
            main([command, "--help"])
        assert done.value.code == 0
