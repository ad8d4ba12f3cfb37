"""Config files beside a run: JSON, YAML and TOML, W&B's and SwanLab's `{key: {value: ...}}`, Hydra's overrides, the
command line in W&B's metadata."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from rltui.readers.arguments import command_line
from rltui.readers.base import ConfigRecord
from rltui.readers.config_text import flatten, scalar
from rltui.readers.keys import names

MAX_BYTES = 1 << 20
MAX_NODES = 20_000
"""Values of one file: YAML's aliases can make a small file endless."""

_FLOAT = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")  # text to YAML 1.1, a number to everybody else
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
_ROUNDS = 8
_RAY_WORKER = "ray/_private/workers/default_worker.py"
"""Where W&B runs in a worker of Ray, it notes the worker's own arguments."""


def read_config(data: bytes, name: str) -> ConfigRecord | None:
    """The config in a file; None where it holds none: no mapping, damaged, too large, or a model's own config.

    References of OmegaConf (`${trainer.lr}`) are followed; a value with one that leads nowhere is left out.
    """
    base = os.path.basename(name)
    if len(data) > MAX_BYTES:
        return None
    tree = _parsed(data.decode("utf-8", "replace"), base)
    if isinstance(tree, list):  # Hydra's overrides.yaml
        pairs = (item.lstrip("+~").partition("=") for item in tree if isinstance(item, str))
        tree = {key: scalar(value) for key, sign, value in pairs if sign}
    if not isinstance(tree, Mapping) or not tree or not _bounded(tree):
        return None
    tree = _unwrapped(tree, base)
    stem = base.partition(".")[0]
    if any(key in tree for key in _data()["not_a_run"]):
        return None
    if stem in _data()["prefixed_by_name"]:
        tree = {stem: tree}
    values = _resolved(flatten(tree))
    return ConfigRecord(values, base) if values else None


def yaml_values(text: str) -> dict[str, object]:
    """Dotted keys to values of a YAML document; empty where it is none."""
    tree = _parsed(text, "")
    return _resolved(flatten(tree)) if isinstance(tree, Mapping) and _bounded(tree) else {}


def _parsed(text: str, name: str) -> Any:
    try:
        if name.endswith(".toml"):
            return tomllib.loads(text)
        if name.endswith(".json"):
            return json.loads(text)
        import yaml  # late: most runs need none

        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # type: ignore[no-untyped-call]
    except (ValueError, RecursionError, MemoryError):
        return None
    except Exception as problem:  # yaml.YAMLError, without importing yaml to name it
        if type(problem).__module__.partition(".")[0] == "yaml":
            return None
        raise


def _bounded(tree: object) -> bool:
    """Whether a document has no more than so many values, counting what aliases repeat."""
    left, todo = MAX_NODES, [tree]
    while todo and left:
        node = todo.pop()
        left -= 1
        if isinstance(node, Mapping):
            todo += node.values()
        elif isinstance(node, list):
            todo += node
    return not todo


def _unwrapped(tree: Mapping[Any, Any], name: str) -> Mapping[Any, Any]:
    if name == "wandb-metadata.json":
        if str(tree.get("program")).endswith(_RAY_WORKER):
            return {}
        arguments = tree.get("args")
        words = [str(word) for word in arguments] if isinstance(arguments, list) else []
        return command_line(words)
    inner = {key: value for key, value in tree.items() if isinstance(value, Mapping) and "value" in value}
    if inner and len(inner) + 2 >= len(tree):  # `_wandb` and `wandb_version` beside them
        return {key: value["value"] for key, value in inner.items() if key != "_wandb"}
    held = [tree[key] for key in names("config") if isinstance(tree.get(key), Mapping)]
    return held[0] if held else tree


def _resolved(flat: dict[str, object]) -> dict[str, object]:
    for key, value in flat.items():
        if isinstance(value, str) and _FLOAT.fullmatch(value):
            flat[key] = float(value)
    for _ in range(_ROUNDS):
        found = False
        for key, value in flat.items():
            if isinstance(value, str) and (whole := _REFERENCE.fullmatch(value)) and whole[1] in flat:
                flat[key], found = flat[whole[1]], True
            elif isinstance(value, str) and "${" in value:
                text = _REFERENCE.sub(lambda m: str(flat.get(m[1], m[0])), value)[:1000]
                found |= text != value
                flat[key] = text
        if not found:
            break
    return {key: value for key, value in flat.items() if not (isinstance(value, str) and "${" in value)}


@cache
def _data() -> dict[str, list[str]]:
    text = files("rltui.readers").joinpath("data/config_files.json").read_text("utf-8")
    data: dict[str, list[str]] = json.loads(text)
    return data
