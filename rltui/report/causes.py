"""Causes and fixes of a finding as text, the same on every screen and in every format."""

from __future__ import annotations

from rltui.evidence.model import Cause, Finding, Fix
from rltui.plots.numbers import setting_value
from rltui.prose import ended
from rltui.report.escape import code, plain

MOST_CAUSES = 3
"""The number of causes of a finding in the short report: those that this run supports, or else untested ones."""
STANDS = {"supported": "✓", "untestable": "?", "contradicted": "✗"}
WORDS = {"supported": "Proof", "untestable": "Not tested", "contradicted": "Against it"}


def likely(finding: Finding) -> tuple[Cause, ...]:
    """The causes that are worth a line: none that the run contradicts, and no untested one if another is supported."""
    supported = [cause for cause in finding.causes if cause.status == "supported"]
    return tuple(supported or [cause for cause in finding.causes if cause.status == "untestable"])[:MOST_CAUSES]


def cause_line(cause: Cause) -> str:
    """`✓ Learning rate too high. Proof: `lr = 1e-05`, learning rate 1e-6 → 1e-5 at step 100`."""
    setting = cause_setting(cause)
    proof = [code(setting)] if setting and setting not in cause.because else []
    proof += [f"{code(cause.config_key)} not set in this config"] if cause.config_key and cause.value is None else []
    proof += [plain(cause.because)] if cause.because else []
    told = f" {WORDS[cause.status]}: {', '.join(proof)}" if proof else ""
    return f"{STANDS[cause.status]} {ended(plain(cause.text)) if told else plain(cause.text)}{told}"


def cause_setting(cause: Cause) -> str:
    """`actor.optim.lr = 1e-5`; empty if the cause rests on no setting, or if the setting is not set."""
    if cause.config_key is None or cause.value is None:
        return ""
    return f"{cause.config_key} = {setting_value(cause.value)}"


def quotes_setting(cause: Cause) -> bool:
    """Whether the proof already names the setting, as `num_generations = 2 (below 8)` does."""
    setting = cause_setting(cause)
    return bool(setting) and setting in cause.because


def same_change(fix: Fix) -> tuple[str | None, str]:
    """A key that is equal for fixes of several findings if they are the same change."""
    return (None, fix.act) if fix.act else (fix.config_key, fix.text)


def fix_line(fix: Fix) -> str:
    """What to do, and in brackets the setting that it is about, if there is one."""
    setting = fix_setting(fix)
    return f"{fix.text} ({setting})" if setting else fix.text


def fix_setting(fix: Fix) -> str:
    """`actor.optim.lr: 1e-05 → 3.3e-06`; the keys alone if the value now is not known; empty without a key."""
    if fix.config_key is None or fix.value is None or fix.to is None:
        return fix.config_key or ""
    return f"{fix.config_key}: {setting_value(fix.value)} → {setting_value(fix.to)}"
