"""A log whose step lines change their form midway, as its program was changed or started again, is one run to its
end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, reported

Form = Callable[[int, int], str]

FORMS: dict[str, Form] = {
    "named": lambda i, n: f"step {i} | reward {score(i):.4f} | kl {kl(i):.5f}",
    "pairs": lambda i, n: f"iter={i} reward={score(i):.4f} kl={kl(i):.5f}",
    "total": lambda i, n: f"[{i}/{n}] reward={score(i):.4f} kl={kl(i):.5f}",
    "words": lambda i, n: f"Update {i} of {n}: reward {score(i):.4f}, kl {kl(i):.5f}",
    "block": lambda i, n: f"step {i}\n  reward: {score(i):.4f}\n  kl: {kl(i):.5f}",
}


def score(i: int) -> float:
    return round(0.1 + 0.01 * i, 4)


def kl(i: int) -> float:
    return round(0.001 * i, 5)


def run(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("between", [[], ["", "$ python loop.py --continue", "restoring weights ... ok"]])
@pytest.mark.parametrize("after", FORMS)
@pytest.mark.parametrize("before", FORMS)
def test_both_forms_are_read(tmp_path: Path, before: str, after: str, between: list[str]) -> None:
    n, change = 26, 11
    lines = [FORMS[before](i, n) for i in range(1, change + 1)]
    lines += between + [FORMS[after](i, n) for i in range(change + 1, n + 1)]
    read = reported(run(tmp_path, lines))
    assert (read["run"]["steps"]["first"], read["run"]["steps"]["last"], read["run"]["steps"]["rows"]) == (1, n, n)
    assert ends(read, "reward_mean") == (n, score(1), score(n))
    assert ends(read, "kl_ref") == (n, kl(1), kl(n))


@pytest.mark.parametrize("first", [4, 5, 18])
def test_a_name_that_only_the_later_form_has_begins_there(tmp_path: Path, first: int) -> None:
    n = 22
    lines = [FORMS["named"](i, n) for i in range(1, first)]
    lines += [f"({i}/{n}) reward={score(i):.4f} entropy={2 - 0.01 * i:.3f}" for i in range(first, n + 1)]
    read = reported(run(tmp_path, lines))
    assert read["run"]["steps"]["last"] == n
    assert ends(read, "entropy") == (n - first + 1, round(2 - 0.01 * first, 3), 1.78)


def test_steps_that_are_logged_seldom_go_on(tmp_path: Path) -> None:
    lines = [FORMS["pairs"](i, 300) for i in range(10, 110, 10)]
    lines += [FORMS["total"](i, 300) for i in range(110, 310, 10)]
    assert ends(reported(run(tmp_path, lines)), "reward_mean") == (30, score(10), score(300))


def test_a_third_form_goes_on_too(tmp_path: Path) -> None:
    lines = [FORMS[("named", "total", "words")[(i - 1) // 9]](i, 27) for i in range(1, 28)]
    assert ends(reported(run(tmp_path, lines)), "reward_mean") == (27, score(1), score(27))


@pytest.mark.parametrize("form", FORMS)
def test_parts_of_each_step_are_no_steps(tmp_path: Path, form: str) -> None:
    lines = []
    for i in range(1, 13):
        lines.append(FORMS[form](i, 12))
        lines += [f"[{k}/8] policy_loss={0.01 * k:.4f} grad_norm={0.3 + 0.01 * i:.3f}" for k in range(1, 9)]
    read = reported(run(tmp_path, lines))
    assert (read["run"]["steps"]["last"], read["run"]["steps"]["rows"]) == (12, 12)
    assert ends(read, "reward_mean") == (12, score(1), score(12))
    policy = read["metrics"].get("pg_loss")
    assert policy is None or policy["last_value"] in (0.01, 0.08)  # of the first or the last part


@pytest.mark.parametrize(
    "other",
    [
        "[{k}/40] accuracy=0.5 latency=3.2",
        "shard {k}/40 of the checkpoint written in 1.2 s",
        "[{k}/40] worker restarted, queue=3",
        "problem {k}/40: 812 tokens",
    ],
)
def test_what_another_program_counts_from_there_is_no_step(tmp_path: Path, other: str) -> None:
    lines = [FORMS["named"](i, 20) for i in range(1, 21)]
    lines += [other.format(k=k) for k in range(21, 41)]
    read = reported(run(tmp_path, lines))
    assert (read["run"]["steps"]["last"], read["run"]["steps"]["rows"]) == (20, 20)


def test_a_count_beside_steps_that_go_on_is_none_of_them(tmp_path: Path) -> None:
    lines = []
    for i in range(1, 31):
        lines.append(FORMS["named"](i, 30))
        if i > 10:
            lines.append(f"[{i + 1}/60] reward={0.9:.4f} buffered={i}")
    read = reported(run(tmp_path, lines))
    assert read["run"]["steps"]["last"] == 30
    assert ends(read, "reward_mean") == (30, score(1), score(30))


def test_an_evaluation_after_the_training_is_none_of_its_steps(tmp_path: Path) -> None:
    lines = [FORMS["named"](i, 20) for i in range(1, 21)]
    lines += ["final evaluation on held problems"] + [
        f"eval {k}/40: accuracy={0.4 + 0.001 * k:.3f}" for k in range(1, 41)
    ]
    assert reported(run(tmp_path, lines))["run"]["steps"]["rows"] == 20
