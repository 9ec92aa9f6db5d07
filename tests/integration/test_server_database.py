# SPDX-License-Identifier: Apache-2.0
"""A server whose PostgreSQL goes away for a while."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.errors import CatalogUnavailable
from aboard.store import open_store
from support.postgres import PostgresServer, postgres_server
from support.processes import until
from support.stored_runs import serving_runs, store_run


def test_a_database_that_is_down_is_told_and_waited_for(tmp_path: Path):
    store = open_store(str(tmp_path / "store"), create=True)
    store_run(store, name="before")
    with (
        postgres_server() as database,
        Catalog.open(database.new_database()) as catalog,
        serving_runs(catalog, store.uri) as client,
    ):
        until(lambda: client.runs.count() == 1)
        database.stop()
        with pytest.raises(CatalogUnavailable, match="see that PostgreSQL runs"):
            client.runs.list()
        store_run(store, name="meanwhile")
        until(lambda: "does not answer" in client.stores().items[0].problem)
        assert client.info().catalog.startswith("postgresql://")
        database.start()

        def is_back() -> bool:
            try:
                return sorted(run.name for run in client.runs.list().items) == ["before", "meanwhile"]
            except CatalogUnavailable:
                return False

        until(is_back)


def test_a_database_that_was_made_without_a_language(tmp_path: Path, postgres: PostgresServer):
    store = open_store(str(tmp_path / "store"), create=True)
    store_run(store, name="größer")
    with (
        Catalog.open(postgres.database_without_language()) as catalog,
        serving_runs(catalog, store.uri) as client,
    ):
        until(lambda: [run.name for run in client.runs.list(where='name == "größer"').items] == ["größer"])
