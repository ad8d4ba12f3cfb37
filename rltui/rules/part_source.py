"""The source of one part of the reward: a part that has no number any more, or the same number for every answer."""

from __future__ import annotations

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, WARNING, Signal, num
from rltui.evidence.trends import sd_m
from rltui.frameworks.parts import is_task
from rltui.rules.base import PARTS, Params, tail
from rltui.run.sums import median
from rltui.run.table import Series

MOSTLY = 0.1
"""Share of earlier rows without a number up to which a part is graded in every row. Above it, the part may be meant for
some of the prompts only, and has no number for the others."""
AT_ONCE = 4.0
"""Times its noise by which a part leaves its level at once."""


def part_at_fault(look: Look, p: Params) -> list[Signal]:
    """The first part of the reward that is not measured any more while the others are. Empty if there is none, or if
    the reward has only one part."""
    parts = look.family(PARTS)
    if len(parts) < 2:
        return []
    for name, part in parts.items():
        found = _no_number(look, name, part, p) or _repeats(look, name, part, p)
        if found:
            return [found]
    return []


def _no_number(look: Look, name: str, part: Series, p: Params) -> Signal | None:
    """The part has had no number (NaN, None, or nothing) in the newest rows of the reward, although it had one in
    nearly all rows before."""
    reward, rows = look.series(look.reward), int(p["repeat_rows"])
    if reward is None or len(part) < 2 * rows:
        return None
    begin = int(reward.rows.searchsorted(part.rows[-1], "right"))
    lasted = len(reward) - begin
    if lasted < rows or len(part) < (1.0 - MOSTLY) * begin:
        return None
    step = int(reward.steps[begin])
    text = f"The part {name} of the reward has had no number in {lasted} rows since step {step}, and had one in nearly "
    text += "all rows before: the reward function gives none, and the total counts without it."
    proofs = ((part.key, f"{lasted} rows without a number"),)
    return Signal(_level(look, name, lasted, p), text, proofs, subject=name, onset_step=step)


def _repeats(look: Look, name: str, series: Series, p: Params) -> Signal | None:
    """The part is the same number to the last digit, although it varied from row to row before and the answers still
    differ. A part that comes to its end of the range little by little is learnt or lost."""
    x, rows = series.values, int(p["repeat_rows"])
    if len(x) < 3 * rows or (x[-rows:] != x[-1]).any():
        return None
    same = np.flatnonzero(x != x[-1])
    begin = int(same[-1]) + 1 if len(same) else 0
    ahead = x[begin - 2 * rows : begin]
    if begin < 2 * rows:
        return None
    value, step = float(x[-1]), int(series.steps[begin])
    left = abs(value - median(ahead)) >= AT_ONCE * sd_m(ahead) > 0.0
    within = x[:begin].min() < value < x[:begin].max()
    varied = np.count_nonzero(ahead[1:] == ahead[:-1]) <= p["repeat_share"] * len(ahead)
    if not (left or (within and varied)) or not _answers_differ(look, step, p):
        return None
    lasted = len(x) - begin
    text = f"The part {name} of the reward is {num(value)} to the last digit in {lasted} rows since step {step}, and "
    text += "varied from row to row before, while the answers still differ: it is not measured any more."
    proofs = ((series.key, f"exactly {num(value)}"),)
    return Signal(_level(look, name, lasted, p), text, proofs, subject=name, onset_step=step)


def _answers_differ(look: Look, step: int, p: Params) -> bool:
    """Whether the policy still writes different answers since a step, and as before. False if nothing shows it."""
    entropy, length = look.facts.metric("entropy"), look.facts.metric("response_length_mean")
    if another_policy(look, step, JUST_BEFORE):
        return False
    if entropy is not None:
        return tail(entropy.values, int(p["repeat_rows"])) >= p["certain"]
    return length is not None and bool(np.ptp(length.values[length.series.steps >= step]) > 0.0)


JUST_BEFORE = 20
"""Rows before a step that show how the policy wrote by then: over a whole run its answers may grow severalfold."""
ANOTHER = 2.0
"""Factor: answers this many times longer or shorter than before come from a policy that broke."""


def another_policy(look: Look, step: int, rows: int = 0) -> bool:
    """Whether answers have another length or entropy since a step: all of them may then be the same. `rows`: compares
    with so many rows before the step; 0: with all of them."""
    for name in ("response_length_mean", "entropy"):
        if (found := look.facts.metric(name)) is None:
            continue
        before = found.values[: int(found.series.steps.searchsorted(step))][-rows:]
        if not len(before) or (usual := median(before)) <= 0.0:
            continue
        if not 1.0 / ANOTHER <= found.now.value / usual <= ANOTHER:
            return True
    return False


def _level(look: Look, name: str, lasted: int, p: Params) -> int:
    """Critical once the task itself was not measured for so long that the updates teach something else."""
    tasks = [one for one in look.family(PARTS) if is_task(one)]
    return CRITICAL if lasted >= p["lost_rows"] and tasks in ([name], []) else WARNING
