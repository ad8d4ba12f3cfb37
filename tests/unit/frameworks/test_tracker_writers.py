"""What the trackers' own libraries wrote for verl, and the callbacks of transformers, reads as it was written.
`pytest -m writers` fetches the packages and writes it anew."""

from __future__ import annotations

import json
import lzma
import math
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import REPO
from tests.fixtures.writers.trackers import PACKAGES, UNPACKED, metrics
from tests.unit.frameworks.cases import WRITERS
from tests.unit.frameworks.test_writers import install

FORMATS = {
    "wandb-0.31.0.wandb": "wandb",
    "swanlab-0.10.3": "swanlab",
    "trackio-0.43.0.db.xz": "trackio",
    "mlflow-3.17.2.db.xz": "mlflow",
    "mlflow-3.17.2-files": "mlflow-files",
    "tensorboardX-2.6.5.tfevents": "tensorboard",
}


def opened(written: Path, root: Path) -> RunReader:
    """A run in whose folder the written file or folder lies."""
    name = written.name.removesuffix(".xz")
    if written.is_dir():
        shutil.copytree(written, root / "mlruns" / "1" / name if "mlflow" in name else root / name)
    else:
        root.mkdir(parents=True, exist_ok=True)
        data = written.read_bytes()
        (root / name.replace(".tfevents", ".tfevents.1")).write_bytes(
            lzma.decompress(data) if written.suffix == ".xz" else data
        )
    found = locate([str(root)])
    assert len(found) == 1
    one = RunReader(found[0])
    one.load()
    return one


def check_verl(one: RunReader, format: str) -> None:
    run = one.run
    assert [source.format for source in run.sources] == [format]
    assert not any(source.skipped for source in run.sources)
    assert run.framework == "verl"
    assert run.history.table.steps.tolist() == [1, 2, 3]
    assert run.history.table.restarts == []
    for key in metrics(1):
        series = run.history.table.series(key)
        assert series is not None, key
        written = [metrics(step)[key] for step in (1, 2, 3)]
        logged = [math.nan if math.isinf(x) else x for x in written]
        accuracy = 1e-6 if format == "tensorboard" else 1e-12  # float32
        assert series.values.tolist() == pytest.approx(logged, rel=accuracy, nan_ok=True), key
    if format != "tensorboard":
        assert run.algorithm == "GRPO"
        assert {key: value.value for key, value in run.config.items()} == {
            "adv_estimator": "grpo",
            "kl_coef_loss": 0.001,
            "use_kl_loss": True,
            "group_size": 8,
            "lr": 1e-06,
            "total_steps": 3,
        }


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_tracker_wrote_is_read(name: str, tmp_path: Path) -> None:
    check_verl(opened(WRITERS / "trackers" / name, tmp_path / "run"), FORMATS[name])


def check_transformers(one: RunReader) -> None:
    run = one.run
    assert (run.framework, run.algorithm) == ("trl", "GRPO")
    assert run.history.table.steps.tolist() == [1, 2, 3]
    assert {source.format for source in run.sources} == {"trl-console", "trainer-state"}
    for metric, values in {
        "reward_mean": [0.125, 0.25, 0.375],
        "kl_ref": [0.001617] * 3,  # four digits: the log is before the state of a checkpoint
        "grad_norm": [0.25, math.nan, 0.25],
        "response_clip_ratio": [0.125] * 3,
    }.items():
        series = run.series(metric)
        assert series is not None, metric
        assert series.values.tolist() == pytest.approx(values, rel=1e-12, nan_ok=True), metric
    assert run.planned_steps == 3
    assert run.state().state == "finished"


def test_what_transformers_wrote_is_read(tmp_path: Path) -> None:
    check_transformers(opened(WRITERS / "trackers" / "transformers-5.23.0", tmp_path / "run"))


def check_llama_factory(one: RunReader) -> None:
    run = one.run
    assert run.framework == "llama_factory"
    assert run.history.table.steps.tolist() == [1, 2, 3]
    for metric, values in {"reward_mean": [0.125, 0.25, 0.375], "total_loss": [0.0123] * 3, "lr": [1e-6] * 3}.items():
        series = run.series(metric)
        assert series is not None, metric
        assert series.values.tolist() == values, metric
    assert run.planned_steps == 3
    assert run.state().state == "finished"


def test_what_llama_factory_wrote_is_read(tmp_path: Path) -> None:
    check_llama_factory(opened(WRITERS / "trackers" / "llamafactory-0.9.5", tmp_path / "run"))


def check_art(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Metrics, times and trajectories of OpenPipe ART."""
    assert main(["report", str(path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["run"]["framework"], report["run"]["steps"]["last"]) == ("art", 3)
    assert report["as_of"] is not None
    assert report["metrics"]["val_score"]["key"] == "val/reward"
    assert report["metrics"]["reward_mean"]["last_value"] == 0.375
    assert report["metrics"]["entropy"]["last_value"] == 0.4321
    assert main(["rollouts", str(path), "--step", "3", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "2 + 2?" in json.dumps(told)


def test_what_art_wrote_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(WRITERS / "trackers" / "openpipe-art-0.5.18", tmp_path / ".art" / "p" / "models" / "m")
    check_art(tmp_path, capsys)


def check_ms_swift(one: RunReader) -> None:
    run = one.run
    assert (run.framework, run.planned_steps, run.state().state) == ("ms_swift", 3, "finished")
    assert {source.format for source in run.sources} == {"trl-console", "jsonl"}
    assert run.history.table.steps.tolist() == [1, 2, 3]
    for metric, last in {"reward_mean": 0.375, "kl_ref": 0.0016172, "entropy": 0.4321}.items():
        series = run.series(metric)
        assert series is not None, metric
        assert series.values[-1] == last, metric


def test_what_ms_swift_wrote_is_read(tmp_path: Path) -> None:
    check_ms_swift(opened(WRITERS / "trackers" / "ms-swift-4.6.0", tmp_path / "run"))


def test_swanlab_s_folder_of_launches_is_read_as_it_lies_in_a_project(tmp_path: Path) -> None:
    """SwanLab names the folder of a launch as W&B does."""
    for start, run_id in (("20260102_030405", "first"), ("20260102_040506", "second")):
        folder = tmp_path / "project" / "swanlog" / f"run-{start}-{run_id}"
        shutil.copytree(WRITERS / "trackers" / "swanlab-0.10.3", folder)
        (folder / "run.swanlab").rename(folder / f"run-{run_id}.swanlab")
    found = locate([str(tmp_path / "project")])
    assert len(found) == 2
    for one in found:
        reader = RunReader(one)
        reader.load()
        check_verl(reader, "swanlab")


@pytest.mark.writers
def test_the_libraries_write_the_same_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install(
        python,
        tmp_path,
        ["numpy==2.4.6", "orjson==3.13.0", "packaging==26.3", *PACKAGES],
        {package: [version] for package, version in UNPACKED.items()},
    )
    out = tmp_path / "out"
    script = WRITERS / "trackers.py"
    subprocess.run([python, script, tmp_path / "packages", out], check=True, cwd=REPO, timeout=300)
    for name, format in FORMATS.items():
        check_verl(opened(out / name, tmp_path / f"run-{name}"), format)
    check_transformers(opened(out / "transformers-5.23.0", tmp_path / "hf"))
    check_llama_factory(opened(out / "llamafactory-0.9.5", tmp_path / "lf"))
    check_ms_swift(opened(out / "ms-swift-4.6.0", tmp_path / "swift"))
    check_art(out / "openpipe-art-0.5.18", capsys)
