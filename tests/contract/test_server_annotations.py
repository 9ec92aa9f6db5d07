# SPDX-License-Identifier: Apache-2.0
"""What trainings said about moments of their runs, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import InvalidValue, UnknownName
from aboard.store import Store, open_store
from aboard.store.run.run_folder import RunFolder
from support.processes import until
from support.stored_runs import serving_runs, store_run

SAID = (
    {"name": "rate halved", "step": 7, "time": 1000.5, "data": {"lr": 0.5, "note": "<b>", "bad": "NaN"}},
    {"name": "evaluated", "time": 1001.0, "data": {}},
    {"name": "far", "step": 2**60},
)
STRANGE = ({}, {"name": 5, "step": "x", "time": "soon", "data": [1]}, {"name": "y", "step": 2**70, "time": True})


def _say(store: Store, uid: str, *said: dict[str, object]) -> None:
    folder = RunFolder(store, uid)
    summary = folder.read_summary()
    assert summary is not None
    folder.write_summary(replace(summary, annotations=said))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    store = open_store(str(tmp_path_factory.mktemp("said") / "store"), create=True)
    _say(store, store_run(store, name="talking"), *SAID)
    _say(store, store_run(store, name="odd"), *STRANGE)
    store_run(store, name="silent")
    broken = store_run(store, name="broken")
    catalog = tmp_path_factory.mktemp("catalog") / "catalog.sqlite"
    with Catalog.open(catalog) as opened, serving_runs(opened, store.uri) as made:
        until(lambda: made.runs.count() == 4)
        store.put(f"{broken}/summary.json", b"{nonsense")
        yield made


def test_they_are_told_as_they_were_logged(client: Client):
    found = client.runs.annotations(["talking", "silent"])
    assert [(one.name, one.step, one.wall_time) for one in found.items] == [
        ("rate halved", 7, 1000.5),
        ("evaluated", None, 1001.0),
        ("far", 2**60, None),
    ]
    assert found.items[0].data == {"lr": 0.5, "note": "<b>", "bad": "NaN"}
    assert {one.run for one in found.items} == {client.runs.get("talking").uid}
    assert (found.left_out, found.problems) == (0, ())


def test_what_is_not_understood_is_left_out(client: Client):
    found = client.runs.annotations("odd").items
    assert [(one.name, one.step, one.wall_time, one.data) for one in found] == [
        ("", None, None, {}),
        ("5", None, None, {}),
        ("y", None, None, {}),
    ]


def test_a_run_that_cannot_be_read_does_not_hide_the_others(client: Client):
    found = client.runs.annotations(["broken", "talking"])
    assert len(found.items) == 3
    assert [one.run for one in found.problems] == ["broken"]
    assert "summary.json" in found.problems[0].message


def test_who_names_no_run_or_an_unknown_one_is_told(client: Client):
    with pytest.raises(InvalidValue, match="no run is named"):
        client.runs.annotations([])
    with pytest.raises(UnknownName, match="nonsense"):
        client.runs.annotations("nonsense")
