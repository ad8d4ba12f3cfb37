"""What a rule means to the judge. A page names its rules' traits; code that weighs findings asks for a trait, never for
an id.

A rule's `role` says whether it is a root or a symptom, and its `kind` what goes wrong in the run; traits say the rest.
"""

from __future__ import annotations

from enum import StrEnum


class Trait(StrEnum):
    """One quality that a rule may have."""

    BREAKS_POLICY = "breaks-policy"
    """When critical, neither the weights nor the reward can be trusted after its onset."""

    NONFINITE = "nonfinite"
    """It looks at numbers that are not finite. When critical, the weights are lost."""

    OF_ZEROS = "of-zeros"
    """It looks at a metric that is 0 in every row, which otherwise counts as not measured."""

    FARMS_REWARD = "farms-reward"
    """While it is open, the total reward no longer measures the task."""

    GAMES_PENALTY = "games-penalty"
    """The penalty that should hold the policy earns the reward. When critical, every step makes it worse."""

    REWARD_FALLS = "reward-falls"
    """It reports that the train reward goes down."""

    COLLAPSE = "collapse"
    """The train reward is far below its peak."""

    VALIDATION_FALLS = "validation-falls"
    """It reports that the held-out score goes down."""

    AT_FLOOR = "at-floor"
    """The reward has been as low as it can be."""

    SOLVED = "solved"
    """The reward is as high as it can be: a lost signal is then success."""

    NO_SIGNAL = "no-signal"
    """Nothing can be learnt from a step. For a solved task that is not a fault."""

    MEASUREMENT = "measurement"
    """It reports that the reward was not measured. That shows nothing about the policy and is no reason to end the run.
    """

    CUT_OFF = "cut-off"
    """Responses end at the limit."""

    LEVEL = "level"
    """It reports that the reward is level."""

    PLATEAU = "plateau"
    """The reward rose and has stopped rising."""

    DRIFT = "drift"
    """The policy moves away from its reference without gain."""

    SECOND_SIGN = "second-sign"
    """Beside a reward at its floor, it shows that the collapse is not a dip."""

    LEADS_FALL = "leads-fall"
    """If open before a fall of the reward, it shows that the fall is not a dip."""

    MECHANICAL = "mechanical"
    """When critical, every further step is worthless until it is fixed."""

    PAST_ITS_BEST = "past-its-best"
    """Even as a warning it means that an earlier checkpoint is better, unless validation still rises or a fall may
    recover."""

    HARMFUL = "harmful"
    """When critical, continuing costs more than it brings."""

    BROKEN_HARDWARE = "broken-hardware"
    """When critical, the results of a GPU of the run cannot be trusted, or it computes nothing."""

    NO_ROOM = "no-room"
    """When critical, the next checkpoint cannot be written: everything computed until then is lost with the run."""

    HINT = "hint"
    """It reports that something changed, not what is wrong: in a run with an earlier fault it is not a second fault."""

    COST_ONLY = "cost-only"
    """It shows nothing about whether the model learns."""

    STALL = "stall"
    """The run has stopped without an end."""

    CRASH = "crash"
    """The run has ended with an error."""

    OVERFITS = "overfits"
    """The train reward rises while the held-out score falls."""

    UNSTABLE_UPDATE = "unstable-update"
    """Updates are not what the advantages ask for: beside a step that is too large, they are the harm."""

    GRADIENT_RISES = "gradient-rises"
    """The gradient norm has grown for a long time."""

    NO_CONTRAST = "no-contrast"
    """Groups hold too few samples to compare them."""

    RATE_HIGH = "rate-high"
    """It warns of a learning rate that is too high."""

    RATE_LOW = "rate-low"
    """It warns of a learning rate that is too low."""

    HOLDS_BACK = "holds-back"
    """It reports a force that holds the policy where it is."""

    EVERY_PHASE = "every-phase"
    """It looks at every phase of a step."""
