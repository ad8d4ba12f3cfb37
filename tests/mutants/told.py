"""Draws runs and keeps those on which a mutant of `rltui/evidence` or `rltui/diagnosis` tells something else.

    python -m tests.mutants.told [--tries 200] [--seed 1] [--seconds N] [--only TEXT ...]

Mutants that no kept run (`tests/unit/knowledge/told`) shows are looked for: constants times ten and by ten, elements of
lists dropped, comparisons turned. Of a run that shows some it keeps the places that show them, and the names of their
constants. Those that are left are named.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rltui.rules.catalogue import rules
from tests.conftest import REPO
from tests.mutants import code
from tests.mutants.draw import excluded
from tests.mutants.inplace import Edit, changed, edits
from tests.mutants.mutant import Mutant
from tests.mutants.reach import Lines, Tracer, lines_of
from tests.mutants.worker import Endless, ended_after
from tests.unit.knowledge.told import Held, Levels, Line, Written, kept, save, told

FOLDERS = ("rltui/evidence", "rltui/diagnosis")
USUAL = {
    "score_mean": 0.5, "reward_mean": 0.5, "kl_ref": 0.06, "entropy": 0.6, "grad_norm": 0.8, "clip_frac": 0.02,
    "response_length_mean": 400.0, "response_clip_ratio": 0.05, "time_per_step_s": 60.0, "frac_reward_zero_std": 0.2,
    "pg_loss": 0.01, "lr": 1e-6, "val_score": 0.5, "reward_std": 0.4, "reward_min": 0.0, "reward_max": 1.0,
    "score_min": 0.0, "score_max": 1.0, "val_score:math": 0.4, "val_score:code": 0.3, "total_tokens_step": 2e5,
    "phase:rollout": 30.0, "phase:update_actor": 15.0, "phase:reward": 5.0, "trainer_idle_ratio": 0.1, "ppo_kl": 1e-3,
    "rollout_train_logprob_diff": 0.01, "staleness_mean": 0.5, "tool_failure_rate": 0.1, "num_turns_mean": 3.0,
    "vf_loss": 0.3, "advantage_mean": 0.01,
}  # fmt: skip
SETTINGS: dict[str, tuple[Any, ...]] = {
    "temperature": (0.01, 0.05, 0.3, 0.59, 0.7, 1.0, 1.15, 1.3, 5.0, 12.0),
    "clip_low": (5e-5, 1e-3, 0.005, 0.02, 0.05, 0.2, 0.29, 0.4, 2.0),
    "clip_high": (5e-5, 1e-3, 0.005, 0.02, 0.05, 0.2, 0.29, 0.4, 2.0),
    "policy_loss_mode": ("gspo", "vanilla"),
    "kl_coef_loss": (0.0, 5e-6, 1e-3, 0.05, 0.6),
    "kl_coef_reward": (0.0, 5e-6, 1e-3, 0.05, 0.6),
    "kl_in_reward": (True, False),
    "use_kl_loss": (True, False),
    "norm_adv_by_std": (True, False),
    "adv_estimator": ("grpo", "gae", "rloo"),
    "max_response_length": (450, 512, 1024, 8192),
    "warmup_steps": (5, 50),
    "train_batch_prompts": (64,),
    "group_size": (8,),
    "lr": (1e-6, 1e-4),
    "loss_agg_mode": ("token-mean", "seq-mean-token-mean"),
}
MOST_LEAN = 3
"""A run that shows more mutants is kept as it was drawn: to see what it does not need takes too long."""
LONGEST_S = 1.0
"""Of the processor, for one run: a mutant may make a loop endless."""
COUNTS = (4, 5, 6, 9, 10, 11, 12, 15, 19, 20, 21, 25, 29, 30, 31, 40, 60, 99, 101, 120, 145, 200, 201, 260, 300, 520)


@dataclass(frozen=True)
class Alive:
    mutant: Mutant
    made: list[Edit]
    shows: Lines
    """Where; none: anywhere."""

    @property
    def name(self) -> str:
        return f"{self.mutant.path.removeprefix('rltui/')} {self.mutant.where.split(':')[0]}"


def population(only: list[str]) -> Iterator[Alive]:
    for folder in FOLDERS:
        for path in sorted((REPO / folder).glob("*.py")):
            text, name = path.read_text(encoding="utf-8"), path.relative_to(REPO).as_posix()
            for mutant in code.mutants(name, text):
                if excluded(mutant) or not any(text in f"{mutant.kind} {mutant}" for text in only):
                    continue
                try:
                    made, _ = edits(name, mutant.applied(text))
                except Exception:
                    continue  # it cannot be imported: any test sees it
                if made:
                    yield Alive(mutant, made, {(at, n) for at, lines in lines_of(mutant).items() for n in lines})
                else:
                    print(f"changes nothing that is reached: {mutant}")


def called(written: Written) -> tuple[dict[str, str], Lines]:
    """What is told of a run, and the lines that ran for it."""
    tracer = Tracer()
    sys.settrace(tracer)
    try:
        right = told(written)
    finally:
        sys.settrace(None)
    return right, {(path, line) for path, lines in tracer.told().items() for line in lines}


def reached(one: Alive, ran: Lines) -> bool:
    return not one.shows or bool(one.shows & ran)


def shown(one: Alive, written: Written, right: dict[str, str]) -> list[str]:
    """Places where the mutant puts something else: all, if it raises or does not end."""
    with changed(one.made):
        try:
            with ended_after(LONGEST_S):
                wrong = told(written)
        except (Exception, Endless):
            return list(right)
    return [at for at, text in right.items() if wrong.get(at) != text]


def line(chance: random.Random, usual: float, n: int) -> Line:
    def size() -> float:
        return float(f"{usual * chance.choice((0, 0.1, 0.4, 0.7, 0.9, 1, 1, 1, 1.02, 1.1, 1.3, 1.6, 2, 3, 12)):.3g}")

    points = [(0, size())]
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3))):
        at = points[-1][0] + max(1, int(n * chance.choice((0.02, 0.1, 0.2, 0.3, 0.45))))
        same = chance.random() < 0.25
        points.append((at, points[-1][1] if same else size()))
        if chance.random() < 0.4:
            points.append((at + chance.choice((1, 2, max(1, n // 6))), size()))
    spiked = chance.random() < 0.2
    return Line(
        tuple(points),
        chance.choice((0.0, 0.0, 0.001, 0.01, 0.03, 0.1, 0.3)),
        chance.choice((0.0, 0.0, 0.0, 0.1, 0.5)),
        max(4, n // chance.choice((1, 2, 3, 5, 8))),
        1,
        tuple(sorted(chance.sample(range(n), min(n, chance.choice((1, 2, 5)))))) if spiked else (),
        chance.choice((0.0, 1.35, 3.0, 15.0, 1e4)) if spiked else 1.0,
    )


def course(chance: random.Random, n: int) -> int | Levels:
    """A level, or how it changes: a notice that becomes loud, eases, falls silent, speaks again."""
    if chance.random() < 0.3:
        return chance.choice((1, 2, 3))
    rows = sorted(chance.sample(range(n), min(n, chance.choice((1, 2, 2, 3, 4)))))
    return tuple((row, chance.choice((-1, 0, 1, 2, 2, 3, 3))) for row in rows)


def speaker(chance: random.Random) -> str:
    """A rule; mostly one of those of which the judge knows more than how loud they are."""
    known = rules()
    marked = [rule for rule, page in known.items() if page.recovery is not None or page.traits]
    return chance.choice(marked if chance.random() < 0.8 else list(known))


def drawn(chance: random.Random) -> Written:
    n = chance.choice(COUNTS)
    speak = {speaker(chance): course(chance, n) for _ in range(chance.choice((0, 1, 1, 2, 3)))}
    judged = {moved for rule in speak for moved in (*rules()[rule].metrics[:1], recovers(rule)) if moved in USUAL}
    names = [name for name in USUAL if name in judged or chance.random() < 0.4] or ["score_mean"]
    lines = {}
    for name in names:
        lines[name] = line(chance, USUAL[name], n)
        if name.startswith("val_score"):
            lines[name] = replace(lines[name], every=chance.choice((1, 3, 10, 20)))
        elif chance.random() < 0.1:
            lines[name] = replace(lines[name], every=chance.choice((2, 5)))
    return Written(
        lines,
        n,
        {key: chance.choice(values) for key, values in SETTINGS.items() if chance.random() < 0.35},
        speak,
        chance.choice(("verl", "verl", "trl", "openrlhf", "slime", "prime_rl")),
        chance.choice(("GRPO", "GRPO", "PPO", "GSPO")),
        chance.choice((None, n, n + 1, int(n * 1.3) + 3, 3 * n, 10 * n)),
        (),
        chance.randrange(n),
        chance.choice((1, 1, 1, 5)),
        line(chance, 60.0, n) if chance.random() < 0.5 else None,
        tuple(sorted(chance.sample(range(1, n + 1), min(n, 3)))) if chance.random() < 0.3 else (),
        chance.choice((None, None, None, "finished", "crashed", "stalled", "unknown")),
    )


def recovers(rule: str) -> str | None:
    band = rules()[rule].recovery
    return None if band is None else band.metric


def lean(held: Held, told_by: list[Alive]) -> Held:
    """The run without what it does not need, and of its places as few as show these mutants."""

    def still(run: Written) -> bool:
        right = told(run)
        return all(shown(one, run, right) for one in told_by)

    run = held.run
    if len(told_by) > MOST_LEAN:
        return _places(run, told_by)
    for part in ("settings", "speak", "lines"):
        for name in list(getattr(run, part)):
            less = replace(run, **{part: {k: v for k, v in getattr(run, part).items() if k != name}})
            run = less if less.lines and still(less) else run
    return _places(run, told_by)


def _places(run: Written, told_by: list[Alive]) -> Held:
    right = told(run)
    says: dict[str, str] = {}
    for one in told_by:
        places = shown(one, run, right)
        if not set(places) & set(says):
            best = min(
                places, key=lambda at: (at.endswith(("text", "summary", "title", "would_change")), len(right[at]))
            )
            says[best] = right[best]
    return Held(run, says, tuple(sorted({one.name for one in told_by})))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.told")
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="of the processor, in all")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="only mutants with it in kind or place")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    held = kept()
    alive = list(population(args.only))
    every = len(alive)
    for one in held:
        right, ran = called(one.run)
        alive = [m for m in alive if not (reached(m, ran) and set(shown(m, one.run, right)) & set(one.says))]
    print(f"{every} mutants, {len(alive)} that no kept run shows", flush=True)
    chance = random.Random(args.seed)
    for number in range(args.tries):
        if not alive:
            break
        written = drawn(chance)
        right, ran = called(written)
        if time.process_time() > args.seconds:
            break
        found = [m for m in alive if reached(m, ran) and shown(m, written, right)]
        if found:
            held.append(lean(Held(written, {}, ()), found))
            save(held)
            alive = [m for m in alive if m not in found]
            print(f"{number}: {len(found)} shown, {len(alive)} left", flush=True)
    for one in alive:
        print(f"left: {one.mutant}")


if __name__ == "__main__":
    main()
