"""What a reader holds back, as the lines that follow may tell more of it, is shown once the file is quiet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.session.live import LiveRun
from rltui.session.locate import locate
from tests.unit.position.reports import BLANK, bar, reward, trl
from tests.unit.session.runs import content, frames_until

HELD: dict[str, tuple[Callable[[int], str], str]] = {
    "lines of TRL behind a bar at its start": (trl, bar(0) + "\n"),
    "lines of TRL without a bar": (trl, "GRPO on CUDA, trl 1.0\n"),
    "a line of TRL behind a blanked bar": (lambda i: BLANK + trl(i), bar(0)),
    "postfix of a bar": (lambda i: f"{bar(i)[:-1]}, loss=0.5, reward={reward(i)}]", ""),
    "numbers below a heading": (lambda i: f"==== Step {i}/90 ====\n  Reward: {reward(i)}\n  Loss: 0.5\n", ""),
}


@pytest.mark.parametrize("kind", HELD)
def test_rows_held_back_are_shown_when_the_file_is_quiet(kind: str, tmp_path: Path) -> None:
    """Then it goes on, and nothing is lost, counted twice or taken for a restart."""
    line, head = HELD[kind]
    log = tmp_path / "train.log"
    log.write_text(head + line(1) + line(2))
    live = LiveRun(locate([str(log)])[0])

    def rewards() -> list[float]:
        rows = content(live.opened).values()
        return [value for cells in rows for key, value in cells.items() if key.lower() == "reward"]

    frames_until(live, lambda: rewards() == [reward(1), reward(2)])
    with log.open("a") as out:
        out.write("".join(map(line, range(3, 31))))
    frames_until(live, lambda: rewards() == list(map(reward, range(1, 31))))
    assert live.opened.run.history.table.restarts == []
    live.close()
