# SPDX-License-Identifier: Apache-2.0
"""`aboard view` as a process: ports and addresses, several at once, its end, and a terminal that has gone."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import urllib.error
from pathlib import Path

import pytest

from aboard.server.http.listening import listen, url_of
from support.commands import aboard
from support.event_bytes import scalar_value, summary_record, write_event_file, write_many_tags
from support.object_servers import free_ports
from support.privileges import as_ordinary_user
from support.processes import needs
from support.viewing import ABOARD, eventually, fetch, fetch_json, run_aboard, viewing


@pytest.fixture
def logs(tmp_path) -> Path:
    write_event_file(tmp_path / "a", [summary_record([scalar_value(b"loss", 1.0)], 0, 1000.0)])
    return tmp_path


def test_several_at_once_take_the_next_free_port(logs):
    with viewing(logs, "--port", "default") as first, viewing(logs, "--port", "default") as second:
        # Tests beside this one may have taken some and let them go: the second need not be the higher one.
        assert first.port != second.port
        assert all(6006 <= board.port <= 6998 for board in (first, second))
        for board in (first, second):
            board.wait_until_read()
            assert board.json("data/runs") == ["a"]


def test_a_port_that_needs_special_rights(logs):
    lowest = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text(encoding="ascii"))
    needs("" if lowest > 1 else "every port may be used without special rights here")
    result = run_aboard("view", logs, "--port", lowest - 1, preexec_fn=as_ordinary_user)
    assert result.returncode == 1
    assert f"cannot listen on 127.0.0.1:{lowest - 1}: Permission denied" in result.stderr
    assert "ports below 1024 need special rights" in result.stderr


def test_an_address_of_another_machine(logs):
    result = aboard("view", logs, "--host", "192.0.2.1")
    assert result.code == 1
    assert "cannot listen on 192.0.2.1:6006" in result.err
    assert "this machine has no such address" in result.err


def test_ipv6(logs):
    needs("" if _has_ipv6() else "this machine has no IPv6")
    with viewing(logs, "--host", "::1") as board:
        assert board.page_url == f"http://[::1]:{board.port}/"
        assert board.line["token"] is None
        board.wait_until_read()
        assert board.json("data/runs") == ["a"]
        with pytest.raises(urllib.error.HTTPError, match="421"):
            board.fetch("data/runs", Host="[2001:db8::1]:80")


def test_all_addresses_are_those_of_ipv6_too(logs):
    with viewing(logs, "--bind_all") as board:
        token = f"Bearer {board.line['token']}"
        hosts = ["127.0.0.1", "[::1]"] if _has_ipv6() else ["127.0.0.1"]
        for host in hosts:
            runs = f"http://{host}:{board.port}/data/runs"
            eventually(lambda runs=runs: fetch_json(runs, Authorization=token) == ["a"])
            with pytest.raises(urllib.error.HTTPError, match="401"):
                fetch(runs)


def test_an_answer_does_not_wait_for_the_client_to_confirm(logs):
    """asyncio turns off Nagle's algorithm only for sockets that name their protocol."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        assert url_of(listener, "/x").endswith("/x")


@pytest.mark.parametrize("at_once", [True, False])
def test_ctrl_c_during_loading(tmp_path, at_once):
    for run in range(30):
        write_many_tags(tmp_path / f"run{run}", 5_000)
    with viewing(tmp_path, as_text=True) as board:
        if not at_once:
            board.wait_until_said("Ctrl-C ends it.")
        assert "Traceback" not in board.end()


def test_the_end_does_not_wait_for_answers_to_nobody(tmp_path):
    write_many_tags(tmp_path / "run", 100_000)
    with viewing(tmp_path) as board:
        board.wait_until_read()
        connections = [socket.create_connection(("127.0.0.1", board.port)) for _ in range(4)]
        for connection in connections:
            connection.sendall(b"GET /data/plugin/scalars/tags HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert select.select(connections, [], [], 60)[0], "one answer has begun, and nobody reads it"
        board.end()
        for connection in connections:
            connection.close()


def test_it_ends_on_sigterm_too(logs):
    with viewing(logs) as board:
        board.json("healthz")
        board.process.terminate()
        board.said_until_the_end()
    assert board.process.returncode in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("form", "closed"), [("--no-browser", "stdout"), ("--no-browser", "stdout and stderr"), ("--json", "reader gone")]
)
def test_it_serves_when_nobody_reads_what_it_prints(logs, form, closed):
    (port,) = free_ports(1)
    command = [*ABOARD, "view", str(logs), form, "--port", str(port)]
    read_end, write_end = os.pipe()
    os.close(read_end)
    errors = subprocess.DEVNULL if closed == "stdout and stderr" else subprocess.PIPE

    def close_streams() -> None:
        if closed != "reader gone":
            os.close(1)
        if closed == "stdout and stderr":
            os.close(2)

    process = subprocess.Popen(
        command,
        stdout=write_end,
        stderr=errors,
        text=True,
        preexec_fn=close_streams,  # noqa: PLW1509
    )
    os.close(write_end)
    try:
        url = f"http://127.0.0.1:{port}/"
        eventually(lambda: _listens(port))
        eventually(lambda: fetch_json(f"{url}data/runs") == ["a"])
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    if errors == subprocess.PIPE:
        assert f"standard output is closed; the board is at {url}" in said
        assert "Traceback" not in said
        assert "Exception" not in said


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_broken_tensorboard_leaves_the_page(logs, tmp_path):
    broken = tmp_path / "packages" / "tensorboard"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('broken', name='tensorboard')")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "packages")}
    with viewing(logs, interpreter=True, env=environment) as view:
        with pytest.raises(urllib.error.HTTPError) as refused:
            view.fetch("data/runs")
        with refused.value as answer:
            assert answer.code == 503
            assert b"TensorBoard cannot be loaded" in answer.read()
        assert view.json("api/v1/run-count")["count"] == len(view.json("api/v1/runs")["items"])
