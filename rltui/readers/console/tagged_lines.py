"""Lines that begin with a tag for what they tell of: `[reward] mean 0.3 std 0.4`, `[rollout] 256 samples in 20.1s, mean
length 311`, `[reward] step 3 mean 0.3`. The tag is the name of bare statistics, and of a time. They are told as other
loops write them: `reward: mean 0.3 std 0.4`, `rollout: 256 samples, 20.1s, mean length 311`, `step 3, reward: mean
0.3`.
"""

from __future__ import annotations

from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.forms import RECENT
from rltui.readers.console.lead import split_lead
from rltui.readers.console.named_numbers import slots_of
from rltui.readers.console.plain_lines import summarises
from rltui.readers.keys import first_of
from rltui.readers.name_words import either, has_word, words
from rltui.readers.number_text import NUMBER

_OF_STATISTICS = lazy(
    r"^(?P<before>[^\w(\[]*)[\[(]\s*(?P<tag>[^\W\d][\w\-]{0,30}(?: [^\W\d][\w\-]{0,30})?)\s*[\])]:?\s+"
    rf"(?=(?P<name>[^\W\d_]+\d{{0,2}})(?:\s*[:=]\s*|\s+){NUMBER})"
)
_BEFORE_STEP = lazy(
    r"^(?P<before>\W*)(?:\[\s*(?P<tag>[^\W\d][\w\-]{0,30}(?: [^\W\d][\w\-]{0,30})?)\s*\]:?"
    r"|(?P<title>[^\W\d][\w\-]{0,30})(?::| [|>–-]))\s*[\[(]?"
    r"(?P<count>(?:[^\W\d]{1,12}[_ ])?(?P<counter>[^\W\d]{2,12})\s?[:=#]?\s?\d{1,15}(?:\s?(?:/|of)\s?\d{1,15})?)"
    rf"[\])]?\s*[,:;|>–-]*\s+(?=(?P<name>[^\W\d_]+\d{{0,2}})(?:\s*[:=]\s*|\s+){NUMBER})"
)
_TAG_ABOVE = lazy(r"\[[\w.\-]{1,60}\]$")
"""A tag right before another one, which looks like the name of a logger: `[reward][step 3]`."""
_COUNTED = lazy(
    r"^(?P<before>\W*)(?:\[\s*(?P<tag>[^\W\d][\w\-]{0,20})\s*\]:?|(?P<title>[^\W\d][\w\-]{0,20}):)\s+"
    rf"(?P<count>\d[\d,]{{0,12}}) (?P<what>[^\W\d_]{{3,20}})(?: in (?={NUMBER}\s?(?:ms|s|sec|seconds|min)\b)|(?=[,;|]))"
)


_QUOTED = lazy(r"(?<=[\w\])])(?<!\bmsg)(?<!\bmessage)(?<!\bevent)(?<!\blog)(\s?[:=]\s?)(['\"])(.*?)\2(?=[\s,;|)\]]|$)")
"""A text in quotes behind its name, `completion='She sells 3 eggs'`; not the message of a logger."""
_QUOTE = lazy(r"[:=]\s?['\"]")
_COUNTED_ALONE = lazy(r"(?<=\w):(?: :)? \d{1,12}it \[[\d:]{4,12}, [^\[\]]{1,60}\]$")
_SENTENCE = lazy(r"(?=.*\d)(?=.*[^\W\d]).*\s")
"""One word alone is a label, and a text without a number takes nothing from a line."""


@lru_cache(maxsize=RECENT)
def without_texts(text: str) -> str:
    """A line without the texts that it quotes, as their numbers are no metrics, and without what tqdm draws behind a
    description if it knows no total; a dict or any other line unchanged."""
    if "it [" in text:
        text = _COUNTED_ALONE.sub("", text)
    if _QUOTE.search(text) is None or text.lstrip().startswith(("{", "[{")):
        return text
    return _QUOTED.sub(lambda one: f"{one[1]}{one[2] * 2}" if _SENTENCE.match(one[3]) else one[0], text)


def is_of_answer(message: str) -> bool:
    """Whether a line is a dict about one answer, as it holds a text of it and no step: `{"question": "3 + 4", "steps":
    2, "score": 1}`. Its whole numbers count nothing."""
    if not (message.startswith(("{'", '{"')) and message.rstrip().endswith("}")):
        return False
    named = either("texts", "one_of_many")
    about = any(found[1].lower() in named for found in _TEXT.finditer(message))
    return about and first_of("step", dict_cells(message)) is None


_TEXT = lazy(r"[{,]\s*['\"](\w+)['\"]\s*:\s*['\"](?=[^'\"])")


@lru_cache(maxsize=RECENT)
def tagged(text: str) -> str:
    """Such a line in those words; any other line unchanged."""
    known = words()
    lead = split_lead(text)
    above = _TAG_ABOVE.search(lead.before) if lead.message.startswith("[") else None
    message = lead.message if above is None else above[0] + lead.message
    if (found := _BEFORE_STEP.match(message)) is not None:
        tag, counter = found["tag"] or found["title"], found["counter"].lower()
        measured = has_word(tag, either("training", "evaluation")) and not has_word(tag, known.counters)
        if measured and found["name"].lower() in known.statistics and counter in known.counters | known.weak_counters:
            told = f"{found['before']}{found['count']}, {tag}: {message[found.end() :]}"
            return f"{text[: text.rfind(message)]}{told}"
    if "[" not in text and "(" not in text and " in " not in text:
        return text
    if (found := _OF_STATISTICS.match(text)) is not None:
        untagged = f"{found['before']}{found['tag']}: {text[found.end() :]}"
        if found["name"].lower() not in known.statistics:
            return text
        measured = has_word(found["tag"], either("training", "evaluation"))
        return untagged if measured or summarises(slot.name for slot in slots_of(untagged)) else text
    if (found := _COUNTED.match(text)) is not None:
        title = found["tag"] or found["title"]
        others = either("counters", "weak_counters")
        if title.lower() in either("phases", "parts") and found["what"].lower().rstrip("s") not in others:
            return f"{found['before']}{title}: {found['count']} {found['what']}, {text[found.end() :].lstrip(' ,;|')}"
    return text
