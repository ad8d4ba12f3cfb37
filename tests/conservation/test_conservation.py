"""Every value that a real writer logged comes back at its step, from the report and from the live follower, or is lost
by the writer itself (its buffer, when it was killed; a file that it overwrites)."""

from __future__ import annotations

import json
import venv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.discovery.found import NotARun
from rltui.run.run import Run
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conservation import recorded
from tests.conservation.__main__ import PROGRAMS, write
from tests.conservation.beside import followed_beside
from tests.conservation.check import SOURCES, Rows, Source, differences, logged, lost, problems, read
from tests.conservation.following import followed
from tests.conservation.modes import FEW_ROWS, MODES, PACKAGES, ROWS, UNPACKED, Mode, modes
from tests.unit.frameworks.test_writers import install
from tests.unjudged import unjudged

CASES = [
    pytest.param(name, source, id=f"{name}-{source.path}")
    for name in recorded.names()
    for source in SOURCES[name.partition("-")[0]]
    if recorded.holds(name, source.path)
]


@pytest.fixture(autouse=True)
def _not_judged() -> Iterator[None]:
    with unjudged():
        yield


def reported(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """What `rltui report --format json` says of the runs at a path; none if the writer left nothing there."""
    code = main(["report", str(path), "--all", "--format", "json"])
    out = capsys.readouterr().out
    assert code in (0, 2)
    return json.loads(out) if code == 0 else []


def runs_at(path: Path) -> list[Run]:
    try:
        found = locate([str(path)])
    except NotARun:
        return []
    runs = []
    for one in found:
        reader = RunReader(one)
        reader.load()
        runs.append(reader.run)
    return runs


def check(source: Source, mode: Mode, launches: list[Rows], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in sorted(folder.glob(source.path))[-1:]:
        runs = runs_at(path)
        assert problems(source, mode, launches, runs) == [], path
        told = sorted((run["run"]["steps"] for run in reported(path, capsys)), key=str)  # type: ignore[index]
        rows = [read(run) for run in runs]
        expected = [{"first": min(one), "last": max(one), "rows": len(one)} for one in rows if one]
        got = [{key: steps[key] for key in ("first", "last", "rows")} for steps in told]
        assert sorted(got, key=str) == sorted(expected, key=str)


def check_live(source: Source, mode: Mode, launches: list[Rows], folder: Path, copy: Path) -> None:
    """The same rows live, while the file grows by pieces cut anywhere."""
    for path in sorted(folder.glob(source.path))[-1:]:
        runs = runs_at(path)
        if len(runs) == 1 and len([file for file in path.rglob("*") if file.is_file()]) <= 1:
            run = followed(path, copy / path.name, runs[0].history.table.n)
            assert run is not None
            assert lost(read(runs[0]), read(run)) == differences(read(runs[0]), read(run), 0.0) == []
            assert problems(source, mode, launches, [run]) == []


@pytest.mark.parametrize(("name", "source"), CASES)
def test_what_was_logged_comes_back(
    name: str, source: Source, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mode = modes(FEW_ROWS)[name.partition("-")[2]]
    folder = recorded.unpacked(name, tmp_path)
    launches = logged(tmp_path / f"{name}.jsonl", mode)
    check(source, mode, launches, folder, capsys)
    if source.appends:
        check_live(source, mode, launches, folder, tmp_path / "live")


def test_each_kind_of_log_is_recorded() -> None:
    kept = recorded.names()
    assert {f"loggers-{mode}" for mode in MODES} <= set(kept)
    assert {name.partition("-")[0] for name in kept} == set(PROGRAMS)


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An interpreter with the writers' packages, and verl's unpacked one."""
    root = tmp_path_factory.mktemp("packages")
    venv.create(root / "venv", with_pip=True)
    python = root / "venv" / "bin" / "python"
    install(python, root, list(PACKAGES), UNPACKED)
    return python, root / "packages" / f"verl-{UNPACKED['verl'][0]}"


@pytest.mark.writers
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_writers_write_it_anew(
    program: str, name: str, python: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mode, folder = modes(ROWS)[name], tmp_path / program / name
    write(python[0], program, ROWS, mode, folder, python[1])
    launches = logged(folder.with_suffix(".jsonl"), mode)
    for source in SOURCES[program]:
        check(source, mode, launches, folder, capsys)
        if source.appends:
            check_live(source, mode, launches, folder, tmp_path / "live" / source.path.replace("/", "-"))


@pytest.mark.writers
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_screen_beside_the_writers_has_the_same(
    program: str, name: str, python: tuple[Path, Path], tmp_path: Path
) -> None:
    """While they write: what the followers hold in the end is what a reader finds then, and that is what was logged."""
    mode, folder = modes(ROWS)[name], tmp_path / name

    def place(source: Source) -> Path | None:
        return next(iter(sorted(folder.glob(source.path))[-1:]), None)

    def now(source: Source) -> list[Run]:
        return runs_at(at) if (at := place(source)) is not None else []

    def rows(path: str) -> int:
        return max((run.history.table.n for run in now(sources[path])), default=0)

    sources = {source.path: source for source in SOURCES[program] if source.appends}
    followed = followed_beside(
        lambda: write(python[0], program, ROWS, mode, folder, python[1]),
        {path: partial(place, source) for path, source in sources.items()},
        rows,
    )
    launches = logged(folder.with_suffix(".jsonl"), mode)
    for path, source in sources.items():
        runs = now(source)
        assert problems(source, mode, launches, runs) == [], path
        if len(runs) == 1 and source.restarts != "overwrites":
            held, found = read(followed[path]), read(runs[0])
            assert lost(found, held) == differences(found, held, 0.0) == [], path
