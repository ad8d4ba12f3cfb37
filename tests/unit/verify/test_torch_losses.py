"""Losses in torch, judged by their gradient: right ones pass, each fault is certain (needs torch)."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from rltui.verify import verify
from rltui.verify.adapters import from_names
from rltui.verify.check import Check
from tests.unit.verify.torch_losses import RIGHT, WRONG, Loss, torch


def told(loss: Loss) -> list[Check]:
    return [c for c in verify(from_names({"torch": torch, "loss": loss})) if c.mark not in ("", "skip")]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_loss_has_no_violation(name: str) -> None:
    assert [f"{c.name}: {c.value}" for c in told(RIGHT[name]) if c.mark == "!!"] == []


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_loss_is_told_for_certain(name: str) -> None:
    assert [c for c in told(WRONG[name]) if c.mark == "!!"], [f"{c.name}: {c.value}" for c in told(WRONG[name])]
