"""The budgets of speed and size, measured: `python -m tests.bench [ID ...]`; exit code 1 if a must is missed.

Each figure is measured beside its baseline, in turn with it: plain Python, orjson, polars, a bare Textual app, and with
`--peers` (a virtual environment) `wandb leet` and TensorBoard's own reader. Inputs are written once and kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import reading, remote, screen
from tests.bench.result import HEAD, Result, line, table
from tests.bench.setting import Setting

BENCHES: dict[tuple[str, ...], Callable[[Setting], Iterator[Result]]] = {
    **screen.BENCHES,
    **reading.BENCHES,
    **remote.BENCHES,
}
PEERS = "RLTUI_BENCH_PEERS"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measures the budgets.")
    parser.add_argument("ids", nargs="*", metavar="ID", help="P2 P3 ... (default: all); those measured together come")
    parser.add_argument("--times", type=int, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=20, help="length of a window")
    parser.add_argument("--inputs", type=Path, default=Path(tempfile.gettempdir()) / "rltui-bench")
    parser.add_argument("--peers", type=Path, default=os.environ.get(PEERS), help=f"default: ${PEERS}")
    args = parser.parse_args()
    known = {id_ for ids in BENCHES for id_ in ids}
    if unknown := sorted(set(args.ids) - known):
        parser.error(f"{', '.join(unknown)}: no such budget; there are {', '.join(sorted(known))}")
    of = Setting(args.times, args.steps, args.seconds, args.inputs, args.peers and Path(args.peers))
    results: list[Result] = []
    print(HEAD)
    for ids, measure in BENCHES.items():
        if args.ids and not set(ids) & set(args.ids):
            continue
        try:
            for result in measure(of):
                results.append(result)
                print(line(result), flush=True)
        except Exception as error:  # the rest is measured all the same
            for id_ in ids:
                results.append(Result(id_, "failed", float("nan"), 0, 0, why=f"{type(error).__name__}: {error}"[:300]))
                print(line(results[-1]), flush=True)
    results.sort(key=lambda result: int("".join(filter(str.isdigit, result.id))))
    print(f"\n{table(results)}")
    return 1 if any(result.missed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
