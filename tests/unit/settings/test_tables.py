"""Every table of the settings: what is wrong is told with line and key, what is right acts, the example is whole."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from rltui import settings
from rltui.cli import main
from rltui.cli.arguments import named_hosts
from rltui.run.names import own_aliases
from rltui.settings import SettingsError, parse
from rltui.settings.model import TABLES, Host
from rltui.tui import keys
from tests.conftest import REPO

HEALTHY = str(REPO / "sample_runs" / "trl-grpo-healthy")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[alrets]\n", ["line 1", "alrets", "did you mean alerts?"]),
        ("[alerts]\nlevle = 'warning'\n", ["line 2", "alerts.levle", "did you mean level?"]),
        ("[alerts]\nlevel = 'info'\n", ["line 2", "alerts.level", "'warning', 'critical'"]),
        ("[alerts]\nbell = 1\n", ["line 2", "alerts.bell", "true or false"]),
        ("[alerts]\ncooldown_s = -1\n", ["line 2", "alerts.cooldown_s", "whole number"]),
        ("[alerts]\n\nquiet = '22-7'\n", ["line 3", "alerts.quiet", "22:00-07:00"]),
        ("[screen]\ntheme = 3\n", ["line 2", "screen.theme", "text"]),
        ("[screen]\nglyphs = 'dots'\n", ["line 2", "screen.glyphs", "'braille'"]),
        ("[away]\nminutes = 0\n", ["line 2", "away.minutes", "1 or more"]),
        ("[compare]\ncost = 'euro'\n", ["line 2", "compare.cost", "'tokens'"]),
        ("[watch]\nwebhook = 1\n", ["line 2", "watch.webhook", "text"]),
        ("[aliases]\nreward_maen = 'x'\n", ["line 2", "aliases.reward_maen", "did you mean reward_mean?"]),
        ("[aliases]\n'phase:rolout' = 'x'\n", ["line 2", "aliases.phase:rolout", "did you mean phase:rollout?"]),
        ("[aliases]\nreward_mean = ['x', 3]\n", ["line 2", "aliases.reward_mean", "text"]),
        ("[hosts.node17]\nshs = 'me@x'\n", ["line 2", "hosts.node17.shs", "did you mean ssh?"]),
        ("[hosts.node17]\nssh = '-oProxyCommand=x'\n", ["line 2", "hosts.node17.ssh", "host"]),
        ("[hosts.node17]\npaths = ['/a']\n", ["line 1", "hosts.node17.ssh"]),
        ("[keys]\nqiut = 'x'\n", ["line 2", "keys.qiut", "did you mean quit?"]),
        ("[keys]\nquit = 'nokey'\n", ["line 2", "keys.quit", "'nokey' is no key"]),
        ("[keys]\nquit = 'j'\n", ["line 2", "keys.quit", "move.down"]),
        ("keys = 3\n", ["line 1", "keys", "table"]),
    ],
)
def test_what_is_wrong_is_named_with_line_key_and_the_near_name(text: str, says: list[str]) -> None:
    def read() -> None:
        made = parse(text, "my/config.toml")
        own_aliases(made)
        keys.remapped(made)

    with pytest.raises(SettingsError) as caught:
        read()
    for word in ("my/config.toml", *says):
        assert word in str(caught.value)


def test_the_example_holds_every_key_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "example"]) == 0
    text = capsys.readouterr().out
    assert parse(text, "example") == settings.Settings("example", True, lines=parse(text, "example").lines)
    said = tomllib.loads(re.sub(r"^# (?=\[|[\w.\"-]+ = )", "", text, flags=re.MULTILINE))
    for table, kind in TABLES.items():
        assert list(said[table]) == list(kind._fields)
        for name in kind._fields:
            default = getattr(kind(), name)
            assert default is None or said[table][name] == default, f"{table}.{name}"
    assert said["keys"] == {key.id: key.keys for key in keys.KEYS}
    from rltui.rules.catalogue import rules

    assert {i: r.get("params", {}) for i, r in said["rules"].items()} == {
        i: pytest.approx(rule.values()) for i, rule in rules().items()
    }


def test_the_example_with_all_its_lines_is_valid(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "example"])
    text = re.sub(r"^# (?=\[|[\w.\"-]+ = )", "", capsys.readouterr().out, flags=re.MULTILINE)
    own.write_text(text)
    assert main(["config", "check"]) == 0
    assert ": valid, " in capsys.readouterr().out


def test_show_tells_every_kind_of_change_and_no_secret(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(
        "[alerts]\nbell = false\n[watch]\nwebhook = 'https://hooks.example/T0/secret'\n[keys]\nquit = 'X'\n"
        "[aliases]\nreward_mean = 'my/reward'\n[hosts.far]\nssh = 'me@far'\npaths = ['/data']\n"
    )
    assert main(["config", "show"]) == 0
    out = capsys.readouterr().out
    for line in (
        "alerts.bell: false (default true)",
        "watch.webhook: (set)",
        "keys.quit: X",
        "aliases.reward_mean: my/reward",
        "hosts.far: me@far /data",
    ):
        assert line in out
    assert "secret" not in out


def test_check_knows_themes_and_keys(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text("[screen]\ntheme = 'drak'\n")
    assert main(["config", "check"]) == 2
    assert "line 2: screen.theme: no theme drak" in capsys.readouterr().err
    settings._load.cache_clear()
    own.write_text("[keys]\nquit = 'j'\n")
    assert main(["config", "check"]) == 2
    assert "line 2: keys.quit" in capsys.readouterr().err


def test_hosts_stand_for_their_paths(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own.write_text("[hosts.far]\nssh = 'me@login:22'\npaths = ['/data/a', 'runs']\n[hosts.bare]\nssh = 'x'\n")
    assert settings.load().hosts["bare"] == Host("x")
    both = ["ssh://me@login:22/data/a", "ssh://me@login:22/~/runs"]
    assert named_hosts(["far", "here", "other:p"]) == [*both, "here", "other:p"]
    assert named_hosts(["far:/x", "far:run5"]) == ["ssh://me@login:22/x", "ssh://me@login:22/~/run5"]
    with pytest.raises(SettingsError, match="names no paths"):
        named_hosts(["bare"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far").mkdir()
    assert named_hosts(["far"]) == ["far"], "what is here wins"


def test_an_alias_names_a_metric_where_it_is_logged(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "metrics.jsonl"
    rows = [{"step": s, "mine/r": 0.1 * s, "kl": 0.01, "loss": 0.5} for s in range(1, 40)]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def names(path: str) -> dict[str, str]:
        assert main(["report", path, "--format", "json"]) == 0
        return {name: m["key"] for name, m in json.loads(capsys.readouterr().out)["metrics"].items()}

    assert "reward_mean" not in names(str(run))
    usual = names(HEALTHY)["reward_mean"]
    own.write_text("[aliases]\nreward_mean = ['not/here', 'mine/r']\n")
    settings._load.cache_clear()
    assert names(str(run))["reward_mean"] == "mine/r"
    assert names(HEALTHY)["reward_mean"] == usual, "a run without the key is read as before"
    own.write_text("[aliases]\nreward_maen = 'x'\n")
    settings._load.cache_clear()
    assert main(["report", str(run)]) == 2
    assert "line 2: aliases.reward_maen" in capsys.readouterr().err


@pytest.mark.long
def test_compare_ranks_by_the_settings(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(REPO / "sample_runs" / name) for name in ("trl-grpo-healthy", "trl-reward-flip")]

    def primary(*more: str) -> str:
        assert main(["compare", *runs, "--format", "json", *more]) == 0
        found: str = json.loads(capsys.readouterr().out)["primary"]["name"]
        return found

    usual = primary()
    own.write_text("[compare]\nprimary = 'entropy'\n")
    settings._load.cache_clear()
    assert usual != "entropy"
    assert primary() == "entropy"
    assert primary("--primary", usual) == usual, "the command line wins"
    own.write_text("[compare]\nprimary = 'my_score'\n")
    settings._load.cache_clear()
    assert primary() == usual, "settings that speak of other runs change nothing"


def test_keys_of_the_user_are_bound_and_shown(own: Path) -> None:
    own.write_text('[keys]\nquit = "X"\nstep.back = "comma"\n"filter.next" = ["ctrl+g", "f7"]\n')
    keys.adopt(settings.load())
    bound = {b.id: b.key for b in keys.bindings("main")}
    assert (bound["quit"], bound["step.back"], bound["filter.next"]) == ("X", "comma", "ctrl+g,f7")
    assert (", ]", "step") in keys.footer("main")
    shown = {key.id: key.shown for _, group in keys.help_table("main") for key in group}
    assert (shown["filter.next"], shown["step.back"]) == ("^g f7", ",")
