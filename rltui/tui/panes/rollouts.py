"""Panes of the rollouts screen: the list of groups or samples, a step's numbers, a prompt, a completion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rltui.plots.glyphs import bar
from rltui.plots.numbers import number, percent
from rltui.rollouts.samples import Bar, joined
from rltui.tui.rows import SELECTED, Row, cut, put, spread, title, wrap
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.report.rollouts import StepDetail
    from rltui.report.rollouts_page import RolloutLine, RolloutPage
    from rltui.rollouts.step import Rollout

DOTS = 8
"""At most this many rewards of a group are drawn as dots. For more, their number is written."""
PIECE = 400  # characters
MANY = 0.1
"""The most common reward is shown if at least this share of the samples has it."""
NAMES = {"groups": "Groups", "samples": "Samples", "steps": "The same prompt across steps"}


def listed(
    view: View, page: RolloutPage, row: int, top: int, width: int, height: int, note: str
) -> tuple[list[Row], int]:
    """Rows of the list from `top` on, and the new `top`, moved so that the selected row is in sight."""
    query = page.query
    way = "▲" if query.reverse != (query.order in ("file", "step")) else "▼"
    if view.glyphs.name == "ascii":
        way = {"▲": "^", "▼": "v"}[way]
    count = f"{page.total} of {page.of}" if page.total != page.of else f"{page.of}"
    right: Row = [(f"{query.order} {way}", "fg"), (f" · {count}", "dim")]
    name = NAMES[query.listed] + (" of one prompt" if query.listed == "samples" and query.inside is not None else "")
    rows: list[Row] = [title(width, "5", name, right, True, " · ".join(part for part in (note, page.note) if part))]
    lines = query.listed == "samples"
    columns = 0 if lines else DOTS * 2 + 1
    room = max(8, width - columns - (32 if lines else 26))
    heads = (("reward", 8), ("advantage", 10), ("tokens", 8), ("cut", 4)) if lines else (
        ("mean", 7), ("tokens", 8), ("cut", 6))  # fmt: skip
    first = {"groups": "prompt", "samples": "completion", "steps": "step  best completion"}[query.listed]
    rows.append(
        [
            put(f"  {first}", room + 2, "dim"),
            *([] if lines else [put("reward low │ high", columns + 1, "dim")]),
            *(put(head, wide, "dim", ">") for head, wide in heads),
        ]
    )
    if not page.total:
        return [*rows, [(" nothing matches", "dim")]], 0
    shown = max(1, height - 2)
    top = max(0, min(max(top, row - shown + 1), row, page.total - 1))
    low, high = _range(page.detail)
    for place in range(top, min(top + shown, page.total)):
        line = page.line(place)
        if line is None:
            rows.append([("  …", "dim")])
        elif lines:
            rows.append(_sample(line, place == row, room))
        else:
            rows.append(_group(view, line, place == row, room, (low + high) / 2))
    return rows, top


def _group(view: View, line: RolloutLine, selected: bool, room: int, middle: float) -> Row:
    role = "dim" if line.zero_variance else "fg"
    below = sum(1 for reward in line.rewards if reward <= middle)
    above = len(line.rewards) - below
    low, high = ("o", "*") if view.glyphs.name == "ascii" else ("○", "●")
    left = low * below if below <= DOTS else f"{below} {low}"
    right = high * above if above <= DOTS else f"{high} {above}"
    text = line.text if line.step is None else f"{line.step:<5} {line.text}"
    same = "= " if line.zero_variance else ""  # colour is never the only sign
    cut_ = "–" if line.truncated is None else f"{line.truncated}" if line.truncated else "·"
    return [
        ("▌", SELECTED) if selected else (" ", "fg"),
        (" ", "fg"),
        put(same + text, room, "strong" if selected else role),
        put(left, DOTS + 1, "dim", ">"),
        ("│", "rule"),
        put(right, DOTS, role),
        put(number(line.mean, missing="–"), 7, role, ">"),
        put(number(line.tokens, missing="–"), 8, role, ">"),
        put(cut_, 6, "warn" if line.truncated else "dim", ">"),
    ]


def _sample(line: RolloutLine, selected: bool, room: int) -> Row:
    cut_ = "–" if line.truncated is None else "!" if line.truncated else "·"
    return [
        ("▌", SELECTED) if selected else (" ", "fg"),
        (" ", "fg"),
        put(line.text, room, "strong" if selected else "fg"),
        put(number(line.mean, missing="–"), 8, "fg", ">"),
        put(number(line.advantage, missing="–"), 10, "fg", ">"),
        put(number(line.tokens, missing="–"), 8, "fg", ">"),
        put(cut_, 4, "warn" if line.truncated else "dim", ">"),
    ]


def numbers(detail: StepDetail, width: int, height: int) -> list[Row]:
    """The rewards and shares of a step; if there is room, also how much its texts differ."""
    rows = [*rewards(detail, width, 6), [], *shares(detail, width)]
    more = [[], *diversity(detail, width)]
    return rows[:height] if len(rows) + len(more) > height else [*rows, *more]


def all_numbers(detail: StepDetail, width: int, height: int, top: int) -> list[Row]:
    """All numbers of a step, in two columns if the pane is wide."""
    one = [*rewards(detail, width, 12), [], *lengths(detail, width)]
    if width >= 100:
        half = (width - 3) // 2
        left = [*rewards(detail, half, 12), [], *lengths(detail, half)]
        right = [*shares(detail, half), [], *diversity(detail, half)]
        tall = max(len(left), len(right))
        left, right = left + [[]] * (tall - len(left)), right + [[]] * (tall - len(right))
        one = [[*spread(half, a, []), ("   ", "fg"), *b] for a, b in zip(left, right, strict=True)]
    else:
        one += [[], *shares(detail, width), [], *diversity(detail, width)]
    top = max(0, min(top, len(one) - height))
    return one[top : top + height]


def rewards(detail: StepDetail, width: int, most: int) -> list[Row]:
    """The reward histogram, highest first, and the most common value."""
    stats = detail.stats
    common: Row = [(f"{stats.samples} rollouts", "dim")]
    if stats.mode_share is not None and stats.mode_share >= MANY:
        common = [(f"most are {number(stats.mode_value)} ", "dim"), (percent(stats.mode_share), "fg")]
    return [title(width, "", "Rewards", common), *_bars(joined(detail.rewards, most)[::-1], width)]


def lengths(detail: StepDetail, width: int) -> list[Row]:
    """The histogram of lengths, with a line at the limit."""
    cap = detail.length_cap
    right: Row = [("limit not known" if cap is None else f"limit {cap}", "dim")]
    rows = [title(width, "", detail.length_unit.capitalize(), right)]
    if not detail.lengths:
        return [*rows, [(" the dump holds neither lengths nor texts", "dim")]]
    bars = list(detail.lengths)
    at = next((i for i, one in enumerate(bars) if cap is not None and one.high >= cap), None)
    drawn = _bars(bars, width, decimals=0)
    if at is not None:
        label = f" limit {cap} "
        drawn.insert(at, [(f"{'─' * 14}{label}", "warn"), ("─" * max(0, width - 14 - len(label)), "warn")])
    return rows + drawn


def _bars(bars: Sequence[Bar], width: int, decimals: int | None = None) -> list[Row]:
    total = max(1, sum(one.count for one in bars))
    most = max((one.count for one in bars), default=1)
    rows: list[Row] = []
    for one in bars:
        name = "–".join(number(value, decimals=decimals) for value in dict.fromkeys((one.low, one.high)))
        filled = bar(one.count / most, max(4, width - 30))
        mark = "!" if one.truncated else " "
        rows.append(
            [
                put(name, 12, "fg", ">"),
                (f" {mark}", "warn"),
                put(filled, max(4, width - 30), "warn" if one.truncated * 2 > one.count else "ink"),
                put(f"{one.count}", 7, "fg", ">"),
                put(percent(one.count / total), 7, "dim", ">"),
            ]
        )
    return rows


def shares(detail: StepDetail, width: int) -> list[Row]:
    """The share of samples, or groups, with each property."""
    stats = detail.stats
    rows = [title(width, "", "In this step", [(f"{stats.samples} rollouts", "dim")])]
    for name, value, loud in (
        ("zero-variance groups", stats.zero_variance, False),
        ("cut at the limit", stats.truncated, True),
        ("repeat themselves", stats.repeated, True),
        ("same text in the group", stats.identical, False),
        ("invalid format", stats.invalid_format, True),
        ("go on past their end", stats.past_end, True),
        ("empty", stats.empty, True),
    ):
        text = percent(value, missing="not known")
        sign = "! " if loud and value is not None and value > 0.1 else "  "
        role = "warn" if sign == "! " else "fg" if value is not None else "dim"
        rows.append(spread(width, [(sign, "warn"), (name, "fg")], [(text, role)]))
    return rows


def diversity(detail: StepDetail, width: int) -> list[Row]:
    """How much the texts differ, and how much they repeat."""
    stats = detail.stats
    rows = [title(width, "", "Diversity")]
    for name, text in (
        ("distinct words (distinct-1)", number(stats.distinct_1, missing="–")),
        ("distinct pairs (distinct-2)", number(stats.distinct_2, missing="–")),
        ("compression, median", number(stats.compression, missing="–") + (" x" if stats.compression else "")),
        ("repeated 4-grams, mean", percent(stats.repeat, missing="–")),
        ("tokens, mean", number(stats.length_mean, missing="–")),
    ):
        rows.append(spread(width, [("  ", "fg"), (name, "fg")], [(text, "fg")]))
    return rows


def prompt(sample: Rollout | None, samples: int, width: int) -> list[Row]:
    """The beginning of a prompt, in two lines."""
    right: Row = [(f"{samples} sample{'' if samples == 1 else 's'}", "dim")]
    text = " ".join(((sample.prompt if sample else None) or "the dump holds no prompt").split())
    lines = wrapped(text, width - 2)
    rows: list[Row] = [[(f" {cut(line, width - 2)}", "fg")] for line in lines[:2]]
    if len(lines) > 2:
        rows[-1] = [(f" {cut(lines[1], width - 24)}", "fg"), (f" … {len(lines) - 2} lines more", "dim")]
    return [title(width, "", "Prompt", right), *rows]


def completion(name: str, sample: Rollout | None, width: int, height: int, line: int) -> list[Row]:
    """A completion from a line on, with the part that the reward saw and other fields of the dump."""
    if sample is None:
        return [title(width, "", name)]
    right: Row = [("reward ", "dim"), (number(sample.reward, missing="–"), "strong")]
    if sample.advantage is not None and width > 60:
        right += [(" · advantage ", "dim"), (number(sample.advantage), "fg")]
    if sample.length is not None and width > 40:
        right.append((f" · {sample.length} tokens", "dim"))
    if sample.truncated:
        right.append((" · ! cut at the limit" if width > 40 else " ! cut", "warn"))
    elif sample.truncated is not None and width > 40:
        right.append((" · complete", "dim"))
    lines: list[Row] = [[(f" {text}", "fg")] for text in wrapped(sample.completion or "", width - 1)]
    if sample.completion is None:
        lines = [[(" the dump holds no text", "dim")]]
    elif not sample.completion.strip():
        lines = [[(" (empty)", "warn")]]
    if sample.seen_by_reward is not None:
        lines += [[], [(" the reward saw ", "dim"), (cut(sample.seen_by_reward, width - 17), "fg")]]
    for key, value in sample.extra.items():
        if not value.strip():
            continue
        lines.append([(f" {key} ", "dim"), (cut(value, max(4, width - len(key) - 3)), "fg")])
    for key, score in sample.components.items():
        lines.append([(f" {key} ", "dim"), (number(score), "fg")])
    start = max(0, min(line, len(lines) - height + 1))
    shown = lines[start : start + height - 1]
    below = len(lines) - start - len(shown)
    if below > 0 and shown:
        shown[-1] = [(f" … {below + 1} lines more", "dim")]
    return [title(width, "", name, right), *shown]


@lru_cache(maxsize=8)
def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text. Long ones are cut into pieces first, because `wrap` takes quadratic time on a long word."""
    lines: list[str] = []
    for part in text.split("\n"):
        pieces = [part[at : at + PIECE] for at in range(0, len(part), PIECE)] or [""]
        lines += [line for piece in pieces for line in wrap(piece, width) or [""]]
    return lines


def _range(detail: StepDetail | None) -> tuple[float, float]:
    """Lowest and highest reward of the step; 0 and 1 without one."""
    bars = detail.rewards if detail else ()
    return min((one.low for one in bars), default=0.0), max((one.high for one in bars), default=1.0)
