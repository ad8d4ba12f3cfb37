"""Knowledge pages: what a rule alone cannot say. Each is a Markdown file in `knowledge_pages/`:

# Title
Group: one of GROUPS
When to open: one sentence
Rules: ids of the rules that refer to the page, comma-separated (may be absent)

the page itself
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from msgspec import Struct

GROUPS = ("method", "meaning", "pitfalls", "action")


class KnowledgePage(Struct, frozen=True):
    """One page. `rules`: ids of the rules that refer to this page. `text` is Markdown without the head."""

    id: str
    title: str
    group: str
    when: str
    rules: tuple[str, ...]
    text: str


@lru_cache(maxsize=1)
def pages() -> dict[str, KnowledgePage]:
    """Every page by id, in the order of the groups."""
    folder = files("rltui.rules") / "knowledge_pages"
    found = [_page(f.name[:-3], f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".md")]
    return {p.id: p for p in sorted(found, key=lambda p: (GROUPS.index(p.group), p.id))}


def pages_for(rule_id: str) -> tuple[KnowledgePage, ...]:
    """The pages that a rule refers to."""
    return tuple(p for p in pages().values() if rule_id in p.rules)


def _page(page_id: str, text: str) -> KnowledgePage:
    head, _, body = text.partition("\n\n")
    title, *fields = head.splitlines()
    named = {name.strip(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    rules = tuple(r.strip() for r in named.get("Rules", "").split(",") if r.strip())
    return KnowledgePage(
        page_id, title.removeprefix("# "), named["Group"], named["When to open"], rules, body.strip() + "\n"
    )
