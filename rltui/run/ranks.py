"""Which rank the others wait for, according to the watchdogs of collective operations (NCCL)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby

from msgspec import Struct

_RANK = re.compile(r"(?:PG ID (?P<group>\d+)[^\]]*?)?\b[Rr]ank ?(?P<rank>\d+)\]")
_WAITS = re.compile(r"SeqNum=(?P<at>\d+), OpType=(?P<op>\w+)")
_CAME = re.compile(r"[Ll]ast enqueued NCCL work: (?P<at>\d+)")
NEAR = 10
"""The most operations by which a rank may lag behind. If ranks are further apart, they belong to different groups."""


class _Rank(Struct):
    """`waits`: number and name of the operation in which the rank waits. `came`: number of the last operation that it
    began."""

    waits: tuple[int, str] | None = None
    came: int | None = None

    @property
    def least(self) -> int:
        """The number of the last operation that it is known to have begun."""
        return max(self.came or 0, self.waits[0] if self.waits is not None else 0)


def late(texts: Iterable[str]) -> str:
    """Which rank is behind and how far, in words; empty if the lines show none."""
    groups: dict[str, dict[int, _Rank]] = defaultdict(lambda: defaultdict(_Rank))
    for text in texts:
        said = list(_RANK.finditer(text))
        if not said:
            continue
        rank = groups[said[-1]["group"] or ""][int(said[-1]["rank"])]
        waits, came = _WAITS.search(text), _CAME.search(text)
        if waits is not None and rank.waits is None:
            rank.waits = int(waits["at"]), waits["op"]
        if came is not None:
            rank.came = max(int(came["at"]), rank.came or 0)
    if "" in groups and len(groups) == 2:  # a single group that some of the lines do not name
        _join(groups)
    return next((found for ranks in groups.values() if (found := _behind(ranks) or _elsewhere(ranks))), "")


def _join(groups: dict[str, dict[int, _Rank]]) -> None:
    named = next(of for name, of in groups.items() if name)
    for number, rank in groups.pop("").items():
        named[number].waits = named[number].waits or rank.waits
        named[number].came = named[number].came if rank.came is None else max(rank.came, named[number].came or 0)


def _behind(ranks: Mapping[int, _Rank]) -> str:
    """Names the ranks that began fewer operations than the others, if they are not the majority; else empty."""
    furthest = max((rank.least for rank in ranks.values()), default=0)
    few = {number: rank.came for number, rank in ranks.items() if rank.came is not None and rank.came < furthest}
    there = [number for number, rank in ranks.items() if rank.least == furthest]
    if not few or len(few) > len(there):
        return ""
    at = min(few.values())
    numbers = sorted(number for number, came in few.items() if came == at)
    waits = [one for n in there if (one := ranks[n].waits) is not None and one[0] == furthest]
    op = f" ({waits[0][1]})" if waits else ""
    return _told(numbers, f"with operation {at} as the last begun", f"operation {furthest}{op}")


def _elsewhere(ranks: Mapping[int, _Rank]) -> str:
    """Names the one rank that waits in an earlier operation of another kind, if all others agree; else empty."""
    waits = {number: rank.waits for number, rank in ranks.items() if rank.waits is not None}
    usual = Counter(waits.values()).most_common(1)
    if not usual or usual[0][1] < 2:
        return ""
    (at, op), count = usual[0]
    others = [(number, own) for number, own in waits.items() if own != (at, op)]
    if count != len(waits) - 1 or not (0 < at - others[0][1][0] <= NEAR) or others[0][1][1] == op:
        return ""
    number, (own_at, own_op) = others[0]
    return _told([number], f"in operation {own_at} ({own_op})", f"operation {at} ({op})")


def _told(numbers: list[int], behind: str, others: str) -> str:
    who = f"rank {numbers[0]} is" if len(numbers) == 1 else f"ranks {_spans(numbers)} are"
    return f"{who} behind, {behind}, and the others wait in {others}"


def _spans(numbers: list[int]) -> str:
    """Rank numbers for people to read: 0, 4 to 7."""
    out = []
    for _, run in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        span = [number for _, number in run]
        out.append(str(span[0]) if len(span) == 1 else f"{span[0]} to {span[-1]}")
    return ", ".join(out)
