# SPDX-License-Identifier: Apache-2.0
"""`aboard server` as a process: who may reach it, how it ends, and what a kill leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from aboard.client.client import Client
from aboard.store import open_store
from support.forked_commands import ForkedCommand
from support.processes import until
from support.runs import Machine, finish, well
from support.stored_runs import store_run

SHARED = "a token that is shared by a team"


@dataclass
class Serving:
    process: ForkedCommand
    url: str
    token: str
    line: bytes

    def client(self) -> Client:
        return Client(self.url, self.token)

    def status(self, path: str, method: str = "GET", **headers: str) -> int:
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code


@contextlib.contextmanager
def serving(machine: Machine, *arguments: object, **environment: str) -> Iterator[Serving]:
    process = machine.start("server", "--port", 0, "--json", *arguments, **environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(finish(process).err)
        said = json.loads(line)
        yield Serving(process, said["url"], said["token"], line)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, str(tmp_path / "store"))


def test_it_serves_its_stores_to_who_has_the_token_and_ends_in_order(machine: Machine, tmp_path: Path):
    store_run(open_store(machine.store, create=True), name="base")
    with serving(machine, "--log-format", "json") as server:
        assert [run.name for run in server.client().runs.list().items] == ["base"]
        # The person's own programs find it without being told.
        assert Client(home=machine.home).info().pid == server.process.pid
        assert server.status("/healthz") == 200
        bearer = f"Bearer {server.token}"
        assert server.status("/api/v1/runs") == 401
        assert server.status("/api/v1/runs", Authorization=bearer) == 200
        assert server.status("/api/v1/runs", Authorization=bearer, Host="evil.example:80") == 421
        forged = {"Authorization": bearer, "Origin": "http://evil.example"}
        assert server.status("/api/v1/runs/delete", "POST", **forged) == 403
        assert server.status("/api/v1/shutdown", "POST", Authorization=bearer) == 403
        noted = {"Authorization": bearer, "X-Request-Id": "from-outside"}
        assert server.status("/api/v1/runs/nothing", **noted) == 404
        assert server.status("/api/v1/runs", "DELETE", Authorization=bearer) == 405
        ended = machine.ask("reindex", machine.store, ABOARD_SERVER=server.url, ABOARD_TOKEN="no " * 9)
        assert (ended.code, "invalid or revoked token" in ended.err) == (1, True)
        request = urllib.request.Request(f"{server.url}/api/v1/events", headers={"Authorization": bearer})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as stream:
            assert stream.readline() == b"retry: 2000\n"
            server.process.send_signal(signal.SIGTERM)
            assert b"Traceback" not in stream.read()  # to its proper end, else IncompleteRead is raised
        ended = finish(server.process)
        assert (ended.code, "Traceback" in ended.err) == (0, False)
        assert not (machine.home / "server/server.json").exists()
    lines = [json.loads(line) for line in ended.err.splitlines() if line.startswith("{")]
    (printed,) = [line for line in lines if line.get("request_id") == "from-outside"]
    assert (printed["path"], printed["status"]) == ("/api/v1/runs/nothing", 404)


def test_a_second_server_on_one_catalog_is_refused(machine: Machine, tmp_path: Path):
    catalog = tmp_path / "shared.sqlite"
    with serving(machine, "--catalog", catalog, ABOARD_TOKEN=SHARED) as first:
        assert first.token == SHARED
        ended = machine.aboard("server", "--catalog", catalog)
        assert (ended.code, "Traceback" in ended.err) == (1, False)
        assert f"is in use by another server, process {first.process.pid}" in ended.err
        first.process.send_signal(signal.SIGINT)
        assert finish(first.process).code == 0
    with serving(machine, "--catalog", catalog) as again:
        assert again.client().runs.count() == 0


@pytest.mark.parametrize(
    ("arguments", "token", "said"),
    [
        (["--host", "0.0.0.0"], "", "no token is set"),
        (["--host", "0.0.0.0"], "short", "so it can be guessed"),
        (["--host", "192.0.2.7"], SHARED, "cannot listen on 192.0.2.7"),
        (["--catalog", "mysql://x/y"], SHARED, "a catalog cannot be in 'mysql'"),
        (["--catalog", "postgresql://app@127.0.0.1:9/none"], SHARED, "see that PostgreSQL runs"),
        (["--store", "ftp://x/y"], SHARED, "is not a kind of store"),
    ],
)
def test_bad_input_is_told(machine: Machine, arguments: list[str], token: str, said: str):
    ended = machine.aboard("server", *arguments, **({"ABOARD_TOKEN": token} if token else {}))
    assert (ended.code, "Traceback" in ended.err) == (1, False)
    assert said in ended.err
    assert "hint:" in ended.err


def test_the_second_port_is_told(machine: Machine):
    process = machine.start("server", "--port", 0)
    assert process.stderr is not None
    said = process.stderr.readline().decode()
    process.send_signal(signal.SIGINT)
    finish(process)
    assert "It also listens on port " in said
    with serving(machine) as first:
        taken = json.loads(first.line)["boards_port"]
        ended = machine.aboard("server", "--catalog", "other.sqlite", ABOARD_SERVE_BOARDS_PORT=str(taken))
    assert ended.code == 1
    assert "The server needs two ports, " in ended.err
    assert f" and {taken} for boards that are processes: cannot listen on 127.0.0.1:{taken}" in ended.err
    assert "Set serve.boards_port" in ended.err


def test_a_kill_while_reindexing_leaves_a_sound_catalog(machine: Machine, tmp_path: Path):
    store = open_store(machine.store, create=True, fsync=False)
    for number in range(150):
        store_run(store, name=f"r{number}", hparams={"n": number})
    with serving(machine) as server:
        client = server.client()
        client.start_reindex(machine.store)
        until(lambda: client.runs.count() > 0)
        os.kill(server.process.pid, signal.SIGKILL)
    with serving(machine) as server:
        client = server.client()
        state = client.reindex(machine.store)
        assert (state.state, state.written, state.problems) == ("done", 150, ())
        runs = list(client.runs.iterate(sort="number"))
        assert len(runs) == len({run.uid for run in runs}) == 150
        assert all(run.hparams["n"] == int(run.name[1:]) for run in runs)


def test_a_team_uses_one_server_by_two_variables(machine: Machine, tmp_path: Path):
    catalog = tmp_path / "team.sqlite"
    with serving(machine, "--host", "0.0.0.0", "--catalog", catalog, ABOARD_TOKEN=SHARED) as server:
        url = f"http://127.0.0.1:{server.url.rpartition(':')[2]}"
        store_run(open_store(machine.store, create=True), name="base")
        printed = well(machine.ask("reindex", machine.store, "--json", ABOARD_SERVER=url, ABOARD_TOKEN=SHARED)).out
        assert json.loads(printed)["written"] == 1
        ended = machine.ask("reindex", tmp_path / "other", ABOARD_SERVER=url, ABOARD_TOKEN=SHARED)
        assert (ended.code, "does not follow" in ended.err) == (1, True)


def test_without_its_packages_it_says_which_to_install(machine: Machine):
    script = """
        import sys
        sys.modules["starlette"] = None
        sys.argv[1:] = ["server"]
        from aboard.cli import main
        main()
    """
    ended = machine.python(script)
    assert (ended.code, "Traceback" in ended.err) == (1, False)
    assert "pip install 'aboard[server]'" in ended.err


def test_a_server_gives_runs_their_names(machine: Machine, tmp_path: Path):
    script = "import os; print(os.environ['ABOARD_RUN'])"
    with serving(machine, "--catalog", tmp_path / "team.sqlite", ABOARD_TOKEN=SHARED) as server:
        team = {"ABOARD_SERVER": server.url, "ABOARD_TOKEN": SHARED}
        assert well(machine.run(script, **team)).out.strip() == "run1"
        assert well(machine.run(script, "--name", "mine", **team)).out.strip() == "mine"
        assert well(machine.run(script, **team)).out.strip() == "run3"
        client = server.client()
        until(lambda: client.runs.count(where='status == "completed"') == 3)
        assert [run.name for run in client.runs.iterate(sort="number")] == ["run1", "mine", "run3"]
        # The same run, begun again, is the same one to the server.
        well(machine.run(script, "--name", "run1", **team))
        until(lambda: len(client.runs.get("run1").attempts) == 2)
        assert client.runs.count() == 3
    ended = well(machine.run(script, **team))
    assert ended.out.startswith("run-")
    assert ended.err.count("does not answer") == 1
    # A rebuilt catalog gives the same numbers.
    with serving(machine, "--catalog", tmp_path / "rebuilt.sqlite") as server:
        client = server.client()
        until(lambda: client.runs.count() == 4)
        assert {run.name: run.number for run in client.runs.iterate()}.items() >= {
            "run1": 1,
            "mine": 2,
            "run3": 3,
        }.items()
