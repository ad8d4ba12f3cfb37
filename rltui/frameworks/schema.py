"""The types of the data files of this package, field by field. A file that does not fit is an error. `Framework` is
the type of `data/frameworks/NAME.json`. A file that `extends` another one inherits what it does not state itself:
tables (metrics, config, ...) entry by entry, everything else as a whole. So an empty list or text means "none here",
even if the other file has entries.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from rltui.data_files import Record

GENERIC = "generic"
"""The dialect of home-made training loops. Every other dialect falls back on its exact aliases."""
PHASE = "phase:"
"""Prefix of the canonical names of phase times (`phase:rollout`)."""
REGEX = "re:"
"""Prefix of a key that is a regex."""
Group = Literal[
    "progress", "reward", "validation", "policy", "drift", "off-policy", "mismatch", "length", "tools", "critic",
    "preference", "speed", "memory",
]  # fmt: skip
"""Groups of metrics that are shown together on the screen."""
Topic = Literal["reward", "kl", "advantages", "loss", "generation", "validation", "config"]
"""Topics for which a finding may name places in the framework's code."""
_KEY = r"(?:--|\+)?[A-Za-z_][\w.\-]*(?:\{[\w,]+\}[\w.\-]*)?"
Settings = Annotated[str, Meta(pattern=rf"^{_KEY}(?:=[^\s,]+|=\[[\w,]+\])?(?:, {_KEY}(?:=[^\s,]+)?)*$")]
"""Keys of a config as the framework spells them, some with the value to set: `a.b, c.{d,e}, f=True`. No prose."""
Names = dict[str, tuple[str, ...]]
"""Canonical name -> the framework's own keys, the preferred one first; one that starts with "re:" is a regex."""


class Metric(Record):
    """A canonical metric. `direction`: which way is good. `healthy`: its usual shape. `trap`: how it is easily misread.

    `many`: it has one key for each of several members (reward functions, data sets). `member_label`: the label of a
    member, with "{}" in place of its name.
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
    """A part of a training step. `usual`: the usual range of its share of the step; `why`: the reason for that
    range."""

    label: str
    meaning: str
    usual: tuple[int | float, int | float] | None = None
    why: str = ""
    holds: tuple[str, ...] = ()  # phases that its timer may hold as well
    name: str = ""  # the key of its entry in the file


class Algorithms(Record):
    """How an algorithm is recognised. `by_value`: by the advantage estimator. `by_text`: by a name in the log.
    `by_key`: by metrics that only it logs. `config_keys`: last parts of settings that may name it in a home-made loop.
    `of_groups`: parts of the names of algorithms that compare responses to one prompt; `of_samples`: of all others.
    `preference`: algorithms that learn from pairs. `of_likelihood`: preference algorithms whose rewards are the
    policy's own log-probabilities, without a reference model; the first is used if it is not known which one it is."""

    by_value: dict[str, str]
    config_keys: tuple[str, ...]
    by_text: tuple[tuple[str, str], ...]
    by_key: tuple[tuple[str, tuple[str, ...]], ...]
    of_groups: tuple[str, ...]
    of_samples: tuple[str, ...]
    preference: tuple[str, ...]
    of_likelihood: tuple[str, ...]


class Signs(Record):
    """The signs of a framework. Those for keys and config are regexes, those for text plain strings. `not_keys`: any of
    them excludes the framework. `need_keys`: one of them is required. `all_keys` count only together. `weak`: keys or
    settings that other loops may have too; two of them count, or one together with another sign."""

    keys: tuple[str, ...] = ()
    not_keys: tuple[str, ...] = ()
    need_keys: tuple[str, ...] = ()
    all_keys: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


class Version(Record):
    """A version (">=0.6"), and regexes of keys that only it logs."""

    version: str
    keys: tuple[str, ...]


class Outside(Record):
    """The phases that run outside the step from this version on."""

    version: str
    phases: tuple[str, ...]


class Timers(Record):
    """The keys of each phase's seconds. `nested`: phase -> the phase that contains it. `sum`: the framework logs no
    time for the whole step, so the step's time is the sum of its phases."""

    keys: Names = field(default_factory=dict)
    outside: tuple[Outside, ...] | None = None
    nested: dict[str, str] | None = None
    sum: bool = False
    note: str | None = None


class Trap(Record, rename={"since": "from"}):
    """How a metric is easily misread in this framework. `since`, `before`: the versions for which this holds (None:
    no bound)."""

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
    """`dirs`: regexes of checkpoint directories (group 1: the step). `partial`: regexes of checkpoints that are still
    being written. `settings`: files in checkpoints that hold the run's settings."""

    dirs: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


class Epsilon(Record):
    """A constant in the framework's code, and its place there."""

    value: float
    place: str


class Conventions(Record):
    """What numbers mean in this framework, if frameworks differ. None: as in the framework that it extends, or as in
    most.

    `mini_batch`: the unit in which mini-batches are counted, so that they can be checked. `turns_beside_tools`: the
    number of turns of a sample that are not answers of a tool. `cut`: which response counts as truncated: one as long
    as the limit, or one without an end token. `logprob_difference`: the quantity whose difference between sampler and
    trainer is logged. `kl_estimator`: the estimator in use if the config names none; `kl_estimator_source`: the code
    that shows this, with its version. `loss_type_only_averages`: the setting for the estimator only sets how the loss
    is averaged. `printing_logger`: metrics are printed only if the config lists this logger. `advantage_epsilon`: the
    constant that is added to the spread by which advantages are divided.
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
            raise ValueError("`kl_estimator` and `kl_estimator_source` go together: give both or none")


class WaitKeys(Record):
    """Keys of waiting times in seconds: the trainer waits for rollouts, the sampler for weights."""

    trainer: tuple[str, ...] = ()
    sampler: tuple[str, ...] = ()


class Support(Record, array_like=True):
    """How well rltui reads one part of a framework's runs, and what shows that: a real log, output of the framework's
    own writer, or lines built to its format."""

    state: Literal["yes", "partly", "no"]
    shown: Literal["real", "writer", "built", ""] = ""
    note: str = ""


class Ran(Record, array_like=True):
    """Which part of a framework was run to see what it writes: its own trainer, its own logging code with known
    numbers, or nothing (only its public source was read). `version`: a month if the source has no versions."""

    what: Literal["trainer", "logger", "source"]
    version: str = ""


class Supports(Record):
    """How well each part of a run is read."""

    console: Support
    files: Support
    phases: Support
    config: Support
    samples: Support
    checkpoints: Support


class Framework(Record):
    """All that is known about one framework, or about one version or trainer of it that has its own names.

    `title`: as its authors write it. `label`: the title with what distinguishes this file from others of the same
    framework. `framework`: the file under whose name users know it; None: this one. `family`: the framework whose
    config keys and switches apply; None: its own. `algorithm`: the only algorithm that it has. `widely_used`: its keys
    are shown as examples. `ran`: None if it is not a published framework. `prefixes`: (prefix that a container adds to
    keys, its replacement). `convert`: key -> (a, b): the canonical value is a * value + b. `groups`: first part of a
    key -> group, if it differs from the usual one. `processes`: parts of the command lines of its trainers. `samples`:
    regexes of paths of files with prompts and completions. `keep_samples`: how to make the framework write these files.
    `enable`: metric -> how to make the framework log it; `levers`: what a remedy changes -> the settings that change
    it; both are inherited only within a family. `code`: files and folders of its code; "{trainer}" is replaced by the
    one of `trainers` that is the run's algorithm, else by the first.
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
    levers: dict[str, Settings] = field(default_factory=dict)
    code: dict[Topic, tuple[str, ...]] | None = None
    trainers: tuple[str, ...] | None = None
    waits: WaitKeys = WaitKeys()
    processes: tuple[str, ...] = ()
