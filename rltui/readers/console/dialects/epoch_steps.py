"""DeepSpeed-Chat: `epoch: 1|step: 3|ppo_ep: 1|act_loss: 0.2|...`, in newer versions
`Epoch: 1 | Step: 3 | PPO Epoch: 1 | Actor Loss: 0.2 | ...`, with the reward and the times on separate lines.

Its step count starts again in each epoch. Here it goes on, by the number of batches that it states as an epoch begins.
"""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import Step
from rltui.readers.console.generic import step_line
from rltui.readers.console.line_pairs import attributes

_EPOCH = lazy(r"Beginning of Epoch (\d{1,9})/(\d{1,9}), Total Generation Batches (\d{1,12})")
_STEP = lazy(r"[Ee]poch: (\d{1,9}) ?\| ?[Ss]tep: (\d{1,12}) ?\| ?(?:ppo_ep|PPO Epoch): ")
_TOOK = lazy(r"(End-to-End|Generation|Training) *=> (Latency): (\d{1,9}(?:\.\d{1,9})?)s")


class EpochSteps:
    """Reads the steps of one training; the lines below a step belong to it."""

    marks = (
        *("|ppo_ep: ", "| PPO Epoch: ", "Total Generation Batches", "verage reward score: "),
        *("|E2E latency=", "=> Latency: "),
    )
    late = True
    is_open = False

    def __init__(self) -> None:
        self._batches = 0
        self._total: int | None = None
        self._step: int | None = None
        self._cells: dict[str, float] = {}  # of the step so far

    def line(self, prefix: str, message: str) -> list[Step] | None:
        begun = _EPOCH.search(message)
        if begun is not None:
            self._batches = int(begun[3])
            self._total = int(begun[2]) * self._batches or None
            return []
        found = _STEP.search(message)
        if found is None:
            took = _TOOK.search(message)
            cells = attributes(message) if took is None else {f"{took[1]} {took[2]}": float(took[3])}
            if self._step is None or not cells:
                return None
            self._cells.update(cells)
            return []
        block = step_line(message)
        if block is None:
            return None
        done = self.close()
        self._step = int(found[1]) * self._batches + int(found[2])
        self._cells = block.cells
        return done

    def close(self) -> list[Step]:
        if self._step is None or not self._cells:
            return []
        cells, self._cells = self._cells, {}
        return [Step(self._step, cells, self._total)]
