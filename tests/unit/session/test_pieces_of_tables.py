"""A table that was cut into several files, of which only the first has the header."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.session.locate import locate
from rltui.sources.base import Listing
from rltui.sources.local import LocalPlace
from tests.unit.readers.reported import ends, refused, reported
from tests.unit.session.runs import content, opened

HEADER = "step,reward,kl\n"


def rows(first: int, last: int) -> str:
    return "".join(f"{n},{n / 64},{n / 128}\n" for n in range(first, last + 1))


def wrote(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


PIECES = {
    "the older one is rotated": {"metrics.csv.1": HEADER + rows(1, 20), "metrics.csv": rows(21, 40)},
    "the older ones are dated": {
        "metrics.csv-20260101": HEADER + rows(1, 13),
        "metrics.csv-20260102": rows(14, 26),
        "metrics.csv": rows(27, 40),
    },
    "the newer one is numbered": {"metrics.csv": HEADER + rows(1, 20), "metrics.csv.1": rows(21, 40)},
    "a number before the ending": {"metrics.csv": HEADER + rows(1, 20), "metrics.1.csv": rows(21, 40)},
    "a part": {"metrics.csv": HEADER + rows(1, 20), "metrics_part2.csv": rows(21, 40)},
    "three": {"metrics.csv.2": HEADER + rows(1, 13), "metrics.csv.1": rows(14, 26), "metrics.csv": rows(27, 40)},
    "tabs": {
        "metrics.tsv": (HEADER + rows(1, 20)).replace(",", "\t"),
        "metrics.tsv.1": rows(21, 40).replace(",", "\t"),
    },
    "each with its header": {"metrics.csv.1": HEADER + rows(1, 20), "metrics.csv": HEADER + rows(21, 40)},
}


@pytest.mark.parametrize("pieces", PIECES)
def test_the_header_is_that_of_all(pieces: str, tmp_path: Path) -> None:
    path = wrote(tmp_path, PIECES[pieces])
    assert content(opened(path)) == {n: {"reward": n / 64, "kl": n / 128} for n in range(1, 41)}
    report = reported(path)
    assert ends(report, "reward_mean") == (40, 1 / 64, 40 / 64)
    if pieces != "a number before the ending":  # rotation would give the older piece such a name
        assert report["run"]["restarts"] == []


def test_it_goes_on_to_grow(tmp_path: Path) -> None:
    path = wrote(tmp_path, PIECES["the older one is rotated"])
    run = opened(path, follow=True)
    with (path / "metrics.csv").open("a") as file:
        file.write(rows(41, 45))
    run.poll()
    assert list(content(run)) == list(range(1, 46))


@pytest.mark.parametrize(
    "other",
    [
        {"metrics.csv.1": "21,0.5\n22,0.25\n"},  # of another width
        {"prices.csv": rows(21, 40)},  # of another name
        {"metrics.csv.1": rows(21, 40).replace(",", ";")},  # of another form
    ],
)
def test_another_table_gets_no_header(other: dict[str, str], tmp_path: Path) -> None:
    path = wrote(tmp_path, {"metrics.csv": HEADER + rows(1, 20)} | other)
    assert list(content(opened(path))) == list(range(1, 21))


def test_without_any_header_it_is_refused(tmp_path: Path) -> None:
    wrote(tmp_path, {"metrics.csv": rows(1, 40)})
    assert "without names" in refused(tmp_path / "metrics.csv")


def test_a_folder_of_tables_without_a_header_is_not_listed_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    walk = LocalPlace.walk

    def counted(place: LocalPlace, root: str) -> Listing:
        listed.append(root)
        return walk(place, root)

    monkeypatch.setattr(LocalPlace, "walk", counted)
    few, many = (
        wrote(tmp_path / str(n), {f"t{i}x.csv": rows(1, 9) for i in range(n)} | PIECES["tabs"]) for n in (2, 40)
    )
    counts = []
    for path in (few, many):
        listed.clear()
        locate([str(path)])
        counts.append(len(listed))
    assert counts[0] == counts[1]
