"""Turns the text of the file into settings. The owners of names that are not known here (rules, keys of the screen,
metrics, themes) report unknown ones with `Settings.wrong`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rltui.lazy_regex import lazy
from rltui.settings.model import TABLES, Host, RuleSetting, Settings, SettingsError

SECTIONS = (*TABLES, "keys", "rules", "aliases", "hosts")
QUIET = lazy(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")

_HEADER = lazy(r"^\s*\[+([^\[\]]+)\]+\s*(#.*)?$")
_PART = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_KEY = lazy(rf"^\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_SSH = lazy(r"(?:[\w.+\\-]+@)?(?:[\w.%-]+|\[[\w:.%]+\])(?::\d{1,5})?")
_HOST_NAME = lazy(r"[\w.-]{2,}")


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """The known name that is most similar to a word; empty if none has at least the similarity `alike`, from 0 to 1."""
    return next(iter(get_close_matches(name, list(known), 1, alike)), "")


def near(name: str, known: Sequence[str], else_: str = "") -> str:
    """`did you mean X?`, or `else_`, or the names that exist."""
    close = nearest(name, known)
    return f"did you mean {close}?" if close else else_ or f"there are: {', '.join(known)}"


def parse(text: str, file: str) -> Settings:
    """Settings from the text of a file; `file` is named in errors. Raises `SettingsError`."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{file}: not valid TOML: {problem}") from None
    lines = _lines(text)
    at = Settings(file, True, lines=lines)
    for name in data:
        if name not in SECTIONS:
            raise at.wrong(name, f"no such section. {near(name, SECTIONS)}")
    fixed: dict[str, Any] = {name: _fixed(data[name], name, kind, at) for name, kind in TABLES.items() if name in data}
    if "alerts" in fixed and fixed["alerts"].quiet and QUIET.fullmatch(fixed["alerts"].quiet) is None:
        raise at.wrong("alerts.quiet", 'use local hours, as in "22:00-07:00"')
    if "away" in fixed and fixed["away"].minutes < 1:
        raise at.wrong("away.minutes", "must be 1 or more")
    return Settings(
        file,
        True,
        {i: _rule(entry, f"rules.{i}", at) for i, entry in _table(data.get("rules", {}), "rules", at).items()},
        lines,
        **fixed,
        keys={i: ",".join(_words(v, f"keys.{i}", at)) for i, v in _flat(data.get("keys", {}), "keys", at).items()},
        aliases={i: _words(v, f"aliases.{i}", at) for i, v in _flat(data.get("aliases", {}), "aliases", at).items()},
        hosts={n: _host(v, n, at) for n, v in _table(data.get("hosts", {}), "hosts", at).items()},
    )


def _fixed(value: object, name: str, kind: type[Any], at: Settings) -> object:
    """One of the tables whose keys are known: each value, checked by the type of its field."""
    given = _table(value, name, at)
    hints = get_type_hints(kind)
    known = kind._fields
    for key in given:
        if key not in known:
            raise at.wrong(f"{name}.{key}", f"unknown. {near(key, known)}")
    return kind(**{key: _typed(entry, hints[key], f"{name}.{key}", at) for key, entry in given.items()})


def _typed(value: object, hint: Any, key: str, at: Settings) -> object:
    options = [part for part in get_args(hint) if part is not type(None)]
    if get_origin(hint) is Literal or (options and get_origin(options[0]) is Literal):
        choices = get_args(hint) if get_origin(hint) is Literal else get_args(options[0])
        if value not in choices:
            raise at.wrong(key, f"must be one of {', '.join(repr(c) for c in choices if c)}")
        return value
    kind = options[0] if options else hint
    if kind is bool and not isinstance(value, bool):
        raise at.wrong(key, "must be true or false")
    if kind is int and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise at.wrong(key, "must be a whole number, 0 or more")
    if kind is str and not isinstance(value, str):
        raise at.wrong(key, "must be text in quotes")
    return value


def _rule(entry: object, key: str, at: Settings) -> RuleSetting:
    given = _table(entry, key, at)
    for name in given:
        if name not in ("enabled", "params"):
            raise at.wrong(f"{key}.{name}", "unknown. A rule takes: enabled, params.NAME")
    enabled = given.get("enabled", True)
    if not isinstance(enabled, bool):
        raise at.wrong(f"{key}.enabled", "must be true or false")
    params = {}
    for name, value in _table(given.get("params", {}), f"{key}.params", at).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise at.wrong(f"{key}.params.{name}", "must be a number")
        params[name] = float(value)
    return RuleSetting(enabled, params)


def _host(value: object, name: str, at: Settings) -> Host:
    key = f"hosts.{name}"
    given = _table(value, key, at)
    if _HOST_NAME.fullmatch(name) is None:
        raise at.wrong(key, "a name of letters, digits, dots and dashes, two at least")
    known = ["ssh", "paths"]
    for part in given:
        if part not in known:
            raise at.wrong(f"{key}.{part}", f"unknown. {near(part, known)}")
    ssh = given.get("ssh")
    if not isinstance(ssh, str) or _SSH.fullmatch(ssh) is None or ssh.startswith("-"):
        raise at.wrong(f"{key}.ssh", 'use [user@]host[:port], as in "me@login.cluster:2222"')
    return Host(ssh, _words(given["paths"], f"{key}.paths", at) if "paths" in given else ())


def _words(value: object, key: str, at: Settings) -> tuple[str, ...]:
    """One text, or a list of texts; none of them empty."""
    words = value if isinstance(value, list) else [value]
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise at.wrong(key, "must be text in quotes, or a list of such texts")
    return tuple(words)


def _flat(value: object, key: str, at: Settings) -> dict[str, object]:
    """A table whose names may hold dots: `filter.next = "n"` and `"filter.next" = "n"` are the same."""
    out: dict[str, object] = {}
    for name, entry in _table(value, key, at).items():
        if isinstance(entry, dict):
            out |= {f"{name}.{inner}": v for inner, v in _flat(entry, f"{key}.{name}", at).items()}
        else:
            out[name] = entry
    return out


def _table(value: object, key: str, at: Settings) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise at.wrong(key, f"must be a table, as in [{key}]")
    return value


def _lines(text: str) -> dict[str, int]:
    """Dotted key -> line, for headers and keys at the beginning of a line. tomllib keeps no places."""
    out: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _dotted(header[1])
            out.setdefault(table, number)
        elif key := _KEY.match(line):
            out.setdefault(f"{table}.{_dotted(key[1])}" if table else _dotted(key[1]), number)
    return out


def _dotted(written: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in written.split("."))
