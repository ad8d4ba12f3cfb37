"""Numbers that tqdm paints behind a progress bar: `[00:10<01:30, 1.0it/s, loss=0.3]`."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import NUMBER, has_word, words
from rltui.readers.console.progress_bar import TRAINING, ProgressBar
from rltui.readers.number_text import unwrapped, value

_POSTFIX = lazy(rf"[,\[]\s*([A-Za-z_][\w/.@\- ]*)=({NUMBER.pattern})")
_ALGORITHM = lazy(r"(?<![A-Z])(?!LLM|GPU|CPU)[A-Z]{2}[A-Z+]{1,4}$")
"""What a loop is called by its algorithm: GRPO, RLOO, DPO."""


class BarNumbers:
    """They belong to the step that the bar shows; the last ones painted there count."""

    def __init__(self) -> None:
        self.held: tuple[int, dict[str, float]] | None = None

    def take(self, painted: ProgressBar, text: str) -> tuple[int, dict[str, float]] | None:
        """A bar was painted: the step before, if that is over now."""
        if painted.nested or not (painted.name in TRAINING or trains(painted.name)):
            return None  # another work's bar
        cells = postfix(text)
        if not cells:
            return None
        before, self.held = self.held, (painted.done, cells)
        return before if before is not None and before[0] != painted.done else None


def postfix(text: str) -> dict[str, float]:
    """Numbers by name behind a progress bar, if they are of training."""
    cells = {name.strip(): value(number) for name, number in _POSTFIX.findall(unwrapped(text))}
    return cells if any(has_word(name, words().training) for name in cells) else {}


def trains(name: str) -> bool:
    """Whether a progress bar of this name counts training steps."""
    if any(c.isdigit() for c in name) or has_word(name, words().evaluation):
        return False  # a bar within one of many rounds
    return has_word(name, words().counters) or "train" in name.lower() or _ALGORITHM.search(name) is not None
