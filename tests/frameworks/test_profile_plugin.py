# SPDX-License-Identifier: Apache-2.0
"""A trace of a real profiler on a board that is a process, where the profile plugin is installed."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from aboard.catalog.catalog import Catalog
from aboard.model.boards import BoardKind
from aboard.model.states import UnitState
from aboard.store import open_store
from aboard.store.run.documents import Outputs
from aboard.store.run.file_rows import FileRow
from aboard.store.run.run_folder import RunFolder
from support.board_pages import logged_run
from support.processes import until
from support.team_servers import BOSS, Answer, team_server

START = 110.0


def _trace(folder: Path) -> dict[str, bytes]:
    """What the profiler of JAX leaves of a small program, by its path below the folder."""
    jax.profiler.start_trace(str(folder))
    jax.jit(lambda one: (one @ one).sum())(jnp.ones((200, 200))).block_until_ready()
    jax.profiler.stop_trace()
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _read(answer: Answer) -> Any:
    """The plugin packs its answers, whatever was asked for."""
    packed = answer.header("content-encoding")
    unpack = {"gzip": gzip.decompress, "deflate": lambda data: zlib.decompress(data, -15)}.get(packed, bytes)
    return json.loads(unpack(answer.body))


@pytest.mark.timeout(240)
def test_the_plugin_lists_a_real_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("ABOARD_HOME", str(home))
    store = open_store(str(tmp_path / "store"), create=True)
    folder = RunFolder(store, logged_run(store, name="one"))
    rows: list[FileRow] = []
    for name, data in _trace(tmp_path / "trace").items():
        path = f"output/tensorboard/train/{name}"
        rows.append(FileRow(path=path, source=path, bytes=len(data), crc32=zlib.crc32(data)))
        store.put(folder.key(path), data)
    folder.write_outputs(Outputs(serial=1, files=tuple(rows)))
    options = {"process_home": home}
    with Catalog.open(home / "catalog.sqlite") as catalog, team_server(catalog, home, store.uri, options=options) as it:
        until(lambda: it.client().runs.count() == 1, 60)
        board = it.client().boards.create("run1", kind=BoardKind.PROCESS).board
        until(lambda: it.client().boards.get(board.id).state is not UnitState.PENDING, 60)
        until(lambda: it.client().boards.get(board.id).state is not UnitState.STARTING, START)
        logs = it.client().boards.logs(board.id)
        assert it.client().boards.get(board.id).state is UnitState.RUNNING, logs
        assert not any("aboard[profile]" in line.text for line in logs)
        plugin = f"/boards/{board.id}/data/plugin/profile"

        def sessions() -> list[str]:
            return _read(it.ask_board(f"{plugin}/runs", who=BOSS))

        until(sessions, 60)
        (session,) = sessions()
        assert session.startswith("ws1_one_train/")
        tools = _read(it.ask_board(f"{plugin}/run_tools?run={session}", who=BOSS))
        assert any("trace_viewer" in tool for tool in tools), tools
        it.client().boards.delete(board.id)
        until(lambda: not list((home / "units").glob("0*")), 60)
