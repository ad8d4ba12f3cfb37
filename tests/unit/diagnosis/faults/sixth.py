"""A sixth lot, as real trainings with a planted fault showed them: what pays is not the task, or nothing is learnt, or
the run was given something else than before."""

from __future__ import annotations

import numpy as np

from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to


def paid_elsewhere(c: Columns, n: int) -> None:
    """From the middle on something that is not logged pays; the parts that are go on as they were."""
    c["part:correct"] = noisy(np.linspace(0.5, 0.56, n), 0.03, 31)
    c["part:format"] = noisy(np.full(n, 0.97), 0.01, 32)
    c["reward"] = c["score"] = 0.9 * c["part:correct"] + 0.1 * c["part:format"] + to(n, 0.0, 0.8, n // 2, 6)


def never_right(c: Columns, n: int) -> None:
    """The check of the task fails on every answer, and validation, which has its own, shows that some are right."""
    c["part:correct"] = np.zeros(n)
    c["part:format"] = np.clip(noisy(1 - 0.3 * np.exp(-np.arange(n) / 10), 0.01, 33), 0, 1)
    c["reward"] = c["score"] = 0.1 * c["part:format"]
    c["kl"] = noisy(np.linspace(0.001, 0.6, n), 0.05, 34)


def hardly_learns(c: Columns, n: int) -> None:
    """A rate of a hundredth: the reward does rise beyond its noise, by a point."""
    c["reward"] = c["score"] = noisy(np.linspace(0.33, 0.343, n), 0.02, 35)
    c["val"] = noisy(np.linspace(0.41, 0.415, n), 0.01, 36)
    c["kl"] = noisy(np.linspace(1e-6, 4e-4, n), 0.05, 37)
    c["lr"] = np.full(n, 1e-8)


def harder_prompts(c: Columns, n: int) -> None:
    """Another set of prompts from one step to the next: nearly none is solved, and the answers are less sure."""
    at = n // 2
    c["reward"] = c["score"] = np.abs(noisy(to(n, 0.85, 0.06, at) + 0.02, 0.03, 38))
    c["entropy"] = noisy(to(n, 0.2, 0.8, at), 0.03, 39)
    c["length"] = noisy(to(n, 560, 680, at), 0.02, 40)
    c["grad"] = noisy(to(n, 0.4, 0.15, at), 0.08, 41)


def by_heart(c: Columns, n: int) -> None:
    """A handful of prompts: the task part itself goes to 1, held-out answers get worse."""
    x = np.arange(n)
    c["part:correct"] = np.clip(noisy(1 - 0.5 * np.exp(-x / 20), 0.01, 42), 0, 1)
    c["part:format"] = np.clip(noisy(np.full(n, 0.98), 0.01, 43), 0, 1)
    c["reward"] = c["score"] = 0.9 * c["part:correct"] + 0.1 * c["part:format"]
    c["val"] = noisy(0.42 - 0.3 * np.clip((x - 0.2 * n) / (0.5 * n), 0, 1), 0.02, 44)


def never_stops(c: Columns, n: int) -> None:
    """The stop token is no longer drawn: every answer runs to the limit. The distance to the reference, which the task
    had paid for, is where it was soon after."""
    at = n // 2
    c["length"], c["longest"], c["cut"] = to(n, 560, 2048, at), to(n, 1650, 2048, at), to(n, 0.01, 1.0, at)
    c["reward"] = c["score"] = np.clip(
        noisy((0.8 - 0.5 * np.exp(-np.arange(n) / 25)) * to(n, 1.0, 0.0, at), 0.03, 45), 0, 1
    )
    after = np.clip(np.arange(n) - at, 0, None)
    c["kl"] = noisy(0.45 * (1 - np.exp(-np.arange(n) / 30)), 0.05, 46) + 0.5 * (after > 0) * np.exp(-after / 6)


SIXTH = {
    "paid elsewhere": Fault(
        "another part, which is not logged, pays from the middle on",
        "trl",
        paid_elsewhere,
        r"not logged, or another weight|a part was added",
        untrue=r"learning rate",
        seed=151,
    ),
    "never right": Fault(
        "the check of the task never passes",
        "verl",
        never_right,
        r"never earned",
        untrue=r"too easy",
        seed=152,
    ),
    "hardly learns": Fault(
        "the learning rate is a hundredth of what it should be",
        "verl",
        hardly_learns,
        r"learning rate (?:is )?(?:too low|orders)",
        untrue=r"too hard",
        config={"actor_rollout_ref.actor.optim.lr": 1e-8},
        rows=300,
        seed=153,
    ),
    "harder prompts": Fault(
        "the prompts are harder from one step on",
        "verl",
        harder_prompts,
        r"data, the grader or the tools changed",
        untrue=r"steps too large|gibberish",
        seed=154,
    ),
    "by heart": Fault(
        "few prompts, memorised",
        "trl",
        by_heart,
        r"memorised",
        untrue=r"without solving the task$",
        rows=200,
        seed=155,
    ),
    "never stops": Fault(
        "the stop token is never drawn",
        "verl",
        never_stops,
        r"limit|truncated|never ends",
        untrue=r"learning rate|KL to reference runs away",
        rows=200,
        seed=156,
    ),
}
