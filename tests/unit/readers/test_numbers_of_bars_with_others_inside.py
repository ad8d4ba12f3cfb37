"""Numbers of a bar inside which other bars begin and end, that is drawn too rarely, or goes on after a resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import rows

T = 30


def drawn(name: str, done: int, total: int, tail: str = "") -> str:
    return (
        f"{name}{100 * done // total:3}%|{'█' * (10 * done // total):10}| {done}/{total} [03:12<09:10,  3.05s/it{tail}]"
    )


def losses(tmp_path: Path, parts: list[str]) -> dict[int, float]:
    log = "lora_r: 2\n" + "\r".join(parts) + "\nTraining done\n"
    return {step: row["total_loss"] for step, row in rows(tmp_path, log).items() if "total_loss" in row}


@pytest.mark.parametrize("inner", ["", "PPO epoch: ", "batches: ", "Prompts: ", "updates: ", "Rollouts: "])
@pytest.mark.parametrize("described", [True, False])
def test_a_bar_inside_each_step(inner: str, described: bool, tmp_path: Path) -> None:
    parts = [drawn("Training: ", 0, T)]
    told = ""

    def outer(done: int) -> str:
        return drawn(f"{told}: ", done, T) if described else drawn("Training: ", done, T, f", {told}")

    for step in range(1, T + 1):
        parts += [drawn(inner, part, 8) for part in range(9)]
        told = f"loss={3 - step / 100:.2f}, reward={step / 90:.3f}"
        parts += [outer(step - 1), outer(step)]
    assert losses(tmp_path, parts) == {step: pytest.approx(3 - step / 100) for step in range(1, T + 1)}


def test_a_bar_that_is_not_drawn_at_each_count(tmp_path: Path) -> None:
    """It counts faster than it is drawn, but setting numbers always draws it."""
    parts, told = [drawn("Training: ", 0, T)], ""
    for step in range(1, T + 1):
        if step % 5 == 0:
            parts.append(drawn("Training: ", step, T, told))
        told = f", loss={3 - step / 100:.2f}, reward={step / 90:.3f}"
        parts.append(drawn("Training: ", step, T, told))
    assert losses(tmp_path, parts) == {step: pytest.approx(3 - step / 100) for step in range(1, T + 1)}


@pytest.mark.parametrize("begin", [0, 1, 12])
def test_numbers_set_behind_the_count_after_a_resume(begin: int, tmp_path: Path) -> None:
    parts, told = [], ""
    for step in range(begin, T + 1):
        parts.append(drawn("Training: ", step, T, told))
        if step > begin:
            told = f", loss={3 - step / 100:.2f}, reward={step / 90:.3f}"
    parts.append(drawn("Training: ", T, T, told))
    assert losses(tmp_path, parts) == {step: pytest.approx(3 - step / 100) for step in range(begin + 1, T + 1)}


def test_numbers_that_stay_the_same_from_the_first_step_on(tmp_path: Path) -> None:
    parts = [drawn("Training: ", 0, T)]
    parts += [drawn("Training: ", step, T, f", loss={0.5 if step < 20 else 0.25}") for step in range(1, T + 1)]
    found = losses(tmp_path, parts)
    assert (min(found), found[1], found[20]) == (1, 0.5, 0.25)
    assert all(x == (0.5 if step < 20 else 0.25) for step, x in found.items())


@pytest.mark.parametrize("inner", ["", "PPO epoch: ", "batches: ", "updates: "])
def test_numbers_of_the_parts_of_a_step_are_not_those_of_the_step(inner: str, tmp_path: Path) -> None:
    parts, told = [drawn("Training: ", 0, T)], ""
    for step in range(1, T + 1):
        parts += [drawn(inner, part, 8, f", loss={7 + part / 10}" if part else "") for part in range(9)]
        told = f"loss={3 - step / 100:.2f}, reward={step / 90:.3f}"
        parts += [drawn(f"{told}: ", step - 1, T), drawn(f"{told}: ", step, T)]
    assert losses(tmp_path, parts) == {step: pytest.approx(3 - step / 100) for step in range(1, T + 1)}


def test_a_shorter_bar_after_one_that_stopped_halfway_is_read(tmp_path: Path) -> None:
    parts = [drawn("Training: ", 0, T)] + [drawn("Training: ", i, T, f", loss={3 - i / 100:.2f}") for i in range(1, 11)]
    parts += [drawn("Epoch 2: ", i, 20, f", loss={2 - i / 100:.2f}" if i else "") for i in range(21)]
    assert losses(tmp_path, parts)[10] == pytest.approx(2.9)


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize(("outer", "inner"), [("Epochs", ""), ("", ""), ("Epoch", "Steps"), ("Epochs", "Epoch {e}")])
def test_steps_that_are_drawn_below_their_epochs(outer: str, inner: str, every: int, tmp_path: Path) -> None:
    """tqdm goes back up behind a bar below another one. What is below shows numbers, so it is no evaluation."""
    epochs, each, text, truth = 3, 20, "lora_r: 2\n", {}
    for e in range(1, epochs + 1):
        over = f"{outer}: " if outer else ""
        text += f"\r{over}{33 * (e - 1):3}%|          | {e - 1}/{epochs} [03:00<06:00, 60.0s/it]"
        shown = ""
        for i in range(each + 1):
            name, at = (f"{inner.format(e=e)}: " if inner else ""), (e - 1) * each + i + 1
            text += f"\n\r{name}{5 * i:3}%|          | {i}/{each} [00:30<00:30,  3.00s/it{shown}]\x1b[A"
            if i < each and at % every == 0:
                truth[at], shown = 3 - at / 60, f", loss={3 - at / 60:.4f}, reward=0.4"
                text += f"\n\r{name}{5 * i:3}%|          | {i}/{each} [00:30<00:30,  3.00s/it{shown}]\x1b[A"
    found = rows(tmp_path, f"{text}\nTraining done\n")
    read = {step: row["total_loss"] for step, row in found.items() if "total_loss" in row}
    assert read == {step: pytest.approx(loss, abs=1e-4) for step, loss in truth.items()}
