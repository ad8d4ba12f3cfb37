"""Tools and environments: calls that fail, calls that stop, and errors that affect the reward."""

from __future__ import annotations

import numpy as np

from rltui.evidence.beside_rows import Standing
from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.plots.numbers import percent
from rltui.rules.base import Memory, Params, compared, gaining, head, held, rule, tail, validation
from rltui.text import clean

QUOTED = 100


@rule("tool-call-invalid", Look)
def tool_call_invalid(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Share of calls that fail, once the format should have been learnt."""
    name = "tool_failure_rate" if look.series("tool_failure_rate") is not None else "valid_action_ratio"
    x = look.values(name)
    if name == "valid_action_ratio":
        x = 1.0 - x
    if len(x) < 10:
        return []
    now = tail(x, 10)
    eased = now <= p["notice"]
    if eased and not held(look, "tool-call-invalid"):
        return []
    level = EASED if eased else NOTICE
    if len(x) > p["warmup"] and now > p["warn"] and not gaining(look):
        level = CRITICAL if now > p["crit"] else WARNING
    proofs = ((name, "median of the last 10 rows"),)
    what = "fail" if name == "tool_failure_rate" else "are invalid"
    return [Signal(level, f"{percent(now)} of the tool calls {what}.", proofs, moved=name)]


@rule("tool-use-collapse", Look)
def tool_use_collapse(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Tool calls fall to a fraction of their start, without a gain."""
    name = "tool_calls_mean" if look.series("tool_calls_mean") is not None else "num_turns_mean"
    x = look.values(name)
    if name == "num_turns_mean":  # some trainers count the prompt as a turn, all count the answer
        x = np.maximum(0.0, x - (look.dialect.conventions.turns_beside_tools or 1))
    if len(x) < p["rows"] or head(x, 10) < p["useful"]:
        return []
    first, now = head(x, 10), tail(x, 10)
    ratio = now / first
    eased = ratio >= p["notice"]
    if eased and not held(look, "tool-use-collapse"):
        return []
    held_out = validation(look)
    level = EASED if eased else WARNING if ratio < p["gone"] else NOTICE
    if ratio < p["ratio"] and not gaining(look):
        level = CRITICAL if held_out is not None and held_out <= -2.0 else WARNING
    what = "turns beside question and answer, " if name == "num_turns_mean" else ""
    text = f"Tool use fell from {num(first)} to {num(now)} calls a sample, {percent(ratio)} of its start"
    text += f" ({what}{compared(look, name, 10)})."
    return [Signal(level, text, ((name, ""), (look.reward, "")), moved=name)]


@rule("grading-fails", Standing)
def grading_fails(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """The log says in many of the newest rows that answers could not be graded. The log does not give their share, so
    this is only a note. If the reward shows the damage, another rule warns."""
    look, (said, first) = seen.look, seen.ungraded
    if not said:
        return []
    window = min(int(p["rows"]), look.n)
    begin = look.n - window
    rows = np.unique(look.steps.searchsorted(np.array(said, dtype=np.int64), "right"))
    rows = rows[(rows >= begin) & (rows < look.n)]  # a step's row comes after its messages
    if len(rows) < max(p["least"], p["share"] * window):
        return []
    text = f"The log says before {len(rows)} of the last {window} rows that answers could not be graded"
    text += f": “{clean(first, QUOTED)}”. What is not graded mostly counts as wrong."
    return [Signal(NOTICE, text, ((look.reward, ""),), onset_step=int(look.steps[rows[0]]), marks=(Mark.COSTS,))]


@rule("env-errors-contaminate", Look)
def env_errors_contaminate(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Errors of the environment, and whether the reward falls when they rise."""
    name = "error_rate" if look.series("error_rate") is not None else "aborted_ratio"
    errors, reward = look.series(name), look.series(look.reward)
    if errors is None or len(errors) < 10:
        return []
    now = tail(errors.values, 10)
    eased = now <= p["e"]
    if eased and not held(look, "env-errors-contaminate"):
        return []
    against = 0.0
    if reward is not None and len(reward) == len(errors) and len(errors) >= 30:
        a, b = errors.values[-30:], reward.values[-30:]
        against = float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0
    level = EASED if eased else NOTICE
    if now > p["crit"]:
        level = CRITICAL if name == "error_rate" else WARNING
    elif now > p["warn"] and (against < p["against"] or not gaining(look)):
        level = WARNING
    how = "end in an error" if name == "error_rate" else "are aborted: cut short, timed out, or too long a prompt"
    text = f"{percent(now)} of the rollouts {how}"
    text += ", and the reward falls when they rise." if against < p["against"] else "."
    proofs = ((name, "median of the last 10 rows"), (look.reward, ""))
    return [Signal(level, text, proofs, moved=name)]
