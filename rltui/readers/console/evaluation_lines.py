"""Lines that a tag says to be of an evaluation: `[eval] step 40 | reward 0.3`, `val: acc=0.5`, `valid | epoch 2 | ...`.

Without the tag they read as lines of training, and their numbers would stand for those of the policy's own steps.
"""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Lead
from rltui.readers.console.named_numbers import is_named, is_whole, of_evaluation, slots_of, words
from rltui.readers.console.step_template import StepRow, cells_of, measures

_TAG = lazy(
    r"\W{0,4}?(?:[\[(<{]\s*([A-Za-z]+)(?:[ _-](?i:set|split))?\s*[\])>}]\s*[:|│>–—-]*"
    r"|([A-Za-z]+)\s*(?:[:|│>]|[–—-]+\s|=>))\s+(?=\S)"
)
SURE = ("eval", "val")
"""How the words begin that nobody calls a training; a program may be called `test`."""


class EvaluationLines:
    """Takes the lines of a log in their order."""

    def __init__(self) -> None:
        self._called_test = False  # the training's own lines bear that word

    def said(self, lead: Lead, newest: int) -> str | None:
        """What a line says that is marked as one of an evaluation, by a tag or by its logger's name; None for any other
        line. `newest`: the step that the training is at, -1 before the first."""
        found, known = _TAG.match(lead.message), words().evaluation
        word, said = (found[1] or found[2], lead.message[found.end() :]) if found is not None else ("", "")
        if word.lower() not in known:
            word, said = lead.source.rpartition(".")[2], lead.message
        if (word := word.lower()) not in known:
            return None
        if not word.startswith(SURE):
            self._called_test |= newest < 0
            if self._called_test:
                return None
        return said


def evaluated(said: str, newest: int) -> StepRow | None:
    """The row that such a line tells, at the step that it states or else at the `newest` one (-1 if there is none);
    None if it names no number of a training."""
    known, slots = words(), slots_of(said)
    whole = [i for i, slot in enumerate(slots) if is_whole(slot)]
    strong = [i for i in whole if is_named(slots[i].name, known.counters)]
    weak = [i for i in whole if is_named(slots[i].name, known.weak_counters)]
    step = int(slots[strong[0]].value) if strong else newest
    if not strong and weak and abs(slots[weak[0]].value - newest) <= 1:
        step = int(slots[weak[0]].value)  # episodes or epochs are what the training counts, too
    cells = cells_of(slots, (*strong, *weak), "")
    if step < 0 or not measures(cells):
        return None
    return StepRow(step, {of_evaluation(name): x for name, x in cells.items()})
