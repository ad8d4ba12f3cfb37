"""Runs on the W&B service, through the official client's documented objects (`wandb.Api`, its runs and their history).

Only this module uses the client. The client is an optional extra, imported when a `wandb:` target is opened; any of its
errors becomes one line. The key is read from the environment or from `.env` here, passed to the client, and never
shown.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from inspect import signature
from typing import Any, TypeVar

from msgspec import Struct

from rltui.sources.base import FileStat, Follower, Link, Listing, SourceError
from rltui.sources.targets import WandbTarget
from rltui.text import REDACTED, clean

KEY = "WANDB_API_KEY"
SCHEME = "wandb:"
MOST_RUNS = 80
"""At most this many runs of a project are read (the newest), because each needs its own request."""
PAGE = 1000
T = TypeVar("T")
_ENDED = ("finished", "crashed", "failed", "killed", "preempted")


class OnlineError(Exception):
    """Why the service does not answer. The text is one line for the user."""


class OnlineRun(Struct, frozen=True):
    """What the service reports about a run. `path`: entity/project/id. `created`: in seconds since the epoch."""

    path: str
    id: str
    name: str
    project: str
    state: str
    tags: tuple[str, ...]
    config: Mapping[str, object]
    created: float

    @property
    def ended(self) -> bool:
        return self.state in _ENDED


class WandbPlace:
    """The service as a `Place` without files: `run` and `history` read its runs."""

    name = "wandb"

    def __init__(self, api: Any, secret: str = "") -> None:
        self._api = api
        self._secret = secret
        self._link = Link("connected", time.time())

    def runs(self, project: str, most: int = MOST_RUNS) -> list[OnlineRun]:
        """The newest runs of `entity/project`. Raises `OnlineError`."""

        def ask() -> list[OnlineRun]:
            # newer clients request the config of each run separately, unless asked to fetch it with the list
            whole = {"lazy": False} if "lazy" in signature(self._api.runs).parameters else {}
            found = self._api.runs(path=project, order="-created_at", per_page=most, **whole)
            return [self._run(run) for _, run in zip(range(most), found, strict=False)]

        return self._asked(project, ask)

    def run(self, path: str) -> OnlineRun:
        """The current state of a run. Raises `OnlineError`."""

        def ask() -> OnlineRun:
            self._api.flush()  # the client caches the runs that it has seen
            return self._run(self._api.run(path))

        return self._asked(path, ask)

    def last_step(self, path: str) -> int:
        """The newest step of the service's own counter, 0 if nothing is logged. It is not in `OnlineRun`, because it
        costs another request. Raises `OnlineError`."""
        last = self._asked(path, lambda: self._api.run(path).lastHistoryStep)
        return last if isinstance(last, int) and last > 0 else 0

    def history(self, path: str, min_step: int) -> Iterator[Mapping[str, object]]:
        """The rows from a step of the service's own counter on, requested a page at a time. Raises `OnlineError`."""
        rows = self._asked(path, lambda: iter(self._api.run(path).scan_history(page_size=PAGE, min_step=min_step)))
        nothing: Mapping[str, object] = {}
        while (row := self._asked(path, lambda: next(rows, nothing))) is not nothing:
            yield row

    def _run(self, run: Any) -> OnlineRun:
        return OnlineRun(
            path=clean(f"{run.entity}/{run.project}/{run.id}", 300),  # `run.path` is quoted for a URL
            id=clean(str(run.id), 100),
            name=clean(str(run.name or run.id), 200),
            project=clean(str(run.project), 200),
            state=str(run.state),
            tags=tuple(clean(str(tag), 100) for tag in run.tags or ()),
            config={str(k): v for k, v in dict(run.config or {}).items()},
            created=_time_of(run.created_at),
        )

    def _asked(self, path: str, ask: Callable[[], T]) -> T:
        """The answer. Any error becomes an `OnlineError`. `link` then shows the state of the connection."""
        try:
            answer = ask()
        except Exception as error:  # errors of the client, of its transport, and of an answer that is not as documented
            text = clean(str(error) or type(error).__name__, 300)
            text = text.replace(self._secret, REDACTED) if self._secret else text
            self._link = Link("reconnecting", self._link.since, text)
            raise OnlineError(_explained(path, text)) from None
        self._link = Link("connected", time.time())
        return answer

    # -- a place without files -----------------------------------------------------------------------------------

    def _no_file(self, path: str) -> SourceError:
        return SourceError(path, "not-a-file", "the W&B service has runs, no files")

    def stat(self, path: str) -> FileStat | SourceError:
        return self._no_file(path)

    def is_dir(self, path: str) -> bool:
        return False

    def walk(self, root: str) -> Listing:
        return Listing(root, (), (), True, error=self._no_file(root))

    def head(self, path: str, max_bytes: int = 1 << 14) -> bytes | SourceError:
        return self._no_file(path)

    def read(self, path: str, max_bytes: int = 1 << 24) -> bytes | SourceError:
        return self._no_file(path)

    def follow(self, path: str) -> Follower:
        raise OSError(self._no_file(path).text)

    def wait(self, paths: list[str], timeout_s: float) -> bool:
        """Only sleeps, because the service does not report news; the feed asks from time to time."""
        time.sleep(timeout_s)
        return False

    def link(self) -> Link:
        return self._link


def service() -> WandbPlace:
    """The service with the user's key. Raises `OnlineError` if the client or the key is missing, or the key is
    refused."""
    try:
        os.environ.setdefault("WANDB_SILENT", "true")
        client = importlib.import_module("wandb")
    except ImportError:
        raise OnlineError("needs W&B's client, which is not installed: pip install 'rltui[wandb]'") from None
    key = api_key(os.environ)
    if key is None:
        raise OnlineError(f"needs a key: set {KEY} in the environment or in .env here")
    try:
        return WandbPlace(client.Api(api_key=key), key)
    except Exception as error:
        raise OnlineError(clean(str(error), 300).replace(key, REDACTED)) from None


def api_key(environment: Mapping[str, str], folder: str = ".") -> str | None:
    """The key from the environment, else from `.env` in a folder; None if neither has one."""
    if environment.get(KEY):
        return environment[KEY]
    try:
        with open(os.path.join(folder, ".env"), encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 16).splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.strip().removeprefix("export ").partition("=")
        if name.strip() == KEY and (found := value.split(" #")[0].strip().strip("\"'")):
            return found
    return None


def completed(target: WandbTarget, environment: Mapping[str, str]) -> WandbTarget:
    """The target, with an entity or project that it does not name taken from the environment. Raises `OnlineError`,
    which names what is still missing."""
    entity = target.entity or environment.get("WANDB_ENTITY")
    project = target.project or environment.get("WANDB_PROJECT")
    missing = [word for word, value in (("entity", entity), ("project", project)) if not value]
    if missing:
        raise OnlineError(f"which {' and '.join(missing)}? As in wandb:my-team/my-project, or set WANDB_ENTITY")
    return WandbTarget(entity, project, target.run)


def _explained(path: str, text: str) -> str:
    low = text.lower()
    if any(word in low for word in ("could not find", "404", "not found", "does not exist")):
        return f"no such run or project on the service, or none that your key may see: {path}"
    if any(word in low for word in ("401", "403", "permission", "unauthorized", "api key", "api_key")):
        return f"the service refuses the key ({KEY}) for {path}"
    return f"the service does not answer: {text}"


def _time_of(text: object) -> float:
    """Seconds since the epoch, from ISO 8601; 0 if the text is not a time. Without a zone the service means UTC."""
    try:
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
