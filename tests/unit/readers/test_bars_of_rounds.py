"""Bars of rounds through the prompts, as OpenRLHF paints them, with the numbers of their steps behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import but_pace, content, opened

EACH = 8
"""Batches of one episode."""


def painted(episode: int, count: int, numbers: str = "") -> str:
    return f"\rEpisode [{episode}/20]: {100 * count // EACH:3d}%|▏  | {count}/{EACH} [00:12<13:20, 4.06s/it{numbers}]"


def bars(episodes: range, within: str = "", early: bool = True) -> Iterator[str]:
    """What tqdm writes: a bar as it is made, given numbers, and counted on; or one painting of a slow bar each."""
    for episode in episodes:
        numbers = ""
        yield painted(episode, 0)
        for i in range(EACH):
            yield within
            numbers = f", policy_loss={numbered(episode, i) / 64:.6f}, kl=0.25, reward=0.5"
            if early:
                yield painted(episode, i, numbers)
            yield painted(episode, i + 1, numbers)
        yield "\n"


def numbered(episode: int, i: int) -> int:
    return EACH * (episode - 1) + i + 1


def expected(last: int, first: int = 1) -> dict[int, dict[str, float]]:
    row = {"kl": 0.25, "reward": 0.5}
    return {i: {"policy_loss": pytest.approx(i / 64, abs=1e-6), **row} for i in range(first, last + 1)}


INNER = "".join(
    f"\rTrain epoch [{e}/2]: {n * 25}%|█| {n}/4 [00:01<00:02, 1.0it/s, policy_loss=9.5, act_lr=1e-06]"
    for e in (1, 2)
    for n in range(5)
)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("within", ["", INNER + "\n", "reading prompts\n"], ids=["alone", "bars within", "words"])
def test_steps_go_on_from_episode_to_episode(within: str, early: bool, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(bars(range(1, 4), within, early)))
    assert but_pace(content(opened(path))) == expected(24)
    report = reported(path)
    assert report["run"]["steps"] | {"first": 1, "last": 24, "rows": 24} == report["run"]["steps"]
    assert ends(report, "reward_mean") == (24, 0.5, 0.5)


def test_an_episode_that_is_gone_on_with_has_its_own_steps(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(bars(range(3, 5))))
    assert but_pace(content(opened(path))) == expected(32, first=17)


def test_episodes_of_a_game_count_no_steps(tmp_path: Path) -> None:
    """Nor do samples that are drawn, nor an evaluation."""
    path = tmp_path / "train.log"
    names = ("Episode 7", "Generate [2/9]", "Eval episode [1/20]")
    noise = [f"\r{name}: 50%|█| 4/8 [00:01<00:02, 1.0it/s, reward=7.5, loss=8.5]" for name in names]
    path.write_text("".join(bars(range(1, 3), "".join(noise) + "\n")))
    assert but_pace(content(opened(path))) == expected(16)


def test_lines_that_state_their_step_count_alone(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = "".join(bars(range(1, 3))).split("\n")
    stated = [f"Global step {i}: {{'policy_loss': {i / 64:.6f}, 'kl': 0.25, 'reward': 0.5}}\n" for i in range(1, 17)]
    path.write_text("\n".join([lines[0], *stated[:8], lines[1], *stated[8:]]))
    assert content(opened(path)) == expected(16)


def test_where_the_bytes_are_cut_makes_no_difference() -> None:
    data = "".join(bars(range(1, 3))).encode()
    whole = by_step([data])
    assert len(whole) == 16
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))
