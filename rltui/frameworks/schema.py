"""What the data files of this package hold: a type for each, field by field. A file that does not fit is an error.

`Framework` is the type of `data/frameworks/NAME.json`. A file that `extends` another one inherits what it does not say
itself: tables (metrics, config, ...) entry by entry, everything else as a whole, so that an empty list or text says
"none here, whatever the other has".
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from rltui.data_files import Record

PHASE = "phase:"
"""Prefix of the canonical names of phase times (`phase:rollout`)."""
REGEX = "re:"
"""Prefix of a key that is a regex."""
Group = Literal[
    "progress", "reward", "validation", "policy", "drift", "off-policy", "mismatch", "length", "tools", "critic",
    "preference", "speed", "memory",
]  # fmt: skip
"""What belongs together on the screen."""
Topic = Literal["reward", "kl", "advantages", "loss", "generation", "validation", "config"]
"""What a finding may send the reader to in the framework's code."""
Names = dict[str, tuple[str, ...]]
"""Canonical name -> the framework's own keys, the preferred one first; one that starts with "re:" is a regex."""


class Metric(Record):
    """A canonical metric. `direction`: which way is good; `healthy`: its usual shape; `trap`: what is easily misread.

    `many`: one key for each of several members (reward functions, data sets); `member_label`: how the label of a
    member is made, "{}" its name.
    """

    label: str
    group: Group
    unit: str
    meaning: str
    range: str
    direction: Literal["up", "down", "none"]
    trap: str = ""
    healthy: str = ""
    many: bool = False
    member_label: str = ""
    name: str = ""  # the key of its entry in the file


class Phase(Record):
    """A part of a training step. `usual`: share of the step it usually takes, with the reason in `why`."""

    label: str
    meaning: str
    usual: tuple[int | float, int | float] | None = None
    why: str = ""
    name: str = ""  # the key of its entry in the file


class Algorithms(Record):
    """How an algorithm is told: by the advantage estimator, by a name in the log, by metrics that only it logs.
    `config_keys`: last parts of settings that may name it in a home-made loop. `of_groups`: parts of the names of those
    that hold answers to one prompt against each other, and `of_samples` of others."""

    by_value: dict[str, str]
    config_keys: tuple[str, ...]
    by_text: tuple[tuple[str, str], ...]
    by_key: tuple[tuple[str, tuple[str, ...]], ...]
    of_groups: tuple[str, ...]
    of_samples: tuple[str, ...]


class Signs(Record):
    """What gives a framework away. Key and config signs are regexes, text signs plain strings. `not_keys`: any of them
    excludes it; `need_keys`: so does the absence of all of these; `all_keys` count only together. `weak`: names of keys
    or settings that other loops may have, too: two of them count, or one beside another sign."""

    keys: tuple[str, ...] = ()
    not_keys: tuple[str, ...] = ()
    need_keys: tuple[str, ...] = ()
    all_keys: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


class Version(Record):
    """A version (">=0.6") and the keys (regexes) that it alone logs."""

    version: str
    keys: tuple[str, ...]


class Outside(Record):
    """From this version on, the phases that run beside the step and not in it."""

    version: str
    phases: tuple[str, ...]


class Timers(Record):
    """The keys of each phase's seconds. `nested`: phases inside another one; `sum`: there is no key of the whole step,
    it is the sum of its phases."""

    keys: Names = field(default_factory=dict)
    outside: tuple[Outside, ...] | None = None
    nested: dict[str, str] | None = None
    sum: bool = False
    note: str | None = None


class Trap(Record, rename={"since": "from"}):
    """What is easily misread about a metric in this framework: from a version on, before a version (None: any)."""

    metric: str
    text: str
    since: str | None = None
    before: str | None = None


class Inactive(Record, rename={"holds": "is", "holds_not": "is_not"}):
    """The setting `config` has no effect while `when` holds one of `is` (None: not set), or none of `is_not`."""

    config: str
    when: str
    note: str
    holds: tuple[bool | int | float | str | None, ...] | None = None
    holds_not: tuple[bool | int | float | str | None, ...] | None = None

    def __post_init__(self) -> None:
        if (self.holds is None) == (self.holds_not is None):
            raise ValueError("needs either `is` or `is_not`")


class Checkpoints(Record):
    """Directories of checkpoints (regexes, group 1 the step), those that are still being written, and the files in
    them that hold the run's settings."""

    dirs: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


class Epsilon(Record):
    """A constant of the framework's code and where it stands there."""

    value: float
    place: str


class Conventions(Record):
    """What a number means in this framework, wherever frameworks differ; None: as in the one it extends, or as in most.

    `mini_batch`: it is counted in prompts, so that it can be checked against them. `turns_beside_tools`: turns of a
    sample that are no answer of a tool. `cut`: what counts as a cut response: one as long as the limit, or one that
    holds no end token. `logprob_difference`: of what the sampler's difference to the trainer is taken.
    `kl_estimator`: the one in use if the config names none; `kl_estimator_source`: the code that says so, with its
    version. `loss_type_only_averages`: what stands for the estimator in
    the config only names how the loss is averaged. `printing_logger`: metrics are printed only if the config names this
    one among its loggers. `advantage_epsilon`: added to the spread that advantages are divided
    by.
    """

    mini_batch: Literal["prompts"] | None = None
    turns_beside_tools: int | None = None
    cut: Literal["at the limit", "no end token"] | None = None
    logprob_difference: Literal["log-probs", "probabilities"] | None = None
    kl_estimator: str | None = None
    kl_estimator_source: str | None = None
    loss_type_only_averages: bool | None = None
    printing_logger: str | None = None
    advantage_epsilon: Epsilon | None = None

    def __post_init__(self) -> None:
        if (self.kl_estimator is None) != (self.kl_estimator_source is None):
            raise ValueError("an estimator of the KL and its source go together")


class WaitKeys(Record):
    """Keys of seconds in which the trainer waits for rollouts, or the sampler for weights."""

    trainer: tuple[str, ...] = ()
    sampler: tuple[str, ...] = ()


class Support(Record, array_like=True):
    """How well one part of a framework's runs is read, and what that was shown on: a real log, output of the
    framework's own writer, or lines built to its format string."""

    state: Literal["yes", "partly", "no"]
    shown: Literal["real", "writer", "built", ""] = ""
    note: str = ""


class Ran(Record, array_like=True):
    """What was run of a framework to see what it writes, and its version (a month, of a source without versions): its
    own trainer; its own logging code, given known numbers; or nothing, its public source was read."""

    what: Literal["trainer", "logger", "source"]
    version: str = ""


class Supports(Record):
    """The same of each part of a run."""

    console: Support
    files: Support
    phases: Support
    config: Support
    samples: Support
    checkpoints: Support


class Framework(Record):
    """All that is known of one framework, or of one version or trainer of it that has names of its own.

    `title`: as its people write it; `label`: with what tells the file from others of the same framework. `framework`:
    the file whose name people know it by; None: this one. `family`: the framework whose config keys and switches apply;
    None: its own. `algorithm`: what it trains with, if it knows one algorithm only. `widely_used`: its keys are shown
    as examples. `ran`: None for what is nobody's. `prefixes`: of keys that a container adds, and what stands for them.
    `convert`: key -> (a, b), the canonical value is a * value + b. `groups`: first part of a key -> group, if it
    differs from what it is elsewhere. `processes`: what the command lines of its trainers hold. `samples`: paths
    (regexes) of files with prompts and completions. `keep_samples`: how to have them written. `enable`: metric -> how
    to have it logged; inherited within a family only. `code`: files and folders of its code; "{trainer}" stands for the
    one of `trainers` that is the run's algorithm, else the first.
    """

    title: str
    detect: Signs
    metrics: Names
    support: Supports
    ran: Ran | None = None
    label: str = ""
    framework: str | None = None
    family: str | None = None
    extends: str | None = None
    algorithm: str | None = None
    widely_used: bool = False
    versions: tuple[Version, ...] = ()
    prefixes: tuple[tuple[str, str], ...] | None = None
    convert: dict[str, tuple[float, float]] = field(default_factory=dict)
    phases: Timers = Timers()
    config: Names = field(default_factory=dict)
    inactive: tuple[Inactive, ...] | None = None
    conventions: Conventions = Conventions()
    checkpoints: Checkpoints | None = None
    groups: dict[str, Group] = field(default_factory=dict)
    traps: tuple[Trap, ...] = ()
    samples: tuple[str, ...] | None = None
    keep_samples: str | None = None
    enable: dict[str, str] = field(default_factory=dict)
    code: dict[Topic, tuple[str, ...]] | None = None
    trainers: tuple[str, ...] | None = None
    waits: WaitKeys = WaitKeys()
    processes: tuple[str, ...] = ()
