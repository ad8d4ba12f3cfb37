"""`rltui compare`: runs side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rltui.cli.arguments import (
    WHERE,
    Stop,
    command_parser,
    locate_runs,
    output_option,
    parsed_map,
    reading_options,
    write,
)
from rltui.settings import load

if TYPE_CHECKING:
    from rltui.discovery.found import Found


def told(found: Sequence[Found]) -> Iterator[Found]:
    """Yields the runs one by one. A terminal shows which one is being read, because reading many runs takes a while."""
    from rltui.cli.arguments import Progress
    from rltui.text import clean

    with Progress() as progress:
        for number, one in enumerate(found, 1):
            if len(found) > 1:
                progress.say(f"reading {number} of {len(found)}: {clean(one.candidate.id, 50)}")
            yield one


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui compare", "Sets runs side by side: Good, Bad, Ugly, cost, settings, what to run next.", WHERE
    )
    parser.add_argument("run", nargs="+", metavar="RUN", help="where the runs are, see below")
    parser.add_argument(
        "--primary", metavar="KEY", help="rank by this metric (default: one that is guessed, and shown)"
    )
    parser.add_argument("--lower-is-better", action="store_true", help="the lowest value of --primary is the best")
    parser.add_argument(
        "--cost", choices=("tokens", "gpu_hours", "hours", "steps"), help="the cost on the Pareto front"
    )
    parser.add_argument(
        "--diff", nargs=2, metavar=("A", "B"), help="only list the config keys in which two runs (by id) differ"
    )
    parser.add_argument("--latest", type=int, metavar="N", help="only the newest N runs that pass the other filters")
    parser.add_argument(
        "--state",
        choices=("any", "running", "stalled", "finished", "crashed", "unknown"),
        help="only runs in this state",
    )
    parser.add_argument("--id", action="append", default=[], metavar="GLOB", help="only runs whose id or path fits")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="GLOB", help="only runs whose tag, name or project fits"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="EXPR",
        help="only runs whose config says so: lr>=1e-6, model~*7b*",
    )
    parser.add_argument("--top", type=int, default=12, metavar="N", help="rows of a table in Markdown (default: 12)")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="default: markdown")
    output_option(parser)
    reading_options(parser)
    args = parser.parse_args(words)
    for name in ("latest", "top"):
        if (count := getattr(args, name)) is not None and count < 1:
            raise Stop(f"--{name} needs a number of runs, 1 or more")
    own = load().compare
    primary, cost = args.primary or own.primary or None, args.cost or own.cost or None
    lower = args.lower_is_better or (own.lower_is_better and primary == own.primary)
    found = locate_runs(args.run, args.format_in, args.line)
    from rltui.compare.build import compare
    from rltui.compare.filters import BadFilter, Filters, chosen
    from rltui.compare.read import read
    from rltui.evidence.guard import error_text

    faults: list[Exception] = []

    def lost(one: Found, error: Exception) -> None:
        faults.append(error)
        print(f"rltui: {one.candidate.id}: left out, by a fault of rltui: {error_text(error)}", file=sys.stderr)

    filters = Filters(args.latest, args.state, tuple(args.id), tuple(args.tag), tuple(args.where))
    try:
        read_runs = read(told(found), parsed_map(args.map), primary, lost)
        runs = chosen(read_runs, filters)
    except BadFilter as problem:
        raise Stop(f"--where {problem}") from None
    if not runs and faults:
        raise faults[0]
    if not runs:
        raise Stop(f"compare: none of the {len(read_runs)} runs found passes the filters")
    logged = {key for one in runs for key in one.curves}
    if primary and not args.primary and not any(key == primary or key.startswith(f"{primary}:") for key in logged):
        primary, lower = None, args.lower_is_better  # the metric in the settings belongs to other runs
    if args.primary and not any(key == primary or key.startswith(f"{primary}:") for key in logged):
        raise Stop(f"--primary {args.primary}: none of the {len(runs)} runs logs this metric")
    unknown = [name for name in args.diff or () if name not in {run.id for run in runs}]
    if unknown:
        raise Stop(f"--diff {unknown[0]}: no such run. Runs are {', '.join(run.id for run in runs[:12])}")
    comparison = compare(
        runs,
        primary=primary,
        lower_is_better=lower,
        cost=cost,
        pair=tuple(args.diff) if args.diff else None,
    )
    if args.format == "json":
        from rltui.compare.model import to_json

        write(to_json(comparison), args.output)
    else:
        from rltui.compare.markdown import render

        write(render(comparison, args.top), args.output)
    if faults:  # the comparison lacks one of its runs
        raise faults[0]
    return 0
