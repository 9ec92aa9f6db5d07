# SPDX-License-Identifier: Apache-2.0
"""Catalogs in SQLite and in a real PostgreSQL, which is started once for all tests that want it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from support.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def made_catalogs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One catalog of each kind, empty; copying it is quicker than making another."""
    return {"folder": str(tmp_path_factory.mktemp("catalogs"))}


@pytest.fixture(params=["sqlite", "postgresql"])
def new_place(
    request: pytest.FixtureRequest, made_catalogs: dict[str, str], tmp_path: Path
) -> Generator[Callable[[], str]]:
    """Makes places, each with an empty catalog of its own."""
    if request.param == "sqlite":
        yield lambda: _copied_file(made_catalogs, tmp_path)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    made: list[str] = []

    def make() -> str:
        if "postgresql" not in made_catalogs:
            made_catalogs["postgresql"] = server.new_database()
            Catalog.open(made_catalogs["postgresql"]).close()
        made.append(server.copied_database(made_catalogs["postgresql"]))
        return made[-1]

    yield make
    for url in made:
        server.drop_database(url)


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """The file or URL of an empty catalog."""
    return new_place()


@pytest.fixture
def catalog(place: str) -> Generator[Catalog]:
    with Catalog.open(place) as opened:
        yield opened


def _copied_file(made_catalogs: dict[str, str], folder: Path) -> str:
    first = Path(made_catalogs["folder"]) / "catalog.sqlite"
    if not first.exists():
        Catalog.open(first).close()
    path = folder / f"catalog{len(list(folder.iterdir()))}.sqlite"
    shutil.copyfile(first, path)
    return str(path)
