"""Lines with the results of an evaluation, in free wording. Either a tag marks them, `[eval] step 40 | reward 0.3`,
`val: acc=0.5`, `valid | epoch 2 | ...`. Or a line that states its step has a word for evaluation: `Validation at step
40 | acc: 0.3`, `{'eval_accuracy': 0.3, 'step': 40}`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rltui.lazy_regex import lazy
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.evaluation_rows import OF_TRIES, ONLY_SHARE, are_problems, evaluated, set_named, slots_said
from rltui.readers.console.forms import nothing_alike
from rltui.readers.console.lead import Lead, plain, split_lead
from rltui.readers.console.named_numbers import is_whole, slots_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.open_templates import FIRST_RANK
from rltui.readers.console.plain_lines import pairs
from rltui.readers.console.scores_in_words import ScoresInWords
from rltui.readers.console.step_template import StepRow, may_count
from rltui.readers.console.units import with_units
from rltui.readers.name_words import either, has_word, is_named, last_word, measures, words
from rltui.readers.number_text import value

_TAG = lazy(
    r"\W{0,4}?(?:[\[(<{]\s*([^\W\d_]+)(?:[ _-](?i:set|split))?\s*[\])>}]\s*[:|│>–—-]*"
    r"|([^\W\d_]+)(?:[ _-](?i:set|split))?\s*(?:[:|│>]|[–—-]+\s|=>))\s+(?=\S)"
)
_COUNTED = lazy(r"\W{0,4}([A-Za-z]+)\s*#(\d{1,6})\W*\s+(?=[^\W\d])")
"""An evaluation with its number: `Evaluation #2 reward/mean: 0.3`."""
_AT_COUNT = lazy(
    r"\W{0,4}([A-Za-z]+)(?:\s?@\s?|\s|\s?[(\[](?i:step|iter|iteration|update)\s)(\d{1,9})(?:\s?/\s?\d{1,9})?"
    r"(\W*)\s+(?=[^\W\d])"
)
"""An evaluation with its step: `val@40: acc 0.3`, `EVAL 40/200 acc: 0.3`, `EVAL (step 40): gsm8k = 0.3`."""
_DICT = lazy(r"^([^{}\[\]\n]{3,80}?[:=>→|\-]\s*)(\{['\"].*\})\s*$")
_BEHIND_STEP = lazy(
    r"(?P<step>\W{0,4}[^\W\d][^\d:=|]{0,30}[\s:=#]{1,3}\d[\d,]{0,15}(?:\s?/\s?\d{1,15})?)[\])]?\W{1,4}[\[(]?"
    r"(?:(?P<of>[A-Za-z][\w.\-/]{1,30}) )??(?P<word>[^\W\d_]+)(?:[ _-](?:set|split|results?|metrics?|scores?))?"
    r"(?P<end>[\])])?"
    r"(?: (?:on|for|of) (?P<set>[\w.\-/]{1,40})(?: (?:test|val|dev|eval)(?:[ _-](?:set|split))?)?)?\s*"
    r"(?(end)[:|>–—-]?\s*|(?:(?:[:|>]|[–—-]\s)\s*|(?<=[A-Z]{3})\s+))(?=\S)"
)
"""A step, then a word that says that the rest is from an evaluation, perhaps with its data: `step 40 eval: reward=0.3`,
`[step 40] MATH500 eval | acc 0.3`, `step 40: eval on gsm8k test: acc 0.3`."""
_SOLVED = lazy(
    r"\W{0,4}([A-Za-z][\w.\-]{1,30})\s*[:|=]\s*(\d{1,9})\s*/\s*(\d{1,9})\s*(?i:correct|solved|passed)\b"
    r"(?:\s*[(\[]\s*(0?\.\d+)\s*[)\]])?"
)
"""How many of a set of problems were solved: `gsm8k: 285/1319 correct (0.22)`."""
_SET_AT = lazy(r"\W{0,4}([A-Za-z]+)/([A-Za-z][\w.\-]{1,30})\s*@\s*(\d{1,9})[\s|:,]+")
"""An evaluation with its set and step: `eval/gsm8k @20 | acc 0.3`."""
_SET_TAG = lazy(r"\W{0,4}[\[(<{]\s*([A-Za-z]+)[/:_. -]+([A-Za-z][\w.\-]{1,30})\s*[\])>}]\W*\s(?=\S)")
"""A tag that names the set as well: `[eval/gsm8k] step 15 acc 0.4`."""
_LOGGER = lazy(r"([A-Za-z][\w.\-]{1,40})\s+\[[A-Za-z_][\w.]*\]\s+(?=[\w.\-/]+=)")
"""The event of a structured logger, then its name: `eval      [grpo.eval] accuracy=0.3 step=10`."""
_PAIR_OF_SET = r"([A-Za-z][\w.\-]{1,30})(?:\s*[:=]\s*|\s+)(\d{1,3}\.\d{1,6}(?:\s?%)?|\d{1,3}\s?%)"
_SETS_ALONE = lazy(
    rf"(?:[\[(]?(?:\w+\.)*([A-Za-z]+)[\])]?\s*[:|>–—-]*\s+)?{_PAIR_OF_SET}(?:[\s,;|]+{_PAIR_OF_SET})+\W*$"
)
"""Only sets of problems with a number each, perhaps after a word for an evaluation: `eval gsm8k 0.45 math 0.25`."""
_EACH_SET = lazy(_PAIR_OF_SET)
_SET_BEHIND = lazy(
    r"\W{0,4}([A-Za-z]+)\s+(?:(?:on|for|of)\s+)?[\[(]?([A-Za-z][\w.\-]{1,30})[\])]?\s*(?:[:|]|[–—-]\s|(?=step\s))\s*(?=\S)"
)
"""A word for an evaluation, then its set: `Eval on gsm8k: acc 0.4`, `eval (gsm8k) step 15: acc 0.4`."""
_NAMED_SO = lazy(r"(?:eval|evaluation|val|valid|validation|test)[/_]\w", re.IGNORECASE)
"""A name that says that its number is from an evaluation."""
_EVENT = lazy(r"([A-Za-z][\w.\-]{2,40})\s+(?=[\w.\-/]+=)")
"""The event name of a structured logger, before its pairs: `eval_done   reward=0.3 step=40`."""
_SAID = lazy(r"['\"]\s*:\s*['\"\[]")
"""A text or list in a dict: then the dict is a sample or settings."""
_WORD = lazy(r"[^\W\d_]+")
_LINKS = frozenset(("at", "after", "on", "for", "of", "in"))
"""Words between the word for an evaluation and its step."""
_OVER = frozenset(("end", "over"))
"""Words that say that an epoch is over, besides those for results."""
MOST_WORDS = 5
"""Most words before a step: more are a sentence."""
MOST_IN_NAME = 3
"""Most words of a name in a sentence."""
SHORT = 40
"""Most characters in which a line says that something is over."""
MOST = 400
"""Most characters of a line that only its words show to be an evaluation's."""
_RANK_0 = ("", FIRST_RANK)
_VERL = "step:"
"""How verl's own lines begin."""


class EvaluationLines:
    """Recognises lines from an evaluation. It must get the lines of a log in their order."""

    def __init__(self) -> None:
        self._called_test = False  # the training's own lines have the word `test` too
        self._scores = ScoresInWords()

    def said(self, lead: Lead, newest: int) -> str | None:
        """The text of a line from an evaluation, without its mark: a tag, the name of its logger, or words beside its
        step. None for any other line. `newest`: the newest step of the training, -1 before the first."""
        solved = _SOLVED.match(lead.message) if newest >= 0 and "/" in lead.message else None
        if solved is not None and are_problems(solved[1]):
            share = float(solved[4]) if solved[4] else int(solved[2]) / max(1, int(solved[3]))
            return f"{{'eval/{solved[1]}/accuracy': {share!r}}}"
        if (score := self._scores.told(lead.message, newest)) is not None:
            return score
        if not (_may_say(lead.message) or _may_say(lead.source)):
            return None
        if (logged := _LOGGER.match(lead.message)) is not None:
            lead = lead._replace(message=f"{logged[1]} {lead.message[logged.end() :]}")
        if newest >= 0 and (sets := _sets_alone(lead) or _named_so(lead.message)):
            return sets
        if (shown := _of_dict(lead.message)) is not None:
            return shown
        if (at := _SET_AT.match(lead.message)) is not None and at[1].lower() in words().evaluation:
            return f"step {at[3]}, dataset={at[2]} {lead.message[at.end() :]}"
        tagged = _SET_TAG.match(lead.message) or _SET_BEHIND.match(lead.message)
        if tagged is not None and tagged[1].lower() in words().evaluation and are_problems(tagged[2]):
            return f"{lead.message[tagged.end() :]} dataset={tagged[2]}"
        if (counted := _COUNTED.match(lead.message)) is not None and counted[1].lower() in words().evaluation:
            first = newest < 0 and int(counted[2]) == 0  # before the training
            return ("step 0, " if first else "") + lead.message[counted.end() :]
        stated = _AT_COUNT.match(lead.message)
        if stated and stated[1].lower() in words().evaluation and (said := _at_count(stated, newest)):
            return said
        found, known = _TAG.match(lead.message), words().evaluation
        word, said = (found[1] or found[2], lead.message[found.end() :]) if found is not None else ("", "")
        if word.lower() not in known:
            word, said = lead.source.rpartition(".")[2], lead.message
        if (word := word.lower()) not in known:
            if _is_stated(lead.message) or _is_event(lead.message):
                return lead.message
            told = _behind_step(lead.message) or _of_round(lead.message, newest) or _in_words(lead.message, newest)
            return told or _of_sets(lead.message, newest)
        if not _is_surely(word):
            self._called_test |= newest < 0
            if self._called_test:
                return None
        return said


def _sets_alone(lead: Lead) -> str:
    """The dict of a line that names known sets of problems with a number each, and nothing else; "" for any other."""
    found = _SETS_ALONE.match(lead.message) if len(lead.message) <= MOST else None
    if found is None:
        return ""
    known = words().evaluation
    behind = (found[1] or "").lower() in known
    if not behind and (found[1] is not None or lead.source.rpartition(".")[2].lower() not in known):
        return ""
    pairs_of = _EACH_SET.findall(lead.message[found.start(2) :])
    if not all(are_problems(name) for name, _ in pairs_of):
        return ""
    return _as_dict((f"eval/{name}", _share(told)) for name, told in pairs_of)


def _named_so(message: str) -> str:
    """The dict of a line that only holds pairs, each named as from an evaluation of a known set; "" for any other."""
    told = pairs(message) if len(message) <= MOST and _NAMED_SO.match(message.lstrip("[(")) else {}
    names = [name.lower().replace("/", "_").split("_") for name in told]
    if not told or not all(_NAMED_SO.match(name) for name in told):
        return ""
    if not all(any(are_problems(part) for part in parts) for parts in names):
        return ""
    return _as_dict(told.items())


def _as_dict(cells: Iterable[tuple[str, float]]) -> str:
    """The text of a dict of these numbers, as a loop prints it."""
    return "{" + ", ".join(f"'{name}': {x!r}" for name, x in cells) + "}"


def _share(told: str) -> float:
    return value(told.rstrip(" %")) / 100 if told.endswith("%") else value(told)


@nothing_alike
def _may_say(text: str) -> bool:
    """Whether a text holds one of the words that every line from an evaluation has."""
    return "@" in text or not either("evaluation", "benchmarks", "held_out").isdisjoint(_words_of(text))


class EvaluationsBeside:
    """Finds evaluations that state their step beside the known lines of verl or TRL. It must get the lines of a log in
    their order."""

    def __init__(self) -> None:
        self._lines = EvaluationLines()

    def line(self, raw: str, newest: int, plan: int | None) -> tuple[StepRow, str] | None:
        """The row of a line, and the text before its message; None for any other line. `newest`: the newest step.
        `plan`: the planned steps, None if unknown."""
        if len(raw) > MOST or words().evaluation.isdisjoint(_words_of(raw)):
            return None
        prefix, message = split_prefix(raw)
        lead = split_lead(plain(message))
        if lead.rank not in _RANK_0 or "Worker" in prefix or lead.message.startswith(_VERL):
            return None
        said = self._lines.said(lead, newest)
        row = None if said is None else evaluated(said, None, plan)
        return None if row is None else (row, lead.before)


def _of_dict(message: str) -> str | None:
    """The dict at the end of a line whose words say that it holds results of an evaluation: `eval_metrics: {..}`,
    `Evaluation completed in 9.1s: {..}`. None for any other line: other words name settings or samples."""
    found = _DICT.match(message) if message.rstrip().endswith("}") else None
    if found is None or _SAID.search(found[2]) is not None:
        return None
    known, said = words(), set(_words_of(found[1]))
    count = next((slot for slot in slots_of(found[1]) if is_whole(slot) and may_count(slot)), None)
    if count is not None:
        said -= known.counters | known.weak_counters | _LINKS
        told = said <= known.evaluation | known.findings
        stated = f"{{'{last_word(count.name)}': {int(count.value)}, "
        return stated + found[2][1:] if told and said & known.evaluation else None
    told = not said.isdisjoint(known.findings) or (measures(dict_cells(found[2])) and said <= known.evaluation)
    return found[2] if told and said & known.evaluation else None


def _is_stated(message: str) -> bool:
    """Whether the words of a line with a step show that it is from an evaluation: words before the step, or in each
    metric name after it. Lines with only pass@k and similar shares, or with benchmarks that are never trained on, count
    too."""
    known, of_dict = words(), message.startswith("{")
    if len(message) > MOST or not ("@" in message or has_word(message, either("evaluation", "benchmarks"))):
        return False
    slots = slots_said(message)
    at = next((i for i, slot in enumerate(slots) if is_whole(slot) and is_named(slot.name, known.counters)), None)
    if at is None or not all(of_dict or may_count(slot) for slot in slots[:at]):
        return False
    names = [slot.name for i, slot in enumerate(slots) if i != at and slot.name]
    measured = [name for name in names if has_word(name, known.training)]
    head = [] if of_dict else _words_of(message[: slots[at].end])
    if not measured and any(has_word(name, known.benchmarks) or _is_of_problems(name) for name in names):
        return True
    if (
        not (measured or (not names and ONLY_SHARE.search(message)))
        or len(head) > MOST_WORDS
        or any(has_word(name, known.prose) for name in names)
    ):
        return False
    if any(_is_surely(word) for word in head):
        return not any(word.startswith("train") for word in head)
    of_tries = sum(OF_TRIES.search(name) is not None for name in names)
    return all(has_word(name, known.evaluation) for name in measured) or (of_tries == len(names) > 1)


def _is_of_problems(name: str) -> bool:
    """Whether a name is that of an evaluation on a known set of problems: `val_gsm8k`."""
    first, _, rest = name.lower().replace("/", "_").replace("-", "_").partition("_")
    return _is_surely(first) and are_problems(rest)


def _at_count(found: re.Match[str], newest: int) -> str | None:
    """The text after the word for an evaluation and a count. The count is the step if the training is near it or it is
    written with `@`. Otherwise None: then the count is of what is evaluated."""
    step, at_step = int(found[2]), "@" in found[0]
    near = newest >= 0 and abs(step - newest) <= 1
    if not (at_step or near):
        return None
    rest = found.string[found.end() :]
    told = [slot for slot in slots_of(with_units(rest)) if slot.name]
    others, known = either("items", "places", "prose", "durations"), words()
    sets = ":" in found[3] and any("." in slot.text for slot in told) and len(rest) <= MOST
    if sets and not any(has_word(slot.name, others) or is_named(slot.name, known.counters) for slot in told):
        return _as_dict([("step", step), *((slot.name, slot.value) for slot in told)])
    return f"step {step}, {rest}"


def _behind_step(message: str) -> str | None:
    """The text of an evaluation that is named right after its step, perhaps with its data; None for any other line."""
    found = _BEHIND_STEP.match(message) if len(message) <= MOST else None
    if found is None or found["word"].lower() not in words().evaluation:
        return None
    if not any(is_named(slot.name, words().counters) for slot in slots_of(found["step"])):
        return None
    of = found["set"] or found["of"]
    if of is not None and ((found["set"] and found["of"]) or of.lower() in words().of_training):
        return None
    if of is None:
        return f"{found['step']}, {message[found.end() :]}"
    count = next(slot for slot in slots_of(found["step"]) if is_named(slot.name, words().counters))
    told = [slot for slot in slots_of(with_units(message[found.end() :])) if slot.name]
    return _as_dict([("step", int(count.value)), *((f"eval/{of}/{slot.name}", slot.value) for slot in told)])


def _in_words(message: str, newest: int) -> str | None:
    """The metrics, but not counts, in a sentence that begins with the word for an evaluation, after the first step.
    None for any other line."""
    known, said = words(), _words_of(message[:SHORT])
    if newest < 0 or len(message) > MOST or not said or said[0] not in either("evaluation", "held_out"):
        return None
    counted = known.items | known.counters | known.weak_counters
    if said[0] in known.tests or "{" in message or not counted.isdisjoint(said[:2]):
        return None
    slots = [slot for slot in slots_of(with_units(message)) if "." in slot.text and measures([slot.name])]
    return ", ".join(f"{s.name}: {s.text}" for s in slots if len(_words_of(s.name)) <= MOST_IN_NAME) or None


def _of_sets(message: str, newest: int) -> str | None:
    """The numbers of a line after the first step, if each names its evaluation and the data: `GSM8K test acc: 0.3
    (82/250)`. None for any other line."""
    if newest < 0 or len(message) > MOST or "{" in message:
        return None
    slots = [slot for slot in slots_of(with_units(message)) if slot.name]
    if not slots or not measures(slot.name for slot in slots) or not all(set_named(slot.name) for slot in slots):
        return None
    return ", ".join(f"{slot.name}: {slot.text}" for slot in slots)


def _is_event(message: str) -> bool:
    """Whether a line is the event of an evaluation, with its numbers after it."""
    found = _EVENT.match(message) if len(message) <= MOST else None
    said = [] if found is None else _words_of(found[1])
    known = words()
    of_event = known.evaluation | known.findings | known.counters | _LINKS
    return bool(said) and _is_surely(said[0]) and set(said) <= of_event


def _of_round(message: str, newest: int) -> str | None:
    """The evaluation's numbers in a line about a finished epoch, if other lines state the steps:
    `Epoch 1 done. avg reward 0.5, val reward 0.4`. None for any other line."""
    known = words()
    if len(message) > MOST or (known.findings | _OVER).isdisjoint(_words_of(message[:SHORT])):
        return None
    slots = slots_of(with_units(message))
    if not slots or not is_whole(slots[0]) or not is_named(slots[0].name, known.weak_counters):
        return None
    if slots[0].value + 1 >= newest or any(is_named(slot.name, known.counters) for slot in slots):
        return None  # it may be a step
    evaluated = either("evaluation", "held_out")
    told = [f"{slot.name}: {slot.text}" for slot in slots[1:] if has_word(slot.name, evaluated)]
    return ", ".join(told) or None


def _is_surely(word: str) -> bool:
    """Whether a word surely means an evaluation; not `test`, as a training program may be called that."""
    return word in words().evaluation and word not in words().tests


def _words_of(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text.replace("_", " "))]
