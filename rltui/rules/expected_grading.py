"""Expectations of causes about what the reward pays for: nothing in the answers, the opposite of the task, or nothing
at all."""

from __future__ import annotations

from rltui.data_files import Record
from rltui.rules.bounds import Unmet, Words


class Unpaid(Record, frozen=True, tag="unpaid", tag_field="test"):
    """The metric's task member does not change the other metric from row to row, but other members do."""

    metric: Words
    of: Words
    unmet: Unmet = "contradicts"
    decisive: bool = True


class ByChance(Record, frozen=True, tag="by chance", tag_field="test"):
    """Answers to each prompt are right or wrong equally often, as if by the toss of a coin. Answers differ within
    groups as much as right and wrong ones can, and as few groups agree as by chance."""

    unmet: Unmet = "open"
    decisive: bool = True


class BecameAlike(Record, frozen=True, tag="alike prompts", tag_field="test"):
    """Since about the onset, answers differ within groups as much as coin tosses do, and less before. Prompts no longer
    differ in how often they are solved."""

    unmet: Unmet = "open"
    decisive: bool = True


class GaveOneScore(Record, frozen=True, tag="one score", tag_field="test"):
    """Since about the onset, every answer of every batch got the same score, although the answers differ in length."""

    unmet: Unmet = "open"
    decisive: bool = False


class Opposed(Record, frozen=True, tag="opposed", tag_field="test"):
    """From the start on, one metric is the inverse of the other: its negative, or 1 minus it."""

    metric: Words
    of: Words
    unmet: Unmet = "contradicts"
    decisive: bool = True


class UpsideDown(Record, frozen=True, tag="upside down", tag_field="test"):
    """Up to the onset, one metric rose and fell with the other. Since then it moves just as much the opposite way."""

    metric: Words
    of: Words
    unmet: Unmet = "contradicts"
    decisive: bool = True


class Stopped(Record, frozen=True, tag="stopped", tag_field="test"):
    """None of these metrics has had a number since about the onset, while other metrics have."""

    metrics: tuple[Words, ...]
    unmet: Unmet = "contradicts"
    decisive: bool = True


class PartTurned(Record, frozen=True, tag="part turned", tag_field="test"):
    """About the onset, a part of the reward changed its sign within one row, while the policy was as before."""

    unmet: Unmet = "open"
    decisive: bool = False
