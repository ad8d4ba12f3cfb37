"""Finds the trainer that a notebook's cells make and run, by their code. No code is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rltui.readers.base import ConfigRecord, Record, RunInfo
from rltui.readers.literals import NO_VALUE

LONGEST = 200_000
"""The most characters of a cell that are read."""
_SHELL = ("!", "%", "?")
"""A line that begins with one of these is not Python."""
_CELL = "%%"
"""A cell that begins with this is not run as it is: its text is written to a file or is in another language."""
_RUN_UNDER = frozenset(("capture", "prun", "time", "timeit"))
"""Magics that only observe how a cell is run."""
_SIGNS = {"trl": "trl.trainer", "unsloth": "Unsloth"}
"""Module that a cell imports -> the sign of it that a console would show."""
_CLASS = "Trainer"


class TrainersMade:
    """Takes the code of the cells in their order."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}  # variable -> the class of its trainer
        self._newest = ""
        self._run = ""  # the class of the trainer that was run last
        self._modules: set[str] = set()

    def take(self, source: str) -> None:
        """Takes the code of a cell. A cell that is not Python, or that this notebook does not run, is ignored."""
        if _is_of_others(source):
            return
        if _CLASS not in source and "import" not in source and ".train(" not in source:
            return
        lines = source[:LONGEST].splitlines()
        try:
            tree = ast.parse("\n".join("pass" if line.startswith(_SHELL) else line for line in lines))
        except NO_VALUE:
            return
        self._run = ""
        for node in _in_order(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                self._by_name |= _named(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._modules |= _modules(node)
            elif isinstance(node, ast.Call):
                self._newest = _trainer_of(node) or self._newest
                self._run = self._run_by(node) or self._run

    def _run_by(self, call: ast.Call) -> str:
        """The class of the trainer that a call runs: `trainer.train()`; "" for any other call."""
        called = call.func
        if not isinstance(called, ast.Attribute) or called.attr != "train":
            return ""
        of = called.value
        return self._by_name.get(of.id, "") if isinstance(of, ast.Name) else _trainer_of(of)

    def told(self, cell: int) -> list[Record]:
        """What the code so far shows about the training in this cell: its trainer. Empty if there is none, or if it is
        a plain `Trainer`."""
        trainer = self._run or self._newest
        if trainer in ("", _CLASS):
            return []
        signs = {module: sign for module, sign in _SIGNS.items() if module in self._modules}
        return [
            ConfigRecord({"trainer": trainer}, f"code up to cell {cell}"),
            RunInfo({"trainer": f"{trainer}(", **signs}),
        ]


def _in_order(tree: ast.Module) -> Iterable[ast.AST]:
    """The code outside of functions and classes, in order of its lines. Functions and classes may never be called."""
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield node
            waiting += reversed([*ast.iter_child_nodes(node)])


def _is_of_others(source: str) -> bool:
    """Whether a magic shows that a cell is not code of this notebook: `%%writefile train.py`, `%%bash`."""
    first = source.lstrip().partition("\n")[0].split()
    return bool(first) and first[0].startswith(_CELL) and first[0].removeprefix(_CELL) not in _RUN_UNDER


def _named(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> dict[str, str]:
    """The trainers that an assignment makes, by their names."""
    pairs: list[tuple[ast.AST, ast.AST | None]] = []
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs += zip(target.elts, node.value.elts, strict=False)
        else:
            pairs.append((target, node.value))
    return {
        name.id: made
        for name, value in pairs
        if isinstance(name, ast.Name) and value is not None and (made := _trainer_of(value))
    }


def _trainer_of(value: ast.AST) -> str:
    """The class of the trainer that an expression makes: `GRPOTrainer(...)`, `trl.GRPOTrainer(...)`; "" if it makes
    none."""
    if not isinstance(value, ast.Call):
        return ""
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return name if name.endswith(_CLASS) and name[:1].isupper() else ""


def _modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    found = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
    return {name.partition(".")[0] for name in found}
