# SPDX-License-Identifier: Apache-2.0
"""Servers on hosts of their own over one PostgreSQL: what becomes of boards whose host is gone.

Hosts are home folders here. Units run as local processes, which their own host alone reaches, and through a real sshd,
which all of them reach.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from aboard.api.boards import BoardInfo
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.states import RunState, UnitState
from aboard.store import Store, open_store
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import logged_run
from support.postgres import PostgresServer, postgres_server
from support.processes import until
from support.ssh_server import ssh_server

TOKEN = "a-token-that-all-servers-know"
PATIENCE = 90.0
pytestmark = pytest.mark.timeout(300)
# As every server does it, in less time.
QUICKLY = """
from aboard.services import leases
from aboard.services.boards import process_boards
leases._HOST_SECONDS, leases._HOST_EVERY, leases._HOST_STEADY = 15.0, 1.0, 14.0
process_boards._JUDGE_SECONDS, process_boards._ENDPOINT_SECONDS = 1.0, 1.0
from aboard.cli import main
main()
"""


@dataclass
class Server:
    home: Path
    process: subprocess.Popen[str]
    url: str

    @property
    def client(self) -> Client:
        return Client(self.url, TOKEN)

    def board(self, board: BoardInfo) -> BoardInfo:
        return self.client.boards.get(board.id)

    def shows(self, board: BoardInfo) -> set[str]:
        """The runs on the page of a board."""
        request = urllib.request.Request(
            f"{self.url}/boards/{board.id}/data/runs", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return set(json.loads(answer.read()))
        except urllib.error.HTTPError as error:
            with error:
                return {f"{error.code} {error.read().decode()}"}

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass
class World:
    folder: Path
    store: Store
    ssh: str
    url: str
    catalog: Catalog
    servers: list[Server] = field(default_factory=list)

    def serve(self, name: str) -> Server:
        """A server of the host of this name, which may have been there before."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        environment = {**os.environ, "ABOARD_HOME": str(home), "ABOARD_TOKEN": TOKEN}
        environment["ABOARD_BOARDS_EXECUTORS"] = f"local;{self.ssh}"
        environment["ABOARD_BOARDS_SHARED_FOLDER"] = str(self.folder / "shared")
        environment["ABOARD_BOARDS_TENSORBOARD"] = f"{sys.executable} -m tensorboard.main"
        command = [sys.executable, "-c", QUICKLY, "server", "--port", "0", "--json"]
        command += ["--catalog", self.url, "--store", self.store.uri]
        with (self.folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (self.folder / f"{name}.log").read_text()
        server = Server(home, process, json.loads(line)["url"])
        self.servers.append(server)
        return server

    def end(self, server: Server) -> None:
        server.kill()
        self.servers.remove(server)

    def host_of(self, board: BoardInfo) -> str:
        """The name of the host that looks after it."""
        return (
            self.catalog.boards.get(board.id)
            .unit_host.removeprefix(f"{os.uname().nodename}:{self.folder}/")
            .partition("/")[0]
        )

    def count_lines(self, board: BoardInfo, text: str) -> int:
        return sum(text in line.text for line in self.catalog.board_lines.list(board.id))

    def tensorboards(self, board: BoardInfo) -> list[int]:
        return [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if f"--path_prefix=/boards/{board.id}" in (process.info["cmdline"] or [])
            and "tensorboard.main" in process.info["cmdline"]
        ]

    def started(self, server: Server, run: str, executor: str, host: str) -> BoardInfo:
        """A board that runs and is looked after by that host, which is there alone."""
        board = server.client.boards.create(run, executor=executor, template=f"{{run}}_{time.monotonic_ns()}").board
        until(lambda: server.board(board).state is not UnitState.PENDING, PATIENCE)
        until(lambda: server.board(board).state is not UnitState.STARTING, PATIENCE)
        assert server.board(board).state is UnitState.RUNNING, list(self.catalog.board_lines.list(board.id))
        assert self.host_of(board) == host
        return board


@pytest.fixture(scope="module")
def database() -> Generator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def world(database: PostgresServer, tmp_path: Path) -> Generator[World]:
    store = open_store(str(tmp_path / "store"), create=True)
    logged_run(store, name="one", status=RunState.RUNNING)
    (tmp_path / "ssh").mkdir()
    url = database.new_database()
    with ssh_server(tmp_path / "ssh") as config, Catalog.open(url) as catalog:
        ssh = f"ssh:host=elsewhere,config={config},folder={tmp_path / 'units'}"
        made = World(tmp_path, store, ssh, url, catalog)
        try:
            yield made
        finally:
            for server in made.servers:
                server.kill()
            _end_all(tmp_path)


def _end_all(folder: Path) -> None:
    """Processes outlive their servers, as they should."""
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in word for word in process.info["cmdline"] or []):
            with contextlib.suppress(psutil.Error):
                process.kill()


def test_who_can_reach_a_unit_goes_on_with_it(world: World):
    """Its host is killed and its home is gone, as a pod at an upgrade: one of two others takes it over, and ends it."""
    first = world.serve("first")
    until(lambda: first.client.runs.count() == 1, PATIENCE)
    board = world.started(first, "run1", "ssh", "first")
    others = [world.serve("second"), world.serve("third")]
    (process,) = world.tensorboards(board)
    for server in others:
        until(lambda server=server: len(server.shows(board)) == 1, PATIENCE)
    assert world.host_of(board) == "first"
    world.end(first)
    shutil.rmtree(first.home)
    (run,) = world.store.list_folders()
    with SummaryWriter(str(Path(world.store.uri) / run / "tb" / "eval")) as writer:
        writer.add_scalar("loss", 1.0, 1)
    until(lambda: world.host_of(board) in ("second", "third"), PATIENCE)
    for server in others:
        until(lambda server=server: len(server.shows(board)) == 2, PATIENCE)
    assert world.tensorboards(board) == [process]
    assert world.count_lines(board, "is looked after by the server on") == 1
    assert world.count_lines(board, "is being started on") == 1
    others[0].client.boards.stop(board.id)
    until(lambda: others[1].board(board).state is UnitState.STOPPED, PATIENCE)
    until(lambda: not world.tensorboards(board) and not world.catalog.boards.units.list(), PATIENCE)
    until(lambda: not list((world.folder / "shared").rglob("*tfevents*")), PATIENCE)
    until(lambda: not list((world.folder / "units").glob("0*")), PATIENCE)
    tunnels = [world.folder / name / "tunnels" for name in ("second", "third")]
    until(lambda: not any(list(one.glob("0*")) for one in tunnels), PATIENCE)


def test_a_board_that_is_deleted_while_its_host_is_gone_leaves_no_process(world: World):
    first = world.serve("first")
    until(lambda: first.client.runs.count() == 1, PATIENCE)
    board = world.started(first, "run1", "ssh", "first")
    second = world.serve("second")  # before, as it takes its time to start, and then the other is known to be gone
    world.end(first)
    assert world.tensorboards(board)
    second.client.boards.delete(board.id)
    until(lambda: not world.tensorboards(board) and not world.catalog.boards.units.list(), PATIENCE)
    until(lambda: not list((world.folder / "shared").rglob("*tfevents*")), PATIENCE)


def test_a_server_that_slept_leaves_what_others_have_taken(world: World):
    """It is not gone, and goes on where it was: there is one process all the time, and it stays as it is."""
    first = world.serve("first")
    until(lambda: first.client.runs.count() == 1, PATIENCE)
    board = world.started(first, "run1", "ssh", "first")
    (process,) = world.tensorboards(board)
    second = world.serve("second")
    first.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: world.host_of(board) == "second", PATIENCE)
    finally:
        first.process.send_signal(signal.SIGCONT)
    until(lambda: len(first.shows(board)) == 1, PATIENCE)
    time.sleep(16)  # longer than a lease
    assert (world.tensorboards(board), world.host_of(board)) == ([process], "second")
    assert [server.board(board).state for server in (first, second)] == [UnitState.RUNNING] * 2
    assert world.count_lines(board, "is looked after by the server on") == 1
    assert list((world.folder / "shared").rglob("*tfevents*"))


def test_what_only_its_own_host_reaches_is_lost_and_ended_when_that_is_back(world: World):
    first = world.serve("first")
    until(lambda: first.client.runs.count() == 1, PATIENCE)
    lost, stopped, deleted = [world.started(first, "run1", "local", "first") for _ in range(3)]
    second = world.serve("second")
    world.end(first)
    # Before anybody knows that the other is gone.
    assert second.client.boards.stop(stopped.id).state is UnitState.STOPPING
    second.client.boards.delete(deleted.id)
    third = world.serve("third")
    until(lambda: third.board(stopped).state is UnitState.STOPPED, PATIENCE)
    assert third.board(stopped).exit_status == "stopped"
    until(lambda: third.board(lost).state is UnitState.LOST, PATIENCE)
    assert "is gone; start the board again" in third.board(lost).reason
    assert third.client.boards.logs(lost.id)[-1].text == third.board(lost).reason
    left = [world.tensorboards(board) for board in (lost, stopped, deleted)]
    assert [len(one) for one in left] == [1, 1, 1], "nobody else can end them"

    third.client.boards.start(lost.id)
    until(lambda: third.board(lost).state is UnitState.RUNNING, PATIENCE)
    assert world.host_of(lost) in ("second", "third")
    assert len(world.tensorboards(lost)) == 2
    again = world.serve("first")
    until(lambda: not any(pid in psutil.pids() for pids in left for pid in pids), PATIENCE)
    until(lambda: len(world.catalog.boards.units.list()) == 1, PATIENCE)
    assert again.board(lost).state is UnitState.RUNNING
    assert len(world.tensorboards(lost)) == 1
    for server in (second, third, again):
        server.client.boards.stop(lost.id)
    until(lambda: again.board(lost).state is UnitState.STOPPED and not world.tensorboards(lost), PATIENCE)
