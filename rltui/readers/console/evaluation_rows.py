"""The row in the text of a line from an evaluation: its step, its numbers, and the set of problems that they belong
to."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.group_words import as_evaluated
from rltui.readers.console.layouts import as_slots
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.console.plain_lines import of_evaluation, pairs, step_first
from rltui.readers.console.step_template import StepRow, cells_of, may_count
from rltui.readers.console.units import with_units
from rltui.readers.name_words import either, has_word, is_named, measures, words
from rltui.readers.number_text import value
from rltui.readers.row_kinds import row_words

_LABELLED = lazy(
    r"(?:^|[\s,;|]+)(?:(?P<key>[A-Za-z_]+)\s?[=:]\s?(?P<quote>[\"']?)(?P<label>[A-Za-z][\w.\-/]*)(?P=quote)(?=[\s,;|)\]]|$)"
    r"|(?<=\d )[(\[](?P<manner>[A-Za-z][\w\-]{1,30})[)\]](?=\s?[:|,=-]))[,;|]?"
)
"""A key with a word, or a word in brackets after the step."""
_SET = lazy(
    r"(?<![\w./\-=:])([A-Za-z][\w.\-]{1,30})(?:\s*[:|]\s*|\s+)"
    r"(?=[^\W\d][\w/.@\-]*(?:\s*[=:]\s*|\s+)[-+]?[\d.])"
)
"""A word before a named number."""
_NUMBERED = lazy(r"\b([A-Za-z]{2,12})[- ](\d{2,4})(?=:?\s+[A-Za-z])")
_FRACTION = lazy(r"\d\.\d|\d\s?%")
ONLY_SHARE = lazy(r"(?:[:=>|]|->)\s*(\d{1,3}(?:\.\d+)?)\s?%(?:\s*[(\[]\d+\s?/\s?\d+[)\]])?\W*$")
OF_TRIES = lazy(r"(?i)(?:^|[/_])(?:pass|maj|avg|best)@\d+$")


def evaluated(said: str, newest: int | None, plan: int | None = None) -> StepRow | None:
    """The row of a line from an evaluation, at the step that it states, else at `newest` (-1: there is none, None: the
    line must state one). None if the line has no number with a metric's name, or if the total of its count differs from
    the `plan`: then it counts the batches of an evaluation."""
    known = words()
    said, of = _of_label(said)
    said = said if said.startswith("{") else _NUMBERED.sub(_joined, said)
    said, of = (said, of) if of else _of_problems(said)
    said, each = (said, {}) if of else _each_of_problems(said)
    slots = slots_said(said)
    whole = [i for i, slot in enumerate(slots) if is_whole(slot)]
    strong = [i for i in whole if is_named(slots[i].name, known.counters)]
    weak = [i for i in whole if is_named(slots[i].name, known.weak_counters)]
    step = newest
    if strong:
        step, end = int(slots[strong[0]].value), slots[strong[0]].of
        if plan and end and end != plan:
            return None
    elif weak and newest is not None and abs(slots[weak[0]].value - newest) <= 1:
        step = int(slots[weak[0]].value)  # the training counts in episodes or epochs too
    cells = each or cells_of(slots, (*strong, *weak), "") or _share_alone(said)
    told = measures(cells) or any(has_word(name, known.benchmarks) for name in cells)
    if step is None or step < 0 or not (told or (cells and _is_list(said))):
        return None
    return StepRow(step, {_name(f"{of} eval {name}" if of else name): x for name, x in cells.items()}, aside=True)


def _joined(found: re.Match[str]) -> str:
    """The name of a set of problems with its number, `MATH-500`, in one word; other words unchanged."""
    return f"{found[1]}{found[2]}" if are_problems(found[1] + found[2]) else found[0]


def _problems_in(said: str) -> list[re.Match[str]]:
    """The sets of problems that the text of an evaluation names before numbers; none for a dict."""
    return [] if said.startswith("{") else [found for found in _SET.finditer(said) if are_problems(found[1])]


def _of_problems(said: str) -> tuple[str, str]:
    """The text of an evaluation without its set of problems, and that set: `step 20 AIME24 acc 0.1 len 311`, `MATH:
    pass@1=0.3 maj@8=0.4`. The whole text and "" unless it names only one set, before all numbers except its step."""
    named = _problems_in(said)
    if len(named) != 1:
        return said, ""
    found = named[0]
    before = [slot for slot in slots_of(said[: found.start()]) if not (is_whole(slot) and may_count(slot))]
    return (said, "") if before else (f"{said[: found.start()]} {said[found.end() :]}", found[1])


def _each_of_problems(said: str) -> tuple[str, dict[str, float]]:
    """The text before the sets of problems that an evaluation names, and the numbers of each: `gsm8k pass@1=0.3
    pass@8=0.4 | math pass@1=0.1 pass@8=0.2`. The whole text and no numbers if it names fewer than two sets, or has
    named numbers before them.
    """
    named = _problems_in(said)
    head = said[: named[0].start()] if len(named) > 1 else ""
    if len(named) < 2 or any(slot.name and not may_count(slot) for slot in slots_of(head)):
        return said, {}
    cells: dict[str, float] = {}
    for found, end in zip(named, [*(one.start() for one in named[1:]), len(said)], strict=True):
        told = cells_of(slots_said(said[found.end() : end]), (), "")
        cells |= {f"eval/{found[1]}/{name}": x for name, x in told.items()}
    return head, cells


def _of_label(said: str) -> tuple[str, str]:
    """The text of an evaluation without the label that names its data or manner, and that label: `dataset=gsm8k
    acc=0.3`, `step 20 (greedy): acc=0.3`."""
    if said.startswith("{"):
        return said, ""
    for found in _LABELLED.finditer(said):
        key, label = found["key"], found["label"] or found["manner"]
        if key is None or key.lower() in row_words().sets:
            return f"{said[: found.start()]} {said[found.end() :]}", "_".join(label.split())
    return said, ""


def _share_alone(said: str) -> dict[str, float]:
    """The accuracy, if an evaluation only states a share: `Eval step 10: 30.0% (50/256)`."""
    found = ONLY_SHARE.search(said)
    return {} if found is None else {"accuracy": value(found[1]) / 100}


def _name(name: str) -> str:
    """The name of a number from an evaluation, with the evaluation as its first part: `eval/accuracy` for `eval
    accuracy`."""
    name = name.lower() if OF_TRIES.search(name) is not None else name
    first, _, rest = name.partition(" ")
    if rest and first.lower() in words().evaluation:
        return f"{first}/{rest}"
    if of_set := set_named(name):
        return of_set
    return as_evaluated(first, rest) if rest and first.lower() in words().held_out else of_evaluation(name)


def set_named(name: str) -> str:
    """The name of a number whose evaluation is named with its data or manner, `GSM8K test acc`, `greedy eval reward`;
    "" for any other name. `best val acc` does not belong to this step."""
    said = name.split()
    at = next((i for i, word in enumerate(said) if word.lower() in words().evaluation), 0)
    if not 0 < at < len(said) - 1 or has_word(" ".join(said[:at]), either("no_part", "statistics")):
        return ""
    return f"eval/{'_'.join(said[:at])}/{' '.join(said[at + 1 :])}"


def slots_said(said: str) -> list[Slot]:
    if said.startswith("{"):
        return as_slots(dict_cells(said))
    return slots_of(step_first(with_units(said)))


def _is_list(said: str) -> bool:
    """Whether the text of an evaluation is a dict, or only names and numbers with a fraction among them: names of data
    sets may be any words, and settings are mostly whole numbers."""
    return said.startswith("{") or (bool(pairs(said)) and _FRACTION.search(said) is not None)


def names_evaluation(name: str) -> bool:
    """Whether a name says that its number is from an evaluation: `eval_accuracy`, `pass@1`, `MATH500 accuracy`."""
    first = name.replace("/", " ").replace("_", " ").partition(" ")[0]
    known = words().evaluation - words().tests
    return first.lower() in known or are_problems(first) or OF_TRIES.search(name) is not None


def are_problems(name: str) -> bool:
    """Whether this is the name of a known set of problems."""
    plain = name.lower().replace("-", "_")
    known = words().problem_sets
    return plain in known or plain.replace("_", "") in known or has_word(name, words().benchmarks)
