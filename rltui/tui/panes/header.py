"""The top line: the run, its progress, whether it is alive, and what it does now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rltui.plots.numbers import duration, integer
from rltui.tui.rows import Row, Segment, cut, length, spread
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.report.recording import StallCard

STATES = {
    "stalled": ("! ", "stalled", "warn"),
    "crashed": ("✗ ", "crashed", "crit"),
    "finished": ("✓ ", "finished", "ok"),
    "unknown": ("? ", "state unknown", "dim"),
}


def age_text(seconds: float) -> str:
    """An age in seconds, then in units of 5 s, minutes, hours, days, so that the text rarely changes and few bytes are
    sent."""
    if seconds < 10:
        return f"{max(0, int(seconds))} s"
    if seconds < 60:
        return f"{int(seconds) // 5 * 5} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} m"
    if seconds < 48 * 3600:
        return f"{int(seconds) // 3600} h"
    return f"{int(seconds) // 86400} d"


def state(view: View, width: int) -> Row:
    """`● live 3 s ago`: the state as glyph, word and colour, and the age of the last step."""
    report, frame = view.newest, view.recording
    if report is None or frame is None:
        return []
    if view.replaying and report.run.state == "running":
        return [("▸ ", "accent"), ("replay", "fg")]
    if not frame.loading.done and frame.loading.total_bytes:
        share = 100 * frame.loading.done_bytes / frame.loading.total_bytes
        size = frame.loading.total_bytes / 1e6
        lead: Segment = ("reading paused at ", "accent") if view.paused else ("reading ", "dim")
        return [lead, (f"{share:.0f} %", "fg"), (f" of {size:.0f} MB" if width >= 120 else "", "dim")]
    if frame.live and frame.link is not None and frame.link.state != "connected":
        stale = age_text(view.now - frame.link.since)
        lost: Row = [("! ", "warn"), (f"stale {stale}", "warn")]
        return [*lost, (f", {frame.link.state}" if width >= 60 else "", "dim")]
    if frame.stall is not None and frame.stall.unread:
        since = f" {age_text(view.now - frame.stall.since)}" if frame.stall.since is not None and view.now > 0 else ""
        why = f", {cut(frame.stall.unread, 60)}" if width >= 120 else ""
        return [("! ", "warn"), (f"stale{since}", "warn"), (why, "dim")]
    seen = report.run.last_row_time
    age = age_text(view.now - seen) if frame.live and seen is not None and view.now > 0 else ""
    if frame.stall is not None and frame.stall.verdict in ("slow", "hung"):
        return stall(view, frame.stall, width)
    if report.run.state == "running":
        row: Row = [("● ", "ok"), ("live" if width >= 120 or not age else "", "fg")]
        if width >= 120 and (phase := under_way(view)) is not None and phase.name:
            return [*row, (f" {phase.name} {age_text(phase.seconds)}", "dim"), (_usually(phase.usual_s), "dim")]
        return [*row, (f" {age} ago" if width >= 120 else age, "dim")] if age else row
    glyph, word, role = STATES.get(report.run.state, STATES["unknown"])
    since = f" {age}" if age and report.run.state == "stalled" else ""
    return [(glyph, role), (word, "fg" if role == "ok" else role), (since, "dim")]


class UnderWay(NamedTuple):
    """What a live run does now. `name`: the phase, empty if the log announces none. `seconds`: since it began, or since
    the last sign of life. `usual_s`, `high_s`: median and 95th percentile of what it takes in this run."""

    name: str
    seconds: float
    usual_s: float | None
    high_s: float | None


def under_way(view: View) -> UnderWay | None:
    """The step or phase that a live run is in. None if the run is not live, not running, or seen in the past."""
    report, frame = view.newest, view.recording
    card = frame.stall if frame is not None and frame.live and frame.loading.done else None
    if report is None or card is None or card.since is None or view.replaying or view.cursor is not None:
        return None
    if view.now <= 0 or report.run.state != "running" or card.verdict not in ("fine", "slow", "hung"):
        return None
    own = {item.key.rsplit("/", 1)[-1]: item.name for item in report.phases.items if item.key}  # as the pane names it
    return UnderWay(own.get(card.phase, card.phase), max(0.0, view.now - card.since), card.usual_s, card.high_s)


def _usually(seconds: float | None) -> str:
    return "" if seconds is None else f", usual {duration(seconds)}"


def stall_words(card: StallCard) -> tuple[str, str, str]:
    """Glyph, word and colour of a step that takes too long."""
    glyph, role = ("✗", "crit") if card.verdict == "hung" and card.sure else ("!", "warn")
    return glyph, "stalled" if card.verdict == "hung" else card.verdict, role


def stall(view: View, card: StallCard, width: int) -> Row:
    """`! stalled 31 m, usual 3 m`, in the colour of that finding's severity."""
    glyph, word, role = stall_words(card)
    row: Row = [(f"{glyph} {word}", role)]
    if card.since is not None and view.now > 0:
        phase = f"{card.phase} " if card.phase and width >= 120 else ""
        row.append((f" {phase}{age_text(view.now - card.since)}", role))
    return [*row, (_usually(card.usual_s), "dim")] if width >= 120 else row


def progress(view: View, width: int, eta: bool = True) -> Row:
    """`step 812 / 2000   41 %   ETA 2 d 15 h`, or the step that is shown, if there is a step cursor."""
    report = view.newest
    if report is None or report.run.steps.last is None:
        return []
    wide, last, total = width >= 120, report.run.steps.last, report.run.steps.total
    gap, slash = ("   ", " / ") if wide else ("  ", "/")
    row: Row = []
    if view.cursor is not None:
        known = view.past is not None and view.past[0] == view.cursor
        row += [("as at step " if wide else "at ", "accent"), (integer(view.cursor), "accent.b")]
        row += [("" if known else " …", "dim"), (" of ", "dim"), (integer(last), "fg")]
    else:
        row += [("step " if wide else "", "dim"), (integer(last), "strong")]
        if total:
            row.append((f"{slash}{integer(total)}{gap}{100 * last / total:.0f} %", "dim"))
        if report.run.eta_s and eta:
            row += [(f"{gap}ETA ", "dim"), (duration(report.run.eta_s), "fg")]
    if view.last_rows is not None:
        row.append((f"{gap}last {view.last_rows} rows" if wide else f"{gap}last {view.last_rows}", "accent"))
    if view.paused:
        row.append((f"{gap}paused", "accent"))
    return [*row, (gap, "fg")]


def who(view: View, width: int) -> Row:
    """`qwen2.5-7b-grpo-math   GRPO · verl 0.7 · node17 · 8×H100`"""
    report = view.report
    if report is None:
        return [(" ", "fg"), (view.target or "rltui", "strong")]
    run = report.run
    known = [run.algorithm, " ".join(part for part in (run.framework, run.framework_version) if part)]
    gpus = report.hardware.gpus
    if gpus:
        known += [", ".join(dict.fromkeys(gpu.node for gpu in gpus if gpu.node)), gpu_kind(view)]
    text = " · ".join(part for part in known if part)
    return [(" ", "fg"), (run.id, "strong"), (f"   {text}" if text and width >= 110 else "", "dim")]


def gpu_kind(view: View) -> str:
    """`8×H100`"""
    gpus = view.report.hardware.gpus if view.report else ()
    if not gpus:
        return ""
    name = (gpus[0].name or "GPU").removeprefix("NVIDIA ").split()
    return f"{len(gpus)}×{name[0] if name else 'GPU'}"


def draw(view: View, width: int, height: int) -> list[Row]:
    return [spread(width - 1, who(view, width), [*progress(view, width), *state(view, width)])]


def crumbs(view: View, width: int, path: tuple[str, ...]) -> list[Row]:
    """The top line of a drill-down: the path to this screen."""
    name = view.report.run.id if view.report else view.target
    right = [*progress(view, min(width, 119), eta=False), *state(view, min(width, 119))]
    room = width - 3 - length(right)
    tries = ((name, path), (cut(name, 20), path), (cut(name, 20), path[-2:]), (cut(name, 12), path[-2:]))
    trails = [_trail(*words) for words in (*tries, (cut(name, 12), path[-1:]), (cut(name, 8), path[-1:]))]
    left = next((trail for trail in trails if length(trail) <= room), trails[-1])
    return [spread(width - 1, left, right)]


def _trail(name: str, path: tuple[str, ...]) -> Row:
    row: Row = [(" ", "fg"), (name, "dim")]
    for i, place in enumerate(path):
        row += [("  ›  ", "dim"), (place, "strong" if i == len(path) - 1 else "dim")]
    return row
