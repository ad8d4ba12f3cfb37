"""`rltui explain`: one rule, page or metric of the catalogue."""

from __future__ import annotations

from rltui.cli.arguments import Stop, command_parser, write


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui explain", "Prints a rule, a knowledge page or a metric. Without an id: the list of rules and pages."
    )
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="a finding's id, the name of a page, or a metric as in kl_ref"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    args = parser.parse_args(words)
    from rltui.report.explain import as_json, as_text, nearest

    explained = as_json(args.id) if args.format == "json" else as_text(args.id)
    if explained is None:
        near = nearest(args.id)
        raise Stop(f"explain {args.id}: no such rule, page or metric" + (f" (near: {', '.join(near)})" if near else ""))
    write(explained, None)
    return 0
