"""Steps that are counted anew in each epoch: they are made to go on after those of the epoch before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.readers.rows import number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CountsByEpoch(Struct):
    """Takes epoch and count of each row in file order. If the count falls and the epoch rises, the count began anew. If
    it falls and the epoch stays or falls, the run went back to an earlier step. `base`: the steps of the epochs
    before."""

    base: int = 0
    last: tuple[int, int] | None = None  # epoch and count of the row before
    stride: int = 0  # the smallest distance between two counts; 0 as long as there are not two
    first: int = 0  # the first count of this epoch
    idle: bool = False  # what was taken for epochs says nothing of the count
    _begun: dict[int, tuple[int, int]] = field(default_factory=dict)  # epoch -> its base and its first count

    def copy(self) -> CountsByEpoch:
        return replace(self, _begun=dict(self._begun))

    def step(self, epoch: int | None, count: int, total: int | None = None) -> int:
        """The step of a row. `epoch`: None if the row states none: it belongs to the epoch before it. `total`: the
        steps of one epoch."""
        last = self.last
        if epoch is None:
            if last is None:
                return count
            epoch = last[0]
        if last is not None and epoch < last[0] and count > last[1] and not self.base:
            self.idle = True  # the count goes on, so it is not that of the epochs: a title inside a step
        if self.idle and last is not None:
            epoch = last[0]
        if last is None:
            self.first = count
        elif epoch > last[0] and (count < last[1] or count == last[1] == total):  # a row at the end of each
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

    def goes_on(self, count: int) -> int:
        """The step of a row in the epoch of the row before."""
        return self.step(None if self.last is None else self.last[0], count)

    def steps(self, epochs: Iterable[int | None], counts: list[int]) -> list[int]:
        """The steps of several rows. A negative count stands for none."""
        return [self.step(epoch, count) if count >= 0 else count for epoch, count in zip(epochs, counts, strict=True)]

    def many(self, epochs: NDArray[np.float64] | None, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The steps of many rows at once. A NaN epoch stands for none."""
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


def epoch_of(value: object) -> int | None:
    """The epoch in a cell; None if it is not a whole number: a fraction does not tell where a count began."""
    x = number(value)
    return int(x) if x is not None and abs(x) < 1e9 and x == int(x) else None
