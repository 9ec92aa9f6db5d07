# SPDX-License-Identifier: Apache-2.0
"""Runs of read-only sources in every catalog: edits outlive what is read next, and missing runs come back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.catalog.backup import back_up, restore
from aboard.catalog.catalog import Catalog
from aboard.errors import InvalidValue
from aboard.model.runs import Note, RunRecord
from support.catalog_runs import START, hours, make_run, metric

NOTE = Note(text="Looks good.", author="ann", written=START)


def source_run(**fields: object) -> RunRecord:
    return make_run(**{"name": "a", "store": "/data/logs", "source_path": "a", "tags": {"own": "1"}, **fields})


def edited(run: RunRecord) -> RunRecord:
    return replace(run, name="baseline", tags={"best": ""}, notes=(*run.notes, NOTE))


def test_what_people_add_is_there_after_the_run_was_read_again(catalog: Catalog):
    run = source_run()
    number = catalog.runs.put(run).number or 0
    catalog.runs.edit(number, edited)
    catalog.runs.put(replace(run, metrics={"loss": metric(1.0)}, tags={"own": "2", "new": "3"}))
    found = catalog.runs.get(number)
    assert (found.name, found.tags, found.notes) == ("baseline", {"best": "", "new": "3"}, (NOTE,))
    assert (found.metrics["loss"].last.value, found.source_path) == (1.0, "a")


def test_the_name_of_a_folder_may_change_until_somebody_names_the_run(catalog: Catalog):
    run = source_run()
    number = catalog.runs.put(run).number or 0
    catalog.runs.put(replace(run, name="b"))
    assert catalog.runs.get(number).name == "b"
    catalog.runs.edit(number, edited)
    catalog.runs.put(replace(run, name="c"))
    assert catalog.runs.get(number).name == "baseline"


def test_a_run_that_was_moved_to_the_trash_stays_there(catalog: Catalog):
    run = source_run()
    number = catalog.runs.put(run).number or 0
    catalog.runs.edit(number, lambda found: replace(found, deleted=START))
    catalog.runs.put(replace(run, metrics={"loss": metric(1.0)}))
    assert (catalog.runs.count(), catalog.runs.count(in_bin=True)) == (0, 1)
    catalog.runs.edit(number, lambda found: replace(found, deleted=None))
    catalog.runs.put(replace(run, metrics={"loss": metric(2.0)}))
    assert (catalog.runs.count(), catalog.runs.count(in_bin=True)) == (1, 0)


def test_missing_runs_come_back_with_their_numbers(catalog: Catalog):
    put = catalog.runs.put_many([source_run(source_path=path) for path in ("a", "b", "c")])
    gone, kept, trashed = [run.number or 0 for run in put]
    catalog.bin.delete_runs([trashed])
    assert catalog.bin.delete_missing([gone, trashed]) == [gone]
    assert [run.number for run in catalog.runs.list().items] == [kept]
    catalog.runs.put_many([replace(run, number=None) for run in put])
    assert {run.number for run in catalog.runs.list().items} == {gone, kept}


def test_numbers_follow_the_age_of_runs(catalog: Catalog):
    """Uids of these runs are digests, whose order says nothing."""
    paths = [f"run{index}" for index in range(20)]
    made = [source_run(name=path, source_path=path, created=START - hours(index)) for index, path in enumerate(paths)]
    catalog.runs.put_many(made)
    assert [run.name for run in catalog.runs.list().items] == paths


def test_runs_stay_in_their_workspace(catalog: Catalog):
    number = catalog.runs.put(source_run()).number or 0
    with pytest.raises(InvalidValue, match="stays in its workspace"):
        catalog.runs.edit(number, lambda run: replace(run, workspace="ws2", name="lost"))
    assert catalog.runs.get(number).name == "a"


def test_backups_take_edits_along(catalog: Catalog, tmp_path: Path):
    run = source_run(heartbeat=START + timedelta(minutes=1))
    number = catalog.runs.put(run).number or 0
    catalog.runs.edit(number, edited)
    back_up(catalog, tmp_path / "backup")
    with Catalog.open(tmp_path / "other.sqlite") as other:
        restore(other, tmp_path / "backup", replace=False)
        other.runs.put(run)
        assert other.runs.get(number).name == "baseline"
