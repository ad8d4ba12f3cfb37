"""What the samples of a step show about the pipeline, as numbers (`copies.py` counts them)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Setup(Struct, frozen=True):
    """Shares are 0..1, None if unknown. `long`: number of texts with at least 200 characters. `copied`: share of these,
    in groups with two or more, that equal the text of another sample of the group. `texts`: hash of a long text ->
    place. `prompts`: number of different prompts. `doubled`: share of prompts with a chat template inside another one.
    `shown`: share of prompts that give away their reference. `unrewarded`: share of samples without a reward, if others
    have one. `references`, `ids`: number of different reference answers and of different group names. Each `..._as`: an
    example in words."""

    long: int = 0
    copied: float | None = None
    copied_as: str = ""
    texts: Mapping[int, int] = field(default_factory=dict)
    prompts: int | None = None
    references: int = 0
    doubled: float | None = None
    doubled_as: str = ""
    shown: float | None = None
    shown_as: str = ""
    unrewarded: float | None = None
    unrewarded_as: str = ""
    ids: int = 0
