"""`rltui compare`: runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rltui.cli.arguments import Stop, command_parser, locate_runs, parsed_map, reading_options, write
from rltui.settings import load

if TYPE_CHECKING:
    from rltui.discovery.found import Found


def told(found: Sequence[Found]) -> Iterator[Found]:
    """The runs one after the other; a terminal is told which one is read, for many take a while."""
    from rltui.cli.arguments import Progress
    from rltui.text import clean

    with Progress() as progress:
        for number, one in enumerate(found, 1):
            if len(found) > 1:
                progress.say(f"reading {number} of {len(found)}: {clean(one.candidate.id, 50)}")
            yield one


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui compare", "Sets runs side by side: Good, Bad, Ugly, cost, settings, what to run next."
    )
    parser.add_argument("run", nargs="+", metavar="RUN")
    parser.add_argument("--primary", metavar="KEY", help="rank by this metric (default: a guess, which is shown)")
    parser.add_argument("--lower-is-better", action="store_true")
    parser.add_argument("--cost", choices=("tokens", "gpu_hours", "hours", "steps"), help="of the Pareto front")
    parser.add_argument("--diff", nargs=2, metavar=("A", "B"), help="ids of two runs: every config key that differs")
    parser.add_argument("--latest", type=int, metavar="N", help="the newest N of those that the other filters leave")
    parser.add_argument("--state", choices=("any", "running", "stalled", "finished", "crashed", "unknown"))
    parser.add_argument("--id", action="append", default=[], metavar="GLOB", help="runs of this id or path")
    parser.add_argument("--tag", action="append", default=[], metavar="GLOB", help="runs of this tag, name or project")
    parser.add_argument("--where", action="append", default=[], metavar="EXPR", help="config: lr>=1e-6, model~*7b*")
    parser.add_argument("--top", type=int, default=12, metavar="N", help="rows of a Markdown table")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    reading_options(parser)
    args = parser.parse_args(words)
    for name in ("latest", "top"):
        if (count := getattr(args, name)) is not None and count < 1:
            raise Stop(f"--{name} wants a number of runs, at least 1")
    own = load().compare
    primary, cost = args.primary or own.primary or None, args.cost or own.cost or None
    lower = args.lower_is_better or (own.lower_is_better and primary == own.primary)
    found = locate_runs(args.run, args.format_in, args.line)
    from rltui.compare.build import compare
    from rltui.compare.filters import BadFilter, Filters, chosen
    from rltui.compare.read import read

    filters = Filters(args.latest, args.state, tuple(args.id), tuple(args.tag), tuple(args.where))
    try:
        read_runs = read(told(found), parsed_map(args.map), primary)
        runs = chosen(read_runs, filters)
    except BadFilter as problem:
        raise Stop(f"--where {problem}") from None
    if not runs:
        raise Stop(f"compare: none of the {len(read_runs)} runs found passes the filters")
    logged = {key for one in runs for key in one.curves}
    if primary and not args.primary and not any(key == primary or key.startswith(f"{primary}:") for key in logged):
        primary, lower = None, args.lower_is_better  # the settings speak of other runs
    if args.primary and not any(key == primary or key.startswith(f"{primary}:") for key in logged):
        raise Stop(f"--primary {args.primary}: none of the {len(runs)} runs logs it")
    unknown = [name for name in args.diff or () if name not in {run.id for run in runs}]
    if unknown:
        raise Stop(f"--diff {unknown[0]}: no such run. There are {', '.join(run.id for run in runs[:12])}")
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
    return 0
