"""Draws of the noise in which a test is repeated: CI takes the first of them, `pytest -m whole` the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def some(draws: Sequence[int], few: int = 1) -> list[Any]:
    """Values for `parametrize`. Take as many as show a fault of what is tested; the others find what is rare."""
    return [*draws[:few], *(pytest.param(one, marks=pytest.mark.whole) for one in draws[few:])]
