"""Settings of a user that are in force for a test and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui import settings
from rltui.tui import keys


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Path of a settings file that is in force once written."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "rltui" / "config.toml"
    file.parent.mkdir()
    settings._load.cache_clear()
    yield file
    settings._load.cache_clear()
    keys.adopt(settings.Settings(""))
