"""The arithmetic of a training pipeline on small fixed inputs: log-softmax, advantages, decoding, mask, loss.

adapters.py   the user's functions, named in a file of theirs; torch, numpy and lists alike
advantages.py, decoding.py, loss.py, policy_loss.py, kl.py   the probes; all of them are run here, stage by stage. One
              that is not wired is skipped and says so; one fault never ends the walk
log.py        the same questions asked of a log
check.py      every value with its mark: ? is doubtful, !! is wrong beyond doubt
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rltui.verify import advantages, decoding, kl, loss, policy_loss
from rltui.verify.adapters import Adapters
from rltui.verify.check import Check

STAGES: tuple[tuple[str, str, Callable[[Adapters], Iterator[Check]]], ...] = (
    ("advantage", advantages.STAGE, advantages.probes),
    ("log_softmax", loss.LOG_PROBS, loss.log_prob_probes),
    ("completion_mask", loss.LOSS, loss.mask_probes),
    ("loss", loss.LOSS, policy_loss.loss_probes),
    ("kl", loss.LOSS, kl.kl_probes),
    ("decode", decoding.STAGE, decoding.probes),
)


def verify(adapters: Adapters) -> list[Check]:
    """Every check in the order of the pipeline."""
    out: list[Check] = []
    for name, stage, probes in STAGES:
        if adapters.functions.get(name) is None:
            out.append(
                Check(stage, name, "skip", "not wired: nothing was checked", f"define {name} in the adapters file")
            )
        else:
            out.extend(probes(adapters))
    return out
