"""What the policy wrote at a step: groups by prompt, numbers of the step, and the best beside the worst completion.

Texts are read by the worker; this screen holds the one page that it was sent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.plots.meter import bar
from rltui.plots.numbers import number, percent
from rltui.tui.filters import matches
from rltui.tui.panes import header
from rltui.tui.rows import SELECTED, Row, cut, put, scrolled, spread, title, wrap
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.worker import RolloutsRead

if TYPE_CHECKING:
    from rltui.report.rollouts import Page, Pair
    from rltui.run.rollouts import Rollout

DOTS = 8
"""Rewards of a group drawn as dots; of more, their number is written."""
SIDE = 46
PIECE = 400  # characters


class RolloutsScreen(PaneScreen):
    """j k choose the group, [ ] the step, z gives the two completions the whole screen, ^d ^u scroll them."""

    NAME = "rollouts"
    PANES: ClassVar[tuple[str, ...]] = ("header", "groups", "numbers", "prompt", "best", "worst")

    def __init__(self) -> None:
        super().__init__()
        self.page: Page | None = None
        self.problem = ""
        self.row = 0
        self.top = 0  # of the list
        self.line = 0  # of the texts
        self.zoomed = False

    # -- reading -------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self._ask(self.view.cursor)
        super().on_mount()

    def _ask(self, step: int | None) -> None:
        frame = self.view.frame
        if frame is not None:
            self.rltui.worker.rollouts(self, frame.rollout_files, frame.revision, step)

    def on_rollouts_read(self, message: RolloutsRead) -> None:
        self.page, self.problem = message.page, message.problem
        self.row = self.line = 0
        self.redraw()

    # -- places --------------------------------------------------------------------------------------------------

    def places(self, size: Size) -> Places:
        width, height = size
        places = {"header": Region(0, 0, width, 1), "footer": Region(0, height - 1, width, 1)}
        air = 1 if height >= 30 else 0
        y, end = 1 + air, height - 1 - air
        if self.page is not None and not self.page.entries:
            return places | {"groups": Region(1, y, width - 2, end - y)}
        if not self.zoomed:
            tall = max(5, (end - y) * 2 // 5)
            side = SIDE if width >= 120 else 0
            places["groups"] = Region(1, y, width - 2 - (side + 3 if side else 0), tall)
            if side:
                places["numbers"] = Region(width - 1 - side, y, side, tall)
            y += tall + air
            places["prompt"] = Region(1, y, width - 2, 3)
            y += 3 + air
        half = (width - 2 - 3) // 2
        places["best"] = Region(1, y, half, end - y)
        places["worst"] = Region(1 + half + 3, y, width - 2 - half - 3, end - y)
        return places

    # -- content -------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> list[Pair]:
        """The rows of the list that pass the filter: by the prompt, `same` for no spread, `cut` for truncated."""
        found = list(self.page.pairs) if self.page else []
        return [pair for pair in found if matches(self.pattern, _words(pair))] if self.pattern else found

    @property
    def pair(self) -> Pair | None:
        pairs = self.pairs
        return pairs[max(0, min(self.row, len(pairs) - 1))] if pairs else None

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        page = self.page
        if pane == "header":
            detail = page.detail if page else None
            where = "" if detail is None else "no step" if detail.step is None else f"step {detail.step}"
            return header.crumbs(self.view, width, tuple(part for part in ("Rollouts", where) if part))
        if page is None or page.detail is None:
            said = page.limitation if page else (self.problem or "reading …",)
            rows: list[Row] = [title(width, "5", "Rollouts", None, True)]
            for text in said if pane == "groups" else ():
                rows += [[(f" {line}", "fg")] for line in wrap(text, width - 2)] + [[]]
            return rows if pane == "groups" else []
        if pane == "groups":
            return self._list(page, width, height)
        if pane == "numbers":
            return self._numbers(page, width)[:height]
        if pane == "prompt":
            return self._prompt(width)
        pair = self.pair
        shown = None if pair is None else pair.best if pane == "best" else pair.worst
        return self._text("Best" if pane == "best" else "Worst", shown, width, height)

    def _list(self, page: Page, width: int, height: int) -> list[Row]:
        detail, pairs = page.detail, self.pairs
        count = detail.group_count if detail else 0
        note = f"/{self.pattern}{'▏' if self.typing else ''}" if self.pattern is not None else ""
        right: Row = [("spread ▼", "fg"), (f" · {len(pairs)} of {max(count, len(page.pairs))}", "dim")]
        rows: list[Row] = [title(width, "5", "Groups", right, True, note)]
        columns = DOTS * 2 + 1
        room = max(8, width - columns - 26)
        numbers = [put(name, wide, "dim", ">") for name, wide in (("mean", 7), ("tokens", 8), ("cut", 6))]
        rows.append([put("  prompt", room + 2, "dim"), put("reward low │ high", columns + 1, "dim"), *numbers])
        if not pairs:
            return [*rows, [(" no group matches", "dim")]]
        self.row = max(0, min(self.row, len(pairs) - 1))
        low, high = _range(page)
        lines = [self._line(pair, i == self.row, room, (low + high) / 2) for i, pair in enumerate(pairs)]
        shown, self.top = scrolled(lines, height - 2, self.row, self.top)
        return rows + shown

    def _line(self, pair: Pair, selected: bool, room: int, middle: float) -> Row:
        group = pair.summary
        role = "dim" if group.zero_variance else "fg"
        below = sum(1 for reward in group.rewards if reward <= middle)
        above = len(group.rewards) - below
        low, high = ("o", "*") if self.view.glyphs.name == "ascii" else ("○", "●")
        left = low * below if below <= DOTS else f"{below} {low}"
        right = high * above if above <= DOTS else f"{high} {above}"
        cut_ = "·" if not group.truncated else f"{group.truncated}"
        return [
            ("▌", SELECTED) if selected else (" ", "fg"),
            (" ", "fg"),
            put(group.prompt, room, "strong" if selected else role),
            put(left, DOTS + 1, "dim", ">"),
            ("│", "rule"),
            put(right, DOTS, role),
            put(number(group.mean, missing="–"), 7, role, ">"),
            put(number(group.length_mean, missing="–"), 8, role, ">"),
            put(cut_ if group.truncated is not None else "–", 6, "warn" if group.truncated else "dim", ">"),
        ]

    def _numbers(self, page: Page, width: int) -> list[Row]:
        detail = page.detail
        if detail is None:
            return []
        stats = detail.stats
        rows = [title(width, "", "Rewards", [(f"{stats.samples} rollouts", "dim")])]
        most = max((one.count for one in detail.rewards), default=1)
        for one in sorted(detail.rewards, key=lambda one: -one.high)[:6]:
            name = number(one.high) if one.low == one.high else f"{number(one.low)}–{number(one.high)}"
            filled = bar(one.count / most, max(4, width - 30))
            rows.append(
                [
                    put(name, 12, "fg", ">"),
                    ("  ", "fg"),
                    (filled, "warn" if one.truncated * 2 > one.count else "dim"),
                    put(f"{one.count}", 7, "fg", ">"),
                    put(percent(one.count / max(1, stats.samples)), 7, "dim", ">"),
                ]
            )
        rows += [[], title(width, "", "In this step")]
        for name, value, loud in (
            ("groups without spread", stats.zero_variance, False),
            ("cut at the limit", stats.truncated, True),
            ("repeat themselves", stats.repeated, True),
            ("same text in the group", stats.identical, False),
            ("invalid format", stats.invalid_format, True),
            ("go on past their end", stats.past_end, True),
            ("empty", stats.empty, True),
        ):
            text = percent(value, missing="not told")
            sign = "! " if loud and value is not None and value > 0.1 else "  "
            role = "warn" if sign == "! " else "fg" if value is not None else "dim"
            rows.append(spread(width, [(sign, "warn"), (name, "fg")], [(text, role)]))
        return rows

    def _prompt(self, width: int) -> list[Row]:
        pair = self.pair
        if pair is None:
            return [title(width, "", "Prompt")]
        sample = pair.worst or pair.best
        lines = _wrapped(
            " ".join(((sample.prompt if sample else None) or "the dump holds no prompt").split()), width - 2
        )
        right: Row = [(f"{pair.summary.samples} sample{'' if pair.summary.samples == 1 else 's'}", "dim")]
        more = [(f" … {len(lines) - 2} lines more", "dim")] if len(lines) > 2 else []
        rows: list[Row] = [[(f" {cut(line, width - 2)}", "fg")] for line in lines[:2]]
        if more and rows:
            rows[-1] = [(f" {cut(lines[1], width - 24)}", "fg"), *more]
        return [title(width, "", "Prompt", right), *rows]

    def _text(self, name: str, sample: Rollout | None, width: int, height: int) -> list[Row]:
        if sample is None:
            return [title(width, "", name)]
        right: Row = [("reward ", "dim"), (number(sample.reward, missing="–"), "strong")]
        if sample.length is not None:
            right.append((f" · {sample.length} tokens", "dim"))
        if sample.truncated is not None:
            right.append((" · ! cut at the limit", "warn") if sample.truncated else (" · complete", "dim"))
        lines: list[Row] = [[(f" {line}", "fg")] for line in _wrapped(sample.completion or "", width - 1)]
        if sample.completion is None:
            lines = [[(" the dump holds no text", "dim")]]
        elif not sample.completion.strip():
            lines = [[(" (empty)", "warn")]]
        if sample.seen_by_reward is not None:
            lines += [[], [(" the reward saw ", "dim"), (cut(sample.seen_by_reward, width - 17), "fg")]]
        for key, value in sample.extra.items():
            lines.append([(f" {key} ", "dim"), (cut(value, max(4, width - len(key) - 3)), "fg")])
        for key, score in sample.components.items():
            lines.append([(f" {key} ", "dim"), (number(score), "fg")])
        start = max(0, min(self.line, len(lines) - height + 1))
        shown = lines[start : start + height - 1]
        below = len(lines) - start - len(shown)
        if below > 0 and shown:
            shown[-1] = [(f" … {below + 1} lines more", "dim")]
        return [title(width, "", name, right), *shown]

    # -- keys ----------------------------------------------------------------------------------------------------

    def leave(self) -> bool:
        if self.end_filter():
            return True
        was, self.zoomed = self.zoomed, False
        return was

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.redraw()

    def action_move(self, by: int) -> None:
        self.row = max(0, min(self.row + by, len(self.pairs) - 1))
        self.line = 0
        self.redraw()

    def action_edge(self, end: int) -> None:
        self.action_move(end * len(self.pairs))

    def action_page(self, by: int) -> None:
        self.line = max(0, self.line + by * max(1, self.size.height // 3))
        self.redraw()

    def action_match(self, by: int) -> None:
        self.action_move(by)

    def action_step(self, by: int) -> None:
        """To the next step that has rollouts."""
        if self.page is None or not self.page.entries:
            return
        place = max(0, min(self.page.place + by, len(self.page.entries) - 1))
        step = self.page.entries[place].step
        if place == self.page.place:
            self.rltui.say("no rollouts further on" if by > 0 else "no rollouts before")
        elif step is None:
            self._ask(None)
        else:
            self.rltui.set_cursor(step)
            self._ask(step)

    def action_follow(self) -> None:
        super().action_follow()
        self._ask(None)


@lru_cache(maxsize=8)
def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a completion. Long ones go in pieces: `wrap` would cost the square of a word of 100,000 letters."""
    lines: list[str] = []
    for part in text.split("\n"):
        pieces = [part[at : at + PIECE] for at in range(0, len(part), PIECE)] or [""]
        lines += [line for piece in pieces for line in wrap(piece, width) or [""]]
    return lines


def _words(pair: Pair) -> str:
    group = pair.summary
    marks = f"{'same' if group.zero_variance else ''} {'cut' if group.truncated else ''}"
    texts = " ".join((one.completion or "")[:2000] for one in (pair.best, pair.worst) if one is not None)
    return f"{group.prompt} {marks} {texts}"


def _range(page: Page) -> tuple[float, float]:
    """Lowest and highest reward of the step."""
    bars = page.detail.rewards if page.detail else ()
    return min((one.low for one in bars), default=0.0), max((one.high for one in bars), default=1.0)
