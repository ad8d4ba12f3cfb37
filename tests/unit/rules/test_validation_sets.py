"""Several validation sets: what is said of them hangs neither on their order in the log nor on which of them stands for
validation in the tables."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.rules.catalogue import rules
from rltui.rules.falls import drifted, fallen
from tests.unit.reported import told
from tests.unit.rules.asked import asking

STEPS, EVERY, TURN = 300, 5, 120
SETS = 5

Way = Callable[[int], float]


def falls(step: int) -> float:
    return 0.4 + 0.2 * min(step, TURN) / TURN - 0.25 * max(0, step - TURN) / (STEPS - TURN)


def rises(step: int) -> float:
    return 0.3 + 0.3 * step / STEPS


def level(step: int) -> float:
    return 0.5


def written(folder: Path, sets: Mapping[str, Way], seed: int, last: str = "/acc/mean@1") -> Path:
    """A sound run in verl's names, which end with `last`. The noise of a set hangs on its name, not on its place in
    the row."""
    train, noise = random.Random(seed), {name: random.Random(f"{seed} {name}") for name in sets}
    rows = []
    for step in range(1, STEPS + 1):
        data = {
            "critic/score/mean": 0.3 + 0.3 * step / STEPS + train.gauss(0, 0.03),
            "actor/entropy": 0.5 - 0.1 * step / STEPS + train.gauss(0, 0.01),
            "actor/grad_norm": 0.4 + train.gauss(0, 0.05),
        }
        if step % EVERY == 0:
            for name, way in sets.items():
                data[f"val-core/{name}{last}"] = way(step) + noise[name].gauss(0, 0.012)
        rows.append({"step": step, "data": data})
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def advice(report: dict[str, Any]) -> tuple[Any, ...]:
    """What a user acts upon."""
    found = [(f["id"], f["severity"], f["status"], f["onset_step"]) for f in report["findings"]]
    return report["verdict"]["decision"], report["verdict"]["best_checkpoint"]["step"], sorted(map(str, found))


def turned(named: Sequence[Any]) -> list[list[Any]]:
    """Orders in which each stands in each place, and before and behind each other."""
    return [[*named[i:], *named[:i]] for i in range(len(named))]


@pytest.mark.parametrize(
    "ways", [(falls, rises), (falls, falls), (falls, level), (rises, level), (falls, rises, rises)]
)
def test_their_order_in_the_log_changes_no_advice(tmp_path: Path, ways: tuple[Way, ...]) -> None:
    named = list(zip("xyz", ways, strict=False))
    all_orders = [
        advice(told(written(tmp_path / str(i), dict(order), seed=5))[2]) for i, order in enumerate(turned(named))
    ]
    assert all(one == all_orders[0] for one in all_orders[1:])


@pytest.mark.parametrize("seed", range(3))
def test_a_set_that_falls_is_told_while_the_others_rise_and_stops_nothing(tmp_path: Path, seed: int) -> None:
    sets = {"first": rises, "second": rises, "third": rises, "fallen": falls}
    text, _, report = told(written(tmp_path / "run", sets, seed))
    found = {f["id"]: f for f in report["findings"] if f["status"] == "active"}
    assert found["val-regression"]["severity"] == "warning"
    assert "validation fallen acc" in found["val-regression"]["summary"].lower()
    assert "Of 4 validation sets 1 fell." in found["val-regression"]["summary"]
    assert any(e["key"] == "val-core/fallen/acc/mean@1" for e in found["val-regression"]["evidence"])
    assert "train-val-divergence" not in found  # what three of four sets gain is no hack
    assert report["verdict"]["decision"] == "continue-watch"
    assert "All clear" not in text


@pytest.mark.parametrize("seed", range(3))
def test_sets_that_fall_together_end_the_run(tmp_path: Path, seed: int) -> None:
    _, _, report = told(written(tmp_path / "run", {"x": falls, "y": falls, "z": level}, seed))
    assert report["verdict"]["decision"] == "stop-use-best"
    assert abs(report["verdict"]["best_checkpoint"]["step"] - TURN) <= 3 * EVERY


@pytest.mark.parametrize(("named", "regressed"), [("y", False), ("x", True)])
def test_the_set_that_the_user_named_is_the_only_one_that_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str, regressed: bool
) -> None:
    run = written(tmp_path / "run", {"x": falls, "y": rises}, seed=3)
    main(["report", str(run), "--format", "json", "--map", f"val_score=val-core/{named}/acc/mean@1"])
    report = json.loads(capsys.readouterr().out)
    said = [f["summary"] for f in report["findings"] if f["id"] == "val-regression"]
    assert bool(said) == regressed
    assert not any("validation sets" in one for one in said)


@pytest.mark.long
def test_how_often_any_of_many_level_sets_is_said_to_fall() -> None:
    """Looked at after each of 40 evaluations: five sets alarm no more often than one may."""
    p, rng = rules()["val-regression"].values(), np.random.default_rng(78)
    alarms = 0
    for _ in range(120):
        sets = [rng.binomial(200, 0.4, 40) / 200 for _ in range(SETS)]
        alarms += any(
            fallen(x[:n], p, SETS) is not None or drifted(x[:n], p, SETS) is not None
            for x in sets
            for n in range(7, 41)
        )
    assert alarms <= 11  # 5 % of 120, and two standard errors


def shrinks(step: int) -> float:
    return 0.8 - 0.25 * step / STEPS


def widens(step: int) -> float:
    return 0.8 + 0.05 * step / STEPS


@pytest.mark.parametrize("order", list(permutations(("x/acc/mean@1", "x/acc/best@8/mean", "y/acc/mean@16"))))
def test_pass_at_k_is_held_against_pass_at_1_of_the_same_set(tmp_path: Path, order: tuple[str, ...]) -> None:
    ways = {"x/acc/mean@1": rises, "x/acc/best@8/mean": shrinks, "y/acc/mean@16": rises}
    with asking("passk-shrink"):
        _, _, report = told(written(tmp_path / "run", {name: ways[name] for name in order}, 3, last=""))
    found = next(f for f in report["findings"] if f["id"] == "passk-shrink")
    assert [e["key"] for e in found["evidence"]] == ["val-core/x/acc/best@8/mean", "val-core/x/acc/mean@1"]


def test_pass_at_k_of_another_set_is_no_evidence(tmp_path: Path) -> None:
    sets = {"x/acc/mean@1": rises, "x/acc/best@8/mean": widens, "y/acc/mean@16": level, "y/acc/best@16/mean": shrinks}
    with asking("passk-shrink"):
        _, _, report = told(written(tmp_path / "run", sets, 3, last=""))
    assert "passk-shrink" not in [f["id"] for f in report["findings"] if f["severity"] != "info"]


@pytest.mark.long
@pytest.mark.parametrize("left_out", ["holes", "turns", "one begins late"])
def test_their_order_changes_no_advice_if_they_were_not_evaluated_together(tmp_path: Path, left_out: str) -> None:
    def gone(name: str, step: int) -> bool:
        at = step // EVERY
        if left_out == "holes":
            return at % 7 == (2 if name == "x" else 5)
        return at % 2 == (name == "x") if left_out == "turns" else name == "x" and at < 12

    ways = {"x": falls, "y": rises, "z": rises}
    found = []
    for i, order in enumerate(turned(list(ways))):
        run = written(tmp_path / str(i), {name: ways[name] for name in order}, seed=4)
        path = run / "metrics.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            for name in ways:
                if gone(name, row["step"]):
                    row["data"].pop(f"val-core/{name}/acc/mean@1", None)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        found.append(advice(told(run)[2]))
    assert all(one == found[0] for one in found[1:])
