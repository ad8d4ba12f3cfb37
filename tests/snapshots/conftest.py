"""Pictures that come out the same everywhere: paths, times, zone, and a home of their own."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rltui.tui.view import View
from tests.conftest import REPO

NOW = 1.8e9
WRITTEN = NOW - 50 * 86400


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample runs as if all were written at one time: a checkout's files are as old as it is."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(REPO / "sample_runs", root / "sample_runs")
    for path in (root / "sample_runs").rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN))
    return root


def _raise(view: View, name: str, error: Exception) -> str:
    raise error


@pytest.fixture(autouse=True)
def _the_same_everywhere(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(checkout)  # paths in the picture are those of a checkout
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("own")))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(View, "pane_failed", _raise)
    time.tzset()
    late = SimpleNamespace(time=lambda: NOW, monotonic=time.monotonic)  # a fresh checkout's files are no live run
    for module in ("session.live", "session.run_reader", "compare.runs"):
        monkeypatch.setattr(f"rltui.{module}.clock", late)
