"""`rltui help`: every page can be had, no page says what the code does not, and `version` is understood."""

from __future__ import annotations

from typing import get_args

import pytest

from rltui import __version__
from rltui.cli import COMMANDS, main
from rltui.evidence.model import Basis, Decision, Level, Severity, Status
from rltui.run.liveness import State
from rltui.tui.keys import KEYS


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def topics(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.split()[0] for line in told(capsys, "help").splitlines() if line.startswith("  ")]


def test_every_topic_of_the_list_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    found = topics(capsys)
    assert {"changes", "exit-codes", "keys", "glossary", "contributing"} <= set(found)
    assert not set(found) & set(COMMANDS), "a command's name gives its options"
    pages = {topic: told(capsys, "help", topic) for topic in found}
    assert all(page.startswith("# ") and len(page) > 200 for page in pages.values())
    assert len(set(pages.values())) == len(pages)


def test_the_words_are_those_that_a_report_may_hold(capsys: pytest.CaptureFixture[str]) -> None:
    page = told(capsys, "help", "glossary")
    for word in (*get_args(State), *get_args(Decision)):
        assert f"| {word} |" in page
    for word in (*get_args(Severity), *get_args(Status), *get_args(Level)):
        assert f"| {word} |" in page or f" (JSON: `{word}`) |" in page
    for word in get_args(Basis):
        assert word in page


def test_the_keys_are_those_of_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    page = told(capsys, "help", "keys")
    assert all(key.tooltip.replace("|", "\\|") in page for key in KEYS)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "help"])
def test_a_commands_name_gives_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["help", command])
    assert done.value.code == 0
    assert f"usage: rltui {command}" in capsys.readouterr().out


def test_another_topic_is_one_line_that_names_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "exitcodes"]) == 2
    says = capsys.readouterr().err
    assert says.count("\n") == 1
    assert "exit-codes" in says


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["version"], ["--version"]):
        with pytest.raises(SystemExit):
            main(words)
        assert capsys.readouterr().out == f"rltui {__version__}\n"
