# SPDX-License-Identifier: Apache-2.0
"""Three server processes over one PostgreSQL and one store behave as one, also when one is killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

import aboard
from aboard.client.client import Client
from aboard.errors import AboardError, BoardLimitExceeded, CatalogUnavailable
from aboard.model.boards import BoardKind
from aboard.model.states import RunState, UnitState
from aboard.store import open_store
from support.board_pages import logged_run
from support.postgres import PostgresServer, postgres_server
from support.processes import until

TOKEN = "a-token-that-all-three-servers-know"
pytestmark = pytest.mark.timeout(300)  # processes start by the dozen


@dataclass
class Server:
    process: subprocess.Popen[str]
    log: Path
    url: str = ""

    @property
    def client(self) -> Client:
        return Client(self.url, TOKEN)

    def ask(self, path: str) -> tuple[int, bytes]:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def try_token(self, token: str) -> int:
        """From an address of its own, so that no other test has to wait."""
        where = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=60, source_address=("127.0.0.9", 0))
        try:
            connection.request(
                "GET", "/api/v1/info", headers={"Authorization": f"Bearer {token}", "Host": where.netloc}
            )
            return connection.getresponse().status
        finally:
            connection.close()

    def shows(self, board: str) -> set[str]:
        status, body = self.ask(f"/boards/{board}/data/runs")
        return set(json.loads(body)) if status == 200 else set()

    def asks_of_store(self) -> float:
        """How often it has asked its store for anything."""
        status, body = self.ask("/metrics")
        assert status == 200
        counted = [line for line in body.decode().splitlines() if line.startswith("aboard_store_requests_total")]
        return sum(float(line.rpartition(" ")[2]) for line in counted)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        self.close()

    def close(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass
class Three:
    database: PostgresServer
    servers: list[Server]
    store: Any
    home: Path
    catalog: str

    def start(self) -> None:
        environment = {**os.environ, "ABOARD_HOME": str(self.home), "ABOARD_TOKEN": TOKEN}
        environment["ABOARD_BOARDS_LIMIT_PER_PERSON"] = "30"
        command = [sys.executable, "-c", "from aboard.cli import main; main()", "server", "--port", "0", "--json"]
        command += ["--catalog", self.catalog, "--store", self.store.uri]
        path = self.home / f"log{time.monotonic_ns()}"
        with path.open("w") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
        self.servers.append(Server(process, path))

    def until_ready(self) -> None:
        """Wait for the servers that were started."""
        for server in self.servers:
            if not server.url:
                assert server.process.stdout is not None
                line = server.process.stdout.readline()
                assert line, "".join(path.read_text() for path in self.home.glob("log*"))
                server.url = json.loads(line)["url"]

    def stop(self) -> None:
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                server.process.terminate()
        for server in self.servers:
            server.process.wait(60)
            server.close()


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Generator[Three]:
    folder = tmp_path_factory.mktemp("three")
    (folder / "home").mkdir()
    store = open_store(str(folder / "store"), create=True)
    logged_run(store, name="one", experiment="e")
    logged_run(store, name="two", experiment="e", status=RunState.RUNNING)
    with postgres_server() as database:
        made = Three(database, [], store, folder / "home", database.new_database())
        try:
            for _ in range(3):
                made.start()
            made.until_ready()
            until(lambda: all(server.client.runs.count() == 2 for server in made.servers))
            yield made
        finally:
            made.stop()


def test_runs_are_counted_once(three: Three):
    assert sorted(run.number or 0 for run in three.servers[0].client.runs.list().items) == [1, 2]


def test_one_follows_the_store_and_another_goes_on_when_it_is_killed(three: Three):
    """Also with one that is stopped: it holds its connections, and says nothing any more."""
    follower, *others = three.servers = follower_first(three)
    until(lambda: {server.client.stores().items[0].state for server in three.servers} == {"following"})
    follower.process.send_signal(signal.SIGSTOP)
    try:
        logged_run(three.store, name="three")
        until(lambda: all(server.client.runs.count() == 3 for server in others))
    finally:
        follower.process.send_signal(signal.SIGCONT)
    until(lambda: max(server.asks_of_store() for server in others) > 0)
    others[0].client.runs.delete("three", files=True)
    until(lambda: all(server.client.runs.count() == 2 for server in three.servers))


def follower_first(three: Three) -> list[Server]:
    """The servers, that one first which has asked the store for something when it was asked twenty times."""
    before = {server.url: server.asks_of_store() for server in three.servers}

    def more() -> list[float]:
        return [server.asks_of_store() - before[server.url] for server in three.servers]

    def is_alone() -> bool:
        counts = more()
        if sorted(counts)[:2] != [0, 0]:  # a look that somebody asked for before goes on after its answer
            before.update({server.url: server.asks_of_store() for server in three.servers})
        return max(counts) >= 20 and sorted(counts)[:2] == [0, 0]

    until(is_alone, 90)
    counts = more()
    return sorted(three.servers, key=lambda server: -counts[three.servers.index(server)])


def test_tries_that_open_nothing_count_together(three: Three):
    """Each of them alone would allow thirty, and none is tried so often."""
    tries = 0
    while {server.try_token(f"wrong-{tries}-{server.url}") for server in three.servers} != {429}:
        tries += 1
        assert tries < 30


def test_a_board_is_there_through_each_of_them(three: Three):
    first, second, third = three.servers
    board = first.client.boards.create("exp1").board
    for server in three.servers:
        until(lambda server=server: server.shows(board.id) == {"ws1_one_train", "ws1_two_train"})
    assert second.client.boards.create("exp1").board.id == board.id
    second.client.boards.stop(board.id)
    until(lambda: third.ask(f"/boards/{board.id}/")[0] == 409)
    until(lambda: first.ask(f"/boards/{board.id}/")[0] == 409)


def test_what_changes_through_one_is_heard_through_another(three: Three):
    first, second, _ = three.servers
    request = urllib.request.Request(f"{second.url}/api/v1/events", headers={"Authorization": f"Bearer {TOKEN}"})
    heard: list[str] = []
    with urllib.request.urlopen(request, timeout=60) as stream:
        assert stream.readline()
        first.client.runs.tag(["run1"], ["heard"])
        board = first.client.boards.create("run1").board
        while not ("document" in "".join(heard) and board.id in "".join(heard)):
            heard.append(stream.readline().decode())
    first.client.boards.delete(board.id)


def test_together_they_allow_no_more_than_one_would(three: Three):
    made: list[str] = []
    refused: list[AboardError] = []

    def make(server: Server, offset: int) -> None:
        for number in range(offset, offset + 15):
            try:
                made.append(server.client.boards.create("run1", template=f"{{run}}_{number}").board.id)
            except BoardLimitExceeded as error:
                refused.append(error)

    threads = [threading.Thread(target=make, args=(one, 100 * at)) for at, one in enumerate(three.servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (30, 15)
    for board in made:
        three.servers[0].client.boards.delete(board)


def test_the_end_of_a_job_is_told_once(three: Three, monkeypatch: pytest.MonkeyPatch):
    """All three look after the jobs of their home; none is in the way of the others."""
    monkeypatch.setenv("ABOARD_HOME", str(three.home))
    monkeypatch.setenv("ABOARD_STORE", three.store.uri)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    job = aboard.submit(["sh", "-c", "echo under way; sleep 600"], name="job", workspace="ws1")
    try:
        client = three.servers[0].client
        until(lambda: [run.status for run in client.runs.iterate(where='name == "job"')] == [RunState.RUNNING])
        until(lambda: len(supervisors(job)) == 1)  # what it forks looks like it for a moment
        supervisors(job)[0].kill()
        until(lambda: three.servers[1].client.runs.get("ws1/job").status is RunState.FAILED)
        assert "Its job ended" in three.servers[2].client.runs.get("ws1/job").reason
        told = [path.read_text() for path in three.home.glob("log*")]
        assert not any("Traceback" in one for one in told), told
    finally:
        job.cancel()
        job.wait(60)
        job.forget()
    client.runs.delete("ws1/job", files=True)
    until(lambda: client.runs.count() == 2)


def supervisors(job: aboard.Job) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if (process.info["environ"] or {}).get("ABOARD_UNIT_ID") == job.id
        and "--name=job" in (process.info["cmdline"] or [])
    ]


def test_a_process_board_outlives_who_started_it(three: Three):
    """Whichever server looks after it: when that one is killed, another goes on."""
    board = three.servers[0].client.boards.create("exp1", kind=BoardKind.PROCESS).board
    until(lambda: three.servers[1].client.boards.get(board.id).state is UnitState.RUNNING, 90)
    for server in three.servers:
        until(lambda server=server: server.shows(board.id) == {"ws1_one_train", "ws1_two_train"})
    (lock,) = (three.home / "process-boards").rglob(f"{board.id}.lock")
    holder = int(lock.read_text())
    (killed,) = [server for server in three.servers if server.process.pid == holder]
    killed.kill()
    three.servers.remove(killed)
    left = three.servers[0]
    status, body = left.ask(f"/boards/{board.id}/data/runs")
    assert (status, sorted(json.loads(body))) == (200, ["ws1_one_train", "ws1_two_train"]), body
    until(lambda: lock.read_text().strip() not in ("", str(holder)))
    three.start()
    three.until_ready()
    left.client.boards.stop(board.id)
    until(lambda: left.client.boards.get(board.id).state is UnitState.STOPPED)
    until(lambda: not list((three.home / "units").glob("0*")))


def test_nothing_is_lost_with_one_that_is_killed(three: Three):
    victim, others = three.servers[0], three.servers[1:]
    told: list[str] = []

    def make() -> None:
        for number in range(25):
            try:
                board = victim.client.boards.create("run1", template=f"{{run}}_x{number}").board
            except (AboardError, OSError):
                return
            told.append(board.id)

    maker = threading.Thread(target=make)
    maker.start()
    until(lambda: len(told) >= 3)
    victim.kill()
    maker.join()
    known = {board.id for board in others[0].client.boards.iterate()}
    assert set(told) <= known
    until(lambda: others[1].shows(told[0]) == {"one_x0"} or others[1].ask(f"/boards/{told[0]}/")[0] == 200)
    for board in others[0].client.boards.iterate():
        others[0].client.boards.delete(board.id)
    three.servers.remove(victim)


def test_retention_is_done_by_one_and_by_another_when_that_one_is_killed(three: Three, tmp_path: Path):
    store = open_store(str(tmp_path / "store"), create=True)
    logged_run(store, name="kept")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text("[[retention]]\nwhere = 'status == \"failed\"'\n")
    team = Three(three.database, [], store, home, three.database.new_database())
    try:
        for number in range(4):
            logged_run(store, name=f"early{number}", status=RunState.FAILED)
        for _ in range(3):
            team.start()
        team.until_ready()
        first = retained(team, 4)
        for number in range(3):
            logged_run(store, name=f"late{number}", status=RunState.FAILED)
        until(lambda: all(server.client.runs.count() == 4 for server in team.servers))
        first.kill()
        team.servers.remove(first)
        second = retained(team, 3)
        assert "Retention" not in next(server for server in team.servers if server is not second).log.read_text()
        changes = second.client.people.changes(actor="retention", limit=100).items
        assert sorted(one.target for one in changes) == [f"run{number}" for number in range(2, 9)]
    finally:
        team.stop()


def retained(team: Three, count: int) -> Server:
    """The server that has put so many runs into the bin, when one run is left; no other has done anything."""
    until(lambda: all(server.client.runs.count() == 1 for server in team.servers), 120)
    until(lambda: any("Retention: " in server.log.read_text() for server in team.servers))
    (found,) = [server for server in team.servers if "Retention: " in server.log.read_text()]
    assert found.log.read_text().count(f"Retention: {count} runs") == 1
    return found


def test_while_the_database_is_down_what_is_open_goes_on(three: Three):
    server = three.servers[0]
    board = server.client.boards.create("exp1").board
    until(lambda: server.shows(board.id) == {"ws1_one_train", "ws1_two_train"})
    three.database.stop()
    try:
        assert server.shows(board.id) == {"ws1_one_train", "ws1_two_train"}
        with pytest.raises(CatalogUnavailable, match="see that PostgreSQL runs"):
            server.client.runs.list()
    finally:
        three.database.start()

    def is_back() -> bool:
        with contextlib.suppress(AboardError):
            return server.client.runs.count() == 2
        return False

    until(is_back)
    logs = "".join(path.read_text() for path in three.home.glob("log*"))
    assert "Traceback" not in logs, logs[logs.index("Traceback") :][:3000]
