"""A mutant: one edit of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`path`: from the repository's root. `kind`: what sort of knowledge, `how`: what is done to it. `old` stands at
    `offset` of the file's text, `new` takes its place."""

    path: str
    kind: str
    how: str
    where: str
    offset: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file's text with the edit. Raises ValueError if the text is another one."""
        if not text.startswith(self.old, self.offset):
            raise ValueError(f"{self.path}: {self.old!r} is not at {self.offset}")
        return text[: self.offset] + self.new + text[self.offset + len(self.old) :]

    def __str__(self) -> str:
        old, new = (part if len(part) < 50 else part[:47] + "..." for part in (self.old, self.new))
        edit = f"{' '.join(old.split())} -> {' '.join(new.split())}"
        return f"{self.path} {self.where}: {self.how}: {edit} @{self.offset}"


def scaled(text: str) -> list[tuple[str, str]]:
    """(how, number) ten times as large and a tenth of it, as whole as it was; 0 becomes 1."""
    value = float(text)
    if value == 0:
        return [("0 becomes 1", "1")]
    whole = "." not in text and "e" not in text.lower()
    tenth = f"{value / 10:g}" if not whole else f"{int(value) // 10}"
    tens = f"{value * 10:g}" if not whole else f"{int(value) * 10}"
    return [("times 10", tens), ("by 10", tenth)]
