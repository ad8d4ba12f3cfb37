"""Loads the user's functions from a Python file that the user names, and converts arrays for them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib.resources import files
from pathlib import Path
from traceback import walk_tb
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[..., Any]
MODULE = "rltui_user_adapters"
"""The name under which the user's file runs."""
NAMES = (
    *("reward", "total_reward", "decode", "advantage", "gae", "log_softmax", "sampler_log_probs", "reference"),
    *("completion_mask", "loss", "kl", "dpo_loss"),
)
ONE = frozenset(NAMES) - {"gae", "decode", "sampler_log_probs", "reference"}
"""What gives one result; statistics may stand beside it."""
BACKENDS = ("torch", "numpy", "list")
LAYOUTS = ("repeat_interleave", "repeat")
ESTIMATORS = ("group", "centred", "leave-one-out", "group-batch", "batch", "batch-centred", "spread", "none")
"""The estimators that the file may declare; `estimators.KNOWN` holds how each is computed."""


class BadAdapters(Exception):  # noqa: N818
    """The adapters file cannot be used. The message says what to do."""


@dataclass(frozen=True)
class Adapters:
    """The functions of the file by name; None for those that it does not define.

    `backend`: what the functions take (torch tensors, numpy arrays, plain lists). `layout`: the order of rewards,
    repeat_interleave (all completions of a prompt side by side) or repeat. `reasoning`: the marks of a reasoning block
    that decoding removes; None if decoding keeps the whole text. `advantage`: the estimator that the file declares
    (`ESTIMATORS`); empty if it declares none. `examples`: (truth, right completion, wrong completion) for the reward
    function.
    """

    functions: dict[str, Function | None]
    backend: str = "numpy"
    layout: str = "repeat_interleave"
    reasoning: tuple[str, str] | None = None
    advantage: str = ""
    examples: tuple[tuple[str, str, str], ...] = ()

    def array(self, values: object, kind: str = "float32") -> Any:
        """`values` as a tensor, array or list, as the backend needs. `kind`: float32, float16 or int64."""
        held = np.asarray(values, dtype=kind)
        if self.backend == "list":
            return held.tolist()
        if self.backend == "torch":
            return sys.modules["torch"].from_numpy(held)
        return held


def load(path: str) -> Adapters:
    """Runs the file (only because the user named it) and returns its functions. Raises `BadAdapters`."""
    if not Path(path).is_file():
        raise BadAdapters("no such file (rltui verify --example prints one to start from)")
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise BadAdapters("not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:  # it stays there: functions of the file may import neighbouring files later
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BadAdapters(f"it {raised(error)}") from None
    return from_names(vars(module))


def raised(error: BaseException) -> str:
    """What the user's file raised, and on which of its lines."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_globals.get("__name__") == MODULE]
    where = f" (line {lines[-1]})" if lines else ""
    return f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"


def from_names(names: dict[str, Any]) -> Adapters:
    """Adapters from a namespace. Raises `BadAdapters` if it defines none of the functions or holds an invalid value."""
    functions = {name: names.get(name) for name in NAMES}
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise BadAdapters(f"{name} is not a function, but {type(function).__name__}")
    if not any(functions.values()):
        raise BadAdapters(f"defines none of {', '.join(NAMES)}: nothing could be checked")
    backend = names.get("BACKEND") or ("torch" if "torch" in names else "numpy")
    layout = names.get("LAYOUT") or "repeat_interleave"
    for word, value, known in (("BACKEND", backend, BACKENDS), ("LAYOUT", layout, LAYOUTS)):
        if value not in known:
            raise BadAdapters(f"{word} = {value!r}: must be one of {', '.join(known)}")
    if backend == "torch" and "torch" not in sys.modules:
        raise BadAdapters("BACKEND is torch, but the file does not import torch")
    marks = names.get("REASONING")
    if marks is not None and not (isinstance(marks, tuple | list) and len(marks) == 2):
        raise BadAdapters('REASONING must be two marks, as in ("<think>", "</think>")')
    reasoning = (str(marks[0]), str(marks[1])) if marks is not None else None
    functions |= {name: _first(function) for name, function in functions.items() if function and name in ONE}
    return Adapters(functions, backend, layout, reasoning, _estimator(names), _examples(names))


def _first(function: Function) -> Function:
    """The function without what trainers give beside its result: (loss, statistics), (advantages, returns)."""

    @wraps(function, updated=())
    def first(*given: Any) -> Any:
        got = function(*given)
        if not isinstance(got, tuple) or not got:
            return got
        beside = hasattr(got[0], "shape") or any(isinstance(one, dict) for one in got)
        return got[0] if beside else got

    return first


def _estimator(names: dict[str, Any]) -> str:
    name = names.get("ADVANTAGE") or ""
    if name and name not in ESTIMATORS:
        raise BadAdapters(f"ADVANTAGE = {name!r}: must be one of {', '.join(ESTIMATORS)}")
    return str(name)


def _examples(names: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    held = names.get("EXAMPLES") or ()
    good = isinstance(held, list | tuple) and all(isinstance(one, list | tuple) and len(one) == 3 for one in held)
    if not good:
        raise BadAdapters("EXAMPLES must be a list of (truth, right completion, wrong completion)")
    if names.get("reward") is not None and not held:
        raise BadAdapters("reward needs EXAMPLES = [(truth, right completion, wrong completion), ...]")
    return tuple((str(truth), str(right), str(wrong)) for truth, right, wrong in held)


def plain(value: Any) -> Floats:
    """A tensor of any kind, an array, a list or a number as a float64 array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    return np.asarray(value, dtype=np.float64)


def example() -> str:
    """An adapters file to start from."""
    return files("rltui.verify").joinpath("example_adapters.txt").read_text(encoding="utf-8")
