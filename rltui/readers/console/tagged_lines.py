"""Lines that begin with a tag for what they tell of: `[reward] mean 0.3 std 0.4`, `[rollout] 256 samples in 20.1s, mean
length 311`. The tag is the name of bare statistics, and of a time. They are told as other loops write them: `reward:
mean 0.3 std 0.4`, `rollout: 256 samples, 20.1s, mean length 311`.
"""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.name_words import either, has_word, words
from rltui.readers.number_text import NUMBER

_OF_STATISTICS = lazy(
    r"^(?P<before>\W*)\[\s*(?P<tag>[^\W\d][\w\-]{0,30}(?: [^\W\d][\w\-]{0,30})?)\s*\]:?\s+"
    rf"(?=(?P<name>[^\W\d_]+\d{{0,2}})(?:\s*[:=]\s*|\s+){NUMBER})"
)
_COUNTED = lazy(
    r"^(?P<before>\W*)(?:\[\s*(?P<tag>[^\W\d][\w\-]{0,20})\s*\]:?|(?P<title>[^\W\d][\w\-]{0,20}):)\s+"
    rf"(?P<count>\d[\d,]{{0,12}}) (?P<what>[^\W\d_]{{3,20}})(?: in (?={NUMBER}\s?(?:ms|s|sec|seconds|min)\b)|(?=[,;|]))"
)


_QUOTED = lazy(r"(?<=[\w\])])(?<!\bmsg)(?<!\bmessage)(?<!\bevent)(?<!\blog)(\s?[:=]\s?)(['\"])(.*?)\2(?=[\s,;|)\]]|$)")
"""A text in quotes behind its name, `completion='She sells 3 eggs'`; not the message of a logger."""
_SENTENCE = lazy(r"(?=.*\d)(?=.*[^\W\d]).*\s")
"""One word alone is a label, and a text without a number takes nothing from a line."""


def without_texts(text: str) -> str:
    """A line without the texts that it quotes, as their numbers are no metrics; a dict or any other line unchanged."""
    if text.lstrip().startswith(("{", "[{")) or not ("'" in text or '"' in text):
        return text
    return _QUOTED.sub(lambda one: f"{one[1]}{one[2] * 2}" if _SENTENCE.match(one[3]) else one[0], text)


def tagged(text: str) -> str:
    """Such a line in those words; any other line unchanged."""
    if "[" not in text and " in " not in text:
        return text
    known = words()
    if (found := _OF_STATISTICS.match(text)) is not None:
        measured = (
            has_word(found["tag"], either("training", "evaluation")) and found["name"].lower() in known.statistics
        )
        return f"{found['before']}{found['tag']}: {text[found.end() :]}" if measured else text
    if (found := _COUNTED.match(text)) is not None:
        title = found["tag"] or found["title"]
        others = either("counters", "weak_counters")
        if title.lower() in either("phases", "parts") and found["what"].lower().rstrip("s") not in others:
            return f"{found['before']}{title}: {found['count']} {found['what']}, {text[found.end() :].lstrip(' ,;|')}"
    return text
