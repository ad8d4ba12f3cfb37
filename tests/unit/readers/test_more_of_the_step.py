"""A second line of a step, which begins like the first and names something that no list of words knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

FORMS = {
    "brackets": ("[step {s}] loss={loss:.4f} reward={reward:.3f} kl={kl:.4f}", "[step {s}] {name}: {x:.3f}"),
    "pipes": ("step {s} | loss {loss:.4f} | reward {reward:.3f} | kl {kl:.4f}", "step {s} | {name}: {x:.3f}"),
    "plan": ("iter {s}/60: loss={loss:.4f}, reward={reward:.3f}, kl={kl:.4f}", "iter {s}/60: {name}={x:.3f}"),
    "comma": ("step: {s}, loss: {loss:.4f}, reward: {reward:.3f}, kl: {kl:.4f}", "step: {s}, {name}: {x:.3f}"),
}


def told(folder: Path, form: str, name: str) -> dict[int, dict[str, float]]:
    first, second = FORMS[form]
    lines = []
    for s in range(1, 61):
        lines.append(first.format(s=s, loss=0.5 - s / 900, reward=0.2 + s / 200, kl=s / 1000))
        if s % 10 == 0:
            lines.append(second.format(s=s, name=name, x=0.3 + s / 300))
    log = folder / "train.log"
    log.write_text("\n".join(lines) + "\n")
    return content(opened(log))


@pytest.mark.parametrize("name", ["frob", "hard_frac", "win_rate", "svamp_em"])
@pytest.mark.parametrize("form", FORMS)
def test_its_number_is_one_of_the_step(form: str, name: str, tmp_path: Path) -> None:
    rows = told(tmp_path, form, name)
    found = {s: x for s, cells in rows.items() for key, x in cells.items() if key.endswith(name)}
    assert found == {s: pytest.approx(0.3 + s / 300, abs=0.001) for s in range(10, 61, 10)}
    assert list(rows) == list(range(1, 61))


@pytest.mark.parametrize("name", ["sample", "question", "because the sum is"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_said_of_a_sample_is_none(form: str, name: str, tmp_path: Path) -> None:
    assert {key for cells in told(tmp_path, form, name).values() for key in cells} == {"loss", "reward", "kl"}


@pytest.mark.parametrize(
    "head", ["[Step {s} / 50 ({p:.1f}%)]", "Step {s}/50 ({p:.0f}%):", "=== Step {s} of 50 ({p}% done) ==="]
)
def test_the_part_that_is_done_in_a_heading(head: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    blocks = [head.format(s=s, p=2 * s) + f"\n  - reward: {0.2 + s / 200:.3f}\n  - kl: 0.001\n" for s in range(1, 51)]
    log.write_text("".join(blocks))
    rows = content(opened(log))
    assert {s: cells["reward"] for s, cells in rows.items()} == {s: round(0.2 + s / 200, 3) for s in range(1, 51)}
    assert set(rows[1]) == {"reward", "kl"}
