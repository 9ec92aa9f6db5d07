# SPDX-License-Identifier: Apache-2.0
"""A server whose runs and experiments have the numbers that the documents of other systems speak of."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.states import RunState
from aboard.store import Store, open_store
from support.board_pages import logged_run
from support.catalog_runs import make_run
from support.stored_runs import TOKEN, folder_uri, serving_runs, until_seen

# (number of the run, name, workspace, number and name of its experiment); numbers grow.
RUNS: tuple[tuple[int, str, str, int, str], ...] = (
    (12, "first", "ws1", 7, "digits"),
    (13, "second", "ws1", 7, "digits"),
    (14, "third", "ws1", 8, "letters"),
    (15, "empty", "ws1", 0, ""),
    (23, "run23", "ws1", 0, ""),
    (310, "run310", "ws1", 2300, "sweep"),
    (341, "run341", "ws1", 2300, "sweep"),
    (343, "run343", "ws1", 0, ""),
    (400, "run400", "curious", 0, ""),
)


@dataclass
class Lab:
    folder: Path
    store: Store
    client: Client

    @property
    def environment(self) -> dict[str, str]:
        """For programs that ask the server."""
        return {
            "ABOARD_SERVER": self.client.url,
            "ABOARD_TOKEN": TOKEN,
            "ABOARD_HOME": str(self.folder / "home"),
            "COLUMNS": "200",
        }


@contextlib.contextmanager
def seed_lab(folder: Path, **options: Any) -> Iterator[Lab]:
    """The server, which this process asks while it is there."""
    store = open_store(folder_uri(folder), create=True)
    place = folder / "catalog.sqlite"
    with Catalog.open(place) as catalog, pytest.MonkeyPatch.context() as patch:
        for number, name, workspace, group, group_name in RUNS:
            _count_from(place, number, group)
            status = RunState.RUNNING if number == 343 else RunState.COMPLETED
            lr = number / 1000
            fields: dict[str, Any] = {"name": name, "workspace": workspace, "experiment": group_name or None}
            logdirs = () if name == "empty" else ("train",)
            uid = logged_run(store, status=status, hparams={"lr": lr}, logdirs=logdirs, **fields)
            run = catalog.runs.put(make_run(uid=uid, store=store.uri, status=status, hparams={"lr": lr}, **fields))
            assert run.number == number
        with serving_runs(catalog, store.uri, **options) as client:
            until_seen(client)
            lab = Lab(folder, store, client)
            for variable, value in lab.environment.items():
                patch.setenv(variable, value)
            yield lab


def _count_from(place: Path, run: int, experiment: int) -> None:
    """Have the catalog give these numbers next, as if there had been others before."""
    with contextlib.closing(sqlite3.connect(place)) as connection:
        for table, number in (("runs", run), ("experiments", experiment)):
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", [table])
            connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", [table, number - 1])
        connection.commit()
