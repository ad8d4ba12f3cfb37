"""`rltui verify` as one file, for a training environment that has numpy and not rltui: a zip file that Python runs.

The probes import the standard library and numpy alone. What else this package needs of rltui is named here.
"""

from __future__ import annotations

import argparse
import os
import sys
import zipfile
from contextlib import redirect_stdout
from pathlib import Path

from rltui.verify import STAGES, verify
from rltui.verify.adapters import BadAdapters, example, load
from rltui.verify.batch import BadBatch, how, read
from rltui.verify.check import Check, as_json, as_text
from rltui.verify.mutants import seen
from rltui.verify.replay import replayed

BESIDE = ("__init__.py", "text.py", "lazy_regex.py", "secret_names.json")
"""What of rltui goes into the file beside the probes."""
NOT_ALONE = ("log.py",)
"""Modules of the probes that need the readers of rltui."""
MAIN = "from rltui.verify.alone import main\n\nraise SystemExit(main())\n"


class CannotCheck(Exception):  # noqa: N818
    """A file cannot be used. The message says which one and what to do."""


def checks_of(adapters: str | None, batch: str | None, mutants: bool) -> list[Check]:
    """The checks of the user's functions and of a dumped batch. Raises `CannotCheck`."""
    checks: list[Check] = []
    try:
        if adapters is not None:
            with redirect_stdout(sys.stderr):  # what the user's functions print is not part of the result
                given = load(adapters)
                checks += verify(given)
                checks += seen(given, STAGES) if mutants else []
    except BadAdapters as problem:
        raise CannotCheck(f"--adapters {adapters}: {problem}") from None
    try:
        return checks if batch is None else checks + replayed(read(batch))
    except BadBatch as problem:
        raise CannotCheck(f"--batch {batch}: {problem}") from None


def pack(path: str) -> None:
    """Writes the one file. Raises `OSError`."""
    own = Path(__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("__main__.py", MAIN)
        for name in BESIDE:
            out.write(own.parent / name, f"rltui/{name}")
        for file in sorted(own.glob("*.py")):
            if file.name not in NOT_ALONE:
                out.write(file, f"rltui/verify/{file.name}")


def main(words: list[str] | None = None) -> int:
    """The command line of the one file. Returns the exit code: 0 done, 1 a violation, 2 wrong usage."""
    parser = argparse.ArgumentParser(description="Checks the arithmetic of a training pipeline. Needs numpy alone.")
    parser.add_argument("--adapters", metavar="FILE", help="a Python file that provides your functions (it is run)")
    parser.add_argument("--mutants", action="store_true", help="spoil your functions too: would the probes see it?")
    parser.add_argument("--batch", metavar="FILE", help="one dumped batch (.npz, .safetensors, .pt), to be recomputed")
    parser.add_argument("--batch-help", action="store_true", help="print how to dump a batch from several trainers")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--example", action="store_true", help="print a file for --adapters to start from")
    args = parser.parse_args(words)
    if args.example or args.batch_help:
        print(example() if args.example else how(), end="")
        return 0
    if args.adapters is None and (args.batch is None or args.mutants):
        parser.error("it needs --adapters FILE or --batch FILE (--example prints a file to start from)")
    try:
        checks = checks_of(args.adapters, args.batch, args.mutants)
    except CannotCheck as problem:
        print(f"{os.path.basename(sys.argv[0])}: {problem}", file=sys.stderr)
        return 2
    print(as_json(checks) if args.format == "json" else as_text(checks), end="")
    return 1 if any(check.mark == "!!" for check in checks) else 0
