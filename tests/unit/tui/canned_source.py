"""A run that hands out canned frames and answers questions with canned answers."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, TypeVar, cast

from rltui.diagnosis.constants import Constant, RewardValues
from rltui.diagnosis.insight import FirstMover, Insight
from rltui.diagnosis.kl_reward import KlRewardCase
from rltui.evidence.model import Forecast
from rltui.evidence.step_time import OwnShare, SlowStep, Waits
from rltui.rules.invariants import Invariant
from rltui.session import Frame

if TYPE_CHECKING:
    from rltui.session.run_reader import RunReader

T = TypeVar("T")


FORECASTS = (
    Forecast(
        "end", "time_per_step_s", 220e3, 200e3, 240e3, 50, "1188 steps left, 61 h (±6 h)", "s", "the pace of the steps"
    ),
    Forecast(
        "entropy",
        "entropy",
        1020.0,
        950.0,
        None,
        300,
        "entropy 0.034 → 0.02 nats at about step 1020",
        "step",
        "a change of course",
    ),
)
SLOW = "300 s, 2 times the usual 150 s: longer responses (1.9 times the tokens)"
WAITS = "the trainer waits 30 % of the step for rollouts: generation is the bottleneck"
REWARDS = "binary, 0 or 1, and 41 % of the answers get 1"


class CannedSource:
    """Hands out given frames; `step` makes the next one, once a `every_s` seconds."""

    def __init__(self, frames: list[Frame], more: Callable[[], Frame] | None = None, every_s: float = 1.0) -> None:
        self.frames = list(frames)
        self.last = self.frames[-1] if self.frames else None
        self.more = more
        self.every_s = every_s
        self.closed = Event()

    def next_frame(self, timeout_s: float) -> Frame | None:
        if self.frames:
            return self.frames.pop(0)
        if self.more is not None:
            if self.closed.wait(self.every_s):
                return None
            return self.more()
        self.closed.wait(timeout_s)
        return None

    def ask(self, question: Callable[[RunReader], T]) -> T:
        return question(cast("RunReader", self))

    def past_frame(self, step: int) -> Frame:
        """The frame as it is: what a report of the past holds is the session's matter."""
        assert self.last is not None
        return self.last

    def insight(self, around: int, at: int | None = None) -> Insight:
        moves = (FirstMover("entropy", around - 40, 0.9, 0.5, 7.0), FirstMover("kl_ref", around, 0.03, 0.2, 9.0))
        case = KlRewardCase("up", "flat", "down", "drift", "drift without learning", "lower the learning rate")
        holds = (Invariant("entropy ≥ 0", "loss", "pass", "0.32", "lowest value"),)
        return Insight(
            around,
            moves,
            case,
            None,
            holds,
            FORECASTS if self.last and self.last.series else (),
            SlowStep(around, 300.0, 150.0, 2.0, 1.9, 0.95, "rollout", 0.8, SLOW),
            Waits(0.3, 0.05, WAITS),
            (OwnShare("rollout", 0.71, 0.55, 0.64, "high"),),
            RewardValues(True, 0.41, 0.0, 1.0, REWARDS),
            (Constant("clip range, lower", 0.2, "bfloat16", "actor.clip_ratio", "0.1 to 0.3", "pass"),),
        )

    def with_insight(self, frame: Frame) -> Frame:
        return frame

    def onset_insight(self, findings: object, decision: object, at: int | None) -> Insight:
        return self.insight(at or 0)

    def close(self) -> None:
        self.closed.set()
