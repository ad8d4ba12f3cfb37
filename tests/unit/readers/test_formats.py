"""One table of formats: everyone who tells one from another asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.data_files import DataError, read
from rltui.readers import formats as module
from rltui.readers.formats import (
    Format,
    formats,
    formats_held,
    in_order_of_belief,
    make,
    make_database,
    runs_in_database,
)

FILE = Path(module.__file__).with_name("data") / "formats.json"


def test_each_file_format_has_a_reader_of_that_name() -> None:
    assert {make(name).format for name in formats_held("in a file")} == set(formats_held("in a file"))
    assert runs_in_database(b"", b"") == []
    for name, known in formats().items():
        if known.held == "in a database":
            assert make_database(name, "run").format == name


def test_printed_text_is_believed_after_files_for_machines_and_copies_last() -> None:
    order = in_order_of_belief()
    assert order[0] == "jsonl"
    assert order[-1] == "trainer-state"
    printed = [order.index(name) for name in order if name.endswith("console")]
    assert min(printed) > order.index("wandb")


@pytest.mark.parametrize(
    ("was", "instead", "words"),
    [
        ('"jsonl": {"rank": 50', '"jsonl": {"rank": "50"', "jsonl.rank: Expected `int`, got `str`"),
        ('"csv": {"rank": 45', '"csv": {"rang": 45', "unknown field `rang`"),
        ('"wandb": {"rank": 30, ', '"wandb": {', "wandb: Object missing required field `rank`"),
        ('"swanlab": {"rank": 35, "begins": "block"', '"swanlab": {"rank": 35, "begins": "blocks"', "Invalid enum"),
    ],
)
def test_a_wrong_table_is_told_with_file_and_line(tmp_path: Path, was: str, instead: str, words: str) -> None:
    text = FILE.read_text()
    assert text.count(was) == 1
    wrong = tmp_path / "formats.json"
    wrong.write_text(text.replace(was, instead))
    with pytest.raises(DataError) as error:
        read(wrong, dict[str, Format])
    assert error.value.line == text[: text.index(was)].count("\n") + 1
    assert words in str(error.value)
