"""Lines beside those that state the steps, once the counter is known: lines of other parts of the same steps, and lines
of work inside a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rltui.lazy_regex import lazy
from rltui.readers.console.layouts import pair_cells
from rltui.readers.console.plain_lines import done_within
from rltui.readers.console.step_template import Template, TemplateLine, counter_name, counter_of, may_count, part_of
from rltui.readers.name_words import either, has_word

INDEX = lazy(r"^\d{1,5}:\s+(?=[^\W\d][\w/.\-]*\s?[:=])")
"""The number of an update before its pairs."""


def is_of_newest_step(template: Template, line: TemplateLine) -> bool:
    """Whether a line begins like the step lines, counts the newest or the next step, and then only names measurements,
    whatever they are called: `[step 20] solve_rate: 0.42`. A line that counts things, as `[step 20] sample: 3`, names
    none."""
    if not template.is_next(line) or line.is_labelled_evaluation:
        return False
    rest = line.message[line.slots[template.counter or 0].end :].lstrip(" ])>|:,;—–-")
    cells = pair_cells(rest) or {}
    others = either("items", "places", "prose", "texts", "bookkeeping")
    if not cells or any(has_word(name, others) for name in cells):
        return False
    return any("." in slot.text for slot in line.slots if slot.name in cells)


IN_STEP = 3
"""This many lines in a row count the step that was known when each came: no other count does so by chance."""


def keeps_step(lines: Sequence[TemplateLine], counter: int) -> bool:
    """Whether lines count the steps under another name, as `[update 3] kl=0.02` below `[rollout 3] reward=0.4`: the
    newest of them each count the step above, and those before, whose steps were not known yet, count up to there one
    by one."""
    counts = [line.slots[counter].value for line in lines]
    newest = lines[-IN_STEP:]
    if len(newest) < IN_STEP or any(line.over != line.slots[counter].value for line in newest):
        return False
    return all(b == a + 1 for a, b in pairwise(counts)) or all(
        line.over in (None, line.slots[counter].value) for line in lines
    )


def may_keep_step(lines: Sequence[TemplateLine]) -> list[int]:
    """The places of the counts in these lines that equal the step whenever it was known as the line came."""
    first = lines[0].slots[: min(len(line.slots) for line in lines)]
    kept = (all(line.over in (None, line.slots[i].value) for line in lines) for i in range(len(first)))
    return [i for i, (slot, keeps) in enumerate(zip(first, kept, strict=True)) if may_count(slot) and keeps]


def other_parts(template: Template, others: Iterable[Template], counter: str) -> list[Template]:
    """Templates of other parts of the same steps, `critic step 3` beside `actor step 3`: their held lines count from
    now on. A name that several parts share gets the name of the part."""
    begun = []
    for other in {id(t): t for t in others if t is not template}.values():
        if other.counter is None and len(other.lines) > 1 and not other.told:
            lines = [line.slots for line in other.lines]
            place = counter_of(lines, 1, [line.epoch for line in other.lines])
            if place is None or counter_name(lines[0][place]) != counter or not part_of(lines[0][place].name):
                continue
            other.decide(place)
            other.names = {name for line in other.lines for name in line.names(place)}
            begun.append(other)
        if other.counter is not None and other.part not in ("", template.part) and not other.prefix:
            both = frozenset(template.names & other.names)
            template.shared, other.shared = template.shared | both, other.shared | both
    return begun


def take_inner(lines: list[TemplateLine], inner: Iterable[TemplateLine]) -> None:
    """Gives lines that count something inside a step to the step line above them. Those above the first step line may
    show that they belong to the one below (`values_above`)."""
    within: dict[int, dict[str, float]] = {}  # place of the line above -> its numbers; the last one of a name counts
    for one in inner:
        over = next((line for line in reversed(lines) if line.place < one.place), None)
        if over is None:
            last = done_within(one.message) or pair_cells(INDEX.sub("", one.message)) or {}
            lines[0].above = {**lines[0].above, **last}
            lines[0].above_lines = (*lines[0].above_lines, *one.lines)
            continue
        own, last = over.names(None), done_within(one.message)
        cells = {name: x for name, x in last.items() if name not in own}
        if not last and (told := pair_cells(INDEX.sub("", one.message))):
            cells = {name: x for name, x in told.items() if name not in own}
        if cells:
            here = within.setdefault(over.place, {})
            within[over.place] = here | cells if last else cells | here
        if more := {name: x for name, x in one.below.items() if name not in own}:  # a line below that one
            here = within.get(over.place, {})
            within[over.place] = here | more if last else more | here
        if cells or more:
            over.lines = (*over.lines, *one.lines)
    for line in lines:
        line.below = within.get(line.place, {}) | line.below
