"""How a framework is added: one data file and, as its console looks like no other's, one small reader."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.discovery import file_roles
from rltui.frameworks import load, resolve
from rltui.frameworks.load import enable, keep_samples
from rltui.hardware import processes
from rltui.readers.console import dialects
from rltui.readers.console.dialects.base import Step
from rltui.run import checkpoints
from tests.unit.frameworks.cases import Case
from tests.unit.frameworks.test_cases import written

DATA = {
    "title": "Tidewater",
    "detect": {"keys": ["^ebb/", "^flow/"], "config": ["^moon\\."], "text": ["tidewater"]},
    "metrics": {"reward_mean": ["flow/prize"], "kl_ref": ["ebb/distance"]},
    "convert": {"ebb/distance": [0.01, 0]},
    "phases": {"keys": {"step": ["ebb/seconds"], "rollout": ["flow/seconds"]}},
    "config": {"lr": ["moon.pull"]},
    "checkpoints": {"dirs": ["(?:^|/)tide-(\\d+)$"], "settings": ["moon.toml"]},
    "conventions": {"kl_estimator": "k3", "kl_estimator_source": "tidewater 1.0, loss.py"},
    "enable": {"entropy": "moon.log_entropy=true"},
    "keep_samples": "moon.shells=true writes shells/{step}.jsonl",
    "code": {"loss": ["tidewater/{trainer}.py"]},
    "trainers": ["ebb", "flow"],
    "processes": ["tidewater.train"],
    "samples": ["(?:^|/)shells/\\d+\\.jsonl$"],
    "traps": [{"metric": "kl_ref", "text": "logged in hundredths"}],
    "support": {part: ["yes", "built"] for part in ("console", "files", "phases", "config", "samples", "checkpoints")},
}

CASE = Case(
    "tidewater",
    {
        "tide.log": "".join(
            f"~~ tide {s} ~~ flow/prize ^ {s / 8} ~ ebb/distance ^ 2.0 ~ ebb/seconds ^ 20 ~ flow/seconds ^ 12\n"
            for s in (1, 2, 3)
        ),
        "config.toml": "[moon]\npull = 1e-6\n",
    },
    (1, 3),
    {"reward_mean": 0.375, "kl_ref": 0.02},
    config={"lr": 1e-6},
)


class Tides:
    """`~~ tide 3 ~~ flow/prize ^ 0.375 ~ ...`"""

    marks = ("~~ tide ",)
    late = False
    is_open = False

    def line(self, prefix: str, message: str) -> list[Step] | None:
        found = re.match(r"~~ tide (\d{1,15}) ~~ (.*)", message)
        if found is None:
            return None
        return [Step(int(found[1]), dict(pair.split(" ^ ", 1) for pair in found[2].split(" ~ ") if " ^ " in pair))]

    def close(self) -> list[Step]:
        return []


CACHES = (
    load.dialect,
    load.dialect_names,
    load._framework,
    resolve.bare_key,
    resolve.resolve,
    resolve._everybodys,
    checkpoints._layouts,
    file_roles._dumps,
    file_roles._settings_of_checkpoints,
    processes._roles,
)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    data = tmp_path / "vocabulary"
    shutil.copytree(Path(str(load._DATA)), data)
    (data / "frameworks" / "tidewater.json").write_text(json.dumps(DATA))
    monkeypatch.setattr(load, "_DATA", data)
    monkeypatch.setattr(dialects, "DIALECTS", (*dialects.DIALECTS, Tides))
    for cached in CACHES:
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in CACHES:
        cached.cache_clear()


@pytest.mark.usefixtures("added")
def test_an_invented_framework(tmp_path: Path) -> None:
    run = written(CASE, tmp_path / "run").run
    assert run.framework == "tidewater"
    assert run.history.table.steps.tolist() == [1, 2, 3]
    for metric, value in CASE.last.items():
        series = run.series(metric)
        assert series is not None
        assert series.values[-1] == pytest.approx(value)
    assert run.config["lr"].value == 1e-6
    assert [item.name for item in run.phases().items] == ["generation", "other"]
    assert checkpoints.step_of("out/tide-40") == 40
    assert file_roles.role("shells/7.jsonl", False) == "rollouts"
    assert file_roles.role("out/tide-40/moon.toml", True) == "config"
    assert processes.role_of("python -m tidewater.train") == ("trainer", False)
    names = load.dialect("tidewater")
    assert (names.family, names.conventions.kl_estimator) == ("tidewater", "k3")
    assert names.code("loss", "Flow") == ("tidewater/flow.py",)
    assert enable("entropy", "tidewater") == "moon.log_entropy=true"
    assert keep_samples("tidewater").startswith("moon.shells")
    load.check()
    assert "Tidewater: logged in hundredths" in run.names["ebb/distance"].trap
