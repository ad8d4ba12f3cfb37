"""Tables of a sweep: a column names the method and another its seed, so each pair is a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

STEPS = 15
Cells = tuple[str, int, int, float]


def sweep(*runs: tuple[str, int], first: int = 0) -> list[Cells]:
    return [
        (name, seed, step, round(0.1 + 0.2 * seed + step / 100, 3))
        for name, seed in runs
        for step in range(first, first + STEPS)
    ]


def written(folder: Path, kind: str, cells: list[Cells]) -> Path:
    path = folder / f"sweep.{kind}"
    rows = [{"method": name, "seed": seed, "step": step, "reward_mean": reward} for name, seed, step, reward in cells]
    if kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = ["method,seed,step,reward_mean", *(",".join(map(str, row)) for row in cells)]
        path.write_text("\n".join(lines) + "\n")
    return path


def reported(path: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code = main(["report", path, "--format", "json"])
    out = capsys.readouterr()
    assert code == 0, out.err
    found: dict[str, Any] = json.loads(out.out)
    return found


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
@pytest.mark.parametrize("names", [["grpo", "rloo"], ["grpo"]])
def test_each_seed_of_a_method_is_a_run(
    kind: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The seeds were taken for restarts of one run, and only the last one was told."""
    path = written(tmp_path, kind, sweep(*((name, seed) for name in names for seed in range(3))))
    assert main(["report", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"holds {3 * len(names)} runs" in err
    for name in names:
        assert all(f"#{name}-seed{seed} " in err for seed in range(3))
    report = reported(f"{path}#grpo-seed1", capsys)
    assert report["run"]["steps"] == {"first": 0, "last": STEPS - 1, "total": None, "rows": STEPS}
    assert report["run"]["restarts"] == []
    assert report["metrics"]["reward_mean"]["first_value"] == pytest.approx(0.3)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_a_method_with_one_seed_keeps_its_name(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, kind, sweep(("grpo", 3), ("rloo", 3)))
    assert main(["report", str(path)]) == 2
    err = capsys.readouterr().err
    assert "#grpo " in err
    assert "#rloo " in err
    assert "-seed" not in err
    assert reported(f"{path}#rloo", capsys)["run"]["steps"]["rows"] == STEPS


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_a_run_that_goes_on_with_another_seed_is_one(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, kind, sweep(("grpo", 0)) + sweep(("grpo", 1), first=STEPS))
    assert reported(str(path), capsys)["run"]["steps"] == {"first": 0, "last": 29, "total": None, "rows": 30}


def test_a_list_that_is_longer_than_what_is_looked_at_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its beginning shows a single run."""
    rows = [
        {"algo": name, "step": step, "reward_mean": step / 3000, "note": "x" * 40}
        for name in ("a", "b")
        for step in range(1500)
    ]
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"lr": 1e-6, "history": rows}))
    assert main(["report", str(path)]) == 2
    assert "holds 2 runs" in capsys.readouterr().err
    report = reported(f"{path}#b", capsys)
    assert report["run"]["steps"]["rows"] == 1500
    assert report["config"]["lr"]["value"] == 1e-6
