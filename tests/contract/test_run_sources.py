# SPDX-License-Identifier: Apache-2.0
"""What the API promises over every source of runs: a folder, a bucket, a catalog over a store, a source of a server.

The page works over each of them by these answers alone.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import pytest

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.reader.collection import RunCollection
from aboard.reader.roots import StoreUri
from aboard.server.app import create_app
from aboard.server.folder_app import create_folder_app
from aboard.services.folders.services import FolderServices
from aboard.services.folders.source import FolderSource
from aboard.services.read_only_source import Source
from aboard.services.services import ServiceOptions, Services
from aboard.store import Store, open_store
from support.asgi_requests import Answer, send_request
from support.clouds import clear_clouds
from support.logged_runs import logged_run
from support.processes import until
from support.store_kinds import opener

CURVES: Mapping[str, Mapping[str, list[float]]] = {
    "best": {"loss": [3.0, 2.0, 1.0], "acc": [0.1, 0.5, 0.9]},
    "middle": {"loss": [4.0, 2.5, 2.0]},
    "worst": {"loss": [9.0, float("nan"), 8.0]},
}


class Api(Protocol):
    """Send a request to the API below `/api/v1/`; its JSON."""

    def __call__(self, path: str, method: str = "GET", **body: object) -> Any: ...


def asking(app: Any) -> Api:
    def ask(path: str, method: str = "GET", **body: object) -> Any:
        content = json.dumps(body).encode() if body else b""
        answer: Answer = send_request(app, method, f"/api/v1/{path}", body=content)
        assert answer.status == 200, f"{method} {path}: {answer.status} {answer.body[:500]!r}"
        return answer.json()

    return ask


def log_runs(folder: Path) -> None:
    for name, curves in CURVES.items():
        with SummaryWriter(str(folder / name)) as writer:
            for tag, values in curves.items():
                for step, value in enumerate(values):
                    writer.add_scalar(tag, value, step, walltime=1000.0 + step)


@contextlib.contextmanager
def over_folders(collection: RunCollection, home: Path) -> Iterator[Api]:
    collection.refresh()
    with contextlib.closing(FolderServices(FolderSource(collection, home=home, title="logs"))) as services:
        yield asking(create_folder_app(services))


@contextlib.contextmanager
def over_catalog(folder: Path, **options: Any) -> Iterator[Api]:
    with (
        Catalog.open(folder / "catalog.sqlite") as catalog,
        contextlib.closing(Services(catalog, ServiceOptions(look_seconds=60, **options))) as services,
    ):
        app = create_app(services, personal=True, private=False, actor="tester", remember=lambda _: None)
        yield asking(app)


def upload(folder: Path, store: Store) -> None:
    for file in sorted(folder.rglob("*tfevents*")):
        store.put(file.relative_to(folder).as_posix(), file.read_bytes())


@pytest.fixture(params=["folder", "memory", "s3", "catalog", "source"])
def api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Api]:
    clear_clouds(monkeypatch, tmp_path)
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    logs, kind = tmp_path / "logs", str(request.param)
    with contextlib.ExitStack() as stack:
        if kind == "catalog":
            store = open_store(str(tmp_path / "store"), create=True)
            for name, curves in CURVES.items():
                logged_run(store, name=name, workspace="logs", curves=curves, metrics=dict(curves))
            ask = stack.enter_context(over_catalog(tmp_path, stores=[store.uri]))
        else:
            log_runs(logs)
            if kind == "folder":
                collection = RunCollection({"": logs}, notifications=False)
                ask = stack.enter_context(over_folders(collection, tmp_path / "home"))
            elif kind == "source":
                ask = stack.enter_context(over_catalog(tmp_path, sources=[Source.parse(f"logs={logs}")]))
            else:
                store = stack.enter_context(opener(kind, request, monkeypatch, tmp_path))()
                upload(logs, store)
                collection = RunCollection({"": StoreUri(store.uri)}, notifications=False)
                ask = stack.enter_context(over_folders(collection, tmp_path / "home"))
        until(lambda: sorted(names(ask("runs"))) == sorted(CURVES))
        until(lambda: all(run["metrics"].get("loss", {}).get("count") == 3 for run in ask("runs")["items"]))
        yield ask


def names(page: Mapping[str, Any]) -> list[str]:
    return [run["name"] for run in page["items"]]


def test_lists_are_filtered_sorted_counted_and_paged(api: Api) -> None:
    assert names(api("runs?sort=metrics.loss.last")) == ["best", "middle", "worst"]
    assert names(api("runs?sort=-metrics.loss.last&limit=2")) == ["worst", "middle"]
    first = api("runs?sort=name&limit=2")
    assert names(first) == ["best", "middle"]
    rest = api(f"runs?sort=name&limit=2&after={quote(first['next'])}")
    assert (names(rest), rest["next"]) == (["worst"], None)
    where = quote("metrics.loss.last < 3 and metrics.loss.min >= 1")
    assert sorted(names(api(f"runs?where={where}"))) == ["best", "middle"]
    assert api(f"run-count?where={where}")["count"] == 2
    assert names(api("runs?where=mid")) == ["middle"]
    marks = api("run-marks?every=2")
    assert (marks["count"], len(marks["marks"])) == (3, 1)


def test_a_run_has_its_metrics_and_is_found_by_number_uid_and_name(api: Api) -> None:
    (listed,) = api("runs?where=best")["items"]
    for name in (f"run{listed['number']}", listed["uid"], "best", "name:best", "logs%252Fbest"):
        assert api(f"runs/{name}")["uid"] == listed["uid"]
    loss = listed["metrics"]["loss"]
    assert (loss["last"]["value"], loss["min"]["value"], loss["max"]["value"], loss["count"]) == (1.0, 1.0, 3.0, 3)
    assert (listed["workspace"], listed["status"]) == ("logs", "completed")


def test_names_and_values_of_fields_are_suggested(api: Api) -> None:
    assert set(api("fields")["metrics"]) == {"acc", "loss"}
    values = api("field-values?field=name&prefix=b")
    assert values["items"] == [{"text": '"best"', "runs": 1}]


def test_curves_have_every_point(api: Api) -> None:
    runs = {run["name"]: run["number"] for run in api("runs")["items"]}
    found = api(f"series?run={runs['best']}&run={runs['worst']}&tag=loss&points=0")
    curves = {curve["run"]: curve for curve in found["items"]}
    assert curves[runs["best"]]["values"] == [3.0, 2.0, 1.0]
    assert curves[runs["worst"]]["values"] == [9.0, "NaN", 8.0]
    tags = {tag["tag"] for tag in api(f"runs/{runs['best']}/tags")["items"]}
    assert tags == {"acc", "loss"}


def test_selections_mean_the_same_runs(api: Api) -> None:
    found = api("selections/resolve", "POST", words=["b*", "worst"])
    assert sorted(run["name"] for run in found["runs"]) == ["best", "worst"]


def test_edits_show_in_lists_and_filters_and_can_be_undone(api: Api) -> None:
    number = api("runs?where=middle")["items"][0]["number"]
    named = [f"run{number}"]
    api("runs", "PATCH", runs=named, set_tags={"team": "vision"}, note="try again", name="renamed")
    assert names(api("runs?where=tags.team%3D%3D%22vision%22")) == ["renamed"]
    run = api(f"runs/run{number}")
    assert (run["tags"], [note["text"] for note in run["notes"]]) == ({"team": "vision"}, ["try again"])
    api("runs/delete", "POST", runs=named)
    assert sorted(names(api("runs"))) == ["best", "worst"]
    assert names(api("runs?bin=true")) == ["renamed"]
    api("runs/restore", "POST", runs=named)
    assert sorted(names(api("runs"))) == ["best", "renamed", "worst"]


def test_saved_views_are_kept_and_changed(api: Api) -> None:
    view = api("saved-views", "POST", workspace="logs", name="mine", address="compare?runs=1")
    assert [kept["name"] for kept in api("saved-views")["items"]] == ["mine"]
    api(f"saved-views/{view['id']}", "PATCH", name="ours")
    assert [kept["name"] for kept in api("saved-views")["items"]] == ["ours"]
    api(f"saved-views/{view['id']}", "DELETE")
    assert api("saved-views")["items"] == []
