"""What a style is put together from: how the count, a number, a pair and what stands before a message are written."""

from __future__ import annotations

from collections.abc import Callable

Written = tuple[str, float]
"""A number as it stands in the log, and the value that it states."""

Counter = Callable[[int, int], str]

COUNTERS: dict[str, Counter] = {
    "step": lambda i, n: f"step {i}",
    "step:": lambda i, n: f"step: {i}",
    "step=": lambda i, n: f"step={i}",
    "Step of": lambda i, n: f"Step {i}/{n}",
    "[Step of]": lambda i, n: f"[Step {i}/{n}]",
    "[step]": lambda i, n: f"[step {i}]",
    "(step)": lambda i, n: f"(step {i})",
    "step#": lambda i, n: f"Step #{i}",
    "global": lambda i, n: f"global_step={i}",
    "train step": lambda i, n: f"Train step {i} of {n}",
    "STEP": lambda i, n: f"STEP {i:05d}",
    "iter": lambda i, n: f"iter {i}",
    "iter:": lambda i, n: f"Iter: {i}",
    "iteration": lambda i, n: f"Iteration {i}/{n}",
    "it": lambda i, n: f"it={i}",
    "update": lambda i, n: f"Update {i}",
    "update=": lambda i, n: f"update: {i}/{n}",
    "batch": lambda i, n: f"Batch {i}/{n}",
    "episode": lambda i, n: f"Episode {i}",
    "round": lambda i, n: f"round {i}",
    "rollout": lambda i, n: f"Rollout {i}",
    "name": lambda i, n: f"GRPO step {i}/{n}",
    "tag": lambda i, n: f"[train] step {i}",
    "bare of": lambda i, n: f"[{i}/{n}]",
    "bare": lambda i, n: f"{i}/{n}",
    "padded": lambda i, n: f"step {i:6d}",
    "comma": lambda i, n: f"step {i:,}",
    "glyph": lambda i, n: f"🚀 Step {i}",
    "epoch 0": lambda i, n: f"epoch 0 step {i}",
    "ts": lambda i, n: f"[{i:04d}]",
}
AFTER = (" | ", ": ", " - ", ", ", " ", " => ", "\t", " · ", " │ ", " -> ", " — ", "; ", " || ")
PAIRS = {
    "=": "{k}={v}",
    ":": "{k}:{v}",
    ": ": "{k}: {v}",
    " = ": "{k} = {v}",
    " ": "{k} {v}",
    " : ": "{k} : {v}",
    "bold": "\x1b[1m{k}\x1b[0m={v}",
    "colour": "{k}: \x1b[32m{v}\x1b[0m",
    "quoted": '"{k}": {v}',
    "arrow": "{k} -> {v}",
    "aligned": "{k}: {v:>9}",
    "parens": "{k}({v})",
}
BETWEEN = (" ", ", ", " | ", "\t", "; ", " - ", " · ", " │ ", " • ", "  ", ",", "|", " / ")
TIGHT = frozenset((" ", "  ", "\t"))
"""Blanks alone: names of several words and pairs with blanks within cannot be told from each other there."""


def fixed(places: int) -> Callable[[float], Written]:
    return lambda x: (text := f"{x:.{places}f}", float(text))


def scientific(x: float) -> Written:
    return (text := f"{x:.3e}", float(text))


def plain(x: float) -> Written:
    return repr(x), x


def signed(x: float) -> Written:
    return (text := f"{x:+.4f}", float(text))


def general(x: float) -> Written:
    return (text := f"{x:.4g}", float(text))


def numpy(x: float) -> Written:
    return f"np.float64({x!r})", x


def tensor(x: float) -> Written:
    return f"tensor({x:.4f})", float(f"{x:.4f}")


def on_device(x: float) -> Written:
    return f"tensor({x:.4f}, device='cuda:0')", float(f"{x:.4f}")


def with_grad(x: float) -> Written:
    return f"tensor({x:.4f}, device='cuda:0', grad_fn=<MeanBackward0>)", float(f"{x:.4f}")


def array(x: float) -> Written:
    return f"array({x:.4f}, dtype=float32)", float(f"{x:.4f}")


def listed(x: float) -> Written:
    return f"[{x:.4f}]", float(f"{x:.4f}")


NUMBERS: dict[str, Callable[[float], Written]] = {
    "2": fixed(2),
    "4": fixed(4),
    "6": fixed(6),
    "e": scientific,
    "repr": plain,
    "signed": signed,
    "g": general,
}
REPRS: dict[str, Callable[[float], Written]] = {
    "numpy": numpy,
    "tensor": tensor,
    "device": on_device,
    "grad": with_grad,
    "array": array,
    "list": listed,
}


def clock(i: int) -> str:
    return f"{9 + i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}"


Lead = Callable[[int], str]
LEADS: dict[str, Lead] = {
    "none": lambda i: "",
    "iso": lambda i: f"2026-03-01T{clock(i)} ",
    "zoned": lambda i: f"2026-03-01T{clock(i)}.123456+00:00 ",
    "brackets": lambda i: f"[2026-03-01 {clock(i)}] ",
    "clock": lambda i: f"[{clock(i)}] ",
    "bare clock": lambda i: f"{clock(i)} ",
    "logging": lambda i: f"2026-03-01 {clock(i)},123 - trainer - INFO - ",
    "logging 2": lambda i: f"2026-03-01 {clock(i)},123 INFO trainer.py:{120} ",
    "logging 3": lambda i: f"[INFO] 2026-03-01 {clock(i)} train.py:88: ",
    "basic": lambda i: "INFO:root:",
    "basic name": lambda i: "INFO:my.trainer:",
    "level": lambda i: "[INFO] ",
    "level bare": lambda i: "INFO: ",
    "loguru": lambda i: f"2026-03-01 {clock(i)}.123 | INFO     | trainer.loop:train_step:214 - ",
    "rich": lambda i: f"[{clock(i)}] INFO     ",
    "rich again": lambda i: "           INFO     " if i % 3 else f"[{clock(i)}] INFO     ",
    "absl": lambda i: f"I0301 {clock(i)}.123456 140213 train.py:77] ",
    "hf": lambda i: f"[INFO|trainer.py:811] 2026-03-01 {clock(i)},123 >> ",
    "rank": lambda i: "[rank0]: ",
    "rank bare": lambda i: "[rank 0] ",
    "rank tag": lambda i: "[RANK 0] ",
    "srun": lambda i: "0: ",
    "torchrun": lambda i: "[default0]:",
    "mpirun": lambda i: "[1,0]<stdout>:",
    "ray": lambda i: "(main_task pid=4312) ",
    "ray colour": lambda i: "\x1b[36m(TaskRunner pid=4312)\x1b[0m ",
    "ray ip": lambda i: "(Trainer pid=4312, ip=10.0.0.7) ",
    "compose": lambda i: "trainer-1  | ",
    "docker": lambda i: f"2026-03-01T{clock(i)}.123456789Z ",
    "k8s": lambda i: f"2026-03-01T{clock(i)}.123456789Z stdout F ",
    "ts": lambda i: f"Mar 01 {clock(i)} ",
    "syslog": lambda i: f"Mar  1 {clock(i)} gpu-7 train[4312]: ",
    "pid": lambda i: f"[4312] 2026-03-01 {clock(i)} INFO ",
    "verl": lambda i: f"[2026-03-01 {clock(i)},123][trainer][INFO] - ",
    "hydra": lambda i: f"[2026-03-01 {clock(i)},123][__main__][INFO] - ",
    "deepspeed": lambda i: f"[2026-03-01 {clock(i)},123] [INFO] [engine.py:210:train] [Rank 0] ",
    "mlu": lambda i: f"[rank0]:[2026-03-01 {clock(i)},123] [INFO] ",
    "colour level": lambda i: f"\x1b[32m2026-03-01 {clock(i)}\x1b[0m \x1b[1mINFO\x1b[0m ",
    "tag": lambda i: "[Trainer] ",
    "name": lambda i: "trainer: ",
    "arrow": lambda i: ">>> ",
    "hash": lambda i: "### ",
    "slashes": lambda i: f"2026/03/01 {clock(i)} ",
    "structlog": lambda i: f"2026-03-01 {clock(i)} [info     ] ",
    "epoch stamp": lambda i: f"1772355600.{i:03d} ",
}
