"""A right pipeline passes; each broken one is caught, and for its own mistake only."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.rules.knowledge import pages
from rltui.verify import verify
from rltui.verify.adapters import NAMES, BadAdapters, example, from_names, load
from rltui.verify.check import CLEAN, Check, as_json, as_text
from tests.conftest import REPO
from tests.unit.verify import pipelines
from tests.unit.verify.pipelines import RIGHT, completion_mask, in_groups, log_softmax, pipeline


def wrong(checks: list[Check]) -> set[str]:
    return {c.name for c in checks if c.mark == "!!"}


def marked(checks: list[Check], name: str) -> Check:
    return next(c for c in checks if c.name == name)


def test_a_right_pipeline_passes() -> None:
    checks = verify(pipeline())
    assert not wrong(checks)
    assert [c.name for c in checks if c.mark == "?"] == ["custom tags"], "skip_special_tokens is worth a look"
    assert as_text(checks).splitlines()[-1] == CLEAN


def half_sum(logits: Any, index: Any) -> Any:
    z = np.asarray(logits)
    with np.errstate(over="ignore"):
        table = z - np.log(np.exp(z).sum(-1, keepdims=True, dtype=z.dtype))
    return np.take_along_axis(table, np.asarray(index)[..., None], -1)[..., 0]


def shifted(logits: Any, index: Any) -> Any:
    return log_softmax(np.roll(np.asarray(logits), 1, axis=1 if np.ndim(logits) > 2 else 0), index)


def raising(*_: Any) -> Any:
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")


BROKEN: dict[str, tuple[dict[str, Any], set[str]]] = {
    "sign of the log-prob": (
        {"log_softmax": lambda logits, index: -log_softmax(logits, index)},
        {"log-probs ≤ 0", "equal to the reference", "near-one-hot logits", "probabilities sum to 1"}
        | {"large logits", "half precision"},
    ),
    "log-probs off by one": ({"log_softmax": shifted}, {"equal to the reference", "half precision"}),
    "probabilities for log-probs": (
        {"log_softmax": lambda logits, index: np.exp(log_softmax(logits, index))},
        {"log-probs ≤ 0", "equal to the reference", "near-one-hot logits", "probabilities sum to 1"}
        | {"large logits", "half precision"},
    ),
    "epsilon of 1": ({"advantage": lambda r, g: in_groups(r, g, 1.0)}, {"epsilon"}),
    "repeat for repeat_interleave": ({"advantage": pipelines.by_stride}, {"group layout"}),
    "advantages with the wrong sign": ({"advantage": lambda r, g: -in_groups(r, g)}, {"sign"}),
    "no advantages": ({"advantage": lambda r, g: np.zeros(len(r))}, {"advantages of a varied group", "epsilon"}),
    "plain text blanked": (
        {"decode": lambda ids, t: [x.partition("</think>")[2].strip() for x in t.batch_decode(ids, True)]},
        {
            *("no marks", "custom tags", "each sample by itself", "each sample by itself, cut at the limit"),
            "a long answer",
        },
    ),
    "padding reaches the reward": (
        {"decode": lambda ids, t: t.batch_decode(ids)},
        {
            *("no marks", "complete block", "opened, never closed", "closed, never opened"),
            *("each sample by itself", "an empty answer", "a long answer"),
        },
    ),
    "mask inverted": ({"completion_mask": lambda ids, e: 1 - completion_mask(ids, e)}, {"completion mask"}),
    "sign of the loss": ({"loss": lambda *a: -pipelines.loss(*a)}, {"sign of the loss", "loss of bad samples"}),
    "padding in the loss": (
        {"loss": lambda new, old, a, m: pipelines.loss(new, old, a, np.ones_like(np.asarray(m)))},
        {"mask in the loss"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_broken_pipeline_is_caught(mistake: str) -> None:
    changes, expected = BROKEN[mistake]
    assert wrong(verify(pipeline(**changes))) == expected, "its own mistake and no other"


def test_the_usual_mistakes_are_named() -> None:
    flipped = verify(pipeline(log_softmax=lambda z, i: -log_softmax(z, i)))
    assert "the sign is flipped" in marked(flipped, "equal to the reference").value
    off = verify(pipeline(log_softmax=shifted))
    assert "off by one token" in marked(off, "equal to the reference").value
    upside = verify(pipeline(completion_mask=lambda ids, e: 1 - completion_mask(ids, e)))
    assert "inverted" in marked(upside, "completion mask").value
    unlearnt = verify(pipeline(completion_mask=lambda ids, e: completion_mask(ids, e) * (np.asarray(ids) != e)))
    assert "the eos itself is masked" in marked(unlearnt, "completion mask").value
    others = verify(pipeline(completion_mask=lambda ids, e: np.asarray(ids) != e))
    assert "wrong for an answer with padding, an answer of full length" in marked(others, "completion mask").value


def test_a_sum_in_half_precision_is_told() -> None:
    check = marked(verify(pipeline(log_softmax=half_sum)), "half precision")
    assert check.mark in ("?", "!!")
    assert marked(verify(pipeline(log_softmax=half_sum)), "large logits").mark == "!!"


@pytest.mark.parametrize("epsilon", [1e-8, 1e-4, 1e-2, 0.5, 1.0, 10.0])
def test_epsilon_is_measured(epsilon: float) -> None:
    check = marked(verify(pipeline(advantage=lambda r, g: in_groups(r, g, epsilon))), "epsilon")
    assert check.mark == ("!!" if epsilon >= 1e-2 else "")
    measured = float(check.value.split()[1])
    assert measured == pytest.approx(epsilon, rel=0.05, abs=1e-6)


def test_advantages_in_units_of_the_reward_have_no_epsilon() -> None:
    def centred(rewards: Any, group: int) -> Any:
        rows = np.asarray(rewards).reshape(-1, group)
        return (rows - rows.mean(1, keepdims=True)).reshape(-1)

    checks = verify(pipeline(advantage=centred))
    assert not wrong(checks)
    assert "not divided" in marked(checks, "epsilon").value


def test_the_other_layout_passes_where_it_is_declared() -> None:
    assert not wrong(verify(pipeline(advantage=pipelines.by_stride, LAYOUT="repeat")))
    assert wrong(verify(pipeline(LAYOUT="repeat"))) == {"group layout"}


def test_normalising_over_the_batch_is_wrong_unless_it_is_declared() -> None:
    def batch(rewards: Any, group: int) -> Any:
        r = np.asarray(rewards)
        return (r - r.mean()) / (r.std() + 1e-4)

    checks = verify(pipeline(advantage=batch))
    assert marked(checks, "group layout").mark == "?"
    assert "not centred by group" in marked(checks, "group layout").value
    assert wrong(checks) == {"estimator"}
    assert not wrong(verify(pipeline(advantage=batch, ADVANTAGE="batch")))
    assert wrong(verify(pipeline(ADVANTAGE="batch"))) == {"estimator"}


def reading(keep: Callable[[str], str]) -> Callable[..., list[str]]:
    """A decoder that keeps a part of each text."""
    return lambda ids, tokenizer: [keep(text) for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]


@pytest.mark.parametrize(
    ("keep", "case", "fault"),
    [
        (lambda text: "", "no marks", "plain text is lost"),
        (lambda text: text.partition("</think>")[0], "complete block", "marks are left in"),
        (lambda text: text.partition("<think>")[0], "complete block", "the answer is lost"),
        (lambda text: text.split("think>")[-1], "opened, never closed", "incomplete reasoning is kept"),
    ],
)
def test_the_contract_of_decoding(keep: Callable[[str], str], case: str, fault: str) -> None:
    check = marked(verify(pipeline(decode=reading(keep))), case)
    assert check.mark == "!!"
    assert fault in check.value


def test_a_decoder_that_keeps_the_reasoning_is_right_where_none_is_declared() -> None:
    keeps = pipeline(decode=lambda ids, t: t.batch_decode(ids, skip_special_tokens=True), REASONING=None)
    assert not wrong(verify(keeps))


def test_what_is_not_wired_is_skipped_and_said() -> None:
    checks = verify(from_names({"advantage": in_groups}))
    skipped = {c.name for c in checks if c.mark == "skip"}
    assert skipped == {*NAMES} - {"advantage"}
    assert "Skipped, so neither right nor wrong" in as_text(checks)
    assert json.loads(as_json(checks))["violations"] == []


@pytest.mark.parametrize("name", ["log_softmax", "advantage", "decode", "completion_mask", "loss", "kl"])
def test_a_probe_that_raises_is_a_failure_and_the_walk_goes_on(name: str) -> None:
    checks = verify(pipeline(**{name: raising}))
    assert any("raised RuntimeError: mat1" in c.value for c in checks if c.mark == "!!")
    assert {c.stage for c in checks} == {"reward", "advantages", "log-probs", "loss", "generation"}


@pytest.mark.parametrize("name", ["log_softmax", "advantage", "completion_mask"])
def test_a_wrong_shape_is_a_failure(name: str) -> None:
    assert any("ValueError" in c.value for c in verify(pipeline(**{name: lambda *_: np.zeros(3)})) if c.mark == "!!")


def test_plain_lists_and_numpy_give_the_same() -> None:
    lists = verify(pipeline(BACKEND="list"))
    arrays = verify(pipeline())
    assert marked(lists, "half precision").mark == "skip"
    assert [(c.name, c.mark) for c in lists] == [
        (c.name, "skip" if c.name == "half precision" else c.mark) for c in arrays
    ]


def test_the_example_is_python_and_runs_where_torch_is(tmp_path: Path) -> None:
    compile(example(), "example", "exec")
    path = tmp_path / "adapters.py"
    path.write_text(example(), encoding="utf-8")
    if importlib.util.find_spec("torch") is None:
        with pytest.raises(BadAdapters, match="torch"):
            load(str(path))
        pytest.skip("torch is not installed: the example was compiled only")
    assert not wrong(verify(load(str(path))))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ({"BACKEND": "jax"}, "must be one of"),
        ({"LAYOUT": "tile"}, "must be one of"),
        ({"REASONING": "<think>"}, "two marks"),
        ({"decode": 3}, "not a function"),
    ],
)
def test_words_that_are_not_known_are_told(names: dict[str, Any], says: str) -> None:
    with pytest.raises(BadAdapters, match=says):
        from_names({**RIGHT, **names})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, faulty = tmp_path / "good.py", tmp_path / "bad.py", tmp_path / "faulty.py"
    right = "from tests.unit.verify.pipelines import *\nadvantage = in_groups\nREASONING = ('<think>', '</think>')\n"
    good.write_text(right, encoding="utf-8")
    bad.write_text("def advantage(r, g):\n    return r * 0\n", encoding="utf-8")
    faulty.write_text("import no_such_module\n", encoding="utf-8")
    assert main(["verify", "--adapters", str(good)]) == 0
    assert CLEAN in capsys.readouterr().out
    assert main(["verify", "--adapters", str(bad), "--format", "json"]) == 1
    assert "advantages: advantages of a varied group" in json.loads(capsys.readouterr().out)["violations"]
    for words in ([], ["--adapters", str(faulty)], ["--adapters", str(tmp_path / "absent.py")]):
        assert main(["verify", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def advantage(:\n", "SyntaxError: invalid syntax (adapters.py, line 1)"),
        ("x = 1\n\ny = 1 / 0\n", "it raised ZeroDivisionError: division by zero (line 3)"),
        ("import sys\nsys.exit('no GPU')\n", "it raised SystemExit: no GPU (line 2)"),
        ("def advantages(r, g):\n    return r\n", "defines none of reward, total_reward, decode"),
        ("loss = 3\n", "loss is not a function, but int"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    path = tmp_path / "adapters.py"
    path.write_text(text, encoding="utf-8")
    assert main(["verify", "--adapters", str(path)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert says in err
    assert err.count("\n") == 1


def test_what_the_users_functions_print_raise_and_import_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "beside_it.py").write_text("def scale():\n    raise KeyError('beta')\n", encoding="utf-8")
    path = tmp_path / "adapters.py"
    path.write_text(
        "print('loaded')\n\ndef advantage(r, g):\n    print('called')\n    import beside_it\n"
        "    return r * beside_it.scale()\n",
        encoding="utf-8",
    )
    assert main(["verify", "--adapters", str(path), "--format", "json"]) == 1
    out, err = capsys.readouterr()
    checks = json.loads(out)["checks"]
    assert any(c["value"] == "raised KeyError: 'beta' (line 6)" for c in checks if c["mark"] == "!!")
    assert "loaded" in err
    assert "called" in err


def run_file(tmp_path: Path, **columns: list[float]) -> Path:
    path = tmp_path / "metrics.jsonl"
    rows = zip(*columns.values(), strict=True)
    lines = [json.dumps({"step": i + 1, **dict(zip(columns, row, strict=True))}) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_log_is_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = 30
    sound = {"critic/score/mean": [0.1 + i / 50 for i in range(n)], "actor/grad_norm": [0.5] * n}
    assert main(["verify", "--metrics", str(run_file(tmp_path, **sound))]) == 0
    assert "gain in reward" in capsys.readouterr().out
    dead = {**sound, "actor/grad_norm": [0.0] * n}
    assert main(["verify", "--metrics", str(run_file(tmp_path, **dead)), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["violations"] == ["advantages: steps without a gradient"]


def test_sums_that_you_log_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = 30
    columns = {
        "reward": [0.1 + i / 50 for i in range(n)],
        "advantage_group_sum": [0.7] * n,
        "completion_mask_sum": [0.0] * n,
    }
    assert main(["verify", "--metrics", str(run_file(tmp_path, **columns)), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["violations"]
    assert found == ["advantages: groups of advantages sum to 0", "loss: tokens count in every step"]


def test_the_sample_runs_that_are_healthy_pass(capsys: pytest.CaptureFixture[str]) -> None:
    healthy = [p for p in sorted((REPO / "sample_runs").iterdir()) if p.is_dir() and "healthy" in p.name]
    assert healthy
    for run in healthy:
        assert main(["verify", "--metrics", str(run)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("before-done", ["the doubtful ones included", "it has not passed", "no parameter requires a gradient"]),
        ("pitfall-reference", ["alias of the weights"]),
        ("where-to-look", ["may shadow the checkout", "do not take an upstream version for the truth about a fork"]),
        ("stage-workflow", []),
    ],
)
def test_the_pages_say_when_to_verify_and_against_what(name: str, words: list[str]) -> None:
    page = pages()[name]
    assert page.when
    text = " ".join(page.text.split())
    for word in words:
        assert word in text, word
