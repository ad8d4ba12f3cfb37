"""Probes of the preference loss, compared with DPO in float64 (Rafailov et al. 2023) and its variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, guarded
from rltui.verify.loss import LOSS

CLOSE = 1e-4
CHOSEN = np.array([-20.0, -31.5, -14.0, -8.0])
REJECTED = np.array([-22.0, -29.0, -15.5, -11.0])
REF_CHOSEN = np.array([-21.0, -30.0, -16.0, -8.5])
REF_REJECTED = np.array([-21.5, -30.5, -14.5, -10.0])
BETA = 0.3
NAME = "loss of preferences"
Loss = Callable[[Floats], Floats]


def _softplus(x: Floats) -> Floats:
    return np.asarray(np.logaddexp(0.0, x))


RIGHT: dict[str, Loss] = {
    "DPO": lambda h: _softplus(-BETA * h),
    "IPO": lambda h: (h - 1 / (2 * BETA)) ** 2,
    "hinge (SLiC)": lambda h: np.maximum(0.0, 1.0 - BETA * h),
}
"""Losses of each pair as functions of the margin h: the log-ratio of the chosen answer minus that of the rejected
one."""
MARGINS: dict[str, Floats] = {
    "": (CHOSEN - REF_CHOSEN) - (REJECTED - REF_REJECTED),
    "chosen and rejected are swapped": (REJECTED - REF_REJECTED) - (CHOSEN - REF_CHOSEN),
    "the reference is left out": CHOSEN - REJECTED,
    "policy and reference are swapped": (REF_CHOSEN - CHOSEN) - (REF_REJECTED - REJECTED),
    "only the chosen answer counts": CHOSEN - REF_CHOSEN,
    "only the rejected answer counts": -(REJECTED - REF_REJECTED),
    "the reference of the rejected answer is added, not taken off": (CHOSEN - REF_CHOSEN) - (REJECTED + REF_REJECTED),
    "the log-ratios are added, not taken off each other": (CHOSEN - REF_CHOSEN) + (REJECTED - REF_REJECTED),
    "the references of both answers are swapped": (CHOSEN - REF_REJECTED) - (REJECTED - REF_CHOSEN),
}
OTHERWISE: dict[str, Callable[[Floats], Floats]] = {
    "the sign is turned: it pays for rejected answers": lambda h: -_softplus(-BETA * h),
    "the sigmoid itself, without its logarithm": lambda h: -1.0 / (1.0 + np.exp(-BETA * h)),
    "beta is not used": lambda h: _softplus(-h),
    "it is divided by beta": lambda h: _softplus(-h / BETA),
    "beta times the loss, not the margin": lambda h: BETA * _softplus(-h),
    "the margin itself, without the sigmoid": lambda h: -BETA * h,
}
"""Mistakes in how the loss is computed from the right margin."""


def probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `dpo_loss(chosen, rejected, ref_chosen, ref_rejected, beta)`. The first four are sums of log-probs,
    (B,) each. It returns the loss of each pair, or their mean."""
    yield from guarded(LOSS, NAME, partial(_value, adapters))
    yield from guarded(LOSS, "gradient of preferences", partial(_way, adapters))


def _ask(adapters: Adapters, *held: Any) -> Any:
    function = adapters.functions["dpo_loss"]
    assert function is not None
    got = function(*held, BETA)
    return got[0] if isinstance(got, tuple) else got  # TRL also returns the rewards


def _value(adapters: Adapters) -> Iterator[Check]:
    sides = (CHOSEN, REJECTED, REF_CHOSEN, REF_REJECTED)
    got = plain(_ask(adapters, *(adapters.array(side) for side in sides))).reshape(-1)
    how = f"four pairs, beta {BETA:g}, in float64"
    for name, loss in RIGHT.items():
        if _same(got, loss(MARGINS[""])):
            yield Check(LOSS, NAME, "", name, how)
            return
    for words, margin in MARGINS.items():
        for loss in RIGHT.values():
            if words and _same(got, loss(margin)):
                yield Check(LOSS, NAME, "!!", words, how)
                return
    for words, made in OTHERWISE.items():
        if _same(got, made(MARGINS[""])):
            yield Check(LOSS, NAME, "!!", words, how)
            return
    shown, wanted = float(got.mean()), float(RIGHT["DPO"](MARGINS[""]).mean())
    yield Check(LOSS, NAME, "!!", f"mean {shown:.4g}: none of DPO (mean {wanted:.4g}), IPO, hinge", how)


def _same(got: Floats, wanted: Floats) -> bool:
    """Whether the losses are equal, pair by pair or in the mean."""
    if got.size == wanted.size:
        return bool(np.abs(got - wanted).max() <= CLOSE * max(1.0, float(np.abs(wanted).max())))
    return bool(got.size == 1 and abs(float(got[0]) - wanted.mean()) <= CLOSE * max(1.0, abs(float(wanted.mean()))))


def _way(adapters: Adapters) -> Iterator[Check]:
    """What training makes likelier, by autograd if the function takes tensors, else by differences."""
    slopes = []
    for at in range(2):
        step = 1e-3
        ends = []
        for way in (1, -1):
            sides = [CHOSEN.copy(), REJECTED.copy(), REF_CHOSEN, REF_REJECTED]
            sides[at] = sides[at] + way * step
            ends.append(float(plain(_ask(adapters, *(adapters.array(s, "float64") for s in sides))).mean()))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    chosen, rejected = slopes
    if adapters.backend == "torch":
        held = [adapters.array(side, "float64") for side in (CHOSEN, REJECTED, REF_CHOSEN, REF_REJECTED)]
        for tensor in held[:2]:
            tensor.requires_grad_(True)
        got = _ask(adapters, *held)
        if not getattr(got, "requires_grad", False):
            yield Check(LOSS, "gradient of preferences", "!!", "none reaches the log-probs: something is detached", "")
            return
        got.mean().backward()
        chosen, rejected = (0.0 if t.grad is None else float(t.grad.sum()) for t in held[:2])
    how = "the loss must fall as chosen answers become likelier, and rise with rejected ones"
    for name, slope, sign in (("chosen", chosen, -1), ("rejected", rejected, 1)):
        value = f"{slope:+.3g} for each nat that {name} answers gain"
        yield Check(LOSS, f"gradient of {name} answers", "" if slope * sign > 1e-6 else "!!", value, how)
