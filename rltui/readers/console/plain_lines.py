"""Lines that hold only names and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import BEHIND, NUMBER, UNIT, Slot, is_whole, slots_of, told_by
from rltui.readers.console.sections import timed
from rltui.readers.name_words import either, has_word, is_named, last_word, measures, words
from rltui.readers.number_text import ties_number, value

_PAIR = lazy(
    rf"(?:^|(?<=[,;|])|(?<=\s))\s*([^\W\d][\w/.@\-]*(?: [\w/.@\-()]+){{0,4}})\s*[:=]\s*"
    rf"({NUMBER.pattern})(/\d[\d.]*)?\s?({UNIT.pattern})"
    r"(?:\s*\((?:[\d.]+ ?%|\d+ ?/ ?\d+|[nN] ?= ?\d+|\d+ [a-z]{3,12})\))?(?=[,;|\s]|$)"
)
_AT_STEP = lazy(
    r"^\W*([A-Za-z][\w/@\-]*(?: [\w/@\-]+){0,3}) (?:at|after|on|for|of|@) "
    rf"((?:[a-z]+[ _])?([A-Za-z]+)[ =:#]{{1,2}}\d{{1,15}}(?:/\d{{1,15}})?)\s*(?:->|=>|[:=|>–—-])\s*"
    rf"({NUMBER.pattern}%?)\W*$"
)
"""A name before the step, and its number after it: `Eval accuracy at step 40: 0.3`."""
_AFTER_STEPS = lazy(
    r"^\W*([A-Za-z][\w/@\-]*(?: [\w/@\-]+){0,3}) (?:at|after) (\d{1,15}(?:,\d{3})*) ([A-Za-z]+)\s*[:=|>–—-]{1,2}\s*"
    rf"({NUMBER.pattern}%?)\W*$"
)
"""The same, with the count before the word: `Validation accuracy after 40 steps: 0.3`."""
NUMBER_IN = lazy(
    r"(?:^|\s)\d+\.\d+(?=\s|$)|(?:^|\s)\d+\s*[(\[]|[^\W\d]{3}\.\s"
    r"|(?:^|[\s(\[#])[^\W\d]*\d+\s?(?:/|(?:out )?of\s)\s?\d+(?=[\s)\]]|$)"
)
"""Words with a number of their own, or with the end of a sentence, are prose: `reward below 0.5: 0.4`. With a count and
a total they name a part of the step: `chunk 3/4 loss: 0.4`."""
_WORD = lazy(r"[^\W\d_]+")
_TITLE = lazy(r"^\W*[^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*)?:\s+(?=[^\W\d])")
_WORK = lazy(r"^\W*([^\W\d][\w/\-]*)\s*[|│]\s+(?=[^\W\d])")
"""What may be the title of the numbers behind a bar: `train | reward 0.3 | kl 0.1`."""


_NAMED_APART = lazy(
    r"\b(?:metric(?:[_ ]?name)?|name|key|tag|scalar)\s*[=:]\s*([\"']?)([A-Za-z_][\w/.@\-]*)\1[\s,;|]+"
    r"((?:(?:global_?|train_?)?step|iter(?:ation)?|epoch)\s*[=:]\s*\d{1,15}[\s,;|]+)?"
    rf"(?:(?:metric[_ ]?)?value|val)\s*[=:]\s*[\"']?(?={NUMBER.pattern})",
    re.IGNORECASE,
)
"""A metric whose name and number each have a word of their own, with the step before, between or behind them:
`name=reward step=3 value=0.3`."""


def name_before_number(message: str) -> str:
    """A line that says `name=reward value=0.3` as `reward=0.3`; any other line unchanged."""
    return (
        _NAMED_APART.sub(lambda found: f"{found[3] or ''}{found[2]}=", message) if "val" in message.lower() else message
    )


def done_within(message: str) -> dict[str, float]:
    """The numbers of a line about a part of a step, `epoch 2/4 | pg_loss 0.3 | clipfrac 0.1`, whatever the part is
    called; empty for any other line. Without a total its name must say that it is a part, `ppo epoch 2: pg_loss
    0.3`."""
    slots, known = slots_of(message), words()
    if len(slots) < 2 or not slots[0].name or (slots[0].of is None and not is_part(slots[0])):
        return {}
    others = (known.counters, known.items, known.places, known.evaluation, known.shares, known.training, known.prose)
    if not is_named(slots[0].name, known.weak_counters | known.inner) and any(
        has_word(slots[0].name, said) for said in others
    ):
        return {}
    return told_whole(message[slots[0].end :].lstrip("|│,;:)]> -"), least=1)


_EPOCHS_WITHIN = frozenset(("ppo", "grpo", "inner", "optim", "optimizer", "update", "policy", "sgd"))
"""Words before an epoch over the answers of one step."""
_OVER_ANSWERS = frozenset(("epoch", "pass"))


def is_part(slot: Slot) -> bool:
    """Whether a count says by its name that it is inside a step: `ppo epoch 2`, `ppo pass 2`, `minibatch 3`."""
    if not is_whole(slot) or "@" in slot.name:
        return False
    if is_named(slot.name, _OVER_ANSWERS):
        return has_word(slot.name, _EPOCHS_WITHIN)
    return has_word(slot.name, words().inner - {"pass"})


_SCALAR = lazy(
    r"^(?:[^\W\d]\w*:? )?([^\W\d][\w/.\-]*)[\s,:]+([^\W\d_]+)\s?[=:]\s?(\d{1,15})[\s,;]+value\s?[=:]\s?(\S+)$"
)
"""A scalar with its step: `scalar train/reward step=3 value=0.27`."""
_EPOCH_STEP = lazy(r"^(\d{1,5})\|(\d{1,9})\|\s*(?=[^\W\d])")
"""How torchtune begins a line: epoch and step, before the names and numbers."""


_TIED = lazy(r"\W{0,4}([^\W\d_]+(?:_[^\W\d_]+){0,2})_(?=\d{1,9}(?:\s*[:|,\])]|\s+[^\W\d]))")
"""A name and its count in one word: `global_step_12: reward=0.3`."""


def step_first(message: str) -> str:
    """A line of one name, its step and its number (`mean reward of step 3: 0.5`) with the step first, and one that only
    bars tell to begin with epoch and step (`1|3|Loss: 0.5`) in words, and `step_3` as `step 3`; any other line
    unchanged."""
    if (begun := _EPOCH_STEP.match(message)) is not None:
        return f"epoch {begun[1]}, step {begun[2]}, {message[begun.end() :]}"
    if "value" in message and (found := _SCALAR.match(message)) is not None and _counts(found[2]):
        return f"{found[2]} {found[3]}, {found[1]}: {found[4]}"
    if (found := _AT_STEP.match(message)) is not None and _counts(found[3]):
        return f"{found[2]}, {found[1]}: {found[4]}"
    if (found := _AFTER_STEPS.match(message)) is not None and _counts(found[3].removesuffix("s")):
        return f"{found[3].removesuffix('s')} {found[2]}, {found[1]}: {found[4]}"
    if "_" in message and (found := _TIED.match(message)) is not None and _counts(last_word(found[1])):
        return f"{found[1]} {message[found.end() :]}"
    return message


def _counts(word: str) -> bool:
    return word.lower() in words().counters | words().weak_counters


def pairs(message: str) -> dict[str, float]:
    """The numbers of a line that holds only `name: number` pairs; empty for any other line."""
    found = _PAIR.findall(message) if ties_number(message) else []
    if not found or _PAIR.sub("", message).strip(" ,;|•*-\t"):
        return {}
    if any(NUMBER_IN.search(name) or _counts_in(name) for name, *_ in found):
        return {}
    found = _with_qualifiers(found)
    stated = [(timed(name, unit), x) for name, x, of, unit in found if not of or "." in of]  # not `epoch:0/2`
    return {name: value(x) for name, (_, x) in zip(_with_subjects(name for name, _ in stated), stated, strict=True)}


def _with_qualifiers(found: list[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str]]:
    """Pairs of name, number, total and unit, in which a word that says what kind of number follows is no unit of the
    one before: `Average reward: 0.5 Ema reward: 0.4`, `mean reward: 0.5 max reward: 0.9`."""
    known = either("statistics", "no_part", "groups")
    out: list[tuple[str, str, str, str]] = []
    kind = ""
    for i, (name, x, of, unit) in enumerate(found):
        name, kind = f"{kind} {name}" if kind else name, ""
        if (
            i + 1 < len(found)
            and unit.lower() in known
            and not has_word(name, either("durations", "timings", "remaining"))
        ):
            kind, unit = unit, ""
        out.append((name, x, of, unit))
    return out


def _with_subjects(names: Iterable[str]) -> Iterator[str]:
    """Names, with a plain statistic after the metric that it belongs to: `Reward min` for `Reward avg: 0.1, min:
    0.0`."""
    subject = ""
    for name in names:
        before, _, last = name.rpartition(" ")
        is_statistic = last.lower() in words().statistics
        if is_statistic and not before and subject:
            yield f"{subject} {name}"
            continue
        subject = before if is_statistic else name
        yield name


def _counts_in(name: str) -> bool:
    """Whether a name holds a count, `Episode 10 reward`: then its line is not only pairs."""
    said = name.replace("#", " ").split()
    known = either("counters", "weak_counters")
    return any(word.lower() in known and following[:1].isdecimal() for word, following in pairwise(said))


def told_whole(message: str, least: int = 2) -> dict[str, float]:
    """The numbers of a line in which each has a name and there are no other words: `reward 0.3, length 311`. There must
    be at `least` so many, and one must be a metric; else empty. A title may come first: `update: loss 0.3, kl 0.01,
    9.1s`."""
    slots = slots_of(message)
    counted = either("items", "amounts")
    if len(slots) < least:
        return {}
    cells: dict[str, float] = {}
    end = 0
    if not slots or any(map(_is_of_another, (slot.name for slot in slots))):
        return {}
    for slot, following in zip(slots, [*slots[1:], None], strict=True):
        begin = slot.end - len(slot.text)
        if not slot.name or message[begin : slot.end] != slot.text:
            return {}
        behind = BEHIND.match(message[slot.end : None if following is None else following.end])
        counts = is_whole(slot) and is_named(slot.name, either("counters", "weak_counters"))
        if counts and (behind is None or behind[1].lower() not in counted):
            return {}  # the line of another step
        unit = UNIT.match(message, end) if end else None
        gap = message[unit.end() if unit else end : begin]
        if not end and (title := _TITLE.match(gap) or _work(gap)):
            gap = gap[title.end() :]
        said = {word.lower() for word in _WORD.findall(gap.replace("_", " "))}
        own = {word.lower() for word in _WORD.findall(slot.name.replace("_", " "))}
        if not said <= own | counted:
            return {}
        if (x := told_by(slot)) is not None:
            cells.setdefault(slot.name, x)
        end = slot.end
    unit = UNIT.match(message, end)
    rest = message[unit.end() if unit else end :]
    measured = len(slots) >= least and (measures(cells) or summarises(cells))
    return cells if measured and _WORD.search(rest) is None else {}


def summarises(names: Iterable[str]) -> bool:
    """Whether the names are two or more statistics of one thing, whatever it is: `resp_len mean`, `resp_len max`."""
    parted = [name.rpartition(" ") for name in names]
    return (
        len(parted) > 1
        and len({subject for subject, _, _ in parted}) == 1
        and all(subject and last.lower() in words().statistics for subject, _, last in parted)
    )


def _work(gap: str) -> re.Match[str] | None:
    """The work that the numbers behind a bar are of, if the words before it name some."""
    found = _WORK.match(gap)
    return found if found is not None and found[1].lower() in words().phases else None


def _is_of_another(name: str) -> bool:
    """Whether a name is that of an item or a word of prose; the statistic of an item, `response len mean`, is none."""
    known = words()
    return has_word(name, known.prose) or (has_word(name, known.items) and not is_named(name, known.statistics))


def of_evaluation(name: str) -> str:
    """The name of a number from an evaluation: below `eval/`, unless it already says so."""
    return name if has_word(name, words().evaluation) else f"eval/{name}"


def counts_within(name: str) -> bool:
    """Whether a number of this name counts the parts of a step: `micro step`, `Example step`, `pass`."""
    known = words()
    return name.lower() in known.inner or (is_named(name, known.counters) and has_word(name, known.inner | known.items))
