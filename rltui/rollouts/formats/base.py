"""What a rollout dump provides: a `Block` with the numbers of all its samples, and the texts of any sample on demand.

Texts are cleaned when they leave a block, and only those that are shown: cleaning 100,000 completions to show thirty
would be the slowest part of opening a dump."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from rltui.text import ELLIPSIS, clean, clean_block

TEXT_LIMIT = 100_000
"""The most characters of a text that are kept. A loop or a missing end shows well before that."""
NAME_LIMIT = 100
FIELD_LIMIT = 2_000
EXTRA_LIMIT = 40

Split = Literal["train", "validation"]


class Rollout(Struct, frozen=True):
    """One rollout as its dump holds it, cleaned. A field that the dump does not hold is None.

    `reward`: the dump's own total. `components`: name -> number, for those beside the total (reward functions,
    accuracies). `length`: in tokens. A text is cut to `TEXT_LIMIT`. `extra`: the other fields as text (reference
    answer, data source).
    """

    step: int | None = None
    prompt: str | None = None
    completion: str | None = None
    seen_by_reward: str | None = None
    reward: float | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    advantage: float | None = None
    length: int | None = None
    truncated: bool | None = None
    group: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


class Raw(NamedTuple):
    """A sample before cleaning, for numbers and comparisons. Its texts are those of the file and must never be shown.

    `split`: None if the sample does not state it; its file's split then applies. `no_number`: its reward is NaN or
    infinite.
    """

    step: int | None
    prompt: str | None
    completion: str | None
    reward: float | None
    components: Mapping[str, float]
    advantage: float | None
    length: int | None
    truncated: bool | None
    group: str | None
    seen_by_reward: str | None = None
    extra: Mapping[str, Any] = {}
    split: Split | None = None
    no_number: bool = False

    def cleaned(self) -> Rollout:
        """The sample in a form that may be shown."""
        return Rollout(
            self.step,
            _text(self.prompt),
            _text(self.completion),
            _text(self.seen_by_reward),
            self.reward,
            {clean(name, NAME_LIMIT): value for name, value in self.components.items()},
            self.advantage,
            self.length,
            self.truncated,
            None if self.group is None else clean(self.group, NAME_LIMIT),
            {clean(name, NAME_LIMIT): clean(_plain(v), FIELD_LIMIT) for name, v in self.extra.items()},
        )


class Block:
    """The samples of one dump file, in file order. `skipped`: how many records could not be read. `note`: what was left
    out, for the user."""

    def __init__(
        self, records: Sequence[Any], parse: Callable[[Any], list[Raw]], *, skipped: int = 0, note: str = ""
    ) -> None:
        self.skipped = self._unreadable = skipped
        self.note = note
        self._records = records
        self._parse = parse
        self._at: (
            list[tuple[int, int]] | None
        ) = []  # for each sample: its record and its place in that record; None: one sample a record

    def raws(self) -> Iterator[Raw]:
        """Every sample once, in order. No sample is kept here, so memory use stays small."""
        at: list[tuple[int, int]] | None = None
        broken = 0
        parse = self._parse
        for number, record in enumerate(self._records):
            try:
                found = parse(record)
            except Exception:  # a record of unknown shape is skipped and counted
                broken += 1
                found = []
            if at is None:
                if len(found) == 1:
                    yield found[0]
                    continue
                at = [(earlier, 0) for earlier in range(number)]
            for place, raw in enumerate(found):
                at.append((number, place))
                yield raw
        self._at = at
        self.skipped = self._unreadable + broken

    def has_samples(self) -> bool:
        """Whether the block holds any sample."""
        return next(self.raws(), None) is not None

    def rollout(self, index: int) -> Rollout:
        """The sample at this place in `raws`, cleaned. Call it only after `raws` was read to its end."""
        return self.raw(index).cleaned()

    def raw(self, index: int) -> Raw:
        number, place = (index, 0) if self._at is None else self._at[index]
        return self._parse(self._records[number])[place]


def _text(text: str | None) -> str | None:
    if text is None:
        return None
    if len(text) <= TEXT_LIMIT:
        return clean_block(text, TEXT_LIMIT)
    return clean_block(text[: TEXT_LIMIT - 1], TEXT_LIMIT - 1) + ELLIPSIS


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:FIELD_LIMIT]
    except (ValueError, TypeError, RecursionError):
        return f"({type(value).__name__})"
