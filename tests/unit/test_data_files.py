"""A data file that is wrong is told with file and line."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest
from msgspec import field

from rltui.data_files import DataError, Record, line_of, read


class Part(Record):
    size: int
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size is below 0")


class Sheet(Record):
    name: str
    parts: dict[str, Part] = field(default_factory=dict)
    rows: tuple[Part, ...] = ()
    marks: dict[Literal["good", "bad"], str] = field(default_factory=dict)
    places: dict[str, tuple[int, int, int]] = field(default_factory=dict)


WHOLE = """{
  "name": "a",
  "parts": {
    "one": {"size": 1},
    "two": {
      "size": 2,
      "tags": ["x", "y"]
    },
    "th\\"r: ee}": {"size": 3}
  },
  "rows": [
    {"size": 1},

    {"size": 2}
  ],
  "marks": {
    "good": "+",
    "bad": "-"
  },
  "places": {
    "there": [1, 2, 3]
  }
}"""


@pytest.mark.parametrize(
    ("was", "instead", "line", "words"),
    [
        ('"name": "a"', '"name": 7', 2, "name: Expected `str`, got `int`"),
        ('"name": "a"', '"nmae": "a"', 2, "nmae: Object contains unknown field `nmae`"),
        ('"name": "a",', "", 1, "missing required field `name`"),
        ('"size": 2,', '"size": "2",', 6, "parts.two.size: Expected `int`, got `str`"),
        ('["x", "y"]', '["x", null]', 7, "parts.two.tags.1: Expected `str`, got `null`"),
        ('"size": 3', '"size": 3.5', 9, 'parts.th"r: ee}.size: Expected `int`, got `float`'),
        ('"size": 3', '"size": -3', 9, 'parts.th"r: ee}: size is below 0'),
        ('"size": 3', '"sise": 3', 9, "unknown field `sise`"),
        ('"size": 2}', '"size": {}}', 14, "rows.1.size: Expected `int`, got `object`"),
        ("[1, 2, 3]", "[1, 2]", 21, "places.there: Expected `array` of length 3"),
        ('"bad": "-"', '"worse": "-"', 18, "marks.worse: Invalid enum value 'worse'"),
        ('"good": "+",', '"good": "+"', 18, "JSON is malformed: expected ',' or '}'"),
        ("3]\n  }\n}", "3]\n", 21, "truncated"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(
    tmp_path: Path, was: str, instead: str, line: int, words: str
) -> None:
    assert WHOLE.count(was) == 1
    file = tmp_path / "sheet.json"
    file.write_text(WHOLE.replace(was, instead))
    with pytest.raises(DataError) as error:
        read(file, Sheet)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert words in str(error.value)


def test_bytes_that_are_no_text_have_a_line_too(tmp_path: Path) -> None:
    file = tmp_path / "sheet.json"
    file.write_bytes(WHOLE.encode().replace(b'"+"', b'"\xff"'))
    with pytest.raises(DataError, match=r"sheet.json:17: not UTF-8"):
        read(file, Sheet)


def test_a_whole_file_is_read_and_cannot_be_changed(tmp_path: Path) -> None:
    file = tmp_path / "sheet.json"
    file.write_text(WHOLE)
    sheet = read(file, Sheet)
    assert sheet.parts["two"] == Part(2, ("x", "y"))
    with pytest.raises(AttributeError):
        sheet.name = "b"  # type: ignore[misc]


def test_the_line_of_a_value_by_its_keys() -> None:
    text = WHOLE.encode()
    assert [line_of(text, keys) for keys in ([], ["parts", "two", "tags", 1], ["rows", 1], ["rows", 5])] == [
        1,
        7,
        14,
        11,
    ]


@pytest.mark.parametrize("name", ["sheet.json", "sheet.toml"])
def test_two_threads_never_make_out_a_file_at_once(tmp_path: Path, name: str) -> None:
    """msgspec crashed the process where two did: a `watch` in some two of 250 starts."""
    inside: list[int] = []
    most: list[int] = []

    class Slow(Record):
        size: int

        def __post_init__(self) -> None:
            inside.append(self.size)
            time.sleep(0)  # gives the others their turn
            most.append(len(inside))
            inside.pop()

    file = tmp_path / name
    file.write_text('{"size": 1}' if file.suffix == ".json" else "size = 1")
    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(read, file, Slow) for _ in range(400)]:
            done.result()
    assert most == [1] * 400
