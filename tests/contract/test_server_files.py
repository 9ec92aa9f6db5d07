# SPDX-License-Identifier: Apache-2.0
"""Pictures, sounds, texts, histograms, files and console logs of runs over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.store import Store, open_store
from aboard.store.run.documents import Manifest, Outputs
from aboard.store.run.file_rows import FileRow, Segment
from aboard.store.run.run_folder import RunFolder
from support.http_asking import Answer, ask
from support.logged_runs import tb_folder
from support.processes import until
from support.stored_runs import serving_runs, store_run

MODEL = bytes(range(256)) * 9000
EVIL = "<script>alert(1)</script>"
PIXELS = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
LOG = "".join(f"line {number} ü\n" for number in range(1000)).encode()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    store = open_store(str(tmp_path_factory.mktemp("files") / "store"), create=True)
    uid = store_run(store, name="base")
    _log_media(store, uid)
    _put_files(store, uid)
    catalog = tmp_path_factory.mktemp("catalog") / "catalog.sqlite"
    with Catalog.open(catalog) as opened, serving_runs(opened, store.uri) as made:
        until(lambda: made.runs.count() == 1)
        yield made


def _log_media(store: Store, uid: str) -> None:
    with SummaryWriter(str(tb_folder(store, uid, "train"))) as writer:
        for step in (5, 7):
            writer.add_image("pictures/x", PIXELS, step, dataformats="HWC")
            writer.add_histogram("weights", np.arange(100.0) + step, step)
            writer.add_text("remarks", f"{EVIL} {step}", step)
        writer.add_audio("sound", np.zeros((1, 100)), 1, sample_rate=8000)
        writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.4, 0.9]), 2)
        writer.add_scalar("loss", 1.0, 1)


def _put_files(store: Store, uid: str) -> None:
    folder = RunFolder(store, uid)
    half = len(LOG) // 2
    store.put(folder.key("log/1.txt.00000000"), LOG[:half])
    store.put(folder.key("log/1.txt.00000001"), LOG[half:] + b"not yet told")
    segments = (Segment(0, half), Segment(1, len(LOG) - half))
    log = FileRow(path="log/1.txt", source="log/1.txt", bytes=len(LOG), segments=segments, modified=1.0)
    folder.write_manifest(
        Manifest(attempt=1, status=RunState.COMPLETED, alive=now(), serial=2, sealed=True, files=(log,))
    )
    contents = {
        "output/model.bin": bytes(range(256)) * 9000,
        "output/page.html": EVIL.encode(),
        "output/a b/ü.json": b"{}",
    }
    for path, data in contents.items():
        store.put(folder.key(path), data)
    rows = [FileRow(path=path, source=path, bytes=len(data)) for path, data in contents.items()]
    rows.append(FileRow(path="output/link", source="output/link", link="/etc/passwd"))
    folder.write_outputs(Outputs(serial=1, files=tuple(rows)))


def media(client: Client, tag: str, **more: object) -> Answer:
    query = "".join(f"&{name}={value}" for name, value in more.items())
    return ask(client, f"/api/v1/runs/base/media/content?tag={quote(tag)}&logdir=train{query}")


def file(client: Client, path: str, **headers: str) -> Answer:
    return ask(client, f"/api/v1/runs/base/files/content?path={quote(path, safe='')}", **cast("Any", headers))


def test_a_picture_is_the_picture_that_was_logged(client: Client):
    entries = ask(client, "/api/v1/runs/base/media?tag=pictures/x&logdir=train").json()["items"]
    assert [one["step"] for one in entries] == [5, 7]
    found = media(client, "pictures/x", step=5)
    assert (found.headers["content-type"], found.headers["x-step"]) == ("image/png", "5")
    np.testing.assert_array_equal(np.array(Image.open(io.BytesIO(found.body))), PIXELS)
    assert media(client, "pictures/x").headers["x-step"] == "7"
    assert media(client, "pictures/x", sample=0).headers["x-samples"] == "1"
    assert media(client, "pictures/x", sample=1).status == 404
    assert media(client, "pictures/x", step=6).status == 404


def test_a_sound_a_histogram_and_an_array(client: Client):
    sound = media(client, "sound")
    assert (sound.headers["content-type"], sound.body[:4]) == ("audio/wav", b"RIFF")
    items = ask(client, "/api/v1/runs/base/histograms?tag=weights&logdir=train").json()["items"]
    assert [(one["step"], sum(one["counts"])) for one in items] == [(5, 100.0), (7, 100.0)]
    assert len(ask(client, "/api/v1/runs/base/histograms?tag=weights&logdir=train&count=1").json()["items"]) == 1
    array = media(client, "pr").json()
    assert array["shape"][0] == 6
    assert len(array["values"]) == 6 * array["shape"][1]


def test_markup_stays_text(client: Client):
    found = media(client, "remarks/text_summary", step=5)
    assert found.headers["content-type"] == "text/plain; charset=utf-8"
    assert found.body.decode() == f"{EVIL} 5"
    assert (
        ask(client, "/api/v1/runs/base/texts?tag=remarks/text_summary&logdir=train").json()["items"][1]["text"]
        == f"{EVIL} 7"
    )
    page = file(client, "output/page.html")
    assert page.headers["content-type"] == "application/octet-stream"
    assert page.headers["content-disposition"].startswith("attachment")
    for answer in (found, page):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("sandbox")


def test_what_holds_which_values_is_listed(client: Client):
    kinds = {one.tag: one.kind for one in client.series.tags("base")}
    assert kinds["pictures/x"] == "image"
    assert (kinds["weights"], kinds["sound"], kinds["pr"], kinds["loss"]) == ("histogram", "audio", "tensor", "scalar")
    refused = media(client, "pictures/y")
    assert (refused.status, "pictures/x" in refused.json()["error"]["hint"]) == (404, True)
    assert media(client, "loss").status == 404


def test_files_are_listed_and_read(client: Client):
    listed = ask(client, "/api/v1/runs/base/files?prefix=output/").json()["items"]
    assert [one["path"] for one in listed] == [
        "output/a b/ü.json",
        "output/link",
        "output/model.bin",
        "output/page.html",
    ]
    whole = file(client, "output/model.bin")
    assert (whole.status, whole.body) == (200, MODEL)
    first = ask(client, "/api/v1/runs/base/files?limit=2").json()
    rest = ask(client, f"/api/v1/runs/base/files?after={quote(first['next'])}").json()
    assert len(first["items"]) + len(rest["items"]) == 5
    assert file(client, "output/a b/ü.json").headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("asked", "status", "start", "end"),
    [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=2000000-", 206, 2_000_000, 2_304_000),
        ("bytes=-5", 206, 2_303_995, 2_304_000),
        ("bytes=5-99999999", 206, 5, 2_304_000),
        ("bytes=9-5", 416, 0, 0),
        ("bytes=2304000-", 416, 0, 0),
        ("lines=1-2", 200, 0, 2_304_000),
    ],
)
def test_ranges(client: Client, asked: str, status: int, start: int, end: int):
    found = file(client, "output/model.bin", Range=asked)
    assert found.status == status
    if status == 206:
        assert found.headers["content-range"] == f"bytes {start}-{end - 1}/2304000"
    if status != 416:
        assert found.body == MODEL[start:end]


def test_the_log_is_followed_from_where_one_was(client: Client):
    part = ask(client, "/api/v1/runs/base/log?tail=3").json()
    assert part["text"] == "line 997 ü\nline 998 ü\nline 999 ü\n"
    assert (part["path"], part["next"], part["size"]) == ("log/1.txt", len(LOG), len(LOG))
    behind = ask(client, f"/api/v1/runs/base/log?offset={part['next']}").json()
    assert (behind["text"], behind["next"]) == ("", len(LOG))
    begin = ask(client, "/api/v1/runs/base/log?offset=0").json()
    assert begin["text"].encode() == LOG
    assert ask(client, "/api/v1/runs/base/log?path=log/2.txt").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "../../catalog.sqlite", "output/../../../etc/passwd", "/etc/passwd", "run.json", "manifest.json", "output",
        "output/link", "output/model.bin\0", "output/MODEL.bin", "file:///etc/passwd", "", "log/1.txt.00000000",
    ],
)  # fmt: skip
def test_nothing_else_can_be_named(client: Client, path: str):
    assert file(client, path).status in (400, 404)
