"""Mutants of the code that judges: numbers, tuples of constants, comparisons."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tests.mutants.mutant import Mutant, scaled

TURNED: dict[type[ast.cmpop], str] = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Constants of a module (numbers, elements of tuples, sets and lists of them) and the comparisons of its
    functions."""
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr) -> tuple[int, str]:
        """Offsets count characters, the tree's columns bytes."""
        line = text[starts[node.lineno - 1] : starts[node.lineno]]
        start = starts[node.lineno - 1] + len(line.encode()[: node.col_offset].decode())
        return start, ast.get_source_segment(text, node) or ""

    for top in tree.body:
        if isinstance(top, ast.Assign | ast.AnnAssign) and top.value is not None:
            name = ast.unparse(top.targets[0] if isinstance(top, ast.Assign) else top.target)
            if name != name.upper():
                continue  # a type, or the order of fields
            for node in ast.walk(top.value):
                yield from _of_constant(path, name, node, place)
        elif isinstance(top, ast.FunctionDef | ast.ClassDef):
            for node in ast.walk(top):
                if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
                    start, was = place(node)
                    left, right = (ast.get_source_segment(text, n) or "" for n in (node.left, node.comparators[0]))
                    if was.startswith(left) and "\n" not in was:
                        new = f"{left} {TURNED[type(node.ops[0])]} {right}"
                        yield Mutant(path, "comparison", "turned", f"{top.name}:{node.lineno}", start, was, new)


def _of_constant(path: str, name: str, node: ast.AST, place: Callable[[ast.expr], tuple[int, str]]) -> Iterator[Mutant]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        start, was = place(node)
        if not was.replace(".", "").replace("_", "").isdigit() and "e" not in was:
            return
        for how, new in scaled(was.replace("_", "")):
            yield Mutant(path, "constant", how, name, start, was, new)
    elif isinstance(node, ast.Tuple | ast.Set | ast.List) and len(node.elts) > 1:
        start, was = place(node)
        parts = [place(item)[1] for item in node.elts]
        brackets = {ast.Tuple: "()", ast.Set: "{}", ast.List: "[]"}[type(node)]
        if was[:1] != brackets[0] or any(isinstance(item, ast.Starred) for item in node.elts):
            return
        for dropped in range(len(parts)):
            rest = ", ".join(part for n, part in enumerate(parts) if n != dropped)
            new = brackets[0] + rest + ("," if isinstance(node, ast.Tuple) else "") + brackets[1]
            yield Mutant(path, "list", f"without {dropped}", name, start, was, new)
