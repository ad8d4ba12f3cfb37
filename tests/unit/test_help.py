"""`rltui help`: every page can be had, no page says what the code does not, and `version` is understood."""

from __future__ import annotations

import re
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


def options(capsys: pytest.CaptureFixture[str], command: str) -> str:
    with pytest.raises(SystemExit):
        main([command, "--help"] if command else ["--help"])
    return capsys.readouterr().out


ENTRY = re.compile(r"^  (-{1,2}[\w-]+|[A-Z]+\b|\{)")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_each_option_says_what_it_does(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = options(capsys, command).splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if ENTRY.match(line) and not line.startswith("  RUN can"):
            assert re.search(r"\S {2,}\S", line.strip()) or following.startswith(" " * 20), line
    assert max(map(len, lines)) <= 110
    assert "exit code" in " ".join(lines).lower()


def test_the_first_help_says_what_each_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    lines = options(capsys, "").splitlines()
    for name, (_, does) in COMMANDS.items():
        assert any(line.split()[:1] == [name] and does in line for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_where_runs_are_is_told_by_commands_that_take_one(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = options(capsys, command)
    takes = re.search(r"usage:[^\n]*(\n +[^\n]*)*\b(RUN|DIR)\b", page.split("\n\n")[0]) is not None
    assert ("slurm:[JOBID]" in page) == takes


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


def test_exit_code_and_places_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`verify` ends with 1 if something is wrong, and directories are not read from standard input."""
    assert "1 something is wrong" in options(capsys, "verify")
    assert "standard input" not in options(capsys, "runs")
