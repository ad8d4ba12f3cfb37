"""Alerts of a watch: posts that never hold up the following, addresses that no error shows, the terminal's bytes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rltui.cli import main
from rltui.cli.watch import KINDS
from rltui.events.alerts import Gate, headline, notification
from rltui.events.changes import Event, Kind, in_line, in_lines
from rltui.manual import page
from rltui.settings.model import AlertSettings
from rltui.watch.hooks import Webhook, checked_address, shown_address
from tests.conftest import REPO

CRASHED = REPO / "sample_runs" / "verl-grpo-crash"
HEALTHY = REPO / "sample_runs" / "trl-grpo-healthy"
EVENT = Event(
    "opened", 0.0, "r", "/r", 5, None, "running", "continue-watch", "KL rose", "kl-runaway", None, "critical", seq=1
)
SECRET = "T0/B1/xoxsecret"


class Receiver(BaseHTTPRequestHandler):
    """Keeps what is posted; answers with the codes in `answers`, then 200. 0: no answer at all."""

    got: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    answers: ClassVar[list[int]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, json.loads(body)))
        code = self.answers.pop(0) if self.answers else 200
        if code == 0:
            time.sleep(1.0)
        self.send_response(code or 200)
        if code == 302:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def receiver(*answers: int) -> Iterator[str]:
    Receiver.got, Receiver.answers = [], list(answers)
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{SECRET}"
    server.shutdown()
    server.server_close()


def test_a_post_holds_the_line_and_the_event() -> None:
    problems: list[str] = []
    with receiver() as url:
        hook = Webhook(url, problems.append, lambda _: None)
        hook.send(EVENT)
        hook.close()
    ((path, body),) = Receiver.got
    assert path == f"/{SECRET}"
    assert set(body) == {"text", "event"}
    assert "critical opened" in body["text"]
    assert body["event"] == json.loads(json.dumps(EVENT.as_dict()))
    assert all(f"`{name}`" in page("watching") for name in body["event"] if name != "schema"), "the manual names all"
    assert problems == []


def test_a_post_says_why_what_to_do_and_what_to_keep() -> None:
    answer = {"what": "w", "since": "s", "why": "too long answers.", "do": "cut them.", "keep": "step 40.", "sure": "h"}
    text = in_lines(replace(EVENT, answer=answer))
    assert text.splitlines()[1:] == ["Why: too long answers.", "To do: cut them.", "Keep: step 40."]
    assert in_lines(EVENT) == in_line(EVENT)


@pytest.mark.parametrize(("answers", "says"), [((500, 500), "HTTP 500"), ((302, 302), "HTTP 302"), ((0, 0), "")])
def test_what_fails_is_told_without_the_address(answers: tuple[int, ...], says: str) -> None:
    problems: list[str] = []
    done: list[Event] = []
    with receiver(*answers) as url:
        hook = Webhook(url, problems.append, done.append, limit_s=0.2, pauses_s=(0.01,))
        hook.send(EVENT)
        hook.close()
    (problem,) = problems
    assert says in problem
    assert SECRET not in problem
    assert "127.0.0.1" in problem
    assert done == [EVENT]


def test_what_is_still_being_tried_at_the_end_is_told() -> None:
    problems: list[str] = []
    done: list[Event] = []
    with receiver(*[500] * 5) as url:
        hook = Webhook(url, problems.append, done.append, pauses_s=(60.0,))
        hook.send(EVENT)
        hook.send(EVENT)
        deadline = time.monotonic() + 120
        while not Receiver.got and time.monotonic() < deadline:
            time.sleep(0.01)
        hook.close(wait_s=0.3)
    (problem,) = problems
    assert problem.endswith("Not sent: opened kl-runaway and 1 more")
    assert SECRET not in problem
    assert done == [], "a watch that keeps a ledger sends it when it starts again"


def test_a_post_that_fails_once_is_tried_again() -> None:
    problems: list[str] = []
    with receiver(503) as url:
        hook = Webhook(url, problems.append, lambda _: None, pauses_s=(0.01,))
        hook.send(EVENT)
        hook.close()
    assert (len(Receiver.got), problems) == (2, [])


def test_nobody_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    problems: list[str] = []
    hook = Webhook("http://127.0.0.1:9/" + SECRET, problems.append, lambda _: None, pauses_s=())
    hook.send(EVENT)
    hook.close()
    assert "refused" in problems[0].lower()
    assert SECRET not in problems[0]


@given(st.text(max_size=60))
def test_any_address_is_taken_or_refused_without_showing_it(text: str) -> None:
    said = ""
    try:
        said = shown_address(checked_address(text))
    except ValueError as refused:
        said = str(refused)
    assert said.startswith(("http://", "https://", "webhook: needs an address, as in webhook:https://host/path"))


@pytest.mark.long
def test_a_crash_is_posted_by_the_command(tmp_path: Path) -> None:
    with receiver() as url:
        words = [sys.executable, "-m", "rltui", "watch", str(CRASHED), "--notify", f"webhook:{url}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)
    kinds = [body["event"]["event"] for _, body in Receiver.got]
    assert "end" in kinds
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--notify", "mail"], "--notify mail: use osc or webhook:URL"),
        (["--notify", f"webhook:ftp://x/{SECRET}"], "needs an address"),
        (["--notify", "webhook"], "watch.webhook"),
        (["--heartbeat", "0"], "above 0"),
        (["--exec-on", "opend"], "--exec-on opend: no such kind"),
    ],
)
def test_wrong_usage(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(HEALTHY), *words]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert SECRET not in told
    assert told.count("\n") == 1


def test_the_command_knows_every_kind_of_event() -> None:
    assert {*KINDS, "done"} == set(get_args(Kind))


# -- which events call ------------------------------------------------------------------------------------------------


def test_only_what_is_worth_it_and_not_again_too_soon() -> None:
    gate = Gate(AlertSettings(cooldown_s=300))
    assert not gate.lets(replace(EVENT, severity="warning"), 0.0)
    assert gate.lets(EVENT, 0.0)
    assert not gate.lets(EVENT, 299.0)
    assert gate.lets(EVENT, 301.0)
    assert gate.lets(replace(EVENT, finding="entropy-collapse"), 302.0), "another finding is no repetition"
    for kind in ("summary", "resumed", "better", "resolved", "restart", "heartbeat"):
        assert not gate.lets(replace(EVENT, kind=kind), 900.0)  # type: ignore[arg-type]
    stall = replace(EVENT, kind="stall", finding="run-stalled", severity="warning")
    assert gate.lets(stall, 1000.0), "a stall whatever its severity"
    assert gate.lets(replace(stall, kind="worse", severity="critical"), 1010.0), "worse is told at once"
    assert gate.lets(replace(EVENT, kind="end", finding=None, severity=None), 1020.0)
    warned = Gate(AlertSettings(level="warning"))
    assert warned.lets(replace(EVENT, severity="warning"), 0.0)
    assert warned.lets(EVENT, 1.0), "critical after the warning is told in spite of the cool-down"


def test_one_setting_switches_all_off_and_single_ones_their_own() -> None:
    every = [EVENT, replace(EVENT, kind="stall", finding="run-stalled"), replace(EVENT, kind="end", finding=None)]
    assert [Gate(AlertSettings(enabled=False)).lets(e, 0.0) for e in every] == [False, False, False]
    assert [Gate(AlertSettings(stall=False)).lets(e, 0.0) for e in every] == [True, False, True]
    assert [Gate(AlertSettings(end=False)).lets(e, 0.0) for e in every] == [True, True, False]


@pytest.mark.parametrize(
    ("hours", "quiet", "loud"),
    [
        ("22:00-07:00", ["22:00", "23:59", "03:00", "06:59"], ["07:00", "12:00", "21:59"]),
        ("12:30-13:00", ["12:30"], ["13:00"]),
    ],
)
def test_quiet_hours(hours: str, quiet: list[str], loud: list[str]) -> None:
    gate = Gate(AlertSettings(quiet=hours))
    for at in (*quiet, *loud):
        when = datetime.fromisoformat(f"2026-03-05T{at}").timestamp()
        assert gate.quiet(when) == (at in quiet), at


# -- the terminal ------------------------------------------------------------------------------------------------------


def test_the_bytes_of_a_notification() -> None:
    assert notification("a; b", "osc9", {}) == "\x1b]9;rltui: a; b\a"
    assert notification("a; b", "osc777", {}) == "\x1b]777;notify;rltui;a, b\a"
    assert notification("a", "auto", {"VTE_VERSION": "7600"}).startswith("\x1b]777;")
    assert notification("a", "auto", {"TERM": "xterm-kitty"}).startswith("\x1b]9;")
    assert notification("a", "off", {}) == ""
    assert notification("a", "osc9", {"TMUX": "/tmp/x"}) == "\x1bPtmux;\x1b\x1b]9;rltui: a\a\x1b\\"
    assert notification("a", "osc9", {"STY": "1.pts"}) == "\x1bP\x1b]9;rltui: a\a\x1b\\"
    assert notification("a", "both", {}).count("\a") == 2


@given(st.text(max_size=400), st.sampled_from(["osc9", "osc777", "both"]), st.booleans())
def test_hostile_text_stays_inside_its_notification(text: str, how: str, tmux: bool) -> None:
    made = notification("\x1b]0;evil\a\x1b[2J" + text, how, {"TMUX": "x"} if tmux else {})
    count = 2 if how == "both" else 1
    assert made.count("\a") == count
    assert made.count("\x1b") == (4 * count if tmux else count), "no escape but ours"
    assert all(c.isprintable() or c in "\x1b\a" for c in made)
    assert len(made) < 1000


def test_secrets_and_length_of_a_headline() -> None:
    loud = replace(EVENT, text="api_key=sk-abcdefghijklmnopqrstuvwxyz123456 " + "x" * 5000)
    assert "sk-abc" not in headline(loud)
    assert len(headline(loud)) <= 200


@pytest.mark.long
def test_a_watch_writes_them_to_its_terminal(tmp_path: Path) -> None:
    """stdout is redirected; the notification and the bell go to the controlling terminal all the same."""
    master, slave = pty.openpty()
    code = (
        "import fcntl, os, sys, termios\n"
        "os.setsid(); fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)\n"
        "from rltui.cli import main\n"
        f"sys.exit(main(['watch', {str(CRASHED)!r}, '--notify', 'osc']))\n"
    )
    environ = {k: v for k, v in os.environ.items() if k not in ("TMUX", "STY", "VTE_VERSION")}
    with (tmp_path / "out").open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(slave)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            pass_fds=(slave,),
            env={**environ, "TERM": "xterm-256color"},
        )
        child.wait(180)
    got = os.read(master, 1 << 16).decode()
    os.close(slave)
    os.close(master)
    assert "\x1b]9;rltui: verl-grpo-crash, step 65: crashed." in got
    assert got.endswith("\a\a"), "the end of the notification, and the bell"
    assert "\x1b" not in (tmp_path / "out").read_text()
