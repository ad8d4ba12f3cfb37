"""A sample of the random styles, and what several processes, loggers and units make of step lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.readers.base import Rows
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.sniff import sniff
from tests.draws import some
from tests.reading_styles.check import compare, read
from tests.reading_styles.styles import Cells, log
from tests.reading_styles.titles import MEASURED, titled_log
from tests.unit.session.runs import content, opened

SAMPLE = 60
TITLED = 160
IN_PIECES = range(7000, 7012)


@pytest.mark.parametrize("part", range(6))
def test_every_style_is_wholly_right(part: int, tmp_path: Path) -> None:
    for seed in range(part, SAMPLE, 6):
        one = log(seed)
        outcome = compare(one, read(one, tmp_path))
        assert outcome.is_right, f"{seed}: {one.told}: {outcome.examples}"


@pytest.mark.long
@pytest.mark.parametrize("part", some(range(8), few=2))
def test_what_stands_below_a_title_is_of_its_step(part: int, tmp_path: Path) -> None:
    for seed in range(part, TITLED, 8):
        one = titled_log(seed)
        found = read(one, tmp_path)
        told = {step: {name: row.get(name) for name in MEASURED} for step, row in found.items()}
        assert told == one.rows, f"{seed}: {one.told}"


@pytest.mark.parametrize("seed", IN_PIECES)
def test_a_style_in_pieces(seed: int) -> None:
    """Looked at after each piece, in the middle of lines too, a log says what it says as a whole."""
    one = log(seed)
    if sniff(one.text.encode(), one.name) != "console":
        pytest.skip("read by a reader of another format")
    text = one.text.encode()
    whole = newest_cells(text, len(text))
    assert whole == {(step, name): x for step, cells in one.rows.items() for name, x in cells.items()} | {
        key: x for key, x in whole.items() if key[1] in one.also
    }
    for size in (13, 250):
        assert newest_cells(text, size) == whole, size


def newest_cells(text: bytes, size: int) -> dict[tuple[int, str], float]:
    """The newest value of each step and name, of a reader that is fed pieces of a size."""
    reader = ConsoleReader()
    out: dict[tuple[int, str], float] = {}
    for at in range(0, len(text), size):
        for record in [*reader.feed(text[at : at + size]), *reader.finish()]:
            if isinstance(record, Rows):
                for key, column in record.values.items():
                    out |= {(s, key): x for s, x in zip(record.steps, column, strict=True) if x == x}
    return out


def cells(folder: Path, text: str) -> dict[int, Cells]:
    path = folder / "train.log"
    path.write_text(text)
    return content(opened(path))


RANKS = {
    "torchrun": ("[rank0]: ", "[rank1]: "),
    "srun": ("0: ", "1: "),
    "mpirun": ("[1,0]<stdout>:", "[1,1]<stdout>:"),
    "brackets": ("[GPU0] ", "[GPU1] "),
    "ray": ("(Actor pid=12) ", "(Actor pid=13) "),
}


@pytest.mark.parametrize("line", ["step {i} | loss {x} | kl 0.1", "update {i} was run: loss {x}, kl 0.1"])
@pytest.mark.parametrize("kind", RANKS)
def test_of_several_ranks_one_counts(kind: str, line: str, tmp_path: Path) -> None:
    mine, other = RANKS[kind]
    text = "".join(
        mine + line.format(i=i, x=f"0.{i:02}") + "\n" + other + line.format(i=i, x=f"7.{i:02}") + "\n"
        for i in range(1, 21)
    )
    assert cells(tmp_path, text) == {i: {"loss": pytest.approx(i / 100), "kl": 0.1} for i in range(1, 21)}


def test_durations_are_seconds(tmp_path: Path) -> None:
    text = "".join(f"update {i} is over: loss 0.1, took 3m12s, wait 45ms, wait_ms: 45ms\n" for i in range(1, 6))
    assert cells(tmp_path, text)[3] == {"loss": 0.1, "took": 192.0, "time/wait": pytest.approx(0.045), "wait_ms": 45.0}


def test_batches_below_the_heading_of_their_epoch(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {e}/3\n" + "".join(f"  batch {b}/5: loss 0.{e}{b} kl 0.1\n" for b in range(1, 6)) for e in (1, 2, 3)
    )
    assert {step: row["loss"] for step, row in cells(tmp_path, text).items()} == {
        5 * (e - 1) + b: pytest.approx(e / 10 + b / 100) for e in (1, 2, 3) for b in range(1, 6)
    }


def test_lines_of_another_program_do_not_belong_to_the_step_above(tmp_path: Path) -> None:
    text = "".join(
        f"INFO:trainer:step {i} | loss 0.{i:02} | kl 0.1\nINFO:vllm.engine:throughput: {i}.5\n" for i in range(1, 11)
    )
    assert {name for row in cells(tmp_path, text).values() for name in row} == {"loss", "kl"}
