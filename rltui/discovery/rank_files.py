"""Logs that each rank of one launch writes for itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from rltui.lazy_regex import lazy

_RANK = lazy(
    r"(?P<before>(?:.*[/._\-])?(?:global|local|node\d{0,3})?[_\-.]?rank[_\-.]?)(?P<rank>\d{1,5})(?P<behind>(?=[/._\-]|$)[^/]*(?:/[^/]+)?)"
    r"|(?P<launch>.*/attempt_\d{1,6}/)(?P<of_launch>\d{1,5})(?P<stream>/std(?:out|err)\.log)",
    re.IGNORECASE,
)
"""`rank3.log`, `train_rank_3.jsonl`, `rank3/train.log`, and torchrun's `attempt_0/3/stdout.log`."""
FIRST = 0
"""The first rank. If it is missing, the numbers mean something else, as in `lora_rank8` and `lora_rank16`."""


def of_other_ranks(paths: Iterable[str]) -> dict[str, list[str]]:
    """File of the first rank -> files of the other ranks, which hold the same. Only for logs with several ranks."""
    ranks: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for path in paths:
        if (found := _RANK.fullmatch(path.replace("\\", "/"))) is not None:
            before, rank, behind = (a if a is not None else b for a, b in _parts(found))
            ranks[before, behind][int(rank)] = path
    families = (sorted(of.items()) for of in ranks.values() if len(of) > 1 and FIRST in of)
    return {first: [path for _, path in others] for (_, first), *others in families}


def _parts(found: re.Match[str]) -> list[tuple[str, str]]:
    named = (("before", "launch"), ("rank", "of_launch"), ("behind", "stream"))
    return [(found[a], found[b]) for a, b in named]
