"""Why a reward may be flat: the policy does not move, is held in place, or writes text that is close to random."""

from __future__ import annotations

from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.evidence.signal import num
from rltui.evidence.unmoving import standing
from rltui.rules.base import Params, begins_with_the_run, logged_for, opened, tail
from rltui.rules.traits import Trait


def random_text(look: Look, p: Params) -> str:
    """Words for answers drawn at a high temperature with the entropy of random text. Otherwise empty."""
    heat, entropy = look.settings.number("temperature"), look.facts.metric("entropy")
    if heat is None or heat <= p["hot"] or entropy is None or look.weighed("entropy"):
        return ""
    now = entropy.now.value
    text = f"drawn at temperature {num(heat)}, answers have {num(now)} nats of entropy: they are close to random text"
    return text if min(now, entropy.start.value) > p["random"] else ""


def held_back(look: Look) -> str:
    """Words for another open finding that holds the policy in place. Empty if there is none."""
    if opened(look, Trait.RATE_LOW):
        return "the updates hardly move the policy"
    return "the KL penalty is large beside the reward" if opened(look, Trait.HOLDS_BACK) else ""


def no_movement(look: Look, p: Params) -> str:
    """Words for what shows that the policy does not move. Empty if it may move."""
    kl = look.logged("kl_ref")
    window = int(p["window"])
    if kl is not None and enough(window, kl.steps) and look.settings.kl_coef != 0:
        now = tail(kl.finite().values, window)
        if abs(now) < p["still_kl"]:
            return f"the KL to the reference is {num(now)}: the policy does not move"
        if _where_it_began(look, p):
            return f"the KL to the reference is where it began, at {num(now)}: the policy hardly moves"
    stands = standing(look)
    if stands.holds:
        return f"{stands.told}: the weights may not change at all"
    rate = look.blocks("lr")
    if rate is not None and logged_for(look, "lr", window) and rate.highs.max() < p["still_lr"]:
        return f"the learning rate is at most {num(float(rate.highs.max()))}"
    return ""


def no_rate(look: Look, p: Params) -> bool:
    """Whether the learning rate was next to nothing in all rows: no number of rows would show a gain. A rate of 0 does
    not count, as the log may have cut it off."""
    rate = look.blocks("lr")
    return rate is not None and logged_for(look, "lr", p["rows"]) and 0.0 < float(rate.highs.max()) < p["still_lr"]


def _where_it_began(look: Look, p: Params) -> bool:
    """Whether the KL is still at its level of the first steps, and twice as much would have been detected. Next to the
    reference, that KL is the noise of the measurement."""
    kl = look.facts.metric("kl_ref")
    if kl is None or not begins_with_the_run(look, p["first_step"]) or not 0.0 <= kl.start.value <= p["moved_kl"]:
        return False
    courses = (kl.since_start, kl.since_first)
    return all(one is not None and one.direction <= 0 and one.smallest <= abs(kl.start.value) for one in courses)
