"""Blocks of numbers below the heading of a step, in the layouts that people print: each row is read, whatever its name
and unit are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import ends, reported

N = 22
Names = tuple[str, str, str]


def score(i: int) -> float:
    return round(0.15 + 0.02 * i, 2)


def kl(i: int) -> float:
    return round(0.002 * i, 4)


def log(tmp_path: Path, block: Callable[[int], str], between: str = "") -> Path:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{block(i)}\n{between}" for i in range(1, N + 1)))
    return path


def read(report: dict[str, Any], key: str) -> tuple[int, float, float]:
    return ends(report, next(name for name, one in report["metrics"].items() if one["key"] == key))


DOTS = {
    "colons": ("....: ", "..........: "),
    "two": ("..: ", "..: "),
    "signs": (".....= ", "...= "),
    "blank": (" .... : ", " ......... : "),
    "ellipsis": ("…… : ", "…: "),
}


@pytest.mark.parametrize("dots", DOTS)
@pytest.mark.parametrize("heading", ["Update {i}", "Iteration {i}/22", "Iteration........: {i}", "--- step {i} ---"])
@pytest.mark.parametrize("indent", ["", "    "])
def test_dots_lead_to_the_number(tmp_path: Path, dots: str, heading: str, indent: str) -> None:
    first, second = DOTS[dots]

    def block(i: int) -> str:
        return f"{heading.format(i=i)}\n{indent}average reward{first}{score(i)}\n{indent}kl{second}{kl(i)}\n"

    report = reported(log(tmp_path, block))
    assert report["run"]["steps"]["last"] == N
    assert read(report, "average reward") == (N, score(1), score(N))
    assert read(report, "kl") == (N, kl(1), kl(N))


@pytest.mark.parametrize("name", ["length", "entropy", "tokens", "success", "len"])
@pytest.mark.parametrize("heading", ["----- iteration {i} -----", "Step {i}/22", "== update {i} =="])
def test_two_pairs_in_columns(tmp_path: Path, heading: str, name: str) -> None:
    def block(i: int) -> str:
        return f"{heading.format(i=i)}\nreward: {score(i)}     kl:    {kl(i)}\n{name}: {i}.5     loss:  0.{i:03d}"

    report = reported(log(tmp_path, block))
    assert [read(report, key)[0] for key in ("reward", "kl", name, "loss")] == [N] * 4
    assert read(report, name) == (N, 1.5, N + 0.5)


@pytest.mark.parametrize("rule", ["-- {} --------", "--- {} ---", "=== {} ===", "────── {} ──────", "*** {} ***"])
def test_rows_below_a_rule_with_a_title(tmp_path: Path, rule: str) -> None:
    def block(i: int) -> str:
        sampler, optimizer = rule.format("sampling"), rule.format("optimizer")
        return f"UPDATE {i}\n{sampler}\nreward   {score(i)}\nlength   {i}.5\n{optimizer}\nkl   {kl(i)}\nbatches   {i}.0"

    report = reported(log(tmp_path, block))
    assert [read(report, key)[0] for key in ("reward", "length", "kl", "batches")] == [N] * 4


@pytest.mark.parametrize("title", ["sample", "response", "Completion", "prompt"])
def test_rows_below_the_rule_of_a_sample_are_none(tmp_path: Path, title: str) -> None:
    def block(i: int) -> str:
        return f"UPDATE {i}\nreward   {score(i)}\nkl   {kl(i)}\n--- {title} ---\napples   {i % 5}\npears   3\n"

    keys = {one["key"] for one in reported(log(tmp_path, block))["metrics"].values()}
    assert keys == {"reward", "kl"}


@pytest.mark.parametrize("border", ["│", "|", "┃", "║"])
def test_rows_of_a_box_with_units(tmp_path: Path, border: str) -> None:
    def block(i: int) -> str:
        cells = [
            ("reward", score(i)),
            ("kl", kl(i)),
            ("cut off", f"{i % 9}.5%"),
            ("took", f"{30 + i}.5s"),
            ("tokens", f"{12 + i},400"),
            ("solved", f"{i}"),
        ]
        return f"Step {i} / 22\n" + "\n".join(f"{border} {name:<9} {border} {x:>9} {border}" for name, x in cells)

    report = reported(log(tmp_path, block))
    assert read(report, "cut off") == (N, 0.015, (N % 9 + 0.5) / 100)
    assert read(report, "took") == (N, 31.5, N + 30.5)
    assert read(report, "tokens") == (N, 13400, (N + 12) * 1000 + 400)
    assert read(report, "solved") == (N, 1, N)


def test_a_change_in_percent_beside_a_number_is_not_the_number(tmp_path: Path) -> None:
    def block(i: int) -> str:
        return f"Step {i} / 22\n│ reward │ {score(i)} │ +{i}.0% │\n│ kl │ {kl(i)} │ -2.5% │"

    report = reported(log(tmp_path, block))
    assert read(report, "reward") == (N, score(1), score(N))
    assert len(report["metrics"]) == 2


GROUPS = {
    "gap": "  {}   {} {}  {} {}",
    "gap and signs": "  {}    {}={}  {}={}",
    "bars": "  {} | {} {} | {} {}",
    "brackets": "  [{}]   {} {}  {} {}",
    "no indent": "{}   {}: {}  {}: {}",
}


@pytest.mark.parametrize("heading", ["step {i}/22", "Iteration {i}", "step {i}/22 lr 0.0001"])
@pytest.mark.parametrize("form", GROUPS)
def test_a_group_word_before_the_pairs(tmp_path: Path, form: str, heading: str) -> None:
    def block(i: int) -> str:
        first = GROUPS[form].format("sampling", "reward", score(i), "length", f"{200 + i}.5")
        second = GROUPS[form].format("policy", "loss", f"-0.{i:03d}", "kl", kl(i))
        return f"{heading.format(i=i)}\n{first}\n{second}"

    report = reported(log(tmp_path, block))
    assert report["run"]["steps"]["last"] == N
    assert read(report, "reward") == (N, score(1), score(N))
    assert read(report, "length") == (N, 201.5, 200.5 + N)
    assert read(report, "kl") == (N, kl(1), kl(N))


def test_names_that_two_groups_share_are_told_apart(tmp_path: Path) -> None:
    def block(i: int) -> str:
        return f"step {i}/22\n  actor   loss 0.{i:03d}  kl {kl(i)}\n  critic  loss 1.{i:03d}  reward {score(i)}"

    report = reported(log(tmp_path, block))
    losses = {one["key"]: one["first_value"] for one in report["metrics"].values() if "loss" in one["key"]}
    assert sorted(losses.values()) == [0.001, 1.001]


def test_lines_of_another_program_between_the_rows_are_none(tmp_path: Path) -> None:
    def block(i: int) -> str:
        return (
            f"step {i}/22\n  reward....: {score(i)}\nINFO 10:00:0{i % 10} [server.py:88] 3 requests, cache 71.0%\n"
            f"  kl........: {kl(i)}\n[store] kept {i} files"
        )

    report = reported(log(tmp_path, block))
    assert {one["key"] for one in report["metrics"].values()} == {"reward", "kl"}
    assert read(report, "kl") == (N, kl(1), kl(N))
