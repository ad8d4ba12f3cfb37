"""How the user's own ssh is called, and what the remote shell runs."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from rltui.lazy_regex import lazy
from rltui.sources.targets import SshTarget
from rltui.text import clean

PYTHON_MARK = b"\nrltui:python\n"
SHELL_MARK = b"\nrltui:sh\n"

_START = (
    "exec sh -c '"
    "for p in python3 python /usr/libexec/platform-python; do "
    '"$p" -I -S -c "import sys, json, zlib; sys.exit(sys.version_info < (3, 6))" </dev/null >/dev/null 2>&1 && { '
    r'printf "\nrltui:python\n"; '
    'exec "$p" -I -S -B -X utf8 '
    '-c "import sys; exec(open(0, sys.argv[1], 0, closefd=False).readline())" rb rltui-agent; '
    "}; done; "
    r'printf "\nrltui:sh\n"; exec sh'
    "'"
)
"""Works in any login shell (also csh and fish): single quotes only, no exclamation mark, one line. The Python that it
starts reads one line without a buffer and runs it. The code in that line reads what follows."""

_LOADER = (
    "import sys,types,zlib,json\n"
    "for path,text in json.loads(zlib.decompress(packed).decode()):\n"
    "    parts=path[:-3].split('/')\n"
    "    for i in range(1,len(parts)):\n"
    "        name='.'.join(parts[:i])\n"
    "        if name not in sys.modules:\n"
    "            sys.modules[name]=types.ModuleType(name)\n"
    "            sys.modules[name].__path__=[]\n"
    "    module=types.ModuleType('.'.join(parts))\n"
    "    sys.modules[module.__name__]=module\n"
    "    exec(compile(text,'rltui-agent:'+path,'exec'),module.__dict__)\n"
    "    setattr(sys.modules['.'.join(parts[:-1])],parts[-1],module)\n"
    "module.main()\n"
)

_OPTIONS = (
    *("-T", "-x", "-a"),
    *("-o", "BatchMode=yes"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "RemoteCommand=none"),
    *("-o", "PermitLocalCommand=no"),
    *("-o", "ControlMaster=no"),  # a master connection of the user is used, but we do not become one
    *("-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "LogLevel=ERROR"),
)

_FINAL = lazy(
    r"Permission denied|Host key verification failed|REMOTE HOST IDENTIFICATION|Too many authentication failures"
    r"|Bad configuration option|no matching host key|no matching key exchange|No such identity|Control socket",
    re.IGNORECASE,
)
_PROMPT_HELPS = lazy(r"Permission denied|Host key verification failed|Too many authentication failures", re.IGNORECASE)


def bootstrap() -> bytes:
    """The input of the new Python on the remote machine: one line, then the compressed source of the agent."""
    import json

    import rltui
    from rltui.agent import SHIPPED

    root = Path(rltui.__file__).parent.parent
    sources = [(path, (root / path).read_text(encoding="utf-8")) for path in SHIPPED]
    packed = zlib.compress(json.dumps(sources).encode(), 9)
    line = (
        f"import sys,zlib; stdin=open(0,'rb',0,closefd=False); packed=b''\\nwhile len(packed)<{len(packed)}: "
        f"packed+=stdin.read({len(packed)}-len(packed)) or sys.exit()\\n"
    )
    return f'exec("{line}");exec({_LOADER!r})\n'.encode() + packed


def agent_command(target: SshTarget, control: str | None = None) -> list[str]:
    """The ssh command that starts the agent (or a plain shell) there without asking the user anything. `control`: the
    socket of our own master connection."""
    through = ["-S", control] if control else []
    return ["ssh", *_OPTIONS, *through, *_destination(target), _START]


def local_command() -> list[str]:
    """The command that starts the same on this machine, without ssh."""
    return ["sh", "-c", _START]


def is_final(words: str) -> bool:
    """Whether another attempt cannot help, or may lock the user out: access refused, or the host's key has changed."""
    return _FINAL.search(words) is not None


def prompt_helps(words: str) -> bool:
    """Whether ssh failed because it could not ask the user."""
    return _PROMPT_HELPS.search(words) is not None and "IDENTIFICATION HAS CHANGED" not in words


def own_words(stderr: bytes, code: int | None) -> str:
    """What ssh wrote to stderr, on one line."""
    lines = [line.strip("@ \t\r") for line in stderr.decode("utf-8", "replace").splitlines()]
    text = clean(" ".join(line for line in lines if line), 1500)
    return text or (f"ssh ended with exit code {code}" if code else "the connection was closed")


class Master:
    """A connection for which the user logged in by hand. Later connections go through it, so they need not ask."""

    def __init__(self, target: SshTarget) -> None:
        self._target = target
        self._directory: str | None = None
        self.control: str | None = None

    def open(self) -> bool:
        """Runs ssh on the terminal, where it asks for passwords, codes and unknown host keys. False if that fails."""
        self._directory = tempfile.mkdtemp(prefix="rltui-")
        control = os.path.join(self._directory, "master")
        options = ["-M", "-S", control, "-f", "-N", "-o", "ControlPersist=600", "-o", "ClearAllForwardings=yes"]
        options += ["-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no", "-x", "-a"]
        options += ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6", "-o", "LogLevel=ERROR"]
        with open(os.devnull, "rb") as nothing:
            done = subprocess.run(
                ["ssh", *options, *_destination(self._target)], stdin=nothing, stdout=subprocess.DEVNULL, check=False
            )
        if done.returncode != 0:
            self.close()
            return False
        self.control = control
        atexit.register(self.close)
        return True

    def close(self) -> None:
        """Ends the connection, if there is one."""
        control, self.control = self.control, None
        if control is not None:
            command = ["ssh", "-S", control, "-O", "exit", *_destination(self._target)]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=5)
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


def _destination(target: SshTarget) -> list[str]:
    port = ["-p", str(target.port)] if target.port else []
    user = ["-l", target.user] if target.user else []
    return [*port, *user, "--", target.host]
