"""Jobs as Slurm's commands tell of them. The output is that of Slurm 22.05 with a job running and an array held; the
commands here only repeat it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.discovery.found import NotARun
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from rltui.sources import slurm

from .server import until

SHOWN = Path(__file__).parent.parent.parent / "fixtures" / "remote" / "scontrol_show_job.txt"
LOG = "".join(f"step:{step} - actor/entropy_loss:1.0 - critic/score/mean:0.5\n" for step in range(1, 20))

SCONTROL = """#!/bin/sh
case "$*" in
    "--oneliner show job 1") sed -n 1p {shown};;
    "--oneliner show job"*) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1;;
    "show hostnames node1") echo node1;;
esac
"""
SRUN = """#!/bin/sh
echo "$@" >> {root}/srun.log
while [ "$1" != sh ]; do shift; done
exec "$@"
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shown").write_text(SHOWN.read_text().replace("@DIR@", str(tmp_path)))
    (tmp_path / "bin").mkdir()
    for name, text in (("scontrol", SCONTROL), ("srun", SRUN), ("squeue", "#!/bin/sh\nprintf '1\\n2_[3-4]\\n'\n")):
        script = tmp_path / "bin" / name
        script.write_text(text.replace("{shown}", str(tmp_path / "shown")).replace("{root}", str(tmp_path)))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "w k").mkdir()
    return tmp_path


def test_fields_with_blanks_and_names_that_look_like_fields() -> None:
    running, held = slurm.parse_jobs(SHOWN.read_text())
    assert (running.id, running.state, running.nodes) == ("1", "RUNNING", "node1")
    assert running.stdout == running.work_dir is None  # "@DIR@..." is no absolute path
    running, held = slurm.parse_jobs(SHOWN.read_text().replace("@DIR@", "/d"))
    assert (running.stdout, running.work_dir) == ("/d/w k/slurm-1.out", "/d/w k")  # named "my job WorkDir=/x"
    assert running.has_nodes
    assert not held.has_nodes
    assert slurm.parse_jobs("JobId=7 ArrayJobId=5 ArrayTaskId=3 StdOut=/o/%A_%a.out")[0].stdout == "/o/5_3.out"
    assert slurm.parse_jobs("nonsense\n\nJobName=x") == []


@pytest.mark.parametrize("argument", ["slurm:", "slurm:1"])
def test_a_job_is_opened_by_its_output(cluster: Path, argument: str) -> None:
    (cluster / "w k" / "slurm-1.out").write_text(LOG)
    (found,) = locate([argument])
    assert [path for path, _ in found.candidate.files] == [str(cluster / "w k" / "slurm-1.out")]
    assert found.job is not None
    assert found.job.id == "1"


def test_else_by_what_lies_in_its_directory(cluster: Path) -> None:
    (cluster / "w k" / "slurm-1.out").write_text("starting\n")
    (cluster / "w k" / "out").mkdir()
    (cluster / "w k" / "out" / "train.log").write_text(LOG)
    (found,) = locate(["slurm:1"])
    assert "train.log" in found.candidate.files[0][0]


def test_hardware_comes_from_the_nodes_of_the_job(cluster: Path) -> None:
    (cluster / "w k" / "slurm-1.out").write_text(LOG)
    live = LiveRun(locate(["slurm:1"])[0])
    try:
        until(lambda: live.next_frame(0.1) and live.opened.frame().hardware)
        assert live.opened.frame().hardware[-1].host is not None
        assert "--overlap --jobid=1 --nodelist=node1" in (cluster / "srun.log").read_text()
    finally:
        live.close()
        live.opened.close()


def test_slurms_own_words(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotARun, match="slurm:99: slurm_load_jobs error: Invalid job id specified"):
        locate(["slurm:99"])
    with pytest.raises(NotARun, match="does not exist"):
        locate(["slurm:1"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotARun, match="scontrol is not on the PATH"):
        locate(["slurm:"])
