"""Glyph sets, and bars drawn with them. Every sign is one cell wide in each set, so that no column moves if the set
changes."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from msgspec import Struct, field


class GlyphSet(Struct, frozen=True):
    """One-cell signs. `spark`: seven rising levels; none fills its cell, so that it stays apart from the row above.
    `eighths`: partly filled cells of a meter, one to seven eighths."""

    name: str
    critical: str = "✗"
    warning: str = "!"
    passed: str = "✓"
    unknown: str = "?"
    info: str = "·"
    live: str = "●"
    marked: str = "•"
    selected: str = "▌"
    folded: str = "└"
    onset: str = "▼"
    other_onset: str = "▽"
    onset_rule: str = "┊"
    best: str = "◆"
    checkpoint: str = "◇"
    cursor: str = "│"
    above: str = "▴"  # points beyond the range of a chart
    below: str = "▾"
    rule: str = "─"
    grid: str = "·"
    separator: str = "·"
    spark: str = "▁▂▃▄▅▆▇"
    full: str = "█"
    empty: str = "░"
    eighths: str = "▏▎▍▌▋▊▉"
    enter: str = "↵"  # a word in ASCII; only the footer uses it
    _table: Mapping[int, str] = field(default_factory=dict)

    def translate(self, text: str) -> str:
        """The text in the signs of this set, character for character. What ASCII cannot show becomes `?`."""
        if self.name != "ascii":
            return text.translate(self._table) if self._table else text
        if text.isascii():
            return text
        return text.translate(self._table).encode("ascii", "replace").decode("ascii")

    def status(self, word: str) -> str:
        """The glyph of a status word: severity of a finding, verdict of a pipeline stage, state of a check."""
        return {
            "critical": self.critical,
            "fail": self.critical,
            "off": self.critical,
            "warning": self.warning,
            "warn": self.warning,
            "degraded": self.warning,
            "pass": self.passed,
            "ok": self.passed,
            "resolved": self.passed,
            "info": self.info,
        }.get(word.lower(), self.unknown)


def _pairs(*groups: tuple[str, str]) -> dict[int, str]:
    return {ord(a): b for these, those in groups for a, b in zip(these, those, strict=True)}


_ASCII = _pairs(
    ("✗✓●○◆◇▼▽▲▾▴•▌└", "xvoo*<vu^v^*>`"),
    ("━─│┊┃├┤┬┴┼┌┐┘", "--|:|+++++.++"),
    ("█▓░▒", "##.:"),
    ("▁▂▃▄▅▆▇", "_.,:-=+"),
    ("▏▎▍▋▊▉", "..:==="),
    ("·›‹→←↑↓↗↘", ".><><^v^v"),
    ("×±−–—…°≥≤≈∞µσΔ", "x~---~'><~8usd"),
    ("“”‘’²³", "\"\"''23"),
    ("\u00a0\u2009\u202f", "   "),
)
BLOCK = GlyphSet("block")
BRAILLE = GlyphSet("braille", spark="⡀⣀⣄⣤⣦⣶⣷", full="⣿", empty="⣀", eighths="⡀⡄⡆⡇⣇⣧⣷")
ASCII = GlyphSet(
    "ascii",
    critical="x",
    passed="v",
    info=".",
    live="o",
    marked="*",
    selected=">",
    folded="`",
    onset="v",
    other_onset="u",
    onset_rule=":",
    best="*",
    checkpoint="<",
    cursor="|",
    above="^",
    below="v",
    rule="-",
    grid=".",
    separator=".",
    spark="_.,:-=+",
    full="#",
    empty=".",
    eighths="..:====",
    enter="Enter",
    _table=_ASCII,
)
_SETS = {s.name: s for s in (BLOCK, BRAILLE, ASCII)}


def utf8_locale(env: Mapping[str, str]) -> bool:
    """Whether the first of LC_ALL, LC_CTYPE and LANG that is set names UTF-8, as the C library decides."""
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    return "utf8" in locale.lower().replace("-", "")


def pick(name: str | None, env: Mapping[str, str]) -> GlyphSet:
    """The set called `name`. For None or an unknown name: ASCII if the terminal cannot show more, else block.

    A set that the user asks for is used in any case. The Linux console has no braille and few blocks.
    """
    if name in _SETS:
        return _SETS[name]
    if env.get("TERM", "") in ("linux", "dumb") or not utf8_locale(env):
        return ASCII
    return BLOCK


def bar(share: float | None, width: int, glyphs: GlyphSet = BLOCK) -> str:
    """Only the filled part of a bar, at most `width` cells; empty if the share is unknown or zero."""
    if share is None or not isfinite(share) or width <= 0:
        return ""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if eighths == 0 and share > 0:
        eighths = 1  # so that a small share differs from none
    full, rest = divmod(eighths, 8)
    return glyphs.full * full + (glyphs.eighths[rest - 1] if rest else "")


def meter(share: float | None, width: int, glyphs: GlyphSet = BLOCK) -> tuple[str, str]:
    """(filled, empty): the two parts of a bar, for two roles, together exactly `width` cells."""
    filled = bar(share, width, glyphs)
    return filled, glyphs.empty * max(0, width - len(filled))


def excess(share: float, usual: float | None, width: int, glyphs: GlyphSet = BLOCK) -> tuple[str, str]:
    """(usual part, excess) of one bar, so that only what exceeds the usual share is coloured."""
    whole = bar(share, width, glyphs)
    if usual is None or share <= usual:
        return whole, ""
    cut = min(len(whole), round(max(0.0, usual) * width))
    return whole[:cut], whole[cut:]
