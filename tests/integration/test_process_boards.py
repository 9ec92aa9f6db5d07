# SPDX-License-Identifier: Apache-2.0
"""Boards that are processes behind the second origin of a real server.

One test uses a stock TensorBoard. The others are about its process, and start a program that stands for it.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from aboard.api.boards import BoardInfo
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import BoardLimitExceeded, Conflict, Forbidden, InvalidValue, UnknownName
from aboard.model.boards import BoardKind, BoardLimits
from aboard.model.people import Role
from aboard.model.states import RunState, UnitState
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.lifecycle import BoardRules
from aboard.store import Store, open_store
from aboard.store.run.documents import Outputs
from aboard.store.run.file_rows import FileRow
from aboard.store.run.run_folder import RunFolder
from aboard.writer.summary_writer import SummaryWriter
from support import tensorboard_stand_in
from support.board_pages import logged_run
from support.commands import aboard
from support.processes import finish, start, until
from support.runs import well
from support.team_servers import BOSS, TeamServer, team_server

_START = 90  # seconds, on a busy machine


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    for process in _processes(tmp_path):  # what a failed test left
        with contextlib.suppress(psutil.Error):
            process.kill()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@contextlib.contextmanager
def serving(store: Store, home: Path, *, is_stock: bool = False, **limits: int) -> Iterator[TeamServer]:
    home.mkdir(exist_ok=True)
    executors = BoardExecutors() if is_stock else BoardExecutors(own_program=tensorboard_stand_in.COMMAND)
    options = {"process_home": home, "boards": BoardRules(limits=BoardLimits(**limits), executors=executors)}
    with Catalog.open(home / "catalog.sqlite") as catalog, team_server(catalog, home, store.uri, options=options) as it:
        until(lambda: it.client().runs.count() == len(list(store.list_folders())))
        yield it


def _processes(folder: Path) -> list[psutil.Process]:
    """TensorBoards over this folder."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        is_tensorboard = "tensorboard.main" in words or tensorboard_stand_in.__file__ in words
        if is_tensorboard and any(word.startswith(f"--logdir={folder}") for word in words):
            found.append(process)
    return found


def started(server: TeamServer, *sources: str, who: str = BOSS, **options: Any) -> BoardInfo:
    board = server.client(who).boards.create(*sources, kind=BoardKind.PROCESS, **options).board
    until(lambda: server.client(who).boards.get(board.id).state is not UnitState.PENDING)
    until(lambda: server.client(who).boards.get(board.id).state is not UnitState.STARTING, _START)
    found = server.client(who).boards.get(board.id)
    assert found.state is UnitState.RUNNING, server.client(who).boards.logs(board.id)
    return found


def runs_of(server: TeamServer, board: BoardInfo) -> list[str]:
    answer = server.ask_board(f"/boards/{board.id}/data/runs", who=BOSS)
    assert answer.status == 200, answer.body
    return sorted(answer.document)


def put_output(store: Store, run: str, path: str, data: bytes) -> None:
    folder = RunFolder(store, run)
    row = FileRow(path=f"output/{path}", source=f"output/{path}", bytes=len(data), crc32=zlib.crc32(data))
    store.put(folder.key(row.path), data)
    folder.write_outputs(Outputs(serial=1, files=(row,)))


def test_a_life_of_one(store: Store, home: Path, tmp_path: Path):
    run = logged_run(store, name="one", logdirs=("test",), status=RunState.RUNNING)
    profile = "plugins/profile/2026_11_16/host.xplane.pb"
    put_output(store, run, f"tensorboard/train/{profile}", b"a profile")
    writer = SummaryWriter(str(Path(store.uri) / run / "tb" / "train"))

    def grow(count: int) -> None:
        for step in range(count):
            writer.add_scalar("loss", 1.0, step)
        writer.flush()

    grow(1)
    with contextlib.closing(writer), serving(store, home, is_stock=True, process=1) as server:
        board = started(server, "run1", settings={"tensorboard_args": ["--reload_interval=1"]})
        until(lambda: runs_of(server, board) == ["ws1_one_test", "ws1_one_train"])
        copies = {path: path.stat().st_ino for path in (home / "process-boards").rglob("*tfevents*")}
        assert len(copies) == 2
        assert [file.read_bytes() for file in home.rglob(f"ws1_one_train/{profile}")] == [b"a profile"]
        place = f"/boards/{board.id}/data/plugin/scalars/scalars?run=ws1_one_train&tag=loss"
        until(lambda: server.ask_board(place, who=BOSS).status == 200)  # runs are listed before their curves
        before = server.ask_board(place, who=BOSS).document
        grow(20)
        until(lambda: len(server.ask_board(place, who=BOSS).document) > len(before))
        assert copies.items() <= {p: p.stat().st_ino for p in (home / "process-boards").rglob("*tfevents*")}.items()
        with pytest.raises(BoardLimitExceeded, match=board.name):
            server.client().boards.create("run1", kind=BoardKind.PROCESS, template="{run}")
        with pytest.raises(Conflict, match="has read its runs"):
            server.client().boards.change(board.id, template="{run}")
        logs = server.client().boards.logs(board.id)
        assert any("TensorBoard 2" in line.text for line in logs)
        assert sum("pip install 'aboard[profile]', or xprof, where local starts it" in line.text for line in logs) == 1

        server.client().boards.stop(board.id)
        until(lambda: server.client().boards.get(board.id).state is UnitState.STOPPED)
        until(lambda: not _processes(tmp_path))
        ended = server.client().boards.get(board.id)
        assert (ended.exit_status, ended.reason) == ("stopped", f"stopped by {BOSS}")
        assert server.ask_board(f"/boards/{board.id}/", who=BOSS).status == 409
        until(lambda: not list((home / "process-boards").rglob("*tfevents*")))


def test_neither_side_dies_unnoticed(store: Store, home: Path, tmp_path: Path):
    """A server that comes back takes up what runs, and what has died is told with its reason."""
    logged_run(store, name="one")
    with serving(store, home) as server:
        board = started(server, "run1")
        (process,) = _processes(tmp_path)
    with serving(store, home) as server:
        assert [one.pid for one in _processes(tmp_path)] == [process.pid]
        assert runs_of(server, board) == ["ws1_one_train"]
        process.kill()
        until(lambda: server.client().boards.get(board.id).state is UnitState.FAILED)
        failed = server.client().boards.get(board.id)
        assert failed.reason
        assert server.client().boards.logs(board.id)[-1].text == failed.reason
        assert server.ask_board(f"/boards/{board.id}/", who=BOSS).status == 409
        again = started(server, "run1")
        assert again.id == board.id
        assert len(_processes(tmp_path)) == 1
        server.client().boards.stop(board.id)
        until(lambda: server.client().boards.get(board.id).state is UnitState.STOPPED)
        assert started(server, "run1").id == board.id
        server.catalog.boards.end(board.id, exit_status="killed", reason="somebody", at_once=True)
        server.catalog.boards.delete(board.id)  # as if by a server that died right after
        until(lambda: not _processes(tmp_path))


def test_nobody_looks(store: Store, home: Path, tmp_path: Path):
    logged_run(store, name="one")
    with serving(store, home) as server:
        board = started(server, "run1")
        assert runs_of(server, board) == ["ws1_one_train"]
        server.client().boards.change(board.id, idle_timeout=1)
        until(lambda: server.client().boards.get(board.id).state is UnitState.STOPPED)
        assert server.client().boards.get(board.id).exit_status == "idle"
        until(lambda: not _processes(tmp_path))


def test_who_may_look(store: Store, home: Path):
    """By a code that works once, which becomes a cookie for one board; the API takes neither."""
    logged_run(store, name="one")
    with serving(store, home) as server:
        server.person("ann", ws1=Role.VIEWER)
        server.person("bob", ws2=Role.VIEWER)
        board = started(server, "run1")
        page = f"/boards/{board.id}/"
        assert server.ask(page, who="bob").status == 404
        assert server.ask_board(page, who="bob").status == 404
        assert server.ask_board(page).status == 401
        away = server.ask_board(page, Accept="text/html")
        assert (away.status, away.header("location")) == (303, f"{server.url}{page}")

        led = server.ask(f"{page}?x=1", Cookie=server.logged_in("ann"))
        origin, _, address = led.header("location").partition(page)
        assert (led.status, origin) == (303, f"http://127.0.0.1:{server.boards_port}")
        came = server.ask_board(page + address)
        assert (came.status, came.header("location")) == (303, f"{page}?x=1")
        assert f"Path={page}; " in came.header("set-cookie")
        assert "HttpOnly" in came.header("set-cookie")
        assert server.ask_board(page, Cookie=came.cookie).body.startswith(b"<!doctype html>")
        assert server.ask_board(page + address).status == 401  # the code is used up

        secret = came.cookie.partition("=")[2]
        session = server.logged_in("ann").partition("=")
        assert server.ask("/api/v1/boards", Cookie=f"{session[0]}={secret}").status == 401
        assert server.ask("/api/v1/boards", Cookie=came.cookie).status == 401
        assert server.ask_board(page, Cookie=f"{came.cookie.partition('=')[0]}={session[2]}").status == 401
        other = page.replace(board.id[0], "0" if board.id[0] != "0" else "1", 1)
        assert server.ask_board(other, Cookie=came.cookie).status in (401, 404)
        code = server.ask(page, Cookie=server.logged_in("ann")).header("location").partition("aboard_code=")[2]
        assert server.ask(f"/?token={code}", Accept="text/html").cookie == ""

        server.catalog.people.set_role("ann", "ws1", None)
        server.control.logins.forget()
        assert server.ask_board(page, Cookie=came.cookie).status == 404


def test_what_can_never_be(store: Store, home: Path):
    logged_run(store, name="one")
    with serving(store, home) as server:
        boards = server.client().boards
        with pytest.raises(UnknownName, match="no executor 'moon'"):
            boards.create("run1", executor="moon")
        with pytest.raises(Forbidden, match="may not run on 'docker'") as refused:
            boards.create("run1", executor="docker")
        assert "this server allows: local" in refused.value.hint
        for settings in (
            {"image": "x"},
            {"bind_mounts": [{"host_path": "/etc", "container_path": "/etc"}]},
            {"tensorboard_args": ["--logdir=/etc"]},
            {"tensorboard_args": ["--port", "1"]},
        ):
            with pytest.raises(InvalidValue):
                boards.create("run1", kind=BoardKind.PROCESS, settings=settings)


def test_what_the_command_says_while_it_starts(store: Store, home: Path, monkeypatch: pytest.MonkeyPatch):
    logged_run(store, name="one")
    with serving(store, home) as server:
        monkeypatch.setenv("ABOARD_SERVER", server.url)
        monkeypatch.setenv("ABOARD_TOKEN", server.tokens[BOSS])
        monkeypatch.setattr("aboard.cli.boards.launch._FIRST_SECONDS", float(_START))
        start_one = ("board", "start", "run1", "--process")
        document = json.loads(well(aboard(*start_one, "--detach", "--json")).out)
        assert (document["kind"], document["url"]) == ("process", f"{server.url}/boards/{document['id']}/")
        assert well(aboard(*start_one, "--detach")).out == f"{document['id']}\n"
        started = well(aboard(*start_one, "--no-browser"))
        assert started.out == f"TensorBoard is running at: {document['url']}\n"
        assert server.client().boards.get(document["id"]).state is UnitState.RUNNING
        said = started.err.splitlines()
        assert said[1:] == ["Starting a TensorBoard process (local); Ctrl-C ends the waiting, and not the board."]
        assert "browser" not in started.err

        failed = aboard(*start_one, "--no-browser", "--config", "tensorboard_args=--load_fast=x")
        assert (failed.code, failed.out) == (1, ""), "no address of what will never be there"
        assert "has failed: " in failed.err
        (hint,) = re.findall(r"hint: see `aboard (board logs [0-9a-f]{8})`, then start it again", failed.err)
        assert "load_fast" in well(aboard(*hint.split())).out


def test_a_keeper_that_was_killed_leaves_no_process(store: Store, home: Path, tmp_path: Path):
    logged_run(store, name="one")
    with serving(store, home) as server:
        assert server.client().info().board_executors == ("local",)
        board = started(server, "run1")
        (process,) = _processes(tmp_path)
        (keeper,) = [one for one in process.parents() if "keep" in one.cmdline()]
        keeper.kill()
        until(lambda: server.client().boards.get(board.id).state is UnitState.LOST)
        assert "keeper" in server.client().boards.get(board.id).reason
        until(lambda: not _processes(tmp_path))
        assert started(server, "run1").id == board.id


DIES = """
    import os, signal, sys
    from aboard.executors.local import Local
    submit, name = Local.submit, sys.argv.pop(1)

    def submit_and_die(self, spec):
        handle = submit(self, spec)
        if spec.name.startswith(name):
            os.kill(os.getpid(), signal.SIGKILL)
        return handle

    Local.submit = submit_and_die
    from aboard.cli import main
    main()
"""


def test_killed_between_submitting_and_recording(store: Store, home: Path, tmp_path: Path):
    """The server that starts next takes up the very process that the killed one had started."""
    logged_run(store, name="one")
    home.mkdir()
    with Catalog.open(home / "catalog.sqlite") as catalog:
        catalog.workspaces.add("ws1")
    arguments = ("board-", "server", "--port", "0", "--store", store.uri, "--json")
    dying = start(tmp_path, DIES, *arguments, ABOARD_TOKEN="a-token-of-some-length")
    assert dying.stdout is not None
    client = Client(json.loads(dying.stdout.readline())["url"], "a-token-of-some-length")
    until(lambda: client.runs.count() == 1)
    board = client.boards.create("run1", kind=BoardKind.PROCESS).board
    assert finish(dying, 60).code == -signal.SIGKILL
    until(lambda: len(_processes(tmp_path)) == 1)
    (process,) = _processes(tmp_path)
    with serving(store, home) as server:
        until(lambda: server.client().boards.get(board.id).state is UnitState.RUNNING, _START)
        assert [one.pid for one in _processes(tmp_path)] == [process.pid]
        server.client().boards.delete(board.id)
        until(lambda: not _processes(tmp_path))
