"""One right function for each stage of a pipeline, and the same with one mistake each, as people make them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.unit.verify import pipelines
from tests.unit.verify.pipelines import in_groups

Changes = Mapping[str, Any]

# -- reward ----------------------------------------------------------------------------------------------------------

EXAMPLES = [("42", "so it is <answer>42</answer>", "so it is <answer>41</answer>")]
ANSWER = re.compile(r"<answer>([^<]*)</answer>\s*$")


def reward(completion: str, truth: str) -> float:
    found = ANSWER.search(completion)
    return 1.0 if found is not None and found[1].strip() == truth else 0.0


def raises_on_malformed(completion: str, truth: str) -> float:
    return float(ANSWER.search(completion)[1].strip() == truth)  # type: ignore[index]


def by_number(completion: str, truth: str) -> float:
    found = ANSWER.search(completion)
    return 1.0 if found is not None and float(found[1]) == float(truth) else 0.0


REWARDS: dict[str, Callable[[str, str], Any]] = {
    "the sign is turned": lambda c, t: -reward(c, t),
    "right and wrong earn the same": lambda c, t: 1.0 if "<answer>" in c else 0.0,
    "the truth anywhere in the text": lambda c, t: float(t in c),
    "what begins with the truth": lambda c, t: float(bool((m := ANSWER.search(c)) and m[1].startswith(t))),
    "any of the truth": lambda c, t: float(bool((m := ANSWER.search(c)) and m[1] in t)),
    "malformed text raises": raises_on_malformed,
    "no answer is NaN": lambda c, t: float("nan") if not ANSWER.search(c) else reward(c, t),
    "no answer is a full reward": lambda c, t: 1.0 if not ANSWER.search(c) else reward(c, t),
    "the length is paid for": lambda c, t: reward(c, t) + len(c) / 100,
    "a number of what is no number": by_number,
    "the sign of a number is not read": lambda c, t: float(bool((m := ANSWER.search(c)) and m[1].strip("-") == t)),
    "the last number of the text": lambda c, t: float(re.findall(r"\d+", c)[-1] == t),
}

# -- total of the parts ----------------------------------------------------------------------------------------------


def total(parts: Any, weights: Any) -> Any:
    return np.asarray(parts, dtype=np.float64) @ np.asarray(weights, dtype=np.float64)


TOTALS: dict[str, Callable[[Any, Any], Any]] = {
    "weights are not used": lambda p, w: np.asarray(p).sum(1),
    "a penalty is paid": lambda p, w: np.asarray(p) @ np.abs(np.asarray(w)),
    "the mean of the parts": lambda p, w: (np.asarray(p) * np.asarray(w)).mean(1),
    "the last part is lost": lambda p, w: np.asarray(p)[:, :-1] @ np.asarray(w)[:-1],
    "weights in another order": lambda p, w: np.asarray(p) @ np.asarray(w)[::-1],
    "cut off at 0": lambda p, w: np.maximum(total(p, w), 0),
    "the sum over the answers": lambda p, w: np.full(len(np.asarray(p)), total(p, w).sum()),
}

# -- advantages ------------------------------------------------------------------------------------------------------


def _rows(rewards: Any, group: int) -> Any:
    return np.asarray(rewards, dtype=np.float64).reshape(-1, group)


def centred(rewards: Any, group: int) -> Any:
    rows = _rows(rewards, group)
    return (rows - rows.mean(1, keepdims=True)).reshape(-1)


def leave_one_out(rewards: Any, group: int) -> Any:
    rows = _rows(rewards, group)
    return (rows - (rows.sum(1, keepdims=True) - rows) / (group - 1)).reshape(-1)


def batch(rewards: Any, group: int) -> Any:
    r = np.asarray(rewards, dtype=np.float64)
    return (r - r.mean()) / (r.std() + 1e-8)


ADVANTAGES: dict[str, Callable[[Any, int], Any]] = {
    "the sign is turned": lambda r, g: -in_groups(r, g),
    "over the batch": batch,
    "not centred": lambda r, g: (_rows(r, g) / (_rows(r, g).std(1, keepdims=True) + 1e-4)).reshape(-1),
    "a constant under the root": lambda r, g: (
        (_rows(r, g) - _rows(r, g).mean(1, keepdims=True)) / np.sqrt(_rows(r, g).var(1, keepdims=True) + 1e-4)
    ).reshape(-1),
    "their size": lambda r, g: np.abs(in_groups(r, g)),
    "clipped": lambda r, g: np.clip(in_groups(r, g), -1, 1),
    "clipped at 3": lambda r, g: np.clip(in_groups(r, g), -3, 3),
    "bad ones dropped": lambda r, g: np.maximum(in_groups(r, g), 0),
    "prompts mixed": pipelines.by_stride,
    "sorted": lambda r, g: np.sort(_rows(in_groups(r, g), g), 1).reshape(-1),
    "of the answer before": lambda r, g: np.roll(_rows(in_groups(r, g), g), 1, 1).reshape(-1),
    "divided by the variance": lambda r, g: (
        (_rows(r, g) - _rows(r, g).mean(1, keepdims=True)) / (_rows(r, g).var(1, keepdims=True) + 1e-4)
    ).reshape(-1),
    "by the median": lambda r, g: (_rows(r, g) - np.median(_rows(r, g), 1, keepdims=True)).reshape(-1),
    "a rank": lambda r, g: (np.argsort(np.argsort(_rows(r, g), 1), 1) - (g - 1) / 2).reshape(-1),
}

# -- returns of a critic ---------------------------------------------------------------------------------------------


def gae(rewards: Any, values: Any, mask: Any, gamma: float, lam: float) -> Any:
    rewards, values, mask = (np.asarray(x, dtype=np.float64) for x in (rewards, values, mask))
    out = np.zeros_like(rewards)
    carried, following = np.zeros(len(rewards)), np.zeros(len(rewards))
    for at in range(rewards.shape[1] - 1, -1, -1):
        delta = rewards[:, at] + gamma * following - values[:, at]
        carried = (delta + gamma * lam * carried) * mask[:, at]
        out[:, at], following = carried, values[:, at] * mask[:, at]
    return out, (out + values) * mask


def _ones(mask: Any) -> Any:
    return np.ones_like(np.asarray(mask))


RETURNS: dict[str, Callable[..., Any]] = {
    "λ is not used": lambda r, v, m, g, k: gae(r, v, m, g, 1.0),
    "γ is not used": lambda r, v, m, g, k: gae(r, v, m, 1.0, k),
    "the end is not seen": lambda r, v, m, g, k: gae(r, v, _ones(m), g, k),
    "values are not subtracted": lambda r, v, m, g, k: gae(r, np.zeros_like(np.asarray(v)), m, g, k)[0],
    "the sign is turned": lambda r, v, m, g, k: -gae(r, v, m, g, k)[0],
    "returns are the advantages": lambda r, v, m, g, k: (gae(r, v, m, g, k)[0], gae(r, v, m, g, k)[0]),
    "advantages are the returns": lambda r, v, m, g, k: gae(r, v, m, g, k)[1],
    "one token late": lambda r, v, m, g, k: np.roll(gae(r, v, m, g, k)[0], 1, 1),
    "swapped": lambda r, v, m, g, k: gae(r, v, m, k, g),
    "rewards are lost": lambda r, v, m, g, k: gae(np.zeros_like(np.asarray(r)), v, m, g, k),
}

# -- the models beside the policy ------------------------------------------------------------------------------------


class Models:
    """A policy and a reference of a few weights. `shared`: the reference is the policy itself; `trained`: it takes the
    updates too; `stands`: no update reaches the policy; `other`: the reference began from other weights."""

    def __init__(self, shared: bool = False, trained: bool = False, stands: bool = False, other: bool = False) -> None:
        self.policy = np.linspace(-2.0, -0.1, 6).reshape(2, 3)
        self.ref = self.policy if shared else self.policy.copy() - (1.0 if other else 0.0)
        self.trained, self.stands = trained, stands

    def update(self) -> None:
        if not self.stands:
            self.policy -= 0.05
        if self.trained:
            self.ref -= 0.01

    def parts(self) -> Any:
        return (lambda: self.policy.copy()), (lambda: self.ref.copy()), self.update


REFERENCES: dict[str, Callable[[], Any]] = {
    "the reference is the policy": lambda: Models(shared=True).parts(),
    "the reference is trained": lambda: Models(trained=True).parts(),
    "the policy is not": lambda: Models(stands=True).parts(),
    "the reference is another model": lambda: Models(other=True).parts(),
    "policy and reference are swapped": lambda: (lambda p: (p[1], p[0], p[2]))(Models().parts()),
}

DRAW = np.random.default_rng(5)
TRAINER = -DRAW.gamma(1.0, 1.2, (4, 9))
MASK = (np.arange(9)[None] < np.array([[9], [5], [7], [3]])).astype(np.float64)
SAMPLER = np.minimum(TRAINER + DRAW.normal(0, 0.005, TRAINER.shape), 0.0)

SAMPLERS: dict[str, Callable[[], Any]] = {
    "one token late": lambda: (np.roll(SAMPLER, 1, 1), TRAINER, MASK),
    "one token early": lambda: (np.roll(SAMPLER, -1, 1), TRAINER, MASK),
    "answers in another order": lambda: (np.roll(SAMPLER, 1, 0), TRAINER, np.ones_like(MASK)),
    "probabilities": lambda: (np.exp(SAMPLER), TRAINER, MASK),
    "another temperature": lambda: (SAMPLER * 0.7, TRAINER, MASK),
    "another base": lambda: (SAMPLER / np.log(2), TRAINER, MASK),
    "older weights": lambda: (np.minimum(SAMPLER + DRAW.normal(0, 0.4, SAMPLER.shape), 0), TRAINER, MASK),
    "the sign is turned": lambda: (-SAMPLER, TRAINER, MASK),
}

# -- preference ------------------------------------------------------------------------------------------------------


def dpo(pc: Any, pr: Any, rc: Any, rr: Any, beta: float) -> Any:
    h = (np.asarray(pc) - np.asarray(rc)) - (np.asarray(pr) - np.asarray(rr))
    return np.logaddexp(0, -beta * h)


PREFERENCES: dict[str, Callable[..., Any]] = {
    "chosen and rejected are swapped": lambda pc, pr, rc, rr, b: dpo(pr, pc, rr, rc, b),
    "no reference": lambda pc, pr, rc, rr, b: dpo(pc, pr, 0 * np.asarray(rc), 0 * np.asarray(rr), b),
    "policy and reference are swapped": lambda pc, pr, rc, rr, b: dpo(rc, rr, pc, pr, b),
    "beta is not used": lambda pc, pr, rc, rr, b: dpo(pc, pr, rc, rr, 1.0),
    "divided by beta": lambda pc, pr, rc, rr, b: dpo(pc, pr, rc, rr, 1 / b),
    "without the logarithm": lambda pc, pr, rc, rr, b: -np.exp(-dpo(pc, pr, rc, rr, b)),
    "the sign is turned": lambda pc, pr, rc, rr, b: -dpo(pc, pr, rc, rr, b),
    "the margin alone": lambda pc, pr, rc, rr, b: -b * ((np.asarray(pc) - rc) - (np.asarray(pr) - rr)),
    "references of both are swapped": lambda pc, pr, rc, rr, b: dpo(pc, pr, rr, rc, b),
    "the same for every pair": lambda pc, pr, rc, rr, b: np.full(len(np.asarray(pc)), 0.69),
}

# -- decoding --------------------------------------------------------------------------------------------------------


def plain(ids: Any, tokenizer: Any) -> list[str]:
    return list(tokenizer.batch_decode(ids, skip_special_tokens=True))


def after_prompt(ids: Any, tokenizer: Any, prompt_length: int) -> list[str]:
    return plain([row[prompt_length:] for row in ids], tokenizer)


DECODERS: dict[str, Callable[..., Any]] = {
    "the first sample for all": lambda ids, t: plain([ids[0]] * len(ids), t),
    "the last token is dropped": lambda ids, t: plain([row[:-1] for row in ids], t),
    "the first token is dropped": lambda ids, t: plain([row[1:] for row in ids], t),
    "in another order": lambda ids, t: plain(ids, t)[::-1],
    "special tokens are kept": lambda ids, t: list(t.batch_decode(ids)),
    "the prompt is left in": lambda ids, t, prompt_length: plain(ids, t),
    "one token of the prompt is left in": lambda ids, t, prompt_length: plain([r[prompt_length - 1 :] for r in ids], t),
    "the beginning is left in": lambda ids, t, n: [f"{t.bos_token} {x}" for x in after_prompt(ids, t, n)],
    "cut at the first blank": lambda ids, t: [x.split(" ")[0] for x in plain(ids, t)],
    "all in one": lambda ids, t: [" ".join(plain(ids, t))] * len(ids),
}

FAULTS: dict[str, tuple[str, Mapping[str, Callable[..., Any]], Changes]] = {
    "reward": ("reward", REWARDS, {"EXAMPLES": EXAMPLES}),
    "total": ("total_reward", TOTALS, {}),
    "advantages": ("advantage", ADVANTAGES, {}),
    "returns": ("gae", RETURNS, {}),
    "reference": ("reference", REFERENCES, {}),
    "sampler": ("sampler_log_probs", SAMPLERS, {}),
    "preference": ("dpo_loss", PREFERENCES, {}),
    "decoding": ("decode", DECODERS, {}),
}
"""Stage -> name of its function, its mistakes, what else the adapters file must hold."""

RIGHT: dict[str, Changes] = {
    "a reward by its last tag": {"reward": reward, "EXAMPLES": EXAMPLES},
    "a total": {"total_reward": total},
    "GRPO": {"advantage": in_groups},
    "GRPO, the other spread": {
        "advantage": lambda r, g: (
            (_rows(r, g) - _rows(r, g).mean(1, keepdims=True)) / (_rows(r, g).std(1, keepdims=True, ddof=1) + 1e-6)
        ).reshape(-1)
    },
    "Dr. GRPO": {"advantage": centred},
    "RLOO": {"advantage": leave_one_out},
    "a batch that is declared": {"advantage": batch, "ADVANTAGE": "batch"},
    "rewards that are declared": {"advantage": lambda r, g: np.asarray(r), "ADVANTAGE": "none"},
    "a critic": {"gae": gae},
    "a critic without returns": {"gae": lambda *a: gae(*a)[0]},
    "a reference": {"reference": lambda: Models().parts()},
    "a sampler": {"sampler_log_probs": lambda: (SAMPLER, TRAINER, MASK)},
    "DPO": {"dpo_loss": dpo},
    "DPO, the mean": {"dpo_loss": lambda *a: dpo(*a).mean()},
    "IPO": {"dpo_loss": lambda pc, pr, rc, rr, b: (((pc - rc) - (pr - rr)) - 1 / (2 * b)) ** 2},
    "a decoder": {"decode": plain},
    "a decoder behind prompts": {"decode": after_prompt},
}
