"""Tables as people write and download them, through the command line."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, refused, reported

N = 30
ROWS = [(s, round(0.2 + 0.01 * s, 4), round(0.001 * s, 4)) for s in range(1, N + 1)]


def table(separator: str = ",", head: str = "step,reward,kl", rows: list[tuple[float, ...]] | None = None) -> str:
    lines = [head, *(",".join(map(str, row)) for row in rows or ROWS)]
    return "".join(line.replace(",", separator) + "\n" for line in lines)


STYLES: dict[str, str] = {
    "commas": table(),
    "tabs": table("\t"),
    "semicolons": table(";"),
    "pipes": table("|"),
    "blanks": table("  "),
    "date and time first": "date time step reward kl\n"
    + "".join(f"2026-05-01 10:{s:02}:00 {s} {r} {k}\n" for s, r, k in ROWS),
    "blanks behind commas": table(", ", "Step,Mean Reward,KL Divergence"),
    "capitals": table(head="Step,Reward,KL"),
    "no step": table(head="reward,kl", rows=[row[1:] for row in ROWS]),
    "the index of pandas": table(head=",reward,kl"),
    "a comment before it": "# grpo, lr 1e-6\n\n" + table(),
    "a commented header": "# " + table(" "),
    "printed by pandas": "    step reward kl\n" + "".join(f"{s - 1:<3} {s:>4} {r:.4f} {k:.4f}\n" for s, r, k in ROWS),
    "in blocks of columns, as pandas prints wide frames": "    step  reward  \\\n"
    + "".join(f"{s - 1:<3} {s:>4}  {r:.4f}   \n" for s, r, _ in ROWS)
    + "\n        kl  \n" + "".join(f"{s - 1:<3} {k:.4f}  \n" for s, _, k in ROWS),
    "an index that pandas names": "      reward      kl\nstep                \n"
    + "".join(f"{s:<4}  {r:.4f}  {k:.4f}\n" for s, r, k in ROWS),
    "Markdown": "| step | reward | kl |\n|---:|---:|---:|\n" + "".join(f"| {s} | {r} | {k} |\n" for s, r, k in ROWS),
    "text beside": "step,reward,kl,note\n" + "".join(f'{s},{r},{k},"fine, so far"\n' for s, r, k in ROWS),
    "a column twice": "step,reward,kl,kl\n" + "".join(f"{s},{r},{k},{k}\n" for s, r, k in ROWS),
    "words above it": "Training log\n" + "-" * 30 + "\n" + table("   ", "Step,Reward,KL"),
    "the header again": table(rows=ROWS[:9]) + table(rows=ROWS[9:]),
    "one value a row": "step,metric,value\n" + "".join(f"{s},reward,{r}\n{s},kl,{k}\n" for s, r, k in ROWS),
    "value, run and tag": "run,tag,step,value\n" + "".join(f"x,reward,{s},{r}\nx,kl,{s},{k}\n" for s, r, k in ROWS),
    "steps as columns": "metric," + ",".join(str(s) for s, _, _ in ROWS) + "\n"
    + "reward," + ",".join(str(r) for _, r, _ in ROWS) + "\nkl," + ",".join(str(k) for _, _, k in ROWS) + "\n",
}  # fmt: skip


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_table_of_any_style(text: str, tmp_path: Path) -> None:
    (tmp_path / "history.txt").write_text(text)
    report = reported(tmp_path / "history.txt")
    assert report["run"]["steps"]["rows"] == N
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "kl_ref") == (N, 0.001, 0.03)
    assert report["run"]["restarts"] == []


def test_percentages(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("step,accuracy,kl\n" + "".join(f"{s},{s}.5%,0.1\n" for s in range(1, 20)))
    assert ends(reported(tmp_path), "score_mean") == (19, 0.015, 0.195)


def test_more_columns_from_some_row_on(tmp_path: Path) -> None:
    wider = table(head="step,reward,kl,entropy", rows=[(*row, 0.5) for row in ROWS[9:]])
    (tmp_path / "m.csv").write_text(table(rows=ROWS[:9]) + wider)
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "entropy") == (N - 9, 0.5, 0.5)


@pytest.mark.parametrize("name", ["m.csv", "m.tsv"])
def test_packed_and_in_other_encodings(name: str, tmp_path: Path) -> None:
    text = STYLES["tabs" if name.endswith("tsv") else "commas"]
    for suffix, data in (
        ("", text.encode("utf-16")),
        ("", b"\xef\xbb\xbf" + text.encode()),
        (".gz", gzip.compress(text.encode())),
        (".bz2", bz2.compress(text.encode())),
    ):
        (tmp_path / f"{name}{suffix}").write_bytes(data)
        assert ends(reported(tmp_path / f"{name}{suffix}"), "reward_mean") == (N, 0.21, 0.5)


def test_rows_of_samples_and_of_evaluations(tmp_path: Path) -> None:
    rows = "".join(f"{s},{j},{s + j % 2},train\n" for s in range(1, 11) for j in range(4))
    held_out = "".join(f"{s},0,0.25,eval\n" for s in (5, 10))
    (tmp_path / "m.csv").write_text("step,sample,reward,split\n" + rows + held_out)
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (10, 1.5, 10.5)
    assert ends(report, "val_score") == (2, 0.25, 0.25)
    assert "averaged by step: 40" in report["run"]["sources"][0]["note"]


def charts(kind: str, folder: Path) -> None:
    """A chart a file, as each tracker has them downloaded."""
    for at, tag in ((1, "reward"), (2, "kl")):
        if kind == "W&B":
            name, head = (
                f"wandb_export_2026-01-0{at}T10_00_00.000+01_00.csv",
                '"Step","sun-1 - {0}","sun-1 - {0}__MIN","sun-1 - {0}__MAX"',
            )
            lines = [f'"{row[0]}","{row[at]}","{row[at]}","{row[at]}"' for row in ROWS]
        elif kind == "TensorBoard":
            name, head = f"run-sun-tag-train_{tag}.csv", "Wall time,Step,Value"
            lines = [f"{1.7e9 + row[0]},{row[0]},{row[at]}" for row in ROWS]
        elif kind == "MLflow":
            name, head = f"{tag}.csv", "run_id,key,value,step,timestamp"
            lines = [f"ab12,{tag},{row[at]},{row[0]},{1_700_000_000_000 + row[0]}" for row in ROWS]
        else:
            name, head = f"{tag}.csv", "step,value"
            lines = [f"{row[0]},{row[at]}" for row in ROWS]
        (folder / name).write_text("\n".join([head.format(tag), *lines, ""]))


@pytest.mark.parametrize("kind", ["W&B", "TensorBoard", "MLflow", "own"])
def test_charts_that_were_downloaded_one_by_one_are_one_run(kind: str, tmp_path: Path) -> None:
    charts(kind, tmp_path)
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "kl_ref") == (N, 0.001, 0.03)


def test_one_metric_of_two_runs_is_two_runs(tmp_path: Path) -> None:
    for name in ("lr5", "lr6"):
        (tmp_path / f"{name}.csv").write_text(table(head="step,reward", rows=[row[:2] for row in ROWS]))
    assert ends(reported(tmp_path / "lr5.csv"), "reward_mean") == (N, 0.21, 0.5)
    with pytest.raises(AssertionError, match="holds 2 runs"):
        reported(tmp_path)


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("run,step,reward", [f"{run},{s},{r * by}" for run, by in (("a", 1), ("b", 2)) for s, r, _ in ROWS]),
        ("step,run,reward", [f"{s},{run},{r * by}" for s, r, _ in ROWS for run, by in (("a", 1), ("b", 2))]),
        ("Step,a - train/reward,b - train/reward", [f"{s},{r},{r * 2}" for s, r, _ in ROWS]),
    ],
    ids=["one behind the other", "row by row", "column by column"],
)
def test_each_run_of_a_table_is_a_run(head: str, rows: list[str], tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("\n".join([head, *rows, ""]))
    assert ends(reported(Path(f"{tmp_path}/m.csv#a")), "reward_mean") == (N, 0.21, 0.5)
    assert ends(reported(Path(f"{tmp_path}/m.csv#b")), "reward_mean") == (N, 0.42, 1.0)


NO_RUNS = {
    "people": "name,city\nbob,paris\n",
    "results": "model,accuracy,length\nqwen,0.5,100\nllama,0.25,90\n",
    "prose": "Dear diary\nnothing happened here\n" * 9,
    "processes": "  PID TTY      TIME CMD\n   10 pts/0 00:00:01 bash\n   11 pts/0 00:00:02 vim\n",
    "examples": "id,question,answer\n1,what,4\n2,why,5\n",
}


@pytest.mark.parametrize("text", NO_RUNS.values(), ids=NO_RUNS)
def test_a_table_of_something_else_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert "--format-in" in refused(tmp_path / "t.csv")


def test_numbers_without_names_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("".join(f"{s},{r},{k}\n" for s, r, k in ROWS))
    assert "name them in a first line, as in step,loss,reward" in refused(tmp_path / "t.csv")


PAGES = {
    "a table": "# Run 12\n\nGRPO, lr 1e-6.\n\n" + STYLES["Markdown"] + "\nIt went well.\n",
    "a log": "# Run 12\n\n```\n" + "".join(f"step {s}: reward={r} kl={k}\n" for s, r, k in ROWS) + "```\nWell.\n",
}  # fmt: skip


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
def test_a_page_of_notes_that_the_user_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "NOTES.md").write_text(text)
    report = reported(tmp_path / "NOTES.md")
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "kl_ref") == (N, 0.001, 0.03)


def test_a_page_of_notes_in_a_folder_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "NOTES.md").write_text(PAGES["a table"])
    assert "no training log recognised" in refused(tmp_path)


BETWEEN = ("  eval @ {step}: acc {score}", "eval step {step}: acc={score}", "validation accuracy: {score}")


@pytest.mark.parametrize("first", [10, 100])
@pytest.mark.parametrize("between", BETWEEN)
def test_what_a_loop_prints_between_the_rows_below_its_header(between: str, first: int, tmp_path: Path) -> None:
    """No such line is a row of the table, nor another header; the evaluations count."""
    lines = ["step reward kl"]
    for step in range(1, 161):
        lines.append(f"{step:4} {step / 200:.4f} {step / 1000:.5f}")
        if step >= first and step % 10 == 0:
            lines.append(between.format(step=step, score=step / 400))
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    report = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == 160
    assert ends(report, "reward_mean") == (160, 0.005, 0.8)
    assert ends(report, "kl_ref") == (160, 0.001, 0.16)
    assert ends(report, "val_score") == (16 - first // 10 + 1, first / 400, 0.4)
