"""Lines that a tag says to be of an evaluation: `[eval] step 40 | reward 0.3`, `val: acc=0.5`, `valid | epoch 2 | ...`.

Without the tag they read as lines of training, and their numbers would stand for those of the policy's own steps.
"""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Lead
from rltui.readers.console.named_numbers import is_named, is_whole, of_evaluation, slots_of, words
from rltui.readers.console.pair_lines import as_slots
from rltui.readers.console.step_template import StepRow, cells_of, measures
from rltui.readers.literals import dict_cells

_TAG = lazy(
    r"\W{0,4}?(?:[\[(<{]\s*([A-Za-z]+)(?:[ _-](?i:set|split))?\s*[\])>}]\s*[:|│>–—-]*"
    r"|([A-Za-z]+)\s*(?:[:|│>]|[–—-]+\s|=>))\s+(?=\S)"
)
_DICT = lazy(r"^([^{}\[\]\n]{3,80}?[:=>→|\-]\s*)(\{['\"].*\})\s*$")
_SAID = lazy(r"['\"]\s*:\s*['\"\[]")
"""A text or list in a dict, which is a sample or settings, then."""
_WORD = lazy(r"[^\W\d_]+")
_NUMBERED = lazy(r"(?i)(?:step|iter|iteration|epoch|update)\W{1,3}\d")
"""Words that state the step of a dict, which is read as such."""
SURE = ("eval", "val")
"""How the words begin that nobody calls a training; a program may be called `test`."""


class EvaluationLines:
    """Takes the lines of a log in their order."""

    def __init__(self) -> None:
        self._called_test = False  # the training's own lines bear that word

    def said(self, lead: Lead, newest: int) -> str | None:
        """What a line says that is marked as one of an evaluation, by a tag or by its logger's name; None for any other
        line. `newest`: the step that the training is at, -1 before the first."""
        if (shown := _of_dict(lead.message)) is not None:
            return shown
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
    known = words()
    slots = as_slots(dict_cells(said)) if said.startswith("{") else slots_of(said)
    whole = [i for i, slot in enumerate(slots) if is_whole(slot)]
    strong = [i for i in whole if is_named(slots[i].name, known.counters)]
    weak = [i for i in whole if is_named(slots[i].name, known.weak_counters)]
    step = int(slots[strong[0]].value) if strong else newest
    if not strong and weak and abs(slots[weak[0]].value - newest) <= 1:
        step = int(slots[weak[0]].value)  # episodes or epochs are what the training counts, too
    cells = cells_of(slots, (*strong, *weak), "")
    if step < 0 or not (measures(cells) or (cells and said.startswith("{"))):
        return None
    return StepRow(step, {of_evaluation(name): x for name, x in cells.items()}, aside=not strong)


def _of_dict(message: str) -> str | None:
    """The dict at the end of a line whose words say that it holds what an evaluation found: `eval_metrics: {..}`,
    `Evaluation completed in 9.1s: {..}`; None for any other line. Other words name settings, or samples."""
    found = _DICT.match(message) if message.rstrip().endswith("}") else None
    if found is None or _SAID.search(found[2]) is not None:
        return None
    known = words()
    said = {word.lower() for word in _WORD.findall(found[1].replace("_", " "))}
    told = not said.isdisjoint(known.findings) or (measures(dict_cells(found[2])) and said <= known.evaluation)
    return found[2] if told and said & known.evaluation and _NUMBERED.search(found[1]) is None else None
