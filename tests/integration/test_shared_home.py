# SPDX-License-Identifier: Apache-2.0
"""A home folder that machines share: a server and the programs of its machine meet in a local folder."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from aboard.cli.server.options import ServerOptions, ServerToken
from aboard.cli.server.serving import CatalogServer
from aboard.client.local_server import LocalServer
from aboard.config import home as module
from aboard.config.home import machine_folder
from aboard.config.settings import load_settings
from aboard.foundation import file_systems
from aboard.server.http.listening import listen


def test_server_and_programs_meet_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, local, mounts = tmp_path / "home", tmp_path / "local", tmp_path / "mountinfo"
    shared.mkdir()
    local.mkdir()
    mounts.write_text(f"22 1 254:0 / / rw - ext4 /dev/root rw\n30 22 0:30 / {shared} rw - nfs4 x rw\n", "utf-8")
    monkeypatch.setattr(file_systems, "_MOUNTS", mounts)
    monkeypatch.setattr(module, "_LOCAL", local)
    monkeypatch.setenv("ABOARD_HOME", str(shared))
    found = []
    monkeypatch.setattr(
        "aboard.cli.server.serving.serve", lambda *_, **__: found.append(LocalServer(shared, "store")._written())
    )
    options = ServerOptions(port=0, idle_timeout=60, as_json=True)
    with ExitStack() as stack:
        listener = stack.enter_context(listen("127.0.0.1", 0))
        CatalogServer(options, load_settings(), ServerToken("secret", is_settled=False)).serve(listener, stack)
    assert [address.token for address in found] == ["secret"]
    assert (machine_folder(shared) / "catalog.sqlite").exists()
    assert not list(shared.iterdir())
