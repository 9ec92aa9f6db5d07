# SPDX-License-Identifier: Apache-2.0
"""The private server in the background: started once, found by all, replaced when it is gone, ended when idle."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from aboard.client.client import Client
from aboard.errors import ServerUnavailable
from aboard.store import open_store
from support.forked_commands import forked_local_servers
from support.processes import finish, start, succeed, until
from support.runs import Machine, well
from support.stored_runs import store_run

LIST = """
    import json, sys
    from aboard import Client
    client = Client()
    info = client.info()
    print(json.dumps([info.pid, sorted(run.name for run in client.runs.list().items)]))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = tmp_path / "home"
    monkeypatch.setenv("ABOARD_HOME", str(home))
    with forked_local_servers():
        yield home
    for pid in servers(home):  # of other processes, also one that was just about to start
        os.kill(pid, signal.SIGKILL)
    until(lambda: not servers(home))


def running(home: Path) -> int:
    """The process that holds the lock, by what it wrote there."""
    try:
        return int((home / "server/running.lock").read_text() or 0)
    except FileNotFoundError:
        return 0


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def servers(home: Path) -> list[int]:
    """All processes that serve this home and that other processes than this one have started."""
    found: list[int] = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words, environment = process.info["cmdline"] or [], process.info["environ"] or {}
        if "--private" in words and environment.get("ABOARD_HOME") == str(home):
            found.append(process.pid)
    return found


def test_it_is_started_once_and_outlives_who_started_it(home: Path, tmp_path: Path):
    store_run(open_store(str(home / "store"), create=True), name="base")
    starters = [start(tmp_path, LIST) for _ in range(4)]
    printed = [json.loads(finish(one, 90).out.splitlines()[-1]) for one in starters]
    assert len({pid for pid, _ in printed}) == 1
    assert all(names == ["base"] for _, names in printed)
    assert servers(home) == [printed[0][0]]
    (home / "server").chmod(0o755)
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home / "server").iterdir()}
    assert files["server.json"] == files["server.log"] == 0o600
    pid, names = json.loads(succeed(tmp_path, LIST).out)
    assert (pid, names) == (printed[0][0], ["base"])


def test_after_a_kill_another_one_is_started(home: Path):
    client = Client()
    first = client.info().pid
    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first))
    second = client.info().pid  # by the same client, which had just been answered
    assert (second != first, alive(second)) == (True, True)
    assert Client().info().pid == second


def test_what_a_file_says_is_not_trusted(home: Path):
    folder = home / "server"
    folder.mkdir(parents=True)
    # The number of a process that is something else, and a port on which nobody listens.
    (folder / "server.json").write_text(
        json.dumps({"url": "http://127.0.0.1:9", "token": "old", "pid": os.getpid(), "aboard": "0.0.1"})
    )
    (folder / "running.lock").write_text(f"{os.getpid()}\n")
    assert Client().runs.count() == 0
    os.kill(running(home), signal.SIGTERM)
    until(lambda: not (folder / "server.json").exists())
    (folder / "server.json").write_text("{damaged")
    assert Client().runs.count() == 0


def test_an_older_one_is_replaced_and_a_newer_one_is_used(home: Path, monkeypatch: pytest.MonkeyPatch):
    first = Client().info().pid
    monkeypatch.setattr("aboard.client.local_server.__version__", "0.0.9")
    assert Client().info().pid == first
    monkeypatch.setattr("aboard.client.local_server.__version__", "99.0")
    # The new one is of the same age here, so it is not good enough either; but the old one has ended.
    monkeypatch.setattr("aboard.client.local_server.START_SECONDS", 1.0)
    with pytest.raises(ServerUnavailable):
        Client().info()
    until(lambda: not alive(first))


def test_one_that_has_ended_starts_again_with_its_stores(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It ends by this signal when it is idle, which `tests/unit/server/test_idle_shutdown.py` tests."""
    monkeypatch.setenv("ABOARD_STORE", str(tmp_path / "named"))
    store_run(open_store(str(tmp_path / "named"), create=True), name="base")
    client = Client()
    first = client.info().pid
    os.kill(first, signal.SIGTERM)
    until(lambda: not alive(first))
    assert not (home / "server/server.json").exists()
    monkeypatch.delenv("ABOARD_STORE")
    # A store that was named once is followed again.
    assert [run.name for run in Client().runs.list().items] == ["base"]
    assert client.info().pid != first


def test_one_that_nobody_can_find_ends(home: Path):
    first = Client().info().pid
    (home / "server/server.json").unlink()
    second = Client().info().pid
    assert second != first
    until(lambda: not alive(first))
    assert alive(second)


def test_why_it_does_not_start_is_told(home: Path, monkeypatch: pytest.MonkeyPatch):
    home.mkdir()
    (home / "catalog.sqlite").write_bytes(b"this is no database, but it is long enough to be looked at" * 10)
    with pytest.raises(ServerUnavailable, match="the file is damaged or something else"):
        Client().info()
    other = home / "other"
    other.mkdir()
    (other / "server").write_text("in the way")
    monkeypatch.setenv("ABOARD_HOME", str(other))
    with pytest.raises(ServerUnavailable, match="cannot be made"):
        Client().info()


def test_a_run_is_listed_by_commands_and_reindexed(home: Path, tmp_path: Path):
    machine = Machine(tmp_path, str(home / "store"))
    script = "import aboard; run = aboard.Run(); run.log_metrics({'epoch': 1, 'loss': 0.5}, step_name='epoch')"
    well(machine.run(script, "--name", "trained", "--hparam", "lr=0.1"))
    client = Client()
    run = client.runs.get("trained")
    assert (run.hparams, run.status) == ({"lr": 0.1}, "completed")
    assert any(metric.last.value == 0.5 for metric in run.metrics.values())
    well(machine.aboard("run", "--name", "trained", "--", "true"))
    until(lambda: len(client.runs.get("trained").attempts) == 2)
    (home / "store" / "01ARZ3NDEKTSV4RRFFQ69G5FAV").mkdir()
    (home / "store" / "01ARZ3NDEKTSV4RRFFQ69G5FAV/run.json").write_text("{")
    ended = machine.ask("reindex", home / "store")
    assert (ended.code, "1 run is in the catalog" in ended.out) == (1, True)
    assert "01ARZ3NDEKTSV4RRFFQ69G5FAV" in ended.err
    printed = json.loads(machine.ask("reindex", "home/store", "--json").out)
    assert (printed["state"], printed["found"], printed["written"]) == ("done", 2, 1)
    # Who lets somebody in is told that it is not where others could come in.
    assert "which only this machine reaches" in well(machine.ask("user", "add", "ann", "--no-token")).err
    ended = machine.aboard("server")
    assert (ended.code, "is running already, process" in ended.err, "Traceback" in ended.err) == (1, True, False)
