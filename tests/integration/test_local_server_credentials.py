# SPDX-License-Identifier: Apache-2.0
"""A local server that was started without the credentials that a later command has."""

from __future__ import annotations

import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.client.client import Client
from aboard.errors import Conflict, CredentialsMissing, CredentialsRefused
from aboard.model.states import UnitState
from aboard.store import open_store
from support.clouds import clear_clouds, use
from support.forked_commands import forked_local_servers
from support.object_servers import S3Server
from support.processes import until

AZURE = {"AZURE_STORAGE_ACCOUNT_NAME": "models", "AZURE_STORAGE_ACCOUNT_KEY": "a2V5"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    clear_clouds(monkeypatch, tmp_path)
    home = tmp_path / "home"
    monkeypatch.setenv("ABOARD_HOME", str(home))
    with forked_local_servers():
        yield home


@pytest.fixture
def bucket(home: Path, tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A URI with event files, for whose bucket no credentials are set."""
    uri = s3_server.new_uri()
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("loss", 1.0, 1)
    with monkeypatch.context() as patch:
        use(patch, s3_server.environment())
        (events,) = (tmp_path / "run").iterdir()
        open_store(uri).put(f"run/{events.name}", events)
    return uri


def test_an_idle_server_is_restarted_with_them_and_its_boards_come_back(
    home: Path, bucket: str, tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    client = Client()
    earlier = client.boards.create(str(tmp_path / "logs")).board
    first = client.info().pid
    use(monkeypatch, s3_server.environment())
    assert Client().info().pid == first, "nothing in a bucket was asked for"
    client = Client()
    made = client.boards.create(bucket).board
    second = client.info().pid
    assert second != first
    until(lambda: client.boards.reading(made.id).logdirs == 1)
    assert client.boards.get(earlier.id).state is UnitState.RUNNING
    # Neither who has the same, nor who has none, changes anything.
    Client().boards.create(bucket)
    for name in s3_server.environment():
        monkeypatch.delenv(name)
    other = Client()
    other.boards.create(bucket)
    assert other.info().pid == second
    shown = (home / "server/server.json").read_text()
    assert not [value for value in s3_server.environment().values() if value in shown]


def test_a_server_that_is_in_use_is_not_restarted(
    home: Path, bucket: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    first = client.info().pid
    address = client._transport().address
    page = urllib.request.Request(f"{address.url}/api/v1/events", headers={"Authorization": f"Bearer {address.token}"})
    with urllib.request.urlopen(page, timeout=60):
        until(lambda: client.info().busy)
        use(monkeypatch, s3_server.environment())
        with pytest.raises(Conflict, match=r"other AWS_\* variables .* page is open") as caught:
            Client().boards.create(bucket)
    assert f"kill {first}" in caught.value.hint
    assert client.info().pid == first


def test_a_server_with_credentials_that_are_not_here_is_not_restarted(
    home: Path, bucket: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, AZURE)
    first = Client().info().pid
    for name in AZURE:
        monkeypatch.delenv(name)
    use(monkeypatch, s3_server.environment())
    with pytest.raises(Conflict, match=r"started with AZURE_\* variables, which are not set here"):
        Client().boards.create(bucket)
    use(monkeypatch, AZURE)
    client = Client()
    client.boards.create(bucket)
    assert client.info().pid != first


def test_a_store_that_refuses_is_an_error_and_no_empty_board(
    home: Path, bucket: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    with pytest.raises(CredentialsMissing, match="no credentials") as caught:
        client.boards.create(bucket)
    assert "AWS_ACCESS_KEY_ID" in caught.value.hint
    use(monkeypatch, {**s3_server.environment(), "AWS_SECRET_ACCESS_KEY": "wrong"})
    with pytest.raises(CredentialsRefused):
        Client().boards.create(bucket)
    assert client.boards.list().items == ()
