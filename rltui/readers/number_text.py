"""Numbers as people write them in a line of text: one definition for all readers of lines."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy

NUMBER = (
    r"[-+]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
    r"|(?:[nN]a[nN]|[iI]nf(?:inity)?)(?!\w))"
)
"""A regex without groups. A comma only separates thousands, so `1,2` is two numbers."""

_TIED = lazy(r"[:=]\s*[-+]?\.?[\dnNiI]")

LONGEST = 300
"""The most characters that Python prints for a number, with its device and what computed it."""
_REPR = lazy(
    r"\b(?:[A-Za-z_]\w*\.)*(?:[Tt]ensor|[Aa]rray|DeviceArray|Parameter|Decimal|(?:b?float|u?int)\d{0,2}_?)"
    rf"\(\[*['\"]?({NUMBER})['\"]?\]*(?:(?:,\s*[a-z_]+=(?:<[^<>]*>|'[^']*'|\([^()]*\)|[\w.:]+))*,?\)"
    r"|(?:,[^()]*)?$)"  # a line that is not complete yet
)
_PARTS = lazy(r"(?<![\w.:])(?:(\d+)d ?)?(?:(\d+)h ?)?(?:(\d+)m(?:in)? ?)?(?:(\d+(?:\.\d+)?)s(?:ec)?)?(?![\w/])")
_SEVERAL = lazy(r"\d[dhm]")
"""Every duration of several parts contains this. It is looked for first, because `_PARTS` also matches empty text."""
_SMALL = lazy(r"(?<![\w.,])((?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?) ?(ms|msecs?|us|µs|ns)(?![\w/])")
_SMALL_UNIT = lazy(r"\d ?[muµn]s")
_SAID = lazy(r"[_(\[](?:ms|us|ns)[)\]]?\W*$")
_COMMA = lazy(r"\d,\d")
_DECIMAL_COMMA = lazy(r"(?:[=:]\s*|(?<=\s))[-+]?(?:0,\d{2,}|[1-9]\d*,(?:\d\d|\d{4,}))(?!\d|,\S)")
"""A comma that follows a zero, or precedes two or four digits, cannot separate thousands, so it is decimal."""
_WITH_COMMA = lazy(r"((?:[=:]\s*|(?<=\s))[-+]?\d+),(\d+)(?!\d|,\d|\.\d)")
_GROUPED = lazy(r"(?<![\w.])\d{1,3}(?:_\d{3})+(?![\w])")
"""A number as Python writes it for people: `1_234_567`."""
_SECONDS = (86400.0, 3600.0, 60.0, 1.0)
_PART = {"ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_GAP = lazy(r"[=:]\s?(?:-|[–—]|[nN]/?[aA]\b|[nN]one\b|NONE|[nN]ull\b|NULL)")
_NO_VALUE = lazy(
    r"(?:(?<=[\s,;|(\[{])|^)[^\W\d][\w/.@\-]*(?:=|:\s?|\s=\s)(?:-{1,3}|[–—]|[nN]/[aA]|NA|[nN]one|NONE|[nN]ull|NULL)"
    r"(?=[\s,;|)\]}]|$)[,;]?"
)
"""A name, and the text in place of a value that was not measured."""
_LEADERS = lazy(r"(?<=[\w%)\]])\s?(?:\.{2,}|…+|·{2,}|_{3,})\s*(?=[:=]\s*(?:[-+]?\.?\d|[nN]a[nN]\b|[-+]?[iI]nf))")
"""Dots that lead the eye from a name to the mark before its number: `loss.......: 0.5`."""
_POWER = lazy(
    r"(?<![\w.])(?:(?P<number>\d+(?:\.\d+)?)\s?[×x·⋅*]\s?)?10"
    r"(?:\^\{?(?P<caret>[-+]?\d{1,3})\}?|\*\*\(?(?P<stars>[-+]?\d{1,3})\)?|(?P<raised>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))(?!\w)"
)
"""A number as in print: `1.5×10⁻⁶`."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_CALLED = lazy(r"\.(?:item|detach|cpu|numpy|tolist)\(\)|(?<=\w)\(\)(?=\.\w|\s*[:=])")
"""A call, as `print(f"{loss.item()=}")` shows it."""
_STATISTIC = r"(?:mean|avg|average|std|stddev|min|max|median|sum|last|best)"
_TOGETHER = lazy(
    rf"([^\W\d][\w ]*?)?[ _]?[(\[]?\b({_STATISTIC}(?:/{_STATISTIC}){{1,9}})[)\]]?\s*[:=]\s*"
    rf"({NUMBER}(?:\s?/\s?{NUMBER})+)",
    re.IGNORECASE,
)
"""Several statistics under one name: `reward mean/std: 0.5/0.2`."""
_OF_SEVERAL = lazy(rf"/{_STATISTIC}", re.IGNORECASE)
_NAMES = r"[^\W\d]\w*(?:/[^\W\d]\w*)+"
_NUMBERS = rf"{NUMBER}(?:\s?/\s?{NUMBER})+"
_ABREAST = lazy(
    rf"(?<![\w/.@\-])(?:(?:(?P<of>[^\W\d]\w*)? ?[(\[](?P<within>{_NAMES})[)\]]|(?P<named>{_NAMES}))"
    rf"(?:\s*[:=])?\s*(?P<numbers>{_NUMBERS})(?![\w/])"
    rf"|(?P<whose>[^\W\d]\w*)(?:\s*[:=]\s*|\s)(?P<those>{_NUMBERS}) ?[(\[](?P<behind>{_NAMES})[)\]])"
)
"""As many numbers as names: `loss(pi/v/ent) 0.1/0.3/1.2`, `acc/format: 0.82/0.91`, `reward 0.3/0.2 (train/val)`."""
_BRACKETED = rf"({NUMBER}%?) ?[(\[]([^\W\d][\w@\-]{{2,}})[)\]]"
_EACH_BRACKETED = lazy(
    rf"(?<![\w/.@\-])(?P<of>[^\W\d][\w@\-]*)(?:\s*[:=]\s*|\s)(?P<told>{_BRACKETED}(?:\s?[,;|/]?\s*{_BRACKETED})+)"
)
_ONE_BRACKETED = lazy(_BRACKETED)
"""Numbers, each followed by its name in brackets: `accuracy: 0.31 (pass@1), 0.51 (pass@8)`."""
_OF_FIRST = lazy(rf"(\w+_){_STATISTIC}", re.IGNORECASE)
_ENDS_IN_WORD = lazy(r"\w $")
_IS_STATISTIC = lazy(_STATISTIC, re.IGNORECASE)
_NO_NAME = r"(?!(?:[smhd]|ms|us|secs?|seconds|mins?|hours?|[KMGT]i?B|of|out|to|and|in|at)\b)"
_BEFORE_NAME = rf"({NUMBER}[%kKM]?) ({_NO_NAME}[^\W\d][\w.\-]+(?: [^\W\d][\w.\-]*){{0,3}})"
_APART = r"(?:\s*[,;|│·•»]\s*|\s[-–/]\s|\s{2,}|\t)"
_BEFORE_NAMES = lazy(
    rf"(?:^|(?<=[\]):#|│,;·•»]\s)|(?<=\s\s)|(?<=\s[-–]\s)|(?<=\t)){_BEFORE_NAME}(?:{_APART}{_BEFORE_NAME})+"
    rf"(?![^\s(|│,;·•».]|{_APART}?\s*{NUMBER}(?![\d.]|\s?(?:[smh]|ms|secs?)\b))"
)
_THEN_WORD = lazy(r"\d[%kKM]? [^\W\d_]{2}")
_ONE_BEFORE = lazy(_BEFORE_NAME)
"""Numbers with their names after them: `0.5 reward, 0.2 loss`."""
_PRINTED = lazy(rf"(['\"])([^\W\d][\w/.@\- ]{{0,60}})\1,\s*(?={NUMBER}[,)\]])")
"""A name and its number in a tuple of many: `('step', 3, 'loss', 0.5)`."""
_ITEM = lazy(rf"[(\[](['\"])([^'\"]{{1,200}})\1\s*,\s*(['\"]?)\[?({NUMBER})\]?\3[)\]]")


def ties_number(text: str) -> bool:
    """Whether a number may follow a colon or an equals sign directly. Prose has no such number, and looking for a name
    before one takes long."""
    return _TIED.search(text) is not None


def value(text: str) -> float:
    """The number that a match of `NUMBER` states."""
    return float(text.replace(",", ""))


def shown_number(text: str) -> float | None:
    """The number in a text that is just what Python prints for a number: `tensor(0.5, device='cuda:0')`; else None."""
    text = text.strip()
    found = _REPR.fullmatch(text) if text.endswith(")") and len(text) < LONGEST else None
    return None if found is None else value(found[1])


def _seconds(found: re.Match[str]) -> str:
    parts = found.groups()
    if sum(part is not None for part in parts) < 2:
        return found[0]
    return f"{sum(float(x) * s for x, s in zip(parts, _SECONDS, strict=True) if x):.12g}s"


def _small(found: re.Match[str]) -> str:
    if _SAID.search(found.string, max(0, found.start() - 12), found.start()):
        return found[0]  # the name already states the unit
    return f"{value(found[1]) * _PART[found[2]]:.12g}s"


def _each(found: re.Match[str]) -> str:
    names, numbers = found[2].split("/"), [number.strip() for number in found[3].split("/")]
    if len(names) != len(numbers):
        return found[0]
    before = f"{found[1].rstrip()} " if found[1] else ""
    return ", ".join(f"{before}{name}={number}" for name, number in zip(names, numbers, strict=True))


def _each_abreast(found: re.Match[str]) -> str:
    named, stated = found["within"] or found["named"] or found["behind"], found["numbers"] or found["those"]
    names, numbers = named.split("/"), [number.strip() for number in stated.split("/")]
    if len(names) != len(numbers) or "." not in stated or _goes_on_a_name(found):
        return found[0]
    of = found["of"] or found["whose"] or ""
    if not of and (first := _OF_FIRST.fullmatch(names[0])):
        names = [names[0], *(f"{first[1]}{name}" if _IS_STATISTIC.fullmatch(name) else name for name in names[1:])]
    elif not of and any(map(_IS_STATISTIC.fullmatch, names)):
        return found[0]  # the name of these statistics is before them
    told = [_of(name, of) for name in names]
    return ", ".join(f"{name}={number}" for name, number in zip(told, numbers, strict=True))


def _of(name: str, of: str) -> str:
    return name if not of else f"{of} {name}" if _IS_STATISTIC.fullmatch(name) else f"{name}/{of}"


def _each_bracketed(found: re.Match[str]) -> str:
    return ", ".join(f"{_of(one[2], found['of'])}={one[1]}" for one in _ONE_BRACKETED.finditer(found["told"]))


def _goes_on_a_name(found: re.Match[str]) -> bool:
    """Whether the names are the end of a name of several words, `loss pg/vf -0.06/0.65`, which is read as a whole."""
    if found["named"] is None or found.string[found.end("named") : found.start("numbers")].strip():
        return False
    return _ENDS_IN_WORD.search(found.string, max(0, found.start() - 2), found.start()) is not None


def has_decimal_comma(text: str) -> bool:
    """Whether a line of text shows that its numbers have decimal commas."""
    return _COMMA.search(text) is not None and _DECIMAL_COMMA.search(text) is not None


def shown_plainly(text: str) -> str:
    """The text with plain numbers in place of `tensor(0.5, device='cuda:0')` and `np.float64(0.5)`."""
    return _CALLED.sub("", _REPR.sub(r"\1", text)) if "(" in text else text


def without_gaps(text: str) -> str:
    """The line without the names that have no value: `eval_acc=- loss=0.5` becomes `loss=0.5`."""
    return _NO_VALUE.sub("", text) if _GAP.search(text) is not None else text


def _power(found: re.Match[str]) -> str:
    exponent = found["caret"] or found["stars"] or found["raised"].translate(_RAISED)
    return f"{found['number'] or '1'}e{int(exponent)}"


def unwrapped(text: str, commas: bool = False) -> str:
    """The text with plain numbers, each after its name. The function replaces:

    - what Python prints for numbers: `tensor(0.5, device='cuda:0')`, `np.float64(0.5)`, by the number;
    - durations of several parts or in small units, `1h2m`, `45ms`, by seconds;
    - `1.5×10⁻⁶` by `1.5e-6`, `1_234_567` by `1234567`, and decimal commas, `loss=0,25`, by points;
    - the pair `('loss', 0.5)` by `'loss': 0.5`;
    - `reward mean/std: 0.5/0.2`, `loss(pi/v) 0.1/0.3` and `reward 0.3 (mean), 0.5 (max)` by each name with its number;
    - `0.5 reward, 0.2 loss` by names before their numbers;
    - names without a value, `eval_acc=-`, and the dots in `loss....: 0.5`, by nothing.

    `commas`: another line showed that all commas are decimal.
    """
    text = without_gaps(text)
    if ".." in text or "…" in text or "··" in text or "___" in text:
        text = _LEADERS.sub("", text)
    if "_" in text:
        text = _GROUPED.sub(lambda found: found[0].replace("_", ""), text)
    if commas or has_decimal_comma(text):
        text = _WITH_COMMA.sub(r"\1.\2", text)
    if "10" in text and ("^" in text or "**" in text or not text.isascii()):
        text = _POWER.sub(_power, text)
    if _SEVERAL.search(text):
        text = _PARTS.sub(_seconds, text)
    if _SMALL_UNIT.search(text):
        text = _SMALL.sub(_small, text)
    text = shown_plainly(text)
    if _OF_SEVERAL.search(text):
        text = _TOGETHER.sub(_each, text)
    if text.count("/") > 1:
        text = _ABREAST.sub(_each_abreast, text)
    if text.count("(") > 1 or text.count("[") > 1:
        text = _EACH_BRACKETED.sub(_each_bracketed, text)
    if (text[-1:].isalpha() or text[-1:] in ").") and _THEN_WORD.search(text):
        text = _BEFORE_NAMES.sub(lambda found: _ONE_BEFORE.sub(r"\2: \1", found[0]), text)
    if "'," in text or '",' in text:
        text = _ITEM.sub(r"'\2': \4", text)
        text = _PRINTED.sub(r"'\2': ", text) if text.lstrip()[:1] in ("(", "[") else text
    return text
