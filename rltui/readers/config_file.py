"""Config files beside a run (JSON, YAML, TOML, W&B's and SwanLab's `{key: {value: ...}}`, Hydra's overrides, the
command line in W&B's metadata), and printed dicts, command lines and argument lists in logs."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from rltui.data_files import Record, kept, read
from rltui.lazy_regex import lazy
from rltui.readers.base import ConfigRecord
from rltui.readers.keys import names
from rltui.readers.literals import NO_VALUE, literal
from rltui.readers.row_kinds import of_a_step
from rltui.text import clean, redact_value

MAX_LINES = 5000
MAX_CHARS = 1 << 19
"""The largest printed dict that is read; verl 0.9 prints about 700 lines."""
MAX_FOREIGN = 20
"""The most lines of other output within one printed dict."""

_OPENS = lazy(r"^\{'[\w.\-/]+': ?\S.*[,{(\[]$")
_OVERRIDE = lazy(r"""(?<![\w./-])\+{0,2}((?:[a-z_]\w*)(?:\.\w+)+)=("[^"\n]*"|'[^'\n]*'|\[[^\]\n]*\]|[^\s"'\\]+)""")
_OVERRIDES = 3
"""A line with fewer assignments is not a command line."""


def flatten(tree: Mapping[Any, object], prefix: str = "", depth: int = 0) -> dict[str, object]:
    """Dotted keys -> plain values, cleaned and redacted. Lists stay lists."""
    flat: dict[str, object] = {}
    for name, value in tree.items():
        key = clean(f"{prefix}{name}", 300)
        if isinstance(value, Mapping) and value and depth < 20:
            flat.update(flatten(value, f"{key}.", depth + 1))
        else:
            flat[key] = _safe(redact_value(key, value))
    return flat


def _safe(value: object) -> object:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_safe(inner) for inner in value[:200]]
    return clean(str(value), 1000)


def overrides(text: str, line: int) -> ConfigRecord | None:
    """Hydra overrides (`data.train_batch_size=256`) in a line; None if there are too few."""
    found = {key: scalar(value) for key, value in _OVERRIDE.findall(text)}
    if len(found) < _OVERRIDES:
        return None
    return ConfigRecord(flatten(found), f"command line at line {line}")


def scalar(text: str) -> object:
    """The value of a text from a command line."""
    if text[:1] in "\"'" and text[-1:] == text[:1]:
        text = text[1:-1]
    words = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text[:1] == "[" and text[-1:] == "]":
        return [scalar(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return text


class PrintedDict(Struct):
    """Collects the lines of one `pprint`ed dict."""

    line: int
    failed: bool = False  # the text is not a literal
    _lines: list[str] = field(default_factory=list)
    _chars: int = 0
    _foreign: int = 0
    _depth: int = 0

    @staticmethod
    def opens(message: str) -> bool:
        """Whether a message can be the first line of a printed dict."""
        return _OPENS.match(message.rstrip()) is not None and message.count("{") > message.count("}")

    def add(self, message: str) -> ConfigRecord | None:
        """Takes the next line. Returns the config if the dict is complete; sets `failed` if it never will be."""
        if self._lines and not message.startswith(" "):  # other output of the process in between
            self._foreign += 1
            if self._foreign <= MAX_FOREIGN:
                return None
            self.failed = True  # the rest comes too late or never, so the part that is there counts
            if len(self._lines) <= MAX_FOREIGN:
                return None
            return self._parsed("\n".join(self._lines).rstrip(" ,") + "}" * self._depth, ", cut off")
        self._lines.append(message)
        self._chars += len(message)
        self._depth += message.count("{") - message.count("}")
        if len(self._lines) > MAX_LINES or self._chars > MAX_CHARS:
            self.failed = True
            return None
        return None if self._depth > 0 else self._parsed("\n".join(self._lines), "")

    def _parsed(self, text: str, note: str) -> ConfigRecord | None:
        try:
            tree = literal(text.strip())
        except NO_VALUE:
            tree = None
        if not isinstance(tree, dict):
            self.failed = True
            return None
        return ConfigRecord(flatten(tree), f"printed dict at line {self.line}{note}")


FEWEST = 3
"""A line with fewer arguments is an example, not the command line of a training."""
MAX_ARGUMENT_LINES = 2000

_FLAG = lazy(r"--?([A-Za-z][\w.\-]*)(?:=(.*))?", re.DOTALL)
_ASSIGNED = lazy(r"\+{0,2}([A-Za-z_]\w*(?:\.\w+)+)=(.*)", re.DOTALL)
_HEAD = lazy(r"-{8,} arguments -{8,}")
_END = lazy(r"-{8,} end of arguments -{8,}")
_ENTRY = lazy(r"^ {0,4}(\w[\w.\-]*) \.{3,} ?(.*)$")
_NAMESPACE = lazy(r"\bNamespace\((.*)\)\s*$")
_BANNER = {
    "instantaneous batch size per device": "per_device_train_batch_size",
    "batch size per device": "per_device_train_batch_size",
    "gradient accumulation steps": "gradient_accumulation_steps",
    "num epochs": "num_train_epochs",
    "total optimization steps": "max_steps",
    "total steps": "max_steps",
}
"""What the HF Trainer or Unsloth prints when training begins -> the name of the argument."""
_SAID = lazy(r"(?:^|[|/\\] +)([A-Z][a-z]+(?: [A-Za-z]+){1,4}) = ([\d,]{1,15})(?= *(?:\||$))")
_PAIR = lazy(
    r"(?:^|[\s,(])([a-z_][\w.]{0,60})\s?=\s?([-+]?[\d.]+(?:[eE][-+]?\d+)?|[A-Za-z][\w./+\-]{0,80})(?=[\s,);]|$)"
)
_FIELD = lazy(r"(?:^|, )(\w+)=('[^']*'|\"[^\"]*\"|\[[^\]]*\]|[^,]*)")


def command_line(words: Sequence[str]) -> dict[str, object]:
    """The arguments among the words of a command line. A flag without a value is True; several words after a flag
    become a list."""
    out: dict[str, object] = {}
    flag = None
    for word in words:
        found, assigned = _FLAG.fullmatch(word), _ASSIGNED.fullmatch(word)
        if found is not None and len(word) > 2:
            flag = found[1] if found[2] is None else None
            out[found[1]] = True if found[2] is None else scalar(found[2])
        elif assigned is not None:
            out[assigned[1]] = scalar(assigned[2])
            flag = None
        elif flag is not None:
            held = out[flag]
            out[flag] = scalar(word) if held is True else [*(held if isinstance(held, list) else [held]), scalar(word)]
    return out


def in_line(message: str, line: int) -> ConfigRecord | None:
    """The arguments of a command line or a Namespace in a log line; None if there is none or it has too few
    arguments."""
    named = _NAMESPACE.search(message)
    if named is not None:
        found = {key: scalar(value.strip()) for key, value in _FIELD.findall(named[1])}
        origin = "printed Namespace"
    else:
        start = message.find(" --")
        try:
            words = shlex.split(message[start:]) if start >= 0 else []
        except ValueError:
            return None  # a quote is not closed
        found, origin = command_line(words), "command line"
    return ConfigRecord(flatten(found), f"{origin} at line {line}") if len(found) >= FEWEST else None


def banner(message: str, line: int) -> ConfigRecord | None:
    """The settings in a line that a trainer prints when training begins: `  Gradient Accumulation steps = 2`."""
    said = {
        _BANNER[name.lower()]: int(number.replace(",", ""))
        for name, number in _SAID.findall(message.strip())
        if name.lower() in _BANNER and number.strip(",")
    }
    return ConfigRecord(flatten(said), f"start of training at line {line}") if said else None


_TRAINABLE = lazy(
    r"(?i)trainable param(?:eter)?s?\s*[:=]\s*([\d,]+)\s*(?:/|of|\|\|\s*all params:)\s*([\d,]+)(?![\d.]*\s*[kmb]\b)"
)


def trainable(message: str, line: int) -> ConfigRecord | None:
    """The share of the parameters that is trained, as PEFT and Unsloth print it: `trainable params: 24,313,856 || all
    params: 3,000,000,000`; None for any other line."""
    said = _TRAINABLE.search(message)
    some, every = (int(said[i].replace(",", "") or 0) for i in (1, 2)) if said is not None else (0, 0)
    if not 0 < some <= every:
        return None
    return ConfigRecord({"trainable_percent": round(100.0 * some / every, 4)}, f"printed at line {line}")


def pairs(message: str, line: int) -> ConfigRecord | None:
    """The settings in a script's own line: `GRPO: num_generations=4, lr=3e-06, beta=0.04`. None for a line of metrics,
    whose learning rate is only that of one step."""
    found = {key: scalar(value) for key, value in _PAIR.findall(message)}
    if of_a_step(found):
        return None
    return ConfigRecord(flatten(found), f"settings printed at line {line}") if len(found) >= FEWEST else None


class ArgumentList:
    """Collects Megatron's list of arguments, line by line."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.over = False
        self._values: dict[str, object] = {}
        self._lines = 0

    @staticmethod
    def opens(message: str) -> bool:
        return _HEAD.search(message) is not None

    def add(self, message: str) -> ConfigRecord | None:
        """Takes the next line. Returns the config when the list ends."""
        self._lines += 1
        found = _ENTRY.match(message)
        if found is not None:
            self._values[found[1]] = scalar(found[2].strip())
        self.over = _END.search(message) is not None or self._lines > MAX_ARGUMENT_LINES
        if not self.over or not self._values:
            return None
        return ConfigRecord(flatten(self._values), f"argument list at line {self.line}")


MAX_BYTES = 1 << 20
MAX_NODES = 20_000
"""The most values of one file: YAML's aliases can make a small file endless."""

_FLOAT = lazy(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")  # text in YAML 1.1, a number everywhere else
_REFERENCE = lazy(r"\$\{([\w.]+)\}")
_ROUNDS = 8
_TAG = lazy(r"!!python/[\w./:]+(?=\s)")
_RAY_WORKER = "ray/_private/workers/default_worker.py"
"""If W&B runs in a Ray worker, it records the worker's own arguments, not those of the training."""


def read_config(data: bytes, name: str) -> ConfigRecord | None:
    """The config in a file; None if the file is not a mapping, is damaged or too large, or is a model's own config.

    OmegaConf references (`${trainer.lr}`) are followed. A value whose reference leads nowhere is left out.
    """
    base = os.path.basename(name)
    if len(data) > MAX_BYTES:
        return None
    tree = _parsed(data.decode("utf-8", "replace"), base)
    if isinstance(tree, list):  # Hydra's overrides.yaml
        pairs = (item.lstrip("+~").partition("=") for item in tree if isinstance(item, str))
        tree = {key: scalar(value) for key, sign, value in pairs if sign}
    if not isinstance(tree, Mapping) or not tree or not bounded(tree):
        return None
    tree = _unwrapped(tree, base)
    stem = base.partition(".")[0]
    if any(key in tree for key in _data().not_a_run) and len(_data().of_a_run.intersection(map(str, tree))) < 2:
        return None
    if stem in _data().prefixed_by_name:
        tree = {stem: tree}
    values = _resolved(flatten(tree))
    return ConfigRecord(values, base) if values else None


def yaml_values(text: str) -> dict[str, object]:
    """The dotted keys and values of a YAML document; empty if it is not one."""
    tree = _parsed(text, "")
    return _resolved(flatten(tree)) if isinstance(tree, Mapping) and bounded(tree) else {}


def _parsed(text: str, name: str) -> Any:
    try:
        if name.endswith(".toml"):
            return tomllib.loads(text)
        if name.endswith(".json"):
            return json.loads(text)
        import yaml  # imported here because most runs do not need it

        tagged = _TAG.sub("", text)  # without the tags of Python objects, their values are plain
        return yaml.load(tagged, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # type: ignore[no-untyped-call]
    except (ValueError, RecursionError, MemoryError):
        return None
    except Exception as problem:  # yaml.YAMLError, without importing yaml to name it
        if type(problem).__module__.partition(".")[0] == "yaml":
            return None
        raise


def bounded(tree: object, most: int = MAX_NODES) -> bool:
    """Whether a document has at most `most` values, including those that aliases repeat."""
    left, todo = most, [tree]
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
    held = [tree[key] for key in names("whole_config") if isinstance(tree.get(key), Mapping)]
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


class ConfigFiles(Record):
    """`not_a_run`: keys that show the config of a model or a tokenizer, unless two keys of `of_a_run` are there too.
    `prefixed_by_name`: files whose settings get the file's name as the first part of their keys."""

    not_a_run: tuple[str, ...]
    of_a_run: frozenset[str]
    prefixed_by_name: frozenset[str]


@kept
def _data() -> ConfigFiles:
    return read(Path(__file__).with_name("data") / "config_files.json", ConfigFiles)
