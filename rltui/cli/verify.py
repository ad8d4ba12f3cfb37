"""`rltui verify`: the arithmetic of a pipeline and of its log."""

from __future__ import annotations

from rltui.cli.arguments import ENDS_OF_VERIFY, Stop, command_parser, locate_runs, parsed_map, reading_options, write


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui verify", "Checks the arithmetic of a training pipeline, and the invariants of its log.", ENDS_OF_VERIFY
    )
    parser.add_argument("--adapters", metavar="FILE", help="a Python file that provides your functions (it is run)")
    parser.add_argument("--metrics", metavar="FILE", help="the log of a run, whose numbers are checked as well")
    parser.add_argument("--mutants", action="store_true", help="spoil your functions too: would the probes see it?")
    parser.add_argument("--batch", metavar="FILE", help="one dumped batch (.npz, .safetensors, .pt), to be recomputed")
    parser.add_argument("--batch-help", action="store_true", help="print how to dump a batch from several trainers")
    parser.add_argument(
        "--alone", metavar="FILE", help="write these checks as one file that needs Python and numpy alone"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--example", action="store_true", help="print a file for --adapters to start from")
    reading_options(parser)
    args = parser.parse_args(words)
    from rltui.verify.adapters import example
    from rltui.verify.alone import CannotCheck, checks_of, pack
    from rltui.verify.batch import how
    from rltui.verify.check import as_json, as_text

    if args.example:
        write(example(), None)
        return 0
    if args.mutants and args.adapters is None:
        raise Stop("--mutants needs --adapters FILE")
    if args.batch_help:
        write(how(), None)
        return 0
    if args.alone is not None:
        try:
            pack(args.alone)
        except OSError as problem:
            raise Stop(f"--alone {args.alone}: {problem.strerror or problem}") from None
        write(f"written to {args.alone}: python {args.alone} --adapters FILE\n", None)
        return 0
    if args.adapters is None and args.metrics is None and args.batch is None:
        raise Stop(
            "verify needs --adapters FILE, --batch FILE or --metrics FILE (--example prints a file to start from)"
        )
    try:
        checks = checks_of(args.adapters, args.batch, args.mutants)
    except CannotCheck as problem:
        raise Stop(str(problem)) from None
    if args.metrics is not None:
        from rltui.verify.log import verify_log

        found = locate_runs([args.metrics], args.format_in, args.line)
        if len(found) > 1:
            raise Stop(f"--metrics {args.metrics}: it holds {len(found)} runs, so name one")
        checks += verify_log(found[0], parsed_map(args.map))
    write(as_json(checks) if args.format == "json" else as_text(checks), None)
    return 1 if any(check.mark == "!!" for check in checks) else 0
