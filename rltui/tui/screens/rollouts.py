"""What the policy wrote at a step: groups by prompt, samples, or one prompt across the steps; two texts side by side.

The worker reads the texts. This screen asks for the selected row and keeps only the page that it gets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.geometry import Region, Size

from rltui.tui.lists import matches
from rltui.tui.messages import RolloutsRead
from rltui.tui.panes import header, rollouts
from rltui.tui.rows import Row, title, wrap
from rltui.tui.screens.base import PaneScreen, Places

if TYPE_CHECKING:
    from rltui.report.rollouts_page import Listed, Query, RolloutPage

SIDE = 46


class RolloutsScreen(PaneScreen):
    """The rollouts of a step. `j k` select a row, `[ ]` the step. Enter goes from a group to its samples, then to its
    prompt across the steps. Tab goes to all samples and to the step's numbers. `< >` sort. `z` gives the two texts the
    whole screen; `^d ^u` scroll them."""

    NAME = "rollouts"
    PANES: ClassVar[tuple[str, ...]] = ("header", "groups", "numbers", "prompt", "left", "right")

    def __init__(self, step: int | None = None) -> None:
        """`step`: its rollouts are shown first. None: those of the step cursor, or the newest."""
        super().__init__()
        self.step = step
        self.page: RolloutPage | None = None
        self.problem = ""
        self.query_: Query | None = None
        self.row = 0
        self.top = 0  # first row of the list in sight
        self.line = 0  # first line of the texts in sight
        self.zoomed = False
        self.counting = False  # the step's numbers have the whole screen
        self._places_before: list[Query] = []  # lists to go back to
        self._asked_pattern = ""
        self._asked_of: tuple[object, bool] | None = None  # the dumps, and whether the run was read to its end

    # -- reading -------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        from rltui.report.rollouts_page import Query

        self.query_ = Query(step=self.view.cursor if self.step is None else self.step)
        self._ask()
        super().on_mount()

    def _ask(self) -> None:
        """Asks the worker for the page of the selected row."""
        frame = self.view.recording
        if frame is None or self.query_ is None:
            return
        pattern = self.pattern or ""
        self._asked_pattern, self._asked_of = pattern, (frame.rollout_files, frame.loading.done)
        passes = partial(matches, pattern) if pattern else None
        self.query_ = replace(self.query_, row=self.row, pattern=pattern, passes=passes)
        self.rltui.worker.rollouts(self, frame.rollout_files, frame.revision, self.query_)

    def redraw(self) -> None:
        """Also asks again when the run is read to its end, because its config says at which length responses are
        truncated. At the newest step it asks again when there is another dump."""
        frame, before = self.view.recording, self._asked_of
        now = None if frame is None else (frame.rollout_files, frame.loading.done)
        newest = self.query_ is not None and self.query_.step is None
        if now is not None and now != before and (before is None or before[1] != now[1] or newest):
            self._ask()
        super().redraw()

    def _list(self, query: Query) -> None:
        """Goes to another list."""
        self.query_ = query
        self.row, self.top, self.line = query.row, 0, 0
        self.counting = False
        self._ask()
        self.redraw()

    def on_rollouts_read(self, message: RolloutsRead) -> None:
        self.page, self.problem = message.page, message.problem
        if self.page is not None and self.query_ is not None:
            answered = self.page.query
            self.query_ = replace(self.query_, listed=answered.listed, order=answered.order)
            self.row = max(0, min(self.row, self.page.total - 1))
        self.redraw()

    # -- places --------------------------------------------------------------------------------------------------

    def places(self, size: Size) -> Places:
        width, height = size
        places = {"header": Region(0, 0, width, 1), "footer": Region(0, height - 1, width, 1)}
        air = 1 if height >= 30 else 0
        y, end = 1 + air, height - 1 - air
        if self.counting or (self.page is not None and not self.page.entries):
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
        places["left"] = Region(1, y, half, end - y)
        places["right"] = Region(1 + half + 3, y, width - 2 - half - 3, end - y)
        return places

    # -- content -------------------------------------------------------------------------------------------------

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        page = self.page
        detail = page.detail if page else None
        if pane == "header":
            where = "" if detail is None else "no step" if detail.step is None else f"step {detail.step}"
            split = "validation" if detail is not None and detail.split == "validation" else ""
            return header.crumbs(self.view, width, tuple(part for part in ("Rollouts", where, split) if part))
        if page is None or detail is None:
            said = page.limitation if page else (self.problem or "reading …",)
            rows: list[Row] = [title(width, "5", "Rollouts", None, True)]
            for text in said if pane == "groups" else ():
                rows += [[(f" {line}", "fg")] for line in wrap(text, width - 2)] + [[]]
            return rows if pane == "groups" else []
        if pane == "groups" and self.counting:
            return rollouts.all_numbers(detail, width, height, self.line)
        if pane == "groups":
            note = f"/{self.pattern}{'▏' if self.typing else ''}" if self.pattern is not None else ""
            shown, self.top = rollouts.listed(self.view, page, self.row, self.top, width, height, note)
            return shown
        if pane == "numbers":
            return rollouts.numbers(detail, width, height)
        if pane == "prompt":
            line = page.line(self.row)
            sample = (page.left or page.right or ("", None))[1]
            return rollouts.prompt(sample, 1 if line is None else line.samples, width)
        side = page.left if pane == "left" else page.right
        name, sample = side if side is not None else ("", None)
        return rollouts.completion(name, sample, width, height, self.line)

    # -- keys ----------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        super().on_key(event)
        if (self.pattern or "") != self._asked_pattern:
            self.row = self.top = 0
            self._ask()

    def leave(self) -> bool:
        if self.end_filter():
            self.row = self.top = 0
            self._ask()
            return True
        if self.zoomed or self.counting:
            self.zoomed = self.counting = False
            return True
        if self._places_before:
            self._list(self._places_before.pop())
            return True
        return False

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.redraw()

    def action_next_list(self, by: int) -> None:
        """Goes to the next of: groups, all samples, the step's numbers."""
        if self.query_ is None:
            return
        views: tuple[Literal["groups", "samples", "numbers"], ...] = ("groups", "samples", "numbers")
        at = 2 if self.counting else 1 if self.query_.listed == "samples" and self.query_.inside is None else 0
        wanted = views[(at + by) % 3]
        self._places_before.clear()
        if wanted == "numbers":
            self.counting, self.line = True, 0
            self.redraw()
        else:
            self._list(replace(self.query_, listed=wanted, inside=None, row=0, reverse=False))

    def action_open(self) -> None:
        """Goes from a group to its samples, from a sample to its prompt across the steps, from there to that step."""
        line = self.page.line(self.row) if self.page else None
        if line is None or self.query_ is None or self.counting:
            return
        here = replace(self.query_, row=self.row)
        if self.query_.listed == "steps":
            self._list(replace(here, step=line.step, listed="groups", inside=None, row=0, reverse=False))
            if line.step is not None:
                self.rltui.set_cursor(line.step)
            self._places_before.clear()
            return
        self._places_before.append(here)
        deeper: Listed = "samples" if self.query_.listed == "groups" else "steps"
        self._list(replace(here, listed=deeper, inside=line.place, row=0, reverse=False))

    def action_sort(self, by: int) -> None:
        from rltui.report.rollouts_page import ORDERS

        if self.query_ is not None:
            orders = ORDERS[self.query_.listed]
            at = orders.index(self.query_.order) if self.query_.order in orders else 0
            self._list(replace(self.query_, order=orders[(at + by) % len(orders)], row=0))

    def action_reverse(self) -> None:
        if self.query_ is not None:
            self._list(replace(self.query_, reverse=not self.query_.reverse, row=0))

    def action_move(self, by: int) -> None:
        if self.counting:
            self.line = max(0, self.line + by)
        elif self.page is not None:
            self.row = max(0, min(self.row + by, self.page.total - 1))
            self.line = 0
            self._ask()
        self.redraw()

    def action_edge(self, end: int) -> None:
        self.action_move(end * (self.page.total if self.page else 0))

    def action_page(self, by: int) -> None:
        self.line = max(0, self.line + by * max(1, self.size.height // 3))
        self.redraw()

    def action_step(self, by: int) -> None:
        """Goes to the next or previous step that has rollouts."""
        if self.page is None or not self.page.entries or self.query_ is None:
            return
        place = max(0, min(self.page.place + by, len(self.page.entries) - 1))
        step = self.page.entries[place].step
        if place == self.page.place:
            self.rltui.say("no rollouts at later steps" if by > 0 else "no rollouts at earlier steps")
            return
        if step is not None:
            self.rltui.set_cursor(step)
        listed = "groups" if self.query_.inside is not None else self.query_.listed
        self._places_before.clear()
        self._list(replace(self.query_, step=step, listed=listed, inside=None, row=0))

    def action_follow(self) -> None:
        super().action_follow()
        if self.query_ is not None:
            self._list(replace(self.query_, step=None, row=0))
