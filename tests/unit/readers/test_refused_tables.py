"""A table that is no log is refused with the columns that it has, and with what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import refused, reported

REFUSED = {
    "no step and no metric": (
        "metrics.csv",
        "name,city,size\na,b,3\nc,d,4\n",
        "Its columns are name, city and size: none is called a step, and none that holds numbers",
    ),
    "semicolons": (
        "train.csv",
        "foo;bar\n0,3;0,5\n0,4;0,5\n0,1;0,2\n",
        "Its columns are foo and bar: none is called a step, and none that holds numbers",
    ),
    "tabs, and no numbers": (
        "log.tsv",
        "step\tname\n1\ta\n2\tb\n3\tc\n",
        "Its columns are step and name: none beside step holds numbers",
    ),
    "no step": (
        "metrics.csv",
        "reward,loss,note\n0.1,1,x\n0.2,2,y\n0.3,3,z\n",
        "Its columns are reward, loss and note: none is called a step",
    ),
    "many columns": (
        "metrics.csv",
        ",".join(f"c{i}" for i in range(40)) + "\n" + (",".join(["abc"] * 40) + "\n") * 5,
        "Its columns are c0, c1, c2, c3, c4, c5 and 34 more: none is called a step",
    ),
}


@pytest.mark.parametrize(("name", "text", "said"), REFUSED.values(), ids=REFUSED)
def test_a_refused_table_names_its_columns(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    line = refused(path)
    assert said in line
    assert "as in step,loss,reward" in line
    assert "--format-in" in line


OTHERS = {
    "prose": "I trained it, and it was good.\nThen, later, it was not good, as it was.\nWell, so it is, and ok.\n",
    "one row": "a;b\nx;y\n",
    "lines of code": "def f(a, b):\n    return g(a, b)\nx, y = f(1, 2)\nprint(x, y, sep=',')\n",
    "settings": "lr: 1, 2\nseed: 3\nmodel: a, b, c\nname: x\n",
    "rows of other lengths": "a,b,c\n1\n1,2\n1,2,3,4\n",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_texts_have_no_columns(text: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(text)
    assert "Its columns" not in refused(path)


@pytest.mark.parametrize("head", ["step,reward,loss", "epoch,reward,loss", "update,reward,note"])
def test_a_table_of_metrics_is_read(head: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(f"{head}\n" + "".join(f"{i},{i / 10},{i / 50}\n" for i in range(1, 9)))
    assert reported(path)["run"]["steps"]["rows"] == 8
