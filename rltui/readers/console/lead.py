"""What stands before a message: colours, and the time, level, place, process and rank that logging puts there."""

from __future__ import annotations

from rltui.lazy_regex import lazy

_ANSI = lazy(r"\x1b\[[0-9;]*m")
_DATE = r"\d{4}[-/]?\d\d[-/]?\d\d"
_CLOCK = r"\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?! ?(?:<|/|s\b))"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|SUCCESS|WARNING|WARN|debug|info|warning|Info|Warning)"
_FILE = r"[\w./\-]{1,120}\.py:\d{1,6}(?::\w{1,60})?"
_LEAD = lazy(
    rf"^(?:{_LEVEL}:[A-Za-z_][\w.]{{0,60}}:"  # logging.basicConfig
    rf"|\[{_LEVEL}\|{_FILE}\]"  # transformers
    r"|[IWD]\d{4} \d\d:\d\d:\d\d\.\d{1,6}\s+\d{1,9} [\w./\-]{1,80}:\d{1,6}\]"  # absl
    rf"|[\[(]?{_DATE}[ T_-]{_CLOCK}[\])]?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [\w.\-]{1,60} [\w.\-/]{1,60}(?:\[\d{1,9}\])?:)?"  # ts, syslog
    rf"|\[?\d\d[-/]\d\d {_CLOCK}\]?"
    rf"|\[{_CLOCK}\]|{_CLOCK}(?=\s)"
    r"|1[67]\d{8}\.\d{1,9}(?=\s)"  # seconds since the epoch
    rf"|[\[(<]?{_LEVEL}\s*[\])>]?(?=\W|$):?"
    rf"|\[?{_FILE}\]?:?|[A-Za-z_][\w.]{{0,80}}:[A-Za-z_<]\w{{0,60}}>?:\d{{1,6}}|[A-Za-z_][\w.]{{0,80}}\.\w{{1,60}}:\d{{1,6}}"
    r"|\[[\w.\-]{1,60}\](?=\[)"  # a logger before its level
    r"|std(?:out|err) [FP](?= )"  # Kubernetes
    r"|[a-z][\w.\-]{0,60}-\d{1,3}\s+\|(?=\s)"  # Docker Compose
    r"|\((?:[^()]{0,100}\s)?pid=\d{1,9}(?:, ip=[0-9.]{1,40})?\)"  # Ray
    r"|\[\d{1,9}\](?=\s*(?:[\[(]?\d{4}-\d\d|[IWD]?\d{4} \d\d:))"  # a process, before the time
    r")\s*"
)
_RANK = lazy(
    r"^(?:\[?(?:[Rr]ank|RANK|default|node\d{1,4}:)[ _:=]?(?P<rank>\d{1,5})\]?(?:[:|]|(?<=\])|\s[-|])"
    r"|\[\d{1,5},(?P<mpi>\d{1,5})\]<std(?:out|err)>:"
    r"|(?P<task>\d{1,5}): (?=(?i:.{0,200}?(?<![a-z])(?:step|iter|iteration|update|episode|epoch|batch|round)(?![a-z])))"
    r")\s*"
)
_BETWEEN = lazy(r"^(?:[A-Za-z_][\w.]{0,60} -(?=\s)|>+|[-|:](?=\s))\s*")
"""What stands behind a time or level: the name of a logger, a mark."""
_TAG = lazy(
    r"^(?:\[(?!(?:global[_ ]?)?step\b|iter)[^\]]{1,80}\]|\(AReaL\)|StatsLogger"
    r"|\S{1,60}\.py:\d+\]?|[\w.]{1,80}:\w*:?\d+)\s*"
)
"""What else may stand before a step that is named."""


def plain(message: str) -> str:
    """A message without colours."""
    return _ANSI.sub("", message) if "\x1b" in message else message


def split_lead(message: str) -> tuple[str, str]:
    """The rank that stands before a message ("" if none does), and the message."""
    text, rank = message.strip(), ""
    begin = text
    while True:
        if found := _LEAD.match(text) or (text != begin and _BETWEEN.match(text)):
            text = text[found.end() :]
        elif not rank and (ranked := _RANK.match(text)):
            rank = ranked["rank"] or ranked["mpi"] or ranked["task"]
            text = text[ranked.end() :]
        else:
            return rank, text


def without_lead(message: str) -> str:
    """The message alone."""
    return split_lead(message)[1]


def bare(message: str) -> str:
    """The message without tags in brackets, too."""
    text = without_lead(message)
    while found := _TAG.match(text):
        text = without_lead(text[found.end() :])
    return text
