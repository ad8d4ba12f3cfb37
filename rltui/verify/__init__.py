"""Checks the arithmetic of a training pipeline on small fixed inputs: rewards, advantages, log-probs, loss, generation.

adapters.py   the user's functions, from a file that the user writes for torch, numpy or lists
rewards.py, advantages.py, estimators.py, returns.py, loss.py, reference.py, policy_loss.py, kl.py, preference.py,
decoding.py   the probes; `verify` runs all of them, stage by stage. It skips functions that are not defined and reports
              them as skipped. An error in one probe never stops the others
hostile.py    completions that a reward must not pay
slopes.py     how a loss changes with each log-probability: by autograd, or by differences
mutants.py    whether the probes would detect a mistake in the user's functions
batch.py, replay.py, replay_loss.py   one dumped batch, and its stages recomputed
log.py        the same checks on a log
check.py      every value with its mark: ? is doubtful, !! is certainly wrong
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rltui.verify import advantages, decoding, kl, loss, policy_loss, preference, reference, returns, rewards
from rltui.verify.adapters import Adapters
from rltui.verify.check import Check

STAGES: tuple[tuple[str, str, Callable[[Adapters], Iterator[Check]]], ...] = (
    ("reward", rewards.STAGE, rewards.probes),
    ("total_reward", rewards.STAGE, rewards.total_probes),
    ("advantage", advantages.STAGE, advantages.probes),
    ("gae", returns.STAGE, returns.probes),
    ("log_softmax", loss.LOG_PROBS, loss.log_prob_probes),
    ("sampler_log_probs", reference.STAGE, reference.sampler_probes),
    ("reference", reference.STAGE, reference.reference_probes),
    ("completion_mask", loss.LOSS, loss.mask_probes),
    ("loss", loss.LOSS, policy_loss.loss_probes),
    ("kl", loss.LOSS, kl.kl_probes),
    ("dpo_loss", loss.LOSS, preference.probes),
    ("decode", decoding.STAGE, decoding.probes),
)


def verify(adapters: Adapters) -> list[Check]:
    """All checks, in the order of the pipeline."""
    out: list[Check] = []
    for name, stage, probes in STAGES:
        if adapters.functions.get(name) is None:
            out.append(
                Check(stage, name, "skip", "not defined: nothing was checked", f"define {name} in the adapters file")
            )
        else:
            out.extend(probes(adapters))
    return out
