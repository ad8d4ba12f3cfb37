"""The user's settings: they change rules, and what is wrong in them is told with file, line and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui import settings
from rltui.cli import main
from rltui.rules.catalogue import adjusted, rules
from rltui.settings import SettingsError, parse
from tests.conftest import REPO

VALID = """\
# mine
[rules.kl-runaway]
enabled = false

[rules.truncation-high]
params.warn = 0.4
[rules."reward-plateau".params]
flat = 1
"""


def test_switches_and_thresholds_reach_the_catalogue() -> None:
    warn = next(iter(rules()["truncation-high"].params))
    text = f"[rules.kl-runaway]\nenabled = false\n[rules.truncation-high]\nparams.{warn} = 0.4\n"
    changed = adjusted(parse(text, "config.toml"))
    assert not changed["kl-runaway"].enabled
    assert changed["truncation-high"].values()[warn] == 0.4
    assert "default" in changed["truncation-high"].params[warn].why
    assert {i for i in changed if changed[i] != rules()[i]} == {"kl-runaway", "truncation-high"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[rules.kl-runaway]\nenabled = 1\n", ["line 2", "rules.kl-runaway.enabled", "true or false"]),
        ("\n[rules.kl-runaway]\nparams.high = 'x'\n", ["line 3", "rules.kl-runaway.params.high", "a number"]),
        ("[rules.kl-runaway]\nparams.high = nan\n", ["line 2", "a number"]),
        ("[rules.kl-runaway]\nparams = { high = true }\n", ["line 2", "rules.kl-runaway.params.high"]),
        ("[rules.kl-runaway]\nparams.hihg = 1\n", ["line 2", "rules.kl-runaway.params.hihg", "high"]),
        ("[rules]\nkl-runaway = 3\n", ["line 2", "rules.kl-runaway", "table"]),
        ("a = 1\n", ["line 1", "a: no such section", "rules"]),
        ("[rules.kl-runawy]\n", ["line 1", "rules.kl-runawy", "Near: kl-runaway"]),
        ("[rules.kl-runaway]\nlevel = 1\n", ["line 2", "rules.kl-runaway.level", "enabled"]),
        ("[rules\n", ["line 1", "TOML"]),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(text: str, says: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        adjusted(parse(text, "my/config.toml"))
    for word in ("my/config.toml", *says):
        assert word in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    refused = None
    try:
        adjusted(parse(text, "config.toml"))
    except SettingsError as problem:
        refused = str(problem)
    assert refused is None or refused.startswith("config.toml")


def test_a_switched_off_rule_does_not_speak(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(REPO / "sample_runs" / "trl-reward-flip")

    def report() -> dict[str, object]:
        assert main(["report", run, "--format", "json"]) == 0
        loaded: dict[str, object] = json.loads(capsys.readouterr().out)
        return loaded

    def ids(data: dict[str, object]) -> set[str]:
        findings = data["findings"]
        assert isinstance(findings, list)
        return {f["id"] for f in findings}

    assert {"kl-runaway", "reward-collapse"} <= ids(report())
    own.write_text("[rules.kl-runaway]\nenabled = false\n[rules.reward-collapse]\nenabled = false\n")
    settings._load.cache_clear()
    assert not {"kl-runaway", "reward-collapse"} & ids(report())


def test_config_shows_and_checks(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(own)
    own.write_text("[rules.kl-runaway]\nenabled = false\nparams.high = 1.5\n")
    assert main(["config", "show"]) == 0
    shown = capsys.readouterr().out
    assert "kl-runaway: switched off" in shown
    assert "kl-runaway: high 1.5 (default 0.5)" in shown
    assert main(["config", "check"]) == 0
    assert "2 settings changed" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["config", "check"], ["report", str(REPO / "sample_runs" / "trl-nan-crash")]])
def test_wrong_settings_end_a_command_with_exit_code_2(
    own: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    own.write_text("[rules.nope]\nenabled = false\n")
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"rltui: {own}, line 1: rules.nope: no such rule\n"


def test_absent_settings_change_nothing(own: Path) -> None:
    assert settings.load() == settings.Settings(str(own))
    assert adjusted(settings.load()) == rules()


def test_a_relative_config_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "here")
    assert settings.path().endswith("/.config/rltui/config.toml")
