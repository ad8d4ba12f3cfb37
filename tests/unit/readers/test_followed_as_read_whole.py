"""What is shown of a log that is followed is its rows as it stands, and whoever looks at it changes nothing: at its end
it has the rows that it has if it is opened whole. Later lines may show that what was shown meanwhile was to be read
otherwise: `train: loss=` below `Epoch 3/40` is a step's only once that heading came several times."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.discovery.found import NotARun
from rltui.session import live, run_reader
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

STEPS = 30
Cells = dict[tuple[int, str], float]


def loss(i: int) -> str:
    return f"{1.3 - 0.0123 * i:.4f}"


def reward(i: int) -> str:
    return f"{0.125 + 0.0171 * i:.3f}"


def seconds(i: int) -> str:
    return f"{11 + 7 * i % 5}.{i % 10}"


STYLES: dict[str, Callable[[int], str]] = {
    "sets below an epoch": lambda i: (
        f"Epoch {i}/{STEPS}\n  train: loss={loss(i)} reward={reward(i)}\n  val: acc={reward(i + 3)}\n"
    ),
    "sets below a ruled epoch": lambda i: (
        f"===== Epoch {i}/{STEPS} =====\ntrain | loss {loss(i)} | reward {reward(i)}\nval   | acc {reward(i + 3)}\n"
        f"saved checkpoint to ckpt/epoch_{i}.pt\n"
    ),
    "batches of an epoch": lambda i: (
        f"--- epoch {(i - 1) // 6} ---\n" * (i % 6 == 1)
        + f"  batch {(i - 1) % 6 + 1}/6 loss {loss(i)} reward {reward(i)}\n"
        + f"--- epoch {(i - 1) // 6} done: val_acc {reward(i + 3)} ---\n" * (i % 6 == 0)
    ),
    "values above their step": lambda i: f"reward: {reward(i)}\nloss: {loss(i)}\nfinished step {i}\n",
    "parts below a step": lambda i: (
        f"step {i}\n"
        + "".join(f"   micro {part}/4 pg_loss {loss(4 * i + part)}\n" for part in range(1, 5))
        + f"   step loss {loss(i)} reward {reward(i)}\n"
    ),
    "work above a step": lambda i: (
        f"generate: 64/64 done, {seconds(i)}s\nreward: mean {reward(i)}\n"
        f"step {i} done, loss {loss(i)}, took {seconds(i + 1)}s\n"
    ),
    "a training above the training": lambda i: (
        f"[sft] epoch {i} loss {loss(i)}\n" if i <= 5 else f"[rl] iter {i - 5} loss {loss(i)} reward {reward(i)}\n"
    ),
    "a relaunch that prints dicts": lambda i: (
        f"step {i} | loss {loss(i)} | reward {reward(i)}\n"
        if i <= 15
        else f"{{'step': {i - 8}, 'loss': {loss(i)}, 'reward': {reward(i)}}}\n"
    ),
    "a relaunch that prints otherwise": lambda i: (
        f"[{i}/{STEPS}] loss={loss(i)}, reward={reward(i)}\n"
        if i <= 15
        else f"step {i - 15} | loss {loss(i)} | reward {reward(i)}\n"
    ),
    "another logger above verl's": lambda i: (
        f"step {i} | loss {loss(i)} | reward {reward(i)}\n"
        if i <= 15
        else f"(TaskRunner pid=991) step:{i - 5} - actor/pg_loss:{loss(i)} - critic/rewards/mean:{reward(i)}\n"
    ),
    "answers above counted lines": lambda i: (
        "Step 1: read it, time: 5.\nStep 2: add them, reward: 30.\nStep 3: so it is 42.\n" * (i == 1)
        + f"[{i}/{STEPS + 9}] loss={loss(i)} | reward={reward(i)}\n"
    ),
    "durations and memory": lambda i: f"step {i}/{STEPS} | loss {loss(i)} | 1m{i:02d}s | mem 6{i % 9}.2/79.1GiB\n",
    "an answer above the steps": lambda i: (
        "Step 2: add them, reward: 30.\n" * (i == 1) + f"iter {i} loss {loss(i)} reward {reward(i)}\n"
    ),
}


def lines(data: bytes) -> Iterator[bytes]:
    yield from data.splitlines(keepends=True)


def even(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + 211] for at in range(0, len(data), 211))


def uneven(data: bytes) -> Iterator[bytes]:
    draw, at = random.Random(5), 0
    while at < len(data):
        size = draw.choice((3, 17, 60, 150, 800))
        yield data[at : at + size]
        at += size


def followed(path: Path, parts: Iterator[bytes], quiet: bool) -> tuple[Cells, list[int]]:
    """Cells and restarts of a log that grew by these parts. `quiet`: nothing came for a while after each."""
    opened: RunReader | None = None
    for part in parts:
        with path.open("ab") as out:
            out.write(part)
        if opened is not None:
            opened.poll()
        else:
            try:
                opened = RunReader(locate([str(path)])[0], follow=True)
            except NotARun:
                continue
            opened.load()
        if quiet:
            opened.rest()
    assert opened is not None
    opened.rest()
    opened.rest()
    return read(opened)


def read(opened: RunReader) -> tuple[Cells, list[int]]:
    table = opened.run.history.table
    each = {key: series for key in table.columns if (series := table.series(key)) is not None}
    cells = {
        (int(step), key): float(x)
        for key, series in each.items()
        for step, x in zip(series.steps, series.values, strict=True)
    }
    opened.close()
    return cells, list(table.restarts)


def whole(path: Path, data: bytes) -> tuple[Cells, list[int]]:
    path.write_bytes(data)
    opened = RunReader(locate([str(path)])[0])
    opened.load()
    return read(opened)


@pytest.fixture(autouse=True)
def _quiet_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "REST_S", -1.0)


@pytest.mark.parametrize("style", STYLES)
def test_what_was_shown_meanwhile_makes_no_difference(style: str, tmp_path: Path) -> None:
    data = "".join(STYLES[style](i) for i in range(1, STEPS + 1)).encode()
    expected = whole(tmp_path / "whole.log", data)
    assert len(expected[0]) >= STEPS
    for cut in (lines, even, uneven):
        for quiet in (False, True):
            found = followed(tmp_path / f"{cut.__name__}-{quiet}.log", cut(data), quiet)
            assert found == expected, (cut.__name__, quiet)


@pytest.mark.parametrize("style", ["sets below an epoch", "work above a step"])
def test_a_log_that_seemed_over_goes_on_as_if_it_had_not(
    style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was not written to for long is read to its end as that of a run that is over."""
    monkeypatch.setattr(run_reader, "QUIET_S", -1.0)
    data = "".join(STYLES[style](i) for i in range(1, STEPS + 1)).encode()
    expected = whole(tmp_path / "whole.log", data)
    for at in random.Random(style).sample(range(200, len(data)), 6):
        assert followed(tmp_path / f"{at}.log", iter([data[:at], data[at:]]), quiet=False) == expected, at


@pytest.mark.parametrize(("rows", "at_once"), [(30, 1), (500, 14)])
def test_dicts_are_counted_once_whatever_their_file_seems_to_be(
    rows: int, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some dicts may be a document, which is read again as it grows. What a file is shows in its first 64 KiB, not in
    its first piece."""
    monkeypatch.setattr(live, "LOOK_AGAIN_AT_ONCE_S", 0.0)
    lines = [f"{{'loss': {loss(i)}, 'reward': {reward(i)}}}\n".encode() for i in range(1, rows + 1)]
    expected = whole(tmp_path / "whole.log", b"".join(lines))
    assert len(expected[0]) == 2 * rows
    path = tmp_path / "a" / "train.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(lines[:2]))
    found = locate([str(path)])[0]
    assert found.candidate.files[0][1] == "json"
    run = live.LiveRun(found)
    for at in range(2, rows, at_once):
        with path.open("ab") as out:
            out.write(b"".join(lines[at : at + at_once]))
        run.next_frame(0.0)
    until = time.monotonic() + 60
    while len(run.opened.run.history.table.steps) != rows and time.monotonic() < until:
        run.next_frame(0.01)
    run.close()
    assert read(run.opened) == expected


def test_rows_are_shown_within_the_quiet_they_are_held_back_in(tmp_path: Path) -> None:
    """The newest step of a block that is not complete: what it has so far."""
    path = tmp_path / "train.log"
    block = "===== Step {i}/300 =====\n  Loss: {a}\n  Reward: {b}\n"
    path.write_text("".join(block.format(i=i, a=loss(i), b=reward(i)) for i in range(1, 6)))
    opened = RunReader(locate([str(path)])[0], follow=True)
    opened.load()
    with path.open("a") as out:
        out.write(f"===== Step 6/300 =====\n  Loss: {loss(6)}\n")
    opened.poll()
    opened.rest()
    shown = opened.run.history.table
    assert shown.cells(5) == {"loss": float(loss(6))} or shown.cells(5) == {"Loss": float(loss(6))}
    with path.open("a") as out:
        out.write(f"  Reward: {reward(6)}\n")
    opened.poll()
    opened.rest()
    assert sorted(opened.run.history.table.cells(5).values()) == sorted([float(loss(6)), float(reward(6))])
    opened.close()


def test_what_was_told_beside_the_rows_is_told_once(tmp_path: Path) -> None:
    """Notes, settings and the lines of the log do not come again as what follows is read from the state before."""
    path = tmp_path / "train.log"
    path.write_text("".join(STYLES["values above their step"](i) for i in range(1, 6)))
    opened = RunReader(locate([str(path)])[0], follow=True)
    opened.load()
    opened.rest()
    for text in (
        "Saving model checkpoint to out/checkpoint-5\n",
        "WARNING: 3 of 64 ans",
        "wers are too long\n",
        "ok\n",
    ):
        with path.open("a") as out:
            out.write(text)
        opened.poll()
        opened.rest()
    notes = [note.text for note in opened.run.notes if note.kind in ("checkpoint", "warning")]
    assert len(notes) == len(set(notes)), notes
    shown = [(line.line, line.text) for line in opened.frame().log]
    assert len(shown) == len(set(shown))
    opened.close()
