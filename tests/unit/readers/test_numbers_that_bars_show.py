"""Numbers that a loop sets in its bar, drawn as tqdm draws them: each is of the step that it was set in, and only of
that one, however long the bar shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import rows

T = 60
Values = dict[int, tuple[float, float]]


class Bar:
    """A bar that is drawn at its start, each time it counts on, and, if `redraws`, each time its text is set."""

    def __init__(self, show: str, redraws: bool) -> None:
        self.show, self.redraws, self.done, self.text = show, redraws, 0, ""
        self.drawn: list[str] = []
        self.draw()

    def draw(self) -> None:
        name, tail = ("Training", "")
        if self.text:
            name, tail = (self.text, "") if self.show.startswith("{text}:") else ("Training", f", {self.text}")
        share = f"{100 * self.done // T:3}%|{'█' * (10 * self.done // T):10}| {self.done}/{T}"
        self.drawn.append(f"{name}: {share} [03:12<09:10,  3.05s/it{tail}]")

    def set(self, text: str) -> None:
        self.text = text
        if self.redraws:
            self.draw()

    def update(self) -> None:
        self.done += 1
        self.draw()

    def say(self, line: str) -> None:
        """Another line above the bar, which is then drawn again."""
        self.drawn[-1] += f"\r{' ' * 80}\r{line}\n"
        self.draw()

    def close(self) -> str:
        self.draw()
        return "lora_r: 2\n" + "\r".join(self.drawn) + "\nTraining done\nTotal time: 45.0 hours\n"


DESCRIBED = (
    "{text}:loss: {loss:.4f} | reward: {reward:.4f}",
    "{text}:Loss: {loss:.4f} | Reward: {reward:.4f} | Speed: 0.2 steps/s",
    "{text}:Loss: {loss:.4f} | Reward: {reward:.4f} | ETA: 34.0h | GPU: 6.4/8.8GB",
    "{text}:train loss={loss:.4f}, reward={reward:.4f}",
    "{text}:Epoch 1/1 | loss: {loss:.4f} | reward: {reward:.4f}",
    "{text}:[train] loss {loss:.4f} reward {reward:.4f}",
    "{text}:loss : {loss:.4f} , reward : {reward:.4f}",
)
BEHIND = (
    "loss={loss:.4f}, reward={reward:.4f}",
    "loss={loss:.4f} reward={reward:.4f}",
    "loss: {loss:.4f} | reward: {reward:.4f}",
    "loss {loss:.4f}, reward {reward:.4f}",
)


def drawn(show: str, early: bool, redraws: bool, every: int, says: int = 0) -> tuple[str, Values]:
    """A log, and the numbers of each step that has some. `early`: they are set before the bar counts their step."""
    bar, truth = Bar(show, redraws), Values()
    for step in range(1, T + 1):
        if not early:
            bar.update()
        if step % every == 0:
            truth[step] = (6.0 - step / 50, 0.1 + step / 200)
            bar.set(show.removeprefix("{text}:").format(loss=truth[step][0], reward=truth[step][1]))
        if says and step % says == 0:
            bar.say(f"saved checkpoint-{step}")
        if early:
            bar.update()
    return bar.close(), truth


def read(tmp_path: Path, text: str) -> Values:
    found = rows(tmp_path, text)
    assert not any("ETA" in row or "eta" in row for row in found.values())
    return {step: (row["total_loss"], row["reward_mean"]) for step, row in found.items() if "total_loss" in row}


@pytest.mark.parametrize("every", [1, 5, 10])
@pytest.mark.parametrize("redraws", [True, False])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("show", [DESCRIBED[0], BEHIND[0]])
def test_each_is_of_the_step_that_it_was_set_in(
    show: str, early: bool, redraws: bool, every: int, tmp_path: Path
) -> None:
    text, truth = drawn(show, early, redraws, every)
    assert read(tmp_path, text) == {step: pytest.approx(values) for step, values in truth.items()}


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("show", [*DESCRIBED, *BEHIND])
def test_whatever_words_it_is_in(show: str, every: int, tmp_path: Path) -> None:
    text, truth = drawn(show, True, True, every)
    assert read(tmp_path, text) == {step: pytest.approx(values) for step, values in truth.items()}


@pytest.mark.parametrize("redraws", [True, False])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("every", [1, 10])
def test_lines_between_draw_the_bar_again_and_set_nothing(
    every: int, early: bool, redraws: bool, tmp_path: Path
) -> None:
    text, truth = drawn(BEHIND[0], early, redraws, every, says=25)
    assert read(tmp_path, text) == {step: pytest.approx(values) for step, values in truth.items()}


@pytest.mark.parametrize("change", [lambda n: 0.25, lambda n: 0.25 if n < 20 else n / 100])
def test_numbers_that_stay_the_same_give_no_false_row(change: Callable[[int], float], tmp_path: Path) -> None:
    bar = Bar(BEHIND[0], True)
    for step in range(1, T + 1):
        bar.set(BEHIND[0].format(loss=1.0, reward=change(step)))
        bar.update()
    found = read(tmp_path, bar.close())
    assert found
    assert all(values == pytest.approx((1.0, change(step))) for step, values in found.items())


NAMES = (
    "train[grpo|format_copy]",
    "GRPO: training",
    "Training (seed 1)",
    "Train Qwen2.5-0.5B",
    "GRPO Training | gsm8k",
    "RL",
    "Iterations",
    "Épisodes",
    "训练",
    "🚀 Training",
    "main",
)
OTHERS = ("gather gpt-4o", "Evaluating", "minibatch", "Scoring answers", "Step 3", "Processed prompts")


def named(name: str) -> str:
    bar = Bar(BEHIND[0], True)
    for step in range(1, T + 1):
        bar.set(BEHIND[0].format(loss=6.0 - step / 50, reward=0.1 + step / 200))
        bar.update()
    return bar.close().replace("Training:", f"{name}:")


@pytest.mark.parametrize("name", NAMES)
def test_a_bar_that_shows_numbers_of_training_counts_its_steps_whatever_its_name_is(name: str, tmp_path: Path) -> None:
    assert list(read(tmp_path, named(name))) == list(range(1, T + 1))


@pytest.mark.parametrize("name", OTHERS)
def test_a_bar_of_other_work_does_not(name: str, tmp_path: Path) -> None:
    text = named(name) + "".join(f"step {n} kl 0.{n}\n" for n in range(1, 9))
    found = rows(tmp_path, text)
    assert list(found) == list(range(1, 9))
    assert not any("total_loss" in row for row in found.values())
