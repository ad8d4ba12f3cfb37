"""`rltui verify --batch`: right batches of several trainers pass, a batch with one planted fault names the stage in
which it lies, and a file that is none is one line."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.verify.batch import named
from rltui.verify.check import Check
from rltui.verify.replay import replayed

Arrays = dict[str, Any]
GROUP, PROMPTS, WIDTH = 4, 6, 11


def ratio_loss(held: Arrays) -> Any:
    ratio, each = np.exp(held["log_probs"] - held["old_log_probs"]), held["advantages"][:, None]
    return -np.minimum(ratio * each, np.clip(ratio, 1 - held["clip_low"], 1 + held["clip_high"]) * each)


def by_tokens(held: Arrays, token: Any) -> float:
    return float((token * held["mask"]).sum() / held["mask"].sum())


def by_answers(held: Arrays, token: Any) -> float:
    return float(((token * held["mask"]).sum(1) / held["mask"].sum(1)).mean())


def advantages_of(held: Arrays) -> Any:
    rows = held["rewards"].reshape(-1, GROUP)
    return ((rows - rows.mean(1, keepdims=True)) / (rows.std(1, ddof=1, keepdims=True) + 1e-4)).reshape(-1)


def batch(seed: int = 3, total: Callable[[Arrays, Any], float] = by_tokens) -> Arrays:
    """A GRPO batch: rewards, advantages, log-probs of three models and the sampler, mask of its ids, loss and KL."""
    draw = np.random.default_rng(seed)
    count = GROUP * PROMPTS
    old = -draw.gamma(1.0, 0.8, (count, WIDTH))
    ids = draw.integers(5, 50, (count, WIDTH))
    for row, end in zip(ids, draw.integers(3, WIDTH, count), strict=True):
        row[end], row[end + 1 :] = 2, 0
    held: Arrays = {
        "rewards": draw.integers(0, 2, count) + draw.normal(0, 0.01, count),
        "num_generations": GROUP,
        "old_log_probs": old,
        "log_probs": np.minimum(old + draw.normal(0, 0.25, old.shape), 0),
        "ref_log_probs": np.minimum(old + draw.normal(0, 0.3, old.shape), 0),
        "sampler_log_probs": np.minimum(old + draw.normal(0, 0.004, old.shape), 0),
        "ids": ids,
        "eos_id": 2,
        "mask": ((np.cumsum(ids == 2, 1) - (ids == 2)) == 0).astype(float),
        "clip_low": 0.2,
        "clip_high": 0.28,
        "kl_coef": 0.05,
    }
    held["advantages"] = advantages_of(held)
    gap = held["log_probs"] - held["ref_log_probs"]
    k3 = np.exp(-gap) - 1 + gap
    held["kl"] = total(held, k3)
    held["loss"] = total(held, ratio_loss(held) + held["kl_coef"] * k3)
    return held


def told(held: Arrays) -> list[Check]:
    return [check for check in replayed(named(held)) if check.mark == "!!"]


def without_penalty(held: Arrays) -> Arrays:
    held["loss"], held["kl_coef"] = by_tokens(held, ratio_loss(held)), 0.0
    return held


def in_any_order(held: Arrays) -> Arrays:
    order = np.random.default_rng(1).permutation(len(held["rewards"]))
    groups = np.repeat(np.arange(PROMPTS), GROUP)
    out = {k: v[order] if getattr(v, "ndim", 0) and len(v) == len(order) else v for k, v in held.items()}
    del out["num_generations"]
    return {**out, "uid": np.array([f"prompt-{g}" for g in groups])[order]}


RIGHT: dict[str, Callable[[], Arrays]] = {
    "by tokens": batch,
    "by answers": lambda: batch(total=by_answers),
    "of another seed": lambda: batch(9),
    "without a penalty": lambda: without_penalty(batch()),
    "advantages of each token": lambda: (
        lambda h: {**h, "advantages": np.repeat(h["advantages"][:, None], WIDTH, 1) * h["mask"]}
    )(batch()),
    "in any order, with labels": lambda: in_any_order(batch()),
    "names of TRL": lambda: (
        lambda h: {
            "completion_mask": h["mask"],
            "per_token_logps": h["log_probs"],
            **{k: v for k, v in h.items() if k not in ("mask", "log_probs")},
        }
    )(batch()),
}


def again(held: Arrays, token: Any) -> Arrays:
    """The batch with the loss of these tokens."""
    return {**held, "loss": by_tokens(held, token), "kl_coef": 0.0}


def changed(**values: Callable[[Arrays], Any]) -> Arrays:
    """The batch with other arrays, and everything behind them as the trainer would make it of them."""
    held = without_penalty(batch())
    for name, made in values.items():
        held[name] = made(held)
    return held


def unclipped(held: Arrays) -> Any:
    return -np.exp(held["log_probs"] - held["old_log_probs"]) * held["advantages"][:, None]


FAULTS: dict[str, tuple[Callable[[], Arrays], str]] = {
    "a reward is NaN": (
        lambda: changed(rewards=lambda h: np.where(np.arange(24) == 5, np.nan, h["rewards"])),
        "reward",
    ),
    "advantages over the batch with a wrong sign": (
        lambda: changed(advantages=lambda h: -(h["rewards"] - h["rewards"].mean()) / h["rewards"].std()),
        "advantages",
    ),
    "advantages with the wrong sign": (lambda: changed(advantages=lambda h: -h["advantages"]), "advantages"),
    "advantages of the next prompt": (
        lambda: changed(advantages=lambda h: np.roll(h["advantages"], GROUP)),
        "advantages",
    ),
    "advantages of another answer": (lambda: changed(advantages=lambda h: np.roll(h["advantages"], 1)), "advantages"),
    "advantages clipped": (lambda: changed(advantages=lambda h: np.clip(h["advantages"], -0.5, 0.5)), "advantages"),
    "advantages of size alone": (lambda: changed(advantages=lambda h: np.abs(h["advantages"])), "advantages"),
    "a probability for a log-prob": (lambda: changed(log_probs=lambda h: np.exp(h["log_probs"])), "log-probs"),
    "old log-probs of other tokens": (lambda: changed(old_log_probs=lambda h: h["old_log_probs"] - 25.0), "log-probs"),
    "the sampler one token late": (
        lambda: changed(sampler_log_probs=lambda h: np.roll(h["sampler_log_probs"], 1, 1)),
        "log-probs",
    ),
    "the sampler of old weights": (
        lambda: changed(sampler_log_probs=lambda h: np.minimum(h["sampler_log_probs"] - 0.4, 0)),
        "log-probs",
    ),
    "padding in the mask": (lambda: changed(mask=lambda h: np.ones_like(h["mask"])), "loss"),
    "loss with the wrong sign": (lambda: again(batch(), -ratio_loss(batch())), "loss"),
    "loss without the clip": (lambda: again(batch(), unclipped(batch())), "loss"),
    "loss over the padding": (
        lambda: (lambda h: {**h, "kl_coef": 0.0, "loss": float(ratio_loss(h).mean())})(batch()),
        "loss",
    ),
    "loss with the ratio upside down": (
        lambda: (
            lambda h: again(h, ratio_loss({**h, "log_probs": h["old_log_probs"], "old_log_probs": h["log_probs"]}))
        )(batch()),
        "loss",
    ),
    "loss divided for accumulation": (lambda: (lambda h: {**h, "loss": h["loss"] / 4})(batch()), "loss"),
    "the penalty pays for distance": (
        lambda: (lambda h: {**h, "loss": by_tokens(h, ratio_loss(h)) - h["kl_coef"] * h["kl"]})(batch()),
        "loss",
    ),
    "KL with the wrong sign": (lambda: (lambda h: {**h, "kl": -h["kl"]})(batch()), "loss"),
    "KL of policy and reference swapped": (
        lambda: (lambda h: {**h, "kl": by_tokens(h, np.exp(g := h["log_probs"] - h["ref_log_probs"]) - 1 - g)})(
            batch()
        ),
        "loss",
    ),
}


@pytest.mark.parametrize(
    ("token", "says"),
    [
        (unclipped, "without the clip"),
        (lambda h: -ratio_loss(h), "the sign is turned"),
        (
            lambda h: (
                -np.maximum(
                    (r := np.exp(h["log_probs"] - h["old_log_probs"])) * (a := h["advantages"][:, None]),
                    np.clip(r, 0.8, 1.28) * a,
                )
            ),
            "the larger of both terms is taken",
        ),
    ],
)
def test_the_usual_mistake_of_a_loss_is_named(token: Callable[[Arrays], Any], says: str) -> None:
    assert says in told(again(batch(), token(batch())))[0].value


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_batch_has_no_violation(name: str) -> None:
    assert [f"{c.stage} {c.name}: {c.value}" for c in told(RIGHT[name]())] == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_certain_in_its_stage(name: str) -> None:
    made, stage = FAULTS[name]
    found = told(made())
    assert found, [f"{c.mark} {c.name}: {c.value}" for c in replayed(named(made()))]
    assert found[0].stage == stage, found[0]
    assert found[-1].name == "first stage that differs"
    assert found[-1].value.startswith(stage)


def safetensors(path: Path, arrays: Arrays) -> Path:
    header, body = {}, b""
    for name, value in arrays.items():
        data = np.atleast_1d(np.asarray(value, dtype="<f4"))
        header[name] = {"dtype": "F32", "shape": list(data.shape), "data_offsets": [len(body), len(body) + data.nbytes]}
        body += data.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_through_the_command_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"batch.{kind}"
    write: Callable[[Arrays], object] = (
        (lambda held: np.savez(path, **held)) if kind == "npz" else (lambda held: safetensors(path, held))
    )
    write(batch())
    assert main(["verify", "--batch", str(path)]) == 0
    assert "the mean over all tokens, with k3 of the reference" in capsys.readouterr().out
    write(FAULTS["advantages with the wrong sign"][0]())
    assert main(["verify", "--batch", str(path), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["violations"][0] == "advantages: advantages of the batch"


def test_what_is_not_in_the_batch_is_skipped_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "b.npz", rewards=np.arange(8.0), num_generations=4)
    assert main(["verify", "--batch", str(tmp_path / "b.npz")]) == 0
    out = capsys.readouterr().out
    assert "Skipped, so neither right nor wrong" in out
    assert "loss of the batch" in out


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("no.npz", None, "no such file"),
        ("b.csv", b"a,b", "its name must end in"),
        ("b.npz", b"PK\x03\x04 torn", "not a whole .npz file"),
        ("b.safetensors", b"\xff" * 64, "its header is longer than the file"),
        ("b.safetensors", struct.pack("<Q", 4) + b"{{{{", "not a whole .safetensors file"),
    ],
)
def test_a_file_that_is_none_is_one_line(
    name: str, content: bytes | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert main(["verify", "--batch", str(tmp_path / name)]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_no_pickle_is_executed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "b.npz", rewards=np.array([{"a": 1}], dtype=object))
    assert main(["verify", "--batch", str(tmp_path / "b.npz")]) == 2
    assert "not a whole .npz file" in capsys.readouterr().err


def test_the_help_names_the_arrays_and_the_trainers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--batch-help"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("TRL", "verl", "OpenRLHF", "own", "old_log_probs", "num_generations"))


def test_a_batch_with_the_sampler_alone_is_no_fault() -> None:
    full = batch()
    alone = {name: full[name] for name in ("sampler_log_probs", "mask")}
    told = [check for check in replayed(named(alone)) if check.name == "sampler and trainer"]
    assert [check.mark for check in told] == ["skip"]
