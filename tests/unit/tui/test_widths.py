"""At every width that a terminal may have: a number stands behind the name of what it measures and before its unit,
nothing overflows, and no text is cut beside room that could hold it."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from rltui.tui.panes import findings, metrics
from rltui.tui.rows import Row
from rltui.tui.view import View
from tests.unit.tui import canned

WIDTHS = range(58, 239)
NUMBER = re.compile(r"(?<![\w…])[−+]?\d[\d.]*(?:e−?\d+)?(?![\w])")


def told(row: Row) -> str:
    return "".join(text for text, _ in row)


@pytest.fixture(scope="module")
def view() -> View:
    seen = View()
    _, report = canned.make()
    seen.take(report)
    return seen


def test_a_number_of_a_finding_has_its_name_and_unit(view: View) -> None:
    for width in WIDTHS:
        rows, owners, _ = findings.draw(view, width, 30, focus=False, selected=0, everything=False)
        for y, item in owners.items():
            line, finding = told(rows[y]), findings.listed(view, False)[item].finding
            assert cell_len(line) <= width, (width, line)
            if finding is None or not finding.evidence or (y > 1 and owners.get(y - 1) == item):
                continue
            _, label, unit = findings.named(view, finding.evidence[0])
            first = NUMBER.search(line, cell_len(finding.title) if width > 100 else 6)
            assert first is not None, (width, line)
            assert any(label.startswith(word.rstrip("…")[:4]) for word in line[: first.start()].split()), (width, line)
            assert unit in ("", *line.split()), (width, line)


def test_a_number_of_a_metric_has_its_name_and_unit(view: View) -> None:
    for width in WIDTHS:
        rows, owners, _ = metrics.draw(
            view, width, 24, focus=False, selected=None, everything=False, pattern=None, typing=False
        )
        for y, name in owners.items():
            line = told(rows[y])
            assert cell_len(line) <= width, (width, line)
            if "not logged" in line:
                continue
            assert line[3:].startswith(view.label(name)[:4]), (width, line)
            assert view.unit(name) in ("", *line.split()), (width, line)


@pytest.mark.parametrize("pane", ["findings", "metrics"])
def test_no_text_is_cut_beside_room(view: View, pane: str) -> None:
    for width in WIDTHS:
        if pane == "findings":
            rows = findings.draw(view, width, 30, focus=False, selected=0, everything=False)[0]
        else:
            rows = metrics.draw(view, width, 24, focus=False, selected=None, everything=False, pattern=None)[0]
        for row in rows[1:]:
            line = told(row)
            widest = max((len(gap) for gap in re.findall(r" {2,}", line.strip())), default=0)
            assert "…" not in line or widest <= width / 4, (width, line)
