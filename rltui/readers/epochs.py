"""Steps that are counted anew in each epoch: they are renumbered to continue those of the epoch before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.readers.keys import first_of
from rltui.readers.name_words import either, words
from rltui.readers.rows import number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST = 10**12
"""No epoch has this many steps: a plan that says so is damaged."""
LOOKS = 16
"""How many rows are checked to see whether a number stays the same in a round. A metric with whole values does not."""


class UnnamedRounds(Struct):
    """Finds the number that counts the rounds beside a count, whatever it is called: `[1/3] update 4/50`, `chunk 1 step
    3`. It stays the same from the first row of a round on, and is one more in the row in which the count begins again
    where it began. `key`: its place or name; None until it is found."""

    key: int | str | None = None
    _first: int = 0
    _beside: Mapping[int | str, int] = field(default_factory=dict)  # numbers beside that count, unchanged since
    _looks: int = 0

    def find(self, count: int, beside: Callable[[], Mapping[int | str, int]], last: int | None) -> int | None:
        """Takes a row. `beside`: returns the whole numbers that may count rounds; `last`: the count of the row before,
        None for the first row. Returns the round before this one if this row shows which number counts the rounds."""
        if last is None:
            self._first, self._beside = count, beside()
        elif count >= last and self._beside and self._looks < LOOKS:
            self._looks, now = self._looks + 1, beside()
            self._beside = {key: x for key, x in self._beside.items() if now.get(key, x) == x}
        else:
            self.key = self.begun(count, beside, last)
        return None if self.key is None else self._beside[self.key]

    def begun(self, count: int, beside: Callable[[], Mapping[int | str, int]], last: int) -> int | str | None:
        """The place or name of the number that counts the rounds, if this row begins a round; else None."""
        if not self._beside or count >= last or count > self._first:
            return None
        now = beside()
        return next((key for key, x in self._beside.items() if now.get(key) == x + 1), None)


class CountsByEpoch(Struct):
    """Takes epoch and count of each row in file order. If the count falls and the epoch rises, the count began anew. If
    it falls and the epoch stays or falls, the run went back to an earlier step. `base`: the steps of the epochs
    before."""

    base: int = 0
    last: tuple[int, int] | None = None  # epoch and count of the row before
    stride: int = 0  # the smallest distance between two counts; 0 until there are two
    first: int = 0  # the first count of this epoch
    idle: bool = False  # what was taken for epochs has nothing to do with the count
    rounds: UnnamedRounds = field(default_factory=UnnamedRounds)
    _begun: dict[int, tuple[int, int]] = field(default_factory=dict)  # epoch -> its base and its first count

    def copy(self) -> CountsByEpoch:
        return replace(self, rounds=replace(self.rounds), _begun=dict(self._begun))

    def step(self, epoch: int | None, count: int, total: int | None = None) -> int:
        """The step of a row. `epoch`: None if the row states none; it then belongs to the epoch of the row before.
        `total`: the steps of one epoch."""
        last = self.last
        total = total if total is not None and total < MOST else None
        if epoch is None:
            if last is None:
                return count
            epoch = last[0]
        if last is not None and epoch < last[0] and count > last[1] and not self.base:
            self.idle = True  # the count goes on, so the epochs do not restart it: they are titles inside a step
        if self.idle and last is not None:
            epoch = last[0]
        if last is None:
            self.first = count
        elif epoch > last[0] and (count < last[1] or count == last[1] == total):  # or one row at each epoch's end
            self.base += total or last[1] - self.first + (self.stride or 1)
            self.first = count
        elif epoch < last[0]:
            self.base, self.first = self._begun.get(epoch, (0, count))  # the epoch is done again
        elif count > last[1]:
            apart = count - last[1]
            self.stride = min(self.stride or apart, apart)
        if last is None or epoch != last[0]:
            self._begun.setdefault(epoch, (self.base, self.first))
        self.last = epoch, count
        return self.base + count

    def round_beside(self, count: int, beside: Callable[[], Mapping[int | str, int]]) -> int | str | None:
        """The place or name of the number `beside` a count that counts its rounds; None if none is known. Called for
        each row that states no epoch, before its `step`."""
        if self.rounds.key is None:
            before = self.rounds.find(count, beside, None if self.last is None else self.last[1])
            if before is not None and self.last is not None:  # so the counts so far belonged to that round
                self._begun = {before: (self.base, self.first)}
                self.last = before, self.last[1]
        return self.rounds.key

    def begins_round(self, count: int, beside: Callable[[], Mapping[int | str, int]]) -> bool:
        """Whether a row is the first one that shows which of the numbers beside it counts the rounds."""
        return self.last is not None and self.rounds.begun(count, beside, self.last[1]) is not None

    def goes_on(self, count: int) -> int:
        """The step of a row in the epoch of the row before."""
        return self.step(None if self.last is None else self.last[0], count)

    def steps(self, epochs: Iterable[int | None], counts: list[int]) -> list[int]:
        """The steps of several rows. A negative count means that the row states none."""
        return [self.step(epoch, count) if count >= 0 else count for epoch, count in zip(epochs, counts, strict=True)]

    def many(self, epochs: NDArray[np.float64] | None, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The steps of many rows at once. A NaN epoch means that the row states none."""
        import numpy as np

        if epochs is None:
            epochs = np.full(len(counts), np.nan)
        told = np.isfinite(epochs) & (epochs == np.floor(epochs))
        rising = told.all() and bool(
            (counts >= 0).all() and (np.diff(counts) >= 0).all() and (np.diff(epochs) >= 0).all()
        )
        if rising and self.last is not None and epochs[0] >= self.last[0] and counts[0] >= self.last[1]:
            apart = np.diff(counts, prepend=self.last[1])
            smallest = int(apart.min(where=apart > 0, initial=self.stride or np.iinfo(np.int64).max))
            self.stride = smallest if apart.any() else self.stride
            self.last = int(epochs[-1]), int(counts[-1])
            for epoch in np.unique(epochs).tolist():
                self._begun.setdefault(int(epoch), (self.base, self.first))
            return counts + self.base
        whole = [int(epoch) if one else None for epoch, one in zip(epochs.tolist(), told.tolist(), strict=True)]
        return np.array(self.steps(whole, counts.tolist()), dtype=np.int64)


def epoch_key(keys: Collection[str], step: str | None) -> str | None:
    """The key that states the epoch of a row, else the key of the round of an outer loop, if that is not the step's."""
    return first_of("epoch", keys) or round_of(key for key in keys if key != step)


def round_of(names: Iterable[str]) -> str | None:
    """The first of these names that counts rounds, in each of which the row's step may be counted anew; None if none
    does."""
    rounds, none = either("outer", "rounds"), words().phases
    return next((name for name in names if name.lower() in rounds and name.lower() not in none), None)


def epoch_of(value: object) -> int | None:
    """The epoch in a cell; None if it is not a whole number: a fraction does not show where a count began."""
    x = number(value)
    return int(x) if x is not None and abs(x) < 1e9 and x == int(x) else None
