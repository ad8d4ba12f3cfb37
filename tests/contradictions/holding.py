"""The assertion of the engine's tests."""

from __future__ import annotations

import pytest

from tests.contradictions.engine import contradictions
from tests.contradictions.surfaces import Said


def hold(said: Said) -> None:
    """Fails if what is said of the run contradicts itself."""
    if found := contradictions(said):
        pytest.fail("\n".join(map(str, found)), pytrace=False)
