"""Settings act: on the screen as it opens, on its keys, on the commands. The command line wins over them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rltui import settings
from rltui.cli import main
from rltui.manual import page
from rltui.rules.catalogue import adjusted
from rltui.run.names import own_aliases
from rltui.settings import SettingsError, parse
from rltui.tui import keys, start
from rltui.tui.away import Attention
from rltui.tui.screens.commands import verbs
from tests.conftest import REPO
from tests.unit.tui import canned
from tests.unit.tui.conftest import Open, open_app, own_state  # noqa: F401

HEALTHY, FLIP = (str(REPO / "sample_runs" / name) for name in ("trl-grpo-healthy", "trl-reward-flip"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the app is made with, in the place of the app."""
    found: list[dict[str, Any]] = []

    async def run_async(**_: object) -> None:
        """Nothing is shown."""

    def app(_: object, **options: Any) -> SimpleNamespace:
        view = SimpleNamespace(sparing=False)
        found.append({**options, "view": view})
        return SimpleNamespace(
            view=view,
            worker=SimpleNamespace(fault=None),
            many=SimpleNamespace(fault=None),
            run_async=run_async,
            failure="",
            return_code=0,
            _exception=None,
        )

    monkeypatch.setattr("rltui.tui.app.RltuiApp", app)
    monkeypatch.setattr("gc.freeze", lambda: None)
    for name in ("NO_COLOR", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_the_screen_opens_as_the_settings_have_it(own: Path, made: list[dict[str, Any]]) -> None:
    own.write_text('[screen]\ntheme = "light"\nglyphs = "ascii"\nmouse = false\nbandwidth = true\n')
    start.start([HEALTHY], key_map={})
    assert (made[0]["theme"], made[0]["glyphs"].name, made[0]["mouse"]) == ("light", "ascii", False)
    assert made[0]["view"].sparing
    start.start([HEALTHY], key_map={}, theme="dark", glyphs="block", mouse=True)
    assert (made[1]["theme"], made[1]["glyphs"].name, made[1]["mouse"]) == ("dark", "block", True), "the words win"


def test_no_colour_wins_over_a_theme(own: Path, made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    own.write_text('[screen]\ntheme = "light"\n')
    monkeypatch.setenv("NO_COLOR", "1")
    start.start([HEALTHY], key_map={})
    assert made[0]["theme"] == "mono"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[screen]\ntheme = 'drak'\n", "screen.theme: no theme drak"),
        ("[keys]\nquit = 'j'\n", "keys.quit: j is the key"),
    ],
)
def test_what_is_wrong_is_told_before_the_screen_opens(
    own: Path, made: list[dict[str, Any]], text: str, says: str
) -> None:
    own.write_text(text)
    with pytest.raises(SettingsError, match=re.escape(f"{own}, line 2: {says}")):
        start.start([HEALTHY], key_map={})
    assert made == []


async def test_a_key_of_the_user_works_and_the_old_one_does_not(own: Path, open_app: Open) -> None:  # noqa: F811
    own.write_text('[keys]\ndigest = "ctrl+g"\n')
    keys.adopt(settings.load())
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("d")
        await pilot.pause()
        assert app.screen.name == "main"
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert app.screen.name == "digest"
        assert keys.shown("digest") == "^g", "what the screen says of it"


async def test_the_palette_has_digest_and_alerts(own: Path, open_app: Open) -> None:  # noqa: F811
    async with open_app([canned.make()]) as (app, pilot):
        commands = {verb.name: verb for verb in verbs(app)}
        commands["alerts"].do()
        assert not app.alerts.on
        commands["alerts"].do()
        assert app.alerts.on
        commands["digest"].do()
        await pilot.pause()
        assert app.screen.name == "digest"


def test_away_by_the_minutes_of_the_settings() -> None:
    now = [0.0]
    attention = Attention(lambda: 10.0, lambda: now[0])
    assert attention.there
    now[0] = 599.0
    assert attention.there
    assert not attention.seen(), "a key in time is no return"
    now[0] = 599.0 + 600.0
    assert not attention.there
    assert attention.seen()
    assert not attention.seen()
    attention.left()
    assert not attention.there, "out of focus: at once"
    now[0] += 30.0
    assert not attention.seen(), "half a minute in another window is no absence"
    attention.left()
    now[0] += 601.0
    assert attention.seen()


@pytest.mark.long
def test_compare_by_cost_and_direction_of_the_settings(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def compared(*more: str) -> dict[str, Any]:
        assert main(["compare", HEALTHY, FLIP, "--format", "json", *more]) == 0
        loaded: dict[str, Any] = json.loads(capsys.readouterr().out)
        return loaded

    own.write_text('[compare]\nprimary = "entropy"\nlower_is_better = true\ncost = "steps"\n')
    found = compared()
    assert (found["primary"]["name"], found["primary"]["higher_is_better"], found["cost"]) == (
        "entropy",
        False,
        "steps",
    )
    assert compared("--cost", "hours")["cost"] == "hours"
    assert compared("--primary", "reward_mean")["primary"]["higher_is_better"], (
        "the direction is of the settings' metric"
    )


@pytest.mark.long
def test_watch_takes_its_address_from_the_settings_and_resumes_only_if_it_may(own: Path, tmp_path: Path) -> None:
    own.write_text('[watch]\nwebhook = "http://127.0.0.1:9/secret"\nresume = false\n[alerts]\nend = true\n')

    def watched(*more: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "rltui", "watch", HEALTHY, "--format", "json", *more]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    first, second = watched(), watched()
    assert '"summary"' in first.stdout
    assert '"summary"' in second.stdout, "nothing was kept"
    own.write_text('[watch]\nwebhook = "nonsense/secret"\n')
    refused = watched("--notify", "webhook")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "secret" not in refused.stderr


def test_the_settings_of_the_manual_are_valid() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", page("settings"), re.DOTALL)
    made = parse(shown, "settings.md")
    assert set(tomllib.loads(shown)) >= {"screen", "alerts", "keys", "aliases", "hosts", "compare", "rules"}
    adjusted(made)
    own_aliases(made)
    keys.remapped(made)
