"""Where each framework keeps the code of a topic: what to open to confirm a hypothesis.

Paths are of the public repositories and move between versions; the user's own checkout wins over them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

TOPICS = ("reward", "kl", "advantages", "loss", "generation", "validation", "config")
FORKS = {"verl_0_2": "verl", "trl_ppo": "trl", "online_dpo": "trl", "unsloth": "trl", "async_grpo": "trl"}
"""Dialects that share another's code."""
TRAINERS = ("grpo", "rloo", "ppo", "dpo", "kto", "online_dpo")
"""Algorithms that have a trainer file of their own in TRL; the others are settings of the first."""


@lru_cache(maxsize=1)
def _places() -> Mapping[str, Mapping[str, list[str]]]:
    data: dict[str, dict[str, list[str]]] = json.loads(
        (files("rltui.vocabulary") / "data" / "code_places.json").read_bytes()
    )
    return data


def code_places(framework: str | None, algorithm: str | None, topic: str) -> tuple[str, ...]:
    """Files or directories of `topic` in this framework; empty where none is known."""
    name = (framework or "").lower().replace("-", "_")
    known = _places().get(FORKS.get(name, name), {}).get(topic, ())
    asked = (algorithm or "").lower().replace("-", "_").replace(" ", "_")
    trainer = asked if asked in TRAINERS else TRAINERS[0]
    return tuple(path.replace("{algorithm}", trainer) for path in known)
