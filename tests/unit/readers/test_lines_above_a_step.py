"""Several lines with numbers above the line that ends their step, or below the one that begins it. A line among them
may look as if it counted steps itself, as it has a whole number; once it is known that it does not, nothing of it is
lost, and nothing is of another step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

STEPS = 12
LINES = {
    "two numbers": "INFO rollout reward={x} len=30\nINFO train loss={y}\n",
    "no titles": "INFO reward={x} len=30\nINFO loss={y}\n",
    "a count that rises": "reward={x} seen={n}\nloss={y}\n",
    "two such lines": "rollout: reward={x} len=30\ntrain: loss={y} used=8\n",
    "named after the work": "INFO generation: reward={x} len=30\nINFO train: loss={y} kl=0.01\n",
}
ENDS = {
    "finished": "INFO step {i} finished in 3.2s\n",
    "finished first": "INFO finished step {i} in 3.2s\n",
    "done": "INFO iteration {i} done\n",
    "with a number": "INFO Step {i} completed | time 12.3s\n",
    "of a plan": "INFO step {i}/60 took 12.3s\n",
    "bare": "Step {i}\n",
}
DUMP = (
    "== Status ==\nCurrent time: 2026-05-01 10:00:{i:02d} (running for 00:00:{i:02d}.12)\n\nResult for PPO_env_7:\n"
    "  date: 2026-05-01_10-00-00\n  episode_reward_mean: {x}\n  info:\n    learner:\n      kl: {y}\n"
    "  timesteps_total: {n}\n  training_iteration: {i}\n\n"
)


def values(i: int) -> tuple[float, float]:
    return (i + 1) / 32, (i * i + 3) / 64


def log(form: str) -> str:
    return "".join(form.format(i=i, x=values(i)[0], y=values(i)[1], n=512 * i) for i in range(1, STEPS + 1))


def named(cells: dict[str, float], word: str) -> float | None:
    return next((x for name, x in cells.items() if word in name), None)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("lines", LINES)
def test_they_are_of_the_step_below(lines: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(LINES[lines] + ENDS[end]))
    found = content(opened(path))
    assert {step: (named(cells, "reward"), named(cells, "loss")) for step, cells in found.items()} == {
        i: values(i) for i in range(1, STEPS + 1)
    }


@pytest.mark.parametrize("lines", LINES)
def test_below_a_heading_they_are_of_the_step_above(lines: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("lr: 1e-6\n" + log("=== Step {i} ===\n" + LINES[lines]))
    found = content(opened(path))
    assert {step: (named(cells, "reward"), named(cells, "loss")) for step, cells in found.items()} == {
        i: values(i) for i in range(1, STEPS + 1)
    }


@pytest.mark.parametrize(("one", "other"), [("generation", "train"), ("policy", "value"), ("rollout", "critic")])
@pytest.mark.parametrize("head", ["=== Step {i} ===\n", "Step {i}/60\n", "[rank0] iteration {i}\n"])
def test_a_name_that_two_kinds_of_work_share(head: str, one: str, other: str, tmp_path: Path) -> None:
    """The second number is not left out in silence."""
    path = tmp_path / "train.log"
    path.write_text(log(f"{head}{one}: tokens={{n}} loss={{x}}\n{other}: loss={{y}} kl=0.01\n"))
    found = content(opened(path))
    assert {step: cells[f"{other}/loss"] for step, cells in found.items()} == {
        i: values(i)[1] for i in range(1, STEPS + 1)
    }
    assert {step: cells.get("loss", cells.get(f"{one}/loss")) for step, cells in found.items()} == {
        i: values(i)[0] for i in range(1, STEPS + 1)
    }


def test_a_dump_with_its_step_last(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(DUMP))
    found = content(opened(path))
    assert {step: (cells["episode_reward_mean"], cells["kl"]) for step, cells in found.items()} == {
        i: values(i) for i in range(1, STEPS + 1)
    }


SET_BEFORE = (
    "config: lr=2e-6 batch=256 beta=0.04\n",
    "INFO:root:config: lr=2e-6 batch=256 beta=0.04\n",
    "retry 6/5: sandbox timed out after 30 s\n",
    "seed: 3\n",
    "loaded 5/5 shards\n",
)
CLOSES = ("--- finished step {i} of 12 ---\n", "finished step {i} of 12 in 3.2 s\n", "step {i} done | lr 1e-6\n")


@pytest.mark.parametrize("close", CLOSES)
@pytest.mark.parametrize("before", SET_BEFORE)
def test_what_was_set_above_them_moves_no_number(before: str, close: str, tmp_path: Path) -> None:
    lead = "INFO:root:" if before.startswith("INFO:root:") else ""
    path = tmp_path / "train.log"
    path.write_text(before + log(f"{lead}  reward: {{x}}\n{lead}  loss: {{y}}\n{lead}{close}"))
    found = content(opened(path))
    assert {step: (named(cells, "reward"), named(cells, "loss")) for step, cells in found.items()} == {
        i: values(i) for i in range(1, STEPS + 1)
    }


@pytest.mark.parametrize("before", ["config: lr=2e-6 batch=256 beta=0.04\n", "batch=256\n", ""])
def test_what_was_set_above_a_title_takes_none_of_its_numbers(before: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(before + log("Iteration {i} finished (0:00:12).\n  reward: {x}\n  loss: {y}\n"))
    found = content(opened(path))
    assert {step: (named(cells, "reward"), named(cells, "loss")) for step, cells in found.items()} == {
        i: values(i) for i in range(1, STEPS + 1)
    }


def test_a_first_block_with_other_names_is_not_above_the_second(tmp_path: Path) -> None:
    text = log("step: {i}\nreward: {x}\nloss: {y}\nsolved: {n}, never: 3\n").replace("solved: 512, never: 3", "hits: 2")
    path = tmp_path / "train.log"
    path.write_text(text)
    found = content(opened(path))
    assert {step: named(cells, "reward") for step, cells in found.items()} == {
        i: values(i)[0] for i in range(1, STEPS + 1)
    }
