# SPDX-License-Identifier: Apache-2.0
"""One object tells all of a sealed run, and nobody is misled by it when the run was changed or has gone on."""

import json
import uuid
import zlib
from dataclasses import replace

import pytest

import aboard
from aboard.errors import AccessDenied, StoreUnreachable
from aboard.model.states import RunState
from aboard.store import open_store
from aboard.store.run import layout
from aboard.store.run.claims import announce, announced_change
from aboard.store.run.columns import CHECKSUM_BYTES, LENGTH_BYTES
from support.trained_runs import StoredRun, stored_run


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))


@pytest.fixture
def store():
    return open_store(f"memory://{uuid.uuid4().hex}")


@pytest.fixture
def run(store, tmp_path):
    return stored_run(store, tmp_path, "sealed", lambda run: run.log(range(100)))


def gets(opened):
    (count,) = opened._collection.traffic.values()
    return count.requests.get("get", 0)


def steps(opened, name="sealed"):
    return opened.runs[f"{name}/train"].scalars["loss"].steps.tolist()


def rename(run, name):
    run.folder.write_run(replace(run.folder.read_run(), name=name))


def rewrite(run, change):
    """Put the object with another header, with all checksums right."""
    key = run.folder.key(layout.SEALED)
    data = run.store.get(key)[:-CHECKSUM_BYTES]
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    header = change(json.loads(data[LENGTH_BYTES:end]))
    document = json.dumps(header, separators=(",", ":")).encode()
    data = len(document).to_bytes(LENGTH_BYTES, "little") + document + data[end:]
    if header["version"][0] > 1:
        data += zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "little")
    run.store.put(key, data)
    manifest = json.loads(run.store.get(run.folder.key(layout.MANIFEST)))
    manifest["columns"] |= {"bytes": len(data), "crc32": zlib.crc32(data)}
    run.store.put(run.folder.key(layout.MANIFEST), json.dumps(manifest).encode())


def test_one_request_and_one_list_open_a_sealed_run(store, run):
    with aboard.open(store.uri) as opened:
        (count,) = opened._collection.traffic.values()
        assert count.requests == {"get": 1, "list": 1}
        assert steps(opened) == list(range(100))


def test_a_new_name_is_seen(store, run):
    with announced_change(run.folder):
        rename(run, "better")
    assert len(list(store.list(layout.REOPENED))) == 1
    with aboard.open(store.uri) as opened:
        assert steps(opened, "better") == list(range(100))
        assert gets(opened) == 3


def test_a_new_name_is_seen_although_the_server_died_while_it_gave_it(store, run):
    change = announced_change(run.folder)
    change.__enter__()
    rename(run, "better")
    with aboard.open(store.uri) as opened:
        assert sorted(opened.runs.keys()) == ["better/train"]


def test_what_was_announced_before_it_was_sealed_costs_nothing(store, tmp_path):
    run = StoredRun.begin(store, tmp_path, "sealed")
    with announced_change(run.folder):
        rename(run, "better")
    run.log(range(5))
    run.finish("preempted")
    again = run.again(tmp_path)
    again.log(range(5, 9))
    again.finish()
    with aboard.open(store.uri) as opened:
        assert steps(opened, "better") == list(range(9))
        assert gets(opened) == 1


@pytest.mark.parametrize("may_delete", [True, False])
def test_a_run_that_goes_on_is_not_taken_for_sealed(store, run, tmp_path, monkeypatch, may_delete):
    if not may_delete:

        def refused(keys):
            raise AccessDenied(f"{keys} may not be deleted")

        monkeypatch.setattr(store, "delete", refused)
    again = run.again(tmp_path)
    for marker in list(store.list(layout.REOPENED)):
        store._delete([marker.key])  # also for those who do not know of announcements
    again.log(range(100, 120))
    again.ship()
    with aboard.open(store.uri) as opened:
        assert steps(opened) == list(range(120))
        again.log(range(120, 130))
        again.ship()
        opened.refresh()
        assert steps(opened) == list(range(130))


def test_an_object_that_could_not_be_put_at_once_is_put_later(store, tmp_path, monkeypatch):
    put, failures = store.put, [StoreUnreachable("away")]

    def away_once(key, data, **options):
        if key.endswith(layout.SEALED) and failures:
            raise failures.pop()
        return put(key, data, **options)

    monkeypatch.setattr(store, "put", away_once)
    stored_run(store, tmp_path, "sealed", lambda run: run.log(range(9)))
    assert not failures
    with aboard.open(store.uri) as opened:
        assert steps(opened) == list(range(9))
        assert gets(opened) == 1


def test_a_run_is_sealed_although_its_columns_are_refused(store, tmp_path, monkeypatch):
    put = store.put

    def refused(key, data, **options):
        if key.endswith(layout.SEALED):
            raise AccessDenied("not there")
        return put(key, data, **options)

    monkeypatch.setattr(store, "put", refused)
    run = stored_run(store, tmp_path, "sealed", lambda run: run.log(range(9)))
    assert run.folder.read_manifest().manifest.sealed
    with aboard.open(store.uri) as opened:
        assert steps(opened) == list(range(9))


def as_version_1(header):
    kept = {name: header[name] for name in ("format", "files", "logdirs")}
    return kept | {"version": [1, 0]}


def with_a_torn_manifest(header):
    return header | {"manifest": header["manifest"][:-9]}


def without_run_json(header):
    return header | {"run": ""}


def with_a_run_json_that_is_none(header):
    return header | {"run": "[]"}


@pytest.mark.parametrize("change", [as_version_1, with_a_torn_manifest, without_run_json, with_a_run_json_that_is_none])
def test_what_the_copies_do_not_tell_is_asked(store, run, change):
    rewrite(run, change)
    with aboard.open(store.uri) as opened:
        assert steps(opened) == list(range(100))
        assert gets(opened) in {2, 3, 4}
        assert opened._collection.store_problems == []


def test_a_later_announcement_is_looked_at_in_a_process_that_has_it_open(store, run):
    with aboard.open(store.uri) as opened:
        rename(run, "better")
        opened.refresh()
        assert sorted(opened.runs.keys()) == ["sealed/train"]
        announce(run.folder)
        opened.refresh()
        assert sorted(opened.runs.keys()) == ["better/train"]


def test_a_run_in_the_bin_is_not_shown(store, run):
    with announced_change(run.folder):
        run.folder.write_run(replace(run.folder.read_run(), deleted=run.folder.read_run().created))
    with aboard.open(store.uri) as opened:
        assert sorted(opened.runs.keys()) == []


def test_the_status_is_that_of_the_copy(store, run):
    with aboard.open(store.uri) as opened:
        assert opened._collection.columns_of("sealed/train")["status"] == RunState.COMPLETED.value
