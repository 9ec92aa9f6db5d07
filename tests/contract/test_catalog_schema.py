# SPDX-License-Identifier: Apache-2.0
"""Migrations make the tables that the code expects, and files of every older schema are brought up to date."""

import math
import shutil
import sqlite3
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.catalog.migrations.schema_version import VERSION_TABLE, newest_version
from aboard.catalog.schema import metadata
from aboard.errors import CatalogUnavailable
from aboard.model.people import Role
from aboard.model.query.parser import parse_query
from aboard.model.runs import Attempt, Note
from aboard.model.states import RunState
from aboard.model.times import parse_time

GOLDEN = Path(__file__).parents[1] / "golden" / "catalog"


def test_migrations_make_what_the_code_expects(catalog):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with catalog._database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_indexes_are_the_same_to_their_conditions(catalog):
    """Alembic does not compare the conditions of indexes, nor tables without rowids."""
    expected = sorted(str(index.name) for table in metadata.tables.values() for index in table.indexes)
    partial = sorted(
        str(index.name)
        for table in metadata.tables.values()
        for index in table.indexes
        if index.dialect_options["sqlite"]["where"] is not None
    )
    with catalog._database.reading() as connection:
        if catalog._database.is_sqlite:
            query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        else:
            query = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE 'ix%%'"
        found = dict(iter(connection.exec_driver_sql(query)))
    assert sorted(found) == expected
    assert sorted(name for name, text in found.items() if " WHERE " in text) == partial


def test_there_is_a_file_of_every_schema():
    assert sorted(GOLDEN.iterdir()) == [GOLDEN / f"v{number}.sqlite" for number in range(1, int(newest_version()) + 1)]


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.sqlite")), ids=lambda path: path.stem)
def test_a_file_of_an_older_schema_is_brought_up_to_date(golden, tmp_path):
    path = tmp_path / "catalog.sqlite"
    shutil.copyfile(golden, path)
    with Catalog.open(path) as catalog:
        first = catalog.runs.get(1)
        assert (first.workspace, first.experiment, first.name, first.user) == ("Vision", "baseline", "first", "ann")
        assert (first.status, first.bytes, first.duration) == (RunState.COMPLETED, 12345678901, 3598.5)
        expected = {"amp": True, "lr": 0.01, "none": None, "opt.name": "adam", "seed": 1152921504606846977}
        assert first.hparams == expected
        assert math.isnan(first.metrics["val/loss"].last.value)
        assert first.metrics["val/loss"].smallest.value == 0.1
        assert first.metrics["acc"].largest.step == 3
        assert first.tags == {"best": "", "team": "vision"}
        assert first.notes == (Note(text="größer", author="ann", written=parse_time("2026-11-02T08:00:00Z")),)
        assert first.attempts[1] == Attempt(number=2, status=RunState.COMPLETED, details={"pid": 7})
        assert first.details == {"git": {"commit": "abc"}}
        assert [run.number for run in catalog.runs.list(where=parse_query("hparams.lr > 0")).items] == [1]
        assert [run.name for run in catalog.runs.list(in_bin=True).items] == ["run2"]
        assert [(e.number, e.workspace) for e in catalog.experiments.list().items] == [(2, "text"), (1, "Vision")]
        assert catalog.people.roles("ann") == {"Vision": Role.EDITOR}
        assert catalog.tokens.list("ann")[0].scopes == ("read",)
        assert catalog.boards.get("6f1f").settings == {"args": ["--x"]}
        views = [("Best first", "Vision", "ann", "runs?sort=metrics.loss.min")] if golden.stem >= "v5" else []
        assert [(one.name, one.workspace, one.owner, one.address) for one in catalog.saved_views.list()] == views
        assert [entry.target for entry in catalog.audit.list().items] == ["run2"]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT version_num FROM aboard_schema").fetchall() == [(newest_version(),)]
    connection.close()


def test_a_postgresql_user_without_permission_is_told(postgres):
    import psycopg

    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(CatalogUnavailable, match="permission denied for schema public") as caught:
        Catalog.open(url.replace("app@", "guest@"))
    assert "GRANT CREATE" in caught.value.hint


def test_opening_by_several_at_once_makes_one_catalog(postgres):
    from concurrent.futures import ThreadPoolExecutor

    url = postgres.new_database()
    with ThreadPoolExecutor(4) as pool:
        for catalog in pool.map(lambda _: Catalog.open(url), range(4)):
            catalog.close()
    with Catalog.open(url) as catalog:
        assert catalog.runs.count() == 0


def test_postgresql_with_an_unknown_schema_is_refused(postgres):
    url = postgres.new_database()
    with Catalog.open(url) as catalog:
        catalog._database.write(lambda c: c.exec_driver_sql("UPDATE aboard_schema SET version_num = '9999'"))
    with pytest.raises(CatalogUnavailable, match="has schema 9999"):
        Catalog.open(url)
