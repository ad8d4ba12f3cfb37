"""The table of frameworks says no more than the tests show."""

from __future__ import annotations

import pytest

from rltui.vocabulary.load import dialect, dialect_names
from rltui.vocabulary.support import PARTS, SHOWN
from tests.unit.frameworks.cases import CASES, Case
from tests.unit.frameworks.labelled import RUNS

BY_DIALECT = {case.dialect: case for case in CASES}


def has(case: Case, part: str) -> bool:
    """Whether a built run shows a part."""
    if part in ("console", "files"):
        ending = (".log", ".txt") if part == "console" else (".jsonl", ".json", ".txt")
        return any(path.endswith(ending) for path in case.files)
    return bool(
        {"phases": case.phases, "config": case.config, "samples": case.samples, "checkpoints": case.checkpoints}[part]
    )


@pytest.mark.parametrize("name", dialect_names())
def test_what_is_claimed_is_shown(name: str) -> None:
    support = dialect(name).support
    assert tuple(support) == PARTS
    family = (name, *dialect(name).bases)
    for part, said in support.items():
        assert said.state in ("yes", "partly", "no")
        assert said.shown in (("",) if said.state == "no" else SHOWN)
        assert said.note or said.state != "no", "why not"
        if said.shown == "real":
            assert any(run.dialect in family for run in RUNS), part
        elif said.state == "yes" and name in BY_DIALECT:
            assert has(BY_DIALECT[name], part) or said.shown == "writer", part
        elif said.state == "yes":
            assert said.shown == "writer" or any(has(BY_DIALECT[n], part) for n in family if n in BY_DIALECT), part
