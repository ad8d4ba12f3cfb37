"""Runs replayed a hundred times faster than life: each event once, the right end, the right exit code."""

from __future__ import annotations

import io
import json
import math
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rltui.session.locate import locate
from rltui.watch.loop import Options, Watch
from tests.unit.trainer import lines_of, trainer, wait_for


def rows(steps: int, shape: Callable[[int], Mapping[str, float]]) -> Iterator[str]:
    """The lines of a TRL console log, with its end mark."""
    for step in range(1, steps + 1):
        noise = 0.01 * math.sin(7 * step)
        row = {
            "step": step,
            "loss": 0.1 + noise,
            "kl": 0.02 + noise / 2,
            "entropy": 1.0 + noise,
            "grad_norm": 0.5 + noise,
        }
        yield f"{ {**row, **shape(step), 'epoch': step / 1000} }\n"
    yield "{'train_runtime': 12.5, 'train_loss': 0.1, 'epoch': 1.0}\n"


def rising(step: int) -> float:
    return 0.2 + 0.6 * min(1.0, step / 100) + 0.03 * math.sin(5 * step)


def peak_then_decline(step: int) -> Mapping[str, float]:
    return {"reward": rising(step) if step < 130 else max(0.02, 0.8 - 0.03 * (step - 130)) + 0.02 * math.sin(3 * step)}


def outage(step: int) -> Mapping[str, float]:
    """The verifier is away from step 100 to 140 and every reward is 0."""
    away = 100 <= step < 140
    return {"reward": 0.0 if away else rising(step), "reward_std": 0.0 if away else 0.2}


def dip(step: int) -> Mapping[str, float]:
    """The policy gets next to nothing from step 100 to 140."""
    lost = 100 <= step < 140
    return {"reward": 0.002 + 0.002 * math.sin(5 * step) if lost else rising(step), "reward_std": 0.02 if lost else 0.2}


def nan(step: int) -> Mapping[str, float]:
    return {"reward": rising(step), **({"grad_norm": math.nan, "loss": math.nan} if step >= 120 else {})}


def replayed(log: Path, lines: list[str], options: Options, first: int = 30) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and events of a watch on a log that grows by a line every 2 ms."""
    log.write_text("".join(lines[:first]))

    def write() -> None:
        with log.open("a") as file:
            for text in lines[first:]:
                file.write(text)
                file.flush()
                time.sleep(0.002)

    out, writer = io.StringIO(), Thread(target=write)
    watch = Watch(locate([str(log)]), options, {}, out)
    writer.start()
    code = watch.run()
    writer.join()
    return code, [json.loads(text) for text in out.getvalue().splitlines()]


def names(events: list[dict[str, Any]]) -> Counter[tuple[str, str | None]]:
    return Counter((e["event"], e.get("finding")) for e in events)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (peak_then_decline, ("opened", "reward-collapse")),
        (outage, ("opened", "reward-function-fault")),
        (nan, ("opened", "nonfinite-values")),
    ],
)
def test_each_event_once(tmp_path: Path, shape: Any, expected: tuple[str, str]) -> None:
    lines = list(rows(200, shape))
    code, events = replayed(tmp_path / "console.log", lines, Options(as_json=True, timeout_s=180.0))
    counted = names(events)
    assert counted[expected] == 1
    assert counted["summary", None] == counted["end", None] == counted["done", None] == 1
    told = Counter((e["finding"], e.get("subject")) for e in events if e["event"] == "opened")
    assert [finding for finding, n in told.items() if n > 1] == []
    assert events[0]["event"] == "summary"
    assert events[-1]["event"] == "done"
    assert (code, events[-1]["code"]) == (1, 1)


@pytest.mark.long
def test_until_stop_ends_there_with_the_right_code(tmp_path: Path) -> None:
    lines = list(rows(400, peak_then_decline))
    code, events = replayed(tmp_path / "console.log", lines, Options(as_json=True, until="stop", timeout_s=180.0))
    assert "meets --until stop" in events[-1]["text"]
    assert events[-2]["decision"] in ("stop-use-best", "pause-and-fix", "abort-now")
    worst = {"critical": 1}.get(events[-1]["worst"], 0)
    assert code == worst
    never = Options(as_json=True, until="stop", fail_on="never", timeout_s=180.0)
    assert replayed(tmp_path / "again.log", lines, never)[0] == 0


def test_a_verdict_that_is_there_at_one_look_ends_no_watch(tmp_path: Path) -> None:
    """The run stands still, with a row less than --until-rows since the watch saw it; then it comes."""
    lines = list(rows(400, peak_then_decline))[:200]
    log, out = tmp_path / "console.log", io.StringIO()
    log.write_text("".join(lines[:196]))
    hook = tmp_path / "ran"
    command = ("sh", "-c", f"echo $RLTUI_TEXT >> {hook}")
    options = Options(
        as_json=True, until="stop", until_s=0.0, heartbeat_s=0.05, command=command, exec_on=("met",), timeout_s=180.0
    )
    watch = Watch(locate([str(log)]), options, {}, out)
    thread = Thread(target=watch.run)
    thread.start()

    def told() -> list[dict[str, Any]]:
        return [json.loads(text) for text in out.getvalue().splitlines()]

    def add(first: int, last: int) -> None:
        with log.open("a") as file:
            file.write("".join(lines[first:last]))
        wait_for(lambda: any(e.get("step") == last for e in told()), 90.0)

    wait_for(lambda: any(e["event"] == "heartbeat" for e in told()), 90.0)
    assert told()[0]["decision"] in ("stop-use-best", "pause-and-fix", "abort-now")
    add(196, 200)
    assert not hook.exists()
    with log.open("a") as file:
        file.write(list(rows(201, peak_then_decline))[200])
    thread.join(90)
    (met,) = [e for e in told() if e["event"] == "met"]
    assert met["step"] == 201
    assert "for 5 rows and" in met["text"]
    assert hook.read_text().startswith(met["decision"])


def test_a_failing_grader_is_told_and_nothing_is_done_about_it(tmp_path: Path) -> None:
    lines = list(rows(200, outage))[:-1]
    ran = tmp_path / "ran"
    command = ("sh", "-c", f"echo $RLTUI_EVENT $RLTUI_FINDING >> {ran}")
    log, out = tmp_path / "console.log", io.StringIO()
    log.write_text("".join(lines[:130]))
    options = Options(
        as_json=True,
        until="continue-watch",
        until_rows=0,
        until_s=0.0,
        heartbeat_s=0.05,
        command=command,
        timeout_s=60.0,
    )
    watch = Watch(locate([str(log)]), options, {}, out)
    thread = Thread(target=watch.run)
    thread.start()

    def told() -> list[dict[str, Any]]:
        return [json.loads(text) for text in out.getvalue().splitlines()]

    wait_for(lambda: any(e["event"] == "heartbeat" for e in told()), 90.0)
    with log.open("a") as file:
        file.write("".join(lines[130:]))
    wait_for(lambda: any(e["event"] == "heartbeat" and e["step"] == 200 for e in told()), 90.0)
    watch.stop("enough")
    thread.join(90)
    assert ("resolved", "reward-function-fault") in names(told())
    assert ("met", None) not in names(told())
    assert not ran.exists(), "its command was called for nothing that it told"


def test_a_healthy_run_makes_no_noise(tmp_path: Path) -> None:
    lines = list(rows(150, lambda step: {"reward": rising(step)}))
    code, events = replayed(tmp_path / "console.log", lines, Options(as_json=True, timeout_s=180.0))
    assert [e["event"] for e in events if e.get("severity") == "critical"] == []
    assert code == 0


@pytest.mark.long
def test_a_stall_and_its_recovery_are_told_once(tmp_path: Path) -> None:
    log, out = tmp_path / "metrics.jsonl", io.StringIO()
    with trainer(log, step_s=0.05, virtual_s=0.05) as child:
        wait_for(lambda: lines_of(log) > 20)
        watch = Watch(locate([str(log)]), Options(as_json=True, timeout_s=180.0), {}, out)
        codes: list[int] = []
        thread = Thread(target=lambda: codes.append(watch.run()))
        thread.start()
        wait_for(lambda: "summary" in out.getvalue())
        child.send_signal(signal.SIGSTOP)
        wait_for(lambda: '"stall"' in out.getvalue())
        child.send_signal(signal.SIGCONT)
        wait_for(lambda: '"recovery"' in out.getvalue())
        child.kill()
        child.wait()
        wait_for(lambda: '"end"' in out.getvalue())
        thread.join(180)
    kinds = [json.loads(text)["event"] for text in out.getvalue().splitlines()]
    assert kinds == ["summary", "stall", "recovery", "end", "done"]
    assert codes == [1], "a stall beyond doubt is critical"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("zoo/g31-add-s0", "reward-collapse"),
        ("zoo/g51-add-s0", "reward-collapse"),
        ("zoo/g35-sort-s1", "nonfinite-values"),
    ],
)
def test_labelled_runs(labelled_run: Callable[[str], Path], tmp_path: Path, name: str, finding: str) -> None:
    text = (labelled_run(name) / "console.log").read_bytes().decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    every = max(1, len(lines) // 400)
    pieces = ["".join(lines[i : i + every]) for i in range(0, len(lines), every)]
    code, events = replayed(tmp_path / "console.log", pieces, Options(as_json=True, timeout_s=180.0), first=100)
    counted = names(events)
    assert counted["opened", finding] == 1
    assert counted["end", None] == 1
    told = Counter((e["finding"], e.get("subject")) for e in events if e["event"] == "opened")
    assert [finding for finding, n in told.items() if n > 1] == []
    assert code == 1
