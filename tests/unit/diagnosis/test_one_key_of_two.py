"""A key that sets two things at once, as one clip range does both of its sides: the cause is told by it, but no new
value is, which would move the other side as well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import HOME_CONFIG, home
from tests.unit.diagnosis.written import learning, wave
from tests.unit.reported import told


def fix_of(tmp_path: Path, config: Mapping[str, object]) -> dict[str, Any]:
    """How to raise the upper bound of a policy that has lost its entropy."""
    columns = learning(160)
    columns["entropy"] = np.concatenate((wave(0.6, 0.01, 60, 2), np.geomspace(0.6, 0.01, 60), wave(0.01, 0.001, 40, 3)))
    _, _, known = told(home(tmp_path / "run", columns, {**HOME_CONFIG, **config}))
    (finding,) = (f for f in known["findings"] if f["id"] == "entropy-collapse")
    (fix,) = (fix for fix in finding["fixes"] if "upper clip bound" in fix["text"])
    assert isinstance(fix, dict)
    return fix


@pytest.mark.parametrize(
    ("config", "value", "to"),
    [({"clip_eps": 0.2}, None, None), ({"clip_low": 0.2, "clip_high": 0.2}, 0.2, 0.28)],
    ids=["one key for both", "one of each"],
)
def test_a_value_is_told_only_for_what_is_set_alone(
    config: Mapping[str, object], value: float | None, to: float | None, tmp_path: Path
) -> None:
    fix = fix_of(tmp_path, config)
    assert (fix["value"], fix["to"]) == (value, to)
