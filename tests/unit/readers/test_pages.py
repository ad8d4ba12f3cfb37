"""Saved pages of the web that show a training, through the command line."""

from __future__ import annotations

import csv
import html
import io
from pathlib import Path

import pytest

from rltui.cli import main

STYLE = "<style>" + ".jp-Cell { color: black }\n" * 9000 + "</style>"
"""More than is looked at of another file."""
CELLS = {
    "lab": (
        '<div class="jp-Cell jp-CodeCell"><div class="jp-InputArea"><div><pre>{code}</pre></div></div>'
        '<div class="jp-OutputArea">{shown}</div></div>',
        '<div class="jp-RenderedText jp-OutputArea-output"><pre>{text}</pre></div>',
        '<div class="jp-RenderedText jp-OutputArea-executeResult"><pre>{text}</pre></div>',
    ),
    "classic": (
        '<div class="cell code_cell"><div class="input"><div class="input_area"><pre>{code}</pre></div></div>'
        '<div class="output">{shown}</div></div>',
        '<div class="output_area"><div class="output_subarea output_stream"><pre>{text}</pre></div></div>',
        '<div class="output_area"><div class="output_text output_execute_result"><pre>{text}</pre></div></div>',
    ),
    "book": (
        '<div class="cell docutils"><div class="cell_input docutils"><pre>{code}</pre></div>'
        '<div class="cell_output docutils">{shown}</div></div>',
        '<div class="output stream highlight-none"><div class="highlight"><pre>{text}</pre></div></div>',
        '<div class="output text_plain"><div class="highlight"><pre>{text}</pre></div></div>',
    ),
}
CODE = "for i in range(9):\n    train()\n" + "".join(f"step {i}: loss=7.5 reward=9.5\n" for i in range(1, 90))


def exported(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    assert main(["export", str(path), "--format", "csv"]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def page(path: Path, *parts: str) -> Path:
    path.write_text(f"<!DOCTYPE html><html><head>{STYLE}</head><body>{''.join(parts)}</body></html>")
    return path


def table(head: list[str], rows: list[list[object]]) -> str:
    lines = ["".join(f"<th>{name}</th>" for name in head)]
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return '<table border="1" class="dataframe">' + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def printed(first: int, last: int) -> str:
    return "".join(f"step {i}: loss={i / 4} reward={i / 64} # a < b & c\n" for i in range(first, last + 1))


@pytest.mark.parametrize("style", CELLS)
def test_a_notebook_as_a_page(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What its cells printed counts, the code that stands in them does not; a cell may be printed in pieces."""
    cell, stream, result = CELLS[style]
    half = printed(1, 20)
    pieces = [stream.format(text=html.escape(text)) for text in (half[:301], half[301:], printed(21, 40))]
    ended = result.format(text="TrainOutput(global_step=40, training_loss=0.5, metrics={})")
    shown = [cell.format(code=html.escape(CODE), shown="".join(one)) for one in ([], [*pieces, ended])]
    rows = exported(page(tmp_path / "n.html", *shown), capsys)
    assert [int(row["step"]) for row in rows] == list(range(1, 41))
    assert all(float(row["total_loss"]) == int(row["step"]) / 4 for row in rows)
    assert all(float(row["reward_mean"]) == int(row["step"]) / 64 for row in rows)


def test_the_table_of_a_trainer_under_its_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bar = '<div><progress max="96" style="width:300px" value="96"></progress> [96/96 00:12, Epoch 3/3]</div>'
    rows = [[e, e / 32, e / 16] for e in (1, 2, 3)]
    made = page(tmp_path / "n.htm", "<p>Our run:</p>", bar, table(["Epoch", "Training Loss", "Validation Loss"], rows))
    found = exported(made, capsys)
    assert [(row["step"], row["epoch"], row["total_loss"]) for row in found] == [
        *(("32", "1.0", "0.03125"), ("64", "2.0", "0.0625"), ("96", "3.0", "0.09375"))
    ]


def test_tables_one_below_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of other metrics they are one run's; of the same ones another run's, and its rows are not mixed."""
    losses = table(["Step", "Training Loss"], [[i, i / 8] for i in range(1, 9)])
    rewards = table(["Step", "reward"], [[i, i / 64] for i in range(1, 9)])
    before = table(["Step", "Training Loss"], [[i, 7.5] for i in range(1, 30)])
    found = exported(page(tmp_path / "n.html", before, "<p>Better:</p>", losses, rewards), capsys)
    assert [(row["total_loss"], row["reward_mean"]) for row in found] == [
        (str(i / 8), str(i / 64)) for i in range(1, 9)
    ]


def test_a_page_is_read_only_if_it_is_named_and_holds_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(["Step", "Training Loss"], [[i, i / 8] for i in range(1, 9)])
    folder = tmp_path / "report"
    folder.mkdir()
    page(folder / "a.html", rows)
    prose = page(tmp_path / "b.html", table(["Model", "Score"], [["a", 1], ["b", 2]]), "<pre>pip install x</pre>")
    for path in (folder, prose):
        assert main(["export", str(path), "--format", "csv"]) == 2
        assert "no training log recognised" in capsys.readouterr().err
