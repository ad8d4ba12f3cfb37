"""Lines of a step that begin with a tag for what they tell of, and lines below those of work inside the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import rows
from tests.unit.session.runs import content, opened

STEPS = 30
HEADS = ("--- Step {n} ---", "=== iteration {n}/30 ===", "step {n}/30 | time 3.25s")


def _read(tmp_path: Path, lines: list[str]) -> dict[int, dict[str, float]]:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return content(opened(path))


def _told(tmp_path: Path, head: str, below: list[str]) -> dict[int, dict[str, float]]:
    """The rows of a log with these lines below each step, `{n}` being the step, without the time of its heading."""
    found = _read(tmp_path, [line.format(n=n) for n in range(1, STEPS + 1) for line in (head, *below)])
    assert list(found) == list(range(1, STEPS + 1))
    return {step: {name: x for name, x in cells.items() if name != "time"} for step, cells in found.items()}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "line", ["[reward] mean 0.{n} std 0.25", "[reward] mean=0.{n} std=0.25", "[reward]: mean: 0.{n}, std: 0.25"]
)
def test_a_tag_is_the_name_of_bare_statistics(tmp_path: Path, head: str, line: str) -> None:
    found = _told(tmp_path, head, [line])
    named = {step: {name.replace("/", " "): x for name, x in cells.items()} for step, cells in found.items()}
    assert named == {n: {"reward mean": float(f"0.{n}"), "reward std": 0.25} for n in range(1, STEPS + 1)}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("begin", ["[rollout] 256 samples in", "[rollout] 256 samples,", "rollout: 256 samples in"])
def test_a_count_and_a_time_behind_the_name_of_a_phase(tmp_path: Path, head: str, begin: str) -> None:
    below = [begin + " 20.{n}s, mean length 31{n}.5, truncated 2.5%", "[train] loss 0.{n} kl 0.125"]
    found = _told(tmp_path, head, below)
    assert found == {
        n: {
            "rollout": 256.0,
            "time/rollout": float(f"20.{n}"),
            "mean length": float(f"31{n}.5"),
            "truncated": 0.025,
            "loss": float(f"0.{n}"),
            "kl": 0.125,
        }
        for n in range(1, STEPS + 1)
    }


@pytest.mark.parametrize("head", [*HEADS, "Rollout {n}: mean reward 0.5, mean length 311.0"])
@pytest.mark.parametrize("count", ["  ppo epoch {e}:", "    minibatch {e} |", "  inner epoch {e}:"])
def test_what_is_below_a_line_of_work_inside_the_step_is_of_the_step(tmp_path: Path, head: str, count: str) -> None:
    """Of the lines of that work the last one counts."""
    inner = [count.format(e=e) + f" policy loss 0.{e}{{n}} value loss 0.5" for e in range(3)]
    found = _told(tmp_path, head, [*inner, "  -> kl 0.{n} entropy 1.5"])
    wanted = {n: {"kl": float(f"0.{n}"), "entropy": 1.5, "policy loss": float(f"0.2{n}")} for n in range(1, STEPS + 1)}
    assert {n: {name: cells.get(name) for name in wanted[n]} for n, cells in found.items()} == wanted


@pytest.mark.parametrize("lead", ["", "2026-11-30 10:00:00,123 [INFO] ", "[trainer] INFO: "])
@pytest.mark.parametrize(
    "line",
    [
        "[reward] step {n} mean 0.{n} std 0.25",
        "[reward] step={n}/99: mean=0.{n}, std=0.25",
        "[reward][step {n}] mean: 0.{n} std: 0.25",
        "reward: iter {n} mean 0.{n} std 0.25",
        "[reward] global_step {n} | mean 0.{n} | std 0.25",
    ],
)
def test_a_tag_before_the_step_is_the_name_of_bare_statistics(tmp_path: Path, lead: str, line: str) -> None:
    found = rows(tmp_path, "".join(lead + line.format(n=n) + "\n" for n in range(10, 40)))
    assert {step: (row["reward_mean"], row["reward_std"]) for step, row in found.items()} == {
        n: (float(f"0.{n}"), 0.25) for n in range(10, 40)
    }


def test_a_tag_before_the_step_takes_no_name_from_numbers_that_have_one(tmp_path: Path) -> None:
    lines = "[reward] step {n} mean 0.{n} std 0.25\n[train] step {n} loss 0.5 kl 0.1{n}\n"
    found = rows(tmp_path, "".join(lines.format(n=n) for n in range(10, 40)))
    assert {step: (row["reward_mean"], row["total_loss"], row["kl_ref"]) for step, row in found.items()} == {
        n: (float(f"0.{n}"), 0.5, float(f"0.1{n}")) for n in range(10, 40)
    }
