"""Rules that read samples, from files to findings: they open on what the text shows, from the step it showed it, see
nothing of later steps, and stay quiet over healthy text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from rltui.cli import main
from rltui.diagnosis.engine import Engine
from rltui.diagnosis.remarks import confirmations
from rltui.evidence.beside_rows import Sampled, high, low
from rltui.evidence.look import Look
from rltui.evidence.model import Diagnosis, Finding
from rltui.rollouts.formats.fields import message_text
from rltui.rollouts.samples import Samples, SampleStats, chosen, tool_calls
from rltui.rules.registry import ids
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.rollouts.dumps import LOOP, lines, verl

STEPS = 60
GROUP = 4
WORDS = [
    "so",
    "then",
    "we",
    "add",
    "take",
    "carry",
    "the",
    "two",
    "numbers",
    "and",
    "get",
    "what",
    "was",
    "here",
    "maybe",
]

DETECTORS = [rule for rule in ids(Sampled) if rule not in ids(Look)]
ANY_TEXT = [rule for rule in DETECTORS if rule != "reward-contradicts-answer"]
"""Those that need nothing but a text: no reference beside it."""

Writer = Callable[[int, int, random.Random], tuple[str, float]]


def prose(n: int, rng: random.Random) -> str:
    return f"<think>{' '.join(rng.choices(WORDS, k=40))}</think><answer>{n}</answer>"


def healthy(step: int, n: int, rng: random.Random) -> tuple[str, float]:
    return prose(n, rng), float(rng.random() < 0.3 + 0.5 * step / STEPS)


def written(root: Path, write: Writer, every: int = 5, samples: int = 32, more: str = "") -> Path:
    """A verl run of 60 steps whose rollouts were dumped each fifth step."""
    rng = random.Random(7)
    log = []
    for step in range(1, STEPS + 1):
        score = 0.3 + 0.1 * rng.random()
        log.append(
            f"step:{step} - critic/score/mean:{score:.3f} - actor/grad_norm:{0.5 + 0.1 * rng.random():.3f} - "
            f"response_length/mean:{40 + rng.random():.2f} - training/global_step:{step}{more}\n"
        )
        if step % every == 0:
            texts = [write(step, n, rng) for n in range(samples)]
            verl(root, step, [(f"What is {n // GROUP}?", *one) for n, one in enumerate(texts)])
    (root / "train.log").write_text("".join(log))
    return root


def diagnosed(root: Path, until: int | None = None) -> Diagnosis:
    opened = RunReader(locate([str(root)])[0], until_step=until)
    opened.load()
    return opened.diagnosis()


def found(diagnosis: Diagnosis, rule: str) -> Finding | None:
    return next((f for f in diagnosis.findings if f.id == rule), None)


def test_healthy_text_opens_nothing(tmp_path: Path) -> None:
    diagnosis = diagnosed(written(tmp_path, healthy))
    assert not {f.id for f in diagnosis.findings} & {*DETECTORS, "zero-variance-groups", "tool-call-invalid"}
    assert not {b.id for b in diagnosis.not_evaluable} & {*ANY_TEXT}, "they ran"


def test_loops_open_degenerate_samples_from_where_they_began(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return (LOOP, 0.0) if step >= 45 and n % 2 else healthy(step, n, rng)

    written(tmp_path, write)
    finding = found(diagnosed(tmp_path), "degenerate-samples")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.basis == "samples"
    assert 45 <= (finding.onset_step or 0) <= 50
    assert "50 % of the samples are degenerate" in finding.summary
    evidence = finding.evidence[0]
    assert evidence.metric == "samples.repeated"
    assert (evidence.first, evidence.last) == (0.0, 0.5)
    assert "rollouts of steps 5 to 60" in evidence.key
    assert found(diagnosed(tmp_path, until=44), "degenerate-samples") is None, "a look at step 44 sees nothing later"


@pytest.mark.parametrize(
    ("text", "severity", "words"),
    [
        ("", "critical", "100 % of the samples are empty, 0 % at step 5"),
        (" \n", "critical", "100 % of the samples are empty, 0 % at step 5"),
        (
            "我们先把两个数相加，然后得到结果，答案是四。",
            "warning",
            "are in another script than their prompt, 0 % at step 5",
        ),
        (
            "Сначала сложим два числа и получим ответ.",
            "warning",
            "are in another script than their prompt, 0 % at step 5",
        ),
    ],
)
def test_empty_samples_and_another_language_are_told_as_what_they_are(
    tmp_path: Path, text: str, severity: str, words: str
) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return (text, 1.0) if step >= 45 else healthy(step, n, rng)

    finding = found(diagnosed(written(tmp_path, write)), "degenerate-samples")
    assert finding is not None
    assert finding.severity == severity
    assert words in finding.summary
    assert finding.evidence[0].last == 1.0


def test_a_task_that_asks_for_another_script_is_no_switch(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return "".join(rng.choices("我们先把两个数相加然后得到结果答案是", k=60)), float(rng.random() < 0.5)

    assert found(diagnosed(written(tmp_path, write)), "degenerate-samples") is None


def test_one_mark_over_and_over_is_critical(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return ("!" * 400, 0.0) if step >= 50 else healthy(step, n, rng)

    finding = found(diagnosed(written(tmp_path, write)), "degenerate-samples")
    assert finding is not None
    assert finding.severity == "critical"
    assert "token 0" in finding.summary


def test_loops_that_become_fewer_are_no_warning(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return (LOOP, 0.0) if n < 24 - step // 3 else healthy(step, n, rng)

    finding = found(diagnosed(written(tmp_path, write)), "degenerate-samples")
    assert finding is None or finding.severity == "info"


def test_text_behind_the_end_opens_eos_mismatch(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, reward = healthy(step, n, rng)
        return f"{text}<|im_end|>\n<|im_start|>user\nAnd what is {n}?", reward

    cut = " - response_length/clip_ratio:0.97"
    finding = found(diagnosed(written(tmp_path, write, more=cut)), "eos-mismatch")
    assert finding is not None
    assert finding.severity == "critical"
    assert "cut at the limit from the start" in finding.summary


def test_what_the_dump_says_is_cut_is_told_where_the_log_counts_none_of_it(tmp_path: Path) -> None:
    written(tmp_path, healthy)
    for path in (tmp_path / "rollouts").iterdir():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        lines(path, [{**row, "finish_reason": "stop" if n % 8 == 0 else "length"} for n, row in enumerate(rows)])
    finding = found(diagnosed(tmp_path), "truncation-high")
    assert finding is not None
    assert finding.severity == "critical"
    assert "88 % of the samples in the newest dump are cut at the length limit" in finding.summary


def test_a_finding_of_samples_begins_where_its_dumps_do(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, reward = healthy(step, n, rng)
        return (f"{text}<|im_end|>\n<|im_start|>user\nAnd what is {n}?" if step >= 30 else text), reward

    cut = " - response_length/clip_ratio:0.97"
    finding = found(diagnosed(written(tmp_path, write, more=cut)), "eos-mismatch")
    assert finding is not None
    assert (finding.severity, finding.onset_step) == ("critical", 45), (
        "of the dumps read those of steps 5 and 25 are fine"
    )


def test_dumps_that_were_not_read_leave_the_beginning_open(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return (LOOP, 0.0) if step >= 23 else healthy(step, n, rng)

    finding = found(diagnosed(written(tmp_path, write, every=1)), "degenerate-samples")
    assert finding is not None
    assert finding.onset_step == 33
    assert "began between steps 17 and 33" in finding.summary


def test_a_conversation_with_tools_is_no_eos_mismatch(tmp_path: Path) -> None:
    call = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
    answer = "<|im_end|>\n<|im_start|>user\n<tool_response>4</tool_response><|im_end|>\n<|im_start|>assistant\n"

    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, reward = healthy(step, n, rng)
        return call + answer + text, reward

    diagnosis = diagnosed(written(tmp_path, write))
    assert found(diagnosis, "eos-mismatch") is None
    assert found(diagnosis, "tool-call-invalid") is None
    assert "tool-call-invalid" not in {b.id for b in diagnosis.not_evaluable}, "counted in the samples"


def test_calls_that_do_not_parse_open_tool_call_invalid(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, _ = healthy(step, n, rng)
        call = "{name: add" if step >= 40 and n % 4 else '{"name": "add", "arguments": {}}'
        return f"<tool_call>{call}</tool_call>{text}", 0.3

    finding = found(diagnosed(written(tmp_path, write)), "tool-call-invalid")
    assert finding is not None
    assert finding.severity in ("warning", "critical")
    assert "75 % of the tool calls" in finding.summary


def test_calls_as_chat_interfaces_hold_them_are_counted() -> None:
    def talk(arguments: str) -> str:
        call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": arguments}}
        return message_text({"role": "assistant", "content": "Let me see.", "tool_calls": [call]})

    assert tool_calls(talk('{"a": 1}')) == (1, 0)
    assert tool_calls(talk("")) == (1, 0)
    assert tool_calls(talk('{"a": 1,')) == (1, 1)
    assert tool_calls(talk(json.dumps({"code": "x = 1\n" * 900}))) == (1, 0), "a long call is not cut"


def test_calls_that_stop_open_tool_use_collapse(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, _ = healthy(step, n, rng)
        return ("" if step >= 40 else '<tool_call>{"name": "add"}</tool_call>') + text, 0.3

    finding = found(diagnosed(written(tmp_path, write)), "tool-use-collapse")
    assert finding is not None
    assert "from 1 to 0 a sample" in finding.summary


def test_one_reward_between_the_ends_opens_reward_mode_share(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, _ = healthy(step, n, rng)
        return text, (0.0, 1.0)[n % 2] if n < 2 else 0.2

    finding = found(diagnosed(written(tmp_path, write)), "reward-mode-share")
    assert finding is not None
    assert "have the reward 0.2" in finding.summary


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0)])
def test_binary_rewards_are_no_mode_share(tmp_path: Path, values: tuple[float, float]) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return prose(n, rng), values[n == 0]

    assert found(diagnosed(written(tmp_path, write)), "reward-mode-share") is None


def test_open_tags_open_format_invalid_but_not_where_they_are_cut(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, _ = healthy(step, n, rng)
        return text.replace("</think>", "") if n % 2 else text, 0.3

    finding = found(diagnosed(written(tmp_path, write)), "format-invalid")
    assert finding is not None
    assert finding.severity == "warning"
    assert "50 % of the complete samples" in finding.summary


def test_groups_of_one_reward_are_counted_where_no_metric_tells(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        text, _ = healthy(step, n, rng)
        return text, float(n // GROUP % 2) if step >= 30 else float(n % 2)

    diagnosis = diagnosed(written(tmp_path, write, samples=64))
    finding = found(diagnosis, "zero-variance-groups")
    assert finding is not None
    assert "100 % of the groups in the newest dump" in finding.summary
    assert finding.evidence[0].metric == "samples.zero_variance"


def test_samples_bear_out_a_finding_of_the_metrics(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return (LOOP, 0.0) if step >= 30 else healthy(step, n, rng)

    diagnosis = diagnosed(written(tmp_path, write, more=" - response_length/clip_ratio:0.8"))
    finding = found(diagnosis, "truncation-high")
    assert finding is not None
    assert finding.basis == "samples"
    told = [e for e in finding.evidence if e.metric == "samples.repeated"]
    assert told
    assert "repeat themselves" in told[0].text


def test_without_samples_the_rules_say_what_would_enable_them(tmp_path: Path) -> None:
    written(tmp_path, healthy, every=1000)
    blocked = {b.id: b for b in diagnosed(tmp_path).not_evaluable}
    assert {*DETECTORS} <= {*blocked}
    for rule in DETECTORS:
        assert "none found" in blocked[rule].needs
        assert "trainer.rollout_data_dir" in blocked[rule].enable, "in this framework's words"


def test_the_diagnosis_of_a_step_is_the_same_before_and_after_the_rest_came(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return (LOOP, 0.0) if step >= 20 and n % 3 == 0 else healthy(step, n, rng)

    written(tmp_path, write)
    opened = RunReader(locate([str(tmp_path)])[0])
    opened.load()
    opened.diagnosis()
    then = opened.past_frame(40).diagnosis
    assert then == diagnosed_then(tmp_path, 40)


def diagnosed_then(root: Path, step: int) -> Diagnosis:
    """As it stood, asked of a run that was opened for nothing else."""
    opened = RunReader(locate([str(root)])[0])
    opened.load()
    return opened.past_frame(step).diagnosis


def test_a_followed_run_takes_its_samples_up_when_they_are_read(tmp_path: Path) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return ("!" * 400, 0.0) if step >= 50 else healthy(step, n, rng)

    opened = RunReader(locate([str(written(tmp_path, write))])[0], follow=True)
    try:
        opened.load()
        for _ in range(1000):
            if opened.sampled():
                break
            opened.wait(0.05)
        assert found(opened.diagnosis(), "degenerate-samples") is not None
    finally:
        opened.close()


def test_few_dumps_are_read_and_growing_runs_read_each_once() -> None:
    read: set[int] = set()
    for count in range(1, 400):
        steps = list(range(10, 10 * count + 1, 10))
        now = set(chosen(steps, steps[-1]))
        assert {steps[0], steps[-1]} <= now
        assert len(now) <= 8
        assert now <= read | {steps[-1]}, "nothing but the newest is read anew"
        read |= now
    assert chosen([5, 10, 15], 12) == (5, 10)
    assert chosen([], 12) == ()


def test_an_interval_of_few_samples_is_wide() -> None:
    assert low(0.1, 20) < 0.03 < 0.1 < 0.3 < high(0.1, 20)
    assert low(0.1, 2000) > 0.08
    assert (low(None, 10), high(None, 10)) == (0.0, 1.0)
    assert (low(0.5, 0), high(0.5, 0)) == (0.0, 1.0)


def test_confirmations_name_known_rules_and_numbers() -> None:
    rules = Engine().catalogue
    fields = SampleStats.__struct_fields__
    for one in confirmations():
        assert one.field in fields
        assert one.rules <= {*rules}
        assert one.text.format(first="a", last="b")


def test_samples_after_the_look_are_not_seen() -> None:
    stats = SampleStats(
        **{f: None for f in SampleStats.__struct_fields__ if f not in ("groups",)}  # type: ignore[arg-type]
    )
    stats = replace(stats, split="train", samples=64, examined=64, token_zero=1.0, repeated=1.0)
    run = FakeRun({"score_mean": [0.1] * 40}).grow()
    run.samples = Samples((30, 35), {30: replace(stats, step=30), 35: replace(stats, step=35)}, None, False)
    engine = Engine()
    assert found(engine.advance(run), "degenerate-samples") is not None
    assert found(engine.at(run, 29), "degenerate-samples") is None


def test_watch_and_report_tell_what_the_samples_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(step: int, n: int, rng: random.Random) -> tuple[str, float]:
        return ("!" * 400, 0.0) if step >= 50 else healthy(step, n, rng)

    written(tmp_path, write)
    until = ["--until", "continue-watch", "--until-rows", "0", "--until-minutes", "0"]
    assert main(["watch", str(tmp_path), *until, "--timeout", "60", "--fail-on", "critical"]) == 1
    assert "degenerate-samples" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--long", "--fail-on", "critical"]) == 1
    text = capsys.readouterr().out
    assert "are one mark over and over (token 0)" in text
    assert "rollouts of steps 5 to 60" in text


@pytest.mark.whole
@pytest.mark.parametrize(
    "name", ["zoo/g04-copy-s3", "real/vlmr1-rollout-debug-log", "real/verl-grpo-mt-console-without-metrics"]
)
def test_healthy_labelled_runs_stay_quiet(labelled_run: Callable[[str], Path], name: str) -> None:
    diagnosis = diagnosed(labelled_run(name))
    loud = {f.id for f in diagnosis.findings if f.severity != "info"}
    assert not loud & {*DETECTORS, "tool-call-invalid", "tool-use-collapse", "zero-variance-groups"}
    assert not {b.id for b in diagnosis.not_evaluable} & {*ANY_TEXT}, "their samples were read"
