"""What was made of a step line, if lines of its form will be read alike: no other line adds to it or takes from it, and
nothing is still to be learned from such lines."""

from __future__ import annotations

from rltui.readers.console.courses import form_of
from rltui.readers.console.lead import split_lead
from rltui.readers.console.settled_form import LineReading
from rltui.readers.console.step_block import StepBlock
from rltui.readers.console.step_template import StepRow, Template, TemplateLine
from rltui.readers.console.trainings import training_of
from rltui.readers.epochs import CountsByEpoch, epoch_key


def reading_of_line(row: StepRow, template: Template, line: TemplateLine, before: str) -> LineReading | None:
    """Of a line that a template has read, and its row. `before`: the text before its message."""
    if row.aside or row.twice or not row.message or not row.cells or line.lines != row.lines:
        return None
    epochs, place = template.epochs, template.epoch
    counted = {line.slots[place].name} if place is not None and place < len(line.slots) else set()
    return LineReading(
        template.count(line),
        row.cells,
        before,
        total=row.total,
        lost=row.lost,
        held=frozenset(counted & row.cells.keys()),
        form=form_of(row.message),
        training=row.training or training_of(split_lead(row.message)),
        epoch=epochs.last and (epochs.last[0], epochs.base),
    )


def reading_of_block(
    count: int, begun: StepBlock, above: StepBlock, before: str, epochs: CountsByEpoch
) -> LineReading | None:
    """Of a line that states a step and its numbers, below another one (`above`)."""
    parted = begun.headed or begun.part or begun.twice or begun.ahead or begun.above or begun.own
    numbers_between = above.above or above.before
    if parted or numbers_between or not begun.cells or not begun.form or above.form != begun.form:
        return None
    key = epoch_key(begun.cells, None)
    return LineReading(
        count,
        dict(begun.cells),
        before,
        below=True,
        total=begun.total,
        held=frozenset(() if key is None else (key,)),
        form=begun.form,
        training=training_of(split_lead(begun.message)),
        epoch=epochs.last and (epochs.last[0], epochs.base),
    )
