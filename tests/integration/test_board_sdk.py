# SPDX-License-Identifier: Apache-2.0
"""`aboard.Board` as a script uses it: with the private server, and with one that is configured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from http.cookiejar import CookieJar
from pathlib import Path

import psutil
import pytest

import aboard
from aboard.client.local_server import LocalServer
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.states import UnitState
from aboard.store import open_store
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import logged_run
from support.forked_commands import forked_local_servers
from support.processes import until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = tmp_path / "home"
    monkeypatch.setenv("ABOARD_HOME", str(home))
    for name in ("ABOARD_SERVER", "ABOARD_TOKEN", "ABOARD_STORE", "ABOARD_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    with forked_local_servers():
        yield home


def _server_pid(home: Path) -> int:
    """The process that holds the lock, by what it wrote there."""
    try:
        return int((home / "server/running.lock").read_text() or 0)
    except FileNotFoundError:
        return 0


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    with SummaryWriter(str(tmp_path / "logs" / "one")) as writer:
        for step in range(10):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
    return tmp_path / "logs"


def _page(address: str, path: str = "") -> str:
    """What a browser gets: the token is exchanged for a cookie on the way."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with browser.open(address, timeout=30) as answer:
        landed, first = answer.url, answer.read().decode()
    if not path:
        return first
    with browser.open(landed + path, timeout=30) as answer:
        return answer.read().decode()


def test_a_board_over_a_folder_and_its_life(logs: Path):
    board = aboard.Board.create(uri=str(logs), max_runtime_in_minutes=60)
    assert isinstance(board, aboard.TensorBoard)
    assert (board.status, board.display_name, board.info.max_runtime) == (UnitState.RUNNING, "logs", 3600)
    assert repr(board) == f"Board(id='{board.id}', name='{board.name}', status='running')"
    assert "<!doctype html>" in _page(board.app_uri)
    until(lambda: _page(board.app_uri, "data/runs") == '["one"]')
    assert aboard.Board.create(uri=f"{logs}/").id == board.id
    assert [one.id for one in aboard.Board.list()] == [board.id]
    assert aboard.TensorBoard(board.id[:8]).tensorboard_id == board.id

    board.stop()
    assert board.status is UnitState.STOPPED
    with pytest.raises(Conflict, match="is stopped: stopped by"):
        board.wait(timeout=1)
    assert board.start().status is UnitState.RUNNING
    assert [line.text.split(" by ")[0] for line in board.logs()] == ["created", "stopped", "started again"]
    board.delete()
    with pytest.raises(UnknownName):
        aboard.Board(board.id)


def test_what_cannot_be_shown_is_told(tmp_path: Path):
    with pytest.raises(InvalidValue, match="there is no folder"):
        aboard.Board.create(uri=str(tmp_path / "nowhere"))
    with pytest.raises(InvalidValue, match="uri of a board is empty"):
        aboard.Board.create(uri=" ")
    with pytest.raises(InvalidValue, match="no run is named"):
        aboard.Board.create()


def test_a_run_and_an_experiment_lead_to_their_boards(home: Path):
    store = open_store(str(home / "store"), create=True)
    logged_run(store, name="one", experiment="digits")
    client = aboard.Client()
    run = client.runs.get("run1")
    board = run.tensorboard()
    assert (board.display_name, board.info.sources) == (run.name, ("run1",))
    grown = client.experiments.get("digits").tensorboard(wait=False)
    assert (grown.display_name, grown.info.experiments, grown.info.live) == ("digits_TensorBoard", (1,), True)
    until(lambda: run.name in _page(board.app_uri, "data/runs"))


def test_boards_survive_kill_9_of_their_server(logs: Path, home: Path):
    board = aboard.Board.create(uri=str(logs))
    before = _server_pid(home)
    os.kill(before, signal.SIGKILL)
    assert board.status is UnitState.RUNNING
    assert _server_pid(home) != before
    until(lambda: _page(board.app_uri, "data/runs") == '["one"]')


def test_the_private_server_stays_for_as_long_as_a_board_does(logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    spawn = LocalServer._command
    monkeypatch.setattr(LocalServer, "_command", lambda self: [*spawn(self), "--idle-timeout", "1"])
    board = aboard.Board.create(uri=str(logs))
    pid = _server_pid(home)
    with pytest.raises(psutil.TimeoutExpired):
        psutil.Process(pid).wait(2.5)  # after a second it looks every second whether it is needed
    board.stop()
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_the_client_needs_no_server_packages():
    script = (
        "import sys, aboard; aboard.Board; aboard.Client;"
        "bad = {'sqlalchemy', 'msgspec', 'starlette', 'tensorboard', 'numpy', 'obstore'} & set(sys.modules);"
        "sys.exit(repr(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
