"""Rollouts of a run on another machine: the same as here, read in bounded pieces, none before it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from rltui.rollouts import index as rollout_index
from rltui.session.locate import locate
from rltui.session.rollouts import open_rollouts, rollouts_of
from rltui.session.run_reader import RunReader
from rltui.sources.ssh.place import SshPlace
from tests.unit.rollouts.dumps import GOOD, LOOP, VERL_LOG, lines, verl

from .server import Server

LIMIT = 20_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    root = tmp_path / "run"
    root.mkdir()
    (root / "train.log").write_text(VERL_LOG)
    for step in (1, 2, 3):
        verl(root, step, [("2+2?", GOOD, 1.0), ("2+2?", LOOP, 0.0)])
    return root


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was read over there: file name and bytes that came."""
    read: list[tuple[str, int]] = []
    whole, end = SshPlace.read, SshPlace.tail

    def counted_read(place: SshPlace, path: str, max_bytes: int = 1 << 24) -> object:
        data = whole(place, path, max_bytes)
        read.append((Path(path).name, len(data) if isinstance(data, bytes) else 0))
        return data

    def counted_tail(place: SshPlace, path: str, max_bytes: int) -> object:
        delta = end(place, path, max_bytes)
        read.append((Path(path).name, len(delta.data)))
        return delta

    monkeypatch.setattr(SshPlace, "read", counted_read)
    monkeypatch.setattr(SshPlace, "tail", counted_tail)
    return read


def test_a_remote_run_has_the_same_rollouts(user_ssh: Server, run: Path, asked: list[tuple[str, int]]) -> None:
    shown = []
    for argument in (str(run), user_ssh.argument(run)):
        (found,) = locate([argument])
        opened = RunReader(found)
        opened.load()
        asked.clear()
        index = rollouts_of(opened, found.candidate.rollouts)
        assert not asked, "names tell the steps, nothing is read"
        step = index.read(index.entries[-1])
        shown.append(step.page(range(len(step))))
        opened.close()
    assert shown[0] == shown[1]
    assert {name for name, _ in asked} == {"3.jsonl"}, "the step that was asked for"


def test_a_large_dump_is_read_to_its_bound_and_says_so(
    user_ssh: Server, run: Path, asked: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_index, "REMOTE", replace(rollout_index.REMOTE, dump=LIMIT, growing=LIMIT))
    verl(run, 4, [(f"p{n}", GOOD, 1.0) for n in range(2000)])
    rows = [{"step": n, "prompt": "p", "completion": f"c{n}", "reward": 1.0} for n in range(2000)]
    lines(run / "samples.jsonl", rows)
    (found,) = locate([user_ssh.argument(run)])
    asked.clear()
    index = open_rollouts(found)
    entry = index.nearest(4)
    assert entry is not None
    step = index.read(entry)
    assert 0 < len(step) < 2000
    assert "only its beginning was read" in step.notes
    newest = index.entries[-1]
    assert newest.step == 1999, "of a file that grows the end"
    assert index.read(newest).rollout(0).completion == "c1999"
    assert max(size for _, size in asked) <= LIMIT + 1
    assert json.dumps([name for name, _ in asked]).count("samples.jsonl") == 1, "read once"
