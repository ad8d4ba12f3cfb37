"""Targets that are not local paths: `ssh://[user@]host[:port]/path`, `slurm:[JOBID]`, `host:path`,
`wandb:entity/project[/run]`."""

from __future__ import annotations

import re

from msgspec import Struct

from rltui.lazy_regex import lazy

_URL = lazy(r"ssh://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^\]/]*\]|[^:@/]*)(?::(?P<port>[^/]*))?(?P<path>/.*)?", re.S)
_SCP = lazy(r"(?:(?P<user>[^@/:\s]+)@)?(?P<host>\[[^\]/]+\]|[\w.%-]{2,}|[A-Za-z]):(?P<path>[^\\].*|)", re.S)
_SCHEME = lazy(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = lazy(r"[\w.:%-]+")
_USER = lazy(r"[\w.+@\\-]+")
_NAME = lazy(r"[^/\\#?%:\x00-\x1f\x7f]+")  # what the W&B service allows in a name
_JOB = lazy(r"\d+(?:_\d+)?(?:\+\d+)?")


class BadTarget(ValueError):  # noqa: N818  (a message for the user)
    """The argument looks like a remote target but cannot be one. The text is shown to the user."""


class SshTarget(Struct, frozen=True):
    """A path on a host that the user's ssh knows. `path` may be relative to the home directory; "" is the home
    directory."""

    host: str
    path: str
    user: str | None = None
    port: int | None = None

    @property
    def name(self) -> str:
        """`user@host:port`, without the parts that were not given."""
        user = f"{self.user}@" if self.user else ""
        return f"{user}{self.host}{f':{self.port}' if self.port else ''}"


class SlurmTarget(Struct, frozen=True):
    """A Slurm job on this machine; None: all jobs of the user."""

    job: str | None


class WandbTarget(Struct, frozen=True):
    """A project on the W&B service, or one of its runs. None: not given."""

    entity: str | None
    project: str | None
    run: str | None = None


def parse(argument: str) -> SshTarget | SlurmTarget | WandbTarget | None:
    """The remote target that an argument names; None if it is a local path. Raises `BadTarget` for a host, user, port,
    job number, scheme or W&B path that cannot be right.

    The caller must first check if a local file of that name exists, because that wins.
    """
    if argument.startswith("slurm:"):
        job = argument.removeprefix("slurm:")
        if job and not _JOB.fullmatch(job):
            raise BadTarget(f"{argument}: a Slurm job is a number, as in slurm:4711 or slurm:4711_3")
        return SlurmTarget(job or None)
    if argument.startswith("wandb:"):
        parts = argument.removeprefix("wandb:").strip("/").split("/")
        if len(parts) > 3 or not all(_NAME.fullmatch(part) for part in parts if parts != [""]):
            raise BadTarget(f"{argument}: use wandb:ENTITY/PROJECT or wandb:ENTITY/PROJECT/RUN")
        names = [part or None for part in parts]
        return WandbTarget(None, names[0]) if len(names) == 1 else WandbTarget(*names)
    if argument.startswith("ssh://"):
        found = _URL.fullmatch(argument)
        if found is None or not found["path"]:
            raise BadTarget(f"{argument}: use ssh://[user@]host[:port]/path")
        return _target(argument, found["host"], found["user"], found["port"], _without_home(found["path"]))
    if _SCHEME.match(argument):
        raise BadTarget(f"{argument}: no such scheme. Use ssh://HOST/PATH, slurm:JOB or wandb:ENTITY/PROJECT/RUN")
    found = _SCP.fullmatch(argument)
    if found is None:
        return None
    return _target(argument, found["host"], found["user"], None, _without_home(found["path"]))


def _target(argument: str, host: str, user: str | None, port: str | None, path: str) -> SshTarget:
    host = host.removeprefix("[").removesuffix("]")
    if not _HOST.fullmatch(host) or host.startswith("-"):
        raise BadTarget(f"{argument}: {host or 'nothing'} cannot be the name of a host")
    if user is not None and (not _USER.fullmatch(user) or user.startswith("-")):
        raise BadTarget(f"{argument}: {user or 'nothing'} cannot be the name of a user")
    if port is not None and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise BadTarget(f"{argument}: {port or 'nothing'} is no port number")
    if "\0" in path:
        raise BadTarget(f"{argument!r}: a path cannot hold a NUL")
    return SshTarget(host, path, user, int(port) if port is not None else None)


def _without_home(path: str) -> str:
    """The path relative to the home directory, where the agent starts: `~/x` and `/~/x` become `x`."""
    for home in ("/~/", "~/"):
        if path.startswith(home):
            return path.removeprefix(home)
    return "" if path in ("~", "/~") else path
