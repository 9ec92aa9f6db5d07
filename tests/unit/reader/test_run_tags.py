# SPDX-License-Identifier: Apache-2.0
"""The tags of a run by plugin: what RunReader says of them, without an object for each."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aboard import SummaryWriter
from aboard._native import names_json, stamp_of
from aboard.reader.run import RunReader, find_tag, index_of, plugins_of_runs, tags_of_runs
from aboard.reader.tags import DataClass
from support.event_bytes import scalar_value, summary_record, write_event_file
from support.sample_logs import write_every_kind


def opened(folder: Path) -> RunReader:
    run = RunReader("run", folder)
    run.logdir.refresh([os.fsencode(path.name) for path in sorted(folder.iterdir()) if "tfevents" in path.name])
    return run


def test_the_same_tags_as_by_objects(tmp_path):
    write_every_kind(SummaryWriter, tmp_path)
    for folder in [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]:
        run = opened(folder)
        assert plugins_of_runs([run]) == run.plugins()
        for plugin in run.plugins():
            for name, tag in run.by_plugin(plugin).items():
                assert find_tag(run, plugin, name) == tag
            listed = {
                tag.name: status
                for data_class in DataClass
                for _, tags in tags_of_runs({"run": run}, plugin, data_class)
                for tag, status in tags
            }
            assert listed == {name: tag.status for name, tag in run.by_plugin(plugin).items() if tag.status.points}


def test_what_is_not_there(tmp_path):
    run = opened(tmp_path)
    assert plugins_of_runs([run]) == set()
    assert find_tag(run, "scalars", "x") is None
    assert find_tag(run, "scalars", "\udce9") is None
    assert find_tag(run, "\udce9", "x") is None
    assert list(tags_of_runs({"run": run}, "scalars", DataClass.SCALAR)) == []


def test_a_stamp_changes_with_everything_that_could_be_seen(tmp_path):
    def stamp(**runs: RunReader) -> int:
        return stamp_of([(json.dumps(name).encode(), index_of(run)) for name, run in runs.items()])

    path = write_event_file(tmp_path / "a", [summary_record([scalar_value(b"loss", 1.0)])])
    a, b = opened(tmp_path / "a"), opened(tmp_path / "a")
    first = stamp(a=a)
    assert stamp(a=a) == first
    assert len({first, stamp(), stamp(b=a), stamp(a=b), stamp(a=a, b=b), stamp(b=b, a=a)}) == 6
    with path.open("ab") as file:
        file.write(summary_record([scalar_value(b"loss", 2.0)], step=1))
    a.logdir.refresh([os.fsencode(path.name)])
    assert stamp(a=a) != first


@given(st.lists(st.binary(max_size=12), min_size=1, max_size=8))
def test_names_of_any_bytes(names):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_event_file(folder, [summary_record([scalar_value(name, 1.0) for name in names])])
        run = opened(folder)
        # A Summary.Value without a tag is no value.
        shown = {name.decode("utf-8", "replace") for name in names if name}
        listing = json.loads(names_json([(b'"run"', index_of(run))], "scalars", DataClass.SCALAR))
        assert set(listing.get("run", [])) | {""} == shown | {""}
        assert listing.get("run", []) == sorted(listing.get("run", []))
        for name in shown:
            tag = find_tag(run, "scalars", name)
            assert tag is not None
            assert (tag.name, tag.meaning.display_name) == (name, name)
