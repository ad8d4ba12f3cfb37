"""Which number of recurring lines counts the steps."""

from __future__ import annotations

from itertools import pairwise

from rltui.readers.console.named_numbers import Slot, has_word, is_named, is_whole, last_word, words

BY_COURSE = 5
"""Lines after which a number that no known word names counts, if it rises by as much from each line to the next."""


WITHIN = 130
"""Lines that may stand within one step, at most, before the number that is named like a step is not waited for."""
MISSED = 3
"""Strides that two lines may stand apart: those between them have a word more."""


def counter_name(slot: Slot) -> str:
    return last_word(slot.name) or "/"


def is_about(slots: list[Slot], wanted: frozenset[str]) -> bool:
    """Whether a name holds one of these words and is no sentence."""
    return any(has_word(slot.name, wanted) and not has_word(slot.name, words().prose) for slot in slots)


def is_evaluation(slots: list[Slot], counter: int) -> bool:
    return any(has_word(slot.name, words().evaluation) for slot in slots[: counter + 1])


def promising(slots: list[Slot]) -> bool:
    """Whether a line can be a step line at all: something counts, and something is named."""
    counts = any(is_whole(s) and (s.of is not None or may_count(s)) for s in slots)
    if counts and any(s.name for s in slots):
        return True
    return any(_by_course(slots, i) for i in range(len(slots)))


def _by_course(slots: list[Slot], i: int) -> bool:
    """Whether a number may count though no known word says so: it stands first, or has a name that tells nothing, and
    other numbers are of training."""
    slot = slots[i]
    if not is_whole(slot) or (not slot.name and i):
        return False
    known = words()
    others_count = (known.items, known.places, known.evaluation, known.durations, known.amounts)
    if any(has_word(slot.name, w) for w in others_count):
        return False
    if has_word(slot.name, known.training) or has_word(slot.name, known.statistics):
        return False
    others = [s for j, s in enumerate(slots) if j != i]
    return is_about(others, known.training) and not any(may_count(s) for s in others)


def may_count(slot: Slot) -> bool:
    """Whether a number is named like a step; `n_steps` says how many there are."""
    return _is_plain(slot) or (is_named(slot.name, words().weak_counters) and not has_word(slot.name, words().amounts))


def _is_plain(slot: Slot) -> bool:
    return is_named(slot.name, words().counters) and not has_word(slot.name, words().amounts)


def rises(lines: list[list[Slot]]) -> bool:
    """Whether some whole number of these lines may still turn out to count."""
    return any(
        all(len(line) > i and is_whole(line[i]) for line in lines) and lines[-1][i].value > lines[0][i].value
        for i in range(len(lines[0]))
    )


def counter_of(lines: list[list[Slot]], fewest: int, epochs: list[int], over: bool = False) -> int | None:
    """Place of the number that counts the steps: whole, never falling (but where the epoch rises it may begin anew),
    risen at least `fewest` times, and named like a step or given with its total. The one that rises most often wins,
    then the one with the plainer name. If there is none, a number that rises evenly (`BY_COURSE`). `epochs`: of each
    line, by the heading above it; `over`: no more lines come."""
    first = lines[0]
    found: list[tuple[int, int, int]] = []
    epoch = next((i for i, slot in enumerate(first) if last_word(slot.name) == "epoch"), None)
    if epoch is not None and not all(len(line) > epoch and is_whole(line[epoch]) for line in lines):
        epoch = None
    for i, slot in enumerate(first):
        if not all(len(line) > i and is_whole(line[i]) for line in lines):
            continue
        if slot.of is not None and all(line[i].value == line[i].of for line in lines):
            continue  # a bar at its end
        plain, weak = _is_plain(slot), may_count(slot)
        if not (plain or weak or (slot.of is not None and not has_word(slot.name, words().items))):
            continue
        others = [s for j, s in enumerate(first) if j != i and s.name and not may_count(s)]
        wanted = words().training | words().durations if plain else words().training
        if not is_about(others, wanted):
            continue
        above = [line[epoch].value for line in lines] if epoch is not None and epoch != i else epochs
        values = [(e, line[i].value) for e, line in zip(above, lines, strict=True)]
        rises = sum(1 for a, b in pairwise(values) if b > a)
        if not (plain or weak) and is_about(first[:i], words().training) and rises < BY_COURSE - 1:
            continue  # behind the numbers it may tell of what share of something they are: `rewards [..] (1/2 valid)`
        if rises >= fewest and all(b >= a for a, b in pairwise(values)):
            found.append((-rises, 0 if plain else 1 if slot.of is not None else 2, i))
    if found and (_is_plain(first[min(found)[2]]) or len(lines) >= patience(lines, over)):
        return min(found)[2]
    if found:
        return None
    return next((i for i in range(len(first)) if _by_course(first, i) and _even(lines, i)), None)


def patience(lines: list[list[Slot]], over: bool = False) -> int:
    """Lines to wait for, as a number named like a step has not risen yet, or but once: the others may count within a
    step, `step 3/30, micro 1/4`. Without a plan they are waited for until they would begin anew."""
    stands = [
        slot
        for i, slot in enumerate(lines[0])
        if _is_plain(slot) and all(len(line) > i and is_whole(line[i]) for line in lines)
        if slot.value <= lines[-1][i].value <= slot.value + 1
    ]
    if any(slot.of is not None and slot.value < slot.of for slot in stands):
        return WITHIN
    if over:
        return 0
    longest = max((slot.of or 0 for slot in lines[0] if slot not in stands), default=0)
    return min(2 * longest + 2, WITHIN) if stands and longest else 0


def _even(lines: list[list[Slot]], i: int) -> bool:
    """Whether a number of enough lines rises by as much from each to the next, but for a few that look otherwise."""
    if len(lines) < BY_COURSE or not all(len(line) > i and is_whole(line[i]) for line in lines):
        return False
    strides = [b[i].value - a[i].value for a, b in pairwise(lines)]
    usual = min(strides)
    return usual > 0 and 2 * strides.count(usual) >= len(strides) and max(strides) <= MISSED * usual
