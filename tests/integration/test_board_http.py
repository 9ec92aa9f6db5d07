# SPDX-License-Identifier: Apache-2.0
"""Boards over HTTP: many in one process, below prefixes, apart from each other, with any names and any values."""

from __future__ import annotations

import gzip
import json
import math
import re
import threading
import urllib.error
import urllib.request
from pathlib import Path
from socketserver import ThreadingMixIn
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urljoin
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import numpy as np
import pytest
from tensorboard.plugins.base_plugin import TBContext, TBPlugin
from werkzeug.test import Client
from werkzeug.wrappers import Response

from aboard import SummaryWriter
from aboard.board.hosting import BoardApp, BoardDispatcher, SingleBoardApp
from aboard.board.provider import BoardMetadata
from aboard.errors import InvalidValue
from aboard.reader.collection import RunCollection
from support.board_client import BoardClient, board_over, every_request, plugin

PICTURE = np.zeros((3, 4, 5), np.uint8)
NAMES = [
    "plain", "with space", "a/b/c", "<script>alert(1)</script>", "'single' \"double\"", "100% & more?#x=1;y",
    "émoji 🚀", "עברית \u202ertl", "back\\slash", "new\nline", "日本語", "{braces}", "..", "tag+plus", "%2e%2e%2f",
]  # fmt: skip


def write(folder: Path, value: float = 1.0) -> None:
    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar("loss", value, step)
            writer.add_image("picture", PICTURE, step)
            writer.add_text("note", "hello", step)
            writer.add_histogram("weights", [1.0, 2.0], step)
            writer.add_mesh("mesh", np.zeros((1, 3, 3), np.float32), global_step=step)


@pytest.fixture
def two(tmp_path) -> BoardClient:
    """Boards `a` and `b`, each over a folder of its own."""
    for name in "ab":
        write(tmp_path / name / "run", value=ord(name))
    boards = {name: board_over(tmp_path / name) for name in "ab"}
    return BoardClient(BoardDispatcher(boards.get))


def image_id(client: BoardClient, board: str) -> str:
    wanted = json.dumps([{"plugin": "images", "tag": "picture", "run": "run", "sample": 0}])
    answer = client.fetch(f"/boards/{board}/data/plugin/timeseries/timeSeries?{urlencode({'requests': wanted})}")
    return answer.json[0]["runToSeries"]["run"][0]["imageId"]


def test_each_board_shows_its_own_runs(two):
    for name in "ab":
        points = two.fetch(f"/boards/{name}/data/plugin/scalars/scalars?run=run&tag=loss").json
        assert [value for _, _, value in points] == [ord(name)] * 3


def test_a_blob_key_is_worth_nothing_on_another_board(two):
    key = image_id(two, "a")
    for route in ("timeseries/imageData?imageId=", "images/individualImage?blob_key="):
        assert two.fetch(f"/boards/a/data/plugin/{route}{key}").body.startswith(b"\x89PNG")
        assert two.fetch(f"/boards/b/data/plugin/{route}{key}").status == 404


@pytest.mark.parametrize("key", ["", "x", "AAAA", "A" * 100, "é", "=", "WyJpbWFnZXMiXQ", "../../etc/passwd"])
def test_a_made_up_blob_key_is_refused(two, key):
    assert two.fetch(f"/boards/a/data/plugin/images/individualImage?{urlencode({'blob_key': key})}").status == 404


def test_a_changed_blob_key_is_refused(two):
    key = image_id(two, "a")
    for place in range(0, len(key), 7):
        changed = key[:place] + ("B" if key[place] == "A" else "A") + key[place + 1 :]
        assert two.fetch(f"/boards/a/data/plugin/images/individualImage?blob_key={changed}").status == 404


def test_processes_with_one_secret_understand_each_others_keys(tmp_path):
    write(tmp_path / "run")
    boards = {name: board_over(tmp_path, secret=b"s" * 32) for name in "ab"}
    client = BoardClient(BoardDispatcher(boards.get))
    assert client.fetch(f"/boards/b/data/plugin/images/individualImage?blob_key={image_id(client, 'a')}").status == 200


def test_a_header_cannot_name_an_experiment(two):
    spoofed = {"Tensorboard-Experiment-Id": "other"}
    for path in ("/boards/a/data/runs", "/boards/a/experiment/defaultExperimentId/data/runs"):
        answer = two.fetch(path, **spoofed)
        assert (answer.status, answer.json) == (200, ["run"])


def test_unknown_boards_and_paths(two):
    for path in (
        "/",
        "/boards",
        "/boards/",
        "/boards/c/",
        "/boards/c",
        "/boards/../a/",
        "/data/runs",
        "/_tb/1.0/index.js",
    ):
        assert two.fetch(path).status == 404, path


@pytest.mark.parametrize("page", ["audio", "events", "graphs", "histograms", "images"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_old_pages_lead_to_the_page_of_the_board(two, page, slash):
    answer = Client(two._client.application).get(f"/boards/a/{page}{slash}")
    assert answer.status_code == 302
    assert urljoin(f"/boards/a/{page}{slash}", answer.headers["Location"]) == "/boards/a/"


@pytest.mark.parametrize("query", ["", "?forceSVG=true"])
def test_a_board_without_its_slash_gets_one(two, query):
    answer = Client(two._client.application).get(f"/boards/a{query}")
    assert answer.status_code == 301
    assert urljoin("/boards/a", answer.headers["Location"]) == f"/boards/a/{query}"


@pytest.mark.parametrize("page", ["/boards/a/", "/boards/a/index.html", "/boards/a/experiment/x/"])
def test_everything_that_the_page_names_is_there(two, page):
    html = two.fetch(page).body.decode()
    named = re.findall(r'url\(([^)"\']*font-roboto[^)]*)\)', html) + re.findall(r'src="([^"]*index\.js[^"]*)"', html)
    assert len(named) == 71
    for address in set(named):
        answer = two._client.get(urljoin(page, address))
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["Cache-Control"]
    projector = "/boards/a/data/plugin/projector/projector_binary.html"
    fonts = re.findall(r"url\(([^)]*font-roboto[^)]*)\)", two.fetch(projector).body.decode())
    assert {two.fetch(urljoin(projector, font)).status for font in fonts} == {200}


def test_files_are_compressed_for_those_who_can_read_it(two):
    path = two.fetch("/boards/a/chart_worker.js"), two.fetch("/boards/a/chart_worker.js", **{"Accept-Encoding": "gzip"})
    assert gzip.decompress(path[1].body) == path[0].body
    assert path[0].content_type == "text/javascript"


@pytest.mark.parametrize("prefix", ["", "/", "/tensorboard", "/team/board/", "/ünï"])
def test_one_board_below_any_prefix(tmp_path, prefix):
    write(tmp_path / "run")
    client = BoardClient(SingleBoardApp(board_over(tmp_path), prefix))
    root = prefix.rstrip("/")
    assert client.fetch(f"{root}/data/runs").json == ["run"]
    script = re.findall(r'src="([^"]*index\.js[^"]*)"', client.fetch(f"{root}/").body.decode())[0]
    assert client.fetch(urljoin(f"{root}/", script)).status == 200
    if root:
        assert client.fetch("/data/runs").status == 404
        assert client.fetch(f"{root}x/data/runs").status == 404
        assert client.fetch(root).status == 301


def test_a_prefix_without_a_slash_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match="use /board"):
        SingleBoardApp(board_over(tmp_path), "board")


def test_names_of_any_kind(tmp_path):
    runs = [name.replace("/", "_") if name == ".." else name for name in NAMES if name != ".."]
    for run in runs:
        with SummaryWriter(tmp_path / run) as writer:
            for tag in NAMES:
                writer.file_writer.add_summary(_scalar_summary(tag), 1)
    client = BoardClient(board_over(tmp_path))
    assert set(client.fetch("/data/runs").json) == set(runs)
    for asked in every_request(lambda one: client.fetch(*one).json):
        assert client.fetch(*asked).status == 200, asked
    for run in runs:
        for tag in NAMES:
            answer = client.fetch(*plugin("scalars", "scalars", run=run, tag=tag))
            assert [value for _, _, value in answer.json] == [1.0], (run, tag)
    listing = client.fetch("/data/runs")
    assert listing.content_type == "application/json"


def _scalar_summary(tag: str) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    return Summary(value=[Summary.Value(tag=tag, simple_value=1.0)]).SerializeToString()


def test_a_folder_whose_name_is_no_text(tmp_path):
    write(tmp_path / "plain")
    (tmp_path / "plain").rename(tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape"))
    client = BoardClient(board_over(tmp_path))
    assert client.fetch("/data/runs").json == ["caf\udce9"]
    wanted = json.dumps([{"plugin": "scalars", "tag": "loss"}])
    answer = client.fetch(*plugin("timeseries", "timeSeries", requests=wanted))
    assert [point["value"] for point in answer.json[0]["runToSeries"]["caf\udce9"]] == [1.0] * 3


def test_numbers_that_json_does_not_know(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step, value in enumerate([math.nan, math.inf, -math.inf, 1.5]):
            writer.add_scalar("loss", value, step)
        writer.add_histogram_raw("h", -math.inf, math.inf, 2, math.nan, 1, [0.0, math.inf], [1, 1], 0)
    client = BoardClient(board_over(tmp_path))
    points = client.fetch(*plugin("scalars", "scalars", run=".", tag="loss")).json
    assert [value for _, _, value in points] == ["NaN", "Infinity", "-Infinity", 1.5]
    wanted = [{"plugin": "scalars", "tag": "loss"}, {"plugin": "histograms", "tag": "h", "run": "."}]
    scalars, histograms = client.fetch(*plugin("timeseries", "timeSeries", requests=json.dumps(wanted))).json
    assert [point["value"] for point in scalars["runToSeries"]["."]] == ["NaN", "Infinity", "-Infinity", 1.5]
    assert histograms["runToSeries"]["."][0]["bins"][0]["min"] == "-Infinity"


def test_a_board_without_runs(tmp_path):
    client = BoardClient(board_over(tmp_path))
    for asked in every_request(lambda one: client.fetch(*one).json if "pr_curves/tags" not in one.path else {}):
        assert client.fetch(*asked).status == 200, asked
    listing = client.fetch("/data/plugins_listing").json
    assert not [name for name, about in listing.items() if about["enabled"]]


def test_runs_that_join_later_appear(tmp_path):
    collection = RunCollection({"": tmp_path})
    client = BoardClient(BoardApp("x", collection))
    assert client.fetch("/data/runs").json == []
    write(tmp_path / "late")
    collection.refresh()
    assert client.fetch("/data/runs").json == ["late"]


@pytest.mark.parametrize(
    ("route", "query"),
    [
        ("scalars/scalars", {"run": "no", "tag": "loss"}),
        ("scalars/scalars", {"run": "no", "tag": "loss", "format": "csv"}),
        ("images/images", {"run": "no", "tag": "picture"}),
        ("images/images", {"run": "run", "tag": "picture", "sample": "many"}),
        ("images/images", {}),
        ("images/individualImage", {}),
        ("audio/audio", {"run": "no", "tag": "x"}),
        ("audio/individualAudio", {"blob_key": "x", "content_type": "text/html"}),
        ("histograms/histograms", {"run": "run", "tag": "no"}),
        ("distributions/distributions", {"run": "no", "tag": "weights"}),
        ("pr_curves/pr_curves", {"run": "no", "tag": "x"}),
        ("graphs/graph", {"run": "no"}),
        ("graphs/run_metadata", {"run": "run", "tag": "no"}),
        ("mesh/data", {"run": "run", "tag": "mesh", "step": "now", "content_type": "VERTEX"}),
        ("mesh/data", {"run": "run", "tag": "mesh", "step": 0, "sample": 99, "content_type": "VERTEX"}),
        ("timeseries/imageData", {}),
        ("timeseries/timeSeries", {"requests": "5"}),
        ("timeseries/timeSeries", {"requests": "[5]"}),
        ("custom_scalars/download_data", {"run": "no", "tag": "loss", "format": "json"}),
        ("projector/info", {"run": "no"}),
        ("projector/tensor", {"run": "../..", "name": "x"}),
        ("hparams/session_groups", {}),
    ],
)
def test_what_makes_no_sense_is_the_clients_fault(two, route, query):
    assert 400 <= two.fetch(f"/boards/a/data/plugin/{route}?{urlencode(query)}").status < 500


def test_time_series_requests_with_odd_parts_get_an_error_each(two):
    odd = [{"plugin": "scalars", "tag": "loss", "run": 5}, {"plugin": "scalars", "tag": ["loss"]}, {"tag": "loss"}]
    answers = two.fetch(f"/boards/a/data/plugin/timeseries/timeSeries?{urlencode({'requests': json.dumps(odd)})}").json
    assert [answer["error"] for answer in answers] == ["Invalid run", "Missing tag", "Invalid plugin"]


def test_a_board_tells_only_what_its_creator_gave(tmp_path):
    write(tmp_path / "run")
    silent = BoardClient(board_over(tmp_path))
    collection = RunCollection({"": tmp_path})
    open_ = BoardClient(BoardApp("x", collection, about=BoardMetadata(name="Mine", data_location="s3://b/x")))
    for path in ("/data/environment", "/data/logdir", "/data/window_properties"):
        assert str(tmp_path) not in silent.fetch(path).body.decode()
    told = open_.fetch("/data/environment").json
    assert (told["window_title"], told["data_location"]) == ("Mine", "s3://b/x")
    assert "debug" not in told


def test_the_newest_graph_is_shown(tmp_path):
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef

    with SummaryWriter(tmp_path) as writer:
        for name in ("first", "second"):
            writer.file_writer.add_onnx_graph(GraphDef(node=[NodeDef(name=name)]).SerializeToString())
    answer = BoardClient(board_over(tmp_path)).fetch(*plugin("graphs", "graph", run="."))
    assert b"second" in answer.body
    assert b"first" not in answer.body


@pytest.mark.parametrize("leak", ["absolute", "relative", "link", "config"])
def test_the_projector_opens_nothing_outside_of_a_run(tmp_path, leak):
    run, secret = tmp_path / "logs" / "run", tmp_path / "secret.tsv"
    write(run)
    secret.write_text("1\t2\n3\t4\n")
    path = {"absolute": str(secret), "relative": "../../secret.tsv"}.get(leak, "link.tsv")
    (run / "link.tsv").symlink_to(secret)
    (run / "own.tsv").write_text("5\t6\n")
    config = f'embeddings {{ tensor_name: "out" tensor_path: "{path}" }}\n'
    config += f'embeddings {{ tensor_name: "own" tensor_path: "own.tsv" metadata_path: "{path}" }}\n'
    config += 'model_checkpoint_path: "/etc/passwd"\n'
    (tmp_path / "elsewhere.pbtxt").write_text(config)
    if leak == "config":
        (run / "projector_config.pbtxt").symlink_to(tmp_path / "elsewhere.pbtxt")
    else:
        (run / "projector_config.pbtxt").write_text(config)
    client = BoardClient(board_over(tmp_path / "logs"))
    for name in ("out", "own"):
        for route in ("tensor", "metadata", "bookmarks", "sprite_image"):
            answer = client.fetch(*plugin("projector", route, run="run", name=name))
            assert answer.status == 400 or (name, route, leak != "config") == ("own", "tensor", True), (name, route)
    assert client.fetch(*plugin("projector", "runs")).json == ([] if leak == "config" else ["run"])


def test_a_damaged_projector_config_hides_its_own_run_only(tmp_path):
    for name, config in {"good": 'embeddings { tensor_path: "t.tsv" }', "bad": "embeddings {"}.items():
        write(tmp_path / name)
        (tmp_path / name / "t.tsv").write_text("1\t2\n")
        (tmp_path / name / "projector_config.pbtxt").write_text(config)
    client = BoardClient(board_over(tmp_path))
    assert client.fetch(*plugin("projector", "runs")).json == ["good"]
    (embedding,) = client.fetch(*plugin("projector", "info", run="good")).json["embeddings"]
    assert (embedding["tensorName"], embedding["tensorShape"]) == ("t.tsv", [1, 2])


class Greeter(TBPlugin):
    """Somebody's plugin, which looks at flags and the log folder."""

    plugin_name = "greeter"

    def __init__(self, context: TBContext) -> None:
        self.text = f"{context.logdir} {context.flags.reload_interval}"

    def get_plugin_apps(self) -> dict[str, Any]:
        return {"/hello": Response(self.text)}

    def is_active(self) -> bool:
        return True


class Broken:
    name = "broken"

    def load(self) -> Any:
        raise ImportError("no such module")


@pytest.fixture
def installed(monkeypatch):
    from aboard.board import plugins

    greeter = SimpleNamespace(name="greeter", load=lambda: Greeter)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [greeter, Broken()])
    for cached in (plugins._installed, plugins._default_flags):
        cached.cache_clear()
    yield
    for cached in (plugins._installed, plugins._default_flags):
        cached.cache_clear()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("allowed", "offered"), [("all", True), ("none", False), (["greeter"], True), ([], False), (["other"], False)]
)
def test_installed_plugins_load_as_far_as_they_are_allowed(tmp_path, allowed, offered):
    write(tmp_path / "run")
    client = BoardClient(board_over(tmp_path, plugins=allowed, logdir="/logs"))
    assert ("greeter" in client.fetch("/data/plugins_listing").json) == offered
    assert client.fetch("/data/plugin/greeter/hello").body == (b"/logs 5.0" if offered else b"Not found")
    assert client.fetch("/data/runs").json == ["run"]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def test_over_a_real_socket_while_runs_grow(tmp_path):
    collection = RunCollection({"": tmp_path})
    with make_server("127.0.0.1", 0, SingleBoardApp(BoardApp("x", collection), "/tb"), Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            failures: list[str] = []
            asking = [
                threading.Thread(target=_ask, args=(f"http://127.0.0.1:{server.server_port}/tb", failures))
                for _ in range(4)
            ]
            for thread in asking:
                thread.start()
            for number in range(10):
                write(tmp_path / f"run{number}")
                collection.refresh()
            for thread in asking:
                thread.join()
            assert not failures
        finally:
            server.shutdown()


def _ask(root: str, failures: list[str]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    wanted = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": "loss"}])})
    for _ in range(15):
        for path in ("/data/runs", "/data/plugins_listing", "/data/plugin/timeseries/tags", "/data/plugin/images/tags"):
            try:
                with opener.open(root + path, timeout=60) as answer:
                    answer.read()
                with opener.open(f"{root}/data/plugin/timeseries/timeSeries?{wanted}", timeout=60) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                failures.append(f"{path}: {error}")
