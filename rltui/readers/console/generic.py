"""Console lines that name their step, from trainers without a dialect of their own: `step 3 | loss 0.3 | kl 0.1`, a
heading, a dict that holds its step or comes after it."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.evaluation_titles import begins_evaluation
from rltui.readers.console.forms import nothing_alike
from rltui.readers.console.lead import bare, without_lead
from rltui.readers.console.line_pairs import (
    MAX_BLOCK,
    PAIR,
    SPLIT,
    STRICT_PAIR,
    WORD,
    WORD_PAIR,
    add,
    named_number,
    pairs_of,
    parts_of,
)
from rltui.readers.console.step_block import BEGIN, COUNT, OUT_OF, StepBlock, count_of
from rltui.readers.keys import first_of, place_of_step
from rltui.readers.number_text import value

_STEP = lazy(
    rf"^(?:global[_ ]?step|train(?:ing)?[_ ]?step|step|iter(?:ation)?)\s*[:=]?\s*{COUNT}(?:{OUT_OF}{COUNT})?$",
    re.IGNORECASE,
)
_HEADING = lazy(rf"^[=\-*#\s]{{3,}}Step\s+{COUNT}(?:{OUT_OF}{COUNT})?[=\-*#\s]{{3,}}$")
_INNER = lazy(r"\{(?=[^{}]*['\"](?:global[_ ]?step|step|iteration|iter|update|num_updates)['\"]: ?[\"']?\d)")
"""A dict that holds its step, after words."""
_DICT = lazy(
    r"\b(?:global[_ ]?step|step|iteration|pipeline step|eval)"
    r"\W{1,3}(\d{1,15})"
    r"[^{}=\n]{0,80}=?\s?(\{['\"].*\})"
)
"""A dict after its step. After other named numbers it is only a part of the line: a command, a sample."""


def dict_line(message: str) -> tuple[int, dict[str, float]] | None:
    """Step and numbers of a logged dict that holds its step or comes after it; None for any other line."""
    text = bare(message)
    if not text.startswith(("{'", '{"')) and text.rstrip().endswith("}") and (found := _INNER.search(text)):
        cells = dict_cells(text[found.start() :])
        counter = first_of("step", cells)
        if counter is not None and len(cells) > 2 and cells[counter].is_integer() and 0 <= cells[counter] < 1e15:
            return int(cells.pop(counter)), cells
    if not (text.startswith(("{'", '{"')) and text.rstrip().endswith("}")):
        found = _DICT.search(text)
        if found is not None and begins_evaluation(text[: found.start(2)]):
            return None  # settings or a sample of an evaluation
        cells = {} if found is None else dict_cells(found[2])
        return (int(found[1]), cells) if found is not None and len(cells) > 1 else None
    cells = dict_cells(text)
    counter = first_of("step", cells)
    step = None if counter is None else cells.pop(counter)
    if step is None or len(cells) < 2 or not 0 <= step < 1e15 or not step.is_integer():
        return None
    return int(step), cells


def _by_best_name(begun: StepBlock | None, name: str) -> StepBlock | None:
    """The step of a line by the most reliable of its names, as in a table with these columns. `name`: that of its
    count."""
    best = None if begun is None else first_of("step", begun.cells)
    if begun is None or best is None or place_of_step(best) >= place_of_step(name):
        return begun
    count = begun.cells[best]
    if not count.is_integer() or not 0 <= count < 1e15:
        return begun
    cells = {key: x for key, x in begun.cells.items() if key != best}
    return StepBlock(int(count), cells=cells | {name: float(begun.step)}, twice=begun.twice)


@nothing_alike
def step_line(message: str) -> StepBlock | None:
    """The step that a line or heading begins; None for any other line."""
    heading = _HEADING.match(without_lead(message))
    if heading is not None:
        return StepBlock(count_of(heading[1]), count_of(heading[2]) if heading[2] else None, headed=True)
    parts = parts_of(message)
    steps = [found for part in parts if (found := _STEP.match(part))]
    if len(steps) != 1 or len(parts) < 2:
        return _begun(message)
    others = [part for part in parts if not _STEP.match(part)]
    cells, understood, twice = pairs_of(others, PAIR)
    if len(cells) < 2 or understood < sum(any(map(str.isdecimal, part)) for part in others):
        return None  # the line holds more than can be read here
    total = steps[0][2]
    begun = StepBlock(count_of(steps[0][1]), count_of(total) if total else None, cells, twice=twice)
    return _by_best_name(begun, _name_of(steps[0]))


def _begun(message: str) -> StepBlock | None:
    """The step of a line that begins with it and then holds only named numbers; None for any other line."""
    text = bare(message)
    begin = BEGIN.match(text)
    if begin is None:
        return None
    cells: dict[str, float] = {}
    twice = 0
    for part in SPLIT.split(text[begin.end() :]):
        pair = STRICT_PAIR.match(part) or WORD_PAIR.match(part)
        if pair is not None:
            twice += add(cells, *named_number(pair))
        elif WORD.sub("", part).strip(" ,;|"):
            return None
        else:
            twice += sum(add(cells, name, value(number)) for name, number in WORD.findall(part)[:MAX_BLOCK])
    total = begin[2]
    begun = (
        StepBlock(count_of(begin[1]), count_of(total) if total else None, cells, twice=twice)
        if len(cells) > 1
        else None
    )
    return _by_best_name(begun, _name_of(begin))


def _name_of(step: re.Match[str]) -> str:
    """The name before a count of steps."""
    return step.string[: step.start(1)].strip(" [:=#")
