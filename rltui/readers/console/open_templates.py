"""What is still open about lines that may state steps: they may count inside a step, start again, or be of another
rank."""

from __future__ import annotations

from collections.abc import Mapping

from rltui.readers.console.counted_lines import COUNTED, FEWEST, alone
from rltui.readers.console.layouts import pair_cells
from rltui.readers.console.named_numbers import is_whole
from rltui.readers.console.plain_lines import is_part
from rltui.readers.console.rival_counts import may_be_outer
from rltui.readers.console.step_template import WITHIN, Template, TemplateLine, counter_name
from rltui.readers.console.successors import OUTER, goes_on
from rltui.readers.name_words import either, has_word, is_named, last_word, measures, words

FIRST_RANK = "0"
"""The process of a training whose lines are preferred, even if another process printed its steps first."""
MOST_PARTS = 1024
"""Most parts of a step: a larger total is that of the training."""


def waits_for_first_rank(templates: Mapping[str, Template], key: str, template: Template) -> bool:
    """Whether the first rank prints the same lines as this other rank, whose lines came first."""
    rank, _, said = key.partition(":")
    other = rank == template.lines[0].rank and rank not in ("", FIRST_RANK)
    return other and f"{FIRST_RANK}:{said}" in templates


def may_begin_anew(template: Template, counter: int) -> bool:
    """Whether these lines count one by one up to a total and may then start again (`group 3/64`): the line of the
    step that contains them may come below them. Not if they name an epoch."""
    slot, known = template.lines[0].slots[counter], words()
    if template.lines[0].inner and slot.of is not None:
        return all(goes_on(template.lines[: i + 1], counter) for i in range(1, len(template.lines)))
    if slot.of is None or last_word(slot.name) in known.steps:
        return False
    of_epochs = last_word(slot.name) == "epoch"  # PPO goes over its rollouts several times
    of_parts = is_named(slot.name, known.phases | known.items | known.inner | known.weak_counters)
    if slot.of > (MOST_PARTS if of_parts else OUTER):
        return False
    if not of_epochs and any(
        line.epoch or any(last_word(slot.name) == "epoch" for slot in line.slots) for line in template.lines
    ):
        return False
    return all(goes_on(template.lines[: i + 1], counter) for i in range(1, len(template.lines)))


def may_be_within(templates: Mapping[str, Template], template: Template, counter: int | None) -> bool:
    """Whether these lines may count inside a step that a line above them states: `rollout 5 | reward 0.3`, and
    below it `inner 1/4: pg_loss 0.1` up to 4; or, by the words of their counts, one below: `ppo_epoch 0 minibatch 3
    pg_loss 0.1`. True only while those lines came too seldom to be known."""
    slot = None if counter is None else template.lines[0].slots[counter]
    if slot is not None and last_word(slot.name) in words().steps:
        return False
    planned = 0 if slot is None or slot.of is None else slot.of
    begun, waited = template.lines[0].place, len(template.lines)
    above = any(
        other.counter is None and other.lines and other.lines[0].place < begun and may_be_outer(other.lines[0])
        for other in templates.values()
    )
    first = template.lines[0].slots
    of_parts = any(is_whole(slot) and has_word(slot.name, words().inner) for slot in first) or is_part(first[0])
    return (above or of_parts) and waited < max(OUTER, min(planned + 2, WITHIN))


def pairs_above(templates: Mapping[str, Template], template: Template, counter: int) -> set[str]:
    """The skeletons of held lines that count something else than these step lines, begin above them and only hold
    named numbers."""
    name, begun = counter_name(template.lines[0].slots[counter]), template.lines[0].place
    return {
        key
        for key, other in templates.items()
        if other.counter is None
        and other.lines
        and other.lines[0].place < begun
        and only_pairs(other)
        and not any(is_whole(slot) and counter_name(slot) == name for slot in other.lines[0].slots)
    }


def are_few(template: Template) -> bool:
    """Whether these are counted blocks or dicts, and too few of them."""
    if len(template.lines) >= FEWEST:
        return False
    first = template.lines[0]
    return _is_counted_dict(first) or (first.slots[0].name == COUNTED and not first.message)


def is_counted(template: Template) -> bool:
    """Whether these are held lines that only would be counted."""
    return template.counter is None and bool(template.lines) and _is_counted_dict(template.lines[0])


def of_answers(template: Template) -> bool:
    """Whether these are dicts about one answer each, as printed below an example: `Metrics: {'format_reward': 1.0,
    'reward': 0.0}`. Each of their numbers is 0 or 1, and one is now this and now that: a mean of many is in between."""
    if len(template.lines) < FEWEST or not all(map(may_be_of_answer, template.lines)):
        return False
    told = [{slot.name: slot.value for slot in line.slots[1:]} for line in template.lines]
    return any(len({row.get(name) for row in told}) > 1 for name in told[0])


def may_be_of_answer(line: TemplateLine) -> bool:
    """Whether a line is a dict that may be about one answer, as all of its numbers are 0 or 1."""
    return _is_counted_dict(line) and all(slot.value in (0, 1) for slot in line.slots[1:])


def _is_counted_dict(line: TemplateLine) -> bool:
    return bool(line.slots) and line.slots[0].name == COUNTED and alone(line.message) is not None


def only_pairs(template: Template) -> bool:
    """Whether these lines only hold named numbers, and none with the name of a step or a total."""
    first = template.lines[0]
    counted = any(
        slot.of is not None or is_named(slot.name, either("counters", "weak_counters"))
        for slot in (first.slots[1:] if _is_counted_dict(first) else first.slots)
    )
    return not counted and bool(first.message) and measures(pair_cells(first.message) or {})


def had_dicts(template: Template) -> bool:
    """Whether lines below these hold numbers: without them, the numbers may be counted rows."""
    return 2 * sum(bool(line.below) for line in template.lines) > len(template.lines)
