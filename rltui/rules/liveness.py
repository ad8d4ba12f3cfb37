"""What holds for the run as it stands now: whether it still runs, and whether it logs enough."""

from __future__ import annotations

from rltui.evidence.look import Look
from rltui.evidence.model import Coverage
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal
from rltui.run.run import RunState

PRESENT = ("logging-coverage-gap", "run-crashed", "run-stalled")
"""Rules that judge the run as it stands, beside those that follow its rows."""


def present_signals(state: RunState, look: Look) -> list[tuple[str, Signal]]:
    """Rule id and signal for a run that crashed or stands still."""
    planned = look.settings.planned_steps
    where = f"at step {look.step}" + (f" of {planned}" if planned else "") if look.n else "before the first step"
    quote = f" “{state.quote}”" if state.quote else ""
    proofs = tuple((name, "last rows") for name in (look.reward, "grad_norm") if look.series(name) is not None)
    step = look.step if look.n else None
    if state.state == "crashed":
        level = CRITICAL if state.quote else WARNING
        ended = f"The run ended {where}: " if not look.n or f"step {look.step}" not in state.because else ""
        text = f"{ended}{state.because}.{quote}"
        return [("run-crashed", Signal(level, text[:1].upper() + text[1:], proofs, onset_step=step))]
    if state.state == "stalled":
        level = CRITICAL if state.sure else WARNING  # a log that merely ends may be a copy
        text = f"No new row since the one {where}: {state.because}.{quote}"
        return [("run-stalled", Signal(level, text, proofs, onset_step=step))]
    return []


def _elsewhere(look: Look) -> str:
    """Where the metrics of a run may be of which only text is there."""
    loggers, printing = look.settings.config.get("loggers"), look.dialect.conventions.printing_logger
    if loggers is not None and printing is not None:
        names = list(map(str, loggers.value if isinstance(loggers.value, list) else [loggers.value]))
        if printing not in names:
            listed = ", ".join(names)
            return f"{loggers.key} sends them to {listed} only: name that directory too, or log to the console as well"
    return "only text, or a logger that writes elsewhere"


def coverage_signal(coverage: Coverage, look: Look, least: float) -> Signal | None:
    """Advice where too few of the expected metrics are logged; it never moves the verdict."""
    share = coverage.present / coverage.expected if coverage.expected else 1.0
    if look.n and share >= least:
        return None
    if not look.n:
        return Signal(NOTICE, f"No metric row was found: {_elsewhere(look)}.")
    names = ", ".join(m.metric for m in coverage.missing[:6])
    text = f"{coverage.present} of {coverage.expected} expected metrics are logged; missing: {names}."
    return Signal(NOTICE, text, onset_step=int(look.steps[0]))
