# SPDX-License-Identifier: Apache-2.0
"""Runs of folders and buckets that a server names as read-only sources, over HTTP and beside runs of a store."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from aboard.api.runs import RetentionRequest
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import Conflict, Forbidden, InvalidValue
from aboard.model.runs import RunRecord
from aboard.model.states import RunState
from aboard.services.read_only_source import Source
from aboard.store import Store, open_store
from support.http_asking import ask
from support.logged_runs import logged_run
from support.processes import until
from support.source_logs import log_curve
from support.stored_runs import folder_uri, serving_runs

Serve = Callable[[], Any]


@pytest.fixture
def catalog(served_catalog: Catalog) -> Catalog:
    return served_catalog


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(folder_uri(tmp_path), create=True)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with two runs, of which the second has a stage in a folder of its own."""
    logs = tmp_path / "logs"
    log_curve(logs / "a", 3.0, 2.0, 1.0)
    log_curve(logs / "sweep" / "b", 5.0, 4.0, at=2000.0)
    log_curve(logs / "sweep" / "b" / "eval", 6.0, tag="acc", at=2000.0)
    return logs


@pytest.fixture
def serve(catalog: Catalog, store: Store, logs: Path) -> Serve:
    return lambda: serving_runs(catalog, store.uri, sources=[Source.parse(f"vision={logs}")])


@pytest.fixture
def client(serve: Serve) -> Generator[Client]:
    with serve() as made:
        until_listed(made, "a", "sweep/b")
        yield made


def listed(client: Client, **asked: Any) -> dict[str, RunRecord]:
    return {run.name: run for run in client.runs.list(**asked).items}


def until_listed(client: Client, *names: str, **asked: Any) -> None:
    until(lambda: set(listed(client, **asked)) == set(names))


def test_runs_have_numbers_a_workspace_and_summaries(client: Client, logs: Path):
    a, b = listed(client)["a"], listed(client)["sweep/b"]
    assert (a.number, a.workspace, a.store, a.source_path) == (1, "vision", str(logs), "a")
    assert (b.number, b.source_path, b.status) == (2, "sweep/b", RunState.COMPLETED)
    assert a.metrics["loss"].last.value == 1.0
    assert b.metrics["eval/acc"].last.value == 6.0
    (source,) = [one for one in client.stores().items if one.read_only]
    assert (source.uri, source.state) == (str(logs), "following")


def test_filters_orders_and_selections_are_those_of_all_runs(client: Client, store: Store):
    logged_run(store, curves={"loss": [9.0]})
    until(lambda: len(listed(client)) == 3)
    assert list(listed(client, where="metrics.loss < 3")) == ["a"]
    assert list(listed(client, sort="metrics.loss", workspaces=["vision"])) == ["a", "sweep/b"]
    assert [run.number for run in client.runs.list(where="workspace = 'vision'").items] == [2, 1]


def test_curves_of_a_source_and_a_store_are_compared(client: Client, store: Store):
    logged_run(store, curves={"loss": [9.0, 8.0]})
    until(lambda: len(listed(client)) == 3)
    curves = client.series.get(["run1", "run2", "run3"], tags=["loss"])
    assert {one.run: one.values.tolist() for one in curves} == {1: [3.0, 2.0, 1.0], 2: [5.0, 4.0], 3: [9.0, 8.0]}


def test_new_points_and_runs_appear(client: Client, logs: Path):
    log_curve(logs / "c", 7.0, at=time.time())
    until_listed(client, "a", "sweep/b", "c")
    assert listed(client)["c"].status is RunState.RUNNING
    log_curve(logs / "a", 0.5, first=3)
    until(lambda: client.series.get("run1", tags="loss")[0].values.tolist() == [3.0, 2.0, 1.0, 0.5])


def test_edits_are_kept_in_the_catalog_over_a_restart(serve: Serve, logs: Path):
    with serve() as client:
        until_listed(client, "a", "sweep/b")
        client.runs.rename("run1", "baseline")
        client.runs.tag("run1", {"best": "yes"})
        client.runs.note("run1", "Looks good.")
        client.runs.delete("run2")
    log_curve(logs / "a", 0.5, first=3)
    with serve() as client:
        until(lambda: listed(client)["baseline"].metrics["loss"].last.value == 0.5)
        found = client.runs.get("run1")
        assert (found.name, found.tags, [note.text for note in found.notes]) == (
            "baseline",
            {"best": "yes"},
            ["Looks good."],
        )
        assert list(listed(client, in_bin=True)) == ["sweep/b"]
        client.runs.restore("run2")
        until_listed(client, "baseline", "sweep/b")


def test_runs_whose_files_are_gone_are_in_the_trash_until_they_are_back(client: Client, logs: Path, tmp_path: Path):
    shutil.move(logs / "a", tmp_path / "aside")
    until_listed(client, "sweep/b")
    assert list(listed(client, in_bin=True)) == ["a"]
    shutil.move(tmp_path / "aside", logs / "a")
    until_listed(client, "a", "sweep/b")
    assert listed(client)["a"].number == 1


def test_a_source_that_cannot_be_read_keeps_its_runs(client: Client, logs: Path, tmp_path: Path):
    logs.rename(tmp_path / "aside")
    until(lambda: [one.state for one in client.stores().items if one.read_only] == ["failing"])
    assert set(listed(client)) == {"a", "sweep/b"}
    (tmp_path / "aside").rename(logs)
    until(lambda: [one.state for one in client.stores().items if one.read_only] == ["following"])


def test_files_are_never_deleted(client: Client, logs: Path):
    with pytest.raises(Forbidden, match="run1 is in the read-only source"):
        client.runs.delete("run1", files=True)
    kept = client.runs.retain(RetentionRequest(where="workspace = 'vision'", files=True, dry_run=False))
    assert kept.items == ()
    assert set(listed(client)) == {"a", "sweep/b"}
    assert (logs / "a").is_dir()


def test_runs_stay_in_their_workspace(client: Client):
    client.workspaces.add("other")
    with pytest.raises(InvalidValue, match="stays in its workspace"):
        client.runs.move("run1", workspace="other")
    with pytest.raises(Conflict, match="shows runs of the source"):
        client.workspaces.change("vision", new_name="sight")


def test_a_run_of_a_source_has_no_other_files(client: Client, logs: Path):
    answer = ask(client, "/api/v1/runs/run1/files")
    assert answer.status == 404
    told = answer.json()["error"]["message"]
    assert told == f"a is a folder of event files in the source {logs}, and has no other files here."


def test_a_source_may_not_overlap_with_a_store_added_later(client: Client, logs: Path):
    with pytest.raises(InvalidValue, match="overlaps with the store"):
        client.add_store(str(logs / "sweep"))
