"""Themes: TOML files with the style of each role, in `themes/` of the source tree or in the installed package."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from msgspec import Struct
from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.theme import Theme as TextualTheme

from rltui import settings

SEVERITIES = ("crit", "warn", "ok")
CHART_ROLES = {
    "SEL": "accent",
    "axis": "dim",
    "grid": "rule",
    "onset": "crit",
    "best": "accent",
    "checkpoint": "dim",
    "restart": "warn",
    "cursor": "accent",
    "clipped": "dim",
    "other": "dim",
}
"""Roles that panes and charts use, each with the theme role whose style it takes."""


class Theme(Struct, frozen=True):
    """`styles`: by role. `selection`: added to each segment of the selected row. `ansi`: whether the theme uses the
    terminal's own colours, which must not be turned into RGB."""

    name: str
    ansi: bool
    background: str
    styles: dict[str, Style]
    selection: Style


def _folder() -> Traversable:
    shipped = files("rltui").joinpath("_themes")
    return shipped if shipped.is_dir() else Path(__file__).resolve().parents[2] / "themes"


def parse_theme(text: str) -> Theme:
    """A theme from TOML. An invalid one raises ValueError, KeyError, TypeError, AttributeError or StyleSyntaxError."""
    data = tomllib.loads(text)
    ansi, background = bool(data["ansi"]), str(data["bg"])
    ground = Style() if ansi else Style(bgcolor=background)
    styles = {role: ground + Style.parse(definition) for role, definition in data["roles"].items()}
    bold = Style(bold=True)
    styles["key"] = styles["strong"]
    for role in ("accent", *SEVERITIES):
        styles[f"{role}.b"] = styles[role] + bold
    for severity in SEVERITIES:
        style = styles[severity]
        styles[f"badge.{severity}"] = (
            style + Style(bold=True, reverse=True) if ansi else Style(color=background, bgcolor=style.color, bold=True)
        )
    selection = Style.parse(data["sel"])
    styles["badge.none"] = styles["strong"] + (Style(reverse=True) if ansi else selection)
    styles["fill"] = ground
    for role, like in CHART_ROLES.items():
        styles[role] = styles[like]
    return Theme(data["name"], ansi, background, styles, selection)


@cache
def load_theme(name: str) -> Theme:
    """A theme by name: a shipped one, or else the user's. Raises a ValueError that names the theme and the problem."""
    try:
        shipped = _folder().joinpath(f"{name}.toml")
        text = shipped.read_text(encoding="utf-8") if shipped.is_file() else settings.theme_texts()[name]
    except KeyError:
        raise ValueError(f"no theme {name}. Themes are {', '.join(theme_names())}") from None
    try:
        return parse_theme(text)
    except KeyError as missing:
        raise ValueError(f"theme {name}: {missing} is missing") from None
    except (ValueError, TypeError, AttributeError, StyleSyntaxError) as problem:
        raise ValueError(f"theme {name}: {problem}") from None


@cache
def theme_names() -> tuple[str, ...]:
    """Names of the shipped themes, in alphabetical order, then of those in the user's config directory."""
    shipped = sorted(entry.name[:-5] for entry in _folder().iterdir() if entry.name.endswith(".toml"))
    return (*shipped, *(name for name in settings.theme_texts() if name not in shipped))


def textual_theme(theme: Theme) -> TextualTheme | None:
    """The same colours for what Textual draws (scroll bars, selections). None for ANSI themes: Textual has its own."""
    if theme.ansi:
        return None
    colour = {role: style.color.name for role, style in theme.styles.items() if style.color is not None}
    return TextualTheme(
        name=f"rltui-{theme.name}",
        primary=colour["accent"],
        accent=colour["accent"],
        warning=colour["warn"],
        error=colour["crit"],
        success=colour["ok"],
        foreground=colour["fg"],
        background=theme.background,
        surface=theme.background,
        panel=theme.selection.bgcolor.name if theme.selection.bgcolor else theme.background,
        dark=colour["strong"].lower() > theme.background.lower(),
    )
