# SPDX-License-Identifier: Apache-2.0
"""Curves over HTTP: what is asked is what was logged, in every form, live, and whatever a store does."""

from __future__ import annotations

import csv
import io
import json
import math
import urllib.parse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import InvalidValue, UnknownName
from aboard.model.states import RunState
from aboard.store import Store, open_store
from support.http_asking import ask
from support.logged_runs import log_more, logged_run, tb_folder
from support.processes import until
from support.stored_runs import put_manifest, serving_runs

FAR = 2**53 + 1
NOISE = [math.sin(step / 7) * step for step in range(5000)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(str(tmp_path_factory.mktemp("series") / "store"), create=True)


@pytest.fixture(scope="module")
def client(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    first = logged_run(store, name="base", curves={"loss": [3.0, 2.0, math.nan, 1.0], "lr": [0.5] * 4})
    log_more(store, first, curves={"loss": [9.0, 8.0]}, logdir="val")
    logged_run(store, name="other", curves={"loss": [5.0, -math.inf, 4.0], "acc/top1": [0.1, 0.2], "acc/top5": [0.5]})
    long = logged_run(store, name="long", curves={"noise": NOISE})
    with SummaryWriter(str(tb_folder(store, long, "far"))) as writer:
        writer.add_scalar("far", 1.0, FAR)
    resumed = logged_run(store, name="resumed", curves={"loss": [1.0] * 10, "lr": [0.5] * 4})
    for first, value in ((5, 2.0), (3, 3.0)):
        log_more(store, resumed, curves={"loss": [value] * 4}, first=first)
    catalog = tmp_path_factory.mktemp("catalog") / "catalog.sqlite"
    with Catalog.open(catalog) as opened, serving_runs(opened, store.uri) as made:
        until(lambda: made.runs.count() == 4)
        yield made


def test_superseded_points_come_as_stretches_of_ascending_steps(client: Client):
    found = client.series.get("resumed", superseded=True)
    assert [(one.tag, one.steps.tolist(), one.values.tolist()) for one in found] == [
        ("loss", [5, 6, 7, 8, 9], [1.0] * 5),
        ("loss", [3, 4, 5, 6, 7, 8], [1.0] * 2 + [2.0] * 4),
    ]
    assert [one.steps.tolist() for one in client.series.get("resumed", "loss")] == [[0, 1, 2, 3, 4, 5, 6]]
    part = client.series.get("resumed", "loss", superseded=True, from_step=8, points=2)
    assert [(one.steps.tolist(), one.total) for one in part] == [([7, 9], 3), ([7, 8], 2)]
    tags = ask(client, "/api/v1/tags?run=resumed").json()["items"]
    assert {one["tag"]: one["superseded"] for one in tags} == {"loss": 11, "lr": 0}


def named(found: list[Any]) -> list[tuple[str, str, str]]:
    return [(one.name, one.logdir, one.tag) for one in found]


def test_curves_of_several_runs_come_at_once(client: Client):
    found = client.series.get(["base", "other"], "loss")
    assert named(found) == [("base", "", "loss"), ("base", "val", "loss"), ("other", "", "loss")]
    assert found[0].steps.tolist() == [0, 1, 2, 3]
    assert found[0].wall_times.tolist() == [1000.0, 1001.0, 1002.0, 1003.0]
    np.testing.assert_array_equal(found[0].values, [3.0, 2.0, math.nan, 1.0])
    assert found[2].values.tolist() == [5.0, -math.inf, 4.0]
    assert {one.run for one in found} == {client.runs.get("base").number, client.runs.get("other").number}


@pytest.mark.parametrize(
    ("asked", "tags"),
    [
        ({"prefixes": "acc/"}, ["acc/top1", "acc/top5"]),
        ({"pattern": "top[0-9]$"}, ["acc/top1", "acc/top5"]),
        ({"pattern": "^loss$", "prefixes": "acc/top1"}, ["acc/top1", "loss"]),
        ({}, ["acc/top1", "acc/top5", "loss"]),
    ],
)
def test_tags_are_chosen_by_name_beginning_or_pattern(client: Client, asked: dict[str, Any], tags: list[str]):
    assert [one.tag for one in client.series.get("other", **asked)] == tags


def test_logdirs_narrow(client: Client):
    assert named(client.series.get("base", "loss", logdirs="val")) == [("base", "val", "loss")]
    assert named(client.series.get("base", "loss", logdirs=".")) == [("base", "", "loss")]


def test_a_step_that_no_float_is_keeps_its_digits(client: Client):
    (far,) = client.series.get("long", "far")
    assert far.steps.tolist() == [FAR]


def test_a_reduced_curve_keeps_extremes_and_ends(client: Client):
    (whole,) = client.series.get("long", "noise")
    (reduced,) = client.series.get("long", "noise", points=100)
    assert (len(whole), whole.total, reduced.total) == (5000, 5000, 5000)
    assert 10 < len(reduced) <= 100
    assert (reduced.values.min(), reduced.values.max()) == (whole.values.min(), whole.values.max())
    assert (reduced.steps[0], reduced.steps[-1]) == (0, 4999)


def test_points_of_a_reduced_curve_tell_the_mean_of_what_they_stand_for(client: Client):
    (reduced,) = client.series.get("long", "noise", points=100, means=True)
    (plain,) = client.series.get("long", "noise", points=100)
    assert reduced.means is not None
    assert reduced.counts is not None
    assert (plain.means, plain.counts) == (None, None)
    assert reduced.steps.tolist() == plain.steps.tolist()
    assert reduced.counts.tolist() == np.diff(reduced.steps, prepend=-1).tolist()
    parts = np.split(np.array(NOISE), reduced.steps[:-1] + 1)
    np.testing.assert_allclose(reduced.means, [part.mean() for part in parts], rtol=1e-5, atol=1e-4)


def test_only_what_was_reduced_has_means(client: Client):
    query = "/api/v1/series?run=base&run=long&tag=loss&tag=noise&logdir=.&points=100&means=true"
    loss, noise = json.loads(ask(client, query).body)["items"]
    assert "means" not in loss
    assert len(noise["means"]) == len(noise["counts"]) == len(noise["values"])
    whole, reduced = client.series.get(["base", "long"], ["loss", "noise"], logdirs=".", points=100, means=True)
    assert whole.means is None
    assert reduced.means is not None
    assert reduced.means.tolist() == noise["means"]
    assert sum(noise["counts"]) == 5000


def test_windows_by_step_and_by_time(client: Client):
    (part,) = client.series.get("long", "noise", from_step=100, to_step=110)
    assert part.steps.tolist() == list(range(99, 112))
    (part,) = client.series.get("long", "noise", since=1100.0, until=1110.0)
    assert part.steps.tolist() == list(range(99, 112))
    (part,) = client.series.get("long", "noise", since=1e9)
    assert len(part) == 0


def test_a_window_between_two_points_has_both(client: Client):
    (part,) = client.series.get("long", "noise", since=1100.25, until=1100.75)
    assert part.steps.tolist() == [100, 101]
    (part,) = client.series.get("long", "noise", since=1100.25, until=1100.75, from_step=4000)
    assert len(part) == 0


@pytest.mark.parametrize(
    ("windows", "steps"),
    [
        ("from_step=0&from_step=4000&to_step=1&to_step=4002", {"base": [0, 1, 2], "long": list(range(3999, 4004))}),
        ("since=1001&until=1001&until=1003", {"base": [0, 1, 2], "long": list(range(5))}),
        ("to_step=1", {"base": [0, 1, 2], "long": [0, 1, 2]}),
    ],
    ids=["both edges by run", "one edge for all", "one for all"],
)
def test_each_run_may_have_a_window_of_its_own(client: Client, windows: str, steps: dict[str, list[int]]):
    query = f"/api/v1/series?run=base&run=long&tag=loss&tag=noise&logdir=.&{windows}"
    items = json.loads(ask(client, query).body)["items"]
    assert {item["name"]: item["steps"] for item in items} == steps


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ("from_step=1&from_step=2&from_step=3", "3 windows are named for 2 different runs"),
        ("from_step=1&from_step=2&until=1&until=2&until=3", "are named 2, 0, 0 and 3 times"),
    ],
)
def test_windows_that_fit_no_runs_are_refused(client: Client, windows: str, told: str):
    status, _, body = ask(client, f"/api/v1/series?run=base&run=long&{windows}")
    assert (status, told in body.decode(), "once for each run" in body.decode()) == (400, True, True)


def test_json_and_csv_say_the_same(client: Client):
    status, headers, body = ask(client, "/api/v1/series?run=base&tag=loss&logdir=.")
    assert (status, headers["content-type"]) == (200, "application/json")
    (item,) = json.loads(body)["items"]
    assert (item["values"], item["steps"], item["total"]) == ([3.0, 2.0, "NaN", 1.0], [0, 1, 2, 3], 4)
    status, headers, body = ask(client, "/api/v1/series?run=base&tag=loss&logdir=.", Accept="text/csv")
    assert headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    assert [(row["name"], row["step"], row["value"]) for row in rows][1:3] == [
        ("base", "1", "2.0"),
        ("base", "2", "NaN"),
    ]


def test_nothing_new_is_said_in_few_bytes(client: Client):
    query = "/api/v1/series?run=base&tag=loss&format=columns"
    _, headers, body = ask(client, query)
    status, _, again = ask(client, query, If_None_Match=headers["etag"])
    assert (status, again, len(body) > 100) == (304, b"", True)
    assert ask(client, f"{query}&points=2", If_None_Match=headers["etag"]).status == 200


def test_what_is_not_there_is_told_with_the_nearest(client: Client):
    with pytest.raises(UnknownName, match="none of the runs has the tag 'lose'") as caught:
        client.series.get(["base", "other"], "lose")
    assert "loss" in caught.value.hint
    with pytest.raises(UnknownName, match="no run 'bases'"):
        client.series.get("bases")
    with pytest.raises(UnknownName, match="logdir 'vale'"):
        client.series.get("base", logdirs="vale")
    with pytest.raises(InvalidValue, match="is not a regular expression"):
        client.series.get("base", pattern="(")
    with pytest.raises(InvalidValue, match="run is missing"):
        client.series.get([""])


def test_tags_are_listed_with_their_range(client: Client):
    found = {(one.logdir, one.tag): one for one in client.series.tags("base")}
    assert list(found) == [("", "loss"), ("", "lr"), ("val", "loss")]
    loss = found["", "loss"]
    assert (loss.kind, loss.count, loss.first_step, loss.last_step, loss.last_wall_time) == ("scalar", 4, 0, 3, 1003.0)
    pages = [client.series.tags("other", prefix="acc/")]
    assert [one.tag for one in pages[0]] == ["acc/top1", "acc/top5"]
    document = json.loads(ask(client, "/api/v1/runs/other/tags?limit=2")[2])
    rest = json.loads(ask(client, f"/api/v1/runs/other/tags?limit=2&after={urllib.parse.quote(document['next'])}")[2])
    assert [one["tag"] for one in document["items"] + rest["items"]] == ["acc/top1", "acc/top5", "loss"]
    assert rest["next"] is None


def test_points_of_a_live_run_appear(store: Store, client: Client):
    uid = logged_run(store, name="live", curves={"loss": [1.0]}, status=RunState.RUNNING)
    until(lambda: client.runs.count() == 5)
    assert client.series.get("live", "loss")[0].values.tolist() == [1.0]
    log_more(store, uid, curves={"loss": [2.0, 3.0]}, first=1)
    until(lambda: client.series.get("live", "loss")[0].values.tolist() == [1.0, 2.0, 3.0])
    put_manifest(store, uid, status=RunState.COMPLETED, sealed=True, serial=2)
    until(lambda: client.runs.get("live").status == RunState.COMPLETED)
    client.runs.delete("live", files=True)
    with pytest.raises(UnknownName):
        client.series.get("live", "loss")
