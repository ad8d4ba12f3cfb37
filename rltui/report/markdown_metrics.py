"""Section 2 of the Markdown report: the table of metrics, what the reward means here, and the plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rltui.evidence.model import Finding
from rltui.evidence.shapes import CONSTANT
from rltui.frameworks.load import dialect
from rltui.frameworks.resolve import own_trap
from rltui.plots.numbers import NOT_AVAILABLE, number
from rltui.prose import counted, listed
from rltui.report.answer import metric_called
from rltui.report.courses import change_in_words, from_peak, headed_keys
from rltui.report.escape import code, fenced, plain, table
from rltui.report.model import MetricSummary, Report
from rltui.run.table import Series

GROUPS = (
    *("reward", "validation", "drift", "policy", "length", "speed", "memory", "mismatch", "critic", "tools"),
    *("off-policy", "preference", "progress", "other"),
)
SPARK = 50
CHART_WIDTH, CHART_HEIGHT = 78, 10

UNITS_UNSAID = ("", "-", "1", "reward", "score", "loss", "norm", "value", "advantage", "fraction", "ratio", "count")
"""Units that are not shown because the metric's name already says them."""

NOT_DRAWN = (CONSTANT, "nothing finite")

KL_IN_REWARD = "reward has the KL penalty taken off (score − β·KL): read the task score beside it, not the reward alone"
SWITCH = "use_kl_loss"
KL_IN_LOSS = (
    "the KL term is in the loss: the reward is the task score, and drift shows in KL, clip fraction, gradient norm"
)


def metric_label(report: Report, name: str) -> str:
    """The short name of a metric (given by its name in the report or its raw key), escaped; else that key itself."""
    summary = report.metrics.get(name) or next((m for m in report.metrics.values() if m.key == name), None)
    if summary is None or summary.canonical is None:
        return code(name)
    return plain(metric_called(summary))


def section(report: Report) -> list[str]:
    """Every metric in a table, what moved, what is easily misread, and the plots."""
    if not report.metrics:
        return ["No metric rows yet."]
    ordered = sorted(report.metrics.items(), key=lambda item: _group(item[1]))
    known = [(name, m) for name, m in ordered if m.canonical is not None]
    own = [(name, m) for name, m in ordered if m.canonical is None]
    about = headed_keys(report)
    lines = [
        "Windows are means of the first, middle and last max(5, 10 %) of a metric's points. Change is first → last "
        "window, of few points first → newest value, of what has turned and a finding tells of middle → last. "
        "Slope per 100 steps, corr with the step. Left out: rows of a failing grader, or of one with another scale.",
        "",
    ]
    note = reward_note(report)
    if note:
        lines += [f"Note: {note}.", ""]
    rewards = report.outlook.rewards if report.outlook is not None else None
    if rewards is not None and rewards.binary is not None:
        lines += [f"Values of the reward: {plain(rewards.text)}.", ""]
    lines += [*_table(known, about), "", *_moved(report), *_constants(known)]
    if own:
        lines += ["Keys without a known meaning:", "", *_table(own, about), "", *_constants(own)]
    return lines + _traps(report, known) + _plots(report, known)


def _moved(report: Report) -> list[str]:
    """The metrics that moved since the start, whether or not the verdict uses them."""
    return ["Moved since the start:", "", *(f"- {plain(one.text)}" for one in report.moved), ""] if report.moved else []


def _traps(report: Report, metrics: list[tuple[str, MetricSummary]]) -> list[str]:
    """What is easily misread, once for each metric."""
    told: dict[str, str] = {}
    step = own_trap("step", report.recording.run.dialect, report.run.framework_version)
    if step:
        told[step] = f"- step: {step}"
    for name, m in metrics:
        if m.trap and m.trap not in told:
            told[m.trap] = f"- {_label(name, m)} ({code(m.key)}): {m.trap}"
    return ["Easily misread in this framework and version:", "", *told.values(), ""] if told else []


def reward_note(report: Report) -> str:
    """What the logged reward contains, depending on where this config puts the KL penalty. Empty if that is not known:
    a coefficient alone shows it only in a framework that has one place for it. Preference training has no such term."""

    def on(name: str) -> bool:
        entry = report.config.get(name)
        return entry is not None and entry.active and entry.value not in (None, False, 0, 0.0, "", "False", "false")

    if on("kl_in_reward") or on("kl_coef_reward"):
        return KL_IN_REWARD
    if on(SWITCH):
        return KL_IN_LOSS
    pairs = any(name.startswith("dpo_") for name in report.metrics)
    by_coefficient = report.run.framework is not None and not dialect(report.recording.run.dialect).config.get(SWITCH)
    return KL_IN_LOSS if on("kl_coef_loss") and by_coefficient and not pairs else ""


def course_head(metrics: Sequence[MetricSummary], about: Mapping[str, Finding]) -> str:
    """What the numbers of these lines are, and how many rows of which metrics they leave out."""
    head = "Means of the first, middle and last windows, then the newest value and the change"
    if any(from_peak(m, about.get(m.key)) for m in metrics):
        head += ", of what has turned from where it turned"
    if any(m.overlap for m in metrics):
        head += ". Of few values the first and the newest"
    left_out = [f"{counted(m.left_out, 'row')} of {metric_called(m)}" for m in metrics if m.left_out]
    if left_out:
        head += f". The means leave out what a failing grader, or one of another scale, gave: {listed(left_out)}"
    return f"{head}:"


def _constants(metrics: list[tuple[str, MetricSummary]]) -> list[str]:
    """Metrics that never moved, or were logged once, in one line instead of rows."""
    lines = []
    for head, wanted in (("Constant throughout", _constant), ("Logged once", _once)):
        said = [f"{_label(name, m)} {_number(m.last)}" for name, m in metrics if wanted(m)]
        if said:
            lines += [f"{head}: {', '.join(said)}.", ""]
    return lines


def _constant(summary: MetricSummary) -> bool:
    return summary.shape == CONSTANT and not summary.nan


def _once(summary: MetricSummary) -> bool:
    return summary.count == 1 and not summary.nan


def _label(name: str, summary: MetricSummary) -> str:
    return plain(metric_called(summary)) if summary.canonical is not None else code(name)


def _table(metrics: list[tuple[str, MetricSummary]], about: Mapping[str, Finding]) -> list[str]:
    head = ["metric", "first", "mid", "last", "change", "slope", "corr", "min", "max", "shape", "key"]
    rows = []
    for name, m in metrics:
        if _constant(m) or _once(m):
            continue
        unit = f" ({plain(m.unit)})" if m.unit not in UNITS_UNSAID else ""
        gaps = [f"{m.nan} not finite" if m.nan else "", f"{m.left_out} left out" if m.left_out else ""]
        rows.append(
            [
                _label(name, m) + unit,
                *(_number(value) for value in (m.first, m.mid, m.last)),
                change_in_words(m, about.get(m.key)) or NOT_AVAILABLE,
                _number(m.slope_per_100_steps, sign=True),
                number(m.corr_step, decimals=2, sign=True, missing=NOT_AVAILABLE),
                _number(m.min),
                _number(m.max),
                plain(", ".join(part for part in (m.shape, *gaps) if part)),
                code(m.key),
            ]
        )
    return table(head, rows, "lrrrrrrrr")


def _number(value: float | None, sign: bool = False) -> str:
    return number(value, sign=sign, missing=NOT_AVAILABLE)


def _group(summary: MetricSummary) -> int:
    return GROUPS.index(summary.group) if summary.group in GROUPS else len(GROUPS)


def _plots(report: Report, known: list[tuple[str, MetricSummary]]) -> list[str]:
    first, last = report.run.steps.first, report.run.steps.last
    series = report.recording.series
    drawable = _distinct([(m, series[m.key]) for _, m in known if m.key in series])
    if first is None or last is None or not drawable:
        return []
    return [*fenced(_sparklines(report, drawable, first, last)), "", *_charts(report)]


def _distinct(metrics: list[tuple[MetricSummary, Series]]) -> list[tuple[MetricSummary, Series]]:
    """The metrics that are worth a row: no constants, no counters, and only the first of those with equal values (such
    as score and reward without shaping)."""
    seen: set[bytes] = set()
    out = []
    for m, series in metrics:
        values = series.values.tobytes()
        if m.shape in NOT_DRAWN or m.group == "progress" or m.count < 2 or values in seen:
            continue
        seen.add(values)
        out.append((m, series))
    return out


def _sparklines(report: Report, drawable: list[tuple[MetricSummary, Series]], first: int, last: int) -> list[str]:
    """One row for each metric on one step axis, with the best checkpoint and the onset of the worst finding above."""
    from rltui.plots.axis import labels, rail
    from rltui.plots.spark import sparkline

    names = [metric_called(m) for m, _ in drawable]
    width = min(30, max(len(name) for name in names))
    best = report.verdict.best_checkpoint
    onset = next((f.onset_step for f in report.findings if f.status == "active" and f.severity != "info"), None)
    marks = [(float(best.step), "◆")] if best is not None else []
    if onset is not None:
        marks.append((float(onset), "▼"))
    lines = [" " * (width + 2) + labels(first, last, SPARK)]
    if marks:
        legend = ([f"◆ {best.called}"] if best is not None else []) + ["▼ onset of the worst finding"] * (
            onset is not None
        )
        lines.append(" " * (width + 2) + rail(marks, first, last, SPARK) + "  " + "  ".join(legend))
    group = None
    for label, (m, series) in zip(names, drawable, strict=True):
        if m.group != group:
            group = m.group
            lines.append(group.upper())
        row = sparkline(series.steps, series.values, SPARK, first, last)
        unit = m.unit if m.unit not in UNITS_UNSAID else ""
        lines.append(f"{label[:width]:<{width}}  {row}  {number(m.last_value, missing='NaN')} {unit}".rstrip())
    return lines


def _charts(report: Report) -> list[str]:
    """The evidence of the worst finding, then the score: at most two metrics, with onset and best checkpoint."""
    from rltui.plots.chart import ChartMark, Line, chart

    recorded = report.recording.series
    worst = next((f for f in report.findings if f.status == "active" and f.severity != "info"), None)
    keys = [e.key for e in worst.evidence] if worst is not None else []
    score = report.metrics.get("score_mean") or report.metrics.get("reward_mean")
    keys += [score.key] if score is not None else []
    shown = list(dict.fromkeys(key for key in keys if key in recorded and len(recorded[key]) > 2))[:2]
    best = report.verdict.best_checkpoint
    marks = [ChartMark(best.step, "best")] if best is not None else []
    if worst is not None and worst.onset_step is not None:
        marks.append(ChartMark(worst.onset_step, "onset"))
    called = {m.key: metric_called(m) for m in report.metrics.values()}
    lines: list[str] = []
    for key in shown:
        series = recorded[key]
        smooth = max(1, len(series) // 50)
        line = Line(series.steps, series.values, smooth=smooth, dots=smooth > 1)
        drawn = chart(line, width=CHART_WIDTH, height=CHART_HEIGHT, marks=marks)
        lines += [*fenced([f"{called.get(key, key)}  ({key})", *drawn]), ""]
    return lines
