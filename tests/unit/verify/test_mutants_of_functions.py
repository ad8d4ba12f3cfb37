"""`rltui verify --mutants`: the probes see a mistake in the user's own functions, or it says which they do not see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main
from rltui.verify import STAGES
from rltui.verify.adapters import NAMES, from_names
from rltui.verify.check import Check
from rltui.verify.mutants import SPOILT, seen
from tests.unit.verify import pipelines
from tests.unit.verify.stages import EXAMPLES, MASK, SAMPLER, TRAINER, dpo, gae, reward, total

ALL = {
    **pipelines.RIGHT,
    "reward": reward,
    "EXAMPLES": EXAMPLES,
    "total_reward": total,
    "gae": gae,
    "dpo_loss": dpo,
    "sampler_log_probs": lambda: (SAMPLER, TRAINER, MASK),
}


def told(**changes: object) -> dict[str, Check]:
    return {check.name: check for check in seen(from_names({**ALL, **changes}), STAGES)}


def test_every_mistake_in_a_right_pipeline_is_seen() -> None:
    found = told()
    assert {name.removeprefix("mutants of ") for name in found} == set(SPOILT)
    assert [f"{c.name}: {c.value}" for c in found.values() if c.mark] == []
    assert all(len(mistakes) >= 2 for mistakes in SPOILT.values())


def test_a_mistake_that_no_input_shows_is_named() -> None:
    check = told(kl=lambda new, ref: (np.asarray(new) - np.asarray(ref)) ** 2 / 2)["mutants of kl"]
    assert check.mark == "?"
    assert "1 of 2 are seen. Not seen on these inputs: policy and reference are swapped (k2 is the same" in check.value


def test_what_is_wrong_already_is_not_spoilt_further() -> None:
    assert told(gae=lambda *a: -gae(*a)[0])["mutants of gae"].mark == "skip"


def test_every_function_with_inputs_of_ours_has_mistakes() -> None:
    assert set(SPOILT) == set(NAMES) - {"reference"}, "the reference gets none: its functions take no inputs"


def test_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "adapters.py"
    path.write_text("from tests.unit.verify.pipelines import in_groups as advantage\n", encoding="utf-8")
    assert main(["verify", "--adapters", str(path), "--mutants"]) == 0
    assert "5 of 5 are seen" in capsys.readouterr().out
    assert main(["verify", "--metrics", str(path), "--mutants"]) == 2
    assert "--mutants needs --adapters" in capsys.readouterr().err
