"""Lines that state a step again with a label: `step 5 reward=0.3`, then `step 5 best: reward=0.4`; or `step 5
agent=solver reward=0.3`, then `step 5 agent=verifier reward=0.1`. Their numbers are not those of the step's own line,
so they get the label as a prefix and overwrite nothing. The same holds for lines of the critic: `[critic] step 5
loss=0.8`.
"""

from __future__ import annotations

import copy
import re

from rltui.lazy_regex import lazy
from rltui.readers.console.group_words import labelled, names_in
from rltui.readers.console.lead import bare
from rltui.readers.name_words import either, has_word, is_named, words
from rltui.readers.number_text import NUMBER

MOST = 400
"""Most characters of such a line, and most labels that are kept."""
MOST_TEXTS = 16
"""Most own lines of a step that are kept."""
STEP = lazy(
    r"\W{0,4}(?P<name>[^\W\d_][^\W\d]*(?:[ _][^\W\d_][^\W\d]*){0,2})[\s:=#]{0,3}(?P<count>\d[\d,]{0,15})"
    r"(?:\s?/\s?\d{1,15})?[\])]?(?:\s*[,:|>│–—-]+)?\s+"
)
_CRITIC = lazy(r"(?:.*\s)?\W{0,3}(?P<label>[A-Za-z]+(?:[ _]model)?)\s?[\])>:|│-]+\s+")
"""What may name the critic before the step."""
_NAMES = r"[^\W\d][\w/.@\-]*(?: [^\W\d][\w/.@\-]*){0,2}"
_LABEL = lazy(
    r"(?:[\[(<]\s*(?P<tag>[^\W\d][\w\- ]{0,30}?)\s*[\])>]\s*[:|]?\s*"
    r"|(?P<title>[^\W\d][\w\-]{0,30}(?: [^\W\d][\w\-]{0,20})?)(?::\s+|\s*[|│]\s+)"
    r"|(?P<kind>[^\W\d]\w{0,20})[=:](?P<value>[^\W\d][\w\-]{0,30})[\s,;|]+)"
    rf"(?={_NAMES}(?:\s*[:=]\s*|\s+){NUMBER})"
)
_TAG = lazy(r"[\[(<]\s*(?P<tag>[^\W\d][\w\- ]{0,30}?)\s*[\])>]\s*[:|]?\s*")
"""A tag before the step: `[dev] step 50`."""
_HELD_OUT = lazy(r"\W{0,3}(?P<tag>[^\W\d][\w\-]{0,20})(?:\s?[:|>]+)?\s+(?=[^\W\d])")
"""A word for held-out data before the step: `dev step 50`."""
_SAVED = lazy(
    r"(?i:(?:(?:saved|saving|wrote|writing)\s(?:\w+\s)?)?(?:checkpoint|ckpt)(?:\s\w+)?)"
    r"(?:\s*[,:;|(–—-]+\s*|\s+)(?=\D*\d)"
)
"""What a line about a checkpoint says before its numbers."""

_BLANKS = lazy(r"\s+")


class LabelledLines:
    """Finds such lines. It must get the lines of a log in their order.

    The label of the line that first states a step is that of the log's own lines, or "" if it has none. A line with
    another label, the same step and one of the same names would overwrite it: from then on that label counts as beside.
    A label that comes with a new step is only a change of wording.
    """

    def __init__(self) -> None:
        self._own = (-1, "")  # the newest step of an own line, and its label
        self._texts: tuple[str, ...] = ()  # its own lines
        self._newest = "", ""  # the newest line and its result, which is asked for several times
        self._beside: set[str] = set()
        self._last: dict[str, int] = {}  # the newest step of each label
        self._of_others: set[str] = set()  # labels whose steps went back: they count other work

    def may_be(self, step: int) -> bool:
        """Whether the newest own line states this step, as far as is known here."""
        return self._own[0] in (-1, step)

    def copy(self) -> LabelledLines:
        twin = copy.copy(self)
        twin._beside, twin._of_others, twin._last = set(self._beside), set(self._of_others), dict(self._last)
        return twin

    def told(self, message: str) -> str:
        """A line with its label in the names of its numbers, if it is beside the own line of its step; any other line
        unchanged."""
        if message != self._newest[0]:
            self._newest = message, self._told(message)
        return self._newest[1]

    def _told(self, message: str) -> str:
        if len(message) > MOST:
            return message
        lead = message[: len(message) - len(bare(message))]
        known = words()
        critic = _CRITIC.fullmatch(lead) or _CRITIC.match(message, len(lead))
        if critic is not None and critic["label"].lower() in known.critics:
            step = STEP.match(message, max(len(lead), critic.end()))
            return message if step is None else message[: step.end()] + labelled(message[step.end() :], "critic")
        tag = _tag_of(lead) or _TAG.match(message, len(lead))
        at = len(lead) if tag is None else max(len(lead), tag.end())
        if tag is None and (word := _HELD_OUT.match(message, at)) and word["tag"].lower() in known.held_out:
            tag, at = word, word.end()
        step = STEP.match(message, at)
        if step is None or not is_named(step["name"], either("counters", "weak_counters")):
            return message
        count = int(step["count"].replace(",", ""))
        if saved := _SAVED.match(message, step.end()):
            return message[: step.end()] + labelled(message[saved.end() :], "checkpoint")
        found = _LABEL.match(message, step.end())
        label = "" if found is None else (found["tag"] or found["title"] or found["value"]).strip().lower()
        if found is not None and _is_none(label, found["kind"] or ""):
            return message
        if found is None and tag is not None and not _is_none(tag["tag"].lower(), ""):
            label = _of_tag(tag["tag"].strip().lower())
        rest = message[step.end() if found is None else found.end() :]
        if has_word(label, known.evaluation):
            return message
        if label in known.held_out or has_word(label, either("held_out", "benchmarks")):
            return message[: step.end()] + labelled(rest, f"eval/{_BLANKS.sub('_', label)}")
        if label:
            last = self._last.get(label, -1)
            if last > count or label in self._of_others:
                self._of_others.add(label)
                self._beside.discard(label)
                return message
            if len(self._last) < MOST:
                self._last[label] = count
        if not self._is_beside(count, label, rest):
            if count < self._own[0]:  # a launch went on from a checkpoint
                self._last = {label: count} if label else {}
            self._texts = (*self._texts, rest)[-MOST_TEXTS:] if count == self._own[0] else (rest,)
            self._own = count, label
            return message
        if not label:
            return message
        of_step = label in known.phases | known.parts | known.groups
        return message[: step.end()] + labelled(rest, _BLANKS.sub("_", label), self._names() if of_step else None)

    def _names(self) -> set[str]:
        """The names in the own lines of the newest step."""
        return {name for text in self._texts for name in names_in(text)}

    def _is_beside(self, count: int, label: str, rest: str) -> bool:
        """Whether a line with this step and label is not one of the log's own lines."""
        newest, own = self._own
        if own in self._of_others:
            return False
        if label in self._beside:
            return True
        if count != newest or label == own:
            return False
        counted = either("counters", "weak_counters", "statistics")
        if not any(not is_named(name, counted) for name in self._names().intersection(names_in(rest))):
            return False
        comes_first = own and (not label or has_word(label, words().of_training))
        beside = own if comes_first else label
        if len(self._beside) < MOST:
            self._beside.add(beside)
        return beside == label


def _tag_of(lead: str) -> re.Match[str] | None:
    """The last thing in brackets in the lead of a line, if nothing but blanks follows it."""
    at = max(lead.rfind(mark) for mark in "[(<")
    found = _TAG.match(lead, at) if at >= 0 else None
    return found if found is not None and found.end() == len(lead) else None


def _of_tag(tag: str) -> str:
    """The tag as a label; "" for a tag of a training, whose lines or steps are the log's own."""
    known = words()
    return "" if has_word(tag, known.of_training | known.trainings | known.preparations) else tag


def _is_none(label: str, kind: str) -> bool:
    """Whether what looks like a label names a place, or only says that results follow."""
    known = words()
    others = either("places", "prose", "findings", "counters", "weak_counters")
    return has_word(label, others) or has_word(kind, known.places)
