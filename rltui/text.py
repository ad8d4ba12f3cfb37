"""Makes untrusted text safe: log lines, config values, completions and file names pass through here once.

The result contains no terminal escape, no control character, nothing that reorders or hides text, no lone surrogate and
no secret, and it is never longer than requested. Harmless text stays unchanged.

Redaction recognises secrets in two ways: by their own shape (`hf_...`, a JWT, a PEM block) and by the name before them
(`api_key=...`). A name alone is not enough: a `token` is also what a language model reads, so `num_tokens`,
`eos_token` and every number pass (a metric must never be hidden because of its name).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, cast

from rltui.lazy_regex import lazy

REDACTED = "[redacted]"
ELLIPSIS = "…"

# --- Terminal escapes and invisible characters -------------------------------------------------------------------

_ESCAPE = lazy(
    r"""
      (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?                           # CSI, also when cut off
    | \x1b[\]PX^_] [^\x07\x1b\x9c\n\r]* (?:\x07|\x1b\\|\x9c)?        # OSC, DCS, SOS, PM, APC, also when never closed
    | [\x9d\x90\x98\x9e\x9f] [^\x07\x1b\x9c\n\r]* (?:\x07|\x1b\\|\x9c)  # their 8-bit forms; a stray one (bad decoding)
                                                                     # must not swallow the line, so only when closed
    | \x1b [ -/]* [0-~]?                                             # every other escape, and a lone ESC
    """,
    re.VERBOSE,
)
_LINE_BREAK = lazy("\r\n|[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_BLOCK_BREAK = lazy("\r\n?")
_BLOCK_SPACE = lazy("[\t\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSAFE = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f"  # C0 and C1 except the newline
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, Arabic mark, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero-width, separators, bidi marks, overrides and isolates
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"  # fillers, variation selectors, BOM, annotations
    "\ud800-\udfff"  # lone surrogates
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # invisible musical controls, tags, more variation selectors
)
_UNSAFE_IN_BLOCK = lazy(f"[{_UNSAFE}]")

# --- Secrets by their shape --------------------------------------------------------------------------------------

_SHAPES = lazy(
    r"""
      -----BEGIN[A-Z\ ]*\ PRIVATE\ KEY-----(?s:.*?)(?:-----END[A-Z\ ]*\ PRIVATE\ KEY-----|\Z)
    | \bsk-(?=[\w-]{0,40}?[A-Z0-9])[\w-]{16,}                        # OpenAI, Anthropic, DeepSeek, OpenRouter
    | \b[srp]k_(?:live|test)_\w{12,}                                 # Stripe
    | \b(?:hf_|api_org_)[A-Za-z0-9]{16,}                             # Hugging Face
    | \bgh[opusr]_[A-Za-z0-9]{16,} | \bgithub_pat_\w{16,}            # GitHub
    | \bgl(?:pat|dt|cbt|rt|ptt|oas)-[\w-]{12,}                       # GitLab
    | \b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16,}                         # AWS key ids
    | \bAIza[\w-]{30,} | \bya29\.[\w-]{16,}                          # Google
    | \bxox[abeoprs]-[\w-]{10,} | \bxapp-[\w-]{10,}                  # Slack
    | \bwandb_v\d_\w{20,}                                            # W&B, new style
    | \b(?:gsk_|r8_|tgp_v\d_|xai-|nvapi-|pplx-|npm_|pypi-|dckr_pat_|lsv2_[a-z]{2}_)[\w-]{20,}
    | \beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?                         # JWT
    | (?<=hooks\.slack\.com/services/)[\w/-]{8,} | (?<=/api/webhooks/)\d+/[\w-]{8,}
    """,
    re.VERBOSE,
)
_SHAPE_HINTS = (
    *("sk-", "k_live_", "k_test_", "hf_", "api_org_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "eyJ"),
    *("glpat-", "gldt-", "glcbt-", "glrt-", "glptt-", "gloas-", "AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29."),
    *("xox", "xapp-", "wandb_v", "gsk_", "r8_", "tgp_v", "xai-", "nvapi-", "pplx-", "npm_", "pypi-", "dckr_pat_"),
    *("lsv2_", "-----BEGIN", "hooks.slack", "webhooks"),
)
# A line inside a PEM block, for readers that see one line at a time.
_PEM_LINE = lazy(r"^(?=[^\n]*[a-z])(?=[^\n]*[A-Z])(?=[^\n]*\d)(?:[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{64})$", re.MULTILINE)
_AFTER = lazy(
    r"""
      ://[^\s/:@]*:(?P<url>[^\s/]+)@                                 # scheme://user:password@host
    | \bbearer\s+(?P<bearer>[\w.~+/=-]{16,})
    | \bwandb\s+login\s+(?:-\S+\s+){0,4}(?P<wandb>[\w-]{20,})
    | \bkey\b\W{1,5}(?:is\W{1,3})?(?P<hex>[0-9a-f]{32,})             # "wandb key: 0123...", any 32 or more hex digits
    | \blogin\s+\S{1,200}\s+password\s+(?P<netrc>\S+)
    | [?&](?:x-amz-signature|x-amz-credential|sig)=(?P<query>[^\s&"']{8,})
    """,
    re.VERBOSE,
)
_AFTER_HINTS = ("://", "bearer", "login", "key", "sig=", "x-amz-")

# --- Secrets by the name before them -----------------------------------------------------------------------------

_NAMED = lazy(
    r"""
    (?P<tail>(?:token(?!s|i[sz])|key|secret|passw|passphrase|pwd|credential|authori|authtoken|cookie)[\w.-]{0,60}+)
    (?P<sep>\\{0,8}+["']?\s{0,8}+(?::=|=>|->|[:=│┃|,])\s{0,8} | [ ]{1,4})
    """,
    re.VERBOSE,
)
_VALUE = lazy(
    r"""
    (?:(?:bearer|basic|token|digest)[ ]+)?
    (?:
        (?:\w{0,20}\(|[bru])?(?P<q>\\*["'])(?P<quoted>(?:(?!(?P=q))(?:\\[^\n]|[^\n\\]))*)
      | (?P<bare>\[redacted\] | [^\s,;&"'(){}<>\]│┃|]+)
    )
    """,
    re.VERBOSE,
)
_SECRET_CHARACTERS, _SUSPECT_CHARACTERS = 1 << 16, 256  # most characters read of a value: no search is quadratic
_NAME_HINT = lazy(r"token(?!s|i[sz])|key|secret|passw|passphrase|pwd|credential|authori|cookie")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
_WORD = lazy(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LOADER = cast("Any", __spec__).loader  # also reads out of a zip file
# secret_words: a name that contains one of these names a secret. key_owners, token_owners: `<owner>_key` and
# `<owner>_token` name secrets. text_token_kinds: `<kind>_token` is a token of text.
_NAMES = {
    kind: frozenset(words)
    for kind, words in json.loads(_LOADER.get_data(str(Path(__file__).with_name("secret_names.json")))).items()
}
_PLACEHOLDER = lazy(
    r"""
      [\s…*.x-]* | none | null | nil | true | false | undefined | unset
    | \[redacted\] | <[^<>]*> | \$\{?\w*\}? | \{\w*\} | os\.(?:environ|getenv)\S*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = lazy(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?…?|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
_RANDOM = lazy(r"(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[\w.+/=~-]{20,}")
_ASCII_LOWER = {upper: upper + 32 for upper in range(65, 91)}


def clean(text: str, limit: int = 4000) -> str:
    """One safe line of at most `limit` characters. Line breaks and tabs become spaces."""
    if not text.isprintable():
        text = _ESCAPE.sub("", text)
        text = _LINE_BREAK.sub(" ", text)
        text = _UNSAFE_IN_BLOCK.sub("", text)
    return _bounded(redact(text), limit)


def clean_key(text: str, limit: int = 300) -> str:
    """`clean` for the name of a metric or setting. Cached, because the files of a sweep hold the same few hundred
    names."""
    return _clean_key(text, limit) if len(text) <= limit else clean(text, limit)


@functools.lru_cache(maxsize=16384)
def _clean_key(text: str, limit: int) -> str:
    return clean(text, limit)


def clean_block(text: str, limit: int = 4000) -> str:
    """Like `clean`, for text of several lines (completions, tracebacks). Newlines stay."""
    if not text.isprintable():
        text = _ESCAPE.sub("", text)
        text = _BLOCK_BREAK.sub("\n", text)
        text = _BLOCK_SPACE.sub(" ", text)
        text = _UNSAFE_IN_BLOCK.sub("", text)
    return _bounded(redact(text), limit)


def shown(text: str) -> str:
    """A page of our own that contains file names, without anything that a terminal would treat as a command. "?"
    replaces a character that UTF-8 cannot encode. Newlines stay, and nothing is redacted or cut off."""
    if text.isprintable():
        return text
    return _UNSAFE_IN_BLOCK.sub("", _ESCAPE.sub("", text.encode("utf-8", "replace").decode()))


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted]`. The name of a secret stays."""
    if any(hint in text for hint in _SHAPE_HINTS):
        text = _SHAPES.sub(REDACTED, text)
    if len(text) >= 64 and (" " not in text or "\n" in text):
        text = _PEM_LINE.sub(REDACTED, text)
    lowered = _ascii_lower(text)
    if _NAME_HINT.search(lowered):
        text = _with_redacted(text, _named_secrets(text, lowered))
        lowered = _ascii_lower(text)
    if any(hint in lowered for hint in _AFTER_HINTS):
        text = _with_redacted(text, (match.span(match.lastgroup or 0) for match in _AFTER.finditer(lowered)))
    return text


def redact_value(key: str, value: object) -> object:
    """A config value that is safe to show: `[redacted]` if the key names a secret, else the value with secrets in its
    text redacted. Numbers, booleans, None and empty values pass. Each value in a container is redacted by itself."""
    if isinstance(value, dict):
        return {name: redact_value(f"{key}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(key, inner) for inner in value]
    if not isinstance(value, str):
        return value
    return REDACTED if _is_secret(key, value) else redact(value)


def _named_secrets(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Spans of the values whose name is that of a secret. Matches on the lower-case text, which has the same positions
    and is faster to search."""
    position = 0
    while match := _NAMED.search(lowered, position):
        position = match.end("tail")
        name = _name_of(text, lowered, match)
        doubt = _doubt(name)
        if doubt is None:
            continue
        reach = _SUSPECT_CHARACTERS if doubt in ("key", "token") else _SECRET_CHARACTERS
        value = _VALUE.match(lowered, match.end(), match.end() + reach)
        if value is None:
            continue
        is_quoted = value["quoted"] is not None
        start, end = value.span("quoted" if is_quoted else "bare")
        if _separates(match["sep"], name.startswith("--"), is_quoted) and _is_secret(name, text[start:end]):
            yield start, end
            position = end


def _name_of(text: str, lowered: str, match: re.Match[str]) -> str:
    """The whole name around the word that suggests a secret. For "next token" or "API key" it includes the word
    before."""
    window = lowered[max(0, match.start() - 80) : match.start()]
    before = window.rstrip(_NAME_CHARACTERS)
    start = match.start() - len(window) + len(before)
    name = text[start : match.end("tail")]
    owner = before.split(" ")[-2] if before.endswith(" ") and start == match.start() else ""
    return f"{owner} {name}" if owner.isalpha() else name


def _with_redacted(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these spans (in ascending order) replaced by `[redacted]`."""
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], REDACTED)
        position = end
    return "".join(parts) + text[position:] if parts else text


def _separates(separator: str, is_flag: bool, is_quoted: bool) -> bool:
    """Whether the text between name and value makes them a pair. In `--flag value` and `("NAME", "value")` it does; in
    prose and lists it does not."""
    mark = separator.strip(" \t\r\n\\")
    if mark in ("", '"', "'"):
        return mark == "" and is_flag
    if mark.endswith(","):
        return mark != "," and is_quoted
    return True


def _is_secret(name: str, value: str) -> bool:
    """Whether `value` under `name` must be hidden."""
    doubt = _doubt(name)
    if doubt is None or _PLACEHOLDER.fullmatch(value):
        return False
    if _NUMBER.fullmatch(value):
        # A metric of a password game is a number too, but `password: 12345678` is not a metric.
        return doubt == "password" and value.isdigit() and len(value) >= 4
    if doubt == "key":
        return _RANDOM.fullmatch(value) is not None
    if doubt == "token":
        return len(value) >= 8 and not any(map(str.isspace, value))
    return True


@functools.lru_cache(maxsize=4096)
def _doubt(name: str) -> Literal["none", "password", "key", "token"] | None:
    """What the name shows about its value. None: not a secret. "none": a secret without doubt. "password": a secret,
    even if it is a number of 4 or more digits. "key" or "token": a secret only if the value looks like one."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words[-1:] and words[-1] in ("id", "value", "text", "string") and len(words) > 1:
        words.pop()
    if not words:
        return None
    last, owner = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("password", "passwd", "passphrase", "pwd"):
        return "password"
    if not _NAMES["secret_words"].isdisjoint(words):
        return "none"
    if last == "key":
        return "none" if owner in _NAMES["key_owners"] else "key" if owner else None
    if last == "token" and owner not in _NAMES["text_token_kinds"]:
        return "none" if owner in _NAMES["token_owners"] else "token"
    return None


def _ascii_lower(text: str) -> str:
    """The text in lower case, with every character at its old position."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_ASCII_LOWER)


def _bounded(text: str, limit: int) -> str:
    """The text with at most `limit` characters; the last one is an ellipsis if something was cut off.

    A cut can turn a harmless value into one that looks like a secret (`None` into `No…`), so the result is redacted
    again.
    """
    while len(text) > limit:
        kept = text[: max(0, limit - 1)]
        marker = kept.rfind("[", max(0, len(kept) - len(REDACTED) + 1))
        if marker >= 0 and text.startswith(REDACTED, marker):
            kept = kept[:marker]
        text = redact(kept + ELLIPSIS) if limit > 0 else ""
    return text
