"""The house keeps its floors: import contracts, and what a start-up may load, seen in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import REPO

LOADED = "import sys; print('\\n'.join(sorted({m.split('.')[0] for m in sys.modules})))"


def run_python(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPO, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_contracts_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([str(linter)], capture_output=True, text=True, cwd=REPO, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_report_as_json_loads_neither_textual_nor_plotext() -> None:
    run = REPO / "sample_runs"
    code = f"""
import contextlib, io, sys
from rltui.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out:
    code = main(["report", {str(run)!r}, "--newest", "--format", "json"])
assert code == 0 and out.getvalue().startswith("{{"), (code, out.getvalue()[:200])
{LOADED}"""
    loaded = run_python(code)
    assert "numpy" in loaded, "the check would prove nothing if no report had been made"
    assert not loaded & {"textual", "rich", "plotext"}


def test_first_paint_needs_neither_polars_nor_numpy_nor_plotext() -> None:
    loaded = run_python(f"import rltui.tui.app\n{LOADED}")
    assert "textual" in loaded
    assert not loaded & {"polars", "numpy", "plotext", "psutil", "pynvml", "orjson"}


@pytest.mark.parametrize("size", [(160, 45), (120, 36), (80, 24)])
def test_a_screen_is_painted_without_what_a_report_needs(size: tuple[int, int]) -> None:
    """Drawn as a user sees it, while the reading waits: what it loads then was loaded for the painting."""
    code = f"""
import asyncio, sys
from threading import Event
from rltui.tui.app import RltuiApp

class Waiting:
    asked, go_on = Event(), Event()
    def first_values(self):
        self.asked.set()
        self.go_on.wait()
        raise SystemExit
    find = open = first_values

async def paint():
    opener = Waiting()
    async with RltuiApp(opener, target="here").run_test(size={size}) as pilot:
        while not opener.asked.is_set():
            await pilot.pause()
        drawn = "".join(segment.text for line in pilot.app.screen._compositor.render_strips() for segment in line)
        assert "Opening here" in drawn and "Findings" in drawn, drawn
        print("\\n".join(sorted(sys.modules)))
        pilot.app.exit()
        opener.go_on.set()

asyncio.run(paint())"""
    loaded = run_python(code)
    assert "textual" in loaded
    assert not loaded & {"numpy", "polars", "plotext", "psutil", "orjson", "sqlite3"}
    assert not [name for name in loaded if name.startswith(("rltui.diagnosis", "rltui.readers.console", "rltui.rules"))]


def test_first_values_need_neither_numpy_nor_what_a_report_needs(tmp_path: Path) -> None:
    """What stands on the screen before everything else is loaded, found and drawn as the screen does it."""
    log = tmp_path / "console.log"
    log.write_text("".join(f"step:{step} - critic/score/mean:0.5 - actor/entropy:0.7\n" for step in range(1, 3000)))
    code = f"""
import sys
import rltui.tui.app
from rltui.tui import panes
from rltui.tui.start import SessionOpener
from rltui.tui.view import View
view = View()
view.first = SessionOpener([{str(log)!r}], {{}}, None).first_values()
drawn = [panes.opening.draw(view, pane, 100, 20, False) for pane in ("header", "verdict", "metrics", "log")]
assert "0.500" in str(drawn) and "2999" in str(drawn), drawn
print("\\n".join(sorted(sys.modules)))"""
    loaded = run_python(code)
    heavy = {"numpy", "polars", "plotext", "psutil", "sqlite3", "ctypes", "rltui.run.table", "rltui.run.run",
             "rltui.session.run_reader", "rltui.report.build", "rltui.report.model", "rltui.tui.panes.gpu"}  # fmt: skip
    assert not loaded & heavy
    assert not [name for name in loaded if name.startswith(("rltui.diagnosis", "rltui.hardware"))]


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import contextlib, io
from rltui.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["--help"])
{LOADED}"""
    assert not run_python(code) & {"textual", "numpy", "polars", "asyncio"}


def test_visible_top_level_is_the_agreed_one() -> None:
    done = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=REPO, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in done.stdout.splitlines() if not line.startswith(".")}
    assert top == {"rltui", "themes", "tests", "sample_runs", "pyproject.toml", "README.md"}


def test_plotext_stays_below_six() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert any(d.startswith("plotext") and "<6" in d for d in project["dependencies"])
