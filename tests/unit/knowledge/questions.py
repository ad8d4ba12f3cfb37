"""Makes the questions of `answers/` from what the data files hold now."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from rltui.diagnosis.insight import WATCHED
from rltui.diagnosis.tail import needed
from rltui.rules.catalogue import rules
from tests.unit.knowledge import rollouts, signals
from tests.unit.knowledge.behaviour import ANSWERS, answered
from tests.unit.knowledge.names import data, dialects, example, signs_of

Question = tuple[str, list[Any]]


def texts(patterns: list[str]) -> Iterator[str]:
    for pattern in patterns:
        with contextlib.suppress(ValueError):
            yield example(pattern.removeprefix("re:"))


def of_framework(name: str, told: dict[str, Any]) -> Iterator[Question]:
    detect = told.get("detect", {})
    signs = signs_of(told)
    needs = list(texts(detect.get("need_keys", [])))
    every = list(texts(detect.get("all_keys", [])))
    yield "written_by", [signs, [], []]
    for key in texts(detect.get("keys", [])):
        yield "written_by", [[*needs[:1], key], [], []]
    for key in needs:
        yield "written_by", [[key, *texts(detect.get("keys", [])[:1])], detect_config(detect), []]
    for key in every:
        yield "written_by", [[other for other in every if other != key], [], []]
    for key in texts(detect.get("not_keys", [])):
        yield "written_by", [[*signs, key], detect_config(detect), []]
    for key in texts(detect.get("config", [])):
        yield "written_by", [needs[:1], [key], []]
    for word in detect.get("text", []):
        yield "written_by", [needs[:1], [], [f"starting {word} now"]]
    for version in told.get("versions", []):
        for key in texts(version["keys"]):
            yield "written_by", [[*signs, *needs[:1], key], detect_config(detect), []]
    keys = [key for names in told.get("metrics", {}).values() for key in names]
    for key in [*texts([key for key in keys if key.startswith("re:")]), *(k for k in keys if not k.startswith("re:"))]:
        yield "meaning", [key, name]
    for key in told.get("convert", {}):
        yield "meaning", [key, name]
    for prefix, _ in told.get("prefixes") or []:
        yield from (("meaning", [prefix + key, name]) for key in keys[:3])
    for group in told.get("groups", {}):
        yield "meaning", [f"{group}/something_new", name]
    phases = told.get("phases", {})
    for phase in phases.get("keys", {}).values():
        yield from (("meaning", [key, name]) for key in texts(phase))
    for outside in phases.get("outside") or []:
        yield "beside_the_step", [name, outside["version"]]
        yield "beside_the_step", [name, "0.1"]
    for rule in told.get("inactive") or []:
        own = told.get("config", {}).get(rule["config"]) or [rule["config"]]
        when = told.get("config", {}).get(rule["when"]) or [rule["when"]]
        for value in [*(rule.get("is") or []), *(rule.get("is_not") or []), 0.5, "else", None]:
            yield "acting", [name, {own[0]: 0.25, when[0]: value}]
    saved = told.get("checkpoints") or {}
    for path in texts([*saved.get("dirs", []), *saved.get("partial", [])]):
        yield "checkpoint", [path]
        yield "checkpoint", [f"runs/a/{path}"]
    yield from (("file_role", [f"checkpoint-10/{file}", True]) for file in saved.get("settings", []))
    for path in texts(told.get("samples") or []):
        yield "file_role", [path, False]
    for command in told.get("processes", []):
        yield "process", [f"python -m {command} lr=1e-6"]


def detect_config(detect: dict[str, Any]) -> list[str]:
    return list(texts(detect.get("config", [])[:1]))


def frameworks() -> Iterator[Question]:
    for name, told in dialects().items():
        yield from of_framework(name, told)
    known = data("frameworks/data/algorithms.json")
    for value in known["by_value"]:
        yield "algorithm_of", ["verl", {"adv_estimator": value}, [], []]
    yield "algorithm_of", ["verl", {"adv_estimator": "grpo", "dynamic_sampling": True}, [], []]
    yield "algorithm_of", ["verl", {"policy_loss_mode": "gspo"}, [], []]
    for _, text in known["by_text"]:
        yield "algorithm_of", ["generic", {}, [], [f"class {text}(Trainer)"]]
    for _, keys in known["by_key"]:
        yield from (("algorithm_of", ["generic", {}, [key], []]) for key in keys)
    for group in data("frameworks/data/groups.json"):
        yield "meaning", [f"{group}/something_new", "generic"]
    for role in data("hardware/process_roles.json")["roles"]:
        yield from (("process", [f"python {word} --x 1"]) for word in role.get("any", []))
    yield from (("process", [c]) for c in ("bash -c vllm", "python -m rltui vllm", "/usr/sbin/sshd"))


def log_lines() -> Iterator[Question]:
    """Lines of a program inside the JSON of a log service or of a logger."""
    keys = data("readers/data/log_keys.json")

    def log(key: str, **others: Any) -> Question:
        lines = [f"step {n} reward {0.2 + 0.01 * n:.2f} loss {0.9 - 0.01 * n:.2f}" for n in (1, 2, 3)]
        return "rows_of", ["console", [json.dumps({**others, key: line}) for line in lines]]

    at = "2026-03-04T05:06:07Z"
    for key in keys["line"]:
        yield log(key, timestamp=at)
    for key in keys["stamp"]:
        yield log("textPayload", **{key: at})
    for key in keys["message"]:
        yield log(key, levelname="INFO")
    for key in keys["level"]:
        yield log("event", **{key: "info"})
    for key in keys["time"]:
        yield log("event", level="info", **{key: at})
    for key in keys["place"]:
        yield log("event", level="info", **{key: 7, "kl": 0.25})
    for key in [*keys["record"], *keys["fields"]]:
        yield log("event", level="info", **{key: {"kl": 0.25}})


def rows() -> Iterator[Question]:
    """What a row of a log is by its keys and flags."""
    told = data("readers/data/rows.json")

    def log(**cells: Any) -> Question:
        lines = [
            json.dumps({key: value + n if key == "step" else value for key, value in cells.items()}) for n in (0, 1)
        ]
        return "rows_of", ["jsonl", lines]

    for flag in told["flags"]:
        yield log(step=3, loss=0.5, **{flag: "eval"})
    for switch in told["switches"]:
        yield log(step=3, loss=0.5, **{switch: True})
        yield log(step=3, loss=0.5, **{switch: False})
    for of in told["words"].values():
        for word in of:
            yield log(step=3, quality=0.5, split=word)
            yield log(event=word, lr=1e-6, quality=0.5)
    for name in told["settings"]:
        yield "rows_of", ["jsonl", [json.dumps({name: 3, "zeta": 0.5}), json.dumps({"step": 1, "loss": 1.0})]]
        yield "rows_of", ["jsonl", [json.dumps({name: 3, "beta": 0.5}), json.dumps({"step": 1, "loss": 1.0})]]
        yield "rows_of", ["jsonl", [json.dumps({name: 3, "seed": 5}), json.dumps({"step": 1, "loss": 1.0})]]
    for word in told["measures"]:
        config = {"seed": 3, "gamma": 5, f"final_{word}": 0.5, f"best_{word}": 0.5}
        yield "rows_of", ["jsonl", [json.dumps(config), json.dumps({"step": 1, "loss": 1.0})]]
    for word in told["coefficients"]:
        config = {"seed": 3, "gamma": 5, f"kl_{word}": 0.5, f"loss_{word}": 0.5}
        yield "rows_of", ["jsonl", [json.dumps(config), json.dumps({"step": 1, "loss": 1.0})]]
    for item in told["items"]:
        lines = [{"step": n // 4, item: n % 4, "reward": float(n % 2)} for n in range(16)]
        yield "rows_of", ["jsonl", list(map(json.dumps, lines))]
    for name in told["names"]:
        yield log(step=3, value=0.5, **{name: "loss"})
    for value in told["values"]:
        yield log(step=3, metric="loss", **{value: 0.5})
    for run in told["runs"]:
        lines = [{"step": n % 4, run: f"r{n // 4}", "reward": n / 10} for n in range(8)]
        yield "rows_of", ["jsonl", list(map(json.dumps, lines))]
        cells = "".join(f"{line['step']},{line[run]},{line['reward']}|" for line in lines).strip("|").split("|")
        yield "rows_of", ["csv", [f"step,{run},reward", *cells]]
    for text in told["messages"]:
        yield "rows_of", ["jsonl", [json.dumps({text: f"step {n}: loss 0.{n}", "level": "INFO"}) for n in (1, 2, 3)]]
    files = data("readers/data/config_files.json")
    yield from (("a_config", ["config.yaml", {key: "x", "lr": 1e-6}]) for key in files["not_a_run"])
    yield from (("a_config", ["config.yaml", {"peft_type": "x", "seed": 1, key: 2}]) for key in files["of_a_run"])
    yield from (("a_config", [f"{stem}.yaml", {"steps": 3}]) for stem in [*files["prefixed_by_name"], "config"])


def spellings() -> Iterator[Question]:
    """What a name means that nobody listed, by its words."""
    told = data("frameworks/data/spellings.json")
    plain = [("reward", "mean"), ("entropy",), ("policy", "loss"), ("grad", "norm"), ("learning", "rate"), ("kl",)]
    plain += [
        ("clip", "frac"),
        ("response", "length", "mean"),
        ("advantage", "mean"),
        ("reward", "std"),
        ("value", "loss"),
    ]
    plain += [
        ("accuracy",),
        ("score", "mean"),
        ("explained", "variance"),
        ("reward", "min"),
        ("temperature",),
        ("memory",),
    ]
    plain += [("clip", "ratio"), ("completion", "length"), ("approx", "kl"), ("tokens", "per", "second"), ("time",)]
    for word, spelt in told["same"].items():
        for parts in plain:
            if spelt and set(spelt.split()) <= set(parts):
                yield "meaning", ["_".join([word, *(part for part in parts if part not in spelt.split())]), "generic"]
            elif not spelt:
                yield "meaning", ["_".join([word, *parts]), "generic"]
    for unit in told["units"]:
        for name in ("clip fraction", "step time", "entropy", "reward", "completion length", "grad norm", "memory"):
            yield "meaning", [f"{name} ({unit})", "generic"]
    for group in [*told["groups"], "nonsense"]:
        yield "meaning", [f"{group}/avg rew", "generic"]
    for part in [*told["other_parts"], "actor"]:
        yield "acting", ["generic", {f"{part}.learning_rate": 1e-6}]


def words() -> Iterator[Question]:
    secret = data("secret_names.json")
    value = "Xk29fjQpLm38ZtVw"
    yield from (("hidden", [f"{word}: {value}"]) for word in secret["secret_words"])
    yield from (("hidden", [f"{owner}_key = {value}"]) for owner in [*secret["key_owners"], "primary", "sort"])
    yield from (("hidden", [f"{owner}_token = {value}"]) for owner in secret["token_owners"])
    yield from (("hidden", [f"{kind}_token = {value}"]) for kind in secret["text_token_kinds"])
    endings = ("", " 40", ": 40", " global_step_40", " step-40/", " on signal", " with signal 9", " error")
    for rule in data("readers/console/notes.toml")["rule"]:
        for word in rule["any"]:
            yield from (("noted", [text]) for text in [word, *(f"x.py: {word}{e}" for e in endings[1:4])])
    for line in (
        *("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-05-01 DUE TO TIME LIMIT ***", "Killed", "Terminated"),
        *("worker got signal: 9", "main received SIGTERM", "caught SIGINT", "SIGHUP received", "killed by SIGKILL"),
        *("run.sh: line 12: 4711 Killed python", "exited with status 137", "exit code 137", "sent SIGKILL"),
        *("closing signal SIGTERM", "Received 15 death signal", "from x import MemoryError", "except MemoryError:"),
        *("FutureWarning: old", "WARNING deprecated option", "Warning: CUDA error: out of memory"),
    ):
        yield "noted", [line]
    template = data("readers/console/template_words.json")

    def log(line: str) -> list[str]:
        return [line.format(n=n, x=f"{0.31 + 0.01 * n:.2f}", y=f"{1.7 - 0.02 * n:.2f}") for n in range(1, 13)]

    for word in template["counters"]:
        yield "rows_of", ["console", log(f"[GRPO] {word} {{n}}/300 - loss: {{x}}")]
        yield "rows_of", ["console", log(f"{word} {{n}}: tokens {{x}}")]
    for word in template["weak_counters"]:
        yield "rows_of", ["console", log(f"[GRPO] {word} {{n}}/300 - loss: {{x}}")]
        yield "rows_of", ["console", log(f"step {{n}} {word} 7 - loss: {{x}}")]
    for word in template["training"]:
        yield "rows_of", ["console", log(f"phase {{n}}/12 | {word} {{x}}")]
        yield "rows_of", ["console", log(f"number {{n}} gives {word}={{x}}")]
        yield "rows_of", ["console", log(f"Round {{n}}: {word} = {{x}}")]
    for word in template["durations"]:
        yield "rows_of", ["console", log(f"Step {{n}} | {word}: {{x}}s")]
        yield "rows_of", ["console", log(f"number {{n}} gives {word}={{x}}")]
    for word in template["statistics"]:
        yield "rows_of", ["console", log(f"Step {{n}} | reward {word}={{x}} loss={{y}}")]
    for word in template["evaluation"]:
        yield "rows_of", ["console", log(f"{word} step {{n}} accuracy: {{x}}")]
        yield "rows_of", ["console", log(f"[{word}] step {{n}} | reward: {{x}}")]
    for word in [*template["items"], *template["places"]]:
        yield "rows_of", ["console", log(f"{word} {{n}}: loss {{x}}")]
        yield "rows_of", ["console", log(f"{word} {{n}} step 4 loss {{x}}")]
    keys = data("readers/data/keys.json")
    for key in keys["step"]:
        yield "rows_of", ["jsonl", [json.dumps({key: n, "reward": 0.5}) for n in (10, 20, 30)]]
    for key in keys["total"]:
        yield "rows_of", ["jsonl", [json.dumps({"step": n, "reward": 0.5, key: 100}) for n in (10, 20)]]
    for key in keys["time"]:
        yield "rows_of", ["jsonl", [json.dumps({"step": n, "reward": 0.5, key: 1.7e9 + n}) for n in (10, 20)]]
    for key in keys["config"]:
        yield "rows_of", ["jsonl", [json.dumps({key: {"lr": 1e-6, "beta": 0.1}}), json.dumps({"step": 1, "loss": 1.0})]]
    for key in [*keys["update"], *keys["text"]]:
        cell = "a text" if key in keys["text"] else 0.25
        yield "rows_of", ["jsonl", [json.dumps({"score": 0.5 + n, key: cell}) for n in range(4)]]
    yield from log_lines()
    yield from rows()
    yield from spellings()
    files = data("discovery/file_words.json")
    yield from (("sorts", [folder]) for folder in [*files["structure_folders"], "seed-1", "lr-1e-6"])
    yield from (("file_label", [f"{word}.log"]) for word in [*files["role_words"], "a100", "baseline"])
    rank = data("compare/primary.json")
    every = [name for line in rank["order"] for name in line.get("names", [])]
    yield from (("ranked_by", [["zz", name]]) for name in every)
    yield from (("ranked_by", [every[n:]]) for n in range(len(every)))
    for line in rank["order"]:
        for word in line.get("components", []):
            yield "ranked_by", [[f"reward_component_mean:{word}_reward", "score_mean"]]
    yield from (("ranked_by", [[f"val_score:{word}_x"]]) for word in rank["lower_is_better"])
    yield from (("flagged", [rule]) for rule in rules())


PARTNERS = (
    *("reward-collapse", "reward-floor", "reward-saturated", "truncation-high", "val-regression", "kl-runaway"),
    *("entropy-collapse", "reward-plateau"),
)


def judging() -> Iterator[Question]:
    for rule in rules():
        yield "opens", [rule, 1]
        yield "opens", [rule, 5]
        yield "explains", [rule]
        yield "explained", [rule]
        for level in (1, 2, 3):
            yield "judged", [{rule: level}]
        yield from (("judged", [{rule: 3, other: 2}]) for other in PARTNERS if other != rule)
        yield from (("judged", [{rule: 2, other: 3}]) for other in PARTNERS[:2] if other != rule)
    entries = data("diagnosis/data/remarks.json")["remarks"]
    for entry in entries:
        names = [name for name, _, _ in entry["moves"]]
        ways = {name: 1 if way == "rises" else -1 for name, way, _ in entry["moves"]}
        beside = [entry["without_gain_of"]] if entry.get("without_gain_of") else []
        for dose in (0.02, 0.035, 0.07, 0.15, 0.3, 0.6, 0.8, 1.6):
            factors = {name: max(0.1, 1 + ways[name] * dose) for name in names} | dict.fromkeys(beside, 1.0)
            yield "moved", [factors, entry.get("only_kl_in") or ""]
        full = {name: 1 + ways[name] * (0.6 if ways[name] < 0 else 2.0) for name in names}
        for name in names:
            yield "moved", [{k: v for k, v in full.items() if k != name}, entry.get("only_kl_in") or ""]
        for where in ("", "loss", "reward"):
            yield "moved", [full | dict.fromkeys(beside, 1.0), where]
            yield "moved", [full | dict.fromkeys(beside, 1.5), where]
    for case in product(("up", "flat", "high", "down"), ("up", "flat", "down"), ("up", "flat", "down", "none")):
        yield "courses", [*case]
    steps = (
        1e-12,
        1e-9,
        0.03,
        0.08,
        0.12,
        0.2,
        0.24,
        0.27,
        0.35,
        0.55,
        0.7,
        0.83,
        1.0,
        2.5,
        3.5,
        4.5,
        9.0,
        11.0,
        1.1e3,
    )
    for metric in sorted(needed()):
        for value in steps:
            yield "ends", [metric, [1.0, 1.01, 0.99], [value, value * 1.001, value * 0.999, value]]
        for size in (0.05, 30.0):
            yield from (
                ("ends", [metric, [size] * 3, [size * 1.001, size, size * 20, size * 20, size * 20]]) for _ in "1"
            )
        for rows in range(1, 7):
            yield "ends", [metric, [], [0.5] * rows]
            yield "ends", [metric, [0.5] * rows, [0.5] * 5]
            yield "ends", [metric, [1.0] * rows, [0.01] * 6]
            yield "ends", [metric, [1.0, 1.01, 1.02], [12.0 + 0.1 * n for n in range(rows)]]
        yield "ends", [metric, [1.0, 1.0], [1.0, None, 1.0, 1.1]]
        for begin in (0.05, 1.0, 30.0):
            other = 40.0 * begin if begin < 1.0 else begin / 40.0
            yield (
                "ends",
                [metric, [begin] * 60, [other] * 10, True],
            )  # who counts more or fewer rows as the end sees both
            yield "ends", [metric, [begin] * 61, [other] * 9, True]
            yield "ends", [metric, [begin] * 61, [begin] * 7 + [other] * 2, True]
            yield "ends", [metric, [begin] * 5 + [other] * 55, [other] * 10, True]  # and as the beginning
            yield "ends", [metric, [begin] * 2 + [other] * 58, [other] * 10, True]
    every = sorted(WATCHED)
    yield from (("first_to_move", [every, at]) for at in (4, 40, 90, 112))
    yield from (("first_to_move", [[name], 80]) for name in (*every, "tokens_total", "epoch"))
    for first, before, now in product((0.0, 50.0), (0.0, 1000.0), (10.0, 40.0, 59.0, 61.0, 900.0, 1059.0, 1061.0, 1e4)):
        yield "looked_at_again", [first, before, now]
    fields = {entry["field"] for entry in data("diagnosis/data/confirmations.json")["confirmations"]}
    doses = (0.0, 0.03, 0.06, 0.09, 0.13, 0.17, 0.25, 0.35, 0.45, 0.55, 0.7, 0.9)
    for field in sorted(fields):
        for dose in doses:
            yield "borne_out", [field, 0.01, dose]
            yield "borne_out", [field, 1.0, 1.0 - dose]
            yield "borne_out", [field, 100.0, 100.0 * (1 + 2 * dose)]


TOPICS = {
    "frameworks": frameworks,
    "words": words,
    "judging": judging,
    "rollouts": rollouts.questions,
    "signals": signals.questions,
}


def write() -> None:
    ANSWERS.mkdir(exist_ok=True)
    for topic, ask in TOPICS.items():
        lines = {}
        for kind, asked in ask():
            key = json.dumps([kind, asked], ensure_ascii=False)
            if key not in lines:
                lines[key] = json.dumps([kind, asked, answered(kind, asked)], ensure_ascii=False)
        path: Path = ANSWERS / f"{topic}.jsonl"
        path.write_text("\n".join(lines.values()) + "\n", encoding="utf-8")
        print(path.name, len(lines))
