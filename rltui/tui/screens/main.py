"""The main screen: header, verdict, pipeline, findings, and metrics beside step time, GPU and log."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.geometry import Region, Size

from rltui.tui import panes
from rltui.tui.lists import Order
from rltui.tui.rows import Row
from rltui.tui.screens.base import Pane, PaneScreen, Places, stacked

if TYPE_CHECKING:
    from textual.events import MouseMove

    from rltui.evidence.model import Finding

ORDER = ("findings", "metrics", "phases", "gpu", "log")
SCREENS = ("phases", "gpu", "log")
"""Panes that zoom to another screen."""
WIDE, TALL = 120, 40


class MainScreen(PaneScreen):
    """The screen at the start, with all panes."""

    NAME = "main"
    PANES: ClassVar[tuple[str, ...]] = ("header", "verdict", "pipeline", *ORDER)

    def __init__(self) -> None:
        super().__init__()
        self.focus_on = "findings"
        self.zoomed = False
        self.everything = False  # also resolved findings, and checks that could not run
        self.finding = 0
        self.metric: str | None = None
        self.tops = dict.fromkeys(ORDER, 0)
        self.owners: dict[str, dict[int, int] | dict[int, str]] = {}
        self.order = Order()

    def start_over(self) -> None:
        """Clears selection, zoom, scroll positions and filter, for another run."""
        self.finding, self.metric, self.zoomed = 0, None, False
        self.tops = dict.fromkeys(ORDER, 0)
        self.end_filter()

    # -- places --------------------------------------------------------------------------------------------------

    def places(self, size: Size) -> Places:
        width, height = size
        if self.zoomed:
            gap = 1 if height >= 30 else 0
            places = stacked(size, [("header", 1), ("", gap)])
            places[self.focus_on] = Region(1, 1 + gap, width - 2, height - 2 - 2 * gap)
            return places | {"footer": Region(0, height - 1, width, 1)}
        return self._wide(size) if width >= WIDE else self._narrow(size)

    def _wide(self, size: Size) -> Places:
        width, height = size
        inset = width - 2
        air = 1 if height >= 30 else 0
        want = self._needed("findings")
        found = min(want, max(3, height // 3 - 3))
        verdict = self._needed("verdict")
        head = [("header", 1), ("", air), ("verdict", verdict), ("", air), ("pipeline", 1), ("", air)]
        places = stacked(size, head)
        y = 2 + verdict + 3 * air
        places["findings"] = Region(1, y, inset, found)
        y += found + air
        body = height - 1 - air - y
        side = 80 if width >= 260 else 64 if width >= 200 else 52 if width >= 150 else 43
        places["metrics"] = Region(1, y, inset - side - 3, body)
        x = width - 1 - side
        heights = self._side(body)
        for name, rows in heights:
            if rows:
                places[name] = Region(x, y, side, rows)
            y += rows + (1 if rows else 0)
        return places | {"footer": Region(0, height - 1, width, 1)}

    def clocks(self) -> tuple[str, ...]:
        return ("phases",) if panes.header.under_way(self.view) is not None else ()

    def _needed(self, pane: str) -> int:
        """Rows that a pane would like to have."""
        view = self.view
        if view.report is None:
            return panes.opening.NEEDED[pane]
        if pane == "verdict":
            return panes.verdict.needed(view, self.size.height >= TALL)
        if pane == "findings":
            return panes.findings.needed(view, self.everything, self.size.width >= WIDE)
        return panes.phases.needed(view) if pane == "phases" else panes.gpu.needed(view)

    def _side(self, room: int) -> list[tuple[str, int]]:
        """Rows of step time, GPU and log in one column. If room is short, the log loses rows first, then GPU, then step
        time."""
        time, gpus = self._needed("phases"), self._needed("gpu")
        rest = room - time - gpus - 2
        if rest >= 2:
            return [("phases", time), ("gpu", gpus), ("log", rest)]
        if room - time - 1 >= 4:
            return [("phases", time), ("gpu", min(gpus, room - time - 1)), ("log", 0)]
        if room >= 5:
            return [("phases", room - 3), ("gpu", 2), ("log", 0)]
        return [("phases", max(0, room)), ("gpu", 0), ("log", 0)]

    def _narrow(self, size: Size) -> Places:
        width, height = size
        air = 1 if height >= 24 else 0
        want = self._needed("findings")
        found = min(want, max(3, height // 4 + 1))
        tall = height >= TALL
        time = self._needed("phases") if tall else 2
        gpus = min(self._needed("gpu"), 10) if tall else 2
        if height < 22:
            gpus = 0
        events = 6 if tall else 0
        between = 1 if tall else 0
        low = time + gpus + events + between * 2
        rows = height - 1 - 1 - 2 - air - found - air - low - air
        column = [("header", 1), ("verdict", 2), ("", air)]
        places = stacked(size, column)
        places |= stacked(
            size,
            [
                ("findings", found),
                ("", air),
                ("metrics", rows),
                ("", air),
                ("phases", time),
                ("", between),
                ("gpu", gpus),
                ("", between),
                ("log", events),
            ],
            1,
            width - 2,
            3 + air,
        )
        return places | {"footer": Region(0, height - 1, width, 1)}

    def redraw(self) -> None:
        if self.view.report is not None:
            self.rltui.ask_outlook()
        super().redraw()

    # -- content -------------------------------------------------------------------------------------------------

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        view, focus = self.view, self.focus_on == pane
        if view.report is None:
            return panes.opening.draw(view, pane, width, height, focus)
        if pane == "header":
            return panes.header.draw(view, width, height)
        if pane == "verdict":
            return panes.verdict.draw(view, width, height)
        if pane == "pipeline":
            return panes.verdict.pipeline(view, width, height)
        if pane == "findings":
            rows, owners, top = panes.findings.draw(
                view, width, height, focus=focus, selected=self.finding, everything=self.everything, top=self.tops[pane]
            )
            self.owners[pane], self.tops[pane] = owners, top
            return rows
        if pane == "metrics":
            rows, names, top = panes.metrics.draw(
                view,
                width,
                height,
                focus=focus,
                selected=self.metric,
                everything=self.zoomed,
                pattern=self.pattern if self.focus_on == "metrics" else None,
                typing=self.typing,
                top=self.tops[pane],
                order=self.order,
            )
            self.owners[pane], self.tops[pane] = names, top
            return rows
        if pane == "phases":
            return panes.phases.draw(view, width, height, focus=focus)
        if pane == "gpu":
            return panes.gpu.draw(view, width, height, focus=focus, top=self.tops[pane])
        return panes.log.draw(view, width, height, focus=focus, back=self.tops["log"])

    # -- panes ---------------------------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        if name == self.focus_on:
            self.action_zoom()
            return
        self.focus_on = name
        self.zoomed = self.zoomed and name not in SCREENS
        self._settle()
        if not self.zoomed and name in SCREENS and self._hidden(name):
            self.action_zoom()  # because nothing here would show that it has the focus

    def _hidden(self, name: str) -> bool:
        """Whether the terminal is too small for a pane beside the others."""
        place = self.places(self.size).get(name)
        return place is None or place.height <= 0

    def action_next_pane(self, by: int) -> None:
        self.action_pane(ORDER[(ORDER.index(self.focus_on) + by) % len(ORDER)])

    def action_zoom(self) -> None:
        """Findings and metrics grow in place. The others have their own screens."""
        if self.focus_on in SCREENS and self.view.report is not None:
            self.rltui.open_named(self.focus_on)
        else:
            self.zoomed = not self.zoomed
            self._settle()

    def _settle(self) -> None:
        if self.focus_on == "metrics" and self.metric is None:
            names = self.names()
            self.metric = names[0] if names else None
        self.redraw()

    def leave(self) -> bool:
        if self.end_filter():
            return True
        if self.zoomed:
            self.zoomed = False
            return True
        if self.view.cursor is not None:
            self.rltui.follow()
            return True
        return False

    def on_click(self, event: object) -> None:
        pane, y = getattr(event, "widget", None), getattr(event, "y", 0)
        if not isinstance(pane, Pane) or pane.id not in ORDER:
            return
        self.focus_on = pane.id
        owner = self.owners.get(pane.id, {}).get(y)
        if isinstance(owner, int):
            again, self.finding = self.finding == owner, owner
        elif isinstance(owner, str):
            again, self.metric = self.metric == owner, owner
        else:
            again = False
        if again:
            self.action_open()
        self._settle()

    def on_mouse_move(self, event: MouseMove) -> None:
        """Shows the meaning of the metric under the mouse."""
        pane = event.widget
        if not isinstance(pane, Pane):
            return
        owner = self.owners.get(pane.id or "", {}).get(event.y)
        told = Content(panes.metrics.meaning(self.view, owner)) if isinstance(owner, str) else None
        if told != pane.tooltip:
            pane.tooltip = told

    # -- rows ----------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The metrics in the list as it is now."""
        if self.view.report is None:
            return []
        place = self._places.get("metrics")
        height, width = (place.height, place.width) if place else (20, 80)
        found = panes.metrics.lines(
            self.view,
            panes.metrics.list_rows(width, height, self.focus_on == "metrics"),
            everything=self.zoomed,
            pattern=self.pattern or "",
            narrow=width < 90,
            order=self.order,
        )
        return [line.name for line in found if line.kind in ("metric", "constant")]

    def _select(self, index: int) -> None:
        """Selects row `index` of the pane in focus, or the nearest one."""
        pane = self.focus_on
        if pane == "findings":
            count = len(panes.findings.listed(self.view, self.everything))
            self.finding = max(0, min(index, count - 1))
        elif pane == "metrics":
            names = self.names()
            self.metric = names[max(0, min(index, len(names) - 1))] if names else None
        elif pane == "log":
            count = len(panes.log.events(self.view))
            self.tops["log"] = max(0, min(-index, count - 1))
        elif pane == "gpu":
            gpus = self.view.report.hardware.gpus if self.view.report else ()
            self.tops["gpu"] = max(0, min(index, len(gpus) - 1))
        self.redraw()

    def _selected(self) -> int:
        if self.focus_on == "metrics":
            names = self.names()
            return names.index(self.metric) if self.metric in names else -1
        if self.focus_on == "findings":
            return self.finding
        return -self.tops["log"] if self.focus_on == "log" else self.tops[self.focus_on]

    def action_move(self, by: int) -> None:
        self._select(self._selected() + by)

    def action_page(self, by: int) -> None:
        place = self._places.get(self.focus_on)
        self._select(self._selected() + by * max(1, (place.height if place else 10) // 2))

    def action_edge(self, end: int) -> None:
        if end > 0:
            self.rltui.follow()
            self._select(0 if self.focus_on == "log" else 1 << 30)
        else:
            self._select(-(1 << 30) if self.focus_on == "log" else 0)

    def action_filter(self) -> None:
        self.focus_on = "metrics"
        super().action_filter()

    def action_match(self, by: int) -> None:
        if self.pattern is not None and self.focus_on == "metrics":
            names = self.names()
            if names:
                self._select((self._selected() + by) % len(names))
        else:
            self.action_move(by)

    def action_all_findings(self) -> None:
        self.everything = not self.everything
        self.focus_on = "findings"
        self._select(self.finding)

    def action_finding(self, severity: str, by: int) -> None:
        found = panes.findings.listed(self.view, self.everything)
        wanted = [i for i, item in enumerate(found) if item.finding is not None and item.finding.severity == severity]
        if not wanted:
            self.rltui.say(f"no {severity} finding is open")
            return
        if self.finding in wanted and self.focus_on == "findings":
            place = (wanted.index(self.finding) + by) % len(wanted)
        else:
            place = next((i for i, at in enumerate(wanted) if at > self.finding), 0) if by > 0 else -1
        self.focus_on = "findings"
        self._select(wanted[place])

    def _chosen(self) -> Finding | None:
        found = panes.findings.listed(self.view, self.everything)
        return found[self.finding].finding if self.finding < len(found) else None

    def action_acknowledge(self) -> None:
        finding = self._chosen()
        if finding is not None:
            self.rltui.exports.acknowledge(finding)

    def action_knowledge(self) -> None:
        finding = self._chosen()
        if self.focus_on == "metrics" and self.metric is not None:
            self.rltui.open_meaning(self.metric)
        elif finding is not None:
            self.rltui.open_knowledge(finding.id)

    def action_pin(self) -> None:
        if self.focus_on == "metrics" and self.metric is not None:
            self.rltui.exports.pin(self.metric)
        else:
            self.rltui.say("Space pins a metric: press 2 for the metrics first")

    def action_sort(self, by: int) -> None:
        self._sort(self.order.next(by))

    def action_reverse(self) -> None:
        self._sort(self.order.turned())

    def _sort(self, order: Order) -> None:
        """Sorts the list of all metrics, and shows it."""
        self.order, self.focus_on, self.zoomed = order, "metrics", True
        self.rltui.say(f"metrics sorted {order.words}")
        self._settle()

    def action_open(self) -> None:
        if self.view.report is None:
            self.rltui.say("nothing is read yet")
        elif self.focus_on == "findings":
            found = panes.findings.listed(self.view, self.everything)
            item = found[self.finding] if self.finding < len(found) else None
            if item is not None and item.finding is not None:
                self.rltui.open_finding(item.finding.id, item.finding.subject)
            elif item is not None:
                self.rltui.open_named("coverage")
        elif self.focus_on == "metrics":
            if self.metric is not None and self.view.metric(self.metric) is not None:
                self.rltui.open_metric(self.metric)
        else:
            self.action_zoom()
