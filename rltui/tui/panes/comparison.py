"""The parts of a comparison: seeds, settings, what to run next, equal budgets, two configs, notes, curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import number, percent
from rltui.prose import counted
from rltui.tui.rows import Row, clip, cut, put, title, wrap

if TYPE_CHECKING:
    from rltui.compare.model import Comparison, ConfigDiff, Replicates
    from rltui.plots.glyphs import GlyphSet


def cost_word(name: str) -> str:
    """The name of a cost, as the head of a narrow column."""
    from rltui.compare.plot import COST_WORDS

    return {"gpu_hours": "GPU h"}.get(name, COST_WORDS[name])


def bullets(lines: list[str], width: int, mark: str = "·") -> list[Row]:
    rows: list[Row] = []
    for text in lines:
        for i, line in enumerate(wrap(text, width - 4)):
            rows.append([(f" {mark} " if i == 0 else "   ", "dim"), (line, "fg")])
    return rows


def settings(c: Comparison, width: int) -> list[Row]:
    rows = bullets([c.signals.note, f"{c.signals.constants} settings are the same in all runs: left out"], width)
    rows += [
        [],
        [
            put(" setting", 40, "dim"),
            *[put(n, 8, "dim", ">") for n in ("n", "rho", "p", "q")],
            ("   mean by value", "dim"),
        ],
    ]
    for item in c.signals.items:
        cells = [
            str(item.n),
            number(item.rho, decimals=2, sign=True, missing="–"),
            number(item.p, missing="–"),
            number(item.q, missing="–"),
        ]
        sure = item.q is not None and item.q < 0.05
        head: Row = [
            put(f" {item.setting}", 40, "strong" if sure else "fg"),
            *[put(x, 8, "fg", ">") for x in cells],
        ]
        bins = [f"{b.value}: {number(b.mean)} (n {b.n})" for b in item.bins]
        if width >= 110:
            rows.append(clip([*head, (f"   {'  '.join(bins)}", "dim")], width))
        else:
            rows += [head, *[[("     ", "fg"), (line, "dim")] for line in wrap("  ".join(bins), width - 6)]]
        if len(item.keys) > 1:
            rows.append([("     ", "fg"), (cut(f"varies exactly like {', '.join(item.keys[1:])}", width - 6), "dim")])
    return rows


def seeds(c: Comparison, width: int) -> list[Row]:
    """Runs with the same settings as one configuration, best first, and what one setting alone does."""
    r = c.replicates
    if len(r.configurations) < 2:
        return bullets(["all runs that count have the same settings, or none has known ones"], width)
    rows = bullets([text for text in (r.settled, _chance(r)) if text], width)
    name = max(20, min(64, width - 48))
    heads = [put(n, w, "dim", ">") for n, w in (("runs", 6), ("mean", 9), ("95 % interval", 19), ("leader better", 14))]
    rows += [[], [put(" settings that differ", name, "dim"), *heads]]
    for one in r.configurations:
        words = ", ".join(f"{key} {value}" for key, value in one.settings.items()) or one.runs[0]
        within = "–" if one.low is None or one.high is None else f"{number(one.low)} to {number(one.high)}"
        row: Row = [put(f" {cut(words, name - 2)}", name, "strong" if one.beaten is None else "fg")]
        row += [put(str(len(one.runs)), 6, "fg", ">"), put(number(one.mean), 9, "fg", ">"), put(within, 19, "dim", ">")]
        rows.append([*row, put(number(one.beaten, decimals=2, missing="–"), 14, "fg", ">")])
    sure = [one for one in r.effects if one.q <= 0.05]
    if r.effects:
        none = f"{counted(len(r.effects), 'change')} of one setting tried, none goes with the metric"
        rows += [[], [(" one setting changed, all else the same" if sure else f" {none}", "dim")]]
    for change in sure:
        what = f" {change.setting} {change.before} → {change.after}"
        within = f"{number(change.value, sign=True)} ({number(change.low)} to {number(change.high)})"
        rows.append(
            [put(cut(what, name - 1), name, "strong"), put(within, 34, "fg", ">"), (f"   q {number(change.q)}", "dim")]
        )
    if r.left_out:
        told = ", ".join(f"{run} {why}" for run, why in r.left_out.items())
        rows += [[], *[[(" ", "fg"), (line, "dim")] for line in wrap(f"not in them: {told}", width - 2)]]
    return [clip(row, width) for row in rows]


def _chance(r: Replicates) -> str:
    return "" if r.sd is None else f"from run to run with the same settings: {number(r.sd)}, pooled"


def run_next(c: Comparison, width: int) -> list[Row]:
    rows: list[Row] = []
    for n, e in enumerate(c.experiments, 1):
        rows.append([(f" {n} ", "accent"), (cut(e.title, width - 4), "strong")])
        change = "" if e.setting is None else f"{e.setting}: {e.before or 'not set'} → {e.after or 'see above'}"
        said = ("from", e.base or ""), ("change", change), ("why", e.why), ("expected", e.expected)
        for word, text in (*said, ("refuted if", e.refuted_by), ("cost", e.cost)):
            for i, line in enumerate(wrap(text, width - 20)):
                rows.append([put(f"   {word}" if i == 0 else "", 17, "dim"), (line, "fg")])
        rows.append([])
    if not c.experiments:
        rows = [[(" no run is healthy enough to start from: fix what limits them first", "dim")]]
    rows += [title(width, "", "Best default config"), *difference(c.best_default, width)]
    return rows


def budget(c: Comparison, width: int, own: str) -> list[Row]:
    from rltui.compare.plot import cost_text

    known = [(n, budget) for n, budget in c.equal_budget.items() if budget is not None]
    name_w = min(34, max((len(run.id) for run in c.runs), default=10) + 1)
    head = [put(" run", name_w + 1, "dim")]
    head += [put(f"{cost_text(n, b)} {'' if n == 'hours' else cost_word(n)}", 14, "dim", ">") for n, b in known]
    head.append(("   against the band of the others", "dim"))
    rows: list[Row] = [head]
    for run in c.runs:
        if run.best is None:
            continue
        row: Row = [put(f" {run.id}", name_w + 1, "strong" if run.path == own else "fg")]
        row += [put(number(run.at_equal[n], missing="–"), 14, "fg", ">") for n, _ in known]
        b = run.band
        if b is not None:
            since = f", behind since {b.behind_since}" if b.behind_since is not None else ""
            since = f", ahead since {b.ahead_since}" if b.ahead_since is not None else since
            row.append(
                (f"   inside {percent(b.inside)} of {b.steps} steps{since}", "warn" if "behind" in since else "dim")
            )
        else:
            row.append(("   fewer than four others: no band", "dim"))
        rows.append(clip(row, width))
    return rows


def difference(diff: ConfigDiff | None, width: int) -> list[Row]:
    if diff is None:
        return [[(" none", "dim")]]
    side = max(12, (width - 4) // 4)
    key_w = width - 2 * side - 4
    rows: list[Row] = [
        [put(" key", key_w, "dim"), put(diff.a, side, "strong"), (" ", "fg"), put(diff.b, side, "strong")]
    ]
    for change in diff.changes:
        left, right = (put("–" if x is None else x, side, "dim" if x is None else "fg") for x in (change.a, change.b))
        rows.append([put(f" {change.key}", key_w - 1), (" ", "fg"), left, (" ", "fg"), right])
    return [*rows, [(f" {diff.same} keys are the same", "dim")]]


def notes(c: Comparison, width: int) -> list[Row]:
    spread_ = "" if c.spread is None else "worst {}, median {}, best {}".format(*map(number, c.spread))
    flags = ", ".join(f"{word} {count}" for word, count in c.flag_counts.items())
    return bullets([x for x in (*c.cautions, spread_, flags, *c.notes, *c.limits, *c.readings) if x], width)


def curves(c: Comparison, own: str | None, here: str | None, width: int, height: int, glyphs: GlyphSet) -> list[Row]:
    """The metric of all runs over the steps on one axis: the selected run and the one that is open stand out. `own`,
    `here`: their ids."""
    from rltui.plots.chart import Line, draw

    drawn = {name: points for name, points in c.curves.items() if points}
    roles = dict.fromkeys(drawn, "faint") | {own or "": "warn"} | {here or "": "accent"}
    order = sorted(drawn, key=lambda name: (name == here, name == own))  # the last one is on top
    lines = [Line([x for x, _ in drawn[name]], [y for _, y in drawn[name]], role=roles[name]) for name in order]
    legend: Row = []
    for name, role, what in ((here, "accent", "selected"), (own if own != here else None, "warn", "this run")):
        if name in drawn:
            legend += [("━ ", role), (f"{cut(name or '', 28)}, {what}   ", "dim")]
    others = len(drawn.keys() - {own, here})
    legend += [("━ ", "faint"), (f"{others} others", "dim")] if others else []
    head = title(width, "", f"{c.primary.label} over steps", legend)
    if not lines:
        return [head, [("   no run logged it", "dim")]]
    return [head, *(list(row) for row in draw(lines, width, height - 1, glyphs=glyphs).rows)]
