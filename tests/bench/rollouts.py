"""A dump of 100,000 samples: how long it takes to open, to move by a row, to sort and to search.

`python -m tests.bench.rollouts` writes the dump, measures in a fresh process and prints its figures against the
budgets.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GROUP = 8
ROWS = 200
BUDGETS = {  # seconds: must, aim
    "open": (1.0, 0.6),
    "row": (0.03, 0.01),
    "sort": (1.0, 0.3),
    "search": (3.0, 1.0),
}
"""`open`: a dump is on the screen in under a second. `row`: what P13 leaves for the answer between key and repaint."""


def write(folder: Path, samples: int) -> Path:
    """A verl run with one dump of so many samples, 60 words each, in groups of eight."""
    run = folder / f"rollouts-{samples}"
    dump = run / "rollouts" / "1.jsonl"
    if dump.exists():
        return run
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(2000)]
    dump.parent.mkdir(parents=True, exist_ok=True)
    (run / "train.log").write_text(
        "".join(f"step:{n} - critic/score/mean:0.5 - actor/lr:1e-06 - training/global_step:{n}\n" for n in range(8))
    )
    with dump.open("w") as file:
        for i in range(samples):
            text = " ".join(rng.choices(words, k=60))
            record = {
                "input": f"What is {i // GROUP}? {words[i // GROUP % len(words)]}",
                "output": f"<think>{text}</think><answer>{i}</answer>",
                "score": float(i % 3 == 0),
                "step": 1,
                "gts": str(i),
                "acc": i % 3 == 0,
            }
            file.write(json.dumps(record) + "\n")
    return run


def measure(path: str) -> dict[str, float]:
    """Seconds of CPU, from a run that is open to the page of its dump; then per row, for another order, for a text."""
    from rltui.report.rollouts_page import Query, RolloutBrowser
    from rltui.session.locate import locate
    from rltui.session.rollouts import open_rollouts
    from rltui.session.run_reader import RunReader
    from rltui.tui.lists import matches

    found = locate([path])[0]
    run = RunReader(found)
    run.load()
    start = time.process_time()
    browser = RolloutBrowser(open_rollouts(found, run.run), run.run.framework)
    page = browser.page(Query())
    opened = time.process_time() - start
    assert page.total, "nothing was opened"
    rows = []
    for row in range(ROWS):
        at = time.process_time()
        browser.page(Query(row=row * page.total // ROWS))
        rows.append(time.process_time() - at)
    at = time.process_time()
    browser.page(Query(listed="samples", order="tokens"))
    sort = time.process_time() - at
    at = time.process_time()
    hits = browser.page(Query(listed="samples", pattern="<answer>77777<", passes=partial(matches, "<answer>77777<")))
    search = time.process_time() - at
    assert hits.total <= 1
    return {"open": opened, "row": statistics.median(rows), "sort": sort, "search": search}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rollouts", description="Measures a large dump.")
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3, help="processes, of which the fastest counts")
    parser.add_argument("--inputs", type=Path, default=Path(tempfile.gettempdir()) / "rltui-bench")
    parser.add_argument("--path", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.path:
        print(json.dumps(measure(args.path)))
        return 0
    run = write(args.inputs, args.samples)
    command = [sys.executable, "-m", "tests.bench.rollouts", "--path", str(run)]
    each = [
        json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
        for _ in range(args.times)
    ]
    missed = 0
    for name, (must, aim) in BUDGETS.items():
        value = min(found[name] for found in each)
        missed += value > must
        word = "MISSED" if value > must else "ok" if value > aim else "ok, aim met"
        print(f"{name:8} {value:8.3f} s of CPU  (must {must:g}, aim {aim:g})  {word}  {args.samples:,} samples")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
