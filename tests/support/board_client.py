# SPDX-License-Identifier: Apache-2.0
"""A board asked without a network, and every request that its dashboards would make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from werkzeug.test import Client

from aboard.board.hosting import BoardApp
from aboard.board.provider import BoardMetadata
from aboard.reader.collection import RunCollection
from support.tensorboard_process import Answer

FORM = "application/x-www-form-urlencoded"


class BoardClient:
    """Sends requests to a WSGI application."""

    def __init__(self, app: Any) -> None:
        self._client = Client(app)

    def fetch(self, path: str, body: bytes | None = None, kind: str = "application/json", **headers: str) -> Answer:
        if body is None:
            answer = self._client.get(path, headers=headers)
        else:
            answer = self._client.post(path, headers=headers, data=body, content_type=kind)
        return Answer(answer.status_code, answer.headers.get("Content-Type", ""), answer.data)


def board_over(folder: Path, **settings: Any) -> BoardApp:
    """A board over everything below `folder`, read."""
    collection = RunCollection({"": folder})
    collection.refresh()
    return BoardApp("test", collection, about=BoardMetadata(), **settings)


class Asked(NamedTuple):
    """A request to a dashboard's data."""

    path: str
    body: bytes | None = None
    kind: str = "application/json"

    def __str__(self) -> str:
        return self.path if self.body is None else f"{self.path} {self.body.decode()}"


def plugin(name: str, route: str, /, **query: object) -> Asked:
    return Asked(f"/data/plugin/{name}/{route}" + (f"?{urlencode(query)}" if query else ""))


def form(path: str, fields: list[tuple[str, object]]) -> Asked:
    return Asked(path, urlencode(fields).encode(), FORM)


def every_request(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    """All that the dashboards ask, given what `get` answers to their questions for runs and tags."""
    yield from (Asked("/data/runs"), Asked("/data/window_properties"), Asked("/data/experiments"))
    yield from _scalars(get)
    yield from _time_series(get)
    yield from _media(get)
    yield from _tensors(get)
    yield from _graphs(get)
    yield from _hparams()
    yield from _custom_scalars(get)
    yield from _projector(get)


def _scalars(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    yield plugin("scalars", "tags")
    index = get(plugin("scalars", "tags"))
    for run, tags in index.items():
        for tag in tags:
            yield plugin("scalars", "scalars", run=run, tag=tag)
            yield plugin("scalars", "scalars", run=run, tag=tag, format="csv")
    for tag in sorted({tag for tags in index.values() for tag in tags}):
        yield form("/data/plugin/scalars/scalars_multirun", [("tag", tag), *(("runs", run) for run in sorted(index))])
        yield form("/data/plugin/scalars/scalars_multirun", [("tag", tag), ("runs", min(index))])


def _time_series(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    yield plugin("timeseries", "tags")
    index = get(plugin("timeseries", "tags"))
    scalars = sorted({tag for tags in index["scalars"]["runTagInfo"].values() for tag in tags})
    wanted: list[dict[str, Any]] = [{"plugin": "scalars", "tag": tag} for tag in scalars]
    wanted += [
        {"plugin": "histograms", "tag": tag, "run": run}
        for run, tags in index["histograms"]["runTagInfo"].items()
        for tag in tags
    ]
    wanted += [
        {"plugin": "images", "tag": tag, "run": run, "sample": sample}
        for tag, runs in index["images"]["tagRunSampledInfo"].items()
        for run, about in runs.items()
        for sample in range(about["maxSamplesPerStep"])
    ]
    path = "/data/plugin/timeseries/timeSeries"
    wanted.sort(key=json.dumps)
    for one in wanted:
        yield Asked(f"{path}?{urlencode({'requests': json.dumps([one])})}")
    yield form(path, [("requests", json.dumps(wanted))])
    for wrong in ({"tag": "x"}, {"plugin": "images", "tag": "x", "run": "y"}, {"plugin": "histograms", "tag": "x"}, {}):
        yield form(path, [("requests", json.dumps([wrong]))])


def _media(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    for name, route in (("images", "images"), ("audio", "audio")):
        yield plugin(name, "tags")
        for run, tags in get(plugin(name, "tags")).items():
            for tag, about in tags.items():
                for sample in range(about["samples"]):
                    yield plugin(name, route, run=run, tag=tag, sample=sample)


def _tensors(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    for name, route in (("histograms", "histograms"), ("distributions", "distributions"), ("text", "text")):
        yield plugin(name, "tags")
        for run, tags in get(plugin(name, "tags")).items():
            for tag in tags:
                yield plugin(name, route, run=run, tag=tag)
    yield plugin("pr_curves", "tags")
    for run, tags in get(plugin("pr_curves", "tags")).items():
        for tag in tags:
            yield plugin("pr_curves", "pr_curves", run=run, tag=tag)
    yield plugin("mesh", "tags")
    for run, tags in get(plugin("mesh", "tags")).items():
        for tag, about in tags.items():
            for sample in range(about["samples"]):
                yield plugin("mesh", "meshes", run=run, tag=tag, sample=sample)
                for part in get(plugin("mesh", "meshes", run=run, tag=tag, sample=sample)):
                    for kind in ("VERTEX", "FACE", "COLOR"):
                        query = {"run": run, "tag": tag, "sample": sample, "step": part["step"], "content_type": kind}
                        yield plugin("mesh", "data", **query)


def _graphs(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    yield plugin("graphs", "info")
    for run, about in get(plugin("graphs", "info")).items():
        if about["run_graph"]:
            yield plugin("graphs", "graph", run=run, conceptual="false")
            yield plugin("graphs", "graph", run=run, limit_attr_size=1024, large_attrs_key="_too_large_attrs")
        for tag, parts in about["tags"].items():
            if parts["profile"]:
                yield plugin("graphs", "run_metadata", run=run, tag=tag)
            if parts["op_graph"]:
                yield plugin("graphs", "graph", run=run, tag=tag, conceptual="false")
            if parts["conceptual_graph"]:
                yield plugin("graphs", "graph", run=run, tag=tag, conceptual="true")


def _hparams() -> Iterator[Asked]:
    yield Asked("/data/plugin/hparams/experiment", b'{"experimentName": ""}')
    yield Asked("/data/plugin/hparams/session_groups", json.dumps(SESSION_GROUPS).encode())


SESSION_GROUPS = {
    "experimentName": "",
    "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"],
    "colParams": [],
    "startIndex": 0,
    "sliceSize": 1000,
}


def _custom_scalars(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    yield plugin("custom_scalars", "layout")
    for run, tags in get(plugin("scalars", "tags")).items():
        yield plugin("custom_scalars", "scalars", run=run, tag=".*")
        yield plugin("custom_scalars", "scalars", run=run, tag="(")
        for tag in tags:
            yield plugin("custom_scalars", "download_data", run=run, tag=tag, format="json")
            yield plugin("custom_scalars", "download_data", run=run, tag=tag, format="csv")


def _projector(get: Callable[[Asked], Any]) -> Iterator[Asked]:
    yield plugin("projector", "runs")
    for run in get(plugin("projector", "runs")):
        yield plugin("projector", "info", run=run)
        for embedding in get(plugin("projector", "info", run=run))["embeddings"]:
            name = embedding["tensorName"]
            yield plugin("projector", "tensor", run=run, name=name, num_rows=100_000)
            yield plugin("projector", "tensor", run=run, name=name, num_rows=2)
            if embedding.get("metadataPath"):
                yield plugin("projector", "metadata", run=run, name=name, num_rows=3)
            if embedding.get("sprite"):
                yield plugin("projector", "sprite_image", run=run, name=name)
