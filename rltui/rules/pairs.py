"""What the rewards of preference pairs show by their own arithmetic: reversed pairs, and the beta in use."""

from __future__ import annotations

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, WARNING, Signal, num
from rltui.evidence.trends import sd_d
from rltui.plots.numbers import percent
from rltui.rules.base import Params, side_by_side
from rltui.run.sums import median

SINCE, BEFORE, RECENT = 2, 10, 20
"""Fewest rows since the reversal, fewest rows before it, and newest rows that are searched."""
MOST = 0.8
"""Share of the whole change that must come in one leap: unlearning takes more rows."""
BETWEEN = 1
"""Rows in between that may hold pairs of both kinds."""
CLEAR = 4.0
"""The two sides must differ by this many times the noise."""


def pairs_turned(look: Look, chance: float, learnt: float) -> Signal | None:
    """From one row to the next, correctly ranked pairs are ranked the wrong way round, by accuracy and margin. No
    update unlearns and learns the reverse at once: the pairs, or the sign of the loss, were reversed."""
    right, margin = side_by_side(look, "dpo_accuracy", "dpo_reward_margin")
    series = look.series("dpo_accuracy")
    if series is None or len(right) < BEFORE + SINCE or len(right) != len(series):
        return None
    wrong = (right < chance) & (margin < 0.0)
    newest = wrong[-RECENT:]
    if not newest[-SINCE:].all():
        return None
    since = len(wrong) - int(newest[::-1].argmin() if not newest.all() else len(newest))
    first = max(0, since - BETWEEN - BEFORE)
    before, wide = right[first : since - BETWEEN], margin[first : since - BETWEEN]
    if len(before) < BEFORE or wide.min() <= 0.0 or median(before) < chance + learnt:
        return None
    was, now = median(before), median(right[since:])
    leap = float(before[-1] - right[since])
    if leap < MOST * (was - now) or was - now < CLEAR * sd_d(right[:since]) or now > chance - learnt:
        return None
    last, step = int(series.steps[since - BETWEEN - 1]), int(series.steps[since])
    text = f"{percent(was)} of the pairs were told apart up to step {last}, and since step {step} only {percent(now)}, "
    text += f"by a margin of {num(median(margin[since:]))}: the pairs, or the loss, are turned over, which no update "
    text += "does in one row."
    proofs = (("dpo_accuracy", ""), ("dpo_reward_margin", ""))
    return Signal(CRITICAL, text, proofs, onset_step=int(series.steps[since]), lasted=len(right) - since)


GAP, LOWEST = 1.0, 0.005
"""Nats by which chosen and rejected answers must have drawn apart for their rewards to show beta; and the lowest usual
beta: DPO, IPO and similar methods are run with .01 to .5."""
LEARNT = 0.7
"""Share of the pairs that are right if the policy has learnt them."""


def beta_too_small(look: Look, p: Params, right: float) -> list[Signal]:
    """Pairs are ranked correctly while the loss stays at its initial value. Rewards of answers are beta times their
    gain in log-probability, so their margin divided by that gain shows beta."""
    chosen, rejected, margin = side_by_side(look, "dpo_logps_chosen", "dpo_logps_rejected", "dpo_reward_margin")
    loss = look.series("total_loss") if look.series("pg_loss") is None else look.series("pg_loss")
    rows = int(p["inverted_rows"])
    if len(margin) < rows or right < LEARNT or loss is None or abs(median(loss.values[-rows:]) - p["ln2"]) > p["still"]:
        return []
    apart = chosen - rejected
    gap = median(apart[-rows // 2 :]) - median(apart[: max(1, rows // 4)])
    grown = median(margin[-rows // 2 :]) - median(margin[: max(1, rows // 4)])
    if gap < GAP or not 0.0 < grown < LOWEST * gap:
        return []
    text = f"{percent(right)} of the pairs are right and the answers have drawn {num(gap)} nats apart, yet the loss is "
    text += (
        f"still at {num(median(loss.values[-rows:]))}, where it begins: beta is about {num(grown / gap)}, and hardly "
    )
    text += "anything holds the policy to its reference."
    proofs = (("dpo_reward_margin", ""), ("dpo_accuracy", ""))
    return [Signal(WARNING, text, proofs, onset_step=int(look.steps[0]), marks=(Mark.COSTS,))]
