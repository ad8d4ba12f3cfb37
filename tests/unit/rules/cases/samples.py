"""Cases of the rules of pages/samples.json."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.rollouts.dumps import GOOD
from tests.unit.rules.given import CRITICAL, NOTICE, Asker, N, Writer, asking, samples

WRONG = GOOD.replace("<answer>4", "<answer>5")


def graded(paid: int) -> Writer:
    """Every second answer is right, and of eight right ones so many are paid, of eight wrong ones the others."""
    return lambda step, n: (GOOD if n % 2 else WRONG, float((n // 2 % 8 < paid) == bool(n % 2)))


PROSE = " ".join(f"Step {n}: add {n} and {n + 1}." for n in range(12))


def copied(every: int) -> Writer:
    """Of so many samples of a group one is a text of its own."""
    return lambda step, n: (
        f"{PROSE} At step {step} prompt {n // 4}{f', {n}' if n % every == 0 else ''}.",
        float(n % 2),
    )


def again(share: int) -> Writer:
    """Of 32 samples so many are those of the first dump."""
    return lambda step, n: (f"{PROSE} {N // 6 if n < share else step} {n}", float(n % 2))


def unrewarded(count: int) -> Writer:
    return lambda step, n: (GOOD, float("nan") if n < count else float(n % 2))


def asked(share: int, how: Callable[[str], str]) -> Asker:
    """Of 32 prompts so many are changed."""
    return lambda n: how(f"What is {n // 4}?") if n < share else f"What is {n // 4}?"


def doubled(prompt: str) -> str:
    return f"<|im_start|>user\n<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


CASES = (
    samples("reward-contradicts-answer", graded(4), graded(7)),
    samples("samples-copied", copied(99), copied(2)),
    samples("samples-copied", again(32), again(1), CRITICAL),
    samples("samples-unrewarded", unrewarded(6), unrewarded(0)),
    asking("prompt-fault", asked(32, doubled), asked(4, doubled)),
    asking("prompt-fault", asked(32, lambda p: f"{p} The answer is 4."), asked(32, lambda p: f"{p} Give the answer.")),
    asking("prompt-fault", lambda n: "What is it?", lambda n: f"What is {n // 16}?", NOTICE),
)
