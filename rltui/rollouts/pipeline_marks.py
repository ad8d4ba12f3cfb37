"""What the samples of a step show of the pipeline that made them, as numbers (`copies.py` counts them)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Setup(Struct, frozen=True):
    """Shares are 0..1, None where nothing tells. `long`: texts of 200 characters or more; `copied`: of those in groups
    of two or more, how many another one of the group has too. `texts`: of each long text its place. `prompts`:
    different prompts. `doubled`: prompts with a template in a template, `doubled_as` the place where one shows it.
    `shown`: prompts that hold the reference as the answer. `unrewarded`: samples without a reward beside others that
    have one. `references`: different reference answers, `ids`: different names of groups."""

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
