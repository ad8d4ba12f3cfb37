"""Lines that a tag says to be of an evaluation: `[eval] step 40 | reward 0.3`, `val: acc=0.5`, `valid | epoch 2 | ...`.

Without the tag they read as lines of training, and their numbers would stand for those of the policy's own steps.
"""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Lead
from rltui.readers.console.named_numbers import has_word, is_named, is_whole, slots_of, words
from rltui.readers.console.step_template import StepRow, cells_of, measures

_WORDS = r"eval(?:uation|uating)?|val(?:id|idation|idating)?|test(?:ing)?"
_TAG = lazy(
    rf"(?i)\W{{0,4}}?(?:[\[(<{{]\s*({_WORDS})(?:[ _-](?:set|split))?\s*[\])>}}]\s*[:|│>–—-]*"
    rf"|({_WORDS})\s*(?:[:|│>]|[–—-]+\s|=>))\s+(?=\S)"
)
_SOURCE = lazy(rf"(?i)(?:.*\.)?({_WORDS})$")
SURE = ("eval", "val")
"""How the words begin that nobody calls a training; a program may be called `test`."""


class EvaluationLines:
    """Takes the lines of a log in their order."""

    def __init__(self) -> None:
        self._called_test = False  # the training's own lines bear that word

    def row(self, lead: Lead, newest: int) -> StepRow | None:
        """The row of a line that says evaluation by a tag or by its logger's name; None for any other line. `newest`:
        the step that the training is at, -1 before the first."""
        found, said = _TAG.match(lead.message), lead.message
        if found is not None:
            said = said[found.end() :]
        else:
            found = _SOURCE.match(lead.source)
        if found is None:
            return None
        word = next(group for group in found.groups() if group).lower()
        if not word.startswith(SURE):
            self._called_test |= newest < 0
            if self._called_test:
                return None
        return evaluated(said, newest)


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
    named = {name if has_word(name, known.evaluation) else f"eval/{name}": x for name, x in cells.items()}
    return StepRow(step, named)
