"""Shared fixtures. Labelled runs are optional: RLTUI_TEST_RUNS, by default ../shared/runs beside the repository."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from jsonschema import Draft202012Validator

from tests.draws import is_drawn, left_out

# a loaded machine is no failure; CI tries the same examples each time, a developer new ones
settings.register_profile("rltui", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("rltui")

REPO = Path(__file__).resolve().parent.parent
NUMBERS = count()
FEW_OF_EACH = pytest.StashKey[bool]()

gc.set_threshold(20_000, 20, 20)  # thousands of tests are no garbage: looking for it less often saves some seconds

# Containers often switch bytecode off: then each worker and each process that a test starts compiles all modules anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """`-n auto` is one worker more than there are cores: some tests wait for another process or for a file to age."""
    return (yield) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="every case of every test; without it, a few of each")


def pytest_configure(config: pytest.Config) -> None:
    """Whether all cases are wanted. Workers are given the files that the one who asked did not name: they are told."""
    told = getattr(config, "workerinput", {}).get("few")
    asked = config.args_source is config.ArgsSource.TESTPATHS and not config.getoption("whole")
    config.stash[FEW_OF_EACH] = asked if told is None else bool(told)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["few"] = node.config.stash[FEW_OF_EACH]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("whole"):
        return
    kept = [item for item in items if not item.get_closest_marker("whole")]
    if config.stash[FEW_OF_EACH]:
        seed, test = int(config.getoption("randomly_seed", 0) or 0), lambda item: item.nodeid.partition("[")[0]
        kept = [item for item in kept if not item.get_closest_marker("long") or is_drawn(test(item), seed)]
        out = left_out(((test(item), item.nodeid) for item in kept), seed)
        kept = [item for item in kept if item.nodeid not in out]
    if len(kept) < len(items):
        known = {id(item) for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in known])
        items[:] = kept


def pytest_collection_finish() -> None:
    """What is collected stays until the end: the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The order of the tests is another each time: how to have this one again."""
    seed = config.getoption("randomly_seed", None)
    if isinstance(seed, int):
        terminalreporter.write_line(f"this order again: pytest --randomly-seed={seed}")


@cache
def report_schema() -> Draft202012Validator:
    """The schema of the JSON report, compiled once. That it is a schema has a test of its own, for that takes long."""
    return Draft202012Validator(schema_of("report"))


def schema_of(folder: str) -> dict[str, Any]:
    """The JSON Schema that the package ships for what this folder writes."""
    found: dict[str, Any] = json.loads((REPO / "rltui" / folder / "schema.json").read_text(encoding="utf-8"))
    return found


def labelled_runs() -> Path | None:
    """Folder of the labelled runs (`real/`, `zoo/`), None where this checkout has none."""
    path = Path(os.environ.get("RLTUI_TEST_RUNS", REPO.parent / "shared" / "runs"))
    return path if path.is_dir() else None


@pytest.fixture(autouse=True)
def no_hidden_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line on which a reader fails is left out for a user; here the fault is shown."""
    monkeypatch.setattr("rltui.readers.console.log_lines.LogLines.stops_at_faults", True)


@pytest.fixture(autouse=True)
def no_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test gives by `--line` holds for its process, so it would hold for the logs of the next test, too."""
    monkeypatch.setattr("rltui.readers.console.line_pattern._patterns", ())


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings or the terminal of its user, or writes to what rltui keeps for him. (Readline puts
    the size of the terminal into the environment of test workers, and programs believe it more than their own.)"""
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    own = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("XDG_STATE_HOME", str(own / f"states/{next(NUMBERS)}"))  # mktemp would look at all before it
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own / "no-settings"))


@pytest.fixture
def runs_dir() -> Path:
    path = labelled_runs()
    if path is None:
        pytest.skip("no labelled runs: set RLTUI_TEST_RUNS")
    return path


@pytest.fixture
def labelled_run(runs_dir: Path) -> Callable[[str], Path]:
    """`labelled_run("zoo/g01-add-s0")`: that run's directory, or a skip where it is absent."""

    def find(name: str) -> Path:
        path = runs_dir / name
        if not path.exists():
            pytest.skip(f"no run {name} under {runs_dir}")
        return path

    return find


NOBODY = 65534


@pytest.fixture
def as_a_user() -> Iterator[tuple[Path, Callable[[], AbstractContextManager[None]]]]:
    """A directory that everyone may enter, and a context in which this process is no superuser: file permissions
    count there even where the tests run as root."""

    @contextmanager
    def unprivileged() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name), unprivileged
