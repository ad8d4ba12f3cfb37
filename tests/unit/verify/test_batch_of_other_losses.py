"""Batches of losses other than PPO's are doubtful, not wrong; misplaced log-probs and what a batch cannot tell are
said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rltui.verify.batch import named
from rltui.verify.check import Check
from rltui.verify.replay import replayed
from tests.unit.verify.test_batch import Arrays, batch, by_tokens, ratio_loss


def by_sequence(held: Arrays) -> float:
    kept, each = held["mask"], held["advantages"]
    whole = np.exp(((held["log_probs"] - held["old_log_probs"]) * kept).sum(1) / kept.sum(1))
    return float(-np.minimum(whole * each, np.clip(whole, 0.8, 1.28) * each).mean())


def cispo(held: Arrays) -> float:
    ratio = np.minimum(np.exp(held["log_probs"] - held["old_log_probs"]), 1.28)
    return by_tokens(held, -ratio * held["advantages"][:, None] * held["log_probs"])


def for_sampler(held: Arrays) -> float:
    weights = np.minimum(np.exp(held["old_log_probs"] - held["sampler_log_probs"]), 2.0)
    return by_tokens(held, ratio_loss(held) * weights)


def checks(held: Arrays) -> dict[str, Check]:
    return {check.name: check for check in replayed(named(held))}


@pytest.mark.parametrize(
    ("loss", "says"), [(by_sequence, "GSPO"), (cispo, "CISPO"), (for_sampler, "weighted for the sampler")]
)
def test_another_loss_is_named(loss: Callable[[Arrays], float], says: str) -> None:
    held = batch()
    held["clip_high"] = 0.28
    held["sampler_log_probs"] = np.minimum(held["old_log_probs"] - 0.01, 0)
    found = checks({**held, "loss": loss(held)})["loss of the batch"]
    assert found.mark == "?"
    assert says in found.value


def test_a_loss_over_the_longest_answer_allowed_passes() -> None:
    held = batch()
    loss = float((ratio_loss(held) * held["mask"]).sum(1).mean() / 64)
    found = checks({**held, "loss": loss, "max_completion_length": 64})["loss of the batch"]
    assert (found.mark, "64" in found.value) == ("", True)


def test_a_clip_that_the_batch_does_not_show_is_skipped() -> None:
    held = batch()
    held["log_probs"] = held["old_log_probs"].copy()
    held["loss"] = by_tokens(held, ratio_loss(held))
    assert checks(held)["clip of the batch"].mark == "skip"
    assert "clip of the batch" not in checks(batch())


@pytest.mark.parametrize("name", ["old_log_probs", "ref_log_probs"])
@pytest.mark.parametrize(("by", "axis"), [(1, 1), (-1, 1), (1, 0)])
def test_misplaced_log_probs_are_certain(name: str, by: int, axis: int) -> None:
    held = batch()
    del held["sampler_log_probs"]
    where = "policy and reference" if name == "ref_log_probs" else "new and old log-probs"
    assert checks(held)[where].mark == ""
    assert checks({**held, name: np.roll(held[name], by, axis)})[where].mark == "!!"


def test_log_probs_that_are_all_0_are_certain() -> None:
    held = batch()
    found = checks({**held, "sampler_log_probs": held["old_log_probs"] * 0})
    assert found["log-probs of the sampler"].mark == "!!"
    assert checks({**held, "old_log_probs": held["old_log_probs"] * 0})["old log-probs of the batch"].mark == "!!"


def test_a_reference_that_follows_the_policy_is_certain() -> None:
    held = batch()
    assert checks({**held, "ref_log_probs": held["log_probs"]})["policy and reference"].mark == "!!"


def test_a_mask_without_the_ends_is_certain() -> None:
    held = batch()
    found = checks({**held, "mask": held["mask"] * (held["ids"] != 2)})["mask of the batch"]
    assert found.mark == "!!"


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_distance_of_the_ends_alone_is_certain(place: str) -> None:
    held = batch()
    off = held["old_log_probs"].copy()
    length = held["mask"].sum(1).astype(int)
    off[np.arange(len(off)), 0 if place == "first" else length - 1] -= 0.4
    found = checks({**held, "sampler_log_probs": off})["sampler and trainer"]
    assert found.mark == "!!"
    assert place in found.value


def of_unequal_groups(sign: float) -> dict[str, Check]:
    held = batch()
    bounds = np.cumsum([3, 6, 4, 5])
    held["groups"] = np.searchsorted(bounds, np.arange(len(held["rewards"])), side="right")
    parts = np.split(held["rewards"], bounds)
    held["advantages"] = sign * np.concatenate([(one - one.mean()) / (one.std(ddof=1) + 1e-6) for one in parts])
    return checks(held)


def test_groups_of_unequal_size_are_recomputed() -> None:
    found = of_unequal_groups(1.0)["advantages of the batch"]
    assert (found.mark, "GRPO" in found.value) == ("", True)
    assert of_unequal_groups(-1.0)["advantages of the batch"].mark == "!!"


@pytest.mark.parametrize("change", [lambda x: x[::-1], lambda x: np.where(np.arange(x.shape[1]) == 1, np.nan, x)])
def test_a_reference_of_other_answers_or_not_finite_is_certain(change: Callable[[Any], Any]) -> None:
    held = batch()
    found = checks({**held, "ref_log_probs": change(held["ref_log_probs"])})
    assert found["policy and reference"].mark == "!!"


def test_a_kl_term_too_small_to_see_its_side_is_skipped() -> None:
    held = batch()
    gap = held["ref_log_probs"] - held["log_probs"]
    for coef, seen in ((1e-3, False), (0.5, True)):
        loss = by_tokens(held, ratio_loss(held) + coef * (np.exp(gap) - 1 - gap))
        found = checks({**held, "kl_coef": coef, "loss": loss})
        assert found["loss of the batch"].mark == ""
        assert ("KL term of the loss" not in found) == seen
