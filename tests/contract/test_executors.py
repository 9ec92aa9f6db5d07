# SPDX-License-Identifier: Apache-2.0
"""What every executor does, on processes, machines, daemons and schedulers; the report says which were real."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pickle
import subprocess
import sys
import textwrap
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from aboard.errors import Conflict, InvalidType, InvalidValue, UnitRefused, UnknownName
from aboard.executors import executor_of, make_executor
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Port, UnitHandle
from support.executor_benches import BENCHES, PATIENCE, UNDER_TEST, Bench
from support.processes import until

STUBBORN = "trap '' TERM; "


@pytest.fixture(params=UNDER_TEST, scope="module")
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    with BENCHES[request.param](tmp_path_factory.mktemp(request.param)) as bench:
        yield bench


@pytest.fixture
def bench(opened: Bench) -> Generator[Bench]:
    fresh = dataclasses.replace(opened, handles=[])
    yield fresh
    fresh.clear()


def test_a_unit_that_ends_well_has_completed(bench: Bench) -> None:
    handle = bench.submit("echo one; echo two >&2; echo three")
    status = bench.ended(handle)
    assert (status.state, status.reason, status.exit_code) == (UnitState.STOPPED, EndReason.COMPLETED, 0), status
    assert status.has_succeeded
    assert status.started is not None
    assert status.ended is not None
    assert status.started <= status.ended
    assert sorted(bench.output(handle).split()) == ["one", "three", "two"]


def test_an_exit_code_is_told(bench: Bench) -> None:
    status = bench.ended(bench.submit("exit 7"))
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.EXITED, 7), status
    assert "7" in status.message


def test_a_signal_is_told_as_a_shell_does(bench: Bench) -> None:
    # A child of the first process: the first one of a container cannot kill itself.
    status = bench.ended(bench.submit("sh -c 'kill -9 $$'; exit $?"))
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.EXITED, 137), status


def test_a_command_that_is_not_there_has_not_started(bench: Bench) -> None:
    bench.needs("start errors")
    status = bench.ended(bench.submit(command=("no-such-command", "--help")))
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.NOT_STARTED), status
    assert "no-such-command" in status.message


def test_environment_and_arguments_arrive_as_they_are(bench: Bench) -> None:
    value = "a b\t'c' \"d\" $HOME `x` \\ é\nsecond line"
    handle = bench.submit(
        command=("sh", "-c", 'printf "%s|" "$ODD" "$REFERS" "$@"; echo', "sh", value, "$(ODD)", "$(ABSENT)", "*", ""),
        environment={"ODD": value, "REFERS": "$(ODD)"},
    )
    assert bench.ended(handle).has_succeeded
    assert bench.output(handle) == f"{value}|$(ODD)|{value}|{value}|$(ABSENT)|*||\n"


def test_variables_of_aboard_do_not_leak_into_a_unit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_TOKEN", "secret")
    handle = bench.submit("echo token=$ABOARD_TOKEN unit=$ABOARD_UNIT_ID")
    bench.ended(handle)
    assert bench.output(handle) == f"token= unit={handle.unit}\n"


def test_output_is_followed_while_the_unit_runs(bench: Bench) -> None:
    # Where a stop keeps the output it lets the unit go on; elsewhere nothing can but time.
    until_stopped = "exec 2>/dev/null; trap 'echo last; exit' TERM; echo first; while :; do sleep 0.1; done"
    handle = bench.submit(until_stopped if bench.keeps_output else "echo first; sleep 10; echo last", grace=20.0)
    seen = b""
    was_running = False
    for piece in bench.executor.logs(handle, follow=True):
        seen += piece
        if seen == b"first\n" and not was_running:
            was_running = not bench.executor.status(handle).state.is_ended
            if bench.keeps_output:
                bench.executor.stop(handle)
    assert seen == b"first\nlast\n"
    assert was_running, "the first line came only with the end"
    assert b"".join(bench.executor.logs(handle, start=6)) == b"last\n"


def test_stop_lets_a_unit_end_by_itself_first(bench: Bench) -> None:
    handle = bench.submit("trap 'echo ending; exit 0' TERM; echo ready; while :; do sleep 0.1; done", grace=20.0)
    bench.until_printed(handle, "ready")
    bench.executor.stop(handle)
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    assert bench.output(handle).endswith("ending\n") or not bench.keeps_output
    bench.executor.stop(handle)
    assert bench.executor.status(handle) == status


def test_stop_kills_what_ignores_it_with_all_its_children(bench: Bench) -> None:
    child = "(setsid sh -c \"trap '' TERM; while :; do echo child; sleep 0.2; done\" &) ; "
    handle = bench.submit(f"{STUBBORN}{child} echo ready; while :; do sleep 0.1; done")
    bench.until_printed(handle, "child")
    bench.executor.stop(handle, grace=0.5)
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    bench.until_gone(handle)


def test_children_end_with_their_unit(bench: Bench) -> None:
    handle = bench.submit("(while :; do echo child; sleep 0.2; done) & sleep 0.1; exit 3")
    assert bench.ended(handle).exit_code == 3
    bench.until_gone(handle)


def test_stopping_what_has_ended_changes_nothing(bench: Bench) -> None:
    handle = bench.submit("exit 5")
    status = bench.ended(handle)
    bench.executor.stop(handle)
    assert bench.executor.status(handle) == status


def test_a_timeout_ends_a_unit_that_ignores_signals(bench: Bench) -> None:
    handle = bench.submit(f"{STUBBORN}echo ready; while :; do sleep 0.1; done", timeout=1.0, grace=0.5)
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.TIMEOUT), status
    assert "1 s" in status.message


def test_a_unit_that_was_killed_is_started_again_as_often_as_it_may(bench: Bench) -> None:
    bench.needs("restarts")
    # Containers keep their files over a start, all others those of this machine.
    spec = bench.spec("true")
    count = f"echo start >> /tmp/aboard-{spec.id}; echo start; "
    twice = f"{count}[ $(wc -l < /tmp/aboard-{spec.id}) -lt 3 ] || exit 0; kill -9 $$"
    if bench.keeps_files:
        handle = bench.submit(twice, id=spec.id, restarts=2)
        assert b"".join(bench.executor.logs(handle, follow=True)) == b"start\n" * 3
        status = bench.ended(handle)
        assert (status.reason, status.exit_code, status.attempt) == (EndReason.COMPLETED, 0, 3), status
    always = bench.submit(f"{count}kill -9 $$; exit 137", restarts=1)  # the first process of a pod cannot kill itself
    status = bench.ended(always)
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.EXITED, 137), status
    assert (status.attempt, bench.output(always)) == (2, "start\n" * 2), status
    bench.executor.stop(always)
    assert bench.executor.status(always) == status
    Path(f"/tmp/aboard-{spec.id}").unlink(missing_ok=True)


def test_an_exit_code_is_told_though_the_unit_may_be_started_again(bench: Bench) -> None:
    status = bench.ended(bench.submit("exit 3", restarts=2))
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.EXITED, 3), status
    assert "3" in status.message


def test_what_aboard_ends_is_not_started_again(bench: Bench) -> None:
    script = f"{STUBBORN}echo start; while :; do sleep 0.1; done"
    stopped = bench.submit(script, restarts=3, grace=0.5)
    timed = bench.submit(script, restarts=3, grace=0.5, timeout=1.0)
    bench.until_printed(stopped, "start")
    bench.executor.stop(stopped)
    status = bench.ended(stopped)
    assert (status.reason, status.attempt) == (EndReason.STOPPED, 1), status
    assert bench.output(stopped) == "start\n" or not bench.keeps_output
    status = bench.ended(timed)
    assert (status.reason, status.attempt) == (EndReason.TIMEOUT, 1), status


def test_ports_are_reached_where_the_endpoint_says(bench: Bench) -> None:
    bench.needs("ports")
    command = ("python3", "-m", "http.server", "$(ABOARD_PORT_HTTP)")
    handle = bench.submit(command=command, ports=(Port(),), environment={"PYTHONUNBUFFERED": "1"})
    bench.until_printed(handle, "Serving HTTP")
    until(lambda: bench.executor.endpoint(handle) is not None, PATIENCE)
    endpoint = bench.executor.endpoint(handle)
    assert endpoint is not None

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"http://{endpoint.address}/", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    until(answers, PATIENCE)
    with pytest.raises(InvalidValue, match="no port 'other'") as refused:
        bench.executor.endpoint(handle, "other")
    assert "http" in refused.value.hint


def test_another_process_takes_a_handle_up(bench: Bench) -> None:
    handle = bench.submit("echo ready; sleep 60", grace=5.0)
    bench.until_printed(handle, "ready")
    script = """
        import sys
        from aboard.executors import executor_of
        from aboard.model.units import UnitHandle
        handle = UnitHandle.parse(sys.argv[1])
        executor = executor_of(handle)
        print(executor.status(handle).state, b"".join(executor.logs(handle)))
        executor.stop(handle)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), handle.text()]
    told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert told.stdout == "running b'ready\\n'\n", told.stderr
    assert bench.ended(handle).reason is EndReason.STOPPED


def test_a_unit_whose_submitter_died_is_found_by_its_id(bench: Bench) -> None:
    spec = bench.spec("echo ready; sleep 60")
    script = """
        import os, pickle, signal, sys
        executor, spec = pickle.loads(bytes.fromhex(sys.argv[1]))
        executor.submit(spec)
        os.kill(os.getpid(), signal.SIGKILL)  # before anybody has written the handle down
    """
    command = [sys.executable, "-c", textwrap.dedent(script), pickle.dumps((bench.executor, spec)).hex()]
    assert subprocess.run(command, timeout=PATIENCE).returncode == -9
    handle = bench.executor.find(spec.id)
    assert handle is not None
    bench.handles.append(handle)
    bench.until_printed(handle, "ready")
    assert bench.submit_spec(spec) == handle
    assert bench.output(handle) == "ready\n"


def test_submitted_by_many_at_once_it_runs_once(bench: Bench) -> None:
    spec = bench.spec("echo started; sleep 0.5")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        handles = list(pool.map(lambda _: bench.submit_spec(spec), range(4)))
    assert len({handle.text() for handle in handles}) == 1
    assert bench.ended(handles[0]).has_succeeded
    assert bench.submit_spec(spec) == handles[0]
    assert bench.output(handles[0]) == "started\n"


def test_another_unit_under_the_same_id_is_refused(bench: Bench) -> None:
    spec = bench.spec("sleep 60")
    bench.submit_spec(spec)
    with pytest.raises(UnitRefused, match=spec.id) as refused:
        bench.executor.submit(dataclasses.replace(spec, command=("sh", "-c", "exit 1")))
    assert "new id" in refused.value.hint


def test_what_was_never_submitted_is_not_there(bench: Bench) -> None:
    unit = new_uid()
    assert bench.executor.find(unit) is None
    made_up = bench.submit("exit 0")
    bench.ended(made_up)
    bench.executor.forget(made_up)
    assert bench.executor.find(made_up.unit) is None
    with pytest.raises(UnknownName, match=made_up.unit):
        bench.executor.status(made_up)


def test_what_runs_cannot_be_forgotten(bench: Bench) -> None:
    handle = bench.submit("echo ready; sleep 60")
    bench.until_printed(handle, "ready")
    with pytest.raises(Conflict, match="still runs"):
        bench.executor.forget(handle)
    assert not bench.executor.status(handle).state.is_ended


def test_unknown_options_are_errors_that_list_the_known_ones(bench: Bench) -> None:
    with pytest.raises(InvalidType, match="no option 'colour'") as refused:
        make_executor(bench.executor.name, {"colour": "red"})
    for option in dataclasses.fields(bench.executor):
        assert option.name in refused.value.hint


def test_handles_lead_back_to_their_executor(bench: Bench) -> None:
    handle = bench.submit("exit 0")
    again = UnitHandle.parse(handle.text())
    assert again == handle
    assert executor_of(again) == bench.executor
    bench.ended(handle)
