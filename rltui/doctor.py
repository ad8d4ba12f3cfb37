"""`rltui doctor`: what works on this machine, what works less well, and what does not work, each with its reason."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from pathlib import Path

from msgspec import Struct

from rltui import settings
from rltui.plots.glyphs import GlyphSet, pick, utf8_locale
from rltui.prose import joined
from rltui.text import clean

OK, DEGRADED, OFF = "OK", "degraded", "off"

LEAST_PYTHON = (3, 11)
LEAST_TMUX = (3, 5)  # older versions drop synchronised output, so redraws may tear
USUAL_SIZE = (80, 24)  # below this size, panes fold away


class InstallCheck(Struct, frozen=True):
    """One thing that was checked. `status` is OK, degraded (works with limits) or off (does not work here)."""

    name: str
    status: str
    reason: str


def checks(env: Mapping[str, str] | None = None) -> list[InstallCheck]:
    """All checks, in the order in which they are shown. `env` is the environment (default: this process's).

    Queries the NVIDIA driver, which takes seconds if the driver sleeps. Raises nothing.
    """
    env = os.environ if env is None else env
    looks: list[Callable[[], list[InstallCheck]]] = [
        lambda: [python()],
        packages,
        lambda: terminal(env),
        lambda: [multiplexer(env), notifications(env), ssh_session(env)],
        lambda: [gpus(), host(), follow(), rules(), frameworks(), data_files()],
        programs,
    ]
    return [check for look in looks for check in look()]


def render(found: list[InstallCheck], glyphs: GlyphSet | None = None) -> str:
    """One line per check with glyph, status, name and reason, then the counts. `glyphs`: default from the locale."""
    glyphs = glyphs or pick(None, os.environ)
    width = max((len(c.name) for c in found), default=0)
    lines = [f"{glyphs.status(c.status)} {c.status:<8}  {c.name:<{width}}  {c.reason}" for c in found]
    count = {s: sum(c.status == s for c in found) for s in (OK, DEGRADED, OFF)}
    lines += ["", f"{count[OK]} OK, {count[DEGRADED]} degraded, {count[OFF]} off"]
    return glyphs.translate("\n".join(lines)) + "\n"


def python() -> InstallCheck:
    status = OK if sys.version_info[:2] >= LEAST_PYTHON else OFF
    return InstallCheck("Python", status, f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def packages() -> list[InstallCheck]:
    """Checks rltui and the packages that it needs at run time against its installed requirements. Imports nothing."""
    try:
        found = [InstallCheck("rltui", OK, metadata.version("rltui"))]
        needed = [r for r in metadata.requires("rltui") or [] if "extra ==" not in r]
    except metadata.PackageNotFoundError:
        return [InstallCheck("rltui", DEGRADED, "not installed, run from its source: what it requires is not known")]
    for requirement in needed:
        match = re.match(r"[\w.-]+", requirement)
        if match:
            found.append(package(match.group(), requirement))
    return found


def package(name: str, requirement: str) -> InstallCheck:
    """Checks one package against its requirement (`textual>=8.2`)."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return InstallCheck(name, OFF, f"not installed: pip install '{requirement}'")
    for comparison, bound in re.findall(r"(>=|<)\s*([\d.]+)", requirement):
        if (_numbers(version) >= _numbers(bound)) != (comparison == ">="):
            return InstallCheck(name, DEGRADED, f"{version}, but {requirement} is asked for")
    return InstallCheck(name, OK, version)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(n) for n in re.findall(r"\d+", re.split(r"[^\d.]", version, maxsplit=1)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def terminal(env: Mapping[str, str]) -> list[InstallCheck]:
    """Whether there is a terminal, and its colours, characters and size."""
    term = clean(env.get("TERM", ""), 60)
    if not sys.stdout.isatty():
        there = InstallCheck("terminal", OFF, "standard output is no terminal: `rltui RUN` prints the report instead")
    elif term in ("", "dumb"):
        there = InstallCheck(
            "terminal", OFF, f"TERM={term or '(unset)'} cannot place a cursor, but `rltui report` works"
        )
    else:
        there = InstallCheck("terminal", OK, f"TERM={term}")
    size = shutil.get_terminal_size()
    small = size.columns < USUAL_SIZE[0] or size.lines < USUAL_SIZE[1]
    shape = f"{size.columns}x{size.lines}"
    return [
        there,
        colours(env),
        characters(env),
        InstallCheck("size", DEGRADED if small else OK, f"{shape}, below 80x24: panes fold away" if small else shape),
    ]


def colours(env: Mapping[str, str]) -> InstallCheck:
    term, depth = env.get("TERM", ""), env.get("COLORTERM", "").lower()
    if env.get("NO_COLOR"):
        return InstallCheck("colours", DEGRADED, "none: NO_COLOR is set, so that glyphs and words carry the status")
    if depth in ("truecolor", "24bit"):
        return InstallCheck("colours", OK, f"16 million, COLORTERM={depth}")
    if "256color" in term or "kitty" in term or "direct" in term:
        return InstallCheck("colours", OK, "256, as ssh does not forward COLORTERM (the palette is made for it)")
    if term in ("", "dumb"):
        return InstallCheck("colours", OFF, "none")
    return InstallCheck("colours", DEGRADED, "16 (TERM=xterm-256color or tmux-256color gives more if the terminal can)")


def characters(env: Mapping[str, str]) -> InstallCheck:
    if not utf8_locale(env):
        return InstallCheck("characters", DEGRADED, "ASCII: the locale is not UTF-8 (set LANG, for example C.UTF-8)")
    glyphs = pick(None, env)
    if glyphs.name == "ascii":
        return InstallCheck(
            "characters", DEGRADED, f"ASCII: TERM={clean(env.get('TERM', ''), 60)} has no block characters"
        )
    return InstallCheck("characters", OK, "UTF-8")


def multiplexer(env: Mapping[str, str]) -> InstallCheck:
    if env.get("TMUX"):
        version = _output("tmux", "-V")
        number = _numbers(re.sub(r"^[^\d]*", "", version))
        if not number:
            return InstallCheck("multiplexer", OK, "tmux of unknown version (3.5 or later draws without tearing)")
        if number < LEAST_TMUX:
            return InstallCheck("multiplexer", DEGRADED, f"{version}: redraws may tear before 3.5")
        return InstallCheck("multiplexer", OK, version)
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        return InstallCheck("multiplexer", DEGRADED, "screen: fewer colours, redraws may tear")
    return InstallCheck("multiplexer", OK, "none")


def notifications(env: Mapping[str, str]) -> InstallCheck:
    """Whether a terminal notification (OSC 9, OSC 777) gets through, with the user's settings."""
    try:
        own = settings.load().alerts
    except settings.SettingsError as problem:
        return InstallCheck("notifications", OFF, f"settings: {problem}")
    if not own.enabled or own.notify == "off":
        return InstallCheck("notifications", OFF, "switched off in your settings")
    if env.get("TMUX") and _output("tmux", "show", "-gv", "allow-passthrough") == "off":
        why = "tmux keeps them from your terminal, the bell passes: set -g allow-passthrough on (tmux 3.3 or later)"
        return InstallCheck("notifications", DEGRADED, why)
    return InstallCheck("notifications", OK, "sent to the terminal, where it shows them (OSC 9, OSC 777)")


def ssh_session(env: Mapping[str, str]) -> InstallCheck:
    if env.get("SSH_CONNECTION") or env.get("SSH_TTY"):
        return InstallCheck(
            "this session", OK, "over ssh: the mouse starts off, and `ssh -C` cuts the traffic to a tenth or less"
        )
    return InstallCheck("this session", OK, "local")


def gpus() -> InstallCheck:
    from rltui.hardware.gpu import GpuReader

    reader = GpuReader("")
    why = reader.open()
    samples, note = reader.read()
    reader.close()
    if why:
        return InstallCheck("GPUs (NVML)", OFF, why)
    names = sorted({s.name for s in samples if s.name})
    text = f"{len(samples)} x {' and '.join(names) or 'GPU'}, driver {reader.driver or 'of unknown version'}"
    silent = [
        what
        for what, values in {
            "memory": [s.memory_used_gb for s in samples],
            "power": [s.power_w for s in samples],
            "utilisation": [s.util for s in samples],
            "temperature": [s.temp_c for s in samples],
        }.items()
        if all(v is None for v in values)
    ]
    trouble = joined((f"no {', '.join(silent)}" if silent else "", note))
    return InstallCheck("GPUs (NVML)", DEGRADED if trouble else OK, f"{text}{': ' if trouble else ''}{trouble}")


def host() -> InstallCheck:
    try:
        from rltui.hardware.host import HostReader

        sample = HostReader(os.getcwd()).read()
    except (ImportError, OSError, ValueError) as error:
        return InstallCheck("host", OFF, f"no host figures: {clean(str(error), 200)}")
    if sample.ram_total_gb is None:
        return InstallCheck("host", DEGRADED, "memory is unknown here")
    limit = ", limited by the cgroup" if sample.limited_by else ""
    return InstallCheck("host", OK, f"{sample.cpus or '?'} cores, {sample.ram_total_gb:.0f} GB of memory{limit}")


def follow() -> InstallCheck:
    """Whether the kernel reports file changes, tested in the same way as the follower uses it."""
    from rltui.agent.waiter import Inotify

    try:
        Inotify().close()
    except (OSError, AttributeError) as error:
        reason = "not Linux" if not sys.platform.startswith("linux") else clean(str(error), 200)
        return InstallCheck("file changes", DEGRADED, f"no inotify ({reason}): files are looked at four times a second")
    watches = _first_line(Path("/proc/sys/fs/inotify/max_user_watches"))
    return InstallCheck("file changes", OK, "inotify" + (f", {watches} watches" if watches else ""))


def frameworks() -> InstallCheck:
    """Whether the metric and framework files are valid. Without them no run can be read."""
    from rltui.data_files import DataError
    from rltui.frameworks.load import check

    try:
        return InstallCheck("frameworks", OK, f"{check()} data files read")
    except DataError as error:
        return InstallCheck("frameworks", OFF, str(error))


DATA_OF = (
    *("compare.tables", "diagnosis.constants", "diagnosis.kl_reward", "diagnosis.reliability", "diagnosis.remarks"),
    *("diagnosis.tail", "discovery.file_roles", "evidence.forecast", "hardware.processes", "manual.glossary"),
    *("readers.config_file", "readers.log_keys", "readers.console.notes", "readers.console.template"),
    *("readers.formats", "readers.keys"),
    *(
        "frameworks.parts",
        "readers.row_kinds",
        "rollouts.formats.fields",
        "rollouts.samples",
        "rules.coverage",
        "rules.error_rates",
    ),
    *("rules.reward", "tui.headings", "tui.tour"),
)
"""Modules that have their own data files, except frameworks and rules."""


def data_files() -> InstallCheck:
    """Whether all other data files are valid. Each invalid one is named with its line."""
    from rltui.data_files import READERS, DataError

    for module in DATA_OF:
        import_module(f"rltui.{module}")
    wrong = []
    for reader in READERS:
        try:
            reader()
        except (DataError, OSError) as error:
            wrong.append(str(error))
    return InstallCheck("data files", OFF if wrong else OK, joined(wrong) or f"{len(READERS)} read")


def rules() -> InstallCheck:
    """Whether every page of the rules can be read. If a page cannot be read, none of its rules runs."""
    from rltui.rules.catalogue import rules as catalogue
    from rltui.rules.catalogue import unread_pages

    if broken := unread_pages():
        return InstallCheck("rules", DEGRADED, joined(f"{page} cannot be read: {why}" for page, why in broken.items()))
    return InstallCheck("rules", OK, f"{len(catalogue())} read")


def programs() -> list[InstallCheck]:
    """Programs that rltui calls when it needs them."""
    ssh = shutil.which("ssh")
    slurm = shutil.which("squeue")
    return [
        InstallCheck("ssh client", OK, _output("ssh", "-V") or ssh)
        if ssh
        else InstallCheck("ssh client", OFF, "no runs on other hosts"),
        InstallCheck("Slurm", OK, _output("squeue", "--version") or slurm)
        if slurm
        else InstallCheck("Slurm", OFF, "no squeue here"),
    ]


def _output(*command: str) -> str:
    """The first line that a command prints. Empty if the command cannot be run or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=2, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return clean(said.splitlines()[0], 80) if said else ""


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
