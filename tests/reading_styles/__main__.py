"""Counts: see the package."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.reading_styles.check import compare, read
from tests.reading_styles.styles import log
from tests.reading_styles.titles import MEASURED, titled_log


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m tests.reading_styles")
    words.add_argument("--n", type=int, default=500)
    words.add_argument("--seed", type=int, default=1, help="of the first")
    words.add_argument("--show", type=int, help="print the log of a seed and what is wrong with it")
    words.add_argument(
        "--titled", action="store_true", help="logs whose steps have titles; other lines are not compared"
    )
    given = words.parse_args()
    seeds = range(given.seed, given.seed + given.n) if given.show is None else [given.show]
    total: Counter[str] = Counter()
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            one = titled_log(seed) if given.titled else log(seed)
            found = read(one, Path(folder))
            if given.titled:
                found = {step: {name: x for name, x in row.items() if name in MEASURED} for step, row in found.items()}
            outcome = compare(one, found)
            total += outcome.cells
            right += outcome.is_right
            if given.show is not None:
                print(one.text[:4000])
            if not outcome.is_right:
                print(f"{seed}: {one.told}\n    " + "\n    ".join(outcome.examples[:3]), flush=True)
    print(f"{right} of {len(seeds)} styles wholly right; cells: {dict(total)}")


if __name__ == "__main__":
    main()
