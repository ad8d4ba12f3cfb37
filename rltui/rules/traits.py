"""What a rule is to the judge. A page names its traits, and whoever weighs findings asks for a trait, never for an id.

Whether a rule is a root or a symptom is its `role`, what goes wrong in the run is its `kind`; traits say the rest.
"""

from __future__ import annotations

from enum import StrEnum


class Trait(StrEnum):
    """One quality that a rule has or has not."""

    BREAKS_POLICY = "breaks-policy"
    """When critical, neither the weights nor the reward is to be trusted after its onset."""

    NONFINITE = "nonfinite"
    """It looks at numbers that are not finite; when critical, the weights are lost."""

    OF_ZEROS = "of-zeros"
    """It looks at a metric that is 0 in every row, which else counts as not measured."""

    FARMS_REWARD = "farms-reward"
    """While it is open, the total reward no longer stands for the task."""

    GAMES_PENALTY = "games-penalty"
    """The reward is earned by the penalty that was to hold the policy: when critical, every step makes it worse."""

    REWARD_FALLS = "reward-falls"
    """It says that the train reward goes down."""

    COLLAPSE = "collapse"
    """The train reward is far below its peak."""

    VALIDATION_FALLS = "validation-falls"
    """It says that the held-out score goes down."""

    AT_FLOOR = "at-floor"
    """The reward has been as low as it can be."""

    SOLVED = "solved"
    """The reward is as high as it can be: what it then says of lost signal is success."""

    NO_SIGNAL = "no-signal"
    """Nothing can be learnt from a step. Of a solved task that is no fault."""

    MEASUREMENT = "measurement"
    """It sees that the reward was not measured: of the policy that says nothing, and it is no reason to end the run."""

    CUT_OFF = "cut-off"
    """Responses end at the limit."""

    LEVEL = "level"
    """It calls the reward level."""

    PLATEAU = "plateau"
    """The reward rose and has stopped to rise."""

    DRIFT = "drift"
    """The policy moves away from its reference without gain."""

    SECOND_SIGN = "second-sign"
    """Beside a reward at its floor it says that the collapse is no dip."""

    LEADS_FALL = "leads-fall"
    """Open before a fall of the reward, it says that the fall is no dip."""

    MECHANICAL = "mechanical"
    """When critical, every further step is worthless until it is fixed."""

    PAST_ITS_BEST = "past-its-best"
    """Already as a warning it says that an earlier checkpoint is better, unless validation still rises or a fall may
    heal."""

    HARMFUL = "harmful"
    """When critical, going on costs more than it brings."""

    BROKEN_HARDWARE = "broken-hardware"
    """When critical, what a GPU of the run computes is not to be trusted, or it computes nothing."""

    NO_ROOM = "no-room"
    """When critical, the next checkpoint cannot be written: what is computed until then is lost with the run."""

    HINT = "hint"
    """It says that something changed, not what is wrong: in a run that was sick before it is no second fault."""

    COST_ONLY = "cost-only"
    """It says nothing about whether the model learns."""

    STALL = "stall"
    """The run has stopped without an end."""

    CRASH = "crash"
    """The run has ended with an error."""

    OVERFITS = "overfits"
    """The train reward rises while the held-out score falls."""

    UNSTABLE_UPDATE = "unstable-update"
    """Updates are not what the advantages ask for: beside a step that is too large they are the harm."""

    GRADIENT_RISES = "gradient-rises"
    """The gradient norm has grown for long."""

    NO_CONTRAST = "no-contrast"
    """Groups hold too few samples to be compared within."""

    RATE_HIGH = "rate-high"
    """It warns of a learning rate that is too high."""

    RATE_LOW = "rate-low"
    """It warns of a learning rate that is too low."""

    HOLDS_BACK = "holds-back"
    """It sees a force that holds the policy where it is."""

    EVERY_PHASE = "every-phase"
    """It looks at every phase of a step."""
