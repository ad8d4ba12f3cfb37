from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from rltui import doctor, settings
from rltui.data_files import READERS
from rltui.doctor import DEGRADED, OFF, OK, InstallCheck, checks, render
from rltui.frameworks import load
from rltui.plots.glyphs import ASCII
from rltui.rules import catalogue
from tests.conftest import REPO

GOOD = {"TERM": "xterm-256color", "LANG": "en_GB.UTF-8", "COLORTERM": "truecolor"}


def by_name(found: list[InstallCheck]) -> dict[str, InstallCheck]:
    return {c.name: c for c in found}


def test_everything_is_looked_at_and_has_a_reason() -> None:
    found = checks(GOOD)
    assert all(c.status in (OK, DEGRADED, OFF) and c.reason for c in found)
    names = by_name(found)
    assert {"Python", "rltui", "terminal", "colours", "characters", "size", "multiplexer", "this session"} <= set(names)
    assert {"GPUs (NVML)", "host", "file changes", "ssh client", "Slurm"} <= set(names)
    assert names["Python"].status == OK


def test_the_installed_packages_are_those_required() -> None:
    names = by_name(doctor.packages())
    if "textual" not in names:
        pytest.skip("rltui is not installed here")
    assert {"textual", "polars", "numpy", "plotext", "nvidia-ml-py", "psutil", "orjson"} <= set(names)
    assert "pytest" not in names


@pytest.mark.parametrize(
    ("installed", "requirement", "status"),
    [
        ("8.2.8", "textual>=8.2", OK),
        ("8.2", "textual>=8.2.0", OK),
        ("8.1.9", "textual>=8.2", DEGRADED),
        ("5.3.2", "textual<6,>=5.3", OK),
        ("6.0.1", "textual<6,>=5.3", DEGRADED),
        (None, "textual>=8.2", OFF),
    ],
)
def test_a_package_against_its_requirement(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, requirement: str, status: str
) -> None:
    def version(name: str) -> str:
        if installed is None:
            raise doctor.metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(doctor.metadata, "version", version)
    found = doctor.package("textual", requirement)
    assert found.status == status
    assert (installed or "pip install") in found.reason


@pytest.mark.parametrize(
    ("env", "status", "words"),
    [
        (GOOD, OK, "16 million"),
        ({"TERM": "tmux-256color"}, OK, "256"),
        ({"TERM": "screen"}, DEGRADED, "16 ("),
        ({"TERM": "dumb"}, OFF, "none"),
        ({**GOOD, "NO_COLOR": "1"}, DEGRADED, "NO_COLOR"),
    ],
)
def test_colours(env: dict[str, str], status: str, words: str) -> None:
    found = doctor.colours(env)
    assert found.status == status
    assert words in found.reason


def test_characters_sessions_and_multiplexers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.characters(GOOD).status == OK
    assert doctor.characters({"TERM": "xterm", "LANG": "C"}).status == DEGRADED
    assert "TERM=linux" in doctor.characters({**GOOD, "TERM": "linux"}).reason
    assert "over ssh" in doctor.ssh_session({"SSH_CONNECTION": "a b"}).reason
    assert doctor.ssh_session({}).reason == "local"
    assert doctor.multiplexer({"STY": "1.pts"}).status == DEGRADED
    assert doctor.multiplexer({}).reason == "none"
    for said, status in (("tmux 3.4", DEGRADED), ("tmux 3.5a", OK), ("tmux next-3.6", OK), ("", OK)):
        monkeypatch.setattr(doctor, "_output", lambda *_, said=said: said)
        assert doctor.multiplexer({"TMUX": "/socket"}).status == status, said


def test_notifications_that_tmux_swallows_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings._load.cache_clear()
    assert doctor.notifications({}).status == OK
    for said, status in (("on", OK), ("all", OK), ("off", DEGRADED), ("unknown option", OK)):
        monkeypatch.setattr(doctor, "_output", lambda *_, said=said: said)
        assert doctor.notifications({"TMUX": "/socket"}).status == status, said
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "rltui").mkdir()
    (tmp_path / "rltui" / "config.toml").write_text("[alerts]\nenabled = false\n")
    assert doctor.notifications({}).reason == "switched off in your settings"
    (tmp_path / "rltui" / "config.toml").write_text("[alrets]\n")
    settings._load.cache_clear()
    assert "line 1: alrets" in doctor.notifications({}).reason
    settings._load.cache_clear()


def test_no_terminal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert by_name(doctor.terminal(GOOD))["terminal"].status == OFF
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert by_name(doctor.terminal(GOOD))["terminal"].status == OK
    assert by_name(doctor.terminal({}))["terminal"].status == OFF


def test_gpus_that_answer_in_part_are_degraded(monkeypatch: pytest.MonkeyPatch) -> None:
    from rltui.hardware.base import GpuSample
    from rltui.hardware.gpu import GpuReader

    def pretend(samples: tuple[GpuSample, ...], note: str, why: str = "") -> InstallCheck:
        monkeypatch.setattr(GpuReader, "open", lambda _: why)
        monkeypatch.setattr(GpuReader, "read", lambda _: (samples, note))
        return doctor.gpus()

    whole = GpuSample("", 0, "H100", 1.0, 80.0, 400.0, 700.0, 0.5, 50.0)
    assert pretend((whole,), "").status == OK
    assert pretend((), "", "no NVIDIA driver here").status == OFF
    lost = pretend((whole, GpuSample("", 1, "H100")), "GPU 1: GPU is lost")
    assert (lost.status, "GPU is lost" in lost.reason, "no power" in lost.reason) == (DEGRADED, True, False)
    mute = pretend((GpuSample("", 0, "H100", 1.0, 80.0),), "")
    assert mute.status == DEGRADED
    assert "no power, utilisation, temperature" in mute.reason


def test_render_aligns_and_counts() -> None:
    text = render([InstallCheck("a", OK, "fine"), InstallCheck("long name", OFF, "no driver → none")], ASCII)
    assert text.splitlines() == [
        "v OK        a          fine",
        "x off       long name  no driver > none",
        "",
        "1 OK, 0 degraded, 1 off",
    ]


def test_textual_is_not_imported() -> None:
    code = "import sys; from rltui.doctor import checks, render; render(checks()); sys.exit('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_data_file_of_the_package_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but schemas and examples, which nothing but tests reads, and names of secrets, which every output needs."""
    seen: set[Path] = set()
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        seen.add(path.resolve())
        return read_bytes(path)

    doctor.data_files()  # the modules are loaded
    monkeypatch.setattr(Path, "read_bytes", noted)
    for reader in [
        *READERS,
        load.metrics,
        load.phases,
        load.config_meanings,
        load.levers,
        load.algorithms,
        load.prefix_groups,
        load.spellings,
    ]:
        reader.cache_clear()  # type: ignore[attr-defined]
    for cached in (load._framework, load.dialect, catalogue._read):
        cached.cache_clear()
    found = by_name([doctor.data_files(), doctor.frameworks(), doctor.rules()])
    assert {c.status for c in found.values()} == {OK}
    package = REPO / "rltui"
    files = {p.resolve() for kind in ("*.json", "*.toml") for p in package.rglob(kind)}
    left_out = {package / "secret_names.json", package / "settings" / "example.toml", *package.rglob("schema.json")}
    assert {p.relative_to(package) for p in files - seen - {p.resolve() for p in left_out}} == set()


@pytest.mark.long
def test_a_wrong_data_file_is_named_and_ends_a_command_in_one_line(tmp_path: Path) -> None:
    """Of our own package it is a fault of rltui: `doctor` names file and line and goes on, a report ends with 3."""
    shutil.copytree(REPO / "rltui", tmp_path / "rltui", ignore=shutil.ignore_patterns("__pycache__"))
    wrong = tmp_path / "rltui" / "readers" / "data" / "formats.json"
    wrong.write_text(wrong.read_text().replace("{", '{\n"no format": 1,', 1))
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "RLTUI_STATE": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "rltui", *words]
        return subprocess.run(call, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)

    told = command("doctor")
    assert told.returncode == 0, told.stderr
    assert re.search(r"off +data files +\S*formats.json:2: ", told.stdout)
    ended = command("report", str(REPO / "sample_runs"), "--newest")
    assert ended.returncode == 3
    assert len(ended.stderr.splitlines()) == 1
    assert "formats.json:2" in ended.stderr


def test_doctor_of_a_run_names_its_files_and_failed_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rltui.cli import main
    from rltui.rules import registry

    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(f'{{"step": {i}, "reward": 0.{i}, "entropy": 1.{i}}}\n' for i in range(1, 40)), "utf-8")
    assert main(["doctor", str(log)]) == 0
    said = capsys.readouterr().out
    assert "metrics.jsonl" in said
    assert "jsonl, 39 rows" in said
    assert "check failed" not in said

    def raises(*_: object) -> None:
        raise ZeroDivisionError("planted")

    broken = [replace(o, detect=raises) if o.rule == "entropy-collapse" else o for o in registry.REGISTERED]
    monkeypatch.setattr(registry, "REGISTERED", broken)
    assert main(["doctor", str(log)]) == 0
    assert re.search(r"off +entropy-collapse +check failed: .*planted", capsys.readouterr().out)
