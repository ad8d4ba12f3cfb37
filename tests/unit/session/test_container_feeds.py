"""Databases and file stores under the session: followed while they grow, found with their runs, left as they were."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rltui.discovery.found import NotARun
from rltui.readers.base import ConfigRecord, Record
from rltui.session.container_feeds import DatabaseFeed, feed_for
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from rltui.sources.base import FileStat
from rltui.sources.local import LocalPlace
from tests.unit.readers import tracker_files
from tests.unit.readers_binary.collect import by_step

if TYPE_CHECKING:
    from rltui.session.container_feeds import AnyFeed

ROWS: list[tracker_files.Row] = [(s, {"loss": s / 7, "kl": 0.1 * s}) for s in range(1, 31)]
CELLS = {s: dict(cells) for s, cells in ROWS}


def feed(path: Path, format: str, inside: str = "") -> AnyFeed:
    place = LocalPlace()
    stat = place.stat(str(path))
    assert isinstance(stat, FileStat)
    return feed_for(str(path), format, place, stat, inside)


def impatient(found: AnyFeed) -> AnyFeed:
    """A feed that does not leave the database alone after a reading."""
    if isinstance(found, DatabaseFeed):
        found._not_before = 0.0
    return found


def poll(found: AnyFeed) -> list[Record]:
    batch = impatient(found).read()
    assert batch.error is None
    return batch.records


def listing(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below a folder with size and times, as they are now."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ctime_ns)
        for path in sorted(folder.rglob("*"))
    }


def test_database_with_a_writer_that_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    tracker_files.trackio(path, {"a": ROWS[:10]}, wal=True)
    writer = sqlite3.connect(path)
    found = feed(path, "trackio", "id-a")
    records = poll(found)
    assert poll(found) == []
    for begin in (10, 20):
        tracker_files.add_trackio(writer, "a", ROWS[begin : begin + 10])
        writer.commit()
        before = listing(tmp_path)
        assert path.with_name("p.db-wal").stat().st_size > 0
        records += poll(found)
        assert listing(tmp_path) == before
    assert by_step(records) == CELLS
    tracker_files.add_trackio(writer, "a", [(31, {"kl": 1.0})])  # not committed: locked, and nothing new to see
    assert by_step(poll(found)) == {}
    writer.close()


@pytest.mark.parametrize("format", ["trackio", "mlflow"])
def test_nothing_is_created_or_changed(tmp_path: Path, format: str) -> None:
    make = tracker_files.trackio if format == "trackio" else tracker_files.mlflow
    make(tmp_path / "p.db", {"a": ROWS})
    before = listing(tmp_path)
    (found,) = locate([str(tmp_path)])
    opened = RunReader(found, follow=True)
    opened.load()
    opened.poll()
    opened.close()
    assert opened.run.history.table.n == len(ROWS)
    assert listing(tmp_path) == before


def test_another_database_under_the_same_path(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    tracker_files.mlflow(path, {"a": ROWS})
    found = feed(path, "mlflow", "ida")
    assert by_step(poll(found)) == CELLS
    tracker_files.mlflow(tmp_path / "new.db", {"a": ROWS[:3]})
    os.replace(tmp_path / "new.db", path)
    batch = impatient(found).read()
    assert batch.restarted
    assert by_step(batch.records) == {s: CELLS[s] for s in (1, 2, 3)}


def test_database_that_is_damaged_for_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    tracker_files.trackio(path, {"a": ROWS})
    whole = path.read_bytes()
    found = feed(path, "trackio", "id-a")
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    batch = found.read()
    assert batch.error is not None
    assert batch.records == []
    path.write_bytes(whole)
    assert by_step(poll(found)) == CELLS


def test_missing_and_back(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    tracker_files.trackio(path, {"a": ROWS})
    found = feed(path, "trackio", "id-a")
    path.rename(tmp_path / "away")
    batch = found.read()
    assert batch.error is not None
    assert batch.error.kind == "missing"
    (tmp_path / "away").rename(path)
    assert by_step(poll(found)) == CELLS


def test_file_store_that_grows(tmp_path: Path) -> None:
    run = tracker_files.store(tmp_path, "a", ROWS[:10], status=1)
    found = feed(run / "meta.yaml", "mlflow-files")
    records = poll(found)
    assert [r.values for r in records if isinstance(r, ConfigRecord)] == [{"log_level": "info", "lr": 1e-05}]
    assert poll(found) == []
    tracker_files.add_store(run, ROWS[10:])
    tracker_files.add_store(run, [(31, {"eval/new metric": 2.0})])
    before = listing(tmp_path)
    records += poll(found)
    assert by_step(records) == CELLS | {31: {"eval/new metric": 2.0}}
    assert listing(tmp_path) == before
    assert str(run / "metrics" / "kl") in found.watched


def test_file_store_that_is_rewritten(tmp_path: Path) -> None:
    run = tracker_files.store(tmp_path, "a", ROWS)
    found = feed(run / "meta.yaml", "mlflow-files")
    poll(found)
    for name in ("loss", "kl"):
        (run / "metrics" / name).write_text("")
    tracker_files.add_store(run, ROWS[:2])
    batch = found.read()
    assert batch.restarted
    assert by_step(batch.records) == {s: CELLS[s] for s in (1, 2)}


def test_several_runs_of_a_database_are_several_runs(tmp_path: Path) -> None:
    path = tmp_path / "project.db"
    tracker_files.trackio(path, {"first": ROWS, "second": ROWS[:5]})
    for argument in (path, tmp_path):
        found = locate([str(argument)])
        assert [f.candidate.id for f in found] == ["first", "second"]
        assert [f.candidate.root for f in found] == [f"{path}#first", f"{path}#second"]
    (one,) = locate([f"{path}#second"])
    opened = RunReader(one)
    opened.load()
    assert opened.run.history.table.n == 5
    with pytest.raises(NotARun, match=r"no run 'third'\. Its runs are first, second"):
        locate([f"{path}#third"])


def test_runs_of_a_file_store(tmp_path: Path) -> None:
    tracker_files.store(tmp_path, "a", ROWS)
    run = tracker_files.store(tmp_path, "b", ROWS[:4])
    found = locate([str(tmp_path)])
    assert [f.candidate.id for f in found] == ["a", "b"]
    (named,) = locate([found[1].candidate.root])
    for one in (found[1], named):
        opened = RunReader(one)
        opened.load()
        assert opened.run.history.table.n == 4
    assert found[1].candidate.root == str(run)


def test_the_only_run_of_a_database_is_that_of_the_log_beside_it(tmp_path: Path) -> None:
    (tmp_path / "trackio").mkdir()
    tracker_files.trackio(tmp_path / "trackio" / "p.db", {"a": ROWS})
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {s}, "loss": 1.5}}\n' for s in range(1, 31)))
    (found,) = locate([str(tmp_path)])
    assert [format for _, format in found.candidate.files] == ["jsonl", "trackio"]


def test_a_database_of_something_else(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "optuna.db")
    connection.execute("CREATE TABLE trials (id INTEGER, value FLOAT)")
    connection.commit()
    connection.close()
    with pytest.raises(NotARun, match="no training log recognised"):
        locate([str(tmp_path)])
    with pytest.raises(NotARun, match="no training log recognised"):
        locate([str(tmp_path / "optuna.db")])


ZOO = {  # the containers of each run, and how many rows the fullest of them holds
    "zoo/g01-add-s0": ({"tensorboard", "wandb", "trl-console", "trainer-state"}, 300),
    "zoo/g04-copy-s3": ({"trackio", "mlflow-files", "tensorboard", "wandb", "trl-console", "trainer-state"}, 50),
    "zoo/g44-add-s1": ({"mlflow", "tensorboard", "wandb", "trl-console", "trainer-state"}, 125),
    "zoo/g53-sort-s2": ({"trackio", "tensorboard", "wandb", "trl-console", "trainer-state"}, 130),
    "zoo/g54-add-s0": ({"tensorboard", "wandb", "trl-console", "trainer-state"}, 250),  # resumed: two files each
    "zoo/v01-add-s0": ({"jsonl", "tensorboard", "wandb", "verl-console"}, 161),
}
ROUNDED = {"tensorboard": 2e-7, "trl-console": 6e-4}
"""float32, and four digits printed; the others hold what was logged to the last digit."""


@pytest.mark.parametrize("name", ZOO)
def test_containers_of_one_run_agree_value_by_value(labelled_run: Callable[[str], Path], name: str) -> None:
    formats, rows = ZOO[name]
    (found,) = locate([str(labelled_run(name))])
    opened = RunReader(found)
    opened.load()
    assert {feed.format for feed in opened.feeds} == formats
    assert max(feed.part.table.n for feed in opened.feeds) == rows
    first = {feed.format: int(feed.part.table.steps[0]) for feed in sorted(opened.feeds, key=lambda f: f.part.rank)}
    for feed in opened.feeds:  # what a later launch did again
        if feed.part.table.steps[0] < first[feed.format]:
            feed.part.table.keep(int(feed.part.table.steps.searchsorted(first[feed.format])))
    compared = 0
    for one, other in combinations(opened.feeds, 2):
        mine, theirs = one.part.table, other.part.table
        steps = np.intersect1d(mine.steps, theirs.steps)
        assert one.format != other.format or not len(steps)
        if not len(steps):
            continue  # files of two launches
        assert len(steps) >= min(mine.n, theirs.n) - 1
        common = mine.columns.keys() & theirs.columns.keys()
        assert len(common) >= 24
        tolerance = max(ROUNDED.get(one.format, 0.0), ROUNDED.get(other.format, 0.0))
        for key in common:
            left, right = mine.series(key), theirs.series(key)
            assert left is not None
            assert right is not None
            both = np.intersect1d(left.steps, right.steps)
            assert len(both) == min(len(left), len(right)), (one.format, other.format, key)
            a, b = (s.values[s.steps.searchsorted(both)] for s in (left, right))
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=0.0, err_msg=f"{one.format} {other.format} {key}")
            compared += len(both)
    assert compared >= 24 * rows * (len(formats) - 1)
