# SPDX-License-Identifier: Apache-2.0
"""Catalogs in SQLite and in a real PostgreSQL, started once for all tests that want it, and Kubernetes clusters."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from support.empty_catalogs import EmptyCatalogs, pattern_of
from support.kubernetes_api import KubernetesApi, kubernetes_api
from support.kubernetes_under_test import KubernetesUnderTest, kubernetes_under_test
from support.postgres import PostgresServer
from support.shared_service import SharedServices
from support.stored_runs import SERVER_COUNT


@pytest.fixture(scope="session")
def empty_catalogs(postgres: PostgresServer, shared_services: SharedServices) -> EmptyCatalogs:
    return EmptyCatalogs(postgres, shared_services.once("catalog", lambda: pattern_of(postgres)))


@pytest.fixture(scope="session")
def empty_file(shared_services: SharedServices) -> Path:
    """A catalog in SQLite; copying it is quicker than making another."""

    def make() -> Path:
        path = shared_services.folder / "catalog.sqlite"
        Catalog.open(path).close()
        return path

    return shared_services.once("sqlite", make)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_place(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes places, each with an empty catalog of its own."""
    return request.getfixturevalue(f"new_{request.param}")


@pytest.fixture
def new_sqlite(empty_file: Path, tmp_path: Path) -> Callable[[], str]:
    return lambda: _copied(empty_file, tmp_path)


@pytest.fixture
def new_postgresql(empty_catalogs: EmptyCatalogs) -> Generator[Callable[[], str]]:
    taken: list[str] = []

    def take() -> str:
        taken.append(empty_catalogs.take())
        return taken[-1]

    yield take
    for url in taken:
        empty_catalogs.give_back(url)


@pytest.fixture(params=["sqlite"] if SERVER_COUNT == 1 else ["postgresql"])
def new_served_place(request: pytest.FixtureRequest) -> Callable[[], str]:
    """As `new_place`, for servers: one over SQLite, or several over PostgreSQL where SERVERS_UNDER_TEST says how many.

    What differs between the databases is shown by the tests of catalogs, which run on both.
    """
    return request.getfixturevalue(f"new_{request.param}")


@pytest.fixture
def served_catalog(new_served_place: Callable[[], str]) -> Generator[Catalog]:
    with Catalog.open(new_served_place()) as opened:
        yield opened


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """The file or URL of an empty catalog."""
    return new_place()


@pytest.fixture
def catalog(place: str) -> Generator[Catalog]:
    with Catalog.open(place) as opened:
        yield opened


def _copied(catalog: Path, folder: Path) -> str:
    path = folder / f"catalog{len(list(folder.iterdir()))}.sqlite"
    shutil.copyfile(catalog, path)
    return str(path)


@pytest.fixture
def kubernetes_server(tmp_path: Path) -> Generator[tuple[KubernetesApi, Path]]:
    """An API server without nodes, and the file by which clients find it."""
    with kubernetes_api(tmp_path) as opened:
        yield opened


@pytest.fixture
def api(kubernetes_server: tuple[KubernetesApi, Path]) -> KubernetesApi:
    return kubernetes_server[0]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[KubernetesUnderTest]:
    """A cluster that runs pods."""
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    with kubernetes_under_test(tmp_path) as cluster:
        yield cluster
