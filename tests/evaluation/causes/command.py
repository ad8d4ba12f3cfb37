"""Plants every cause in many runs and counts how often the report leads with it.

python -m tests.evaluation causes [--from SEED] [--seeds N] [--only WORDS] [--jobs J] [-v] [--keep DIR]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.evaluation.causes.case import PLANTS
from tests.evaluation.causes.measure import RESULTS, Told, ask


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation causes", description=__doc__)
    parser.add_argument("--from", dest="first", type=int, default=52000)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--only", default="", help="plants whose name holds these words")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true", help="every run whose true cause does not lead")
    parser.add_argument("--keep", type=Path, help="a folder for the files of the runs")
    given = parser.parse_args(arguments)
    names = [name for name in PLANTS if given.only in name]
    asked = [(name, seed, given.keep) for name in names for seed in range(given.first, given.first + given.seeds)]
    with ProcessPoolExecutor(given.jobs) as pool:
        answers = list(pool.map(ask, *zip(*asked, strict=True), chunksize=4))
    print(table(names, answers))
    if given.verbose:
        for one in answers:
            if one.result != "leads" or one.refuted:
                print(f"\n{one.plant} {one.seed} ({one.kind}): {one.result}{', refuted' if one.refuted else ''}")
                print(f"  {one.what}\n  {one.why}\n  {', '.join(one.findings)}")


def table(names: Sequence[str], answers: Sequence[Told]) -> str:
    """A row a plant, the last one for all."""
    lines = [f"| planted | runs | {' | '.join(RESULTS)} | refuted shown |", f"|{'---|' * (len(RESULTS) + 3)}"]
    for name in [*names, "all"]:
        of = [one for one in answers if name in (one.plant, "all")]
        counted = Counter(one.result for one in of)
        each = " | ".join(str(counted[result]) for result in RESULTS)
        lines.append(f"| {name} | {len(of)} | {each} | {sum(one.refuted for one in of)} |")
    return "\n".join(lines)
