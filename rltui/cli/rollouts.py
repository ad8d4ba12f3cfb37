"""`rltui rollouts`: what the policy wrote."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rltui.cli.arguments import WHERE, Stop, command_parser, locate_runs, name_of, parsed_map, reading_options, write

if TYPE_CHECKING:
    from rltui.rollouts.index import RolloutIndex

ONLY = ("truncated", "empty", "repeated", "invalid", "zero-variance")


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui rollouts", "Shows what the policy wrote: a table of steps, and one step with its best and worst.", WHERE
    )
    parser.add_argument("run", metavar="RUN", help="where the run is, see below")
    parser.add_argument("--step", type=int, metavar="N", help="the step to show in full (default: the newest)")
    parser.add_argument("--validation", action="store_true", help="show the rollouts of validation")
    parser.add_argument("--same-prompt", action="store_true", help="follow one prompt across the steps")
    parser.add_argument("--sort", choices=("reward", "advantage", "length"), help="list samples, the highest first")
    parser.add_argument("--reverse", action="store_true", help="with --sort: the lowest first")
    parser.add_argument("--only", choices=ONLY, help="list samples of this kind")
    parser.add_argument("--search", default="", metavar="TEXT", help="list samples with TEXT in prompt or response")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="list N samples at most (default: 10)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    reading_options(parser)
    args = parser.parse_args(words)
    try:
        found = locate_runs([args.run], args.format_in, args.line)
    except Stop:
        from rltui.session.rollouts import dumps_alone

        alone = dumps_alone(args.run)
        if alone is None:
            raise
        return _told(args, alone, os.path.basename(os.path.abspath(args.run)), args.run, None)
    if len(found) > 1:
        names = "\n".join(f"  {name_of(f, found)}" for f in found[:20])
        raise Stop(f"{args.run} holds {len(found)} runs: name one\n{names}")
    from rltui.session.rollouts import dumps_alone, open_rollouts
    from rltui.session.run_reader import RunReader

    opened = RunReader(found[0], key_map=parsed_map(args.map))
    opened.load()
    run = opened.run
    index = open_rollouts(found[0], run, opened.dumps())
    opened.close()
    if not index.entries and (alone := dumps_alone(args.run)) is not None:
        index = alone  # there are only samples: the run was made from their means
    return _told(args, index, run.id, run.path, run.framework)


def _told(args: argparse.Namespace, index: RolloutIndex, name: str, path: str, framework: str | None) -> int:
    """Prints what the arguments ask for."""
    from rltui.report.rollouts import SampleChoice, collect, to_json
    from rltui.report.rollouts_text import render

    entry = None
    if index.entries and (args.step is not None or args.validation):
        entry = index.nearest(args.step, "validation" if args.validation else None)
        if entry is None or (args.step is not None and entry.step != args.step):
            asked = f"step {args.step}" if args.step is not None else "validation"
            near = f", the nearest is step {entry.step}" if entry is not None and entry.step is not None else ""
            raise Stop(f"{args.run}: no rollouts of {asked}{near}")
    choice = None
    if args.sort or args.only or args.search or args.reverse:
        choice = SampleChoice(args.only, args.search, args.sort or "file", args.reverse, max(0, args.limit))
    report = collect(index, name, path, framework, entry, args.same_prompt, choice)
    write(to_json(report) if args.format == "json" else render(report), None)
    return 0
