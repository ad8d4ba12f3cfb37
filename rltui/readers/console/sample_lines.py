"""Lines about one sample of a step: `step 1 prompt 3: reward 1.0`. Their numbers are none of the step."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.labelled_lines import STEP
from rltui.readers.console.lead import bare
from rltui.readers.name_words import is_named, words

LINE = "line about one sample of a step"
FIRST = 1
"""A list of samples begins with 0 or 1, and no length is so short."""
_TAG = lazy(r"[\[(<][^\])>\d]{1,30}[\])>]\s*[:|]?\s*|[^\W\d]\w{0,20}:?\s+(?=[^\W\d])")
_ITEM = lazy(
    r"[\[(]?(?P<item>[^\W\d_]+(?:[ _](?:idx|index|id|no))?)(?:\s*[#=:]\s*|\s+)(?P<number>\d{1,7})"
    r"(?:\s?/\s?\d{1,7})?[\])]?(?=[\s,:|>)])(?!\s*/)"
)


class SampleLines:
    """Finds them. It must get the lines of a log in their order: a word counts samples if it has counted the first."""

    def __init__(self) -> None:
        self._counting: set[str] = set()

    def has(self, message: str) -> bool:
        """Whether a line is one. What stands before the step may be the name of a part: `[rollout] step 1 prompt 3`."""
        at = len(message) - len(bare(message))
        step = STEP.match(message, at)
        if step is None or not is_named(step["name"], words().counters):
            tag = _TAG.match(message, at)
            step = None if tag is None else STEP.match(message, tag.end())
        if step is None or not is_named(step["name"], words().counters):
            return False
        item = _ITEM.match(message, step.end())
        if item is None or item["item"].lower() not in words().one_of_many:
            return False
        if int(item["number"]) <= FIRST:
            self._counting.add(item["item"].lower())
        return item["item"].lower() in self._counting
