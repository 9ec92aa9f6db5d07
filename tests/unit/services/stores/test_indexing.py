# SPDX-License-Identifier: Apache-2.0
"""What is read while somebody changes a run does not undo the change."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.model.names import new_uid
from aboard.services.runs.editing import RunEditor
from aboard.services.stores import indexing
from aboard.services.stores.indexing import Reindexer, RunIndexer
from aboard.store import open_store
from support.processes import until
from support.stored_runs import store_run


def test_what_was_read_before_a_change_is_not_put_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = open_store(f"memory://{new_uid().lower()}")
    uid = store_run(store, name="old")
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        indexer = RunIndexer(catalog)
        editor = RunEditor(catalog, indexer, lambda _: store)
        indexer.index(store, [uid])
        read = indexing.read_runs

        def slow(*arguments):
            found = read(*arguments)
            # Between the reading and the putting somebody renames the run; the manifest has come further meanwhile.
            editor.edit(catalog.runs.by_uid(uid), lambda run: replace(run, name="new"))
            return [replace(one, run=one.run and replace(one.run, revision=99)) for one in found]

        monkeypatch.setattr(indexing, "read_runs", slow)
        indexer.index(store, [uid])
        assert catalog.runs.by_uid(uid).name == "new"


def test_changes_of_one_run_at_once_are_all_kept(tmp_path: Path):
    store = open_store(str(tmp_path / "store"), create=True, fsync=False)
    uid = store_run(store)
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        indexer = RunIndexer(catalog)
        editor = RunEditor(catalog, indexer, lambda _: store)
        indexer.index(store, [uid])

        def tag(number: int) -> None:
            for step in range(5):
                name = f"t{number}-{step}"
                editor.edit(catalog.runs.by_uid(uid), lambda run, name=name: replace(run, tags={**run.tags, name: ""}))

        threads = [threading.Thread(target=tag, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(catalog.runs.by_uid(uid).tags) == 30


def test_a_reindexing_goes_on_after_a_hostile_run(tmp_path: Path):
    store = open_store(f"memory://{new_uid().lower()}")
    bad, good = store_run(store, uid="7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), store_run(store, name="good")
    named = {**json.loads(store.get(f"{bad}/run.json")), "name": "a\ud800\n/\0", "revision": 2**63 - 1}
    store.put(f"{bad}/run.json", json.dumps(named).encode())
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        reindexing = Reindexer(catalog)
        task = reindexing.start(store).id
        until(lambda: reindexing.state(task).is_over)
        assert (reindexing.state(task).state, reindexing.state(task).written) == ("done", 2)
        assert catalog.runs.by_uid(good).name == "good"
        assert catalog.runs.by_uid(bad).name == "a"
