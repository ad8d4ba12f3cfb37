"""Slurm jobs, read through Slurm's own commands: `squeue` lists them, `scontrol` knows their files and nodes.

The commands run on the machine on which rltui runs. Their output is untrusted: only known fields are used, and text is
cleaned before it is shown. The formats are those documented for Slurm 20.11 and later.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.prose import joined
from rltui.sources.ssh import command as ssh_command
from rltui.text import clean

_TIMEOUT_S = 20.0
_MAX_JOBS = 200
_FIELD = lazy(r"(?:^| )(JobId|ArrayJobId|ArrayTaskId|JobName|JobState|NodeList|WorkDir|StdOut)=(.*?)(?= \w+=|$)")
_HAS_NODES = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED")


class SlurmError(Exception):
    """Slurm is not installed here, or does not know the job. The text is for the user, if possible in Slurm's own
    words."""


class Job(Struct, frozen=True):
    """A job: where it writes and where it runs. `stdout` and `work_dir` are None if Slurm does not report them."""

    id: str  # "4711" or "4711_3"
    name: str
    state: str  # "RUNNING", "PENDING", "FAILED", ...
    stdout: str | None
    work_dir: str | None
    nodes: str  # as Slurm writes it: "node[01-04]"; "" before it runs

    @property
    def has_nodes(self) -> bool:
        return self.state in _HAS_NODES and bool(self.nodes)


def jobs(job: str | None) -> list[Job]:
    """One job by number (all tasks of an array), or all jobs of the user that `squeue` lists, newest first. Raises
    `SlurmError`."""
    if shutil.which("scontrol") is None:
        raise SlurmError("Slurm was not found: scontrol is not on the PATH")
    if job is None:
        listed = _run("squeue", "--noheader", "--user", str(os.getuid()), "--states", "all", "--format", "%i")
        numbers = [line.strip() for line in listed.splitlines()][:_MAX_JOBS]
        found = [one for number in numbers if re.fullmatch(r"\d+(?:_\d+)?", number) for one in _show(number)]
        if not found:
            raise SlurmError("squeue lists no job of yours")
        return sorted(found, key=lambda one: [int(n) for n in re.findall(r"\d+", one.id)], reverse=True)
    return _show(job)


def node_names(job: Job) -> list[str]:
    """The names of the nodes of a job."""
    if not job.has_nodes:
        return []
    return _run("scontrol", "show", "hostnames", job.nodes).split()


def node_command(job: Job, node: str) -> list[str]:
    """The command that starts the agent on one node of a running job. It shares CPUs, memory and GPUs with the job."""
    step = ["srun", "--overlap", f"--jobid={job.id}", f"--nodelist={node}", "--nodes=1", "--ntasks=1"]
    return [*step, "--quiet", "--mem=0", "--unbuffered", *ssh_command.local_command()]


def parse_jobs(text: str) -> list[Job]:
    """The jobs in the output of `scontrol --oneliner show job`: one job a line, `Key=value`. A value may hold
    blanks."""
    found = [dict(_FIELD.findall(line)) for line in text.splitlines()]
    return [_job(fields) for fields in found if fields.get("JobId")]


def _job(fields: dict[str, str]) -> Job:
    array, task = fields.get("ArrayJobId"), fields.get("ArrayTaskId", "")
    number = f"{array}_{task}" if array and task.isdecimal() else fields["JobId"]
    nodes = fields.get("NodeList", "")
    return Job(
        id=number,
        name=clean(fields.get("JobName", ""), 200),
        state=clean(fields.get("JobState", ""), 40),
        stdout=_path(fields, "StdOut"),
        work_dir=_path(fields, "WorkDir"),
        nodes="" if nodes == "(null)" else nodes,
    )


def _path(fields: dict[str, str], key: str) -> str | None:
    value = fields.get(key, "")
    if not value.startswith("/") or value == os.devnull:
        return None
    for mark, name in (("%A", "ArrayJobId"), ("%a", "ArrayTaskId"), ("%j", "JobId"), ("%x", "JobName")):
        value = value.replace(mark, fields.get(name) or mark)
    return value


def _show(job: str) -> list[Job]:
    return parse_jobs(_run("scontrol", "--oneliner", "show", "job", job))


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise SlurmError(f"Slurm was not found: {command[0]} is not on the PATH") from None
    except (OSError, subprocess.TimeoutExpired):
        raise SlurmError(f"{command[0]} does not answer") from None
    if done.returncode != 0:
        said = clean(joined(done.stderr.decode("utf-8", "replace").strip().splitlines()), 300)
        raise SlurmError(said or f"{command[0]} ended with exit code {done.returncode}")
    return done.stdout.decode("utf-8", "surrogateescape")
