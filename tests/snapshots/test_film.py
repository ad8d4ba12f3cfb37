"""The film of the README is what the program shows. Anew after a change that is meant:
pytest tests/snapshots --snapshot-update"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.snapshots.conftest import NOW
from tests.snapshots.film import SCENES, SIZE, TOUR, Unsampled, film, pictures
from tests.snapshots.test_pictures import PICTURES
from tests.unit.tui.conftest import quick_keys as quick_keys

LARGEST = 400_000


@pytest.mark.whole
async def test_tour(request: pytest.FixtureRequest) -> None:
    app = RltuiApp(Unsampled(["sample_runs"], {}, None), target="", theme="dark", mouse=False, clock=lambda: NOW)
    async with app.run_test(size=SIZE) as pilot:
        frames = await pictures(app, pilot)
    assert len(set(frames)) == len(SCENES), "each scene shows something new"
    file = PICTURES / TOUR
    if request.config.option.update_snapshots:
        file.write_text(film(frames), encoding="utf-8")
    assert film(frames) == file.read_text(encoding="utf-8"), f"{TOUR} is not what the program shows"


def test_every_scene_has_its_time() -> None:
    """One scene at a time, and never none: where one ends, the next begins."""
    text = (PICTURES / TOUR).read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST
    assert f"pictures/{TOUR}" in (REPO / "README.md").read_text(encoding="utf-8")
    root = ET.fromstring(text)
    groups = [g.get("class") for g in root.findall("{http://www.w3.org/2000/svg}g")]
    assert groups == [f"f f{i}" for i in range(len(SCENES))]
    spans = re.findall(r"@keyframes f\d+\{(?:0%\{visibility:hidden\})?([\d.]+)%\{visibility:visible\}([\d.]+)%", text)
    edges = [(float(start), float(end)) for start, end in spans]
    assert len(edges) == len(SCENES)
    assert edges[0][0] == 0
    assert edges[-1][1] == 100
    assert all(end == start for (_, end), (start, _) in pairwise(edges))
