# SPDX-License-Identifier: Apache-2.0
"""`aboard server` over a store and a read-only source: both are compared, roles hold, and nothing is written."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from aboard.client.client import Client
from aboard.errors import Forbidden, UnknownName
from aboard.store import open_store
from support.logged_runs import logged_run
from support.processes import until
from support.runs import Machine, finish, well
from support.source_logs import log_curve


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    logs = tmp_path / "data" / "logs"
    log_curve(logs / "a", 3.0, 2.0, 1.0)
    log_curve(logs / "b", 5.0, 4.0)
    return logs


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "server").mkdir()
    return Machine(tmp_path / "server", str(tmp_path / "store"))


@pytest.fixture
def settings(logs: Path) -> Mapping[str, str]:
    return {
        "ABOARD_SERVE_ROOTS": str(logs.parent),
        "ABOARD_SERVE_SOURCES": f"vision={logs}",
        "ABOARD_LOGIN_MODE": "tokens",
    }


@contextlib.contextmanager
def serving(machine: Machine, settings: Mapping[str, str]) -> Generator[str]:
    """The address of a server, which ends in order."""
    process = machine.start("server", "--port", 0, "--json", **settings)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(finish(process).err)
        yield json.loads(line)["url"]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def listing(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Size, mode and time of the last change of everything below a folder, and of the folder."""
    found = [folder, *sorted(folder.rglob("*"))]
    states = {str(path): path.stat() for path in found}
    return {name: (state.st_size, state.st_mode, state.st_mtime_ns) for name, state in states.items()}


def make_read_only(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)


def person(machine: Machine, url: str, name: str, role: str) -> Client:
    return Client(url, well(machine.ask("user", "add", name, "--role", role)).out.strip())


def test_a_source_beside_a_store(machine: Machine, settings: Mapping[str, str], logs: Path):
    logged_run(open_store(machine.store, create=True), name="base", workspace="vision", curves={"loss": [9.0, 8.0]})
    logged_run(open_store(machine.store), name="talk", workspace="audio", curves={"loss": [1.0]})
    make_read_only(logs)
    before = listing(logs)
    assert os.access(logs, os.R_OK)
    with serving(machine, settings) as url:
        until(lambda: "audio" in machine.ask("workspaces", "list").out)
        until(lambda: "vision" in machine.ask("workspaces", "list").out)
        ann, bob = person(machine, url, "ann", "vision:editor"), person(machine, url, "bob", "audio:viewer")
        until(lambda: {run.name for run in ann.runs.list().items} == {"a", "b", "base"})
        numbers = {run.name: run.number or 0 for run in ann.runs.list().items}
        curves = ann.series.get([f"run{numbers[name]}" for name in ("a", "base")], tags="loss")
        assert {one.name: one.values.tolist() for one in curves} == {"a": [3.0, 2.0, 1.0], "base": [9.0, 8.0]}
        ann.runs.rename(f"run{numbers['a']}", "baseline")
        ann.runs.tag(f"run{numbers['a']}", {"best": ""})
        # Roles hold for runs of a source, wherever its files could be seen otherwise.
        assert [run.name for run in bob.runs.list().items] == ["talk"]
        with pytest.raises(UnknownName):
            bob.runs.get(f"run{numbers['a']}")
        with pytest.raises(UnknownName):
            bob.series.get(f"run{numbers['a']}", tags="loss")
        for folder in (logs, logs / "a", logs.parent):
            with pytest.raises(Forbidden, match="this server does not show"):
                bob.boards.create([str(folder)])
        ann.boards.create([str(logs / "a")], workspace="vision")
        with pytest.raises(Forbidden):
            ann.runs.delete(f"run{numbers['a']}", files=True)
    with serving(machine, settings) as url:
        ann = Client(url, well(machine.ask("user", "add", "eve", "--role", "vision:viewer")).out.strip())
        until(lambda: {run.name for run in ann.runs.list().items} == {"baseline", "b", "base"})
        found = ann.runs.get("baseline")
        assert (found.number, found.tags, found.source_path) == (numbers["a"], {"best": ""}, "a")
    assert listing(logs) == before


def test_sources_that_cannot_be_shown_are_told_by_the_check(machine: Machine, settings: Mapping[str, str], logs: Path):
    open_store(machine.store, create=True)
    good = well(machine.ask("server", "--check", **settings))
    assert f"ok    source vision={logs}: can be listed, shown in the workspace vision" in good.out
    elsewhere = machine.ask("server", "--check", **{**settings, "ABOARD_SERVE_ROOTS": str(logs / "a")})
    assert elsewhere.code == 1
    assert f"WRONG sources: serve.sources names {logs}, which is not below serve.roots." in elsewhere.out
    unnamed = machine.ask("server", "--check", **{**settings, "ABOARD_SERVE_SOURCES": str(logs)})
    assert (unnamed.code, "Write WORKSPACE=FOLDER or WORKSPACE=URI" in unnamed.out) == (1, True)
    gone = machine.ask("server", "--check", **{**settings, "ABOARD_SERVE_SOURCES": f"vision={logs}/gone"})
    assert (gone.code, f"WRONG source vision={logs}/gone" in gone.out) == (1, True)
