# SPDX-License-Identifier: Apache-2.0
"""What a comparison begins with over HTTP: runs, the tags that they share and the first curves in one answer."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.api.series import MAGIC, read_columns
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.store import Store, open_store
from support.http_asking import ask
from support.logged_runs import log_more, logged_run, tb_folder
from support.processes import until
from support.stored_runs import serving_runs, store_run

LONG = [float(step % 17) for step in range(5000)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(str(tmp_path_factory.mktemp("charts") / "store"), create=True)


@pytest.fixture(scope="module")
def client(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    first = logged_run(store, name="base", curves={"loss": LONG, "acc/top10": [0.5], "acc/top2": [0.1], "Bias": [1.0]})
    log_more(store, first, curves={"loss": [9.0, 8.0]}, logdir="val")
    log_more(store, first, curves={"cpu": [1.0], "loss": [2.0]}, logdir="system")
    other = logged_run(store, name="other", curves={"loss": [5.0, 4.0], "acc/top2": [0.2], "zeta": [7.0]})
    with SummaryWriter(tb_folder(store, other)) as writer:
        writer.add_histogram("zeta", [7.0], walltime=2000.0)
    store_run(store, name="empty")
    catalog = tmp_path_factory.mktemp("catalog") / "catalog.sqlite"
    with Catalog.open(catalog) as opened, serving_runs(opened, store.uri) as made:
        until(lambda: made.runs.count() == 3)
        yield made


def shared(client: Client, *runs: str) -> Any:
    answer = ask(client, f"/api/v1/tags?{urlencode([('run', run) for run in runs])}")
    assert answer.status == 200
    return json.loads(answer.body)


def opening(client: Client, **asked: object) -> tuple[Any, list[Any]]:
    answer = ask(client, f"/api/v1/charts?{urlencode(asked, doseq=True)}")
    assert answer.status == 200
    body = answer.body
    length = struct.unpack_from("<I", body, len(MAGIC))[0]
    return json.loads(body[len(MAGIC) + 4 : len(MAGIC) + 4 + length]), read_columns(body)[0]


def numbers(client: Client) -> dict[str, int]:
    return {run.name: run.number or 0 for run in client.runs.list().items}


def test_tags_of_several_runs_are_told_once_with_who_has_them(client: Client):
    found = shared(client, "base", "other")
    told = {(one["tag"], one["kind"]): (one["logdirs"], one["runs"]) for one in found["items"]}
    assert told["loss", "scalar"] == (["", "system", "val"], 2)
    assert told["acc/top2", "scalar"] == ([""], 2)
    assert told["zeta", "scalar"] == ([""], 1)
    assert (found["read"], found["wanted"], found["problems"]) == (2, 2, [])
    assert found["newest"] == 1000.0 + len(LONG) - 1


def test_other_kinds_of_data_under_a_tag_are_reported(client: Client):
    items = shared(client, "base", "other")["items"]
    assert {one["tag"]: one["other_kinds"] for one in items if one["other_kinds"]} == {"zeta": ["histogram"]}
    assert {one.tag: one.other_kind for one in client.series.tags("other") if one.other_kind} == {"zeta": "histogram"}


def test_tags_stand_as_a_person_orders_them(client: Client):
    tags = [one["tag"] for one in shared(client, "base")["items"]]
    assert tags == ["acc/top2", "acc/top10", "Bias", "cpu", "loss"]


def test_an_opening_has_runs_tags_and_reduced_curves(client: Client):
    head, curves = opening(client, points=100)
    assert {run["name"] for run in head["runs"]["items"]} == {"base", "other", "empty"}
    assert head["tags"]["items"] == shared(client, "empty", "base", "other")["items"]
    # By section in the order of their tags; the use of the machine has no chart here.
    assert head["charts"] == ["acc/top2", "acc/top10", "Bias", "loss", "zeta"]
    loss = {(one.about["name"], one.about["logdir"]): one for one in curves if one.about["tag"] == "loss"}
    assert set(loss) == {("base", ""), ("base", "system"), ("base", "val"), ("other", "")}
    assert (loss["base", ""].about["total"], loss["base", ""].about["points"] <= 100) == (len(LONG), True)
    np.testing.assert_array_equal(np.frombuffer(loss["other", ""].values), [5.0, 4.0])


def test_an_opening_tells_means_to_who_smooths(client: Client):
    _, curves = opening(client, points=100, means="true")
    loss = {one.about["name"]: one for one in curves if (one.about["tag"], one.about["logdir"]) == ("loss", "")}
    base = loss["base"]
    assert base.means is not None
    assert base.counts is not None
    assert np.frombuffer(base.counts).sum() == len(LONG)
    assert loss["other"].means is None
    np.testing.assert_array_equal(np.frombuffer(loss["other"].values), [5.0, 4.0])


def test_an_opening_has_as_many_charts_as_are_seen_and_pinned_ones_first(client: Client):
    head, curves = opening(client, charts=2, tag=["zeta", "none"])
    assert head["charts"] == ["zeta", "acc/top2"]
    assert {one.about["tag"] for one in curves} == {"zeta", "acc/top2"}
    head, curves = opening(client, charts=0)
    assert (head["charts"], curves, len(head["tags"]["items"]) > 3) == ([], [], True)


def test_hidden_runs_are_listed_and_not_plotted(client: Client):
    head, curves = opening(client, hidden=numbers(client)["base"])
    assert "base" in {run["name"] for run in head["runs"]["items"]}
    assert {one.about["name"] for one in curves} == {"other"}
    assert head["charts"] == ["acc/top2", "loss", "zeta"]


def test_an_opening_is_of_the_runs_that_a_filter_means(client: Client):
    head, curves = opening(client, where='name == "other"', limit=1)
    assert [run["name"] for run in head["runs"]["items"]] == ["other"]
    assert {one.about["name"] for one in curves} == {"other"}


@pytest.mark.parametrize("asked", ["where=nme+%3D%3D+1", "points=0", "charts=1000", "hidden=x", "limit=0"])
def test_what_makes_no_sense_is_refused(client: Client, asked: str):
    answer = ask(client, f"/api/v1/charts?{asked}")
    assert 400 <= answer.status < 500
    assert json.loads(answer.body)["error"]["message"]


def test_runs_that_are_not_there_are_named(client: Client):
    answer = ask(client, "/api/v1/tags?run=nowhere")
    assert (answer.status, "nowhere" in json.loads(answer.body)["error"]["message"]) == (404, True)
