"""The table of frameworks says no more than the tests show."""

from __future__ import annotations

import pytest

from rltui.frameworks.load import dialect, dialect_names
from rltui.frameworks.schema import GENERIC
from rltui.frameworks.support import PARTS, SHOWN
from tests.fixtures.writers import make, trackers, trl_runs
from tests.unit.frameworks.cases import Case
from tests.unit.frameworks.labelled import RUNS
from tests.unit.frameworks.more_cases import ALL_CASES
from tests.unit.frameworks.test_trackers import TRACKED


def has(case: Case, part: str) -> bool:
    """Whether a built run shows a part."""
    if part in ("console", "files"):
        ending = (".log", ".txt") if part == "console" else (".jsonl", ".json", ".txt")
        return any(path.endswith(ending) for path in case.files)
    return bool(
        {"phases": case.phases, "config": case.config, "samples": case.samples, "checkpoints": case.checkpoints}[part]
    )


def shown(names: tuple[str, ...]) -> set[str]:
    """The parts that built runs of these dialects show."""
    out = {part for case in ALL_CASES if case.dialect in names for part in PARTS if has(case, part)}
    tracked = [t for t in TRACKED if t.dialect in names]
    parts = {"files": tracked, "phases": any(t.phases for t in tracked), "config": any(t.resolved for t in tracked)}
    return out | {part for part, there in parts.items() if there}


@pytest.mark.parametrize("name", dialect_names())
def test_what_is_claimed_is_shown(name: str) -> None:
    support = dialect(name).support
    assert tuple(support) == PARTS
    family = (name, *dialect(name).bases)
    own = shown((name,) if any(case.dialect == name for case in ALL_CASES) else family)
    for part, said in support.items():
        assert said.state in ("yes", "partly", "no")
        assert said.shown in (("",) if said.state == "no" else SHOWN)
        assert said.note or said.state != "no", "why not"
        if said.shown == "real":
            assert any(run.dialect in family for run in RUNS), part
        elif said.state == "yes" and said.shown == "built":
            assert part in own, part


def test_what_is_said_to_have_been_run_is_what_the_writers_tests_run() -> None:
    logged = {f"{package}-{version}" for package, versions in make.PACKAGES.items() for version in versions}
    logged |= {f"{package}-{version}" for package, version in trackers.UNPACKED.items()}
    logged |= {package.replace("==", "-") for package in trackers.PACKAGES}
    for name in dialect_names():
        ran = dialect(name).ran
        assert (ran is None) == (name == GENERIC), name
        if ran is not None and ran.what == "trainer":
            assert ran.version in trl_runs.PACKAGES, name
        elif ran is not None and ran.what == "logger":
            package = dialect(name).title.lower().replace(" ", "-").replace("llama-factory", "llamafactory")
            assert f"{package}-{ran.version}" in logged, name
