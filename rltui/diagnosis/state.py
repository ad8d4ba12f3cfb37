"""What the diagnosis remembers from one look to the next."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.diagnosis.life import Key, Life, in_words
from rltui.diagnosis.machine import Machine
from rltui.diagnosis.stopping import Reasons
from rltui.evidence.guard import Guard


class State(Struct, frozen=True):
    """Everything that is remembered after judging `n` rows. It is never changed in place."""

    n: int = 0
    lives: Mapping[Key, Life] = field(default_factory=dict)
    memory: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    machine: Machine = field(default_factory=Machine)
    failed: Mapping[str, str] = field(default_factory=dict)  # rules that raised, at this look or earlier
    reasons: Reasons = field(default_factory=Reasons)  # to stop
    whole: int = 0  # rows of the last look that asked all checks
    usual: int = 0  # the rows before this one define what is usual

    def worded(self) -> State:
        """The state with all texts made, which frees the look that it comes from."""
        guard = Guard(self.failed)
        lives = {key: in_words(life, key[0], guard) for key, life in self.lives.items()}
        same = all(lives[key] is life for key, life in self.lives.items())
        return self if same else replace(self, lives=lives, failed=guard.failed)

    def open(self) -> dict[str, int]:
        """The highest level of each open finding."""
        levels: dict[str, int] = {}
        for (rule_id, _), life in self.lives.items():
            if life.level:
                levels[rule_id] = max(levels.get(rule_id, 0), life.level)
        return levels
