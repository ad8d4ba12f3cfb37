"""`rltui export`: the history of a run, for other programs."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from typing import TYPE_CHECKING

from rltui.cli.arguments import (
    WHERE,
    Stop,
    command_parser,
    locate_runs,
    name_of,
    output_option,
    parsed_map,
    reading_options,
    report_of,
)

if TYPE_CHECKING:
    import polars as pl

    from rltui.report.model import Report

FORMATS = ("csv", "parquet", "jsonl")
ROWS_AT_ONCE = 2000
STEP, TIME = "step", "time"


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui export",
        "Writes the history under the names that a report gives to the metrics, one row a step. A cell is empty "
        "(jsonl: its key is absent) if the metric was not logged at that step, NaN (jsonl: null) if it was logged as "
        "NaN or an infinity.",
        WHERE,
    )
    parser.add_argument("run", metavar="RUN", help="where the run is, see below")
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of FILE, or csv if it has none")
    output_option(parser)
    reading_options(parser)
    args = parser.parse_args(words)
    suffix = os.path.splitext(args.output or "")[1].removeprefix(".").lower()
    if suffix and args.format is None and suffix not in FORMATS:
        known = " or ".join(f".{one}" for one in FORMATS)
        raise Stop(f"{args.output}: no format has the ending .{suffix}. Use {known}, or add --format")
    chosen = args.format or suffix or "csv"
    if chosen == "parquet" and args.output is None and sys.stdout.isatty():
        raise Stop("parquet is a binary format: add -o FILE")
    found = locate_runs([args.run], args.format_in, args.line)
    if len(found) > 1:
        names = "\n".join(f"  {name_of(one, found)}" for one in found[:20])
        raise Stop(f"{args.run} holds {len(found)} runs: name one\n{names}")
    frame = history_table(report_of(found[0], parsed_map(args.map)))
    if not frame.height:
        raise Stop(f"{args.run}: no row was read, so there is nothing to export")
    _write(_bytes(frame, chosen), args.output)
    return 0


def history_table(report: Report) -> pl.DataFrame:
    """One row per step, in step order: `step`, `time` (UTC, null if unknown; left out if no row has one), and each
    metric under its name in the report, in its units. Null: not logged at that step; NaN: logged as NaN or an infinity.

    A metric that is itself called `step` or `time` becomes `step (logged)` or `time (logged)`.
    """
    import numpy as np
    import polars as pl

    run = report.recording.run
    columns: dict[str, pl.Series] = {STEP: pl.Series(run.steps)}
    if np.isfinite(run.times).any():
        stamps = pl.Series(run.times * 1000).fill_nan(None).round().cast(pl.Int64)
        columns[TIME] = stamps.cast(pl.Datetime("ms", "UTC"))
    for name, summary in report.metrics.items():
        series = report.recording.series[summary.key]
        at = run.steps.searchsorted(series.steps)
        values = np.full(run.rows, np.nan)
        held = np.zeros(run.rows, dtype=np.bool_)
        values[at], held[at] = series.values, True
        columns[f"{name} (logged)" if name in (STEP, TIME) else name] = (
            pl.DataFrame({"value": values, "held": held})
            .select(pl.when(pl.col("held")).then(pl.col("value")))
            .to_series()
        )
    return pl.DataFrame(columns)


def _bytes(frame: pl.DataFrame, chosen: str) -> bytes:
    out = BytesIO()
    if chosen == "parquet":
        frame.write_parquet(out)
    elif chosen == "csv":
        frame.write_csv(out, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
    else:
        import orjson

        for block in frame.iter_slices(ROWS_AT_ONCE):
            for row in block.iter_rows(named=True):
                out.write(orjson.dumps({key: cell for key, cell in row.items() if cell is not None}) + b"\n")
    return out.getvalue()


def _write(data: bytes, path: str | None) -> None:
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    try:
        with open(path, "wb") as out:
            out.write(data)
    except OSError as error:
        raise Stop(f"{path}: cannot be written ({error.strerror})") from None
