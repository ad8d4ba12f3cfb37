"""Probes of the reward: what it gives for right, wrong, malformed and hostile completions, and how its parts add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite

import numpy as np

from rltui.verify.adapters import Adapters, plain
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.hostile import texts

STAGE = "reward"
Score = Callable[[str], float]
PARTS = np.array([[1.0, 0.5, -0.25], [0.0, 2.0, 1.0], [-1.0, 0.25, 4.0], [3.0, -2.0, 0.5]])
WEIGHTS = np.array([1.0, 0.3, -0.5])
CLOSE = 1e-6
AS_MUCH, HALF_WAY = 0.9, 0.5
"""Shares of the way from the reward of a wrong answer to that of a right one. More than the first is paid as if the
answer were right. More than the second is doubtful, because part of an answer may earn part of the reward."""
REPEATS = 50


def probes(adapters: Adapters) -> Iterator[Check]:
    """All probes of `reward(completion, truth)`, for each of the examples."""
    for at, (truth, right, wrong) in enumerate(adapters.examples):
        which = f" {at + 1}" if len(adapters.examples) > 1 else ""
        yield from guarded(
            STAGE, f"right and wrong answer{which}", partial(_order, adapters, truth, right, wrong, which)
        )
        yield from guarded(STAGE, f"hostile answers{which}", partial(_hostile, adapters, truth, right, wrong, which))


def _ask(adapters: Adapters, truth: str) -> Score:
    function = adapters.functions["reward"]
    assert function is not None

    def score(completion: str) -> float:
        got = plain(function(completion, truth))
        if got.size != 1:
            raise ValueError(f"{got.size} numbers for one completion")
        return float(got.reshape(-1)[0])

    return score


def _order(adapters: Adapters, truth: str, right: str, wrong: str, which: str) -> Iterator[Check]:
    score = _ask(adapters, truth)
    good, bad = score(right), score(wrong)
    how = f"of {right[:40]!r} and {wrong[:40]!r}"
    mark: Mark = "" if isfinite(good) and isfinite(bad) and good > bad else "!!"
    yield Check(STAGE, f"right and wrong answer{which}", mark, f"{good:.4g} and {bad:.4g}: right must earn more", how)
    again = [score(right) for _ in range(3)]
    mark = "" if all(one == good for one in again) else "?"
    yield Check(STAGE, f"the same answer again{which}", mark, f"{good:.4g}, then {again[-1]:.4g}", "the same number")
    spaced = {"blanks at its end": f"{right}  \n", "an empty line before it": f"\n\n{right}"}
    if truth and truth in right:
        spaced["blanks around its answer"] = right.replace(truth, f" {truth} ")
    for name, text in spaced.items():
        got = score(text)
        mark = "" if abs(got - good) <= CLOSE * max(1.0, abs(good)) else "?"
        yield Check(STAGE, f"right, with {name}{which}", mark, f"{got:.4g}", f"as without: {good:.4g}")
    got = score("\n".join([right] * REPEATS))
    mark = "!!" if good > bad and got - good > HALF_WAY * (good - bad) else ""
    value = f"{got:.4g}{': repetition is paid' if mark else ''}"
    yield Check(STAGE, f"right, {REPEATS} times{which}", mark, value, f"no more than once: {good:.4g}")


def _hostile(adapters: Adapters, truth: str, right: str, wrong: str, which: str) -> Iterator[Check]:
    """Each must earn what a wrong answer earns, or little more, and must not raise: such answers occur in every long
    run."""
    score = _ask(adapters, truth)
    good, bad = score(right), score(wrong)
    for name, (text, certain) in texts(truth, right, wrong).items():
        try:
            got = score(text)
        except (Exception, SystemExit) as error:
            value = f"raises {type(error).__name__}: one such response ends the run"
            yield Check(STAGE, f"{name}{which}", "!!", value, f"{text[:60]!r}")
            continue
        if not isfinite(got):
            value = f"{got}: the advantages of its whole group are not finite"
            yield Check(STAGE, f"{name}{which}", "!!", value, f"{text[:60]!r}")
            continue
        share = (got - bad) / (good - bad) if good > bad else 1.0
        as_right = share > AS_MUCH
        mark: Mark = "!!" if as_right and certain else "?" if share > HALF_WAY else ""
        value = f"{got:.4g}{': it is paid as the right answer is' if as_right else ''}"
        yield Check(STAGE, f"{name}{which}", mark, value, f"{text[:60]!r}, right earns {good:.4g}, wrong {bad:.4g}")


def total_probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `total_reward(parts, weights)`, with parts (N, P) and weights (P,). It returns the total of each
    answer, (N,)."""
    yield from guarded(STAGE, "total reward", partial(_total, adapters))


def _total(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["total_reward"]
    assert function is not None
    got = plain(function(adapters.array(PARTS), adapters.array(WEIGHTS))).reshape(-1)
    wanted, how = PARTS @ WEIGHTS, "parts times weights (1, 0.3, -0.5)"
    if got.shape != wanted.shape:
        raise ValueError(f"{got.size} totals for {len(PARTS)} answers")
    guesses = {
        "the weights are not used": PARTS.sum(1),
        "the size of the weights is taken: a penalty is paid": PARTS @ np.abs(WEIGHTS),
        "the mean of the parts, not their sum": (PARTS * WEIGHTS).mean(1),
        "divided by the weights' sum": wanted / WEIGHTS.sum(),
        "the first part alone": PARTS[:, 0] * WEIGHTS[0],
        "the last part is lost": PARTS[:, :-1] @ WEIGHTS[:-1],
        "the weights are in another order": PARTS @ WEIGHTS[::-1],
        "the sign is turned": -wanted,
        "cut off at 0": np.maximum(wanted, 0.0),
        "cut off at 1": np.minimum(wanted, 1.0),
        "the answers are in another order": wanted[::-1],
    }
    if np.abs(got - wanted).max() <= 1e-4:
        yield Check(STAGE, "total reward", "", "the weighted sum of its parts", how)
        return
    what = next((words for words, guess in guesses.items() if np.abs(got - guess).max() <= 1e-4), "")
    shown = ", ".join(f"{value:.3g}" for value in got)
    yield Check(STAGE, "total reward", "!!", what or f"{shown}, expected {', '.join(f'{v:.3g}' for v in wanted)}", how)
