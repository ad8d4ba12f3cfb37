"""The manual: pages of Markdown that ship with the package, for `rltui help`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def topics() -> dict[str, str]:
    """Topic -> title of its page, in alphabetical order."""
    return {path.stem: _title(path) for path in sorted(FOLDER.glob("*.md"))}


def page(topic: str) -> str:
    """A page as Markdown. Raises KeyError if there is none."""
    if topic not in topics():
        raise KeyError(topic)
    return (FOLDER / f"{topic}.md").read_text(encoding="utf-8")


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()
