"""Runs that are not named by a path of this machine: on another machine, of a Slurm job, on the W&B service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rltui.session.found import Found, NotARun
from rltui.sources import slurm
from rltui.sources.base import Place
from rltui.sources.local import LocalPlace
from rltui.sources.slurm import SlurmError
from rltui.sources.targets import BadTarget, SlurmTarget, SshTarget, WandbTarget, parse

RunsAt = Callable[[str, Place, str | None], list[Found]]
"""The runs at a path of a place, of a format where one is forced."""


def runs_elsewhere(argument: str, format_in: str | None, runs_at: RunsAt) -> list[Found]:
    """Empty where the argument names nothing of the kind. Raises `NotARun` as `locate` does."""
    try:
        target = parse(argument)
    except BadTarget as problem:
        raise NotARun(str(problem)) from None
    if target is None:
        return []
    from rltui.session.remote import Unreachable, place_of  # ssh: for few arguments

    try:
        if isinstance(target, SshTarget):
            return runs_at(target.path or ".", place_of(target), format_in)
        if isinstance(target, WandbTarget):
            from rltui.session.online_feed import online_runs

            return online_runs(target)
        return _runs_of_jobs(target, format_in, runs_at)
    except (Unreachable, SlurmError, NotARun) as problem:
        raise NotARun(f"{argument}: {problem}") from None


def _runs_of_jobs(target: SlurmTarget, format_in: str | None, runs_at: RunsAt) -> list[Found]:
    """What each job writes: its standard output, and where that tells nothing, what lies in its working directory."""
    place = LocalPlace()
    found: list[Found] = []
    problems: list[str] = []
    for job in slurm.jobs(target.job):
        for path in (job.stdout, job.work_dir):
            try:
                runs = runs_at(path, place, format_in) if path is not None else []
            except NotARun as problem:
                problems.append(str(problem))
                continue
            found.extend(replace(run, job=job) for run in runs)
            if runs:
                break
    if not found:
        raise NotARun("; ".join(problems) or "Slurm says of no job where it writes")
    return found
