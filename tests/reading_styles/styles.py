"""One random style: a log in it, and the truth beside it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.reading_styles.forms import AFTER, BETWEEN, COUNTERS, LEADS, NUMBERS, PAIRS, REPRS, TIGHT, Written
from tests.reading_styles.noise import around, between

Cells = dict[str, float]
Line = Callable[[int, dict[str, Written]], str]
NAMES: dict[str, tuple[str, ...]] = {
    "plain": ("loss", "reward", "kl", "grad_norm", "lr", "entropy"),
    "slash": ("train/loss", "train/reward", "train/kl", "actor/grad_norm", "actor/lr", "actor/entropy"),
    "snake": ("policy_loss", "mean_reward", "kl_div", "grad_norm", "learning_rate", "entropy"),
    "title": ("Loss", "Reward", "KL", "GradNorm", "LR", "Entropy"),
    "dotted": ("train.loss", "train.reward", "train.kl", "actor.grad_norm", "actor.lr", "actor.entropy"),
    "upper": ("LOSS", "REWARD", "KL", "GRAD_NORM", "LR", "ENTROPY"),
    "words": ("Policy Loss", "Mean Reward", "KL Divergence", "Grad Norm", "Learning Rate", "Entropy"),
    "pg": ("pg_loss", "return", "approx_kl", "gnorm", "lr", "ent_loss"),
}


@dataclass
class Log:
    """`rows`: step -> what the log says of it. `also`: names that may be reported beside, as they do stand there."""

    name: str
    text: str
    told: str
    rows: dict[int, Cells] = field(default_factory=dict)
    also: frozenset[str] = frozenset()


@dataclass
class Style:
    """The parts that a log is written with; `told` names them."""

    source: random.Random
    told: list[str] = field(default_factory=list)
    also: set[str] = field(default_factory=set)
    name: str = "train.log"

    def choose(self, what: str, among: object) -> str:
        options = list(among)  # type: ignore[call-overload]
        chosen = str(self.source.choice(options))
        self.told.append(f"{what}={chosen!r}")
        return chosen

    def chance(self, what: str, share: float) -> bool:
        if self.source.random() < share:
            self.told.append(what)
            return True
        return False


def log(seed: int) -> Log:
    """The log of a seed."""
    source = random.Random(seed)
    style = Style(source)
    layout = style.choose("layout", LAYOUTS)
    names = list(NAMES[style.choose("names", NAMES)])
    source.shuffle(names)
    del names[source.randint(2, len(names)) :]
    stride = source.choice((1, 1, 1, 5, 10, 50))
    first = source.choice((0, 1, 1)) if stride == 1 else source.choice((0, stride, 1))
    count = source.randint(12, 40)
    steps = [first + stride * i for i in range(count)]
    total = steps[-1] + source.choice((0, 0, 7, 900))
    style.told.append(f"steps {steps[0]}..{steps[-1]} by {stride} of {total}")
    line = LAYOUTS[layout](style, names, max(total, 1))
    number = NUMBERS[style.choose("number", NUMBERS)]
    if layout in WITH_REPRS and style.chance("repr", 0.2):
        number = REPRS[style.choose("as", REPRS)]
    rare = source.choice((0, 0, 0, 3, 10)) if layout in VARYING else 0
    style.told.append(f"one more name each {rare}")
    if layout == "anew":
        steps = [line.begin + i for i in range(count)]
    lead = LEADS[style.choose("lead", LEADS if layout in LEADING else ["none"])]
    noisy = style.chance("noise", 0.5) and layout not in ALONE
    found = Log(style.name, "", "", also=frozenset())
    lines = around(source, lead) if noisy else []
    for i, step in enumerate(steps):
        cells = {name: number(value(source, name)) for name in names}
        if rare and i % rare == rare - 1:
            cells["clip_frac"] = number(source.random())
        found.rows[step] = {name: x for name, (_, x) in cells.items()}
        whole = line(step, cells)
        before = lead(i)
        lines += [before + part if part.strip() or before.strip() else part for part in whole.split("\n")]
        if noisy:
            lines += between(source, step, total, lead(i))
    found.text = "\n".join(lines) + "\n"
    found.also = frozenset(style.also)
    found.told = ", ".join(style.told)
    found.name = style.name
    return found


def value(source: random.Random, name: str) -> float:
    low = name.lower()
    if "lr" in low or "learning" in low:
        return source.choice((1e-6, 5e-5, 2.5e-4))
    if "reward" in low or "return" in low or "loss" in low:
        return source.uniform(-2, 2)
    return source.uniform(0.001, 3)


def one_line(style: Style, names: list[str], total: int) -> Line:
    """A count, then named numbers."""
    counter = COUNTERS[style.choose("counter", COUNTERS)]
    after, sep = style.choose("after", AFTER), style.choose("between", BETWEEN)
    tight = sep in TIGHT
    spaced = any(" " in name for name in names)
    fit = [k for k in PAIRS if not (tight and (spaced or k in (" ", " = ", " : ", "arrow", "aligned")))]
    fit = [k for k in fit if not (k == ":" and spaced)] if not tight else fit
    if tight and spaced:
        sep = style.choose("but between", (", ", " | "))
    if sep == " / ":
        fit = ["=", ": "]
    pair = PAIRS[style.choose("pair", fit or ["="])]
    ends = style.choose("ends", ("", "", "", ".", " |", "}", ")"))
    style.also |= {"epoch"}
    return lambda i, cells: (
        counter(i, total) + after + sep.join(pair.format(k=k, v=v) for k, (v, _) in cells.items()) + ends
    )


def spreads(style: Style, names: list[str], total: int) -> Line:
    """Numbers with what they spread by, or with the best so far, and with units."""
    counter = COUNTERS[style.choose("counter", COUNTERS)]
    sep = style.choose("between", (", ", " | ", " · ", "; "))
    after = style.choose("after", (" | ", ": ", " - "))
    way = style.choose("way", ("± {s}", "(std {s})", "+/- {s}", "(best {s})", "(max {s}, min {s})", "[std={s}]"))
    unit = style.choose("unit", ("time 1.25s", "time=12ms", "tok/s 1.2k", "tokens: 12,345", "time 1h2m", "acc 45.2%"))
    style.also |= {f"{n} {s}" for n in names for s in ("std", "best", "max", "min")}
    style.also |= {"clip_frac " + s for s in ("std", "best", "max", "min")}
    style.also |= {"time", "tok/s", "tokens", "acc", "best", "std", "epoch"}
    return lambda i, cells: (
        counter(i, total)
        + after
        + sep.join([f"{k}: {v} " + way.format(s="0.25") for k, (v, _) in cells.items()] + [unit])
    )


def dictionary(style: Style, names: list[str], total: int) -> Line:
    """A printed dict: with its step within, or behind it."""
    inside = style.choose("step", ("inside", "before", "inside last"))
    key = style.choose("step key", ("step", "global_step", "iteration", "iter", "update", "train_step", "episode"))
    head = style.choose("head", ("step {i}: ", "Step {i}/{n} ", "[step {i}] ", "iter {i} | ", "metrics at step {i}: "))
    quoted = style.chance("quoted", 0.2)

    def line(i: int, cells: dict[str, Written]) -> str:
        pairs = [f"'{k}': " + (f"'{v}'" if quoted else v) for k, (v, _) in cells.items()]
        if inside == "inside":
            pairs = [f"'{key}': {i}", *pairs]
        elif inside == "inside last":
            pairs = [*pairs, f"'{key}': {i}"]
        text = "{" + ", ".join(pairs) + "}"
        return text if inside != "before" else head.format(i=i, n=total) + text

    return line


def nested(style: Style, names: list[str], total: int) -> Line:
    """A dict of dicts."""
    style.also |= {"step"}
    return lambda i, cells: (
        f"{{'step': {i}, 'train': {{" + ", ".join(f"'{k}': {v}" for k, (v, _) in cells.items()) + "}}"
    )


def pairs_in_tuples(style: Style, names: list[str], total: int) -> Line:
    """Lists of tuples, lists of lists."""
    one = style.choose("tuple", ("('{k}', {v})", "['{k}', {v}]"))

    def line(i: int, cells: dict[str, Written]) -> str:
        items = [("step", str(i)), *((k, v) for k, (v, _) in cells.items())]
        return "[" + ", ".join(one.format(k=k, v=v) for k, v in items) + "]"

    return line


def separate(style: Style, names: list[str], total: int) -> Line:
    """What `print(a, b, c)` makes, each name and number an argument."""
    sep = style.choose("sep", ("\t", " ", ", ", " | "))
    word = style.choose("word", ("step", "Step:", "iter", "update"))
    colon = ":" if word.endswith(":") else ""
    return lambda i, cells: sep.join([word, str(i), *(part for k, (v, _) in cells.items() for part in (k + colon, v))])


def json_message(style: Style, names: list[str], total: int) -> Line:
    """JSON of a logger whose message holds the numbers."""
    kind = style.choose("logger", ("structlog", "loguru", "python-json-logger", "fields", "bunyan"))
    style.name = style.choose("name", ("train.log", "out.log", "log.jsonl"))
    style.also |= {"pid", "line", "lineno"}

    def line(i: int, cells: dict[str, Written]) -> str:
        words = f"step {i}/{total} | " + " | ".join(f"{k}: {v}" for k, (v, _) in cells.items())
        time = f"2026-03-01T09:{i // 60 % 60:02d}:{i % 60:02d}.123Z"
        row: dict[str, object]
        if kind == "structlog":
            row = {"event": words, "level": "info", "timestamp": time, "logger": "trainer"}
        elif kind == "loguru":
            record = {"level": {"name": "INFO", "no": 20}, "message": words, "line": 17, "time": {"timestamp": 1.7e9}}
            row = {"text": time + " | INFO | " + words + "\n", "record": record}
        elif kind == "python-json-logger":
            row = {"asctime": time, "levelname": "INFO", "name": "trainer", "message": words, "lineno": 17}
        elif kind == "bunyan":
            row = {"name": "trainer", "hostname": "gpu-7", "pid": 41, "level": 30, "msg": words, "time": time, "v": 0}
        else:
            numbers = {k: x for k, (_, x) in cells.items()}
            row = {"event": "train_step", "level": "info", "timestamp": time, "step": i, **numbers}
        return json.dumps(row)

    style.also |= {"level", "v"}
    return line


def block(style: Style, names: list[str], total: int) -> Line:
    """A heading, then a line for each number."""
    head = style.choose(
        "head", ("==== Step {i}/{n} ====", "Step {i}", "Iteration {i}/{n}:", "--- step {i} ---", "[{i}/{n}]")
    )
    if head == "[{i}/{n}]":
        head = "Step {i}/{n}:"
    below = style.choose(
        "below", ("  {k}: {v}", "  - {k}: {v}", "  • {k}: {v}", "    {k} = {v}", "\t{k}: {v}", "{k}: {v}")
    )
    gap = "\n" if style.chance("gap", 0.5) else ""
    return lambda i, cells: (
        head.format(i=i, n=total) + "\n" + "\n".join(below.format(k=k, v=v) for k, (v, _) in cells.items()) + gap
    )


def document(style: Style, names: list[str], total: int) -> Line:
    """YAML: a list of mappings, or documents."""
    if style.chance("list", 0.5):
        return lambda i, cells: f"- step: {i}\n" + "\n".join(f"  {k}: {v}" for k, (v, _) in cells.items())
    return lambda i, cells: f"---\nstep: {i}\n" + "\n".join(f"{k}: {v}" for k, (v, _) in cells.items())


def borders(style: Style, names: list[str], total: int) -> Line:
    """A box of two columns for each step."""
    left, right = style.choose("border", ("||", "││", "┃┃")), 24
    word = style.choose("word", ("step", "iteration", "update", "total_steps"))
    bar = left[0]

    def line(i: int, cells: dict[str, Written]) -> str:
        rows = [(word, str(i)), *((k, v) for k, (v, _) in cells.items())]
        edge = "-" * (2 * right + 5) if bar == "|" else "┌" + "─" * (2 * right + 5) + "┐"
        end = edge if bar == "|" else "└" + "─" * (2 * right + 5) + "┘"
        return "\n".join([edge, *(f"{bar} {k:<{right}} {bar} {v:<{right}} {bar}" for k, v in rows), end])

    return line


def columns(style: Style, names: list[str], total: int) -> Line:
    """A table: a heading once, or now and then."""
    sep = style.choose("sep", ("  ", " | ", "\t", ","))
    again = style.source.choice((5, 1000))
    word = style.choose("word", ("step", "Step", "iter", "epoch"))
    seen = [0]

    def line(i: int, cells: dict[str, Written]) -> str:
        texts = [str(i), *(v for _, (v, _) in cells.items())]
        out = [] if seen[0] % again else [sep.join(f"{k:>14}" for k in (word, *cells))]
        seen[0] += 1
        return "\n".join([*out, sep.join(f"{v:>14}" for v in texts)])

    return line


def behind_bar(style: Style, names: list[str], total: int) -> Line:
    """What tqdm shows behind its bar, painted again with each step."""
    word = style.choose("bar", ("Training: ", "", "train: ", "Steps: ", "GRPO: "))
    end = style.choose("end", ("\r", "\n"))
    n = max(total, 1)

    def line(i: int, cells: dict[str, Written]) -> str:
        share = 100 * i // n
        numbers = ", ".join(f"{k}={v}" for k, (v, _) in cells.items())
        return (
            "\r" if end == "\r" else ""
        ) + f"{word}{share:3d}%|{'█' * (share // 10):<10}| {i}/{n} [00:10<01:30,  1.02s/it, {numbers}]"

    return line


def anew(style: Style, names: list[str], total: int) -> Line:
    """Batches that are counted anew in each epoch."""
    per = style.source.choice((4, 5, 10))
    begin = style.source.choice((0, 1))
    form = style.choose(
        "form",
        (
            "Epoch {e} Batch {b}/{n}",
            "Epoch {e}/9, Step {b}/{n}",
            "epoch={e} step={b}",
            "[Epoch {e}][{b}/{n}]",
            "Epoch: [{e}/9] Iter: [{b}/{n}]",
        ),
    )
    sep = style.choose("between", (", ", " | ", " "))
    seen = [-1]
    style.also |= {"epoch", "Epoch"}
    style.told.append(f"{per} an epoch from {begin}")

    def line(i: int, cells: dict[str, Written]) -> str:
        seen[0] += 1
        e, b = divmod(seen[0], per)
        return form.format(e=e + 1, b=b + begin, n=per) + " " + sep.join(f"{k}={v}" for k, (v, _) in cells.items())

    line.begin = begin
    return line


LAYOUTS: dict[str, Callable[[Style, list[str], int], Line]] = {
    "one line": one_line,
    "a line": one_line,
    "the line": one_line,
    "spreads": spreads,
    "dict": dictionary,
    "nested": nested,
    "tuples": pairs_in_tuples,
    "print": separate,
    "json": json_message,
    "block": block,
    "document": document,
    "borders": borders,
    "columns": columns,
    "bar": behind_bar,
    "anew": anew,
}
WITH_REPRS = frozenset(("one line", "a line", "dict", "nested", "tuples"))
VARYING = frozenset(("one line", "a line", "the line", "dict", "tuples", "print", "json", "block", "anew", "spreads"))
LEADING = frozenset(
    (
        "one line",
        "a line",
        "the line",
        "spreads",
        "dict",
        "nested",
        "tuples",
        "print",
        "block",
        "borders",
        "columns",
        "anew",
    )
)
ALONE = frozenset(("json", "document", "bar"))
