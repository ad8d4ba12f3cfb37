"""What is said of one run: by each command, run in this process with its output kept, and by the screen."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import get_ident
from typing import Any
from unittest.mock import patch

from rltui.report.model import Report
from tests.contradictions.page import Page, read_page

Json = dict[str, Any]


@dataclass
class Said:
    """What is said of one run. A surface that was not asked is None, and rules about it are silent.

    `report`: `report --format json`; `page`: `report --long`; `brief`: `report`; `ends` and `whole`: its row of `runs`
    and `runs --full`; `compared`: its row of `compare`; `watched`: the events of `watch` at its first look; `held`:
    `verify --metrics`; `explained`: id of a finding -> `explain`; `earlier`: step -> `report --at STEP`; `cut`: step ->
    `report` of the log as it was when it had come to that step; `screens`: name -> text of the screen; `travelled`:
    step -> text of the main screen as it was at that step; `picked`: its line of the picker; `listed`: its line of the
    table of `runs`; `lines`: what `watch` prints for people; `entry`: what it appends to a check-in file; `hooked`:
    what it hands to a command of the user's; `row`: its row of the comparison's screen.
    """

    name: str
    report: Json
    page: Page | None = None
    brief: Page | None = None
    ends: Json | None = None
    whole: Json | None = None
    compared: Json | None = None
    watched: list[Json] | None = None
    held: list[Json] | None = None
    explained: dict[str, Json] = field(default_factory=dict)
    earlier: dict[int, Json] = field(default_factory=dict)
    cut: dict[int, Json] = field(default_factory=dict)
    screens: dict[str, str] = field(default_factory=dict)
    travelled: dict[int, str] = field(default_factory=dict)
    picked: str | None = None
    listed: str | None = None
    lines: list[str] = field(default_factory=list)
    entry: str | None = None
    hooked: list[Json] | None = None
    row: str | None = None

    @property
    def pages(self) -> list[Page]:
        """The Markdown reports, the long one first."""
        return [page for page in (self.page, self.brief) if page is not None]

    @property
    def active(self) -> list[Json]:
        return [f for f in self.report["findings"] if f["status"] == "active"]

    @property
    def loud(self) -> list[Json]:
        return [f for f in self.active if f["severity"] != "info"]

    @property
    def state(self) -> str:
        return str(self.report["run"]["state"])

    @property
    def decision(self) -> str:
        return str(self.report["verdict"]["decision"])

    @property
    def badge(self) -> str | None:
        """The badge's words, without a glyph; None if neither JSON nor page was asked or has one."""
        badge = self.report["verdict"].get("badge")
        return bare(badge) if badge else self.page.badge if self.page is not None else None

    def metric(self, name: str) -> Json | None:
        """Numbers of a canonical metric as the table has them."""
        metrics: dict[str, Json] = self.report["metrics"]
        found = metrics.get(name)
        return found or next((m for m in metrics.values() if m["key"] == name), None)

    def sentences(self) -> list[tuple[str, str]]:
        """(where, text) of every sentence of the report that speaks of the present."""
        verdict = self.report["verdict"]
        out = [("verdict", verdict["text"]), ("would change", verdict["would_change"])]
        out += [(f["id"], f.get("summary") or "") for f in self.active]
        return [(where, text) for where, text in out if text]


def bare(badge: str) -> str:
    """A badge's words without its glyph."""
    return re.sub(r"^[^\w]+", "", badge).strip()


def command(*words: str, out: io.StringIO | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command, run in this process. Its standard error is a file:
    the commands that it runs write there, too."""
    from rltui.cli import main

    out = out or io.StringIO()
    with TemporaryFile("w+", encoding="utf-8") as error:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                code = main(list(words))
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 2
        error.seek(0)
        return code, out.getvalue(), error.read()


def report(path: Path, *options: str) -> Json | None:
    """The JSON report, None if the run is refused (several runs, nothing recognisable)."""
    code, text, error = command("report", str(path), "--format", "json", *options)
    assert code in (0, 2), f"{path}: exit {code}: {error}"
    return json.loads(text) if code == 0 else None


def reports(path: Path) -> tuple[Json, Page, Page] | None:
    """The JSON report, the long page and the short one, of one look at the run; None if it is refused."""
    from rltui.report.build import build
    from rltui.report.markdown import render

    looked: list[Report] = []
    here = get_ident()

    def kept(*seen: Any, **how: Any) -> Report:
        built = build(*seen, **how)
        if get_ident() == here:  # a screen of another test may still look at its run
            looked.append(built)
        return built

    with patch("rltui.report.build.build", kept):
        found = report(path)
    if found is None:
        return None
    (same,) = looked
    return found, read_page(render(same, long=True)), read_page(render(same))


def runs(folder: Path, *options: str) -> dict[str, Json]:
    """Path -> row of `runs`."""
    code, text, error = command("runs", str(folder), *options, "--format", "json")
    assert code == 0, error
    return {row["path"].rstrip("/"): row for row in json.loads(text)["runs"]}


def table(folder: Path, *options: str) -> list[str]:
    """The lines of `runs` for people, without its head and what is below."""
    code, text, error = command("runs", str(folder), *options)
    assert code == 0, error
    return text.split("\n\n")[0].splitlines()[1:]


OVER = re.compile(r"(\"state\": \"|  summary  )(finished|crashed)")


class UntilSummary(io.StringIO):
    """Standard output of a watch that is asked to end, as by Ctrl-C, once it has told its first look, in one write;
    over a run that has ended it ends by itself."""

    def write(self, text: str) -> int:
        if ('"event": "summary"' in text or "  summary  " in text) and not OVER.search(text):
            signal.raise_signal(signal.SIGTERM)
        return super().write(text)


def watch(path: Path, *options: str) -> str:
    """What a first look prints."""
    words = ("watch", str(path), "--fresh", "--fail-on", "never", "--timeout", "180", *options)
    with patch("rltui.watch.follow.WAIT_S", 0.02):  # nothing more comes: how long its thread waits for it
        code, text, error = command(*words, out=UntilSummary())
    assert code == 0, error
    return text


def jsons(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def watched(found: Said, path: Path) -> None:
    """Adds what `watch` says: its events, lines, check-in entry, and what a hook is given."""
    with TemporaryDirectory() as folder:
        notes, hooks = Path(folder) / "STATUS.md", Path(folder) / "hooks"
        hooks.touch()
        found.watched = jsons(watch(path, "--format", "json", "--append", str(notes), "--exec", f"tee -a {hooks}"))
        found.entry = notes.read_text(encoding="utf-8")
        if any(event["event"] == "end" for event in found.watched):  # else what waits is dropped with the watch
            found.hooked = jsons(hooks.read_text(encoding="utf-8"))
    found.lines = watch(path).splitlines()


def said(path: Path, rows: dict[str, Json] | None = None, *, deep: bool = True) -> Said | None:
    """What the commands say of a run, None if `report` refuses it. `rows`: of `runs`, which looks at a whole folder.
    `deep`: also the short page, `compare`, `watch`, `verify` and two earlier steps; these read the run again each
    time."""
    told = reports(path)
    if told is None:
        return None
    whole, page, brief = told
    found = Said(path.name, whole, page)
    if rows is not None:
        found.ends = rows.get(str(path).rstrip("/"))
    if not deep:
        return found
    found.brief = brief
    code, text, _ = command("compare", str(path), "--format", "json")
    if code == 0:
        told = json.loads(text)
        row = next(iter(told["runs"]), None)
        found.compared = None if row is None else row | {"metric": told["primary"]["name"]}
    for name in {f["id"] for f in whole["findings"]}:
        found.explained[name] = json.loads(command("explain", name, "--format", "json")[1])
    watched(found, path)
    code, text, _ = command("verify", "--metrics", str(path), "--format", "json")
    if code in (0, 1):
        told = json.loads(text)
        found.held = told if isinstance(told, list) else told["checks"]
    first, last = whole["run"]["steps"]["first"], whole["run"]["steps"]["last"]
    if first is not None and last - first >= 40:
        for step in {first + (last - first) // 2, last}:
            if (then := report(path, "--at", str(step))) is not None:
                found.earlier[step] = then
    return found
