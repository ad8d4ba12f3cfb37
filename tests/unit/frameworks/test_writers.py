"""The fixtures that the frameworks' own writers wrote. `pytest -m writers` fetches the packages, writes anew."""

from __future__ import annotations

import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from rltui.readers.sniff import sniff
from tests.fixtures.writers.make import NEEDED, PACKAGES
from tests.unit.frameworks.cases import WRITERS
from tests.unit.readers.reading import read

FORMATS = {
    "areal-1.0.4.log": "console",
    "skyrl-0.4.0.log": "console",
    "tinker-cookbook-0.6.1.log": "console",
    "openrlhf-0.11.2.log": "console",
    "torchtune-0.6.1.txt": "console",
    "verl-0.3.0.post1.log": "verl-console",
    "verl-0.5.0.log": "verl-console",
    "verl-0.9.1.log": "verl-console",
    "verl-0.9.1.jsonl": "jsonl",
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_writer_wrote_is_read(name: str) -> None:
    data = (WRITERS / name).read_bytes()
    assert sniff(data, name) == FORMATS[name]
    found = read(FORMATS[name], data)
    steps = sorted(set(found.steps))
    assert steps == [steps[0], steps[0] + 1, steps[0] + 2]
    assert not found.reader.skipped
    rewards = [key for key in found.rows[0][1] if "reward" in key and "raw" not in key]
    assert rewards
    assert [cells[rewards[0]] for _, cells in found.rows if rewards[0] in cells] == [0.125, 0.25, 0.375]


@pytest.mark.parametrize("version", PACKAGES["verl"])
def test_verl_rounds_in_its_old_versions_only(version: str) -> None:
    found = read("verl-console", (WRITERS / f"verl-{version}.log").read_bytes())
    assert found.rows[0][1]["actor/lr"] == (0.0 if version.startswith("0.3") else 1e-6)
    assert found.rows[0][1]["actor/grad_norm"] is None


def install(python: Path, root: Path, needed: list[str], packages: dict[str, list[str]]) -> None:
    """Installs what the writers import, and unpacks the packages that they are part of below `root/packages`."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", *needed], check=True)
    for package, versions in packages.items():
        for version in versions:
            wheels = root / "wheels" / version
            alone = ["--no-deps", "--ignore-requires-python"]  # of a later Python no more than the writer is loaded
            subprocess.run([*pip, "download", *alone, "-d", wheels, f"{package}=={version}"], check=True)
            with zipfile.ZipFile(next(wheels.iterdir())) as wheel:
                wheel.extractall(root / "packages" / f"{package}-{version}")
            shutil.rmtree(wheels)


@pytest.mark.writers
def test_the_writers_write_the_same_again(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install(python, tmp_path, NEEDED, PACKAGES)
    out = tmp_path / "out"
    subprocess.run([python, WRITERS / "make.py", tmp_path / "packages", out], check=True)
    for name in (*FORMATS, "torchtune-0.6.1.yaml"):
        assert (out / name).read_bytes() == (WRITERS / name).read_bytes(), name
