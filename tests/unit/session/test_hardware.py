"""Which samples a frame shows: those taken now of a run that is heard, else those that were recorded with it."""

from __future__ import annotations

from rltui.cli.screen import sample_runs
from rltui.hardware.base import HardwareSample, HostSample
from rltui.readers.base import HardwareRow
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader


def test_a_run_that_is_not_heard_shows_what_was_recorded_with_it() -> None:
    here = (HardwareSample(5.0, host=HostSample(load1=1.0)),)
    opened = RunReader(locate([f"{sample_runs()}/verl-grpo-crash"])[0], follow=True, samples=lambda: here)
    opened.load()
    assert opened.frame().hardware == here, "nothing was recorded"
    opened.run.recorded_hardware.append(HardwareRow(1.0, {"gpu.0.powerWatts": 300.0}))
    assert [s.source for s in opened.frame().hardware] == ["recorded"]
    opened.run.pulse.heard = True
    assert opened.frame().hardware == here, "it runs here, now"
    opened.close()
