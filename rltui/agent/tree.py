"""Searches a directory for files that may belong to a run.

The search is breadth first, so that runs near the root are found before a deep tree uses up the bounds. Names decide:
the size of a file with an uninteresting name is never requested (a checkpoint on a parallel file system can hold
thousands). Links are followed last, so that a run that is reachable both ways keeps its real path.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

import errno
import os
import re
import stat
import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from rltui.agent.files import check_regular, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 12
MAX_ENTRIES = 200_000
MAX_SECONDS = 20.0
_CHECK_EVERY = 256
_SMALL_JSON_BYTES = 256 << 10

_CHECKPOINT_DIR = re.compile(
    r"(?:global_?step|checkpoint|ckpt|iter|step|epoch)[-_]?\d+(?:[-_.]\w+)*|\d+_ckpt|checkpoint[-_](?:best|last|final)",
    re.IGNORECASE,
)
"""The name of a folder that holds weights: verl `global_step_100`, HF `checkpoint-100`, Megatron `iter_0000100`."""

_INTERESTING = re.compile(
    r""".*\.(?:log|out|err|txt|jsonl|ndjson|json|csv|tsv|yaml|yml|toml|wandb|swanlab|parquet|feather|arrow)
        (?:\.\d{1,4}|[.\-]20\d\d-?[01]\d-?[0-3]\d(?:[_\-T.][\d.:\-]{2,8})?)?(?:\.(?:gz|xz|zst|bz2))?
      | .*\.(?:db|sqlite3?|ipynb)
      | .*tfevents.* | .*\.[oe]\d+ | slurm[-_.].* | (?:stdout|stderr|nohup|console|output|log)(?:[-_.].*)?""",
    re.VERBOSE | re.IGNORECASE,
)
_BORING = re.compile(
    r"""(?:tokenizer(?:_config)?|special_tokens_map|added_tokens|vocab|merges|(?:\w+_)?processor_config|generation_config
          |chat_template|dataset_infos?|package(?:-lock)?)\.(?:json|txt)
      | .*\.index\.json | requirements.*\.txt | pyproject\.toml | licen[cs]e.*""",
    re.VERBOSE | re.IGNORECASE,
)
_CACHE_DIR = re.compile(
    r"""node_modules|__pycache__|site-packages|dist-packages|virtualenv|venv|env|conda|miniconda\d?|anaconda\d?
      | (?:models|datasets|spaces)--.* | .*_compile_cache | torchinductor_.* | triton_cache | lost\+found
      | \.(?!(?:hydra|art)$).* """,
    re.VERBOSE | re.IGNORECASE,
)
_ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})
_STEPS_DIR = re.compile(
    r"""(?:.*[-_])?(?:rollouts?|generations?|completions?|samples?|trajector(?:y|ies))
      | (?:evals?|evaluations?|val|validation)(?:[-_](?:results?|outputs?|scores|metrics))?""",
    re.VERBOSE | re.IGNORECASE,
)
"""The name of a folder that holds a folder or file of samples or of an evaluation for each step: its `step_10` is not a
checkpoint."""
_SAVES_DIR = re.compile(r"ckpts?|checkpoints?|saves?|saved|weights", re.IGNORECASE)
_WEIGHTS_FILE = re.compile(r".*\d\.(?:safetensors|pt|pth|bin|ckpt|npz)", re.IGNORECASE)
"""A checkpoint that is a single file: `ckpts/step_000120.pt`."""
_SYSTEM_DIRS = frozenset({"/proc", "/sys", "/dev"})
_STORE_DIRS = frozenset({"metrics", "params", "tags", "inputs", "outputs", "artifacts", "traces"})
_STORE_FILES = frozenset({"metrics", "params"})
"""Folders of a run in an MLflow file store that hold a small file for each metric and param, often hundreds. They are
listed only if the run itself is the root; then all their files are listed, whatever their names."""


class Tree:
    """What a walk has found. `files`: (path, size, mtime, identity). `skipped`: counts of what was left out."""

    def __init__(self) -> None:
        self.files = []  # type: list[tuple[str, int, float, str]]
        self.dirs = []  # type: list[str]
        self.skipped = Counter()  # type: Counter[str]
        self.complete = True
        self.links = []  # type: list[tuple[str, int]]  # followed after everything that is not a link
        self.seen = set()  # type: set[tuple[int, int]]  # every directory entered and every file listed
        self.entries = 0
        self.whole = set()  # type: set[str]  # directories whose files are all interesting


def walk_tree(
    root: str,
    max_depth: int = MAX_DEPTH,
    max_entries: int = MAX_ENTRIES,
    max_seconds: float = MAX_SECONDS,
    found: "Callable[[int], None] | None" = None,
    cancelled: "Callable[[], bool] | None" = None,
) -> Tree:
    """The interesting files at and below `root`, sorted by path. If `root` is a file, only that file is listed.

    `found` gets the number of files so far after each directory; `cancelled` is called before each. `skipped` counts
    bounds ("depth", "entries", "time"), a cancellation ("cancelled"), caches ("cache"), links to what was already
    listed ("loop"), and errors by their kind. Only bounds and a cancellation make the tree incomplete. Raises OSError
    or ValueError if the root itself cannot be examined.
    """
    top = root if root == os.sep else root.rstrip(os.sep) or root
    status = os.stat(top)
    tree = Tree()
    if not stat.S_ISDIR(status.st_mode):
        check_regular(top, status.st_mode)
        tree.files.append(_file(top, status))
        return tree
    tree.seen = _ancestors(top)
    deadline = time.monotonic() + max_seconds
    queue = deque([(top, 0)])
    stopped = ""
    while queue or tree.links:
        if not queue:
            _follow_links(tree, queue)
            continue
        if cancelled is not None and cancelled():
            stopped = "cancelled"
        if stopped:
            break
        path, depth = queue.popleft()
        if depth > max_depth:
            tree.skipped["depth"] += 1
            continue
        stopped = _scan(tree, queue, path, depth, path == top, max_entries, deadline)
        if found is not None:
            found(len(tree.files))
    if stopped:
        tree.skipped[stopped] += 1 + len(queue)
    if "permission" in tree.skipped and not tree.dirs:
        raise PermissionError(errno.EACCES, "", top)
    tree.complete = not stopped and not tree.skipped["depth"]
    tree.files.sort()
    tree.dirs.sort()
    return tree


def is_checkpoint_dir(path: str) -> bool:
    """Whether this directory has the name of a folder of weights."""
    return _CHECKPOINT_DIR.fullmatch(os.path.basename(path)) is not None and not is_of_steps(os.path.dirname(path))


def is_of_steps(path: str) -> bool:
    """Whether this directory has the name of a folder with samples or evaluations of each step."""
    return _STEPS_DIR.fullmatch(os.path.basename(path)) is not None


def is_saved_state(path: str) -> bool:
    folder, name = os.path.split(path)
    return _WEIGHTS_FILE.fullmatch(name) is not None and _SAVES_DIR.fullmatch(os.path.basename(folder)) is not None


def _scan(
    tree: Tree,
    queue: "deque[tuple[str, int]]",
    path: str,
    depth: int,
    is_root: bool,
    max_entries: int,
    deadline: float,
) -> str:
    """Adds one directory to `tree` and its sub-directories to `queue`. Returns the bound that was reached, or ""."""
    is_checkpoint = not is_root and is_checkpoint_dir(path)
    below = []  # type: list[str]
    names = 0
    try:
        status = os.stat(path)
        if _identity(status) in tree.seen:
            tree.skipped["loop"] += 1
            return ""
        tree.seen.add(_identity(status))
        with os.scandir(path) as entries:
            tree.dirs.append(path)
            for entry in entries:
                tree.entries += 1
                names += 1
                if tree.entries > max_entries:
                    return "entries"
                if names % _CHECK_EVERY == 0 and time.monotonic() > deadline:
                    return "time"
                if entry.name in _ENVIRONMENT_MARKS and not is_root:
                    tree.skipped["cache"] += 1
                    return ""
                _take(tree, entry, below, depth, is_checkpoint)
    except OSError as error:
        tree.skipped[kind_of(error)] += 1
        return ""
    if _is_store_run(path, tree, below):
        kept = _STORE_FILES if is_root else frozenset()
        below = [name for name in below if os.path.basename(name) in kept | (_names(below) - _STORE_DIRS)]
        tree.whole.update(name for name in below if os.path.basename(name) in kept)
    queue.extend((name, depth + 1) for name in sorted(below))
    return "time" if time.monotonic() > deadline else ""


def _is_store_run(path: str, tree: Tree, below: "list[str]") -> bool:
    """Whether the directory that was just listed is a run of an MLflow file store."""
    meta = os.path.join(path, "meta.yaml")
    return "metrics" in _names(below) and any(file[0] == meta for file in reversed(tree.files))


def _names(paths: "list[str]") -> "set[str]":
    return {os.path.basename(path) for path in paths}


def _take(tree: Tree, entry: "os.DirEntry[str]", below: "list[str]", depth: int, is_checkpoint: bool) -> None:
    """Handles one entry: a directory to enter, a link for later, a file to list, or nothing of interest."""
    is_whole = os.path.dirname(entry.path) in tree.whole
    try:
        if is_whole and not entry.is_symlink():
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.path)
                tree.whole.add(entry.path)
            else:
                _list_file(tree, entry.path, entry.stat(follow_symlinks=False))
        elif entry.is_symlink():
            if not is_checkpoint:
                tree.links.append((entry.path, depth + 1))
        elif entry.is_dir(follow_symlinks=False):
            if is_checkpoint:
                return
            if is_cache_dir(entry.name) or entry.path in _SYSTEM_DIRS:
                tree.skipped["cache"] += 1
            else:
                below.append(entry.path)
        elif not is_checkpoint and is_saved_state(entry.path):
            _list_file(tree, entry.path, entry.stat(follow_symlinks=False))
        elif is_interesting(entry.name) and (not is_checkpoint or entry.name.endswith(".json")):
            status = entry.stat(follow_symlinks=False)
            if not is_checkpoint or status.st_size <= _SMALL_JSON_BYTES or entry.name == "trainer_state.json":
                _list_file(tree, entry.path, status)
    except OSError as error:
        tree.skipped[kind_of(error)] += 1


def _follow_links(tree: Tree, queue: "deque[tuple[str, int]]") -> None:
    """Follows the links found so far: lists what they lead to, unless it was already listed."""
    links, tree.links = sorted(tree.links), []
    for path, depth in links:
        name = os.path.basename(path)
        try:
            status = os.stat(path)
        except OSError as error:
            tree.skipped[kind_of(error)] += 1
            continue
        if stat.S_ISDIR(status.st_mode):
            if is_cache_dir(name):
                tree.skipped["cache"] += 1
            else:
                queue.append((path, depth))
        elif is_interesting(name):
            _list_file(tree, path, status)


def _list_file(tree: Tree, path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        return
    if status.st_ino and _identity(status) in tree.seen:
        tree.skipped["loop"] += 1
        return
    tree.seen.add(_identity(status))
    tree.files.append(_file(path, status))


def _file(path: str, status: os.stat_result) -> "tuple[str, int, float, str]":
    return path, status.st_size, status.st_mtime, f"{status.st_dev}:{status.st_ino}"


def is_cache_dir(name: str) -> bool:
    """Whether a directory of this name never holds a run: installed packages, caches, hidden folders."""
    return _CACHE_DIR.fullmatch(name) is not None


def is_interesting(name: str) -> bool:
    """Whether this file has the name of a log, a metric file or a config."""
    return _INTERESTING.fullmatch(name) is not None and _BORING.fullmatch(name) is None


def _identity(status: os.stat_result) -> "tuple[int, int]":
    return status.st_dev, status.st_ino


def _ancestors(path: str) -> "set[tuple[int, int]]":
    """The directories above `path`. A link up to one of them would also list everything beside the root."""
    found = set()  # type: set[tuple[int, int]]
    current = os.path.realpath(path)
    while os.path.dirname(current) != current:
        current = os.path.dirname(current)
        try:
            found.add(_identity(os.stat(current)))
        except OSError:
            continue
    return found
