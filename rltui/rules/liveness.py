"""The run as it is now: whether it still runs, was restarted, and logs enough."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec.structs import replace

from rltui.evidence.beside_rows import Standing
from rltui.evidence.look import Look
from rltui.evidence.model import Cause, Fix, Mark
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import sd_d
from rltui.frameworks.load import metrics
from rltui.prose import capital, listed, sentence
from rltui.readers.base import Note
from rltui.rules.base import Memory, Params, rule
from rltui.run.attempts import Crash, ended_by, innermost, repeated
from rltui.run.run import RunState
from rltui.run.sums import median

GREW = 1.25
"""From this factor on, growth since the start is reported with an end for lack of memory."""
NAMED = 6
"""The most missing metrics that a sentence names."""


LEVEL, BEFORE, PAST_LEAST = 5, 50, 15
"""Rows of a level before and after a restart; the most and the fewest rows of the course before it, with which the
change is compared."""


FIX_FIRST = Fix("Fix the error before the next start: a resume meets it once more", None, "high", "none")
"""The first remedy if one error ended several attempts."""
EARLIEST = Fix("Find the earliest error on any rank: later ones are mostly its consequence", None, "high", "low")
"""The remedy for an error without a named kind of end; a named one has its own remedies."""


@rule("run-crashed", Standing)
def run_crashed(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """The run ended with an error."""
    look, state = seen.look, seen.state
    if state is None or state.state != "crashed":
        return []
    places = (f"step {look.step}", f"row {look.step}") if look.n else ("at the start",)  # rows, if no step is logged
    ended = "" if any(place in state.because for place in places) else f"The run ended {_where(look)}: "
    text = f"{ended}{state.because}."
    crash = state.crash
    stopped = crash is not None and (crash.kind.by_hand or crash.kind.interrupted)
    signal = _now(CRITICAL if (state.quote or state.vanished) and not stopped else WARNING, "", look)
    if crash is not None:
        text += f" {sentence(crash.shown)}" if crash.shown else ""
        text += f" {sentence(state.loop)}" if state.loop else ""
        text += f" {sentence(grown)}" if (grown := _grown(look, crash.kind.metrics)) else ""
        signal = replace(_because(signal, crash, look), marks=(Mark.INTERRUPTED,) if crash.kind.interrupted else ())
    elif state.quote:
        comes_again = ", which comes again at each start" if state.loop else ""
        failed = Cause(f"An error in the program{comes_again}", status="supported", because=_proof(state.error))
        signal = replace(signal, causes=(failed,), fixes=(FIX_FIRST, EARLIEST) if state.loop else (EARLIEST,))
        text += f" {sentence(state.loop)}" if state.loop else ""
    quote = _quote(state) if crash is None or not state.quote else f" “{crash.untold}”"
    return [replace(signal, summary=capital(text) + quote)]


def _because(signal: Signal, crash: Crash, look: Look) -> Signal:
    """The signal, with a named end as its cause and with what to change."""
    line = (crash.said or crash.note).line
    proof = f"line {line} of the log says so" if line else "the log says so"
    return replace(
        signal,
        causes=(Cause(capital(crash.title), status="supported", because=proof),),
        fixes=tuple(Fix(r.text, look.dialect.settings_of(r.lever), r.impact, r.risk) for r in crash.to_do),
    )


@rule("resume-discontinuity", Standing)
def restart_loop(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """The run was restarted repeatedly within few rows, and still runs. The finding of a crashed run itself gives the
    number."""
    look, state, rows = seen.look, seen.state, int(p["rows"])
    recent = look.restarts(rows)
    if len(recent) < p["loop"] or (state is not None and state.state in ("crashed", "finished")):
        return []
    within = f"within {min(rows, look.n)} rows, last" if look.n > 1 else "and left one row, last"
    text = f"The run was restarted {len(recent)} times {within} at step {recent[-1]}."
    signal = Signal(WARNING, text, onset_step=recent[0])
    last, times = repeated(seen.ends)
    if last is None:
        return [signal]
    return [_because(replace(signal, summary=f"{text} {sentence(ended_by(last, times))}"), last, look)]


def _proof(error: Note | None) -> str:
    """Where the log shows an error, and in which code it was raised."""
    if error is None or not error.line:
        return "the log shows it"
    place, _, function = innermost(error.frames).rpartition(" ")
    raised = f"in {function} ({place})" if function[:1] != "<" else f"at {place}"  # <module> is not a function
    return f"line {error.line} of the log shows it{f', raised {raised}' if place else ''}"


def _grown(look: Look, names: Sequence[str]) -> str:
    """Which of these metrics had grown, from first to last window, in words."""
    told = []
    for name in names:
        course = look.facts.course(name)
        effect = course.since_start if course is not None else None
        if course is None or effect is None or effect.direction <= 0 or course.last < GREW * course.first:
            continue
        unit = metrics()[name].unit
        told.append(f"{metrics()[name].label} had grown from {num(course.first)} to {num(course.last)} {unit}".rstrip())
    return listed(told)


@rule("run-stalled", Standing)
def run_stalled(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """The run stands still although it should go on: it is watched, or its process or scheduler reports that it runs.
    If nobody watched the log and it merely ends, that is a state of the run, not a finding."""
    look, state = seen.look, seen.state
    if state is None or state.state != "stalled" or not (state.followed or state.expected):
        return []
    text = f"No new row since the one {_where(look)}: {state.because}.{_quote(state)}"
    return [_now(CRITICAL if state.sure else WARNING, text, look)]


def _where(look: Look) -> str:
    planned = look.settings.planned_steps
    return f"at step {look.step}" + (f" of {planned}" if planned else "") if look.n else "before the first step"


def _quote(state: RunState) -> str:
    return f" “{state.quote}”" if state.quote else ""


def _now(level: int, text: str, look: Look) -> Signal:
    """A signal that the log, the process or the clock shows, not a metric."""
    return Signal(level, text, onset_step=look.step if look.n else None)


def _elsewhere(look: Look) -> str:
    """Words for where the metrics may be, if only text was found."""
    loggers, printing = look.settings.config.get("loggers"), look.dialect.conventions.printing_logger
    if loggers is not None and printing is not None:
        names = list(map(str, loggers.value if isinstance(loggers.value, list) else [loggers.value]))
        if printing not in names:
            listed = ", ".join(names)
            return f"{loggers.key} sends them to {listed} only: name that directory too, or log to the console as well"
    return "only text, or a logger that writes elsewhere"


@rule("logging-coverage-gap", Standing)
def logging_coverage_gap(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """Advice if too few of the expected metrics are logged; it never changes the verdict."""
    coverage, look = seen.coverage, seen.look
    share = coverage.present / coverage.expected if coverage.expected else 1.0
    if look.n and share >= p["least"]:
        return []
    if not look.n:
        return [Signal(NOTICE, f"No metric row was found: {_elsewhere(look)}.")]
    named = [m.named for m in coverage.missing]
    names = ", ".join(named[:NAMED]) + (f" and {len(named) - NAMED} more" if len(named) > NAMED else "")
    text = f"{coverage.present} of {coverage.expected} expected metrics are logged. Missing: {names}."
    return [Signal(NOTICE, text, onset_step=int(look.steps[0]))]


@rule("resume-discontinuity", Look)
def resume_discontinuity(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A restart within the window. A warning if reward, KL or gradient jump there. Repeated restarts have a detector of
    their own (`restart_loop`)."""
    rows = int(p["rows"])
    recent = look.restarts(rows)
    if not recent:
        return []
    step = recent[-1]
    jumps = []
    for name in (look.reward, "kl_ref", "grad_norm"):
        series = look.series(name)
        if series is None:
            continue
        at = int(np.searchsorted(series.steps, step))
        past, after = series.values[max(0, at - BEFORE) : at], series.values[at : at + LEVEL]
        noise = sd_d(past)
        if len(past) >= PAST_LEAST and len(after) == LEVEL and noise > 0:
            means = np.convolve(past, np.full(LEVEL, 1.0 / LEVEL), "valid")
            steps = means[LEVEL:] - means[:-LEVEL]  # what the metric did by itself, from level to level
            usual = median(steps)
            beyond = float(after.mean() - means[-1]) - usual
            z = abs(beyond) / (noise * sqrt(2.0 / LEVEL))
            if z > p["z"] and abs(beyond) > p["beyond"] * float(np.abs(steps - usual).max()):
                text = f"jumps from {num(float(means[-1]))} to {num(float(after.mean()))}"
                jumps.append((z, name, text))
    jumps.sort(reverse=True)
    text = f"The run was resumed at step {step}. Where steps are logged twice, the later value counts."
    if jumps:
        _, name, jump = jumps[0]
        text = f"The run was resumed at step {step}, and {metrics()[name].label} {jump} there."
    level = WARNING if jumps else NOTICE
    proofs = tuple((name, jump) for _, name, jump in jumps)
    return [Signal(level, text, proofs or ((look.reward, "continues"),), onset_step=step, until=step)]
