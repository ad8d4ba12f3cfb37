"""`rltui explain RULE` says how often the rule was wrong on simulated runs, in numbers of the data file alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.data_files import DataError
from rltui.prose import counted
from rltui.rules import error_rates
from rltui.rules.catalogue import rules
from tests.conftest import REPO

SHIPPED = json.loads(error_rates.FILE.read_text(encoding="utf-8"))
HEADING = "## How often it is wrong"
RATES = {
    "planted": 12,
    "found": 11,
    "named": 11,
    "unable": 0,
    "median_rows": 14.0,
    "false_alarms": 1,
    "healthy_steps": 40000,
    "false_resolves": 0,
}
NOTHING_PLANTED = {"planted": 0, "found": 0, "named": 0, "median_rows": None}


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Gives the package these rates of rules, for a test."""

    def write(rates: dict[str, Any]) -> None:
        file = tmp_path / "error_rates.json"
        file.write_text(json.dumps(SHIPPED | {"rules": rates}))
        monkeypatch.setattr(error_rates, "FILE", file)
        error_rates.error_rates.cache_clear()

    yield write
    monkeypatch.undo()
    error_rates.error_rates.cache_clear()


def paragraph(page: str) -> str:
    return " ".join(page.split(HEADING)[1].split("\n## ")[0].split())


def explained(capsys: pytest.CaptureFixture[str], rule: str) -> str:
    assert main(["explain", rule]) == 0
    return paragraph(capsys.readouterr().out)


def counts(capsys: pytest.CaptureFixture[str], rule: str) -> dict[str, Any]:
    assert main(["explain", rule, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["error_rate"]
    return found


@pytest.mark.parametrize(
    ("differs", "text"),
    [
        (
            {},
            "Measured: found in 11 of 12 simulated runs with a fault that it may name, after 14 rows (median). "
            "No rule named it in 1. False alarms: 1 in 40,000 healthy steps.",
        ),
        (
            {"named": 12, "unable": 3, "median_rows": 14.5, "false_alarms": 0, "false_resolves": 1},
            "Measured: found in 11 of 12 simulated runs with a fault that it may name, after 14.5 rows (median). "
            "In 1 more another rule named the fault. "
            "It could not run in 3 further ones, for lack of what it needs. "
            "False alarms: none in 40,000 healthy steps. "
            "Ended too early once: no rule named such a fault any more while it stood.",
        ),
        (
            {"found": 0, "named": 0, "median_rows": None, "false_resolves": 2},
            "Measured: found in 0 of 12 simulated runs with a fault that it may name. No rule named it in 12. "
            "False alarms: 1 in 40,000 healthy steps. "
            "Ended too early 2 times: no rule named such a fault any more while it stood.",
        ),
        (
            {"unable": 2} | NOTHING_PLANTED,
            "Its error rate has not been measured: no simulated run with such a fault logs what it needs. "
            "False alarms: 1 in 40,000 healthy steps.",
        ),
        (
            {"unable": 2, "false_alarms": 0, "healthy_steps": 0} | NOTHING_PLANTED,
            "Its error rate has not been measured: no simulated run with such a fault logs what it needs.",
        ),
        (
            NOTHING_PLANTED,
            "Its error rate has not been measured: no simulated run had such a fault. "
            "False alarms: 1 in 40,000 healthy steps.",
        ),
    ],
    ids=["some missed", "another spoke", "never found", "never able", "never able, never healthy", "never planted"],
)
def test_a_rule_says_what_was_measured(
    measured: Callable[[dict[str, Any]], None],
    capsys: pytest.CaptureFixture[str],
    differs: dict[str, Any],
    text: str,
) -> None:
    measured({"kl-runaway": RATES | differs})
    assert explained(capsys, "kl-runaway") == text
    assert counts(capsys, "kl-runaway") == {"text": text, "counts": RATES | differs}


def test_a_rule_without_a_measurement_says_so(
    measured: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    measured({})
    text = "Its error rate has not been measured."
    assert explained(capsys, "kl-runaway") == text
    assert counts(capsys, "kl-runaway") == {"text": text, "counts": None}


@pytest.mark.parametrize("rule", SHIPPED["rules"])
def test_every_number_that_is_shown_was_measured(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rule in rules()
    rates = SHIPPED["rules"][rule]
    known = {n for n in rates.values() if n is not None}
    known |= {rates["named"] - rates["found"], rates["planted"] - rates["named"]}
    shown = {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", explained(capsys, rule))}
    assert shown <= known


def test_the_users_own_thresholds_are_not_those_that_were_measured(tmp_path: Path) -> None:
    rule = next(r for r, rates in SHIPPED["rules"].items() if rates["planted"] and rules()[r].params)
    name, param = next(iter(rules()[rule].params.items()))
    (tmp_path / "rltui").mkdir()
    for value, told in ((param.value, False), (param.value * 1.01, True)):
        (tmp_path / "rltui" / "config.toml").write_text(f"[rules.{rule}]\nparams.{name} = {value}\n")
        env = os.environ | {"XDG_CONFIG_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "rltui", "explain", rule], cwd=REPO, env=env, text=True, capture_output=True
        )
        assert ("thresholds that ship, not of yours" in paragraph(done.stdout)) == told


@pytest.mark.parametrize(
    "wrong", [{"found": 13}, {"named": 10}, {"median_rows": None}, {"found": 0}, {"false_alarms": -1}]
)
def test_rates_that_contradict_each_other_are_not_read(
    measured: Callable[[dict[str, Any]], None], wrong: dict[str, Any]
) -> None:
    measured({"kl-runaway": RATES | wrong})
    with pytest.raises(DataError):
        error_rates.error_rates()


def test_the_manual_gives_the_verdicts_rates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "judging"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    whole, v = SHIPPED, SHIPPED["verdict"]
    for told in (
        f"`{whole['command']}`",
        f"{whole['runs']} runs of {whole['kinds']} kinds",
        f"a right rule spoke in {v['named']} of {v['planted']}",
        f"after {v['median_rows']:g} rows (median)",
        f"{counted(v['false_alarms'], 'false alarm')} in {v['healthy_steps']:,} healthy steps",
        f"{counted(v['false_stops'], 'run')} {'was' if v['false_stops'] == 1 else 'were'} told to stop for nothing",
        f"(in {v['calm']} nothing ever called for it)",
        f"{v['false_clears']} of the {v['planted']} were called clear",
        f"{counted(v['false_resolves'], 'time')} no rule named a fault any more while it stood",
        f"changed {v['flips']} times",
    ):
        assert told in page
