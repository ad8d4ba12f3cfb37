"""An agent's log prints the steps of each episode between those of the training, often in the same words. They make no
rows, wipe none, and begin no attempt; what is left out is told. A run that was restarted goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.session import run_reader
from tests.unit.readers.test_opened_and_grown import followed
from tests.unit.session.runs import content, opened

EPISODES = {
    "action": "Step {s}: action=click, reward={r}, done=False\n",
    "environment": "[env {e}] step {s} reward={r} done=0\n",
    "indented": "  step {s}/4 | reward: {r} | seen: 30\n",
    "judge": "judge: step {s} score={r} rationale='Step 2: 5 = 5'\n",
    "one number": "Step {s}: reward = {r}\n",
}
STEPS = {
    "bars": "Step {i} | reward {x} | loss {y} | kl 0.01\n",
    "iteration": "Iteration {i}: reward={x} loss={y}\n",
    "tag": "[train] step={i} reward={x} loss={y}\n",
    "logging": "INFO trainer: step {i}/20 reward {x} loss {y}\n",
}
LAST = 20


def episode(form: str, i: int, of: int = 4) -> str:
    return "".join(form.format(s=s, e=e, r=(s * 7 + i) % 10 / 10) for e in range(2) for s in range(1, of + 1))


def values(i: int) -> dict[str, float]:
    return {"reward": (i + 1) / 32, "loss": (i * i % 7 + 1) / 64}


def step(form: str, i: int) -> str:
    return form.format(i=i, x=values(i)["reward"], y=values(i)["loss"])


def told(path: Path) -> tuple[dict[int, dict[str, float]], list[int]]:
    run = opened(path)
    rows = {at: {name: cells.get(name, -1.0) for name in ("reward", "loss")} for at, cells in content(run).items()}
    return rows, list(run.run.history.table.restarts)


@pytest.mark.parametrize("of", [2, 4, 9])
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("episodes", EPISODES)
def test_only_the_steps_of_the_training_make_rows(episodes: str, steps: str, of: int, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(episode(EPISODES[episodes], i, of) + step(STEPS[steps], i) for i in range(1, LAST + 1)))
    assert told(path) == ({i: values(i) for i in range(1, LAST + 1)}, [])


@pytest.mark.parametrize("steps", STEPS)
def test_what_is_left_out_is_told(steps: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    form = EPISODES["environment"]
    path.write_text("".join(episode(form, i) + step(STEPS[steps], i) for i in range(1, LAST + 1)))
    (source,) = opened(path).run.sources
    count = sum(n for reason, n in source.skipped.items() if "starts again" in reason)
    assert count >= 8 * (LAST - 1)


@pytest.mark.parametrize("steps", STEPS)
def test_two_lines_that_contradict_each_other_are_told(steps: str, tmp_path: Path) -> None:
    """As two processes print that do not name their rank: the later line counts, and it is told."""

    def remarks(text: str) -> str:
        path = tmp_path / "train.log"
        path.write_text(text)
        (source,) = opened(path).frame().run.sources
        return f"{source.note} {dict(source.skipped)}"

    lines = [
        (step(STEPS[steps], i), step(STEPS[steps], i).replace("loss 0", "loss 1").replace("loss=0", "loss=1"))
        for i in range(1, 31)
    ]
    assert "other values" in remarks("".join(one + other for one, other in lines))
    assert "other values" not in remarks("".join(one + one for one, _ in lines))


@pytest.mark.parametrize("episodes", EPISODES)
def test_episodes_that_begin_later(episodes: str, tmp_path: Path) -> None:
    """As an evaluation plays some after step 100."""
    lines = [step(STEPS["tag"], i) + (episode(EPISODES[episodes], i) if i >= 100 else "") for i in range(1, 140)]
    path = tmp_path / "train.log"
    path.write_text("".join(lines))
    assert told(path)[0] == {i: values(i) for i in range(1, 140)}
    assert told(path)[1] == []


@pytest.mark.parametrize("at", [12, 90])
@pytest.mark.parametrize("beside", ["", "rollout step {i} length={x}\n", "[sync] step={i} seconds={x} waited={y}\n"])
def test_a_run_that_is_restarted_goes_on(at: int, beside: str, tmp_path: Path) -> None:
    """Lines of all kinds go back then."""

    def line(i: int, shift: float) -> str:
        reward, loss = values(i)["reward"] + shift, values(i)["loss"] + shift
        told = beside.format(i=i, x=reward + 1, y=loss) if i % 3 == 0 else ""
        return f"[train] step={i} reward={reward} loss={loss}\n{told}"

    path = tmp_path / "train.log"
    first = "".join(line(i, 0.0) for i in range(1, at + 1))
    path.write_text(first + "".join(line(i, 0.5) for i in range(at - 4, at + 30)))
    rows, restarts = told(path)
    assert restarts == [at - 4]
    assert rows == {i: {name: x + 0.5 * (i >= at - 4) for name, x in values(i).items()} for i in range(1, at + 30)}


def test_a_log_that_grows_is_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "REST_S", -1.0)  # a file is quiet at once
    lines = [episode(EPISODES["environment"], i) + step(STEPS["tag"], i) for i in range(1, 12)]
    data = "".join(lines).encode()
    whole = followed(tmp_path / "whole.log", [data])
    assert whole[1] == []
    for cut in (5, 8, 10):
        parts = ["".join(lines[:cut]).encode(), "".join(lines[cut:]).encode()]
        assert followed(tmp_path / f"{cut}.log", parts) == whole
