"""How a rule is added: a page and a detector, and nothing else (.github/CONTRIBUTING.md)."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.evidence.look import Look
from rltui.evidence.signal import WARNING, Signal
from rltui.rules import base, catalogue, registry
from rltui.rules.base import REGISTERED, Memory, Params, rule, tail

PAGE = {
    "id": "reward-too-low-to-see",
    "title": "Reward too small to see",
    "notice": "The reward is small",
    "name": "Reward too small",
    "stage": "reward",
    "role": "root",
    "kind": "misconfigured",
    "basis": "hypothesis",
    "traits": [],
    "metrics": ["score_mean"],
    "needs": [["score_mean"]],
    "hold": {"looks": 1, "rows": 1},
    "params": {"least": {"value": 1e-3, "why": "three decimals are shown"}},
}


def too_low(look: Look, p: Params, memory: Memory) -> list[Signal]:
    reward = look.values("score_mean")
    if not len(reward) or abs(tail(reward, 10)) >= p["least"]:
        return []
    return [Signal(WARNING, "The reward is below what three decimals show.", (("score_mean", ""),), onset_step=1)]


def forget() -> None:
    """What was read from the pages and kept: every cache of the rules and of what reads them."""
    gc.unfreeze()  # a comparison or a screen that ran before in this process freezes what is there, and hides it
    for kept in [found for found in gc.get_objects() if isinstance(found, _lru_cache_wrapper)]:
        if kept.__module__.startswith(("rltui.rules", "rltui.diagnosis", "rltui.report")):
            kept.cache_clear()


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pages = tmp_path / "pages"
    shutil.copytree(catalogue.PAGES, pages)
    like = json.loads((pages / "ckpt.json").read_text(encoding="utf-8"))
    invented = {**like["rules"][0], **PAGE}
    (pages / "invented.json").write_text(json.dumps({**like, "group": "invented", "rules": [invented]}))
    monkeypatch.setattr(catalogue, "PAGES", pages)
    monkeypatch.setattr(base, "REGISTERED", [*REGISTERED])
    monkeypatch.setattr(registry, "REGISTERED", base.REGISTERED)
    rule(str(PAGE["id"]), Look)(too_low)
    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(("reward", "speaks"), [(1e-5, True), (2e-3, False)])
def test_a_page_and_a_detector_make_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reward: float, speaks: bool
) -> None:
    log = tmp_path / "metrics.jsonl"
    rows = ({"step": n, "critic/score/mean": reward * (1 + n % 3), "actor/grad_norm": 0.3} for n in range(1, 200))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(log), "--format", "json"]) == 0
    found = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert (PAGE["id"] in found) == speaks
    if speaks:
        assert found[PAGE["id"]]["severity"] == "warning"
        assert found[PAGE["id"]]["stage"] == "reward"
        assert main(["explain", str(PAGE["id"])]) == 0
        assert "three decimals are shown" in capsys.readouterr().out
