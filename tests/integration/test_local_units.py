# SPDX-License-Identifier: Apache-2.0
"""Local processes beyond the contract: limits, GPUs, ports, what is left when a keeper is killed."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from aboard.errors import UnitRefused
from aboard.executors.keeper.process_tree import marked
from aboard.executors.keeper.unit_folder import UnitFolder
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Port, Resources, UnitHandle
from support.executor_benches import PATIENCE, Bench, local_bench
from support.object_servers import free_ports
from support.processes import until


@pytest.fixture
def bench(tmp_path: Path) -> Generator[Bench]:
    with local_bench(tmp_path) as opened:
        yield opened
        opened.clear()


def test_a_folder_that_is_not_there_is_refused_before_anything_starts(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(UnitRefused, match="no folder"):
        bench.submit("true", source=str(tmp_path / "absent"))


def test_the_source_is_where_the_command_runs(bench: Bench, tmp_path: Path) -> None:
    handle = bench.submit("pwd", source=str(tmp_path))
    bench.ended(handle)
    assert bench.output(handle) == f"{tmp_path}\n"


def test_a_port_that_is_taken_is_refused(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(UnitRefused, match=f"port {number} .* is taken") as refused:
            bench.submit("true", ports=(Port(number=number),))
    assert "0 for any" in refused.value.hint


def test_every_port_has_a_number_of_its_own(bench: Bench) -> None:
    handle = bench.submit("echo $ABOARD_PORT_HTTP $ABOARD_PORT_DEBUG_UI", ports=(Port(), Port(name="debug-ui")))
    bench.ended(handle)
    told = [int(word) for word in bench.output(handle).split()]
    ends = [bench.executor.endpoint(handle, name) for name in ("http", "debug-ui")]
    assert told == [end.port for end in ends if end is not None]
    assert len(set(told)) == 2


def test_more_cpus_than_the_machine_has_are_refused(bench: Bench) -> None:
    with pytest.raises(UnitRefused, match="CPUs are asked for"):
        bench.submit("true", resources=Resources(cpus=100_000))


def test_memory_is_a_limit(bench: Bench) -> None:
    script = "import time; held = bytearray(300 << 20); time.sleep(60)"
    handle = bench.submit(command=("python3", "-c", script), resources=Resources(memory=100 << 20))
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.OUT_OF_MEMORY), status
    assert str(100 << 20) in status.message


def test_use_of_the_machine_is_told_with_all_children(bench: Bench) -> None:
    handle = bench.submit("sleep 60 & sleep 60")
    until(lambda: (usage := bench.executor.usage(handle)) is not None and usage.processes == 3, PATIENCE)
    usage = bench.executor.usage(handle)
    assert usage is not None
    assert usage.memory > 0
    bench.executor.stop(handle, grace=0)
    bench.ended(handle)
    until(lambda: bench.executor.usage(handle) is None, PATIENCE)


def test_gpus_go_to_one_unit_at_a_time(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnitRefused, match=r"1 GPUs are asked for; .* has 0"):
        bench.submit("true", resources=Resources(gpus=1))
    # A machine with two GPUs, as the driver's own program tells of them.
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 0\necho 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    first = bench.submit("echo gpu $CUDA_VISIBLE_DEVICES; sleep 60", resources=Resources(gpus=1))
    second = bench.submit("echo gpu $CUDA_VISIBLE_DEVICES; sleep 60", resources=Resources(gpus=1))
    bench.until_printed(first, "gpu 0\n")
    bench.until_printed(second, "gpu 1\n")
    with pytest.raises(UnitRefused, match="has 2, of which 0 are free"):
        bench.submit("true", resources=Resources(gpus=1))
    bench.executor.stop(first, grace=0)
    bench.ended(first)
    third = bench.spec("echo gpu $CUDA_VISIBLE_DEVICES", resources=Resources(gpus=1))

    def is_given() -> bool:
        try:
            bench.submit_spec(third)
        except UnitRefused:
            return False  # the first one's keeper is just going
        return True

    until(is_given, PATIENCE)
    bench.until_printed(bench.handles[-1], "gpu 0\n")


def test_a_unit_whose_keeper_was_killed_is_lost_and_can_be_ended(bench: Bench) -> None:
    child = "(setsid sh -c \"trap '' TERM; while :; do echo child; sleep 0.1; done\" &) ; "
    handle = bench.submit(f"{child} trap '' TERM; while :; do sleep 0.1; done")
    bench.until_printed(handle, "child")
    bench.running(handle)
    state = json.loads((Path(handle.place["folder"]) / "state.json").read_text())
    os.kill(state["keeper"], signal.SIGKILL)
    until(lambda: bench.executor.status(handle).state is UnitState.LOST, PATIENCE)
    assert "still run" in bench.executor.status(handle).message
    bench.executor.stop(handle, grace=0.2)
    status = bench.executor.status(handle)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    size = len(bench.output(handle))
    assert not _is_alive(state["pid"])
    assert len(bench.output(handle)) == size


def test_submitting_again_after_a_submitter_that_died_in_the_middle_starts_the_unit(bench: Bench) -> None:
    spec = bench.spec("echo here")
    # As far as a submitter can come before there is a keeper: the folder, and perhaps the spec in it.
    folder = Path(bench.executor.folder) / spec.id  # type: ignore[attr-defined]
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text("{}")
    assert bench.executor.find(spec.id) is None
    handle = bench.submit_spec(spec)
    bench.ended(handle)
    assert bench.output(handle) == "here\n"


def test_what_a_unit_may_hold_is_readable_by_its_owner_alone(bench: Bench) -> None:
    handle = bench.submit("echo secret", environment={"TOKEN": "secret"}, restarts=1)
    bench.ended(handle)
    folder = Path(handle.place["folder"])
    assert (folder / "inherited.json").exists()
    for path in [folder, *folder.iterdir()]:
        assert path.stat().st_mode & 0o077 == 0, path


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def _kill_with_keeper(bench: Bench, handle: UnitHandle) -> None:
    """As the machine does when it has no memory left, or loses its power."""
    bench.running(handle)  # a unit may print before its keeper has written that it runs
    folder = UnitFolder(Path(handle.place["folder"]))
    state = folder.read("state.json")
    assert state is not None
    for pid in (state["keeper"], state["pid"]):
        os.kill(pid, signal.SIGKILL)
    until(lambda: bench.executor.status(handle).state is UnitState.LOST, PATIENCE)


def test_a_unit_that_was_killed_with_its_keeper_goes_on_when_somebody_looks(bench: Bench) -> None:
    handle = bench.submit("echo start; sleep 60", restarts=1)
    bench.until_printed(handle, "start")
    assert not bench.executor.revive(handle)  # it lives
    _kill_with_keeper(bench, handle)
    assert bench.executor.status(handle).can_go_on
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: bench.executor.revive(handle), range(4))) == [False, False, False, True]
    bench.until_printed(handle, "start\nstart\n")
    bench.running(handle)
    status = bench.executor.status(handle)
    assert (status.state, status.attempt) == (UnitState.RUNNING, 2), status
    _kill_with_keeper(bench, handle)
    assert not bench.executor.status(handle).can_go_on
    assert not bench.executor.revive(handle)
    assert bench.output(handle) == "start\nstart\n"


def test_who_starts_a_unit_again_does_not_change_its_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "the submitter's")
    monkeypatch.setenv("ODD", b"\xff".decode("utf-8", "surrogateescape"))  # as names of files may be
    monkeypatch.setenv("ABOARD_HOME", "/home/of/the/submitter")
    monkeypatch.setenv("ABOARD_TOKEN", "the submitter's")
    shown = 'echo "$KEY ${LATER:-none} $ABOARD_HOME ${ABOARD_TOKEN:-none}" $(printf %s "$ODD" | od -An -tx1)'
    handle = bench.submit(f"{shown}; sleep 60", restarts=1)
    line = "the submitter's none /home/of/the/submitter none ff\n"
    bench.until_printed(handle, line)
    _kill_with_keeper(bench, handle)
    for name in ("KEY", "LATER", "ABOARD_HOME", "ABOARD_TOKEN"):
        monkeypatch.setenv(name, "of who looks")
    monkeypatch.delenv("ODD")
    assert bench.executor.revive(handle)
    until(lambda: bench.output(handle).count("\n") == 2, PATIENCE)
    assert bench.output(handle) == line * 2


def test_what_a_killed_keeper_left_ends_before_the_unit_starts_again(bench: Bench) -> None:
    stubborn = "trap '' TERM; echo start $$; while :; do sleep 0.1; done"
    handle = bench.submit(stubborn, restarts=1, grace=0.5)
    bench.until_printed(handle, "start")
    left = int(bench.output(handle).split()[1])
    bench.running(handle)
    os.kill(json.loads((Path(handle.place["folder"]) / "state.json").read_text())["keeper"], signal.SIGKILL)
    until(lambda: bench.executor.status(handle).state is UnitState.LOST, PATIENCE)
    assert "still run" in bench.executor.status(handle).message
    assert bench.executor.revive(handle)
    until(lambda: bench.output(handle).count("start") == 2, PATIENCE)
    assert left not in marked(handle.unit)


def test_starts_by_keepers_and_by_those_who_look_are_counted_together(bench: Bench) -> None:
    handle = bench.submit("echo start $$; sleep 60", restarts=2)
    bench.until_printed(handle, "start")
    _kill_with_keeper(bench, handle)
    assert bench.executor.revive(handle)
    for starts in (2, 3):
        until(lambda starts=starts: bench.output(handle).count("start") == starts, PATIENCE)
        bench.running(handle)
        os.kill(int(bench.output(handle).split()[-1]), signal.SIGKILL)
    status = bench.ended(handle)
    assert (status.reason, status.exit_code, status.attempt) == (EndReason.EXITED, 137, 3), status


def test_a_unit_that_takes_too_much_memory_is_started_again_too(bench: Bench) -> None:
    script = "echo start; exec python3 -c \"held = b'x' * (200 << 20); import time; time.sleep(60)\""
    handle = bench.submit(script, restarts=1, resources=Resources(memory=100 << 20))
    status = bench.ended(handle)
    assert (status.reason, status.attempt) == (EndReason.OUT_OF_MEMORY, 2), status
    assert bench.output(handle) == "start\n" * 2


def test_starts_of_the_job_around_it_are_not_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_RESTART_COUNT", "4")  # as within a job that Slurm has queued again
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1800000000")
    handle = bench.submit("echo requeued ${ABOARD_UNIT_REQUEUED:-never}, ends ${ABOARD_UNIT_LIMIT:-never}")
    assert bench.ended(handle).attempt == 1
    assert bench.output(handle) == "requeued never, ends never\n"


def test_every_start_of_a_unit_knows_when_its_time_began(bench: Bench) -> None:
    handle = bench.submit("echo $ABOARD_UNIT_BEGUN; sleep 3; kill -9 $$", restarts=1, timeout=300.0)
    status = bench.ended(handle)
    assert status.attempt == 2, status
    first, second = map(float, bench.output(handle).split())
    assert abs(second - first) < 1
    assert status.started is not None
    assert abs(first - status.started.timestamp()) < 1


def test_a_unit_that_goes_on_has_only_the_time_that_is_left(bench: Bench) -> None:
    handle = bench.submit("echo start; sleep 600", restarts=1, timeout=300.0)
    bench.until_printed(handle, "start")
    bench.running(handle)
    folder = UnitFolder(Path(handle.place["folder"]))
    state = folder.read("state.json")
    assert state is not None
    until(lambda: folder.last_alive() - state["started"] > 4, PATIENCE)  # a keeper that is killed has left a sign
    _kill_with_keeper(bench, handle)
    folder.write("state.json", {**state, "started": state["started"] - 400})  # as if it had run for longer
    assert bench.executor.revive(handle)
    status = bench.ended(handle)
    assert (status.reason, status.attempt) == (EndReason.TIMEOUT, 2), status


def test_the_time_that_a_machine_was_off_does_not_count(bench: Bench) -> None:
    handle = bench.submit("echo start; sleep 600", restarts=1, timeout=300.0)
    bench.until_printed(handle, "start")
    _kill_with_keeper(bench, handle)
    file = Path(handle.place["folder"]) / "state.json"
    state = json.loads(file.read_text())
    file.write_text(json.dumps({**state, "started": state["started"] - 4000}))
    os.utime(file, (state["started"] - 3990,) * 2)  # killed ten seconds after its start, an hour ago
    assert bench.executor.revive(handle)
    bench.until_printed(handle, "start\nstart\n")
    bench.running(handle)


_STUBBORN_SERVER = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
time.sleep(600)
"""


def test_a_port_that_the_unit_itself_still_holds_does_not_keep_it_from_going_on(bench: Bench) -> None:
    (number,) = free_ports(1)
    command = ("python3", "-c", _STUBBORN_SERVER, str(number))
    handle = bench.submit(command=command, ports=(Port(number=number),), restarts=1, grace=0.5)
    bench.until_printed(handle, "listening")
    bench.running(handle)
    os.kill(json.loads((Path(handle.place["folder"]) / "state.json").read_text())["keeper"], signal.SIGKILL)
    until(lambda: "still run" in bench.executor.status(handle).message, PATIENCE)
    assert bench.executor.revive(handle)
    bench.until_printed(handle, "listening\nlistening\n")
