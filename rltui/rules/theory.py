"""Values that cannot be: advantages beyond their bound, shares beyond 1, means outside their own extremes."""

from __future__ import annotations

from math import sqrt

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.rules.base import Memory, Params
from rltui.run.table import Floats

SHARES = ("response_clip_ratio", "clip_frac", "frac_reward_zero_std", "aborted_ratio", "dpo_accuracy")
K3 = ("k3", "low_var_kl", "k3+")


def advantage_degenerate(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Advantages all of one sign while rewards differ, or larger than a group of this size allows."""
    low, high = look.values("advantage_min"), look.values("advantage_max")
    rows = int(p["rows"])
    if len(low) != len(high) or len(low) < rows or look.open.get("cfg-group-size-degenerate", 0) >= 2:
        return []
    low, high = low[-rows:], high[-rows:]
    varied = _same_rows(look, "score_max", rows) - _same_rows(look, "score_min", rows)
    proofs = (("advantage_min", ""), ("advantage_max", ""))
    one_sided = bool((low >= 0).all()) or bool((high <= 0).all())
    if look.settings.group_relative and len(varied) == rows and (varied > 0).all() and one_sided and (high > low).all():
        between = f"{num(float(low.min()))} and {num(float(high.max()))}"
        text = f"Advantages lie between {between}: a group baseline gives both signs."
        return [Signal(CRITICAL, text, proofs, moved="advantage_min")]
    size = look.settings.group_size
    if not look.settings.group_relative or size is None or size < 2 or not _by_group(look):
        return []
    largest, bound = np.maximum(np.abs(low), np.abs(high)), sqrt(size - 1)
    if (largest > bound * (1 + p["tol"])).all():
        text = f"Advantages reach {num(float(largest.max()))}; groups of {num(size)} allow {num(bound)}."
        return [Signal(WARNING, text, proofs, moved="advantage_max")]
    if size == 2 and float(np.ptp(largest)) < 1e-6 and largest[0] > 0:
        return [Signal(NOTICE, f"Advantages are ±{num(float(largest[0]))} only: groups of 2.", proofs)]
    return []


def _by_group(look: Look) -> bool:
    """Advantages are divided by the spread of their own group, and nothing is added to them later."""
    settings = look.settings
    plain = any(
        word in f"{settings.word('adv_estimator')} {settings.algorithm}" for word in ("drgrpo", "dr_grpo", "rloo")
    )
    return not plain and settings.word("norm_adv_by_std") in ("", "true", "group") and settings.kl_where != "reward"


def _same_rows(look: Look, name: str, rows: int) -> Floats:
    return look.values(name)[-rows:]


def invariant_violated(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Values outside what they can be, in most of the last rows; a single odd row is a fault of one line."""
    wrong = [w for check in (_shares, _kl, _entropy, _length, _order, _loss) if (w := check(look, p))]
    if not wrong:
        return []
    worst = max(size for _, _, size in wrong)
    level = CRITICAL if worst > p["gross"] else WARNING if worst > p["small"] else NOTICE
    text = " ".join(f"{text}." for _, text, _ in wrong)
    return [Signal(level, text, tuple((name, "") for name, _, _ in wrong), moved=wrong[0][0])]


def _lasting(bad: np.ndarray[tuple[int], np.dtype[np.bool_]], p: Params) -> bool:
    return len(bad) >= p["rows"] and bool(2 * np.count_nonzero(bad) > len(bad))


def _shares(look: Look, p: Params) -> tuple[str, str, float] | None:
    for name in SHARES:
        x = look.values(name)[-20:]
        beyond = np.maximum(x - 1.0, -x)
        if _lasting(beyond > 1e-6, p):
            return name, f"{name} is {num(float(x[-1]))}, outside 0 to 1", float(beyond.max())
    return None


def _kl(look: Look, p: Params) -> tuple[str, str, float] | None:
    estimator = look.settings.word("kl_estimator")
    x = look.values("kl_ref")[-20:]
    if estimator not in K3 and not (estimator == "" and look.framework == "trl"):
        return None
    if _lasting(x < p["kl"], p):
        return "kl_ref", f"KL is {num(float(x.min()))}; the k3 estimate cannot be negative", float(-x.min())
    return None


def _entropy(look: Look, p: Params) -> tuple[str, str, float] | None:
    x = look.values("entropy")[-20:]
    if _lasting(x < -1e-6, p):
        return "entropy", f"entropy is {num(float(x.min()))}, below 0", min(p["small"], float(-x.min()))
    return None


def _length(look: Look, p: Params) -> tuple[str, str, float] | None:
    cap, x = look.settings.length_cap, look.values("response_length_mean")[-20:]
    if cap and _lasting(x > cap + 1, p):
        return "response_length_mean", f"responses average {num(float(x[-1]))} tokens, limit {num(cap)}", p["small"]
    return None


def _loss(look: Look, p: Params) -> tuple[str, str, float] | None:
    for name in ("pg_loss", "total_loss", "vf_loss"):
        x = look.values(name)[-20:]
        if _lasting(np.abs(x) > p["loss"], p):
            return name, f"{name} is {num(float(x[-1]))}: beyond {num(p['loss'])} no update is of use", float(np.inf)
    return None


def _order(look: Look, p: Params) -> tuple[str, str, float] | None:
    low, mid, high = (look.values(f"score_{part}") for part in ("min", "mean", "max"))
    if not len(low) == len(mid) == len(high) or not len(low):
        return None
    low, mid, high = low[-20:], mid[-20:], high[-20:]
    beyond = np.maximum(low - mid, mid - high) / np.maximum(1e-9, np.abs(high) + np.abs(low) + 1e-9)
    if _lasting(beyond > 1e-3, p):
        return "score_mean", "the mean score lies outside its minimum and maximum", float(beyond.max())
    return None
