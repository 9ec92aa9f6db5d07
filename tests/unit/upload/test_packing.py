# SPDX-License-Identifier: Apache-2.0
"""Sealed runs that lack columns get them later, by who may write; others are left alone."""

import json
import uuid

import pytest
from typer.testing import CliRunner

import aboard
from aboard.cli import app
from aboard.errors import AccessDenied
from aboard.store import open_store
from aboard.store.run import layout
from aboard.store.run.claims import announce
from aboard.upload.packing import PackResult, pack_later
from support.trained_runs import StoredRun, stored_run, without_columns


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))


@pytest.fixture
def store():
    return open_store(f"memory://{uuid.uuid4().hex}")


@pytest.fixture
def old(store, tmp_path, monkeypatch):
    """A run as earlier versions sealed it."""
    with monkeypatch.context() as patch:
        without_columns(patch)
        return stored_run(store, tmp_path, "old", lambda run: run.log(range(500)))


def sync_columns(*words):
    return CliRunner().invoke(app, ["sync", "--columns", *words])


def requests_and_steps(store):
    with aboard.open(store.uri) as opened:
        (count,) = opened._collection.traffic.values()
        return count.requests["get"], opened.runs["old/train"].scalars["loss"].steps.tolist()


def test_one_request_opens_what_was_packed_later(store, old, tmp_path):
    live = StoredRun.begin(store, tmp_path, "live")
    live.log(range(3))
    live.ship()
    manifest = store.get(old.folder.key(layout.MANIFEST))
    told = sync_columns(store.uri)
    assert told.exit_code == 0
    assert told.stdout.splitlines() == [f"{old.uid}: PACKED", f"{live.uid}: NOT OVER"]
    assert "1 of 2 runs got columns; 0 had them." in told.stderr
    assert store.get(old.folder.key(layout.MANIFEST)) == manifest
    store.delete([entry.key for entry in live.folder.store.list(live.uid)])
    assert requests_and_steps(store) == (1, list(range(500)))
    again = json.loads(sync_columns(store.uri, "--json").stdout)
    assert [item["state"] for item in again["items"]] == [PackResult.THERE]


def test_they_serve_who_has_to_ask_for_the_documents_too(store, old):
    pack_later(old.folder)
    announce(old.folder)
    assert requests_and_steps(store) == (3, list(range(500)))


def test_a_run_that_goes_on_is_not_taken_for_sealed(store, old, tmp_path):
    pack_later(old.folder)
    again = old.again(tmp_path)
    again.log(range(500, 510))
    again.ship()
    assert not store.exists(old.folder.key(layout.SEALED))
    assert requests_and_steps(store)[1] == list(range(510))


def test_a_run_that_is_opened_while_it_is_packed_keeps_none(store, old, tmp_path, monkeypatch):
    put = store.put

    def meanwhile(key, data, **options):
        if key.endswith(layout.SEALED):
            monkeypatch.setattr(store, "put", put)
            old.again(tmp_path)
        return put(key, data, **options)

    monkeypatch.setattr(store, "put", meanwhile)
    assert pack_later(old.folder) is PackResult.LIVE
    assert not store.exists(old.folder.key(layout.SEALED))


def test_what_is_not_what_the_manifest_says_gets_none(store, old):
    (key,) = [entry.key for entry in store.list(old.folder.key("tb"))]
    store.put(key, store.get(key)[:-50] + bytes(50))
    assert pack_later(old.folder) is PackResult.NOT_POSSIBLE


def test_who_may_not_write_is_told(store, old, monkeypatch):
    def refused(self, key, data, **options):
        raise AccessDenied("You may not write there.")

    monkeypatch.setattr(type(store), "put", refused)
    told = sync_columns(store.uri)
    assert told.exit_code == 1
    assert f"{old.uid}: FAILED  You may not write there." in told.stdout


@pytest.mark.parametrize(("words", "expected"), [((), "--columns needs the store"), (("{tmp}",), "is a folder")])
def test_what_makes_no_sense_is_explained(tmp_path, words, expected):
    told = sync_columns(*(word.format(tmp=tmp_path) for word in words))
    assert told.exit_code != 0
    assert expected in str(told.exception) + told.output
