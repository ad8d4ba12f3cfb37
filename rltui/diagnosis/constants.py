"""All constants between reward and loss that log, config or the framework's source show, against what maths needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct

from rltui.data_files import Record, kept, read
from rltui.evidence.look import Look
from rltui.evidence.model import Level
from rltui.evidence.signal import num
from rltui.plots.numbers import percent
from rltui.run.sums import median

ROWS = 50  # newest rows that are looked at
LEAST = 5
TOLERANCE = 0.05  # of the spread: batches are finite, and logs divide by n - 1 instead of n
MOST_ROWS = 0.9


class RewardValues(Struct, frozen=True):
    """`binary` None: the log does not show it. `positive`: the share of the upper value of a binary reward over the
    last rows, else None. `low`, `high`: the least and greatest reward seen; None: unknown."""

    binary: bool | None
    positive: float | None
    low: float | None
    high: float | None
    text: str


def reward_values(look: Look) -> RewardValues:
    """A reward with only the values a and b has the spread sqrt((mean - a)(b - mean)); any other reward has less.

    So mean, minimum, maximum and standard deviation of a batch together distinguish a binary reward from a graded one.
    """
    name = look.reward
    stem = "score" if name == "score_mean" else "reward"
    mean, low, high = (look.series(n) for n in (name, f"{stem}_min", f"{stem}_max"))
    floor, ceiling = look.profile.floor, look.profile.ceiling
    span = f"between {num(floor)} and {num(ceiling)}" if floor is not None and ceiling is not None else ""
    if mean is None:
        return RewardValues(None, None, None, None, "no reward is logged")
    a = float(low.values.min()) if low is not None else floor
    b = float(high.values.max()) if high is not None else ceiling
    spread = look.series("reward_std")
    unknown = RewardValues(None, None, a, b, f"binary or graded: batch extremes and spread do not tell {span}".strip())
    if spread is None or a is None or b is None or b <= a:
        return unknown
    rows = np.intersect1d(mean.rows[-ROWS:], spread.rows[-ROWS:])
    if len(rows) < LEAST:
        return unknown
    m = mean.values[np.searchsorted(mean.rows, rows)]
    s = spread.values[np.searchsorted(spread.rows, rows)]
    most = np.sqrt(np.maximum(0.0, (m - a) * (b - m)))
    alike = np.abs(s - most) <= TOLERANCE * (b - a)
    clear = most > 4 * TOLERANCE * (b - a)  # if all rewards are equal, both kinds have no spread
    if int(clear.sum()) < LEAST:
        return unknown
    if float(alike[clear].mean()) >= MOST_ROWS:
        share = median((m - a) / (b - a))
        return RewardValues(
            True, share, a, b, f"binary, {num(a)} or {num(b)}, and {percent(share)} of the answers get {num(b)}"
        )
    if float((s < most - TOLERANCE * (b - a))[clear].mean()) >= MOST_ROWS:
        return RewardValues(False, None, a, b, f"graded, {num(a)} to {num(b)}")
    return unknown


SMALL = 0.01  # of the spread of the rewards: a constant in the denominator that shrinks advantages by less
TOKEN_CLIP, SEQUENCE_CLIP = (0.1, 0.3), (3e-4, 1e-2)  # usual clip ranges of ratios a token, a whole sequence
WARM = (0.6, 1.2)  # usual sampling temperatures


class Constant(Struct, frozen=True):
    """`format`: the number format it acts in, None if unknown. `needs`: what maths requires of it. `where`: the config
    key or the place in the framework's code (its default, not read from this run)."""

    name: str
    value: float
    format: str | None
    where: str
    needs: str
    status: Level


class NumberFormats(Record):
    """`format`: the number format of the advantages. `formats`: the spacing of each format next to 1."""

    format: str
    formats: dict[str, float]

    def __post_init__(self) -> None:
        if self.format not in self.formats:
            raise ValueError(f"no such format: {self.format}")


@kept
def _number_formats() -> NumberFormats:
    return read(Path(__file__).with_name("data") / "constants.json", NumberFormats)


def constants(look: Look) -> tuple[Constant, ...]:
    """The constants in the order in which they act: sampling, advantage, ratio, KL."""
    found = [_temperature(look), _denominator(look), *_clips(look), _kl(look)]
    return tuple(c for c in found if c is not None)


def _temperature(look: Look) -> Constant | None:
    value = look.settings.number("temperature")
    if value is None:
        return None
    needs = f"the trainer divides its logits by the same one, {num(WARM[0])} to {num(WARM[1])} is usual"
    return _of(look, "temperature", "sampling temperature", value, needs, WARM[0] <= value <= WARM[1])


def _denominator(look: Look) -> Constant | None:
    """Only if advantages are divided by the spread of their group."""
    known = look.dialect.conventions.advantage_epsilon
    off = look.settings.word("norm_adv_by_std") in ("false", "none")
    if known is None or not look.settings.group_relative or off:
        return None
    known_formats = _number_formats()
    form = known_formats.format
    spread = look.values("reward_std")
    least = known_formats.formats[form]
    needs = f"above 0 in {form} (beside 1 its steps are {num(least)}), and far below the spread of a group's rewards"
    status: Level = "unknown"
    if len(spread):
        usual = median(spread)
        needs += f", here {num(usual)}"
        status = "pass" if known.value <= SMALL * usual or usual == 0 else "warn"
    name = "added to the spread in the advantage's denominator"
    return Constant(name, known.value, form, known.place, needs, status)


def _clips(look: Look) -> list[Constant | None]:
    words = look.settings.word("importance_sampling_level") + look.settings.word("policy_loss_mode")
    whole = "sequence" in words or "gspo" in words
    low, high = SEQUENCE_CLIP if whole else TOKEN_CLIP
    needs = f"{num(low)} to {num(high)} for ratios of {'whole sequences' if whole else 'tokens'}"
    out: list[Constant | None] = []
    for key, name in (("clip_low", "clip range, lower"), ("clip_high", "clip range, upper")):
        value = look.settings.number(key)
        out.append(None if value is None else _of(look, key, name, value, needs, low <= value <= high))
    return out


def _kl(look: Look) -> Constant | None:
    value, where = look.settings.kl_coef, look.settings.kl_where
    if value is None or where is None:
        return None
    key = "kl_coef_loss" if where == "loss" else "kl_coef_reward"
    if look.settings.number(key) is None:
        return None
    needs = "beside the policy term: 1e-5 does nothing, a weight near 1 holds the policy where it is"
    return _of(look, key, f"KL coefficient, in the {where}", value, needs, 1e-5 <= value <= 0.5)


def _of(look: Look, key: str, name: str, value: float, needs: str, fits: bool) -> Constant:
    return Constant(name, value, None, look.settings.config[key].key, needs, "pass" if fits else "warn")
