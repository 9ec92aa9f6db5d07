# SPDX-License-Identifier: Apache-2.0
"""Boards in a server beside a real TensorBoard and a real bucket: the same pages, mixed stores, one that is slow."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

import aboard
from aboard.api.boards import BoardInfo
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.boards import LineLevel
from aboard.services.runs.open_runs import ReadingPatience
from aboard.store import Patience, Store, open_store
from support.board_pages import ask, log, logged_run, shown_runs, until_shown
from support.board_parity import check_every_answer
from support.clouds import use
from support.fault_proxy import FaultProxy, fault_proxy
from support.object_servers import S3Server
from support.processes import until
from support.sample_logs import write_every_kind
from support.stored_runs import TOKEN, folder_uri, serving_runs, store_run, until_seen
from support.tensorboard_process import Answer, stock_tensorboard
from support.trained_runs import stored_run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))


@pytest.fixture
def catalog(tmp_path: Path) -> Generator[Catalog]:
    with Catalog.open(tmp_path / "catalog.sqlite") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    return open_store(folder_uri(tmp_path), create=True)


class ServedBoard:
    """A board asked over HTTP, as the comparison with TensorBoard wants it: its title, which is its own, left out."""

    def __init__(self, client: Client, board: BoardInfo) -> None:
        self._place, self._title = client.url + board.uri.rstrip("/"), board.name.encode()

    def fetch(self, path: str, body: bytes | None = None, kind: str = "application/json", **headers: str) -> Answer:
        given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind, **headers}
        request = urllib.request.Request(self._place + path, body, given)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                shown = answer.read().replace(b'{"window_title": "%s"}' % self._title, b'{"window_title": ""}')
                return Answer(answer.status, answer.headers["content-type"], shown)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers["content-type"], error.read())


def test_a_board_over_a_run_answers_as_tensorboard_does(catalog: Catalog, folder: Store, tmp_path: Path):
    uid = store_run(folder, name="every kind")
    logs = Path(folder.uri) / uid / "tb"
    for file in logs.iterdir():
        file.unlink()
    write_every_kind(aboard.SummaryWriter, logs)
    with serving_runs(catalog, folder.uri) as client:
        until_seen(client)
        board = client.boards.create("run1", template="{path}").board
        with stock_tensorboard(logs, tmp_path / "stock.txt", load_fast=False) as stock:
            until(lambda: "tuned/trial" in shown_runs(client, board.uri))
            runs = shown_runs(client, board.uri)
            stock.wait_for(lambda tb: set(tb.fetch("/data/runs").json) == runs, "all runs")
            stock.wait_for(lambda tb: tb.fetch("/data/plugin/custom_scalars/layout").json, "the layout")
            stock.wait_for(lambda tb: "acc" in tb.fetch("/data/plugin/scalars/tags").json["tuned/trial"], "the metric")
            stock.wait_for(lambda tb: tb.fetch("/data/plugins_listing").json["projector"]["enabled"], "the embedding")
            assert len(check_every_answer(ServedBoard(client, board), stock, load_fast=False)) > 100


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server.port) as made:
        yield made


@pytest.fixture
def bucket(tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, proxy: FaultProxy) -> Store:
    """A store in a bucket; what is opened after this goes through the proxy."""
    use(monkeypatch, s3_server.environment())
    opened = open_store(s3_server.new_uri())
    use(monkeypatch, {**s3_server.environment(), "AWS_ENDPOINT_URL": proxy.endpoint})
    return opened


def test_runs_of_a_folder_and_of_a_bucket_and_plain_folders_on_one_board(
    catalog: Catalog, folder: Store, bucket: Store, tmp_path: Path
):
    logged_run(folder, name="near")
    far = stored_run(bucket, tmp_path / "far", "far", lambda run: run.log(range(5)))
    log(open_store(str(tmp_path / "plain"), create=True), "x", "y", range(3))
    with serving_runs(catalog, folder.uri, bucket.uri) as client:
        until_seen(client)
        number = client.runs.get(far.uid).number
        board = client.boards.create(["near", f"run{number}", str(tmp_path / "plain")], template="").board
        workspace = client.runs.get(far.uid).workspace
        until_shown(client, board.uri, "ws1_near_train", f"{workspace}_far_train", "x/tb/y")


def test_a_store_that_does_not_answer_keeps_no_other_board_waiting(
    catalog: Catalog, folder: Store, bucket: Store, proxy: FaultProxy, tmp_path: Path
):
    logged_run(folder, name="near")
    far = [stored_run(bucket, tmp_path / f"far{n}", f"far{n}", lambda run: run.log(range(5))) for n in range(3)]
    patience = Patience(connect_seconds=2, stall_seconds=0.5, request_seconds=2, retries=0)
    options = {"patience": patience, "reading_patience": ReadingPatience(patience, rest_seconds=0.2)}
    with serving_runs(catalog, folder.uri, bucket.uri, look_seconds=0.2, **options) as client:
        until_seen(client)
        numbers = ",".join(f"run{client.runs.get(run.uid).number}" for run in far)
        proxy.hold()
        slow, quick = client.boards.create(numbers).board, client.boards.create("near").board
        assert ask(client, f"{slow.uri}data/runs").json == []
        until_shown(client, quick.uri, "ws1_near_train")
        assert ask(client, slow.uri).status == 200
        until(lambda: ask(client, f"{slow.uri}data/runs").status == 200 and _warned(client, slow.id))
        proxy.release()
        until(lambda: len(shown_runs(client, slow.uri)) == 3)


def _warned(client: Client, board: str) -> bool:
    return bool(client.boards.logs(board, level=LineLevel.WARNING))
