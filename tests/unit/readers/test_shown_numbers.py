"""Numbers written as Python shows them: what `json.dumps(row, default=str)` and f-strings make of a tensor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.cli import main

STEPS = range(1, 41)
SHOWN = {
    "torch": "tensor({})",
    "torch on a GPU": "tensor({}, device='cuda:0', grad_fn=<MeanBackward0>)",
    "numpy 2": "np.float64({})",
    "numpy 1 array": "array({}, dtype=float32)",
    "jax": "Array({}, dtype=float32)",
}


def jsonl(path: Path, shown: str) -> Path:
    path = path / "metrics.jsonl"
    rows = [{"step": i, "loss": shown.format(i / 64), "reward": shown.format(i / 32), "kl": 0.5} for i in STEPS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def csv(path: Path, shown: str) -> Path:
    path = path / "metrics.csv"
    rows = [f'{i},"{shown.format(i / 64)}","{shown.format(i / 32)}",0.5\n' for i in STEPS]
    path.write_text("step,loss,reward,kl\n" + "".join(rows))
    return path


def verl(path: Path, shown: str) -> Path:
    path = path / "run.log"
    line = "step:{i} - actor/loss:{a} - critic/rewards/mean:{b} - actor/kl_loss:0.5\n"
    path.write_text("".join(line.format(i=i, a=shown.format(i / 64), b=shown.format(i / 32)) for i in STEPS))
    return path


def trl(path: Path, shown: str) -> Path:
    path = path / "train.log"
    row = "{{'loss': {a}, 'reward': {b}, 'kl': 0.5, 'epoch': {e}}}\n 10%|█         | {i}/40 [00:01<00:09,  1.00it/s]\n"
    path.write_text("".join(row.format(a=shown.format(i / 64), b=shown.format(i / 32), e=i / 100, i=i) for i in STEPS))
    return path


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("write", [jsonl, csv, verl, trl])
def test_they_are_numbers(
    write: Callable[[Path, str], Path], shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(write(tmp_path, SHOWN[shown])), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [(row["step"], row["total_loss"], row["reward_mean"], row["kl_ref"]) for row in rows]
    assert found == [(i, i / 64, i / 32, 0.5) for i in STEPS]


@pytest.mark.parametrize("text", ["tensor([0.5, 0.25])", "score(0.5)", "0.5)", "tensor(0.5", "about (3)"])
def test_other_texts_are_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(jsonl(tmp_path, text)), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [sorted(row) for row in rows] == [["kl_ref", "step"]] * len(STEPS)
