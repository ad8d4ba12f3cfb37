"""Whether the probes would detect a mistake in the user's own functions. Each function gets the common mistakes, one at
a time, and the probes run again. A mistake that they miss on these inputs is not checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rltui.verify.adapters import Adapters, Function
from rltui.verify.check import Check, Mark

Spoil = Callable[[Function], Function]


def _out(change: Callable[[Any], Any]) -> Spoil:
    """Changes what the function returns; of a tuple, the first value."""

    def spoil(function: Function) -> Function:
        def spoilt(*given: Any) -> Any:
            made = function(*given)
            return (change(made[0]), *made[1:]) if isinstance(made, tuple) else change(made)

        return spoilt

    return spoil


def _given(change: Callable[..., tuple[Any, ...]]) -> Spoil:
    """Changes the arguments of the function."""
    return lambda function: lambda *given: function(*change(*given))


def _rolled(values: Any, by: int = 1) -> Any:
    """The values moved along the last axis by `by` places, cyclically."""
    if hasattr(values, "detach"):
        return sys.modules["torch"].roll(values, by, -1)
    import numpy as np

    return np.roll(values, by, -1)


def _detached(values: Any) -> Any:
    return values.detach() if hasattr(values, "detach") else values


SPOILT: Mapping[str, Mapping[str, Spoil]] = {
    "reward": {
        "the sign is turned": _out(lambda x: -x),
        "every answer earns the same": _out(lambda x: x * 0 + 1),
    },
    "total_reward": {
        "the sign is turned": _out(lambda x: -x),
        "a penalty is paid": _given(lambda parts, weights: (parts, abs(weights))),
        "weights of the next part": _given(lambda parts, weights: (parts, _rolled(weights))),
    },
    "advantage": {
        "the sign is turned": _out(lambda x: -x),
        "their size is taken": _out(abs),
        "each belongs to another answer": _out(_rolled),
        "another group size": _given(
            lambda rewards, size: (rewards, size * 2 if len(rewards) % (2 * size) == 0 else 1)
        ),
        "clipped to 1": _out(lambda x: x.clip(-1, 1)),
    },
    "gae": {
        "the sign is turned": _out(lambda x: -x),
        "γ is not used": _given(lambda r, v, m, g, lam: (r, v, m, 1.0, lam)),
        "λ is not used": _given(lambda r, v, m, g, lam: (r, v, m, g, 1.0)),
        "the mask is not used": _given(lambda r, v, m, g, lam: (r, v, m * 0 + 1, g, lam)),
        "each belongs to another token": _out(_rolled),
    },
    "log_softmax": {
        "the sign is turned": _out(lambda x: -x),
        "each belongs to another token": _out(_rolled),
        "of another temperature": _given(lambda logits, index: (logits * 0.7, index)),
        "probabilities": _out(lambda x: 2.718281828459045**x),
    },
    "sampler_log_probs": {"the sampler one token late": _out(_rolled), "the sign is turned": _out(lambda x: -x)},
    "completion_mask": {
        "inverted": _out(lambda x: 1 - x),
        "one token late": _out(_rolled),
        "one token early": _out(lambda x: _rolled(x, -1)),
        "everything counts": _out(lambda x: x * 0 + 1),
    },
    "loss": {
        "the sign is turned": _out(lambda x: -x),
        "the mask is not used": _given(lambda new, old, a, m: (new, old, a, m * 0 + 1)),
        "new and old are swapped": _given(lambda new, old, a, m: (old, new, a, m)),
        "advantages of another answer": _given(lambda new, old, a, m: (new, old, _rolled(a), m)),
        "size of the advantages": _given(lambda new, old, a, m: (new, old, abs(a), m)),
        "one token late": _given(lambda new, old, a, m: (_rolled(new), _rolled(old), a, m)),
        "detached": _given(lambda new, old, a, m: (_detached(new), old, a, m)),
    },
    "kl": {
        "the sign is turned": _out(lambda x: -x),
        "policy and reference are swapped": _given(lambda new, ref: (ref, new)),
    },
    "dpo_loss": {
        "the sign is turned": _out(lambda x: -x),
        "chosen and rejected are swapped": _given(lambda c, r, rc, rr, b: (r, c, rr, rc, b)),
        "without the reference": _given(lambda c, r, rc, rr, b: (c, r, rc * 0, rr * 0, b)),
        "beta is not used": _given(lambda c, r, rc, rr, b: (c, r, rc, rr, 1.0)),
    },
    "decode": {
        "the first sample for all": lambda function: lambda ids, *more: function([ids[0]] * len(ids), *more),
        "the last token is dropped": lambda function: lambda ids, *more: function([row[:-1] for row in ids], *more),
        "in another order": _out(lambda texts: texts[::-1]),
    },
}
"""Name of a function -> mistake -> what puts that mistake into the function."""
SYMMETRIC = {"kl": "k2 is the same both ways, so a swap changes nothing"}
"""Functions that a mistake may leave unchanged, and why."""
TORCH_ONLY = frozenset(("detached",))

Probes = Callable[[Adapters], Iterator[Check]]


def seen(adapters: Adapters, stages: tuple[tuple[str, str, Probes], ...]) -> list[Check]:
    """For each function that is defined: how many of its mutants the probes mark as certainly wrong."""
    return [found for name, stage, probes in stages if (found := _seen(adapters, name, stage, probes)) is not None]


def _seen(adapters: Adapters, name: str, stage: str, probes: Probes) -> Check | None:
    function, title = adapters.functions.get(name), f"mutants of {name}"
    if function is None or name not in SPOILT:
        return None
    if adapters.backend == "list":
        return Check(stage, title, "skip", "plain lists cannot be spoilt: take numpy or torch", "")
    if any(check.mark == "!!" for check in probes(adapters)):
        return Check(stage, title, "skip", "it is certainly wrong as it is", "")
    mistakes = {
        words: spoil for words, spoil in SPOILT[name].items() if adapters.backend == "torch" or words not in TORCH_ONLY
    }
    unseen = []
    for words, spoil in mistakes.items():
        spoilt = replace(adapters, functions={**adapters.functions, name: spoil(function)})
        if not any(check.mark == "!!" for check in probes(spoilt)):
            unseen.append(words)
    mark: Mark = "?" if unseen else ""
    value = f"{len(mistakes) - len(unseen)} of {len(mistakes)} are seen"
    if unseen:
        value += f". Not seen on these inputs: {', '.join(unseen)}"
        value += f" ({SYMMETRIC[name]})" if name in SYMMETRIC else ""
    return Check(stage, title, mark, value, "your function with one mistake each")
