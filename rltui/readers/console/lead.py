"""The text before a message: colours, and the time, level, place, process and rank that logging puts there. Time stamps
are read as logs write them: with date and zone, or with less.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import RECENT, unchanged_alike
from rltui.readers.keys import in_seconds
from rltui.readers.name_words import has_word, words
from rltui.readers.number_text import NUMBER

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
DATE = (
    r"(?:\d{4}[-/.]?\d\d[-/.]?\d\d|\d\d/\d\d/(?:\d{4}|\d\d)|\d\d?\.\d\d?\.(?:20)?\d\d"
    rf"|\d\d?[-/ ]{_MONTH}[-/ ](?:20)?\d\d)"
)
CLOCK = (
    r"\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| UTC\b| [+-]\d\d:?\d\d(?=[\]\s]|$)|[+-]\d\d:?\d\d)?(?: [AP]M\b)?"
    r"(?! ?(?:<|/|s\b))"
)
"""A time of day, not a duration."""
EPOCH = r"1[67]\d{8}(?:\d{3})?(?:\.\d{1,9})?"
"""Seconds or milliseconds since the epoch."""
_DAY = (
    r"(?P<year>\d{4})[-/.]?(?P<month>\d\d)[-/.]?(?P<day>\d\d)"
    r"|(?P<day_first>\d\d?)\.(?P<month_second>\d\d?)\.(?P<year_last>\d{4}|\d\d)"
    rf"|(?P<day_before>\d\d?)[-/ ](?P<named>{_MONTH})[-/ ](?P<year_behind>\d{{4}}|\d\d)"
    r"|(?P<first>\d\d)/(?P<second>\d\d)/(?P<third>\d{4}|\d\d)"
    r"|[A-Z]?(?P<of_month>\d\d)[-/]?(?P<of_day>\d\d)"
    r"|(?P<name>[A-Z][a-z]{2}) (?P<named_day>[ \d]\d)"
)
_DAYS = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
CTIME = rf"{_DAYS} [A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]{{2,4}} )?\d{{4}}"
"""A time as C and `date` write it: `Tue Nov 24 18:20:01 2026`."""
_STAMP = lazy(
    rf"(?<![\w.])(?:(?:{_DAY})[ T_:-])?(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second_>\d\d)(?:[.,](?P<part>\d{{1,9}}))?"
    r"(?P<zone>Z| UTC\b| ?[+-]\d\d:?\d\d)?(?: (?P<half>[AP])M\b)?"
    r"(?:(?: [A-Z]{2,4})? (?P<last>\d{4})\b)?"
    rf"|(?<![\w.:/-])(?P<epoch>{EPOCH})(?![\w.:/-])"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ANSI = lazy(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\))")
_ERASED = lazy(r"[^\x08]\x08")
_ANGLED = lazy(r"<([^\W\d][\w/.\-]{0,60})>\s?=(?=\s?[-+.\d])")
"""A name as SageMaker writes it: `<loss>=0.3`."""
_STYLE = (
    r"(?:bold|dim|italic|underline|reverse|strike|on|not|(?:(?:bright|dark|deep|light|spring|sea|dodger|steel)_)*"
    r"(?:black|red|green|yellow|blue|magenta|cyan|white|orange|purple|violet|gr[ae]y)\d{0,3}|#[0-9a-fA-F]{6})"
)
_STYLED = lazy(rf"\[/?{_STYLE}(?: {_STYLE})*\]|\[/\]")
"""rich's mark-up, if a program printed it unrendered: `[bold red]loss[/bold red]`."""
_TAGGED = lazy(r"</?(?:b|i|u|p|em|li|tt|pre|div|span|font|code|small|strong|h[1-6])(?:\s[^<>]{0,200})?>")
"""HTML tags around words and numbers."""
_EMPHASIS = lazy(
    r"(?<![\w*`])(`|\*\*)([^\W\d_][\w/.@%+\-]*(?:[ :#]+(?!\d)[\w/.@%+\-]+){0,5}:?|[-+]?\.?\d[\d.,eE%+\-]{0,30})\1"
    r"(?![\w*`])"
)
"""A name or number in Markdown emphasis. A named count, `**Step 3**`, stays: responses number their parts like this."""
_REPEATED = lazy(r"\s*\[repeated \d{1,9}x across cluster\](?: \(Ray .*\))?")
"""What Ray appends to a line that several workers wrote."""
_STATISTIC = rf"(?i:mean|avg|std|min|max|median|average)(?:\s*[:=]\s*|\s+){NUMBER}"
_OF_STATISTIC = lazy(
    r"(?<![\w/.])([^\W\d][\w/.@]*(?: [^\W\d][\w/.@]*){0,3})"
    r"(?:(?:\s*(?:=>|->|→|:(?=\s+\w+\s+[-+.\d]))|\s+[-–|│]|\s)\s+|\t)"
    rf"({_STATISTIC})((?:(?:\s*[,|│]\s*|\s+){_STATISTIC}){{0,8}})"
)
"""The metric of a statistic, if an arrow, a dash, a colon or a gap is between them: `Reward => avg: 0.1, max: 0.3`."""
_ONE_STATISTIC = lazy(rf"([A-Za-z]+)(?:\s*[:=]\s*|\s+)({NUMBER})")
_STATISTICS = ("mean", "avg", "std", "min", "max", "median", "average")
_BEFORE_STATISTIC = ("  ", "\t", ": ", "=>", "->", "→", " - ", " | ")
_FULL = lazy("[：，；（）【】＝｜／％第]")
_SIGNS = str.maketrans(
    {
        **{full: f"{half} " for full, half in zip("：，；", ":,;", strict=True)},
        "（": " (",
        "）": ") ",
        "【": "[",
        "】": "] ",
        "＝": "=",
        "｜": "|",
        "／": "/",
        "％": "%",
    }
)
_SET_IN_PRINT = {"−": "-", "‖": "||", "∥": "||", "∇": "grad"}
"""Typographic signs: a minus, the bars of a norm, a gradient."""
_MEAN = lazy("([A-Za-z])[\u0304\u0305]")
"""A letter with a bar above it."""
_PICTURE = lazy("(?<=[^\\W\\d_]) [\u2600-\u27bf\U0001f000-\U0001faff]\ufe0f?(?= [-+]?\\.?\\d)")
"""A pictogram between a name and its number."""
_GROUPED = lazy("(?<![\\w.'’])\\d{1,3}(?:['’\u00a0\u202f]\\d{3})+(?![\\w'’])")
_GROUP = lazy("['’\u00a0\u202f]")
"""What separates the thousands of a number in Switzerland and France: `1’000`."""
_ORDINAL = lazy(r"第\s*(\d+(?:\s*/\s*\d+)?)\s*(步|轮|次迭代|回合)")
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|SUCCESS|WARNING|WARN|debug|info|warning|Info|Warning)"
_FILE = r"[\w./\-]{1,120}\.py:\d{1,6}(?::\w{1,60})?"
_POD = r"(?:[a-z][\w.\-/]{0,120}(?: [a-z][\w.\-]{0,60})?|\[[a-z][\w.\-]{0,60}/[\w.\-/]{1,120}\])"
"""A pod and its container."""
_LEAD = lazy(
    rf"^(?:{_LEVEL}:[A-Za-z_][\w.]{{0,60}}:"  # logging.basicConfig
    rf"|\[{_LEVEL}\|{_FILE}\]"  # transformers
    rf"|\[{_LEVEL}\|{DATE}[ T]{CLOCK}\]"  # LLaMA-Factory
    rf"|(?:ts|time|timestamp|asctime)=(?:\"?{DATE}[ T]{CLOCK}\"?"  # logfmt
    rf"|{EPOCH})(?=\s)"
    r"|[IWD]\d{4} \d\d:\d\d:\d\d\.\d{1,6}\s+\d{1,9} [\w./\-]{1,80}:\d{1,6}\]"  # absl
    rf"|[\[(<]?{CTIME}[\])>]?:?(?=\s|$)"
    rf"|[\[(<]?{DATE}[ T_:-]{CLOCK}[\])>]?(?: [\w.\-]{{1,60}} [\w.\-/]{{1,60}}\[\d{{1,9}}\]:?(?=\s))?"
    rf"|{_POD}(?= {DATE}T{CLOCK})"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [\w.\-]{1,60} [\w.\-/]{1,60}\[\d{1,9}\]:)?"  # ts, syslog
    rf"|\[?\d\d[-/]\d\d {CLOCK}\]?"
    rf"|\[{CLOCK}\]|{CLOCK}(?=\s)"
    rf"|\[{EPOCH}\]|1[67]\d{{8}}\.\d{{1,9}}(?=\s)|{EPOCH}(?=\s+(?:\[|{_LEVEL}\W|(?i:train|step|iter|epoch|update|global)))"
    rf"|[\[(<]?{_LEVEL}\s*[\])>]?(?=\W|$):?"
    rf"|\[?{_FILE}\]?:?|[A-Za-z_][\w.]{{0,80}}:[A-Za-z_<]\w{{0,60}}>?:\d{{1,6}}|[A-Za-z_][\w.]{{0,80}}\.\w{{1,60}}:\d{{1,6}}"
    r"|\[[\w.\-]{1,60}\](?=\[)"  # a logger before its level
    r"|std(?:out|err) [FP](?= )"  # Kubernetes
    r"|[a-z][\w.\-]{0,60}-\d{1,3}\s+\|(?=\s)"  # Docker Compose
    r"|\((?:[^()]{0,100}\s)?pid=\d{1,9}(?:, ip=[0-9.]{1,40})?\)"  # Ray
    r"|\[\d{1,9}\](?=\s*(?:[\[(]?\d{4}-\d\d|[IWD]?\d{4} \d\d:))"  # a process, before the time
    r"|>{2,}(?=\s)"
    r"|\d{1,3}(?:\.\d{1,3}){3}:(?=\s)"  # the host, by pdsh
    r")\s*"
)
_RANK = lazy(
    r"^(?:[\[(]?(?:[Rr]ank|RANK|default|GPU|gpu|cuda:|node\d{1,4}:)[ _:=]?(?P<rank>\d{1,5})[\])]?"
    r"(?:[:|]|(?<=[\])])|\s[-|]|(?<=ank=\d)(?=\s)|(?<=ank=\d\d)(?=\s))"
    r"|\[\d{1,5},(?P<mpi>\d{1,5})\]<std(?:out|err)>:"
    r"|(?P<task>\d{1,5}): (?=(?i:.{0,200}?(?:步|轮|迭代|回合|шаг|итераци|эпох|эпизод|ステップ|스텝|단계|エポック|에폭"
    r"|(?<![a-z])(?:step|iter|iteration|update|episode|epoch|batch|round|schritt|étape|paso|passo)(?![a-z])))"
    r"|\s*[│┃║┌├└┏┣┡┗╔╠╚╒╞╘]|\|.*\|\s*$|[-=+]{4,}\s*$)"  # a line of a table
    rf"|\d{{1,5}}: (?=\s+[^\w\s]?\s*[A-Za-z_][\w/.\- ]*\s?[:=]\s*{NUMBER}$)"
    r")\s*"
)
_BETWEEN = lazy(
    rf"^(?:[A-Za-z_][\w.]{{0,60}} -(?=\s)|[A-Za-z_][\w.\-]{{0,60}}\s*[|:\-]+\s*(?=[\[(]?{_LEVEL}\W)"
    rf"|\|\s(?=[A-Za-z_][\w.\-]{{0,60}} \| {_LEVEL} \|\s*$)"
    r"|>+|[-:](?=\s|$)|\|(?=\s|$)(?!\s[^|]{1,60}\|[^|]{1,60}\|\s*$))\s*"
)
"""What may follow a time or level: the name of a logger, a mark."""
_TAG = lazy(
    r"^(?:\[(?!(?:global[_ ]?)?step\b|iter)[^\]]{1,80}\]|\(AReaL\)|StatsLogger"
    r"|\S{1,60}\.py:\d+\]?|[\w.]{1,80}:\w*:?\d+)\s*"
)
"""What else may come before a named step."""


_NAMED = lazy(
    r"^(?:\[([A-Za-z][\w .\-]{0,40})\](?=\s)"
    r"|([A-Za-z][\w.\-]{0,40}):\s(?!\s*[-+]?\.?\d[\d.,]*\s?%?[A-Za-z/]{0,8}"
    r"(?:\s*(?:[,;|│┃]|$)|(?:\s{2,}|\t)[^\W\d]))(?=.*[:=|│┃]))\s*"
)
"""The name of a program or a part of one, in brackets or before a colon. A name right before a single number, or
a number in a column of its own, belongs to that number."""

_CONTAINER = lazy(
    rf"(?:{_POD} )?{DATE}T{CLOCK} (?:std(?:out|err) [FP](?: |$))?"
    r"|[a-z][\w.\-]{0,60}-\d{1,3}\s+\|(?=\s)"
)
"""What Kubernetes and Docker Compose put before each line that a program writes."""

_WORD = lazy(r"[A-Za-z][\w.]*[A-Za-z]")
_NO_SOURCE = lazy(
    r"(?i:trace|debug|info|notice|success|warning|warn|rank|pid|ip|stdout|stderr"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|mon|tue|wed|thu|fri|sat|sun|utc)$"
)


class Stamp(NamedTuple):
    """A time stamp. `year`, `month`, `day`: 0 if left out. `zone`: "" or as in ISO 8601. `seconds`: since the hour, or
    since the epoch if `hour` is negative. `hour_end`, `end`: where hour and seconds end in the text."""

    year: int
    month: int
    day: int
    hour: int
    seconds: float
    zone: str = ""
    hour_end: int = 0
    end: int = 0


def stamps(text: str) -> list[Stamp]:
    """All time stamps in a text without a message."""
    out = []
    for found in _STAMP.finditer(text):
        if found["epoch"] is not None:
            since = float(found["epoch"])
            out.append(Stamp(1970, 1, 1, -1, in_seconds(since)))
            continue
        hour, zone = int(found["hour"]), (found["zone"] or "").strip().replace("UTC", "Z").replace("Z", "+00:00")
        if found["half"] is not None:
            hour = hour % 12 + 12 * (found["half"] == "P") if 1 <= hour <= 12 else 99
        seconds: float = 60 * int(found["minute"]) + int(found["second_"])
        if found["part"]:
            seconds += float(f"0.{found['part']}")
        if hour < 24 and seconds < 3601:
            year, month, day = _date(*found.group("year", "month", "day", "first", "second", "third"))
            if found["named"] is not None:
                year, month, day = (
                    _whole(found["year_behind"]),
                    _MONTHS.index(found["named"]) + 1,
                    int(found["day_before"]),
                )
            elif found["day_first"] is not None:
                year, month, day = _whole(found["year_last"]), int(found["month_second"]), int(found["day_first"])
            elif found["of_month"] is not None:
                month, day = int(found["of_month"]), int(found["of_day"])
            elif found["name"] in _MONTHS:
                month, day = _MONTHS.index(found["name"]) + 1, int(found["named_day"])
                year = int(found["last"] or 0)
            end = found.end("part") if found["part"] else found.end("second_")
            out.append(Stamp(year, month, day, hour, seconds, zone, found.end("hour"), end))
    return out


def _whole(year: str) -> int:
    return int(year) + 2000 * (len(year) == 2)


def _date(year: str | None, month: str, day: str, first: str | None, second: str, third: str) -> tuple[int, int, int]:
    """(year, month, day). `26/11/24` (log4j) begins with the year and `11/24/26` (C) with the month: a log's year is
    above 12. `24/11/2026` begins with the day."""
    if year is not None:
        return int(year), int(month), int(day)
    if first is None:
        return 0, 0, 0
    a, b, c = int(first), int(second), int(third)
    if a > 12 and len(third) == 2:
        return 2000 + a, b, c
    c += 2000 * (c < 100)
    return (c, b, a) if a > 12 else (c, a, b)


def without_colours(message: str) -> str:
    """A message without colours and other terminal escapes."""
    return _ANSI.sub("", message) if "\x1b" in message else message


def without_markup(message: str) -> str:
    """A message without the marks of rich, HTML and Markdown around its words."""
    if "[/" in message:
        message = _STYLED.sub("", message)
    if "</" in message:
        message = _TAGGED.sub("", message)
    if "`" in message or "**" in message:
        message = _EMPHASIS.sub(r"\2", message)
    return message


def _each_named(found: re.Match[str]) -> str:
    """Statistics, each with the name of its metric."""
    told = _ONE_STATISTIC.findall(f"{found[2]}{found[3]}")
    return ", ".join(f"{found[1]} {which}: {number}" for which, number in told)


@lru_cache(maxsize=RECENT)
@unchanged_alike
def plain(message: str) -> str:
    """A message without colours, mark-up, angle brackets around names and overwritten text. Full-width and typographic
    signs become ASCII: `||g||` for `‖g‖`, `r_mean` for r with a bar."""
    message = without_colours(message)
    while "\b" in message and (erased := _ERASED.sub("", message)) != message:
        message = erased  # overwritten text, as `script` records it
    if ">=" in message or "> =" in message:
        message = _ANGLED.sub(r"\1=", message)
    message = without_markup(message).replace("+/-", "±")
    if "[repeated " in message:
        message = _REPEATED.sub("", message)
    if any(mark in message for mark in _BEFORE_STATISTIC):
        said = message.lower()
        if any(word in said for word in _STATISTICS):
            message = _OF_STATISTIC.sub(_each_named, message)
    if "'" in message or not message.isascii():
        message = _GROUPED.sub(lambda found: _GROUP.sub("", found[0]), message)
    if message.isascii():
        return message
    for sign, plainly in _SET_IN_PRINT.items():
        message = message.replace(sign, plainly)
    message = _MEAN.sub(r"\1_mean", _PICTURE.sub("", message))
    if _FULL.search(message) is None:
        return message
    return _ORDINAL.sub(r"\2 \1", message.translate(_SIGNS))


_BEST = lazy(
    r"(?i)\W*(?:(?:\w+ )?(?:best|highest|lowest|record)\b"
    r"|(?:(?:in|at) )?[a-z]+[ =:#]{1,2}\d{1,9}\b\W{0,4}(?:a )?new best\b)"
)
_NUMBER = lazy(r"\d+(?:\.\d+)?")
FEW = 3
"""Most numbers in a line that only repeats the best so far."""


class Lead(NamedTuple):
    """A line cut at its message. `rank`: "" if none is stated. `source`: the words before the message, which differ
    from program to program. `message`: the message. `before`: the whole text before it."""

    rank: str
    source: str
    message: str
    before: str


@lru_cache(maxsize=RECENT)
def split_lead(line: str) -> Lead:
    """A line without colours, cut where its message begins."""
    text, rank = line.strip(), ""
    begin = text
    while True:
        if found := _LEAD.match(text) or (text != begin and _BETWEEN.match(text)):
            text = text[found.end() :]
        elif not rank and (ranked := _RANK.match(text)):
            rank = ranked["rank"] or ranked["mpi"] or ranked["task"] or ""
            text = text[ranked.end() :]
        elif (named := _NAMED.match(text)) and not _says(named[1] or named[2]):
            text = text[named.end() :]
        else:
            break
    before = begin[: len(begin) - len(text)]
    words = () if not before else (word for word in _WORD.findall(before) if _NO_SOURCE.match(word) is None)
    return Lead(rank, " ".join(words), text, before)


def program(lead: Lead) -> str:
    """The program that the words before a message name; "" if they only say which work the numbers belong to, as in
    `train: loss=0.1` below a step."""
    known, source = words(), lead.source.lower()
    titles = source in known.phases | known.of_training and lead.before.rstrip().lower().endswith(f"{source}:")
    return "" if titles else lead.source


def is_said(lead: Lead) -> bool:
    """Whether a line is what somebody says in a chat: `Assistant: ... Step 9: reward = 9.9`."""
    speaker = lead.source.lower().rpartition(" ")[2]
    return speaker in words().speakers and lead.before.rstrip().lower().endswith(f"{speaker}:")


def tells_best(lead: Lead) -> bool:
    """Whether a line repeats the best so far: `New best reward: 0.35 (step 120)`, `in step 120 new best reward: 0.35`.
    The step has a line of its own."""
    return _BEST.match(lead.message) is not None and len(_NUMBER.findall(lead.message)) <= FEW


_ENGINE = lazy(r"step=\d+, skipped=\d+, lr=\[")


def counts_updates(lead: Lead) -> bool:
    """Whether a line is from DeepSpeed's engine about its own updates, of which a step may have many: `step=40,
    skipped=0, lr=[1e-06], mom=[(0.9, 0.95)]`."""
    return _ENGINE.match(lead.message) is not None


def of_container(before: str) -> str:
    """The part of a lead that a container puts before each line of the program."""
    found = _CONTAINER.match(before)
    return "" if found is None else found[0]


def _says(name: str) -> bool:
    """Whether a name says what the numbers after it are."""
    return any(map(str.isdecimal, name)) or has_word(name, _telling())


@cache
def _telling() -> frozenset[str]:
    """Words that name a number, a step or a part of one, not a program."""
    known = words()
    counted = known.counters | known.weak_counters | known.items | known.parts | known.places
    return counted | known.training | known.evaluation | known.durations | known.statistics


def without_lead(message: str) -> str:
    """The message of a line."""
    return split_lead(message).message


@lru_cache(maxsize=RECENT)
def bare(message: str) -> str:
    """The message of a line, also without tags in brackets."""
    text = without_lead(message)
    while found := _TAG.match(text):
        text = without_lead(text[found.end() :])
    return text
