"""What the report calls the keys of each framework: a written run with every key that it is known to log."""

from __future__ import annotations

import contextlib
import io
import json
import re
import re._constants as op
import re._parser as sre
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import REPO

NAMES = Path(__file__).parent / "names"
PACKAGE = REPO / "rltui"
ROWS = 12


def data(name: str) -> Any:
    """A data file of the package, as it is stored."""
    text = (PACKAGE / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


def example(pattern: str) -> str:
    """A text that the pattern matches: the first of what it may be. Raises ValueError if that does not match."""

    def walk(tree: Any) -> str:
        out = ""
        for kind, value in tree:
            if kind is op.LITERAL:
                out += chr(value)
            elif kind is op.NOT_LITERAL:
                out += "x" if value != ord("x") else "y"
            elif kind is op.ANY:
                out += "x"
            elif kind is op.IN:
                out += _one_of(value)
            elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
                out += walk(value[2]) * max(value[0], 1 if value[1] else 0)
            elif kind is op.SUBPATTERN:
                out += walk(value[3])
            elif kind is op.BRANCH:
                out += walk(value[1][0])
        return out

    text = walk(sre.parse(pattern))
    if re.search(pattern, text) is None:
        raise ValueError(f"{text!r} is none of {pattern!r}")
    return text


def _one_of(parts: Any) -> str:
    if parts[0][0] is op.NEGATE:
        return "x"
    kind, value = parts[0]
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.RANGE:
        return chr(value[0])
    return "1" if value is op.CATEGORY_DIGIT else "x"


@dataclass(frozen=True)
class Asked:
    """A written run: keys that tell the framework, further metric keys, settings."""

    signs: list[str]
    keys: list[str]
    settings: list[str]


def runs_of(dialect: dict[str, Any]) -> list[Asked]:
    """Runs that hold every key and setting that a dialect's file knows, patterns by an example. The first run has the
    first key of each metric, the second the second: of two keys of one metric only one would be called by its name."""

    def plain(name: str) -> str | None:
        if not name.startswith("re:"):
            return name
        with contextlib.suppress(ValueError):
            return example(name[3:])
        return None

    phases = dialect.get("phases", {}).get("keys", {})
    metrics = [*dialect.get("metrics", {}).values(), *phases.values()]
    settings = list(dialect.get("config", {}).values())
    signs = signs_of(dialect)
    out = []
    for rank in range(max(map(len, [*metrics, *settings]), default=0)):
        keys = [plain(names[rank]) for names in metrics if len(names) > rank]
        own = [plain(names[rank]) for names in settings if len(names) > rank]
        out.append(Asked(signs, list(dict.fromkeys(k for k in keys if k)), list(dict.fromkeys(k for k in own if k))))
    return out


def write(folder: Path, asked: Asked) -> None:
    """A JSON Lines run with all of the keys, and a config with all of the settings."""
    rows = []
    for step in range(1, ROWS + 1):
        cells = {key: round(0.1 + 0.001 * n + 0.01 * step, 6) for n, key in enumerate([*asked.signs, *asked.keys])}
        rows.append(json.dumps({"step": step} | {k: v for k, v in cells.items() if k not in ("step", "global_step")}))
    (folder / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    tree: dict[str, Any] = {}
    for n, name in enumerate(asked.settings):
        *path, last = name.split(".")
        at: Any = tree
        for part in path:
            at = at.setdefault(part, {}) if isinstance(at, dict) else None
            if not isinstance(at, dict):
                break
        if isinstance(at, dict):
            at.setdefault(last, 3 + n)
    (folder / "config.yaml").write_text(yaml.safe_dump(tree, sort_keys=False))


def called(folder: Path) -> tuple[str | None, list[str]]:
    """The framework that the report names, and a line a key: what the report calls it."""
    from rltui.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["report", str(folder), "--format", "json"]) == 0
    report = json.loads(out.getvalue())
    lines = [f"metric {m['key']} = {name}" for name, m in report["metrics"].items()]
    lines += [f"setting {entry['key']} = {name}" for name, entry in report["config"].items()]
    lines += [f"phase {item['key']} = {item['name']}" for item in report["phases"]["items"]]
    return report["run"]["framework"], sorted(lines)


def dialects() -> dict[str, dict[str, Any]]:
    """Name -> its file, read as it is stored."""
    folder = REPO / "rltui" / "frameworks" / "data" / "frameworks"
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def signs_of(dialect: dict[str, Any]) -> list[str]:
    """Keys that tell the framework by its file, as few as it takes."""
    detect = dialect.get("detect", {})
    out = []
    for pattern in [*detect.get("need_keys", ()), *detect.get("all_keys", ()), *detect.get("keys", ())[:1]]:
        with contextlib.suppress(ValueError):
            out.append(example(pattern))
    return list(dict.fromkeys(out))
