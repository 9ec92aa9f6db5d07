# SPDX-License-Identifier: Apache-2.0
"""What is deleted from a catalog is out of sight, and comes back: the same suite on SQLite and on PostgreSQL."""

from dataclasses import replace

import pytest

from aboard.errors import Conflict, UnknownName
from aboard.model.query.fields import parse_sort
from aboard.model.query.parser import parse_query
from aboard.model.states import RunState
from support.catalog_runs import START, WHOLE, make_run, metric, names, put_named


class TestBin:
    def test_deleted_runs_are_out_of_sight_until_restored(self, catalog):
        a, b = put_named(catalog, "a", "b", hparams={"x": 1}, metrics={"loss": metric(1.0)})
        catalog.bin.delete_runs([a.number])
        asked = {"where": parse_query("hparams.x == 1"), "sort": parse_sort("metrics.loss")}
        assert names(catalog.runs.list(**asked)) == ["b"]
        assert catalog.runs.named("ws1", "a") == []
        assert names(catalog.runs.list(in_bin=True, **asked)) == ["a"]
        assert catalog.runs.get(a.number).deleted is not None
        catalog.bin.restore_runs([a.number])
        assert names(catalog.runs.list(**asked)) == ["a", "b"]
        with pytest.raises(UnknownName, match="there is no run run99"):
            catalog.bin.delete_runs([b.number, 99])
        assert catalog.runs.get(b.number).deleted is None

    def test_putting_a_deleted_run_leaves_it_deleted(self, catalog):
        run = catalog.runs.put(make_run())
        catalog.bin.delete_runs([run.number])
        catalog.runs.put(replace(run, status=RunState.FAILED))
        assert catalog.runs.count() == 0
        assert catalog.runs.get(run.number).status is RunState.FAILED

    def test_purging_is_for_good(self, catalog):
        kept, gone = catalog.runs.put_many([replace(WHOLE, uid=make_run().uid, name=name) for name in "ab"])
        assert catalog.bin.purge_runs([kept.number]) == []  # it is not in the bin
        catalog.bin.delete_runs([gone.number])
        assert catalog.bin.purge_runs(deleted_before=START) == []
        (purged,) = catalog.bin.purge_runs([gone.number])
        assert (purged.number, purged.uid, purged.store) == (gone.number, gone.uid, "s3://bucket/runs")
        with pytest.raises(UnknownName):
            catalog.runs.get(gone.number)
        assert len(catalog.runs.get(kept.number).hparams) == len(WHOLE.hparams)

    def test_an_experiment_goes_and_comes_with_its_runs(self, catalog):
        a, _ = put_named(catalog, "a", "b", experiment="e")
        catalog.bin.delete_runs([a.number])
        catalog.bin.delete_experiment(1)
        assert catalog.runs.count() == 0
        assert catalog.experiments.list().items == []
        assert [e.name for e in catalog.experiments.list(in_bin=True).items] == ["e"]
        catalog.bin.restore_experiment(1)
        assert names(catalog.runs.list()) == ["b"]  # a was in the bin before

    def test_a_workspace_goes_and_comes_with_all(self, catalog):
        run = put_named(catalog, "a", experiment="e", hparams={"x": 1})[0]
        put_named(catalog, "b", workspace="ws2", hparams={"x": 1})
        catalog.bin.delete_workspace("ws1")
        assert names(catalog.runs.list(where=parse_query("hparams.x == 1"))) == ["b"]
        with pytest.raises(UnknownName):
            catalog.runs.list(workspaces=["ws1"])
        with pytest.raises(Conflict, match="restore the workspace 'ws1' first"):
            catalog.bin.restore_runs([run.number])
        assert [w.name for w in catalog.workspaces.list(in_bin=True)] == ["ws1"]
        catalog.bin.restore_workspace("WS1")
        assert names(catalog.runs.list(workspaces=["ws1"])) == ["a"]
        with pytest.raises(UnknownName, match="there is no workspace in the bin 'ws1'"):
            catalog.bin.restore_workspace("ws1")

    def test_a_new_run_brings_its_workspace_and_experiment_back(self, catalog):
        put_named(catalog, "old", experiment="e")
        catalog.bin.delete_workspace("ws1")
        put_named(catalog, "new", experiment="e")
        assert names(catalog.runs.list(workspaces=["ws1"])) == ["new"]
        assert [e.name for e in catalog.experiments.list().items] == ["e"]
