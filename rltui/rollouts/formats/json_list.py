"""A JSON file of samples: a list of objects, or one object of lists."""

from __future__ import annotations

import orjson

from rltui.rollouts.formats import json_lines
from rltui.rollouts.formats.base import Block


def read(data: bytes) -> Block:
    """Raises ValueError with the reason where the file holds no such JSON."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    return Block(found if isinstance(found, list) else [found], json_lines.of_record)
