"""Pane 4 and its screen: every GPU of every node, what is wrong in words, phases, processes, host, what runs out."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.evidence.forecast import foretold
from rltui.evidence.model import MachineView
from rltui.hardware.base import DiskSample, GpuProcess, GpuSample, HardwareSample, HostProcess, HostSample
from rltui.report.model import Report
from rltui.run.hardware import GENERATION, PhaseHardware
from rltui.session import Frame
from rltui.tui.panes.gpu import draw as draw_gpu
from rltui.tui.view import View
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, Open, screen_text, wait_for

TALL = (160, 90)
OWN = GpuProcess(11, 60.0, "me", "python -m verl.trainer.main_ppo", ours=True)
FOREIGN = GpuProcess(12, 9.0, "other", "python eval.py", ours=False)
DEAD = GpuProcess(13, 2.0, "me", None, zombie=True)
HOST = HostSample(
    *(812.0, 1007.0, 0.4, 20.0, 64, 1900.0, 7100.0, "cgroup"),
    shm_used_gb=40.0,
    shm_total_gb=500.0,
    pressure_io=0.31,
    disks=(DiskSample("checkpoints", "/data/ckpt", 1900.0, 7100.0),),
    processes=(
        HostProcess(11, "trainer", OWN.command, 120.0, True),
        HostProcess(77, "merger", "python -m verl.model_merger merge", 90.0, False, aside=True),
    ),
)


def gpu(node: str, index: int, time: float) -> GpuSample:
    """GPU 0 of the second node is hot, its GPU 1 has fallen off the bus, GPU 2 of the first is shared."""
    busy = int(time / 12) % 3 == 0
    one = GpuSample(
        node, index, "NVIDIA H100 80GB HBM3", 71.2, 80.0, 640.0 if busy else 300.0, 700.0, 0.9, 58.0, (OWN,)
    )
    if (node, index) == ("node2", 0):
        return replace(one, throttle=("thermal",), sm_clock_mhz=990.0, sm_clock_max_mhz=1980.0)
    if (node, index) == ("node2", 1):
        return GpuSample(node, index, one.name, lost=True)
    return replace(one, processes=(OWN, FOREIGN, DEAD)) if (node, index) == ("node1", 2) else one


def machine(nodes: int = 2, note: str = "") -> tuple[Frame, Report]:
    frame, report = canned.make(healthy=True)
    first = canned.START + canned.N * canned.STEP_S - 600.0
    places = [(f"node{n}", i) for n in range(1, nodes + 1) for i in range(8)]
    samples = tuple(
        HardwareSample(t, tuple(gpu(*place, t) for place in places), HOST, note)
        for t in (first + 2.0 * k for k in range(300))
    )
    view = MachineView(
        (PhaseHardware("generation", 90, 0.2, 0.31, 60.0, 72.0, (), (("node1", 3),), GENERATION),),
        dict.fromkeys(places, 0.42),
        (
            foretold(
                "host memory", "host memory", 900.0, 870.0, 960.0, 200, "host memory 812 → 957 GB, at about step 900"
            ),
        ),
    )
    hardware = replace(report.hardware, gpus=tuple(report.hardware.gpus[0] for _ in places), note=note)
    return replace(frame, hardware=samples), replace(report, hardware=hardware, machine=view)


async def test_every_gpu_of_every_node_with_its_trouble_in_words(open_app: Open) -> None:
    async with open_app([machine()], TALL) as (app, pilot):
        await pilot.press("4", "4")
        text = screen_text(app)
        first, _, second = text.partition("node2")
        assert "node1" in first
        assert "8 × H100 80GB HBM3" in first
        assert [line.split()[0] for line in second.splitlines()[1:9]] == [str(i) for i in range(8)]
        hot, lost = second.splitlines()[1:3]
        assert "slowed: thermal" in hot
        assert "990" in hot
        assert "does not answer" in lost
        assert "n/a" in lost
        assert "1 foreign process" in first
        assert "42 %" in first, "utilisation by power"


async def test_phases_processes_host_and_forecast(open_app: Open) -> None:
    async with open_app([machine()], TALL) as (app, pilot):
        await pilot.press("4", "4")
        lines = screen_text(app).splitlines()
        row = next(line for line in lines if line.strip().startswith("generation"))
        assert row.split()[1:7] == ["31", "%", "20", "%", "60.0–72.0", "90"]
        text = "\n".join(lines)
        assert "node1 GPU 3 still works while the others wait" in text
        assert "20 to 40 % of the power limit is normal" in text
        whose = {
            line.split()[0]: line for line in lines if line.split()[:1] and line.split()[0] in ("11", "12", "13", "77")
        }
        assert sum(line.split()[:1] == ["11"] for line in lines) == 2, "one on each node"
        assert "this run" in whose["11"]
        assert "trainer" in whose["11"]
        assert "foreign" in whose["12"]
        assert "zombie" in whose["13"]
        assert "merger" in whose["77"]
        assert "limited by its cgroup" in text
        assert "checkpoints  /data/ckpt" in text
        assert "waits for io" in text
        await pilot.press("G")
        await wait_for(pilot, lambda: "changed by" in screen_text(app), "the end of the page")
        assert "Host memory 812 → 957 GB" in screen_text(app)


async def test_the_hosts_of_the_other_nodes(open_app: Open) -> None:
    second = HostSample(
        *(950.0, 1007.0, 0.9, 70.0, 64, 800.0, 7100.0),
        shm_used_gb=300.0,
        pressure_memory=0.44,
        disks=(DiskSample("Ray", "/tmp/ray", 12.0, 900.0),),
        processes=(HostProcess(91, "uploader", "rclone copy", 3.0, False, aside=True),),
    )
    frame, report = machine()
    several = replace(frame, hardware=tuple(replace(s, others=(("node2", second),)) for s in frame.hardware))
    for size in (TALL, (80, 90)):
        async with open_app([(several, report)], size) as (app, pilot):
            await pilot.press("4", "4")
            await pilot.press("G")
            await wait_for(pilot, lambda app=app: "Other nodes" in screen_text(app), "the end of the page")  # type: ignore[misc]
            lines = screen_text(app).splitlines()
            row = next(line for line in lines if line.strip().startswith("node2 ") and "950 of 1007" in line)
            assert "44 %" in row
            assert row.split()[-2:] == ["12.0", "GB"], "the fullest disk"
            if size == TALL:
                assert any("uploader" in line and "node2  rclone copy" in line for line in lines)


async def test_the_filter_finds_a_gpu_and_a_process(open_app: Open) -> None:
    async with open_app([machine()], TALL) as (app, pilot):
        await pilot.press("4", "4", "slash", *"foreign", "enter")
        text = screen_text(app)
        assert "eval.py" in text
        assert "slowed" not in text


async def test_a_narrow_terminal_keeps_memory_power_and_trouble(open_app: Open) -> None:
    async with open_app([machine()], NARROW) as (app, pilot):
        await pilot.press("4", "4")
        text = screen_text(app)
        assert all(len(line) <= 80 for line in text.splitlines())
        assert "71.2" in text
        await pilot.press("ctrl+d")
        assert "does not answer" in screen_text(app)


async def test_the_pane_shows_what_runs_out_and_says_how_many_gpus_it_leaves_out(open_app: Open) -> None:
    async with open_app([machine(8)], WIDE) as (app, _):
        text = screen_text(app)
        assert "more GPUs" in text
        assert "host memory runs out at about step 900 (870 to 960)" in text


async def test_a_run_without_samples_shows_what_it_logs_and_why_the_rest_is_absent(open_app: Open) -> None:
    async with open_app([canned.make(gpus=False)]) as (app, pilot):
        await pilot.press("4", "4")
        assert "no NVIDIA driver on this machine" in screen_text(app)


async def test_a_recording_tells_of_no_processes(open_app: Open) -> None:
    frame, report = machine()
    recorded = replace(frame, hardware=tuple(replace(s, source="recorded") for s in frame.hardware))
    async with open_app([(recorded, report)], TALL) as (app, pilot):
        await pilot.press("4", "4")
        text = screen_text(app)
        assert "recorded by the run" in text
        assert "Processes" not in text
        assert "Host" in text


def test_a_run_that_was_over_before_has_no_figures_of_this_machine() -> None:
    _, report = canned.make()
    view = View()
    view.take(report)
    shown = "".join(text for row in draw_gpu(view, 55, 12, focus=False) for text, _ in row)
    assert "RAM" in shown
    over = replace(report, run=replace(report.run, state="finished"))
    assert over.recording is not None
    late = replace(over.recording, run=replace(over.recording.run, as_of=1.0))
    view = View()
    view.take(replace(over, recording=late))
    rows = draw_gpu(view, 55, 12, focus=False)
    shown = "".join(text for row in rows for text, _ in row)
    assert "not sampled while it ran" in shown
    assert "RAM" not in shown
    assert all(sum(len(text) for text, _ in row) <= 55 for row in rows)
