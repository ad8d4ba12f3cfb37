"""A log that is opened while its trainer writes a step ends there for now. What is written then is read as if nobody
had looked meanwhile, whichever lines a step is made of."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.readers.base import LeftOut
from rltui.readers.console.reader import ConsoleReader
from rltui.session import run_reader
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.readers.reading import Cells, Read, cuts

STEPS = 4


def a(i: int) -> str:
    return f"{0.1 + 0.0123 * i:.4f}"


def b(i: int) -> str:
    return f"{12.5 - 0.375 * i:.3f}"


STYLES: dict[str, Callable[[int], str]] = {
    "heading": lambda i: f"===== Step {i}/300 =====\n  Loss: {a(i)}\n  Reward: {b(i)}\n  KL: 0.0012\n",
    "heading of logging": lambda i: (
        f"2026-01-02 03:04:0{i} INFO Step {i}:\n  loss: {a(i)}\n  reward: {b(i)}\n  kl: 0.0012\n"
    ),
    "dashes": lambda i: f"--- Step {i} ---\nloss: {a(i)}\nreward: {b(i)}\nlr: 1e-06\n",
    "iteration": lambda i: f"Iteration {i}/300\n  mean_reward: {a(i)}\n  policy_loss: {b(i)}\n",
    "heading and chatter": lambda i: (
        f"===== Step {i}/300 =====\nsampled 8 answers\n  Loss: {a(i)}\n  Reward: {b(i)}\nsaved the buffer\n"
    ),
    "dict below": lambda i: (
        f"Step {i}: \n{{'reward/avg_raw_reward': '{a(i)}',\n 'policy/loss': '{b(i)}',\n 'policy/kl': '0.0012'}}\n"
    ),
    "dict of pprint": lambda i: f"{{'kl': 0.0012,\n 'loss': {a(i)},\n 'reward': {b(i)},\n 'step': {i}}}\n",
    "dict of json": lambda i: f'INFO: {{\n  "step": {i},\n  "loss": {a(i)},\n  "reward": {b(i)}\n}}\n',
    "message of rich": lambda i: (
        f"[01/02/26 03:04:0{i}] INFO     Step {i} loss={a(i)} reward={b(i)}     trainer.py:120\n"
        f"                             kl=0.0012 lr=1e-06\n"
    ),
    "box": lambda i: (
        f"Train step {i}/300 done.\nStats (1/1):\n╒══════╤════════╤══════╤════════╕\n│ loss │ {a(i)} │ kl │ 0.0012 │\n"
        f"│ reward │ {b(i)} │      │       │\n╘══════╧════════╧══════╧════════╛\n"
    ),
    "title and box": lambda i: (
        f"      Step {i}      \n┏━━━━━━┳━━━━━━┓\n┃ metric ┃ value ┃\n┡━━━━━━╇━━━━━━┩\n"
        f"│ loss │ {a(i)} │\n│ reward │ {b(i)} │\n└──────┴──────┘\n"
    ),
    "panel": lambda i: (
        f"╭──────── Metrics ────────╮\n│ other      training_step: {i} │\n│ objective  kl: {a(i)} | rate: 0.50 | │\n"
        f"│            entropy: {b(i)} │\n╰─────────────────────────╯\n"
    ),
    "epoch steps": lambda i: (
        f"epoch: 0|step: {i}|ppo_ep: 1|act_loss: {a(i)}|cri_loss: 0.12|unsuper_loss: 0.0\n"
        f"average reward score: {b(i)}\n"
    ),
    "newer epoch steps": lambda i: (
        f"Epoch: 0 | Step: {i} | PPO Epoch: 1 | Actor Loss: {a(i)} | Critic Loss: 0.12 | Unsupervised Loss: 0.0\n"
        f"End-to-End => Latency: 2.55s, TFLOPs: 3.29\nAverage reward score: {b(i)} | EMA reward score: 0.5\n"
    ),
    "rollout dicts": lambda i: (
        f"rollout {i}: {{'rollout/raw_reward': {a(i)}}}\nstep {2 * i}: {{'train/loss': 0.5}}\n"
        f"step {2 * i + 1}: {{'train/loss': {b(i)}}}\nperf {i}: {{'perf/step_time': 12.5}}\n"
    ),
    "numbers within a bar": lambda i: (
        f"\rSteps: {i}%|██▌       | {i}/100 [00:0{i}<01:30,  1.02s/it, loss={a(i)}, reward={b(i)}]"
    ),
    "dict behind a bar": lambda i: (
        f" {i}%|██▌       | {i}/100 [00:0{i}<01:30,  1.02s/it]{{'loss': {a(i)}, 'reward': {b(i)}, 'epoch': 0.0{i}}}\n"
    ),
    "table of an evaluation": lambda i: (
        f"step {i} | loss {b(i)} | reward {a(i)}\n| benchmark | acc |\n|---|---|\n| gsm8k | {a(i)} |\n"
        f"| own set | 0.5{i} |\n"
    ),
    "roll": lambda i: (
        f'pipeline step {i} start...\n{{"critic/score/mean": {a(i)}, "actor/kl": {b(i)}}}\npipeline step {i} finished\n'
    ),
}


def looked_at(parts: list[bytes], quiet: bool = False) -> tuple[dict[int, Cells], list[LeftOut]]:
    """Each part is what came until somebody looked; `quiet`: nothing more came for a while. The cells of each step, and
    the lines that nothing was taken of."""
    reader = ConsoleReader()
    read = Read(reader)
    for part in parts:
        read.take(reader.feed(part))
        read.take(reader.finish())
        if quiet and part is not parts[-1]:
            read.take(reader.rest())
    found: dict[int, Cells] = {}
    for step, cells in read.rows:
        found.setdefault(step, {}).update(cells)
    return found, reader.left_out()


@pytest.mark.parametrize("style", STYLES)
def test_where_it_was_opened_makes_no_difference(style: str) -> None:
    data = "".join(STYLES[style](i) for i in range(1, STEPS + 1)).encode()
    whole = looked_at([data])
    assert len(whole[0]) == STEPS
    assert all(len(cells) >= 2 for cells in whole[0].values())
    wrong = [at for at in cuts(data) if looked_at([data[:at], data[at:]]) != whole]
    assert wrong == []
    ends = [at for at in range(len(data)) if data[at : at + 1] in (b"\n", b"\r")]  # a line that lacks but its end
    assert [at for at in ends if looked_at([data[:at], data[at:]], quiet=True) != whole] == []


@pytest.mark.parametrize("style", STYLES)
def test_a_run_that_is_opened_within_a_step_goes_on_as_if_it_was_not(
    style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows, and that nothing was written twice: a step that comes again would look like a restart."""
    monkeypatch.setattr(run_reader, "REST_S", -1.0)  # a file is quiet at once
    data = "".join(STYLES[style](i) for i in range(1, 9)).encode()
    whole = followed(tmp_path / "whole.log", [data])
    assert len(whole[0]) >= 2 * 8
    for at in random.Random(style).sample(range(len(data) // 3, len(data)), 8):
        assert followed(tmp_path / f"{at}.log", [data[:at], data[at:]]) == whole, at


@pytest.mark.parametrize("end", ["\n", ",\n"])
def test_objects_of_several_lines_that_grow_are_no_restart(end: str, tmp_path: Path) -> None:
    """A file of nothing else is read as a document, from its beginning each time."""
    names = ("loss", "reward", "epoch", "step")
    objects = [{name: i if name == "step" else i / 64 for name in names} for i in range(1, 21)]
    data = "".join(json.dumps(one, indent=2) + end for one in objects).encode()
    whole = followed(tmp_path / "whole.log", [data])
    for at in cuts(data, 3 * len(data) // 4):
        assert followed(tmp_path / "cut.log", [data[:at], data[at:]]) == whole, data[:at][-40:]


def grown(path: Path, parts: list[bytes]) -> RunReader:
    path.write_bytes(parts[0])
    opened = RunReader(locate([str(path)])[0])
    opened.load()
    for part in parts[1:]:
        with path.open("ab") as out:
            out.write(part)
        opened.poll()
    opened.rest()
    return opened


def followed(path: Path, parts: list[bytes]) -> tuple[dict[tuple[int, str], float], list[int]]:
    """The cells of a log that is opened with its first part and grows by the others, and the steps of its restarts."""
    opened = grown(path, parts)
    table = opened.run.history.table
    cells = {
        (int(step), key): float(x)
        for key in table.columns
        if (series := table.series(key)) is not None
        for step, x in zip(series.steps, series.values, strict=True)
    }
    restarts = list(table.restarts)
    opened.close()
    return cells, restarts


def test_a_step_below_an_object_that_was_printed_before_it_is_read_at_the_end() -> None:
    """Ray puts its prefix before the first line of the object only: the lines of the step may be of it still."""
    ray = "(main_task pid=4312) "
    block = ray + f"--- step {{i}} ---\n{ray}  - entropy: 0.5\n{ray}  - mean_reward: 0.{{i}}\n"
    answer = f'{ray}{{{{\n  "answer": 7,\n  "confidence": 0.7\n}}}}\n'
    text = "".join((answer * (i == 5) + block).format(i=i) for i in range(1, 6))
    assert [cells.get("mean_reward") for cells in looked_at([text.encode()])[0].values()] == [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.long
@pytest.mark.parametrize("lead", ["", "(main_task pid=4312) ", "[rank0]: "])
def test_an_error_that_is_being_written_is_told_once_and_whole(lead: str, tmp_path: Path) -> None:
    """However far it was written when the log was opened, as is the checkpoint that was saved before it."""
    rows = "".join(STYLES["heading"](i) for i in range(1, 5))
    lines = ["Saving model checkpoint to out/checkpoint-400", "Traceback (most recent call last):"]
    lines += [
        '  File "train.py", line 12, in step',
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    ]
    data = (rows + "".join(f"{lead}{line}\n" for line in lines)).encode()
    whole = told_of(tmp_path / "whole.log", [data])
    assert {kind for kind, _ in whole} >= {"checkpoint", "traceback", "oom"}
    for at in cuts(data, len(rows.encode())):
        assert told_of(tmp_path / "cut.log", [data[:at], data[at:]]) == whole, data[:at][-40:]


def told_of(path: Path, parts: list[bytes]) -> list[tuple[str, str]]:
    opened = grown(path, parts)
    notes = sorted((note.kind, note.text) for note in opened.run.notes if note.kind not in ("progress", "phase"))
    opened.close()
    return notes


def test_steps_that_count_anew_in_each_epoch_go_on_behind_those_that_were_read_before() -> None:
    lines = [f"Epoch {e} Step {b} loss=0.{e}{b} reward=0.5{b}\n" for e in range(1, 4) for b in range(1, 5)]
    for cut in range(1, len(lines)):
        found, _ = looked_at(["".join(lines[:cut]).encode(), "".join(lines[cut:]).encode()])
        assert list(found) == list(range(1, 13)), cut


def test_a_line_of_another_rank_is_left_out_once() -> None:
    lines = [f"[rank{rank}]: step {i} loss=0.{i} reward=0.5{i}\n" for i in range(1, 6) for rank in (0, 1)]
    data = "".join(lines).encode()

    def counts(parts: list[bytes]) -> dict[str, int]:
        reader = ConsoleReader()
        for part in parts:
            reader.feed(part)
            reader.finish()
        return dict(reader.skipped)

    whole = counts([data])
    assert sum(whole.values()) == 5
    assert all(counts([data[:at], data[at:]]) == whole for at in cuts(data))
