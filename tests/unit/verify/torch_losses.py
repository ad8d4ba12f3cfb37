"""Losses as people write them in torch, right and with one fault each. Needs torch; see `test_torch_losses.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Loss = Callable[[Any, Any, Any, Any], Any]


def tokens(each: Any, mask: Any) -> Any:
    return (each * mask).sum() / mask.sum()


def answers(each: Any, mask: Any) -> Any:
    return ((each * mask).sum(1) / mask.sum(1)).mean()


def ppo(new: Any, old: Any, adv: Any, mask: Any, low: float = 0.2, high: float = 0.2, mean: Any = tokens) -> Any:
    ratio = torch.exp(new - old)
    a = adv.unsqueeze(-1)
    return mean(-torch.min(ratio * a, torch.clamp(ratio, 1 - low, 1 + high) * a), mask)


def grpo_on_policy(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    """TRL, if there is one update for each batch: the old policy is the policy itself."""
    return answers(-torch.exp(new - new.detach()) * adv.unsqueeze(-1), mask)


def dapo(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(new, old, adv, mask, 0.2, 0.28)


def dr_grpo(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(new, old, adv, mask, mean=lambda each, m: (each * m).sum() / (2048 * len(m)))


def grpo(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(new, old, adv, mask, mean=answers)


def dual_clip(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    ratio, a = torch.exp(new - old), adv.unsqueeze(-1)
    one = torch.max(-ratio * a, -torch.clamp(ratio, 0.8, 1.2) * a)
    return tokens(torch.where(a < 0, torch.min(one, -3.0 * a), one), mask)


def reinforce(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return -tokens(new * adv.unsqueeze(-1), mask)


def cispo(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    weight = torch.clamp(torch.exp(new - old), max=1.28).detach()
    return -tokens(weight * adv.unsqueeze(-1) * new, mask)


def gspo(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    apart = ((new - old) * mask).sum(1) / mask.sum(1)
    ratio = torch.exp(new - new.detach() + apart.detach().unsqueeze(-1))
    a = adv.unsqueeze(-1)
    return answers(-torch.min(ratio * a, torch.clamp(ratio, 1 - 3e-4, 1 + 4e-4) * a), mask)


def masked_where(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    each = ppo(new, old, adv, mask, mean=lambda e, m: e)
    return torch.where(mask.bool(), each, torch.zeros_like(each)).sum() / mask.sum().clamp(min=1)


ALL = (ppo, grpo_on_policy, dapo, dr_grpo, grpo, dual_clip, reinforce, cispo, gspo, masked_where)
RIGHT: dict[str, Loss] = {one.__name__: one for one in ALL}


def _ratio(change: Callable[[Any, Any], Any]) -> Loss:
    def made(new: Any, old: Any, adv: Any, mask: Any) -> Any:
        ratio, a = change(new, old), adv.unsqueeze(-1)
        return tokens(-torch.min(ratio * a, torch.clamp(ratio, 0.8, 1.2) * a), mask)

    return made


def _adv(change: Callable[[Any], Any]) -> Loss:
    return lambda new, old, adv, mask: ppo(new, old, change(adv), mask)


def _mask(change: Callable[[Any], Any]) -> Loss:
    return lambda new, old, adv, mask: ppo(new, old, adv, change(mask))


def _each(surrogate: Callable[[Any, Any], Any]) -> Loss:
    return lambda new, old, adv, mask: tokens(surrogate(torch.exp(new - old), adv.unsqueeze(-1)), mask)


def _clamp(r: Any, low: float = 0.8, high: float = 1.2) -> Any:
    return torch.clamp(r, low, high)


def no_grad(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    with torch.no_grad():
        return ppo(new, old, adv, mask)


def item(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return torch.tensor(ppo(new, old, adv, mask).item())


def by_numpy(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(torch.from_numpy(new.detach().numpy()), old, adv, mask)


def first_answer(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(new[:1], old[:1], adv[:1], mask[:1])


def without_last(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(new[:, :-1], old[:, :-1], adv, mask[:, :-1])


def without_first(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    return ppo(new[:, 1:], old[:, 1:], adv, mask[:, 1:])


def flat(new: Any, old: Any, adv: Any, mask: Any) -> Any:
    """The advantage of a sample is spread over the wrong axis."""
    wide = adv.repeat(new.shape[1]).reshape(new.shape)
    return tokens(-torch.exp(new - old) * wide, mask)


WRONG: dict[str, Loss] = {
    "detached ratio": _ratio(lambda new, old: torch.exp(new - old).detach()),
    "detached policy": _ratio(lambda new, old: torch.exp(new.detach() - old)),
    "item": item,
    "no grad": no_grad,
    "through numpy": by_numpy,
    "max for min": _each(lambda r, a: -torch.max(r * a, _clamp(r) * a)),
    "clip alone": _each(lambda r, a: -_clamp(r) * a),
    "sign": _each(lambda r, a: torch.min(r * a, _clamp(r) * a)),
    "ratio turned over": _ratio(lambda new, old: torch.exp(old - new)),
    "bad samples dropped": _adv(lambda a: a.clamp(min=0)),
    "good samples dropped": _adv(lambda a: a.clamp(max=0)),
    "absolute advantages": _adv(torch.abs),
    "squared advantages": _adv(lambda a: a**2),
    "negative advantages": _adv(lambda a: -a),
    "constant advantages": _adv(torch.ones_like),
    "no advantages": _adv(torch.zeros_like),
    "advantages rolled": _adv(lambda a: a.roll(1)),
    "advantages turned round": _adv(lambda a: a.flip(0)),
    "mask inverted": _mask(lambda m: 1 - m),
    "mask of ones": _mask(torch.ones_like),
    "mask shifted": _mask(lambda m: torch.roll(m, 1, 1)),
    "mask without the end": _mask(lambda m: torch.cat([m[:, 1:], torch.zeros_like(m[:, :1])], 1)),
    "first answer for all": first_answer,
    "last token dropped": without_last,
    "first token dropped": without_first,
    "advantages over the wrong axis": flat,
    "ratio of probabilities by difference": _each(lambda r, a: -(r - 1).abs() * a),
    "clip by the wrong side": _each(lambda r, a: -torch.where(r > 1, r * a, _clamp(r) * a)),
    "old and new swapped": lambda new, old, adv, mask: ppo(old, new, adv, mask),
    "loss of the entropy alone": lambda new, old, adv, mask: -tokens(new * new.exp(), mask),
}
