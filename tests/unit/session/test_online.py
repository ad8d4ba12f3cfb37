"""Runs of the W&B service, on objects as the client documents them that answer with what a sample run recorded."""

from __future__ import annotations

import json
import sys
import time
import types
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.compare.runs import in_order
from rltui.discovery.found import NotARun
from rltui.readers.base import ConfigRecord, Exit, Rows
from rltui.readers.wandb.reader import WandbReader
from rltui.report.build import build
from rltui.session import online_feed
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from rltui.sources.base import Link
from rltui.sources.targets import BadTarget, WandbTarget, parse
from rltui.sources.wandb_online import KEY, OnlineError, WandbPlace, api_key, completed, service
from tests.conftest import REPO

LOG = next((REPO / "sample_runs" / "trl-slow-reward").rglob("*.wandb"))
SECRET = "0123456789abcdef0123456789abcdef01234567"


class RunObject:
    """Attributes and methods of `wandb.apis.public.Run` that its documentation names."""

    def __init__(self, id: str, rows: Sequence[dict[str, object]], config: dict[str, object], state: str) -> None:
        self.id, self.name, self.project, self.entity = id, f"run {id}", "math", "team"
        self.path = ["team", "math", id]  # the client quotes each part as for a URL
        self.state, self.config, self.rows = state, config, list(rows)
        self.tags = ["sweep-7"]
        self.created_at = "2026-11-20T23:28:01Z"
        self.summary: dict[str, object] = {}
        self.asked: list[int] = []

    @property
    def lastHistoryStep(self) -> int:  # noqa: N802  (the client's name)
        return int(str(self.rows[-1]["_step"])) if self.rows else -1

    def scan_history(
        self,
        keys: list[str] | None = None,
        page_size: int = 1000,
        min_step: int | None = None,
        max_step: int | None = None,
    ) -> Iterator[dict[str, object]]:
        self.asked.append(min_step or 0)
        return (dict(row) for row in self.rows if int(str(row["_step"])) >= (min_step or 0))


class Api:
    """`wandb.Api`."""

    def __init__(self, *runs: RunObject, api_key: str = "") -> None:
        self.held = {"/".join(run.path): run for run in runs}
        self.flushed = 0
        self.lazy = True
        self.fail: Exception | None = None

    def flush(self) -> None:
        self.flushed += 1

    def run(self, path: str) -> RunObject:
        if self.fail is not None:
            raise self.fail
        if path not in self.held:
            raise ValueError(f"Could not find run <Run {path} (not found)>")
        return self.held[path]

    def runs(
        self, path: str, filters: object = None, order: str = "+created_at", per_page: int = 50, lazy: bool = True
    ) -> list[RunObject]:
        self.lazy = lazy
        if path != "team/math":
            raise ValueError(f"Could not find project {path}")
        return list(self.held.values())


def recorded() -> tuple[list[dict[str, object]], dict[str, object], Sequence[Rows]]:
    """The rows of the sample run's W&B log as the service gives them, and as the reader of the log does."""
    reader = WandbReader()
    records = [*reader.feed(LOG.read_bytes()), *reader.finish()]
    rows, config = [], {}
    blocks = [record for record in records if isinstance(record, Rows)]
    for block in blocks:
        for i, step in enumerate(block.steps):
            cells = {key: column[i] for key, column in block.values.items() if not isnan(column[i])}
            rows.append({"_step": step, "_timestamp": block.times[i], **cells})
    for record in records:
        if isinstance(record, ConfigRecord):
            config |= record.values
    return rows, config, blocks


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> Api:
    rows, config, _ = recorded()
    api = Api(RunObject("abc", rows, config, "finished"), RunObject("def", rows[:50], config, "running"))
    monkeypatch.setattr(online_feed, "_place", WandbPlace(api, SECRET))
    return api


def test_the_service_and_the_log_on_disk_give_the_same_diagnosis(online: Api) -> None:
    reports = []
    for target in ("wandb:team/math/abc", str(LOG)):
        opened = RunReader(locate([target])[0])
        opened.load()
        reports.append(build(opened.frame()))
    there, here = reports
    assert there.run.framework == here.run.framework == "trl"
    assert there.run.steps == here.run.steps
    assert there.run.state == here.run.state
    assert there.metrics.keys() == here.metrics.keys()
    assert {f.id for f in there.findings} == {f.id for f in here.findings}
    assert there.verdict.decision == here.verdict.decision
    assert there.config["lr"].value == here.config["lr"].value


def test_every_command_takes_it(online: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "wandb:team/math/abc", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["id"] == "run abc"
    assert main(["runs", "wandb:team/math", "--format", "json"]) == 0
    listed = {r["id"]: r for r in json.loads(capsys.readouterr().out)["runs"]}
    assert set(listed) == {"run abc", "run def"}
    assert listed["run abc"]["state"] == "finished"
    assert main(["compare", "wandb:team/math", "--tag", "sweep-*", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    assert main(["report", "wandb:team/math"]) == 2
    assert "2 runs" in capsys.readouterr().err


def test_a_project_by_state_number_and_file(online: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.md"
    words = ["compare", "wandb:team/math", "--state", "finished", "--latest", "80", "-o", str(out)]
    assert main(words) == 0
    assert "run abc" in out.read_text()
    assert "run def" not in out.read_text()
    assert main(["compare", "wandb:team/math", "--state", "crashed"]) == 2
    assert "none of the 2 runs" in capsys.readouterr().err


def test_the_list_asks_for_the_newest_steps_only(online: Api) -> None:
    (row,) = in_order(locate(["wandb:team/math/abc"]))
    run = online.held["team/math/abc"]
    assert run.asked == [run.lastHistoryStep - online_feed.END_STEPS]
    assert row.last_step == run.lastHistoryStep
    assert row.health == "not looked"


def test_a_live_run_is_asked_for_what_is_new_and_not_too_often(online: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(online_feed.clock, "monotonic", lambda: now[0])
    run = online.held["team/math/def"]
    whole = online.held["team/math/abc"].rows
    opened = RunReader(locate(["wandb:team/math/def"])[0], follow=True)
    opened.load()
    first = opened.run.history.table.n
    run.rows = whole[:60]
    asked = len(run.asked)
    for _ in range(10):
        assert not opened.poll()
    assert len(run.asked) == asked, "not before its time"
    now[0] = online_feed.POLL_S + 1
    assert opened.poll()
    assert opened.run.history.table.n > first
    assert run.asked[-1] == int(str(whole[49]["_step"])) + 1
    assert online.flushed >= 2, "the client's memory of the run is stale"
    run.rows, run.state = whole, "crashed"
    now[0] *= 3
    opened.poll()
    assert isinstance(opened.run.exit, Exit)
    assert opened.run.exit.code == 1
    now[0] += online_feed.POLL_S + 1
    asked = len(run.asked)
    opened.poll()
    assert len(run.asked) == asked, "a run that ended is asked for seldom"


def test_an_outage_is_told_and_survived(online: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(online_feed.clock, "monotonic", lambda: now[0])
    found = locate(["wandb:team/math/def"])[0]
    opened = RunReader(found, follow=True)
    opened.load()
    online.fail = ConnectionError(f"timed out, key {SECRET}")
    now[0] += 100
    opened.poll()
    link = found.place.link()
    assert isinstance(link, Link)
    assert link.state == "reconnecting"
    note = opened.run.sources[0].note
    assert "does not answer" in note
    assert SECRET not in note + link.text
    online.fail = None
    now[0] += 100
    opened.poll()
    assert found.place.link() is not None
    assert found.place.link().state == "connected"  # type: ignore[union-attr]


def test_rows_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"_step": n, "_timestamp": 1.7e9 + n, "reward": 0.5} for n in range(2500)]
    monkeypatch.setattr(online_feed, "_place", WandbPlace(Api(RunObject("big", rows, {}, "finished"))))
    opened = RunReader(locate(["wandb:team/math/big"])[0])
    blocks = 0
    while not opened.read_block().done:
        blocks += 1
    assert blocks >= 2
    assert opened.run.history.table.n == 2500


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([{"_step": 0, "reward": "NaN"}, {"_step": 1, "reward": 1.0}], 2),
        ([None, 7, {"_step": 3, "reward": 1.0}], 1),
        ([{"_step": 1, "video": {"_type": "video-file"}, "text": "x", "reward": None, "loss": 0.1}], 1),
        ([{"_step": "a", "reward": 0.3}], 1),
    ],
)
def test_odd_answers_are_no_trouble(monkeypatch: pytest.MonkeyPatch, rows: list[Any], kept: int) -> None:
    run = RunObject("odd", [], {"a": {"b": 1}, "secret": SECRET}, "finished")
    monkeypatch.setattr(run, "scan_history", lambda **_: iter(rows))
    monkeypatch.setattr(online_feed, "_place", WandbPlace(Api(run)))
    opened = RunReader(locate(["wandb:team/math/odd"])[0])
    opened.load()
    assert opened.run.history.table.n == kept


def test_names_that_a_url_would_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, object]] = [{"_step": n, "reward": 0.5} for n in range(9)]
    run = RunObject("abc", rows, {}, "finished")
    run.project, run.path = "math & logic", ["team", "math+%26+logic", "abc"]
    api = Api(run)
    api.held = {"team/math & logic/abc": run}
    monkeypatch.setattr(online_feed, "_place", WandbPlace(api))
    opened = RunReader(locate(["wandb:team/math & logic/abc"])[0])
    opened.load()
    assert opened.run.history.table.n == len(rows)
    assert next(in_order(locate(["wandb:team/math & logic/abc"]))).last_step == 8


def test_listing_asks_nothing_more_of_each_run(online: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: RunObject) -> int:
        raise AssertionError("the client puts a question of its own to the service for this")

    monkeypatch.setattr(RunObject, "lastHistoryStep", property(refuse))
    assert len(locate(["wandb:team/math"])) == 2
    assert not online.lazy, "configs come with the list"


@pytest.mark.parametrize("text", ["2026-11-20T23:28:01", "2026-11-20T23:28:01Z", "2026-11-21T00:28:01+01:00"])
def test_times_without_a_zone_are_utc(online: Api, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    run = online.held["team/math/abc"]
    run.created_at = text
    assert WandbPlace(online).run("team/math/abc").created == 1795217281.0
    monkeypatch.undo()
    time.tzset()


def test_targets() -> None:
    assert parse("wandb:team/math") == WandbTarget("team", "math")
    assert parse("wandb:team/math/abc") == WandbTarget("team", "math", "abc")
    assert parse("wandb:math") == WandbTarget(None, "math")
    assert parse("wandb:") == WandbTarget(None, None)
    for bad in ("wandb:a/b/c/d", "wandb:a//b", "wandb:a/b\n"):
        with pytest.raises(BadTarget):
            parse(bad)
    environment = {"WANDB_ENTITY": "team", "WANDB_PROJECT": "math"}
    assert completed(WandbTarget(None, None), environment) == WandbTarget("team", "math")
    assert completed(WandbTarget(None, "other"), environment) == WandbTarget("team", "other")
    with pytest.raises(OnlineError, match="which entity and project"):
        completed(WandbTarget(None, None), {})
    with pytest.raises(OnlineError, match="which entity\\?"):
        completed(WandbTarget(None, "math"), {})


def test_the_key_is_found_in_the_environment_or_in_a_file_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert api_key({KEY: "a"}, str(tmp_path)) == "a"
    assert api_key({}, str(tmp_path)) is None
    (tmp_path / ".env").write_text(f"# keys\nOTHER=1\nexport {KEY}='{SECRET}'  # mine\n")
    assert api_key({}, str(tmp_path)) == SECRET
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr(online_feed, "_place", None)

    def refusing(api_key: str) -> Api:
        raise RuntimeError(f"invalid api_key {api_key}")

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(Api=refusing))  # type: ignore[arg-type]
    monkeypatch.chdir(tmp_path)
    assert main(["report", "wandb:team/math"]) == 2
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("Could not find run <Run a/b/c (not found)>"), "no such run or project"),
        (RuntimeError("HTTP 401: permission denied"), "refuses the key"),
        (TimeoutError("read timed out"), "does not answer"),
    ],
)
def test_errors_are_one_line(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    api.fail = error
    monkeypatch.setattr(online_feed, "_place", WandbPlace(api))
    with pytest.raises(NotARun, match=said) as told:
        locate(["wandb:a/b/c"])
    assert "\n" not in str(told.value)


def test_without_client_or_key_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setitem(sys.modules, "wandb", None)  # type: ignore[arg-type]
    with pytest.raises(OnlineError, match=r"pip install 'rltui\[wandb\]'"):
        service()
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(Api=Api))  # type: ignore[arg-type]
    with pytest.raises(OnlineError, match=KEY):
        service()
