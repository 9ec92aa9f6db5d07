# SPDX-License-Identifier: Apache-2.0
"""The page and API over folders: where addresses lead, what the document says, and what is wrong in the folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aboard import SummaryWriter
from aboard.reader.collection import RunCollection
from aboard.server.folder_app import create_folder_app
from aboard.server.page_files import FolderPage
from aboard.services.folders.services import FolderServices
from aboard.services.folders.source import FolderSource
from support.asgi_requests import Answer, send_request

Get = Callable[[str], Answer]


def getting(logs: Path, home: Path) -> Get:
    collection = RunCollection({"": logs}, notifications=False)
    collection.refresh()
    app = create_folder_app(FolderServices(FolderSource(collection, home=home, title="logs")))

    def get(path: str) -> Answer:
        return send_request(app, "GET", path)

    return get


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    with SummaryWriter(str(tmp_path / "logs" / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    return tmp_path / "logs"


def page_over(folder: Path, title: str = "logs", *, prefix: str = "", opens_tensorboard: bool = False) -> Get:
    (folder / "index.html").write_text('<html lang="en" data-base="./"></html>')
    page = FolderPage(title, prefix=prefix, opens_tensorboard=opens_tensorboard, folder=folder)

    def get(path: str) -> Answer:
        return send_request(page, "GET", path)

    return get


def test_the_front_leads_to_the_comparison_below_the_prefix(tmp_path: Path):
    answer = page_over(tmp_path, prefix="/deep")("/")
    assert (answer.status, answer.headers["location"]) == (307, "/deep/w/logs/compare")
    answer = page_over(tmp_path, prefix="/deep", opens_tensorboard=True)("/")
    assert (answer.status, answer.headers["location"]) == (307, "/deep/tensorboard/")


def test_without_a_built_page_the_front_leads_to_tensorboard(tmp_path: Path):
    answer = send_request(FolderPage("logs", folder=tmp_path), "GET", "/")
    assert answer.headers["location"] == "/tensorboard/"


def test_the_document_says_that_it_is_over_folders(tmp_path: Path):
    body = page_over(tmp_path, 'a "b" <c>')("/w/*/runs").body.decode()
    assert 'data-source="folders" data-title="a &quot;b&quot; &lt;c&gt;"' in body


@pytest.mark.parametrize(
    ("asked", "leads_to"),
    [("/w/other/compare?runs=3", "/w/logs/compare"), ("/w/other/runs/7", "/w/logs/runs")],
)
def test_an_address_of_another_source_leads_to_the_same_place_here(tmp_path: Path, asked: str, leads_to: str):
    answer = page_over(tmp_path)(asked)
    assert (answer.status, answer.headers["location"]) == (307, leads_to)


def test_programs_learn_that_the_server_is_over_folders(logs: Path, tmp_path: Path):
    info = getting(logs, tmp_path)("/api/v1/info").json()
    assert (info["source"], info["title"]) == ("folders", "logs")


def test_a_report_says_what_lies_in_folders_and_which_files_are_damaged(logs: Path, tmp_path: Path):
    for name in ("a/log.csv", "b/c/log.CSV", "README"):
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        (logs / name).write_text("x")
    (event_file,) = (logs / "a").glob("*tfevents*")
    with event_file.open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\0\0\0")
    report: dict[str, Any] = getting(logs, tmp_path)("/api/v1/source").json()
    (folder,) = report["folders"]
    assert folder["place"] == str(logs)
    assert (folder["files"], folder["folders"], folder["kinds"]) == (3, 3, {".csv": 2, "": 1})
    (problem,) = report["problems"]
    assert problem["file"] == str(event_file)
    assert "1 damaged record" in problem["problem"]
