"""Keys in a buffer get the numbers that a dictionary would give them, however many there are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rltui.readers.byte_texts import KeyTable


@pytest.mark.parametrize("count", [1, 60, 3000])
def test_numbers_are_those_of_a_dictionary(count: int) -> None:
    chance = random.Random(count)
    keys = [f"{chance.choice(('actor', 'critic', ''))}/{'x' * chance.randrange(30)}{i}".encode() for i in range(count)]
    keys += [b"", b"\0", b"\0\0", b"a\0", b"a"]
    table, expected = KeyTable(), dict[bytes, int]()
    expected.setdefault(keys[0], table.number(keys[0]))
    for _ in range(4):
        drawn = [chance.choice(keys) for _ in range(500)]
        ends = np.cumsum([len(key) for key in drawn])
        lengths = np.array([len(key) for key in drawn])
        buffer = np.frombuffer(b"".join(drawn) + bytes(64), dtype=np.uint8)
        found = table.numbers(buffer, ends - lengths, lengths)
        assert found.tolist() == [expected.setdefault(key, len(expected)) for key in drawn]
    assert table.keys == list(expected)
