"""Questions about rollouts: which field of a dump means what, and what a text shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from rltui.records import as_dict
from rltui.rollouts.formats.base import Block
from rltui.rollouts.formats.dump import split_of
from rltui.rollouts.formats.json_lines import of_record
from rltui.rollouts.samples import histogram, marks
from rltui.rollouts.step import StepRollouts
from tests.unit.knowledge.names import data

Question = tuple[str, list[Any]]


def dumped(record: dict[str, Any]) -> Any:
    """What a line of a dump says of its sample."""
    found = of_record(record)[0]._asdict()
    return {name: value for name, value in found.items() if value not in (None, {})}


def shows(text: str, times: int) -> Any:
    """What a text shows that is written so many times over."""
    found = as_dict(marks(text * times))
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items() if value}


def bars(values: int) -> Any:
    """Bars of a histogram of so many different values."""
    return len(histogram([float(n) for n in range(values)]))


def looked_at(samples: int) -> Any:
    """How many texts of so many samples are read."""
    records = [{"completion": f"answer {n}", "reward": 1.0} for n in range(samples)]
    return StepRollouts(1, "train", [Block(records, of_record)]).stats().examined


def dump_of(path: str) -> Any:
    """Whether a dump is of training or of validation."""
    return split_of(path, "")


KINDS = {one.__name__: one for one in (dumped, shows, bars, looked_at, dump_of)}
PLAIN: dict[str, Any] = {"completion": "4", "reward": 0.5}
CELLS: dict[str, tuple[Any, Any]] = {
    "step": (7, 8),
    "conversation": ([{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}],) * 2,
    "reward": (0.25, 0.75),
    "advantage": (-0.5, 1.5),
    "length": (11, 12),
    "total_length": (31, 32),
    "prompt_length": (5, 6),
    "truncated": (True, False),
    "stop": ("length", "stop"),
}
"""What stands in a field of this role, else a text."""


def fields() -> Iterator[Question]:
    told = data("rollouts/formats/fields.json")
    for role, names in told.items():
        if role in ("stopped_by_limit", "not_components", "heavy", "validation_folders"):
            continue
        one, other = CELLS.get(role, ("this", "that"))
        held = "completion" if role == "conversation" else role
        lacks = {key: value for key, value in PLAIN.items() if key != held}
        beside = {"prompt_len": 5} if role == "total_length" else {"seqlen": 31} if role == "prompt_length" else {}
        for name in names:
            yield "dumped", [lacks | beside | {name: one}]
        for name, later in pairwise(names):
            yield "dumped", [lacks | beside | {later: other, name: one}]
    for word in [*told["stopped_by_limit"], "stop", "eos"]:
        yield "dumped", [PLAIN | {"stop_reason": word}]
        yield "dumped", [PLAIN | {"stop_reason": word.upper()}]
    for name in [*told["not_components"], "bonus", "format"]:
        yield "dumped", [PLAIN | {name: 3}]
    for name in [*told["heavy"], "notes"]:
        yield "dumped", [PLAIN | {name: [1, 2]}]
    for folder in [*told["validation_folders"], "rollouts", "train"]:
        yield "dump_of", [f"{folder}/12.jsonl"]


WORDS = [f"word{n}" for n in range(1, 18)]
LETTERS = {
    "LATIN": "abcd",
    "CYRILLIC": "бвгд",
    "HANGUL": "가나다라",
    "ARABIC": "بتثج",
    "THAI": "กขคง",
    "CJK": "水火木土",
}
ALIKE = {"GREEK": "αβγδ", "MATHEMATICAL": "𝑎𝑏𝑐𝑑", "DOUBLE-STRUCK": "ℂℕℙℚ", "SUPERSCRIPT": "ⁱⁿ", "SUBSCRIPT": "ₐₑₒₓ"}
ALIKE |= {"MODIFIER": "ʰʲʳʷ", "FEMININE": "ª", "MASCULINE": "º", "MICRO": "µ", "HIRAGANA": "あいうえ"}
ALIKE |= {"KATAKANA": "アイウエ", "FULLWIDTH": "ａｂｃｄ"}
"""Letters of a kind by the first word of their Unicode names, which is how the data file calls them."""


def texts() -> Iterator[Question]:
    told = data("rollouts/samples.json")
    for tag in told["tags"]:
        yield "shows", [f"<{tag}> so it is", 1]
        yield "shows", [f"so it is </{tag}>", 1]
        yield "shows", [f"<{tag}> so it is </{tag}>", 1]
    for marker in [*told["end_markers"], *told["turn_markers"], *told["tool_turns"]]:
        yield "shows", [f"It is 4. {marker} And on it goes.", 1]
        yield "shows", [f"It is 4. {marker}", 1]
        yield "shows", [f"It is 4. {marker} 4 <|im_end|> on", 1]
    yield from (("shows", [f"It is{mark} 4.", 1]) for mark in told["artefacts"])
    yield from (("shows", ["x", run]) for run in (7, 8, 30, 45, 49, 50, 51, 55, 70, 99, 150, 400, 499, 501, 900))
    yield from (("shows", ["one two three four five ", times]) for times in (1, 2, 3, 4, 6, 12, 40))
    for fresh in range(1, len(WORDS) + 1):
        yield "shows", [" ".join([*WORDS[:fresh], *["so", "it", "is", "so"] * 3]), 1]
        yield "shows", [" ".join(WORDS[:fresh]), 1]
    yield from (("shows", ["qwertzuiop", times]) for times in (9, 11, 14, 18, 25, 40, 70, 150, 400))
    for first in LETTERS:
        for letters in (1, 2, 3, 4):
            mixed = " ".join(LETTERS[name][:letters] for name in dict.fromkeys(["LATIN", "CYRILLIC", first]))
            yield "shows", [mixed, 1]
            yield "shows", [" ".join(part[:letters] for part in LETTERS.values()), 1]
    for alike in ALIKE.values():
        yield "shows", [f"abcd бвгд {alike}", 1]
        yield "shows", [f"abcd 水火木土 {alike}", 1]
    for many in (1, 2, 9, 10, 11, 12, 13, 40, 130):
        yield "bars", [many]
    for samples in (20, 51, 60, 400, 511, 512, 513, 700):
        yield "looked_at", [samples]


def questions() -> Iterator[Question]:
    yield from fields()
    yield from texts()
