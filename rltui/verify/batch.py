"""One batch of a training step, as the user dumped it: named arrays from an .npz, .safetensors or .pt file. Nothing in
the file is executed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.verify.adapters import Floats, plain

MOST = 2**31
"""Largest size of a file that is read, in bytes."""
HEADER = 2**24
NAMES: dict[str, tuple[str, ...]] = {
    "rewards": ("rewards", "reward", "scores", "token_level_scores", "token_level_rewards"),
    "groups": ("groups", "group", "group_ids", "uid", "index", "prompt_ids_hash"),
    "num_generations": ("num_generations", "group_size", "rollout_n", "n"),
    "advantages": ("advantages", "advantage"),
    "log_probs": ("log_probs", "logprobs", "per_token_logps", "new_log_probs"),
    "old_log_probs": ("old_log_probs", "old_logprobs", "old_per_token_logps"),
    "ref_log_probs": ("ref_log_probs", "ref_log_prob", "ref_logprobs", "ref_per_token_logps"),
    "sampler_log_probs": ("sampler_log_probs", "rollout_log_probs", "sampling_per_token_logps", "behavior_log_probs"),
    "mask": ("mask", "response_mask", "completion_mask", "action_mask", "loss_mask"),
    "ids": ("ids", "completion_ids", "responses", "response_ids"),
    "eos_id": ("eos_id", "eos_token_id"),
    "loss": ("loss", "pg_loss", "policy_loss"),
    "kl": ("kl", "kl_loss", "mean_kl"),
    "clip_low": ("clip_low", "epsilon", "clip_ratio", "clip_ratio_low", "cliprange"),
    "clip_high": ("clip_high", "epsilon_high", "clip_ratio_high"),
    "max_length": ("max_length", "max_completion_length", "max_response_length", "loss_scale_factor"),
    "kl_coef": ("kl_coef", "kl_loss_coef", "beta"),
}
"""Name of an array -> the names that trainers use for it. The first one that the file holds counts."""
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip


class BadBatch(Exception):  # noqa: N818
    """The file cannot be used. The message says what to do."""


@dataclass(frozen=True)
class DumpedBatch:
    """The arrays of a batch as float64, by the names in `NAMES`. `unknown`: the other names in the file."""

    held: Mapping[str, Floats]
    unknown: tuple[str, ...] = ()

    def get(self, name: str) -> Floats | None:
        return self.held.get(name)

    def number(self, name: str) -> float | None:
        """A setting, or the mean of the array under that name; None if missing."""
        found = self.held.get(name)
        return None if found is None or not found.size else float(found.mean())


def read(path: str) -> DumpedBatch:
    """The batch in a file. Raises `BadBatch`."""
    file = Path(path)
    if not file.is_file():
        raise BadBatch("no such file (rltui verify --batch-help says how to write one)")
    if file.stat().st_size > MOST:
        raise BadBatch(f"it is larger than {MOST // 2**30} GiB: dump one micro-batch")
    ending = file.suffix.lower()
    readers = {".npz": _npz, ".safetensors": _safetensors, ".pt": _torch, ".pth": _torch}
    if ending not in readers:
        raise BadBatch(f"its name must end in {', '.join(readers)}")
    try:
        arrays = readers[ending](file)
    except BadBatch:
        raise
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise BadBatch(f"not a whole {ending} file: {' '.join(str(error).split())[:160]}") from None
    return named(arrays)


def named(arrays: Mapping[str, Any]) -> DumpedBatch:
    """A batch from named arrays. Raises `BadBatch` if no name is known."""
    held: dict[str, Floats] = {}
    used: set[str] = set()
    for name, words in NAMES.items():
        word = next((one for one in words if one in arrays), None)
        if word is None:
            continue
        used.add(word)
        held[name] = _labels(arrays[word]) if name == "groups" else plain(arrays[word])
    if not held:
        shown = ", ".join(list(arrays)[:8]) or "nothing"
        raise BadBatch(f"it holds {shown}: none of these names is known (rltui verify --batch-help lists them)")
    return DumpedBatch(held, tuple(name for name in arrays if name not in used))


def _labels(values: Any) -> Floats:
    """Labels of any kind as numbers; equal labels get equal numbers."""
    found = np.asarray(values)
    return np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.float64)


def _npz(file: Path) -> dict[str, NDArray[Any]]:
    with np.load(file, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def _safetensors(file: Path) -> dict[str, NDArray[Any]]:
    """The format: a length (8 bytes), a JSON header with dtype, shape and place of each tensor, and their bytes."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if not 2 <= size <= min(HEADER, len(data) - 8):
        raise BadBatch("not a whole .safetensors file: its header is longer than the file")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    out: dict[str, NDArray[Any]] = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        kind, shape, (begin, end) = tensor["dtype"], tensor["shape"], tensor["data_offsets"]
        if not 0 <= begin <= end <= len(body):
            raise BadBatch(f"not a whole .safetensors file: {name} ends behind it")
        if kind == "BF16":
            wide = np.frombuffer(body[begin:end], "<u2").astype(np.uint32) << 16
            out[name] = wide.view(np.float32).reshape(shape)
        elif kind in DTYPES:
            out[name] = np.frombuffer(body[begin:end], DTYPES[kind]).reshape(shape)
        else:
            raise BadBatch(f"{name} has the type {kind}, which is not read")
    return out


def _torch(file: Path) -> dict[str, Any]:
    """Reads the file with torch in the mode that executes no pickles."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise BadBatch("a .pt file needs torch, which is not installed here: save it as .npz or .safetensors") from None
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BadBatch(f"torch does not read it without executing it: {str(error).splitlines()[0][:160]}") from None
    if not isinstance(found, dict):
        raise BadBatch(f"it holds a {type(found).__name__}: save a dict of tensors")
    return {
        str(name): value for name, value in found.items() if hasattr(value, "shape") or isinstance(value, int | float)
    }


def how() -> str:
    """How to dump a batch, for several trainers."""
    return files("rltui.verify").joinpath("batch_help.txt").read_text(encoding="utf-8")
