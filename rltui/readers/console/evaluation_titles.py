"""Titles that announce or end an evaluation, and the rows of its data sets below them."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.layouts import HEADLINE, REMARK, WORD, without_marks
from rltui.readers.console.lead import without_lead
from rltui.readers.name_words import either, has_word, measures, words
from rltui.readers.number_text import NUMBER as NUMBER_TEXT
from rltui.readers.number_text import value

_SET = lazy(
    rf"^\W*([A-Za-z][\w.\-]{{0,30}})\s*[:|│]\s*"
    rf"(?=[^\W\d][\w/.@\-]*(?: [^\W\d][\w/.@\-]*)?(?:\s*[=:]\s*|\s+){NUMBER_TEXT})"
)
_SCORED = lazy(
    rf"^([A-Za-z][\w.\-]{{0,30}})(?:\s{{2,}}|\t|\s*[:|│]\s*)([A-Za-z][\w@]{{0,20}})(?:\s*[=:]\s*|\s+)({NUMBER_TEXT})\s?%?\s*$"
)


def set_of(message: str) -> str:
    """The data set before the numbers of a line below the title of an evaluation: `gsm8k: acc 0.3  len 311`. "" if the
    line names none: the name of a metric is not a set."""
    found = _SET.match(without_marks(without_lead(message)))
    if found is None or measures([found[1]]) or has_word(found[1], either("items", "texts", "statistics", "counters")):
        return ""
    return str(found[1])


def score_of_set(message: str) -> dict[str, float]:
    """The score of a data set in a row of an evaluation, `math500   accuracy 0.41   (500 problems)`; empty for any
    other line."""
    found = _SCORED.match(REMARK.sub("", without_marks(message)))
    if found is None or measures([found[1]]) or not measures([found[2]], "training"):
        return {}
    if has_word(found[1], either("items", "texts", "statistics", "counters", "weak_counters", "prose")):
        return {}
    return {f"{found[1]}/{found[2]}": value(found[3])}


def begins_evaluation(message: str) -> bool:
    """Whether a line says that numbers of an evaluation follow: `Evaluation results:`, `=== Validation ===`."""
    said, known = _said(message), words().evaluation
    first = not known.isdisjoint(said[:2])
    return first or (message.rstrip().endswith(":") and not known.isdisjoint(said))


def ends_evaluation(message: str) -> bool:
    """Whether a title says that training numbers follow again: `Training Results:`, `--- Train ---`."""
    said = _said(message)
    titles = message.rstrip().endswith(":") or len(said) == 1
    return titles and not words().of_training.isdisjoint(said[:2]) and words().evaluation.isdisjoint(said)


def closes_evaluation(message: str) -> bool:
    """Whether a line about an evaluation says that it is over, `Validation done in 41 s`, `*** END EVAL ***`. Its
    scores may follow if none came so far."""
    said = _said(message)
    return not message.rstrip().endswith(":") and any(word == "end" or word in words().ends for word in said)


def _said(message: str) -> list[str]:
    return [word.lower() for word in WORD.findall(message[:HEADLINE])]
