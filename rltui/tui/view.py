"""What the screen shows now: the newest report, the step cursor, and the look-ups in the report that panes share.

Nothing is computed here that the report could hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rltui.plots.glyphs import BLOCK, GlyphSet
from rltui.plots.numbers import number
from rltui.report.courses import headed, name_of

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight
    from rltui.evidence.model import BestCheckpoint, Finding
    from rltui.frameworks.schema import Metric
    from rltui.report.model import MetricSummary, Report
    from rltui.report.names import FirstValue, FirstValues
    from rltui.report.recording import Recording, Series
    from rltui.report.user_marks import Marks

ROLE = {"critical": "crit", "warning": "warn", "info": "dim"}
GLYPH = {"critical": "✗", "warning": "!", "info": "·", "resolved": "✓"}
SHOWN_UNITS = {"tokens": "tok", "tokens/s": "tok/s", "tokens/s/GPU": "tok/s", "nats": "nats", "s": "s", "GiB": "GiB"}
"""Units as the screen writes them. Units that the metric's name already says (reward, loss) are left out."""

ASK_AGAIN_S = 10.0
"""An insight for every row of a live run costs too much: it is asked for again only after this many seconds..."""
STILL_ASK_S = 60.0
"""...or after this many if no row comes."""
REPLAY_ASK_S = 1.0
INSIGHTS = 16

STRIDE = 12
"""A growing axis is extended by one part in this many of its length at a time."""


class View:
    """The state of the screen. Only the UI thread uses it. Reports are immutable."""

    def __init__(self, target: str = "", glyphs: GlyphSet = BLOCK) -> None:
        self.target = target
        self.glyphs = glyphs
        self.first: FirstValues | None = None  # until the first report
        self.awaited = ""  # why there is no run yet, while one may come
        self.newest: Report | None = None
        self.past: tuple[int, Report] | None = None  # (step, report as it stood then)
        self.cursor: int | None = None
        self.insights: dict[tuple[int, int | None], Insight] = {}  # (around, step cursor), the newest last
        self.asked: set[tuple[int, int | None]] = set()  # those already asked for the run as it is now
        self._asked_at = 0.0
        self._has_read = False  # whether new rows were read since then
        self.sparks: dict[tuple[str, int, int, int, str], str] = {}  # sparklines of the current report
        self.pages: dict[str, str] = {}  # word -> the page of text on it
        self.replaying = False
        self.sparing = False  # bandwidth mode
        self.marks: Marks | None = None
        self.mark: int | None = None  # the step that `m` marked
        self.paused = False
        self.several = False  # the run was picked from a list, to which Esc leads back
        self.last_rows: int | None = None  # numbers cover only the last this many rows; None: the whole run
        self.now = 0.0
        self.wire = ""
        self.message = ""
        self.message_role = "fg"
        self.flagged: dict[str, Finding] = {}
        self.undrawn: dict[str, str] = {}  # panes that could not be drawn, and the error

    def pane_failed(self, name: str, error: Exception) -> str:
        """Notes that a pane could not be drawn, and returns why, in one line."""
        from rltui.evidence.guard import error_text

        self.undrawn[name] = error_text(error)
        return self.undrawn[name]

    @property
    def recording(self) -> Recording | None:
        """What the newest report was built from."""
        return self.newest.recording if self.newest is not None else None

    def take(self, report: Report) -> None:
        """Shows a new report."""
        before, new = self.recording, report.recording
        if before is None or new.series is not before.series:
            self._has_read = True
            self.sparks.clear()
        if self.newest is not None and self.newest.run.path != report.run.path:
            self.past, self.cursor = None, None
            self.insights.clear()
        if new.loading.done and before is not None and not before.loading.done:
            self.insights.clear()  # they cover only a part of the run
            self.asked.clear()
        self.first, self.newest = None, report
        moving = new.live or (self.replaying and report.run.state == "running")
        again_s = REPLAY_ASK_S if not new.live else ASK_AGAIN_S if self._has_read else STILL_ASK_S
        if not moving or self.now - self._asked_at >= again_s:
            self._asked_at, self._has_read = self.now, False
            self.asked.clear()
        self.settle()

    def leave(self, target: str) -> None:
        """Forgets the run, because another one is being opened."""
        self.first = None
        self.target, self.newest, self.past, self.cursor = target, None, None, None
        self.marks, self.mark, self.flagged, self.last_rows = None, None, {}, None
        self.insights.clear()
        self.asked.clear()

    def learn(self, around: int, at: int | None, insight: Insight) -> None:
        """Keeps an insight: what moved around a step, as known at step `at`."""
        self.insights.pop((around, at), None)
        self.insights[around, at] = insight
        while len(self.insights) > INSIGHTS:
            self.insights.pop(next(iter(self.insights)))

    @property
    def outlook(self) -> Insight | None:
        """The newest insight at the shown step, computed around any step. All but its moves hold for the shown step."""
        known = [insight for (_, at), insight in self.insights.items() if at == self.cursor]
        return known[-1] if known else None

    def acknowledged(self, finding: Finding) -> bool:
        """Whether the user acknowledged it at this severity. One that gets worse is shown as new again."""
        return self.marks is not None and marked(finding) in self.marks.acknowledged

    @property
    def report(self) -> Report | None:
        """The newest report. With a step cursor, the report as it stood at that step, when that is ready."""
        return self.newest if self.cursor is None or self.past is None else self.past[1]

    def settle(self) -> None:
        """Finds the worst open finding for each first metric of a finding. Call it when the report changes."""
        self.flagged = headed(self.report) if self.report else {}

    @property
    def ages(self) -> bool:
        """Whether the header changes with time alone. It shows the age of the last step, or of the last news if the
        machine cannot be reached or a file cannot be read."""
        if self.newest is None:
            return True
        link, stall = self.newest.recording.link, self.newest.recording.stall
        stale = (link is not None and link.state != "connected") or (stall is not None and bool(stall.unread))
        return stale or self.newest.run.state in ("running", "stalled")

    @property
    def span(self) -> tuple[int, int]:
        """First and last step of the shared axis."""
        if self.first is not None:
            return self.first.first_step, self.first.last_step
        steps = self.newest.run.steps if self.newest else None
        if steps is None or steps.first is None or steps.last is None:
            return 0, 0
        return steps.first, steps.last

    def axis(self) -> tuple[int, int]:
        """First and last step of sparklines. While the run goes on, the end moves by several steps at once. Otherwise
        each new step would shift every bar, and every shifted bar is sent to the terminal."""
        first, last = self.span
        if self.newest is None or self.newest.run.state != "running":
            return first, last
        count = last - first + 1
        stride = max(1, count // STRIDE)
        return first, first - 1 + -(-count // stride) * stride

    @property
    def at(self) -> int:
        """The step that the panes show."""
        return self.span[1] if self.cursor is None else self.cursor

    @property
    def worst(self) -> Finding | None:
        """The first open finding, if it is more than a note; None if there is none."""
        open_ones = self.open_findings()
        return open_ones[0] if open_ones and open_ones[0].severity != "info" else None

    def open_findings(self) -> list[Finding]:
        """Open findings. The root of the one that the verdict rests on comes first, then the worst. Each symptom is
        below its root."""
        if self.report is None:
            return []
        found = [f for f in self.report.findings if f.status == "active"]
        heads = {f.id for f in found if f.root is None}
        folded = [f for f in found if f.root in heads]
        roots = [f for f in found if f not in folded]
        because = self.report.verdict.because[:1]
        first = next((f.root or f.id for f in found if f.id in because), None)
        roots.sort(key=lambda f: f.id != first)
        return [
            one for root in roots for one in (root, *(f for f in folded if f.root == root.id and root.root is None))
        ]

    def name_of(self, metric: str) -> str | None:
        """The report's name for a metric that is given by its canonical name or raw key."""
        return name_of(self.report, metric) if self.report else None

    @property
    def listed(self) -> Mapping[str, MetricSummary] | Mapping[str, FirstValue]:
        """The metrics by name: those of the report, or those that were read first, before there is a report."""
        if self.first is not None:
            return self.first.metrics
        return self.report.metrics if self.report else {}

    def metric(self, name: str) -> MetricSummary | None:
        return self.report.metrics.get(name) if self.report else None

    def series(self, name: str) -> Series | None:
        metric = self.metric(name)
        return self.recording.series.get(metric.key) if metric and self.recording else None

    def recent(self, name: str, count: int) -> list[float]:
        """The last `count` values of a metric, the newest last."""
        if self.first is not None:
            return self.first.metrics[name].values[-count:].tolist()
        series = self.series(name)
        return [] if series is None else series.values[-count:].tolist()

    def label(self, name: str) -> str:
        metric = self.listed.get(name)
        if metric is not None and metric.label:
            return metric.label
        from rltui.frameworks.load import metrics  # a metric that is not logged has a label, too

        known = metrics().get(name)
        return known.label if known else name

    def known(self, name: str) -> Metric | None:
        """What the vocabulary knows about a metric; None for a key that it does not know."""
        from rltui.frameworks.load import metrics

        metric = self.metric(name)
        return metrics().get((metric.canonical if metric is not None else None) or name)

    def unit(self, name: str) -> str:
        metric = self.listed.get(name)
        unit = metric.unit if metric else ""
        return "%" if unit == "fraction" else SHOWN_UNITS.get(unit, "")

    def explained(self, name: str) -> str:
        """A metric in one line: its meaning, its unit, how it looks in a healthy run; "" if that is not known."""
        known = self.known(name)
        if known is None:
            return ""
        healthy = known.healthy or (f"usually {known.range}" if known.range else "")
        unit = f"in {known.unit}" if known.unit not in ("", "1", known.group) else ""
        return " · ".join(part for part in (known.meaning, unit, f"healthy: {healthy}" if healthy else "") if part)

    def value(self, name: str, value: float | None, decimals: int | None = None) -> str:
        """A value of a metric as people read it: fractions in percent."""
        if value is not None and self.unit(name) == "%":
            value = 100 * value
        return number(value, decimals=decimals, missing="–")

    def value_at(self, name: str, step: int) -> float | None:
        """The last value logged up to a step; None before the first one, or if it is NaN."""
        series = self.series(name)
        if series is None or not len(series):
            return None
        index = int(series.steps.searchsorted(step, "right")) - 1
        if index < 0:
            return None
        value = float(series.values[index])
        return value if value == value else None

    def time_of(self, step: int) -> float | None:
        """When a step was logged, in seconds since the epoch; None if its rows have no time."""
        times = [
            float(s.times[i])
            for s in (self.recording.series.values() if self.recording else ())
            if (i := int(s.steps.searchsorted(step))) < len(s) and s.steps[i] == step
        ]
        return max((t for t in times if t == t), default=None)

    def now_value(self, name: str) -> float | None:
        """The value at the step cursor, or the newest one."""
        metric = self.listed.get(name)
        if self.cursor is None:
            return metric.last_value if metric else None
        return self.value_at(name, self.cursor)

    def best_step(self) -> int | None:
        best = self.best
        return best.step if best else None

    @property
    def best(self) -> BestCheckpoint | None:
        return self.report.verdict.best_checkpoint if self.report else None


def marked(finding: Finding) -> tuple[str, str, str]:
    return finding.id, finding.subject or "", finding.severity
