"""The agent without ssh in between: the same as the local place, on any Python, and bounded against a hostile one."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.agent import SHIPPED
from rltui.hardware.remote import sample_from
from rltui.sources.base import Delta, SourceError
from rltui.sources.local import LocalPlace
from rltui.sources.ssh.command import local_command
from rltui.sources.ssh.place import SshPlace

from .server import until

REPO = Path(__file__).parent.parent.parent.parent
TOOLS = ("sh", "stat", "tail", "head", "find", "base64", "od")
Open = Callable[..., SshPlace]


def pythons() -> list[str]:
    """Every Python from 3.6 on that is installed here, oldest first."""
    found = {sys.executable, *filter(None, [shutil.which("python3", path="/usr/bin:/usr/local/bin")])}
    found |= {str(p) for p in Path.home().glob(".pyenv/versions/3.*/bin/python")}
    versions = {}
    for path in sorted(found):
        said = subprocess.run([path, "-c", "import sys; print(sys.version_info[:3])"], capture_output=True, check=False)
        if said.returncode == 0:
            versions[ast.literal_eval(said.stdout.decode())] = path
    return [path for version, path in sorted(versions.items()) if version >= (3, 6)]


def path_with(directory: Path, **programs: str) -> str:
    """A PATH that holds the plain tools and the named programs only."""
    directory.mkdir()
    for name, target in {**{tool: shutil.which(tool) for tool in TOOLS}, **programs}.items():
        if target is not None:
            (directory / name).symlink_to(target)
    return str(directory)


@pytest.fixture
def start() -> Iterator[Open]:
    places = []

    def open_place(path: str | None = None, command: list[str] | None = None) -> SshPlace:
        shell = ["env", f"PATH={path}"] if path else []
        place = SshPlace("far", lambda: command or [*shell, *local_command()], first_pause_s=0.02, longest_pause_s=0.1)
        places.append(place)
        place.open()
        return place

    yield open_place
    for place in places:
        place.close()


@pytest.fixture(params=["agent", "shell"])
def far(request: pytest.FixtureRequest, start: Open, tmp_path: Path) -> SshPlace:
    """A place on this machine, with Python and without."""
    return start(path_with(tmp_path / "bin") if request.param == "shell" else None)


def read_all(follower: object) -> bytes:
    data = b""
    while True:
        delta: Delta = follower.read()  # type: ignore[attr-defined]
        data += delta.data
        if not delta.more:
            return data


NAMES = (
    *("a.log", "deep/er/m.jsonl", "global_step_5/trainer_state.json", "global_step_5/x.log", ".hydra/c.yaml"),
    *(".art/m.jsonl", "ckpts/step_000120.pt"),
)
ODD_NAMES = ("node_modules/x.json", "with space/ü-ñ.log", "quote's/$(x).csv", "model.bin", ".hidden/x.log")


def plant(root: Path) -> None:
    for name in NAMES + ODD_NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x" * 10)
    (root / "link").symlink_to(root / "deep")
    (root / "loop").symlink_to(root)
    (root / "dangling.log").symlink_to(root / "nowhere")
    os.mkfifo(root / "pipe.log")


@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_oldest_and_newest_python(age: str, start: Open, tmp_path: Path) -> None:
    python = pythons()[0 if age == "oldest" else -1]
    plant(tmp_path / "runs")
    far, near = start(path_with(tmp_path / "bin", python3=python)), LocalPlace()
    assert far.link().note == ""
    assert far.walk(str(tmp_path / "runs")) == near.walk(str(tmp_path / "runs"))
    log = tmp_path / "runs" / "a.log"
    log.write_bytes(random.Random(1).randbytes(700_000))
    follower = far.follow(str(log))
    assert read_all(follower) == log.read_bytes()
    log.write_bytes(b"anew\n")
    news: list[Delta] = []
    until(lambda: news.append(follower.read()) or news[-1].data)  # type: ignore[func-returns-value]
    assert news[-1].data == b"anew\n"
    assert any(delta.reset for delta in news)
    samples: list[dict[str, object]] = []
    far.sample(0.05, str(tmp_path), samples.append)
    until(lambda: len(samples) >= 2)
    sample = sample_from(samples[-1], "far")
    assert sample is not None
    assert sample.host is not None
    assert sample.host.ram_total_gb
    assert sample.host.disk_free_gb


def test_the_shipped_sources_are_python_3_6() -> None:
    for path in SHIPPED:
        ast.parse((REPO / path).read_text(encoding="utf-8"), feature_version=(3, 6))


def test_python_2_is_refused_and_the_shell_taken(start: Open, tmp_path: Path) -> None:
    old = next(Path.home().glob(".pyenv/versions/2.*/bin/python"), None)
    if old is None:
        pytest.skip("no Python 2 here")
    far = start(path_with(tmp_path / "bin", python=str(old), python3=str(old)))
    assert "no Python" in far.link().note
    assert far.link().state == "connected"


def test_walk_stat_read_and_tail_are_those_of_the_local_place(far: SshPlace, tmp_path: Path) -> None:
    plant(tmp_path / "runs")
    near, is_agent = LocalPlace(), not far.link().note
    one, other = far.walk(str(tmp_path / "runs")), near.walk(str(tmp_path / "runs"))
    if is_agent:
        assert one == other
    else:
        assert [f.path for f in one.files] == [f.path for f in other.files]
    for path in (tmp_path / "runs" / "a.log", tmp_path / "nothing", tmp_path, tmp_path / "runs" / "pipe.log"):
        mine, theirs = far.stat(str(path)), near.stat(str(path))
        assert far.is_dir(str(path)) == near.is_dir(str(path))
        if isinstance(theirs, SourceError):
            assert mine == theirs
            assert far.read(str(path)) == near.read(str(path))
            assert far.follow(str(path)).tail().error == near.follow(str(path)).tail().error
        else:
            assert not isinstance(mine, SourceError)
            assert (mine.size, mine.identity) == (theirs.size, theirs.identity)
            assert far.read(str(path), 5) == near.read(str(path), 5)
            assert far.follow(str(path)).tail(4).data == near.follow(str(path)).tail(4).data
    assert far.walk(str(tmp_path / "nothing")).error == near.walk(str(tmp_path / "nothing")).error
    assert isinstance(far.stat("a\0b"), SourceError)
    assert far.follow("a\0b").read().error is not None


@pytest.mark.parametrize("name", ['it\'s $(touch x); `id` "q" *.log', "-n.log", "new\nline.log", "\udcff\udc80.log"])
def test_no_name_is_a_command(far: SshPlace, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"hello\n")
    assert far.read(str(path)) == b"hello\n"
    assert read_all(far.follow(str(path))) == b"hello\n"
    assert sorted(os.listdir(tmp_path)) == sorted([name, *(["bin"] if far.link().note else [])])


def test_permission_is_asked_where_the_file_is(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can start the far side as somebody else")
    os.chmod(tmp_path, 0o755)
    secret = tmp_path / "secret.log"
    secret.write_bytes(b"x")
    secret.chmod(0o600)
    command = [
        shutil.which("setpriv") or "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        *local_command(),
    ]
    far = SshPlace("far", lambda: command)
    try:
        assert far.open().state == "connected"
        found = far.read(str(secret))
        assert isinstance(found, SourceError)
        assert found.kind == "permission"
    finally:
        far.close()


ACTION = st.one_of(
    st.tuples(st.just("append"), st.binary(min_size=1, max_size=90)),
    st.tuples(st.just("rewrite"), st.binary(max_size=200)),
    st.tuples(st.just("replace"), st.binary(max_size=200)),
    st.tuples(st.just("delete"), st.just(b"")),
    st.tuples(st.just("cut"), st.just(b"")),
)


@given(st.lists(ACTION, min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=4, deadline=None)
def test_whatever_is_done_to_a_file_its_content_arrives(
    start: Open, tmp_path: Path, actions: list[tuple[str, bytes]]
) -> None:
    """Also through cuts of the connection; what was read is at last exactly what the file holds."""
    path = tmp_path / "f"
    path.write_bytes(b"begin\n")
    far = start()
    follower = far.follow(str(path))
    have = b""

    def read() -> bytes:
        nonlocal have
        delta = follower.read()
        have = delta.data if delta.reset else have + delta.data
        return have

    try:
        until(lambda: read() == b"begin\n")
        for kind, data in actions:
            if kind == "append":
                with path.open("ab") as file:
                    file.write(data)
            elif kind == "rewrite":
                path.write_bytes(data)
            elif kind == "replace":
                (tmp_path / "new").write_bytes(data)
                os.replace(tmp_path / "new", path)
            elif kind == "delete":
                path.unlink(missing_ok=True)
            else:
                assert far.pid is not None
                with contextlib.suppress(ProcessLookupError):  # cut a moment ago
                    os.kill(far.pid, 9)
        if not path.exists():
            path.write_bytes(b"end\n")
        wanted = path.read_bytes()
        until(lambda: read() == wanted)
    finally:
        far.close()


def test_a_waiting_thread_learns_of_files_and_directories(far: SshPlace, tmp_path: Path) -> None:
    paths = [str(tmp_path / "later.log"), str(tmp_path / "dir")]
    (tmp_path / "dir").mkdir()
    os.utime(tmp_path / "dir", (1, 1))  # the shell's times are in seconds
    far.wait(paths, 0.0)
    (tmp_path / "later.log").write_bytes(b"x")
    until(lambda: far.wait(paths, 3.0))
    (tmp_path / "dir" / "x").write_bytes(b"x")
    until(lambda: far.wait(paths, 3.0))


def test_nothing_is_written_over_there(start: Open, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    far = start(command=["env", f"HOME={home}", f"TMPDIR={home}", "sh", "-c", f"cd {home}; {local_command()[2]}"])
    (tmp_path / "a.log").write_bytes(b"x\n")
    assert read_all(far.follow(str(tmp_path / "a.log"))) == b"x\n"
    far.sample(0.05, None, lambda values: None)
    far.walk(str(tmp_path))
    assert os.listdir(home) == []


# -- a hostile far side ------------------------------------------------------------------------------------------------


def answers(at_once: bytes, when_asked: bytes = b"") -> list[str]:
    """A far side that greets, and sends these frames whatever it is asked; the second ones when asked for anything."""
    script = (
        "import os; os.write(1, b'noise from .bashrc\\n\\nrltui:python\\n'); heard = b''\n"
        f"os.write(1, bytes.fromhex('{at_once.hex()}'))\n"
        f"while b'\"op\"' not in heard: heard = heard[-9:] + (os.read(0, 1 << 16) or os._exit(0))\n"
        f"os.write(1, bytes.fromhex('{when_asked.hex()}'))\n"
        "while os.read(0, 1 << 16): pass"
    )
    return [sys.executable, "-c", script]


def frames_of(*messages: tuple[object, bytes]) -> bytes:
    return b"".join(frames_of_one_stream(*messages))


def frames_of_one_stream(*messages: tuple[object, bytes]) -> Iterator[bytes]:
    stream = zlib.compressobj()
    for message, data in messages:
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        packed = stream.compress(struct.pack(">I", len(text)) + text + data) + stream.flush(zlib.Z_SYNC_FLUSH)
        yield struct.pack(">I", len(packed)) + packed


HELLO: tuple[object, bytes] = ({"hello": {}}, b"")


@pytest.mark.parametrize(
    "command",
    [
        lambda: answers(b"\xff\xff\xff\xff" + b"x" * 100),
        lambda: answers(struct.pack(">I", 5) + b"hello"),
        lambda: answers(frames_of((b"[1]", b""))),
        lambda: answers(frames_of((b"{" * 2000, b""))),
        lambda: answers(frames_of((b"[" * 200_000, b""))),
        lambda: answers(frames_of(({"hello": 1, "x": "y" * (60 << 20)}, b""))),
        lambda: [sys.executable, "-c", "print('x' * 100000)"],
    ],
    ids=["length", "no zlib", "no object", "no json", "deep", "bomb", "noise"],
)
def test_nonsense_ends_the_connection(command: Callable[[], list[str]]) -> None:
    """The commands are made here: the bomb takes a while, and each worker collects all tests."""
    made = command()
    far = SshPlace("far", lambda: made)
    try:
        link = far.open()
        assert link.state == "failed"
        assert link.text
    finally:
        far.close()


@pytest.mark.parametrize(
    "message",
    [
        {"number": 1, "piece": [5, False, False, 9, 1.0, "1:1"]},
        {"number": 1, "piece": [0, False, False, -1, 1.0, "1:1"]},
        {"number": 1, "piece": "x"},
        {"number": 1, "errno": "x"},
        {"number": [1], "errno": 2},
        {"id": {}, "file": []},
        {"id": None, "hardware": 5, "number": 1},
        {"changed": 5},
        {},
    ],
)
def test_a_message_that_cannot_be_is_an_error_value(message: object) -> None:
    command = answers(*frames_of_one_stream(HELLO, (message, b"1234")))
    far = SshPlace("far", lambda: command, first_pause_s=1.0, longest_pause_s=1.0)
    try:
        far.open()
        follower = far.follow("/x")
        until(lambda: follower.read().error)
        assert far.link().state == "reconnecting"
    finally:
        far.close()


@pytest.mark.parametrize("values", [{"file": [1, "x", "2"]}, {"file": None}, {"errno": "x"}, {"files": [[1]]}, {}])
def test_an_answer_that_cannot_be_is_an_error_value(values: dict[str, object]) -> None:
    command = answers(*frames_of_one_stream(HELLO, ({"id": 1, **values}, b"")))
    for ask in (lambda far: far.stat("/x"), lambda far: far.walk("/x").error, lambda far: far.tail("/x", 9).error):
        far = SshPlace("far", lambda: command)
        try:
            far.open()
            assert isinstance(ask(far), SourceError)
        finally:
            far.close()
