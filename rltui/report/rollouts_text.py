"""The rollouts of a run as text for a terminal of 100 columns or more."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rltui.plots.glyphs import bar
from rltui.plots.numbers import number, percent
from rltui.report.rollouts import GroupSummary, RolloutReport, StepDetail
from rltui.rollouts.formats.base import Rollout
from rltui.rollouts.samples import Bar, SampleStats, most_repeated

WIDTH = 100
_HALF = (WIDTH - 3) // 2
_HEAD_LINES, _TAIL_LINES = 12, 4


def render(report: RolloutReport) -> str:
    """The whole output."""
    lines = [f"Rollouts of {report.run}", ""]
    if report.limitation:
        return "\n".join([*lines, *report.limitation]) + "\n"
    lines += _table(report.table)
    lines += ["", *report.notes] if report.notes else []
    if report.detail is not None:
        lines += ["", *_detail(report.detail)]
    if report.asked:
        count = f"{len(report.chosen)} of {report.chosen_count}"
        lines += ["", _rule("Samples " + report.asked, count)]
        lines += ["none matches"] if not report.chosen else []
    for rollout in report.chosen:
        lines += ["", _rule(f"… {' '.join((rollout.prompt or '').split())[-60:]}", _about(rollout))]
        lines += _excerpt(rollout.completion, WIDTH - 2, 6, 2)
    if report.same_prompt:
        lines += ["", _rule("The same prompt across steps", "best of each")]
        lines += _excerpt(report.same_prompt[0][1].prompt, WIDTH - 2, 3, 1)
    for step, rollout in report.same_prompt:
        lines += ["", _rule(f"Step {_step(step)}", _about(rollout)), *_excerpt(rollout.completion, WIDTH - 2, 4, 2)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(rows: Sequence[SampleStats]) -> list[str]:
    cells: list[tuple[str, ...]] = [
        ("step", "split", "samples", "reward", "same group", "cut", "repeated", "empty", "bad format", "mode")
    ]
    for row in rows:
        mode = "-" if row.mode_share is None else f"{number(row.mode_value)} {percent(row.mode_share)}"
        shares = (row.zero_variance, row.truncated, row.repeated, row.empty, row.invalid_format)
        cells.append(
            (_step(row.step), row.split, str(row.samples), _or_dash(row.reward_mean), *map(_share, shares), mode)
        )
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]


def _detail(step: StepDetail) -> list[str]:
    stats = step.stats
    lines = [_rule(f"Step {_step(step.step)} ({step.split})", f"{stats.samples} samples")]
    lines += [f"  {name:<24} {value}" for name, value in _facts(step) if value is not None]
    lines += [f"  {step.skipped} records could not be read"] if step.skipped else []
    lines += [f"  {note}" for note in step.notes]
    if step.reward_course:
        course = " ".join(_or_dash(mean) for mean in step.reward_course)
        lines += [f"  {'reward by tenths':<24} {course}"]
    if step.rewards:
        lines += ["", _rule("Rewards", "cut off: ▒" if any(one.truncated for one in step.rewards) else "")]
        lines += _bars(step.rewards)
    if step.lengths:
        cap = "limit not known" if step.length_cap is None else f"limit {step.length_cap}"
        lines += ["", _rule(step.length_unit.capitalize(), cap), *_lengths(step)]
    if step.groups:
        lines += ["", _rule("Groups by spread of rewards", f"{len(step.groups)} of {step.group_count}")]
        lines += [_group(group) for group in step.groups]
    if step.best is not None and step.worst is not None:
        lines += ["", *_side_by_side(step.best, step.worst)]
    for name, rollout in step.marked:
        loop = most_repeated(rollout.completion or "") if name == "repeated" else None
        about = f"“{loop[0]}” {loop[1]} times · {_about(rollout)}" if loop else _about(rollout)
        lines += ["", _rule(_MARKS[name], about), *_excerpt(rollout.completion, WIDTH - 2, 4, 2)]
    return lines


_MARKS = {
    "truncated": "Cut at the limit",
    "empty": "Empty",
    "repeated": "Repeats itself",
    "invalid": "Invalid format",
}


def _facts(step: StepDetail) -> list[tuple[str, str | None]]:
    stats = step.stats
    mode = None if stats.mode_share is None else f"{number(stats.mode_value)} in {percent(stats.mode_share)} of samples"
    judged = f"{stats.right} right, {stats.wrong} wrong" if stats.right or stats.wrong else None
    distinct = None
    if stats.distinct_1 is not None and stats.distinct_2 is not None:
        distinct = f"distinct-1 {number(stats.distinct_1)}, distinct-2 {number(stats.distinct_2)}"
    return [
        ("reward, mean", _maybe(stats.reward_mean)),
        ("most common reward", mode),
        ("zero-variance groups", _maybe_share(stats.zero_variance)),
        ("cut at the limit", _maybe_share(stats.truncated) or "not in the dump"),
        ("empty", _maybe_share(stats.empty)),
        ("repeat themselves", _maybe_share(stats.repeated)),
        ("same text in the group", _maybe_share(stats.identical)),
        ("invalid format", _maybe_share(stats.invalid_format)),
        ("answers, by reference", judged),
        ("right has more reward", _maybe_share(stats.follows)),
        ("without a reward", _maybe_share(stats.unrewarded or None)),
        ("group has a text twice", _maybe_share(stats.copied or None)),
        ("template in a template", _maybe_share(stats.doubled_prompts or None)),
        ("solution in the prompt", _maybe_share(stats.shown_solutions or None)),
        ("in another script", _maybe_share(stats.other_script or None)),
        ("go on past their end", _maybe_share(stats.past_end)),
        ("padding or bad decoding", _maybe_share(stats.artefacts)),
        ("only one mark (!!!!)", _maybe_share(stats.token_zero)),
        ("several scripts", _maybe_share(stats.mixed_scripts)),
        ("diversity", distinct),
        ("compression, median", None if stats.compression is None else f"{number(stats.compression)} x"),
        ("tokens, mean", _maybe(stats.length_mean)),
    ]


def _bars(bars: Sequence[Bar], decimals: int | None = None) -> list[str]:
    total = sum(one.count for one in bars)
    most = max(one.count for one in bars)
    lines = []
    for one in bars:
        label = " to ".join(number(value, decimals=decimals) for value in dict.fromkeys((one.low, one.high)))
        full = bar(one.count / most, 40).rstrip()
        cut = round(len(full) * one.truncated / one.count) if one.count else 0
        lines.append(f"  {label:>18}  {'▒' * cut + full[cut:]:<40}  {one.count:>7}  {percent(one.count / total):>6}")
    return lines


def _lengths(step: StepDetail) -> list[str]:
    """The histogram of lengths, with the line of the limit before the first bar that reaches it."""
    cap, bars = step.length_cap, _bars(step.lengths, decimals=0)
    at = next((i for i, one in enumerate(step.lengths) if cap is not None and one.high >= cap), None)
    if at is not None:
        bars.insert(at, f"  {f'limit {cap}':>18}  {'┄' * 40}")
    return bars


def _group(group: GroupSummary) -> str:
    mark = "=" if group.zero_variance else " "
    cut = f"  {group.truncated} cut" if group.truncated else ""
    spread = f"{_or_dash(group.mean)} ± {_or_dash(None if group.spread is None else group.spread / 2)}"
    return f"{mark} {_fit(group.prompt, 52)}  n {group.samples:>3}  reward {spread}{cut}"


def _side_by_side(best: Rollout, worst: Rollout) -> list[str]:
    lines = []
    if best.prompt is not None and best.prompt == worst.prompt:
        lines += [_rule("Prompt", ""), *_excerpt(best.prompt, WIDTH - 2, 6, 2), ""]
    left = [_rule("Best", _about(best), _HALF), *_whole(best, prompt=not lines)]
    right = [_rule("Worst", _about(worst), _HALF), *_whole(worst, prompt=not lines)]
    height = max(len(left), len(right))
    left += [""] * (height - len(left))
    right += [""] * (height - len(right))
    return lines + [f"{_fit(one, _HALF)}   {other}" for one, other in zip(left, right, strict=True)]


def _whole(rollout: Rollout, *, prompt: bool) -> list[str]:
    lines = []
    if prompt and rollout.prompt is not None:
        lines += ["prompt:", *_excerpt(rollout.prompt, _HALF, 4, 2), "completion:"]
    lines += _excerpt(rollout.completion, _HALF, _HEAD_LINES, _TAIL_LINES)
    if rollout.seen_by_reward is not None:
        lines += ["the reward saw:", *_excerpt(rollout.seen_by_reward, _HALF, 3, 0)]
    for name, value in list(rollout.extra.items())[:4]:
        lines += _wrapped(f"{name}: {value}", _HALF)[:2]
    return lines


def _about(rollout: Rollout) -> str:
    parts = [f"reward {_or_dash(rollout.reward)}"]
    if rollout.advantage is not None:
        parts.append(f"advantage {number(rollout.advantage)}")
    if rollout.length is not None:
        parts.append(f"{rollout.length} tokens")
    if rollout.truncated is not None:
        parts.append("cut at the limit" if rollout.truncated else "complete")
    return " · ".join(parts)


def _excerpt(text: str | None, width: int, head: int, tail: int) -> list[str]:
    """The first lines of a text and its last ones: where a loop or a cut shows."""
    if text is None:
        return ["(the dump holds no text)"]
    if not text.strip():
        return ["(empty)"]
    lines = _wrapped(text, width)
    if len(lines) <= head + tail + 1:
        return lines
    left_out = len(lines) - head - tail
    return [*lines[:head], f"… {left_out} lines more …", *(lines[-tail:] if tail else [])]


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at spaces where there are any."""
    lines = []
    for line in text.split("\n"):
        at = 0
        while True:
            near = line[at : at + 4 * width]  # a long line must not cost its square
            end = at + max(1, len(_cut(near, width)))
            if end >= len(line):
                break
            space = line.rfind(" ", at + (end - at) // 2, end)
            end = space + 1 if space > 0 else end
            lines.append(line[at:end].rstrip())
            at = end
        lines.append(line[at:])
    return lines


def _rule(title: str, right: str, width: int = WIDTH) -> str:
    dashes = "─" * max(2, width - _cells(title) - _cells(right) - 2)
    return f"{title} {dashes} {right}".rstrip()


def _fit(text: str, width: int) -> str:
    cut = text if _cells(text) <= width else _cut(text, width - 1) + "…"
    return cut + " " * (width - _cells(cut))


def _cut(text: str, width: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += _cell(character)
        if used > width:
            return text[:place]
    return text


def _cells(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _step(step: int | None) -> str:
    return "-" if step is None else str(step)


def _share(value: float | None) -> str:
    return percent(value, missing="-")


def _or_dash(value: float | None) -> str:
    return number(value, missing="-")


def _maybe(value: float | None) -> str | None:
    return None if value is None else number(value)


def _maybe_share(value: float | None) -> str | None:
    return None if value is None else percent(value)
