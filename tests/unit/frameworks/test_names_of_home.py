"""Names that loops of one's own print: short ones, with blanks, in other languages and letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.frameworks.resolve import resolve
from tests.unit.readers.reported import ends, reported

NAMES = {
    "time_per_step_s": ("duration", "took", "dur", "t/step", "s/step", "step time (ms)", "Schrittzeit", "Dauer"),
    "response_length_mean": ("Average sequence length", "mean_sequence_length", "Antwortlänge", "mittlere Länge"),
    "pg_loss": ("pg", "ploss", "pi_loss"),
    "vf_loss": ("vloss", "v_loss"),
    "grad_norm": ("grad", "Gradientennorm"),
    "throughput_tokens_per_gpu": ("tokens_per_second_per_gpu",),
    "kl_ref": ("D_KL", "KL_ref"),
    "reward_mean": ("R_mean", "train/rewards", "récompense moyenne", "Durchschnitt Belohnung"),
    "reward_std": ("Total rewards std", "Belohnung Standardabweichung", "Streuung Belohnung"),
    "score_mean": ("Train success rate", "train accuracy", "Erfolgsrate"),
    "frac_reward_zero_std": ("train/frac_zero_std_groups",),
    "phase:data_load": ("timing_s/data_load", "data_load_time"),
    "reward_component_mean": ("accuracy reward", "Format Reward", "length penalty"),
    "dpo_accuracy": ("Reward accuracy",),
}
NEAR = {
    "vf_loss": ("val loss", "vocab"),
    "entropy": ("H", "h", "train/H", "hours"),
    "time_per_step_s": ("val took", "tool duration", "eval/duration"),
    "grad_norm": ("grad scale", "grad accumulation"),
    "pg_loss": ("pgs", "pi"),
    "reward_component_mean": ("mean reward", "Train reward", "best reward"),
}


@pytest.mark.parametrize(("canonical", "key"), [(name, key) for name, keys in NAMES.items() for key in keys])
def test_what_people_write(canonical: str, key: str) -> None:
    assert resolve(key, None).canonical == canonical


@pytest.mark.parametrize(("canonical", "key"), [(name, key) for name, keys in NEAR.items() for key in keys])
def test_what_is_another_thing(canonical: str, key: str) -> None:
    assert resolve(key, None).canonical != canonical


def test_milliseconds_of_an_iteration(tmp_path: Path) -> None:
    line = "iteration {n}/ 90 | elapsed time per iteration (ms): {t:.1f} | mean reward: {x:.3E} | grad norm: 0.8 |\n"
    text = "".join(line.format(n=n, t=3000 + n * (-1) ** n, x=n / 100) for n in range(1, 41))
    (tmp_path / "train.log").write_text(text)
    assert ends(reported(tmp_path), "time_per_step_s") == (40, 2.999, 3.04)


@pytest.mark.parametrize(("beside", "is_it"), [("kl", True), ("width", False)])
def test_the_letter_of_entropy_beside_a_kl(beside: str, is_it: bool, tmp_path: Path) -> None:
    text = "".join(f"step {n}: reward={n / 100} {beside}=0.0{n} H={1 - n / 100:.2f}\n" for n in range(1, 41))
    (tmp_path / "train.log").write_text(text)
    assert ("entropy" in reported(tmp_path)["metrics"]) is is_it


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_table_of_a_spreadsheet_in_german(encoding: str, tmp_path: Path) -> None:
    rows = "".join(f"{n};0,{n + 100};0,001;{300 + n},5\n" for n in range(20, 600, 10))
    (tmp_path / "lauf.csv").write_bytes(f"Schritt;Mittlere Belohnung;KL;Antwortlänge\n{rows}".encode(encoding))
    report = reported(tmp_path)
    assert (report["run"]["steps"]["first"], report["run"]["steps"]["last"]) == (20, 590)
    assert report["run"]["steps"]["rows"] == 58
    assert ends(report, "response_length_mean") == (58, 320.5, 890.5)
    assert report["metrics"]["response_length_mean"]["key"] == "Antwortlänge"
