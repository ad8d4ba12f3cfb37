"""Faults of the reward, of the prompts and of the answers' ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.unit.diagnosis.faults.policy import falls
from tests.unit.diagnosis.faults.speed import BEGAN
from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to

ROUGH = 0.04


def grader_down(c: Columns, n: int) -> None:
    """Every call fails from a step on, and a failed call counts as 0."""
    for name in ("reward", "score"):
        c[name] = np.where(np.arange(n) >= int(0.7 * n), 0.0, c[name])
    c["spread"] = np.where(np.arange(n) >= int(0.7 * n), 0.0, noisy(np.full(n, 0.3), 0.05, 41))
    c["dead"] = np.where(np.arange(n) >= int(0.7 * n), 1.0, noisy(np.full(n, 0.2), 0.1, 42))


def wrong_sign(c: Columns, n: int) -> None:
    """The reward is minus the accuracy: it is driven down."""
    c["part:accuracy"] = np.abs(noisy(to(n, 0.42, 0.03, n // 8, n // 2), 0.05, 43))
    c["reward"] = c["score"] = -c["part:accuracy"]
    c["val"] = np.abs(noisy(to(n, 0.40, 0.03, n // 8, n // 2), 0.03, 44))


def length_bonus(c: Columns, n: int) -> None:
    times = to(n, 1, 3.0, n // 6, n // 2)
    c["length"] = noisy(550 * times, 0.02, 45)
    c["longest"] = np.minimum(2048, c["length"] * 1.5)
    c["cut"] = noisy(to(n, 0.01, 0.06, n // 6, n // 2), 0.1, 46)
    c["part:length_reward"] = noisy(to(n, 0.25, 0.9, n // 6, n // 2), ROUGH, 47)
    c["part:accuracy_reward"] = noisy(np.full(n, 0.35), ROUGH, 48)
    c["reward"] = c["part:length_reward"] + c["part:accuracy_reward"]
    c["val"] = noisy(np.full(n, 0.35), 0.02, 49)


def part_dominates(c: Columns, n: int) -> None:
    """A format bonus ten times as heavy as the task."""
    c["part:format"] = np.clip(noisy(to(n, 0.35, 0.99, n // 6, n // 4), 0.02, 47), 0, 1)
    c["part:accuracy"] = np.abs(noisy(to(n, 0.40, 0.08, n // 4, n // 2), ROUGH, 48))
    c["reward"] = c["score"] = 10 * c["part:format"] + c["part:accuracy"]
    c["val"] = np.abs(noisy(to(n, 0.40, 0.08, n // 4, n // 2), 0.02, 49))


def gamed(c: Columns, n: int) -> None:
    """The reward model is fooled: its score rises while the held-out score falls."""
    c["reward"] = c["score"] = noisy(to(n, 0.3, 0.97, n // 6, n // 2), 0.02, 41)
    c["val"] = noisy(to(n, 0.45, 0.12, n // 4, n // 2), 0.02, 42)
    c["kl"] = noisy(to(n, 0.001, 0.9, n // 6, n // 2), 0.03, 43)


def too_hard(c: Columns, n: int) -> None:
    """No answer is ever right."""
    for name in ("reward", "score", "score_min", "score_max", "val"):
        c[name] = np.zeros(n)
    c["all_wrong"], c["all_right"] = np.full(n, 100.0), np.zeros(n)
    c["grad"] = np.zeros(n)
    c["kl"] = np.abs(noisy(np.full(n, 1e-5), 0.1, 44))
    c["entropy"] = noisy(np.full(n, 0.9), 0.01, 45)
    c["length"] = noisy(np.full(n, 640.0), 0.02, 45)


def too_easy(c: Columns, n: int) -> None:
    """Every prompt is solved always: groups without spread."""
    c["reward"] = c["score"] = np.clip(noisy(np.full(n, 0.985), 0.004, 46), 0, 1)
    c["all_right"] = np.clip(noisy(np.full(n, 93.0), 0.01, 47), 0, 100)
    c["all_wrong"] = np.zeros(n)
    c["dead"] = c["all_right"] / 100
    c["grad"] = noisy(np.full(n, 0.02), 0.1, 48)


def group_of_one(c: Columns, n: int) -> None:
    c["dead"] = np.ones(n)
    c["spread"] = np.zeros(n)
    for name in ("grad", "loss"):
        c[name] = np.zeros(n)
    c["kl"] = np.zeros(n)
    for name in ("reward", "score"):
        c[name] = noisy(np.full(n, 0.3), 0.05, 49)


def never_ends(c: Columns, n: int) -> None:
    """The loss masks the end token: the policy forgets to stop, while solved answers are as short as before."""
    c["cut"] = np.clip(noisy(to(n, 0.02, 0.93, n // 4, n // 3), 0.02, 41), 0, 1)
    c["length"] = noisy(to(n, 520, 1960, n // 4, n // 3), 0.02, 42)
    c["longest"] = np.full(n, 2048.0)
    c["ended"] = noisy(np.full(n, 500.0), 0.02, 43)
    falls(c, n, 0.3, n // 3)


def runs_on(folder: Path) -> None:
    """Answers that end in the text, and go on as the next turn of the user."""
    for step in range(20, 160, 20):
        _dump(
            folder,
            step,
            [
                (
                    "user\nWhat is 17 + 5?\nassistant\n",
                    f"The answer is {k}.<|im_end|>\nuser\nWhat is {k} + 5?\nassistant\nIt is "
                    f"{k + 5}.<|im_end|>\nuser\n" * 12,
                    0.0,
                )
                for k in range(16)
            ],
        )


def _dump(folder: Path, step: int, rows: list[tuple[str, str, float]]) -> None:
    path = folder / "rollouts" / f"{step}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps({"input": p, "output": o, "score": s, "step": step}) + "\n" for p, o, s in rows), "utf-8"
    )


def template_mismatch(c: Columns, n: int) -> None:
    """Every answer runs to the limit from the first step on, as the stop token is another one."""
    c["cut"] = np.clip(noisy(np.full(n, 0.97), 0.01, 44), 0, 1)
    c["length"] = noisy(np.full(n, 4040.0), 0.004, 45)
    c["longest"] = np.full(n, 4096.0)
    for name in ("reward", "score"):
        c[name] = np.abs(noisy(np.full(n, 0.02), 0.2, 46))


def limit_too_small(c: Columns, n: int) -> None:
    """Answers need more room than they have: their length presses on the limit since the start."""
    c["cut"] = np.clip(noisy(np.full(n, 0.55), 0.03, 44), 0, 1)
    c["length"] = noisy(np.full(n, 900.0), 0.01, 45)
    c["longest"] = np.full(n, 1024.0)
    for name in ("reward", "score"):
        c[name] = noisy(np.full(n, 0.2), 0.04, 46)


def prompts_cut(c: Columns, n: int) -> None:
    """Two of three prompts lose their end, so nobody can solve them."""
    c["prompt_cut"] = np.clip(noisy(np.full(n, 0.66), 0.03, 47), 0, 1)
    c["prompt"] = noisy(np.full(n, 240.0), 0.01, 48)
    for name in ("reward", "score"):
        c[name] = noisy(np.full(n, 0.09), 0.08, 49)
    c["val"] = noisy(np.full(n, 0.09), 0.05, 49)


def repeated_prompts(c: Columns, n: int) -> None:
    """A data set of few prompts, seen 60 times: training goes up, validation down."""
    c["epoch"] = np.linspace(0, 60, n)
    c["reward"] = c["score"] = noisy(to(n, 0.3, 0.98, n // 10, n // 2), 0.015, 41)
    c["val"] = noisy(to(n, 0.44, 0.25, n // 3, n // 2), 0.02, 42)


def seen_in_training(c: Columns, n: int) -> None:
    """The validation file is the training file."""
    c["reward"] = c["score"] = noisy(to(n, 0.3, 0.9, n // 10, n // 2), 0.02, 41)
    c["val"] = noisy(to(n, 0.3, 0.92, n // 10, n // 2), 0.01, 42)


def bad_calls(c: Columns, n: int) -> None:
    c["tools"] = noisy(np.full(n, 2.4), 0.03, 44)
    c["failed_tools"] = np.clip(noisy(to(n, 0.05, 0.9, n // 2, 10), 0.03, 45), 0, 1)
    falls(c, n, 0.52, 12)


DOWN = BEGAN + "".join(
    f"2026-03-01 09:{m:02}:07 ERROR reward.client: POST http://grader:8080/score failed: Connection refused\n"
    for m in range(30)
)
REWARDS = {
    "grader down": Fault(
        "the grader refuses connections and each failed call counts as 0",
        "trl",
        grader_down,
        r"grader|remote reward|service|connection",
        untrue=r"learning rate|truncat|too hard",
        seed=41,
        log=DOWN,
    ),
    "wrong sign": Fault(
        "the reward is minus the accuracy",
        "verl",
        wrong_sign,
        r"sign|wrong way|minus|negat",
        untrue=r"learning rate|truncat|stale",
        seed=42,
    ),
    "length bonus": Fault(
        "a part of the reward pays for length",
        "trl",
        length_bonus,
        r"pays for length|length.{0,20}(bonus|reward)|reward.{0,30}length|extra part",
        untrue=r"stale|learning rate|grader",
        mild="length-explosion",
        seed=43,
    ),
    "part dominates": Fault(
        "the format bonus weighs ten times the task",
        "verl",
        part_dominates,
        r"extra part|format|component|part",
        untrue=r"stale|truncat|learning rate",
        seed=44,
    ),
    "gamed reward model": Fault(
        "the policy exploits the reward model",
        "skyrl",
        gamed,
        r"gam|hack|exploit|proxy|reward model|overoptimi",
        untrue=r"stale|truncat|repeated",
        seed=45,
    ),
    "too hard": Fault(
        "no prompt can be solved by this model, and every score is 0",
        "nemo_rl",
        too_hard,
        r"too hard|never right|no answer|parse|grader|extract",
        untrue=r"too easy|stale|learning rate|truncat",
        seed=46,
    ),
    "too easy": Fault(
        "every prompt is solved always",
        "nemo_rl",
        too_easy,
        r"easy|solved|right",
        untrue=r"too hard|stale|learning rate",
        mild="reward-saturated",
        seed=47,
    ),
    "group of one": Fault(
        "one answer a prompt, with a baseline from the group",
        "trl",
        group_of_one,
        r"group (size|too small|of one)|one answer",
        untrue=r"stale|too high",
        seed=48,
        config={"num_generations": 1},
    ),
}
DATA = {
    "end token masked": Fault(
        "the end token is masked in the loss, so answers no longer stop",
        "trl",
        never_ends,
        r"stop|end (token|of)|eos|never end|truncat|cut",
        untrue=r"stale|grader|too easy",
        seed=51,
    ),
    "template mismatch": Fault(
        "the sampler waits for another stop token than the template writes",
        "verl",
        template_mismatch,
        r"stop|template|end token|eos",
        untrue=r"stale|learning rate|too easy",
        seed=52,
        samples=runs_on,
    ),
    "limit too small": Fault(
        "1024 tokens are too few for these answers",
        "openrlhf",
        limit_too_small,
        r"limit|truncat|cut",
        untrue=r"stale|template|grader",
        seed=53,
        config={"rollout.max_new_tokens": 1024},
    ),
    "prompts cut": Fault(
        "the limit of prompts cuts two of three",
        "verl",
        prompts_cut,
        r"prompts? (is |are |were )?(cut|truncat)|prompt.{0,30}limit",
        untrue=r"stale|learning rate|too easy",
        mild="reward-flat-from-start",
        seed=54,
        config={"data.max_prompt_length": 256},
    ),
    "repeated prompts": Fault(
        "a few prompts are seen 60 times",
        "verl",
        repeated_prompts,
        r"repeat|memor|same prompts|seen|overfit|epochs|passes over",
        untrue=r"stale|truncat|grader down",
        seed=55,
        config={"trainer.total_epochs": 60},
    ),
    "validation in training": Fault(
        "validation reads the training file",
        "verl",
        seen_in_training,
        r"validation.{0,40}(same|train)|same file",
        untrue=r"stale|truncat|learning rate",
        seed=56,
        config={"data.train_files": "/data/math/train.parquet", "data.val_files": "/data/math/train.parquet"},
    ),
    "failing tools": Fault(
        "most tool calls fail from the middle on",
        "trl",
        bad_calls,
        r"tool|call",
        seed=57,
        untrue=r"stale|learning rate|truncat",
    ),
}
