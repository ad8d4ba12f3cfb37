"""The Markdown report taken apart: headline, sections, table rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADLINE = re.compile(r"^\*\*(?:\S )?(?P<badge>[^*]+)\*\* ?(?P<text>.*)$", re.M)


@dataclass(frozen=True)
class Page:
    """`badge`: the words of the headline without its glyph. `sections`: first word of a heading's name, in lower case
    and without its number -> its lines."""

    text: str
    badge: str
    headline: str
    sections: dict[str, list[str]] = field(default_factory=dict)

    def lines(self, pattern: str) -> list[re.Match[str]]:
        """Matches of lines anywhere on the page, plots left out."""
        return list(re.finditer(pattern, self.text, re.M))

    def one(self, pattern: str) -> str | None:
        """The first group of the only or first line that matches; None if there is none."""
        found = re.search(pattern, self.text, re.M)
        return found[1] if found else None


def read_page(text: str) -> Page:
    """Raises ValueError if the page has no headline."""
    text = re.sub(r"^```text\n.*?^```$", "", text, flags=re.M | re.S)
    head = _HEADLINE.search(text)
    if head is None:
        raise ValueError("no badge on the page")
    sections: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("## "):
            name = re.sub(r"^\W*\d*\W*", "", line[3:]).split()[0].lower().rstrip(",")
        elif name:
            sections.setdefault(name, []).append(line)
    return Page(text, head["badge"].strip(), head["text"].strip(), sections)
