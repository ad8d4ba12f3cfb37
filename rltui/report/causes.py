"""Causes and fixes of a finding as one reads them, on every screen and in every format."""

from __future__ import annotations

from rltui.evidence.model import Cause, Finding, Fix
from rltui.plots.numbers import unpadded
from rltui.report.escape import code, plain

MOST_CAUSES = 3
"""Of a finding in the short report: those that this run supports, else those that nobody could test."""
STANDS = {"supported": "✓", "untestable": "?", "contradicted": "✗"}
AGAINST = {"supported": "", "untestable": "not tested, ", "contradicted": "against it: "}


def likely(finding: Finding) -> tuple[Cause, ...]:
    """The causes that are worth a line: none that the run contradicts, and no untested one beside a supported one."""
    supported = [cause for cause in finding.causes if cause.status == "supported"]
    return tuple(supported or [cause for cause in finding.causes if cause.status == "untestable"])[:MOST_CAUSES]


def cause_line(cause: Cause) -> str:
    """`✓ Learning rate too high: `lr = 1e-05` (learning rate 1e-6 → 1e-5 at step 100)`."""
    tied = ""
    if cause.config_key is not None:
        unset = f"{code(cause.config_key)} not set in this config"
        tied = f": {unset if cause.value is None else code(cause_setting(cause))}"
    because = f" ({AGAINST[cause.status]}{plain(cause.because)})" if cause.because else ""
    if quotes_setting(cause):
        tied, because = "", f": {AGAINST[cause.status]}{plain(cause.because)}"
    return f"{STANDS[cause.status]} {plain(cause.text)}{tied}{because}"


def cause_setting(cause: Cause) -> str:
    """`actor.optim.lr = 1e-5`; empty if it rests on no setting, or on one that is not set."""
    if cause.config_key is None or cause.value is None:
        return ""
    return f"{cause.config_key} = {_shown(cause.value)}"


def quotes_setting(cause: Cause) -> bool:
    """Whether its proof begins with the setting that it rests on, as `num_generations = 2 (below 8)` does."""
    setting = cause_setting(cause)
    return bool(setting) and f"{cause.because} ".startswith(f"{setting} ")


def same_change(fix: Fix) -> tuple[str | None, str]:
    """What fixes of several findings share if they are the same change."""
    return (None, fix.act) if fix.act else (fix.config_key, fix.text)


def fix_setting(fix: Fix) -> str:
    """`actor.optim.lr: 1e-05 → 3.3e-06`; the keys alone if the value now is not known; empty without a key."""
    if fix.config_key is None or fix.value is None or fix.to is None:
        return fix.config_key or ""
    return f"{fix.config_key}: {_shown(fix.value)} → {_shown(fix.to)}"


def _shown(value: str | float | bool) -> str:
    return unpadded(f"{value:g}" if isinstance(value, float) else str(value))
