# SPDX-License-Identifier: Apache-2.0
"""Runs of a store as a client sees them over HTTP; `make test-servers` has three servers over PostgreSQL."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from aboard.api.runs import NewRun, RetentionRequest
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import (
    Conflict,
    DamagedDocument,
    Forbidden,
    InvalidValue,
    QueryError,
    ServerUnavailable,
    Unauthorized,
    UnknownName,
)
from aboard.model.names import new_uid
from aboard.model.states import RunState
from aboard.store import Store, open_store
from aboard.store.run.run_folder import RunFolder
from support.http_asking import ask
from support.processes import until
from support.stored_runs import TOKEN, folder_uri, put_manifest, serving_runs, store_run

DAY = timedelta(days=1)


@pytest.fixture
def catalog(served_catalog: Catalog) -> Catalog:
    return served_catalog


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(folder_uri(tmp_path), create=True)


@pytest.fixture
def client(catalog: Catalog, store: Store) -> Generator[Client]:
    with serving_runs(catalog, store.uri) as made:
        yield made


def names(client: Client, **asked: Any) -> list[str]:
    return [run.name for run in client.runs.list(**asked).items]


def test_a_run_is_shown_with_all_that_its_documents_say(client: Client, store: Store):
    uid = store_run(
        store,
        name="base",
        experiment="lr",
        hparams={"lr": 0.01, "layers": 2**60, "name": "NaN?", "deep": {"a": True}},
        metrics={"loss": [3.0, 1.0, math.nan]},
        tags={"gpu": "a100"},
        size=1234,
    )
    run = client.runs.get("base")
    assert (run.uid, run.workspace, run.experiment, run.status) == (uid, "ws1", "lr", RunState.COMPLETED)
    assert run.hparams == {"lr": 0.01, "layers": 2**60, "name": "NaN?", "deep.a": True}
    assert math.isnan(run.metrics["loss"].last.value)
    assert (run.metrics["loss"].smallest.value, run.metrics["loss"].count) == (1.0, 3)
    assert client.runs.metrics("base")["loss"].largest.value == 3.0
    assert (run.tags, run.bytes, run.host, run.attempts[0].details["pid"]) == ({"gpu": "a100"}, 1234, "machine", 7)
    assert client.runs.get(uid) == client.runs.get(f"run{run.number}") == client.runs.get("ws1/base") == run


def test_lists_are_filtered_sorted_and_paged(client: Client, store: Store):
    for number in range(7):
        store_run(store, name=f"r{number}", hparams={"lr": number / 10}, metrics={"loss": [float(-number)]})
    store_run(store, name="other", workspace="ws2", experiment="e")
    assert names(client) == ["other", *(f"r{number}" for number in reversed(range(7)))]
    assert names(client, where="hparams.lr > 0.35", sort="metrics.loss.min") == ["r6", "r5", "r4"]
    assert names(client, where="R 6") == names(client, where='"R6"') == ["r6"]
    assert names(client, where="r-6") == []
    assert names(client, where="r and hparams.lr > 0.45") == ["r6", "r5"]
    assert names(client, workspaces="ws2") == ["other"]
    assert names(client, experiment="exp1") == names(client, experiment="e") == ["other"]
    assert names(client, experiment="ws2/e", where="hparams.lr > 0.35") == []
    first = client.runs.list(limit=3, sort="name", columns=["hparams.lr"])
    assert [run.name for run in first.items] == ["other", "r0", "r1"]
    assert not any(run.metrics for run in first.items)
    assert first.items[1].hparams == {"lr": 0.0}
    rest = client.runs.list(limit=10, sort="name", after=first.next)
    assert [run.name for run in rest.items] == [f"r{number}" for number in range(2, 7)]
    assert rest.next is None
    assert [run.name for run in client.runs.iterate(sort="name")] == ["other", *(f"r{number}" for number in range(7))]
    assert client.runs.count(where="hparams.lr > 0.35") == 3
    assert client.runs.fields().hparams == ("lr",)
    assert client.runs.fields(workspaces="ws2").metrics == ()


def test_values_of_a_field_are_given_as_a_filter_writes_them(client: Client, store: Store):
    for number, optimizer in enumerate(("adam", 'a "b"', "adam")):
        store_run(store, name=f"r{number}", hparams={"opt": optimizer, "lr": 0.5}, tags={"team": "vision"})
    store_run(store, name="other", workspace="ws2", tags={"place": ""})
    assert client.runs.count() == 4
    assert client.runs.fields().tags == ("place", "team")
    assert client.runs.fields(workspaces="ws1").tags == ("team",)
    found = client.runs.field_values("hparams.opt", prefix="A")
    assert [(one.text, one.runs) for one in found] == [('"adam"', 2), ('"a \\"b\\""', 1)]
    assert [one.text for one in client.runs.field_values("params.lr", workspaces="ws1")] == ["0.5"]
    assert client.runs.field_values("tags.team", workspaces="ws2") == ()
    for wrong, words in (("colour", "no field"), ("hparams.op", r"nearest: hparams\.opt"), ("created", "not listed")):
        with pytest.raises(InvalidValue, match=words):
            client.runs.field_values(wrong)
    with pytest.raises(UnknownName, match="no workspace 'ws3'"):
        client.runs.field_values("user", workspaces="ws3")
    with pytest.raises(InvalidValue):
        client.runs.field_values("user", limit=0)


def test_times_in_a_filter_are_those_of_the_asker(client: Client, store: Store, monkeypatch: pytest.MonkeyPatch):
    store_run(store, name="base")
    zones = {"UTC0": timedelta(), "EAST-9": timedelta(hours=9), "WEST+7:30": timedelta(hours=-7, minutes=-30)}
    for zone, offset in zones.items():
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        local = (datetime.now(UTC) + offset).replace(tzinfo=None)
        before, after = (local + timedelta(minutes=minutes) for minutes in (-5, 5))
        assert names(client, where=f"created > '{before:%Y-%m-%d %H:%M}' and created < '{after:%Y-%m-%d %H:%M}'")
    monkeypatch.undo()
    time.tzset()


def test_a_mistake_in_a_question_is_told_where_it_is(client: Client, store: Store):
    store_run(store, name="base", hparams={"lr": 1.0})
    with pytest.raises(QueryError, match=r"nearest: hparams\.lr") as caught:
        client.runs.list(where="status == 'running' and hparams.lrr < 1")
    assert (caught.value.start, caught.value.end) == (24, 35)
    with pytest.raises(UnknownName, match="nearest: base"):
        client.runs.get("bsae")
    with pytest.raises(UnknownName, match="nearest: ws1"):
        client.runs.list(workspaces=["ws1", "ws"])
    wrongs: list[dict[str, Any]] = [{"limit": 0}, {"after": "x"}, {"sort": "tags.x"}, {"columns": ["colour"]}]
    for wrong in wrongs:
        with pytest.raises(InvalidValue):
            client.runs.list(**wrong)
    store_run(store, name="base")
    with pytest.raises(Conflict, match="2 runs are called 'base'"):
        client.runs.get("base")


def test_two_runs_are_compared_by_their_differences(client: Client, store: Store):
    store_run(store, name="one", hparams={"lr": 0.1, "n": 3, "x": math.nan}, metrics={"loss": [1.0]})
    store_run(store, name="two", hparams={"lr": 0.2, "n": 3, "x": math.nan}, tags={"gpu": "yes"})
    compared = client.runs.compare("one", "two")
    found = {one.field: (one.first, one.second) for one in compared.differences}
    assert found["hparams.lr"] == (0.1, 0.2)
    assert found["metrics.loss.last"] == (1.0, None)
    assert found["tags.gpu"] == (None, "yes")
    assert not {"hparams.n", "hparams.x", "status", "workspace"} & found.keys()
    assert compared.same["n"] == 3


def test_what_people_say_is_in_the_store_and_outlives_the_catalog(
    client: Client, store: Store, new_served_place: Callable[[], str], catalog: Catalog
):
    store_run(store, name="base", tags={"given": "by training", "other": ""})
    changed = client.runs.tag("base", {"best": "yes"}, remove=["given"]).items[0]
    assert changed.tags == {"best": "yes", "other": ""}
    client.runs.note("base", "looks good", author="ann")
    assert client.runs.rename("base", "final").name == "final"
    moved = client.runs.move("final", experiment="new one").items[0]
    assert moved.experiment == "new one"
    with Catalog.open(new_served_place()) as another, serving_runs(another, store.uri) as other:
        run = other.runs.get("final")
        assert (run.tags, run.experiment) == ({"best": "yes", "other": ""}, "new one")
        assert [(note.text, note.author) for note in run.notes] == [("looks good", "ann")]
        assert other.runs.tag("final", ["given"]).items[0].tags["given"] == ""
        # The first server notices what the second one did.
        until(lambda: "given" in client.runs.get("final").tags)
    recorded = [(entry.actor, entry.action, entry.target) for entry in catalog.audit.list().items]
    assert recorded == [("tester", "change", "run1")] * 4


def test_a_change_does_not_touch_what_a_live_run_writes(client: Client, store: Store):
    uid = store_run(store, name="live", status=RunState.RUNNING)
    before = {entry.key: store.get(entry.key) for entry in store.list(uid) if not entry.key.endswith("run.json")}
    client.runs.tag("live", {"a": "b"})
    put_manifest(store, uid, status=RunState.RUNNING, serial=2, size=777)
    after = {entry.key: store.get(entry.key) for entry in store.list(uid)}
    changed = {key for key, data in before.items() if after[key] != data}
    assert changed == {f"{uid}/manifest.json"}
    put_manifest(store, uid, status=RunState.COMPLETED, sealed=True, serial=3, size=777)
    until(lambda: client.runs.get("live").status is RunState.COMPLETED)
    assert (client.runs.get("live").tags, client.runs.get("live").bytes) == ({"a": "b"}, 777)


def test_nothing_is_changed_when_one_of_several_is_wrong(client: Client, store: Store):
    store_run(store, name="one")
    store_run(store, name="two")
    with pytest.raises(UnknownName):
        client.runs.tag(["one", "none"], ["x"])
    with pytest.raises(InvalidValue, match="cannot be given to 2 runs"):
        client.runs._change(type(client.runs)._change.__globals__["RunChange"](runs=("one", "two"), name="same"))
    for wrong in ({"workspace": "nowhere"}, {"experiment": "a/b"}, {}):
        with pytest.raises((InvalidValue, UnknownName)):
            client.runs.move(["one", "two"], **wrong)
    with pytest.raises(InvalidValue):
        client.runs.note("one", "  ")
    assert not any(run.tags or run.notes or run.experiment for run in client.runs.list().items)


def test_a_damaged_document_hides_nothing_else(catalog: Catalog, store: Store):
    uid = store_run(store, name="damaged")
    store.put(f"{uid}/run.json", b'{"format": "aboard-run", "version": [1, 0], "uid')
    half = store_run(store, name="half", metrics={"loss": [1.0]})
    store.put(f"{half}/summary.json", b"")
    store_run(store, name="good")
    with serving_runs(catalog, store.uri) as client:
        assert names(client) == ["good", "half"]
        damaged: dict[str, str] = {}
        until(lambda: damaged.update(client.stores().items[0].damaged or {}) or damaged.keys() == {uid, half})
        assert "not JSON" in damaged[uid]
        state = client.reindex(store.uri)
        assert (state.state, state.found, state.written, state.missing) == ("done", 3, 2, 0)
        assert {problem.what for problem in state.problems} == {uid, half}
        with pytest.raises(UnknownName):
            client.runs.tag(uid, ["x"])
        store.put(f"{half}/run.json", b"[]")
        with pytest.raises(DamagedDocument, match="not a JSON object"):
            client.runs.tag("half", ["x"])
        assert names(client) == ["good", "half"]


def test_deleting_and_restoring(client: Client, store: Store, new_served_place: Callable[[], str]):
    for name in ("a", "b", "c"):
        store_run(store, name=name)
    deleted = client.runs.delete(["a", "run2"]).items
    assert all(run.deleted for run in deleted)
    assert (names(client), sorted(names(client, in_bin=True))) == (["c"], ["a", "b"])
    client.reindex(store.uri)
    assert names(client) == ["c"]
    with Catalog.open(new_served_place()) as another, serving_runs(another, store.uri) as other:
        assert names(other) == ["c"]
    assert client.runs.restore("run1").items[0].deleted is None
    assert sorted(names(client)) == ["a", "c"]
    client.reindex(store.uri)
    assert sorted(names(client)) == ["a", "c"]


def test_deleting_files_is_for_good_and_not_for_what_lives(client: Client, store: Store):
    gone = store_run(store, name="gone")
    store_run(store, name="kept")
    live = store_run(store, name="live", status=RunState.RUNNING)
    with pytest.raises(Conflict, match="run3 is running"):
        client.runs.delete(["gone", "live"], files=True)
    assert list(store.list(gone))
    assert list(store.list(live))
    client.runs.delete("gone", files=True)
    assert not list(store.list(gone))
    assert (sorted(names(client)), names(client, in_bin=True)) == (["kept", "live"], [])
    state = client.reindex(store.uri)
    assert (state.written, state.missing, state.problems) == (2, 0, ())
    assert client.runs.register(NewRun(uid=new_uid(), workspace="ws1")).name == "run4"


def test_experiments_and_workspaces_take_their_runs_along(
    client: Client, store: Store, new_served_place: Callable[[], str]
):
    for name in ("a", "b"):
        store_run(store, name=name, experiment="first")
    store_run(store, name="c", experiment="second")
    client.runs.delete("a")
    assert client.experiments.change("first", name="renamed", description="why").description == "why"
    assert client.experiments.get("exp1").runs == {RunState.COMPLETED: 1}
    assert client.workspaces.change("ws1", new_name="area").runs == 2
    with Catalog.open(new_served_place()) as another, serving_runs(another, store.uri) as other:
        assert names(other, workspaces="area", experiment="renamed") == ["b"]
        assert [one.name for one in other.workspaces.list().items] == ["area"]
    client.experiments.delete("renamed")
    assert names(client) == ["c"]
    with Catalog.open(new_served_place()) as another, serving_runs(another, store.uri) as other:
        assert names(other) == ["c"]
    client.experiments.restore("exp1")
    assert sorted(names(client)) == ["b", "c"]  # `a` was in the bin before
    client.workspaces.delete("area")
    assert (names(client), list(client.workspaces.list().items)) == ([], [])
    client.workspaces.restore("AREA")
    assert sorted(names(client)) == ["b", "c"]
    with Catalog.open(new_served_place()) as another, serving_runs(another, store.uri) as other:
        assert sorted(names(other)) == ["b", "c"]
    with pytest.raises(Conflict):
        client.workspaces.add("area")
    with pytest.raises(UnknownName, match="nearest: renamed"):
        client.experiments.get("area/renamd")
    assert [one.number for one in client.experiments.list(workspaces="area").items] == [2, 1]


def test_retention_tells_first_and_deletes_then(client: Client, store: Store):
    for age in range(5):
        store_run(store, name=f"old{age}", ago=age * DAY, experiment="e", size=100)
    store_run(store, name="live", status=RunState.RUNNING, experiment="e", ago=9 * DAY, sealed=False)
    rule = RetentionRequest(older_than_seconds=1.5 * 86400, keep_newest=1, where="name like 'old%'")
    told = client.runs.retain(rule)
    assert (told.dry_run, {run.name for run in told.items}, told.bytes) == (True, {"old2", "old3"}, 200)
    assert len(names(client)) == 6
    done = client.runs.retain(RetentionRequest(older_than_seconds=1.5 * 86400, where="name like 'old%'", dry_run=False))
    assert {run.name for run in done.items} == {"old2", "old3", "old4"}
    assert sorted(names(client, in_bin=True)) == ["old2", "old3", "old4"]
    assert (
        client.runs.retain(RetentionRequest(in_bin=True, files=True, older_than_seconds=3600, dry_run=False)).items
        == ()
    )
    gone = client.runs.retain(RetentionRequest(in_bin=True, files=True, older_than_seconds=0, dry_run=False))
    assert (len(gone.items), gone.bytes) == (3, 300)
    assert names(client, in_bin=True) == []
    with pytest.raises(InvalidValue, match="every run"):
        client.runs.retain(RetentionRequest(dry_run=False))


def test_storage_is_added_up(client: Client, store: Store):
    store_run(store, size=1000, experiment="e")
    store_run(store, size=10, experiment="e")
    store_run(store, size=5, workspace="ws2")
    used = client.runs.usage()
    assert [(row.group, row.runs, row.bytes) for row in used.items] == [("ws1", 2, 1010), ("ws2", 1, 5)]
    assert (used.runs, used.files, used.bytes) == (3, 3, 1015)
    assert [row.group for row in client.runs.usage(by="experiment").items] == ["e", ""]
    assert client.runs.usage(by="store", workspaces="ws2").items[0].group == store.uri
    with pytest.raises(InvalidValue, match="groups are: workspace"):
        client.runs.usage(by="colour")


def test_names_and_signs_of_life_over_http(client: Client, store: Store):
    uid = new_uid()
    first = client.runs.register(NewRun(uid=uid, workspace="ws1", experiment="e", store=store.uri))
    assert client.runs.register(NewRun(uid=uid, workspace="ws1")) == client.runs.get(uid)
    assert (first.name, first.number, first.status) == ("run1", 1, RunState.CREATED)
    assert client.runs.register(NewRun(uid=new_uid(), workspace="ws1", name="mine")).name == "mine"
    with pytest.raises(Conflict, match="not reached its store yet"):
        client.runs.tag("run1", ["x"])
    store_run(store, uid=uid, name=first.name, status=RunState.RUNNING, sealed=False)
    until(lambda: client.runs.get("run1").status is RunState.RUNNING)
    assert client.runs.heartbeat(uid) is RunState.RUNNING
    with pytest.raises(UnknownName):
        client.runs.heartbeat(new_uid())
    with pytest.raises(InvalidValue, match="not a uid"):
        client.runs.register(NewRun(uid="x", workspace="ws1"))


def test_hostile_names_travel_whole(client: Client, store: Store):
    for name in ("a%2Fb", "count", "metrics", "ünï <b>cöde", "name:run7"):
        store_run(store, name=name.removeprefix("name:"), experiment="delete")
        assert client.runs.get(name).name == name.removeprefix("name:")
    assert client.experiments.get("ws1/delete").name == "delete"
    assert client.runs.get("ws1/a%2Fb").name == "a%2Fb"


def test_only_who_knows_the_token_is_answered(client: Client, store: Store):
    store_run(store, name="base")
    for token in (None, "", "wrong", TOKEN + "x"):
        with pytest.raises(Unauthorized, match="a token is needed"):
            Client(client.url, token).runs.list()
    with pytest.raises(Forbidden, match="is not served here"):
        Client(client.url.replace("127.0.0.1", "localhost"), TOKEN).runs.list()
    with pytest.raises(UnknownName, match="not served here"):
        client._transport().get(object, "nothing/here")
    with pytest.raises(ServerUnavailable, match="does not answer"):
        Client("http://127.0.0.1:9", TOKEN).runs.list()
    with pytest.raises(InvalidValue, match="not the address of a server"):
        Client("ftp://host")


def test_a_shared_server_opens_no_store_that_somebody_names(catalog: Catalog, store: Store, tmp_path: Path):
    (tmp_path / "secret").mkdir()
    with serving_runs(catalog, store.uri, personal=False) as client:
        for ask in (client.add_store, client.start_reindex):
            with pytest.raises(Forbidden, match="does not follow"):
                ask(str(tmp_path / "secret"))
        uid = new_uid()
        client.runs.register(NewRun(uid=uid, workspace="ws1", store=str(tmp_path / "secret")))
        with pytest.raises(Forbidden, match="does not follow"):
            client.runs.delete(uid)
        assert client.start_reindex(store.uri).store == store.uri
    with serving_runs(catalog, store.uri) as client:
        store_run(open_store(str(tmp_path / "secret")), name="elsewhere")
        client.add_store(str(tmp_path / "secret"))
        until(lambda: names(client, where="name == 'elsewhere'"))


def test_a_store_that_fails_is_told_and_looked_at_again(catalog: Catalog, tmp_path: Path):
    path = tmp_path / "later"
    with serving_runs(catalog, str(path), personal=False) as client:
        until(lambda: (told := client.stores().items[0]).state == "failing" and "later" in told.problem)
        state = client.reindex(str(path))
        assert (state.state, state.missing) == ("failed", 0)
        assert "later" in state.error
        store_run(open_store(str(path), create=True), name="back")
        until(lambda: names(client) == ["back"])


def test_servers_that_share_a_postgresql_behave_as_one(new_postgresql: Callable[[], str], store: Store):
    place = new_postgresql()
    with (
        Catalog.open(place) as first,
        Catalog.open(place) as second,
        serving_runs(first, store.uri) as one,
        serving_runs(second, store.uri) as other,
    ):
        for number in range(20):
            store_run(store, name=f"r{number}")
        until(lambda: one.runs.count() == other.runs.count() == 20)
        for number in range(20):
            (one if number % 2 else other).runs.tag(f"r{number}", {"by": str(number % 2)})
        assert [run.tags for run in one.runs.iterate()] == [run.tags for run in other.runs.iterate()]
        assert len({run.number for run in other.runs.iterate()}) == 20
        other.runs.delete("r3", files=True)
        assert one.runs.count() == 19
        until(lambda: all(not status.damaged for status in one.stores().items))


def test_runs_that_the_store_no_longer_has_are_in_the_bin(client: Client, store: Store):
    gone = store_run(store, name="gone")
    store_run(store, name="kept")
    assert len(names(client)) == 2
    RunFolder(store, gone).delete([entry.key for entry in RunFolder(store, gone).list()])
    state = client.reindex(store.uri)
    assert (state.written, state.missing) == (1, 1)
    assert (names(client), names(client, in_bin=True)) == (["kept"], ["gone"])
    with pytest.raises(UnknownName, match="no longer in"):
        client.runs.restore("gone")


def test_any_page_of_a_list_can_be_asked_for_without_those_before_it(client: Client, store: Store):
    for number in range(7):
        store_run(store, name=f"r{number}", hparams={"lr": number} if number < 5 else {})
    # Two runs have no value and stand at the end, so pages go over from one part of the order to the other.
    asked = {"sort": "hparams.lr", "where": "name like 'r%'"}
    whole = names(client, **asked)
    told = ask(client, f"/api/v1/run-marks?{urlencode({**asked, 'every': 3})}").json()
    assert (told["count"], told["every"], len(told["marks"])) == (7, 3, 2)
    pages = [names(client, **asked, limit=3, after=after) for after in (None, *told["marks"])]
    assert [name for page in pages for name in page] == whole
    none = ask(client, f"/api/v1/run-marks?{urlencode({'where': 'number < 0'})}").json()
    assert (none["count"], none["marks"]) == (0, [])
