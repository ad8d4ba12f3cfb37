"""The Markdown report: order, escaping, what it says where there is nothing to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from rltui.cli import main
from rltui.evidence.model import Cause, Episode, Evidence, Fix, NotEvaluable
from rltui.report.build import build
from rltui.report.escape import code, fenced, plain, table
from rltui.report.markdown import render
from rltui.report.markdown_metrics import KL_IN_LOSS, KL_IN_REWARD, reward_note
from rltui.report.model import Report
from rltui.run.run import ConfigValue
from tests.unit.report import fakes

SECTIONS = [
    "1. Run and important config",
    "2. Metric diagnosis",
    "3. Behavioural symptoms",
    "4. Likely causes, tied to config",
    "5. Recommended fixes, by evidence, impact and risk",
    "6. Continue or stop",
    "7. Step time and hardware",
    "8. Pipeline",
    "9. Unknowns and missing logs",
]


def whole(report: Report) -> str:
    """With every table."""
    return render(report, long=True)


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def section(text: str, number: int) -> str:
    return text.split(f"\n## {number}. ")[1].split("\n## ")[0]


def test_sections_come_in_the_agreed_order_after_the_verdict() -> None:
    report = build(fakes.sick_frame())
    text = render(report)
    assert headings(text) == SECTIONS
    assert headings(whole(report)) == [*SECTIONS, "10. All settings"]
    assert text.index("**✗ STOP · KEEP 40** KL keeps rising") < text.index("## 1.")
    assert text.endswith("\n")


def test_an_empty_run_has_all_sections_and_says_what_is_missing() -> None:
    verdict = fakes.verdict(decision="not-enough-evidence", kinds=(), confidence=0.0, text="No metric rows yet.")
    frame = fakes.frame(result=fakes.diagnosis(at_step=None, verdict=verdict, checks=0))
    text = render(build(frame))
    assert headings(text) == SECTIONS
    assert "? NO EVIDENCE" in text
    assert "No metric rows yet." in section(text, 2)
    assert "no time stamps in the data" in text
    assert "None" not in text


def test_evidence_reads_first_mid_last_and_slope() -> None:
    text = whole(build(fakes.sick_frame()))
    assert "kl ref (`kl`) 0.010 → 0.100 → 0.900, slope +1.50 per 100 steps" in section(text, 3)


def test_a_symptom_stands_below_its_root_and_not_alone() -> None:
    seen = section(whole(build(fakes.sick_frame())), 3)
    assert seen.count("### ") == 1
    assert seen.index("follow from it") < seen.index("Reward is flat")


def test_a_change_that_two_findings_want_stands_once_with_the_value_now_and_the_one_to_try() -> None:
    fixes = (Fix("safe", "a", "high", "low", 1e-5, 3e-6, "a down"), Fix("bold", "b", "high", "high"))
    again = (Fix("slower", "a", "high", "low", 1e-5, 3e-6, "a down"), Fix("slow", None, "low", "none"))
    findings = (fakes.finding(fixes=fixes), fakes.finding(id="val-regression", title="Past its peak", fixes=again))
    frame = fakes.frame(result=fakes.diagnosis(findings=findings))
    rows = [line for line in section(whole(build(frame)), 5).splitlines() if re.match(r"\| \d", line)]
    assert [row.split(" | ")[1] for row in rows] == ["safe", "bold", "slow"]
    assert "a: 1e-5 → 3e-6" in rows[0]
    assert "Past its peak" in rows[0]


def test_causes_name_the_config_key_and_whether_it_is_proved() -> None:
    causes = (
        Cause("Penalty too weak", "beta", 0.001, "supported", "beta = 0.001"),
        Cause("Bad data", None, None, "untestable", "look at the data"),
        Cause("Most are cut", "epsilon", None, "contradicted", "cut at limit 1.1 %"),
    )
    frame = fakes.frame(result=fakes.diagnosis(findings=(fakes.finding(causes=causes, basis="hypothesis"),)))
    text = section(render(build(frame)), 4)
    assert "✓ Penalty too weak. Proof: beta = 0.001" in text
    assert "Bad data" not in text, "one that nobody tested says nothing beside one that the run supports"
    assert "Most are cut" not in text
    long = section(whole(build(frame)), 4)
    assert "? Bad data. Not tested: look at the data" in long
    assert "✗ Most are cut. Against it: `epsilon` not set in this config, cut at limit 1.1 %" in long
    assert "(hypothesis)" in long


def test_a_resolved_finding_is_over_and_asks_for_nothing() -> None:
    over = fakes.finding(
        status="resolved", severity="info", peak_severity="warning", episodes=(Episode(10, 30, "warning"),)
    )
    text = whole(build(fakes.frame(result=fakes.diagnosis(findings=(over,)))))
    assert "KL keeps rising (warning), steps 10 to 30" in section(text, 3)
    assert "No critical finding and no warning: 41 checks ran." in section(text, 3)
    assert "Nothing to fix." in section(text, 5)


def test_a_note_of_a_healthy_run_prescribes_nothing_but_config_advice_does() -> None:
    note = fakes.finding(
        severity="info", basis="hypothesis", summary="KL stands at 0.2, and validation gained with it."
    )
    advice = fakes.finding(id="cfg-no-eval", title="No validation", severity="info", basis="config")
    text = whole(build(fakes.frame(result=fakes.diagnosis(findings=(note, advice)))))
    assert "KL stands at 0.2, and validation gained with it (`kl-runaway`, since step 40)" in section(text, 3)
    assert "###" not in section(text, 3)
    assert "KL keeps rising" not in section(text, 4) + section(text, 5)
    assert "No validation" in section(text, 4)
    assert "No validation" in section(text, 5)


def test_what_never_moves_takes_no_row_and_equal_metrics_one_sparkline() -> None:
    run = fakes.FakeRun()
    run.fake_names = {key: fakes.name(key, key) for key in ("score", "reward", "fixed", "once")}
    moving = [float(i) for i in range(30)]
    metrics = {
        "score": fakes.series("score", moving),
        "reward": fakes.series("reward", moving),
        "fixed": fakes.series("fixed", [0.0] * 30),
        "once": fakes.series("once", [7.0]),
    }
    frame = fakes.frame(metrics, run)
    text = section(whole(build(frame)), 2)
    assert "Constant throughout: fixed 0.000." in text
    assert "Logged once: once 7.00." in text
    rows = [line.split(" |")[0] for line in text.splitlines() if line.startswith("| ")]
    assert rows == ["| metric", "| ---", "| score", "| reward"]
    first_block = text.split("```text")[1]
    assert "score  ▁" in first_block
    assert "reward  ▁" not in first_block


def test_of_a_large_family_the_headline_members_come_first() -> None:
    run = fakes.FakeRun()
    keys = [f"val-aux/aime/acc/best@{k}/std" for k in range(2, 12)] + ["val-core/aime/acc/mean@30"]
    run.fake_names = {key: fakes.name(key, "val_score", key, "validation") for key in keys}
    metrics = {key: fakes.series(key, [0.1, 0.2, float(i)]) for i, key in enumerate(keys)}
    report = build(fakes.frame(metrics, run))
    rows = [line for line in section(render(report), 2).splitlines() if "→" in line]
    assert len(rows) == 2
    assert "mean@30" in rows[0]
    assert section(whole(report), 2).count("| val score") == 11


def test_settings_that_explain_little_share_a_line() -> None:
    run = fakes.FakeRun()
    run.fake_config = {
        "seed": ConfigValue(7, "seed", ""),
        "lr": ConfigValue(1e-6, "learning_rate", ""),
        "nothing": ConfigValue(None, "nothing", ""),
    }
    text = section(whole(build(fakes.frame(run=run))), 1)
    assert "| lr | `1e-06` | `learning_rate` |" in text
    assert "Also set: seed `7`." in text
    assert "nothing" not in text


def test_checks_that_need_the_same_share_a_row() -> None:
    skipped = tuple(NotEvaluable(f"r{i}", f"Check {i}", "kl_ref", "beta > 0") for i in range(3))
    text = section(whole(build(fakes.frame(result=fakes.diagnosis(not_evaluable=skipped)))), 9)
    assert "| Check 0, Check 1, Check 2 | kl_ref | beta > 0 |" in text


def test_undefined_numbers_read_not_available() -> None:
    frame = fakes.frame({"x": fakes.series("x", [float("nan")] * 3), "y": fakes.series("y", [1.0])})
    text = section(whole(build(frame)), 2)
    row = next(line for line in text.splitlines() if line.startswith("| `x`"))
    assert row.count("n/a") == 8
    assert "3 not finite" in row


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ({"kl_in_reward": ConfigValue(True, "algorithm.use_kl_in_reward", "")}, KL_IN_REWARD),
        ({"use_kl_loss": ConfigValue(True, "use_kl_loss", "")}, KL_IN_LOSS),
        ({"kl_coef_loss": ConfigValue(0.04, "beta", "")}, KL_IN_LOSS),
        ({"kl_coef_loss": ConfigValue(0.04, "beta", "", False, "set but inactive")}, ""),
        ({"kl_coef_loss": ConfigValue(0.0, "beta", "")}, ""),
        ({}, ""),
    ],
)
def test_the_reward_is_labelled_by_where_the_kl_penalty_goes(config: dict[str, ConfigValue], note: str) -> None:
    run = fakes.FakeRun()
    run.fake_config, run.framework, run.dialect = config, "trl", "trl"
    metrics = {"reward": fakes.series("reward", [1.0, 2.0])}
    report = build(fakes.frame(metrics, run))
    assert reward_note(report) == note
    assert (note in section(whole(report), 2)) or not note


@pytest.mark.parametrize(("framework", "dialect"), [(None, "generic"), ("verl", "verl"), ("openrlhf", "openrlhf")])
def test_a_coefficient_alone_tells_no_place_where_there_are_two(framework: str | None, dialect: str) -> None:
    run = fakes.FakeRun()
    run.fake_config = {"kl_coef_loss": ConfigValue(0.04, "kl_coef", "")}
    run.framework, run.dialect = framework, dialect
    assert reward_note(build(fakes.frame({"reward": fakes.series("reward", [1.0, 2.0])}, run))) == ""


def test_a_value_on_the_path_not_taken_is_marked() -> None:
    text = section(whole(build(fakes.sick_frame())), 1)
    assert "`kl_ctrl.kl_coef` | set but inactive |" in text
    assert text.index("`beta`") < text.index("`kl_ctrl.kl_coef`")


HOSTILE = "# <script>`rm`|x|</script>\n## 9. *gone* [a](b) ```"


@pytest.mark.parametrize("long", [False, True])
def test_hostile_names_never_become_markup(long: bool) -> None:
    run = fakes.FakeRun(HOSTILE, HOSTILE)
    run.fake_names = {HOSTILE: fakes.name(HOSTILE, HOSTILE, HOSTILE, unit=HOSTILE)}
    run.fake_config = {HOSTILE: ConfigValue(HOSTILE, HOSTILE, HOSTILE)}
    findings = (
        fakes.finding(
            title=HOSTILE,
            subject=HOSTILE,
            summary=HOSTILE,
            evidence=(Evidence(HOSTILE, HOSTILE, 1.0, 1.0, 1.0, None, HOSTILE),),
            causes=(Cause(HOSTILE, HOSTILE, HOSTILE),),
            fixes=(Fix(HOSTILE, HOSTILE, "high", "low"),),
            refute=(HOSTILE,),
        ),
    )
    result = fakes.diagnosis(findings=findings, unknowns=(HOSTILE,), verdict=fakes.verdict(text=HOSTILE))
    frame = fakes.frame({HOSTILE: fakes.series(HOSTILE, [float(i) for i in range(20)])}, run, result)
    text = render(build(frame), long=long)
    tokens = list(walk(MarkdownIt("gfm-like", {"linkify": False}).parse(text)))
    kinds = {token.type for token in tokens}
    assert not kinds & {"html_block", "html_inline", "em_open", "link_open", "image", "s_open", "code_block"}
    titles = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert [t for t in titles if t[0].isdigit()] == [*SECTIONS, "10. All settings"][: 10 if long else 9]
    shown = "".join(token.content for token in tokens if token.type in ("text", "code_inline", "text_special"))
    assert shown.count("<script>") > 8, "the text itself is still there to be read"
    columns = 0
    for token in tokens:
        if token.type == "thead_open":
            columns = 0
        columns += token.type == "th_open"
        if token.type == "tr_open":
            cells = 0
        if token.type == "td_open":
            cells += 1
        if token.type == "tr_close" and cells:
            assert cells == columns


def walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from walk(token.children or [])


def test_tables_keep_their_columns_whatever_is_in_a_cell() -> None:
    lines = table(["a", "b"], [[code("x|y"), plain("p|q")]])
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines)
    assert table(["a"], []) == []


def test_a_fence_is_longer_than_any_in_it() -> None:
    assert fenced(["````", "x"])[0] == "`````text"


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("# head", r"\# head"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("rollout.n is 1", "rollout.n is 1"),
        ("response_length/mean", "response_length/mean"),
        ("_gone_", r"_gone\_"),
        ("__init__.py", r"__init\_\_.py"),
        (
            "operation _ALLGATHER_BASE, OpType=_REDUCE_SCATTER_BASE",
            "operation _ALLGATHER_BASE, OpType=_REDUCE_SCATTER_BASE",
        ),
        ("“[rank5]:[E1120] weights [1.0, 0.5]”", "“[rank5]:[E1120] weights [1.0, 0.5]”"),
        ("see [here](https://x.org)", r"see [here\](https://x.org)"),
        ("[here]: https://x.org", r"\[here]: https://x.org"),
        ("[ ] done", r"\[ ] done"),
        ("x < 3 and <b>", r"x < 3 and \<b>"),
        ("a &lt; b & c", "a &amp;lt; b & c"),
        ("two\nlines", "two lines"),
    ],
)
def test_prose_is_escaped_no_more_than_needed(text: str, out: str) -> None:
    assert plain(text) == out


def test_code_spans_hold_backticks() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"
    assert code("") == ""


def test_the_head_answers_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What, since when, why, what to do, what to keep and what nobody looked at stand in the first twelve lines, and
    say what the sections below say."""
    log = tmp_path / "log.jsonl"
    rows = [{"step": n, "reward": 0.5 + 0.4 * (n < 100) + 0.02 * (n % 3), "kl": 0.01 if n < 100 else 0.02 * (n - 99)}
            for n in range(1, 201)]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["report", str(log)])
    page = capsys.readouterr().out
    head, below = page.splitlines()[:12], page.split("## 1.")[1]
    said = {line[2:].split(": ")[0]: line.split(": ", 1)[1] for line in head if line.startswith("- ")}
    assert list(said) == ["Since", "Why", "To do", "Keep", "How sure", "Not looked at"]
    assert said["Why"].startswith("not known, perhaps: "), "nothing here can be tested"
    assert said["Why"].removeprefix("not known, perhaps: ").split(". ")[0].rstrip(".") in below
    assert said["To do"].removeprefix("(1) ").split(". ")[0].rstrip(".") in below
    assert said["Keep"].startswith("no saved checkpoint was found")
