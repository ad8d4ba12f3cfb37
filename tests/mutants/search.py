"""Draws runs around the thresholds of each rule of rows and keeps those on which a mutant says something else.

    python -m tests.mutants.search [--tries 300] [RULE ...]

A mutant that no kept context (`tests/unit/rules/contexts`) and no turning point (`tests/unit/rules/turning`) tells from
the rule is looked for: thresholds of its page times ten, by ten and exchanged, and the comparisons and constants of its
module. New contexts are added to the files; those that are left are named.
"""

from __future__ import annotations

import argparse
import inspect
import random
import re
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import structs

from rltui.evidence.look import Look
from rltui.rules.base import REGISTERED, Detect
from rltui.rules.catalogue import caused_by, rules
from tests.conftest import REPO
from tests.mutants import code
from tests.unit.diagnosis.series import learning_run
from tests.unit.rules import contexts
from tests.unit.rules.contexts import Context, Course, Says
from tests.unit.rules.sweeps import lines_of, swept
from tests.unit.rules.test_sweeps import AGREED

SETTINGS: dict[str, tuple[Any, ...]] = {
    "lr": (1e-8, 1e-7, 5e-7, 2e-6, 6e-6, 1.5e-5, 3e-5, 6e-5, 2e-4),
    "model": ("Qwen2.5-7B", "tiny-50m"),
    "train_type": ("lora",),
    "lora_rank": (16,),
    "kl_coef_loss": (0.0, 5e-6, 5e-5, 1e-3, 0.05, 0.5),
    "kl_coef_reward": (0.0, 1e-3, 0.05, 0.5),
    "kl_in_reward": (True, False),
    "use_kl_loss": (True, False),
    "group_size": (1, 2, 3, 4, 8, 16, 64),
    "train_batch_prompts": (1, 4, 8, 12, 64, 100, 256, 1024),
    "rollout_batch": (8, 64, 256),
    "mini_batch": (1, 2, 4, 8, 32, 64, 100),
    "micro_batch": (1, 2, 4, 16),
    "ppo_epochs": (1, 2, 4, 8),
    "n_gpus_per_node": (1, 2, 8),
    "nnodes": (1, 2),
    "dynamic_batch": (True,),
    "temperature": (0.01, 0.3, 0.55, 0.65, 0.9, 1.0, 1.15, 1.25, 2.0, 8.0),
    "top_p": (0.5, 0.9, 1.0),
    "clip_low": (0.0005, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4),
    "clip_high": (0.0005, 0.003, 0.01, 0.03, 0.15, 0.28, 0.5),
    "policy_loss_mode": ("gspo", "vanilla"),
    "importance_sampling_level": ("sequence", "token"),
    "max_grad_norm": (0.01, 0.1, 1.0, 10.0),
    "max_staleness": (0, 1, 4),
    "max_response_length": (64, 512, 1024, 8192),
    "norm_adv_by_std": (True, False),
    "adv_estimator": ("grpo", "gae", "rloo"),
    "kl_estimator": ("k1", "k3"),
    "save_freq": (-1, 0, 10, 100, 300),
    "test_freq": (-1, 0, 10, 100, 300),
    "save_strategy": ("no", "epoch", "steps"),
    "eval_strategy": ("no", "epoch", "steps"),
    "max_turns": (1, 4),
    "max_checkpoints": (1, 3),
    "best_metric": ("loss", "reward"),
    "loggers": ("['wandb']", "['console']"),
    "entropy_coef": (0.0, 0.01),
}
USUAL = {"clip_frac": 0.02, "ppo_kl": 1e-3, "total_loss": 0.6, "reward_std": 0.3, "score_max": 1.0, "score_min": 0.0}
USUAL |= {
    "vf_explained_var": 0.5,
    "is_ratio_mean": 1.0,
    "rollout_train_corr": 0.99,
    "num_turns_mean": 3.0,
    "epoch": 0.1,
}
USUAL |= {"response_length_max": 1500.0, "phase:rollout": 40.0, "phase:save_checkpoint": 60.0, "reward_mean": 0.5}
USUAL |= {"dpo_logps_chosen": -100.0, "dpo_logps_rejected": -120.0, "dpo_reward_margin": 1.0, "dpo_accuracy": 0.7}
IDLE = 350
"""Draws in a row that tell nothing new: what is left then asks for a run that somebody thinks of."""
FACTORS = (0.1, 0.3, 0.6, 0.9, 1.1, 1.6, 3.0, 9.0)


class Mutated:
    """A detector that is wrong in one place: other thresholds, or another function."""

    def __init__(self, name: str, page: Mapping[str, float] | None, detect: Detect[Look]) -> None:
        self.name, self.page, self.detect = name, page, detect

    def says(self, run: Says) -> str:
        try:
            return run.of(self.detect, None if self.page is None else dict(self.page))
        except Exception as error:  # a check that fails is seen
            return type(error).__name__


def mutants(rule: str, detect: Detect[Look]) -> Iterator[Mutated]:
    page = rules()[rule].values()
    for name, value in page.items():
        for how, factor in (("times 10", 10.0), ("by 10", 0.1)):
            yield Mutated(f"{name} {how}", page | {name: value * factor if value else 1.0}, detect)
    for one, two in pairwise(page):
        if page[one] != page[two]:
            yield Mutated(f"{one} and {two} exchanged", page | {one: page[two], two: page[one]}, detect)
    module = inspect.getmodule(detect)
    assert module is not None
    assert module.__file__ is not None
    path = Path(module.__file__)
    text = path.read_text(encoding="utf-8")
    source = reached(detect.__name__, module)
    for mutant in code.mutants(path.relative_to(REPO).as_posix(), text):
        if mutant.where.split(":")[0] not in source:
            continue
        made = types.ModuleType(module.__name__)
        made.__dict__.update({"__package__": module.__package__, "__file__": str(path)})
        before = list(REGISTERED)
        sys.modules["mutated"] = made
        try:
            made.__dict__["__name__"] = "mutated"
            exec(compile(mutant.applied(text), str(path), "exec"), made.__dict__)
            found = [one.detect for one in REGISTERED[len(before) :] if one.rule == rule and one.sees is Look]
        except Exception:
            continue  # the package cannot be imported: any test sees it
        finally:
            REGISTERED[:] = before
        if found:
            yield Mutated(f"{mutant.where} {mutant.old} -> {mutant.new}", None, found[0])


def turned(rule: str, one: Mutated) -> bool:
    """Whether a turning point of the rule shows it."""
    at = next(n for n, of in enumerate(REGISTERED) if of.rule == rule and of.sees is Look)
    usual, page = REGISTERED[at], one.page

    def detect(look: Look, p: Any, memory: Any) -> list[Any]:
        return one.detect(look, p if page is None else page, memory)

    REGISTERED[at] = structs.replace(usual, detect=detect)
    try:
        return lines_of(rule) != AGREED[rule]
    except Exception:
        return True  # a check that fails is seen
    finally:
        REGISTERED[at] = usual


def reached(name: str, module: types.ModuleType) -> set[str]:
    """Names of the module that a function of it uses, its own helpers' too."""
    found: set[str] = set()
    edge = [name]
    while edge:
        now = edge.pop()
        found.add(now)
        made = getattr(module, now)
        if inspect.isfunction(made) or inspect.isclass(made):
            words = set(re.findall(r"\w+", inspect.getsource(made)))
            edge += [
                n
                for n, v in vars(module).items()
                if n in words - found
                and not inspect.ismodule(v)
                and getattr(v, "__module__", module.__name__) == module.__name__
                and n not in edge
            ]
    return found


def drawn(rule: str, detect: Detect[Look], chance: random.Random) -> Context:
    """A run around the thresholds of a rule."""
    page = rules()[rule]
    module = inspect.getmodule(detect)
    assert module is not None
    source, whole = inspect.getsource(detect), inspect.getsource(module)
    base = learning_run(0, 10)
    known = {*base, *USUAL, *page.metrics, *(name for group in page.needs for name in group)}
    named = [name for name in sorted(known) if f'"{name}"' in source or name in page.metrics or f'"{name}"' in whole]
    own = {name for group in page.needs for name in group} | {n for n in named if f'"{n}"' in source}
    courses = {}
    limits = [value for value in page.values().values() if value] or [1.0]
    for name in named:
        if name not in own and chance.random() < 0.5:
            continue
        if name in ("reward_component_mean", "score_component"):
            name = f"{name}:accuracy"
        usual = USUAL.get(name, 0.5)
        if name in base:
            usual = next(float(v) for v in base[name] if v is not None)  # type: ignore[attr-defined]

        def size(usual: float = usual) -> float:
            if chance.random() < 0.1:
                return 0.0
            if chance.random() < 0.55:
                return chance.choice(limits) * chance.choice(FACTORS)
            return usual * chance.choice((0.1, 0.5, 0.9, 1.0, 1.0, 1.1, 2.0, 10.0))

        start = size()
        end = start if chance.random() < 0.35 else size() if chance.random() < 0.6 else start * chance.choice(FACTORS)
        spiked = chance.random() < 0.15
        courses[name] = Course(
            float(f"{start:.3g}"),
            float(f"{end:.3g}"),
            chance.choice((0, 3, 10, 40, 90, 140, 200, 240, 280, 294, 297)),
            chance.choice((1, 1, 10, 60, 150, 300)),
            chance.choice((0.0, 0.0, 0.01, 0.03, 0.1, 0.3)),
            chance.choice((1, 1, 1, 1, 5, 20)) if not name.startswith("val") else chance.choice((5, 10, 20, 40)),
            tuple(sorted(chance.sample(range(295), chance.choice((1, 2, 4, 8))))) if spiked else (),
            chance.choice((0.0, 3.0, 10.0, 100.0)) if spiked else 1.0,
        )
    asked = [s for s in SETTINGS if f'"{s}"' in source]
    asked += [s for s in SETTINGS if f'"{s}"' in whole and s not in asked and chance.random() < 0.5]
    asked += [s for s in SETTINGS if s not in asked and chance.random() < (0.3 if f".{s}" in source else 0.08)]
    settings = {s: chance.choice(SETTINGS[s]) for s in asked if chance.random() < 0.8}
    near = re.findall(r'open\.get\("([\w-]+)"', whole)
    relations = page.relations
    near += ["reward-collapse", "reward-peak-decline", *caused_by(rule), *relations.leads_to, rule]
    opened = {chance.choice(near): chance.choice((1, 2, 3)) for _ in range(chance.choice((0, 0, 1, 1, 2)))}
    return Context(
        rule,
        courses,
        settings,
        opened,
        chance.choice(("verl", "verl", "trl", "openrlhf", "nemo_rl", "slime")),
        chance.choice(("GRPO", "GRPO", "PPO", "DPO", "GSPO")),
        chance.choice((None, None, 20, 300, 400, 1000, 5000)),
        tuple(sorted(chance.sample(range(2, 299), chance.choice((1, 2, 4))))) if chance.random() < 0.1 else (),
        tuple(name for name in base if name not in courses and chance.random() < 0.1),
    )


def lean(context: Context, detect: Detect[Look], told: list[Mutated]) -> Context:
    """The context without what it does not need to tell these mutants from the rule."""

    def still(less: Context) -> bool:
        run = Says(less)
        right = run.of(detect)
        return all(m.says(run) != right for m in told)

    for part in ("settings", "opened", "courses"):
        for name in list(getattr(context, part)):
            less = replace(context, **{part: {k: v for k, v in getattr(context, part).items() if k != name}})
            context = less if still(less) else context
    plain: list[dict[str, Any]] = [
        {"absent": ()},
        {"restarts": ()},
        {"planned": None},
        {"algorithm": "GRPO"},
        {"framework": "verl"},
    ]
    for change in plain:
        less = replace(context, **change)
        context = less if less != context and still(less) else context
    return context


def search(
    rule: str, tries: int, chance: random.Random, kept: list[tuple[Context, str]]
) -> tuple[list[tuple[Context, str]], list[str]]:
    (detect,) = (one.detect for one in REGISTERED if one.rule == rule and one.sees is Look)
    alive = list(mutants(rule, detect))
    every = len(alive)
    for context, _ in kept:
        run = Says(context)
        right = run.of(detect)
        alive = [m for m in alive if m.says(run) == right]
    alive = [m for m in alive if not turned(rule, m)]
    new: list[tuple[Context, str]] = []
    idle = 0
    for _ in range(tries):
        idle += 1
        if not alive or idle > IDLE:
            break
        context = drawn(rule, detect, chance)
        if new and chance.random() < 0.4:  # near one that told something
            other = chance.choice(new)[0]
            context = replace(
                context,
                courses=other.courses | {n: c for n, c in context.courses.items() if chance.random() < 0.3},
                settings=other.settings | {n: c for n, c in context.settings.items() if chance.random() < 0.3},
                framework=other.framework,
                algorithm=other.algorithm,
                planned=other.planned,
            )
        run = Says(context)
        right = run.of(detect)
        if set(right.split(":")[0].split()[0]) <= {"0", "-"} and chance.random() < 0.7:
            continue
        left = [m for m in alive if m.says(run) == right]
        if len(left) < len(alive):
            idle = 0
            told = [m for m in alive if m not in left]
            context = lean(context, detect, told)
            new.append((context, Says(context).of(detect)))
            alive = left
    print(
        f"{rule}: {every} mutants, {len(new)} new contexts, {len(alive)} left: {[m.name[:60] for m in alive]}",
        flush=True,
    )
    return new, [m.name for m in alive]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.search")
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="0/1", help="of the rules, e.g. 1/2")
    parser.add_argument("rules", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = contexts.kept()
    part, of = map(int, args.part.split("/"))
    for n, (rule, group) in enumerate(swept().items()):
        if n % of != part or (args.rules and rule not in args.rules):
            continue
        new, _ = search(rule, args.tries, random.Random(f"{rule} {args.seed}"), kept.get(rule, []))
        with (contexts.HERE / f"{group}.jsonl").open("a", encoding="utf-8") as out:
            out.write("".join(contexts.line(context, says) + "\n" for context, says in new))


if __name__ == "__main__":
    main()
