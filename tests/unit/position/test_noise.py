"""Lines of other programs in a training log: no row is lost, none is made up, none is another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.readers.console.joined_lines import BrokenLines
from rltui.session.locate import locate
from tests.unit.position.noise import ATTRIBUTES, LINES, mixed
from tests.unit.position.reports import report_of
from tests.unit.readers.reading import Cells, read

EACH = 6
"""Every so many labelled runs are looked at: all take minutes."""


def rows_of(data: bytes, format: str) -> dict[int, Cells]:
    out: dict[int, Cells] = {}
    for step, cells in read(format, data).rows:
        out.setdefault(step, {}).update(cells)
    return out


@pytest.mark.whole
def test_labelled_logs_with_lines_of_another_program(runs_dir: Path) -> None:
    """Where numbers by name below a line belong to its step, those of another program look the same: they are left out
    of the mixture. So are logs whose dicts a terminal broke: what stands inside of them belongs to them."""
    seen = 0
    for at, text in enumerate((runs_dir / "LABELS.jsonl").read_text().splitlines()):
        label = json.loads(text)
        if at % EACH:
            continue
        for found in locate([str(runs_dir / label["path"])]):
            for path, format in found.candidate.files:
                data = Path(path).read_bytes() if format.endswith("console") else b""
                if not data or len(data) > 1_000_000 or any(map(BrokenLines.opens, data.split(b"\n"))):
                    continue
                seen += 1
                noise = LINES if format == "console" else (*LINES, *ATTRIBUTES)
                assert rows_of(mixed(data, at, noise), format) == rows_of(data, format), path
    assert seen > 10


@pytest.mark.parametrize("line", [*LINES, *ATTRIBUTES])
def test_a_log_of_nothing_else_has_no_row(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R8: numbers in completions, code and tables of prose are no metrics."""
    text = "GRPO with trl on CUDA, Loading checkpoint shards\n"
    order = (7, 3, 12, 5, 9, 1, 30, 2, 8)
    text += "".join(f"{line.format(n=order[i % 9] + i % 4)}\nsome words\n" for i in range(60))
    (tmp_path / "train.log").write_text(text)
    report = report_of(tmp_path / "train.log", capsys)
    assert report["run"]["steps"]["rows"] == 0
    assert report["metrics"] == {}
