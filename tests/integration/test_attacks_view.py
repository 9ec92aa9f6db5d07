# SPDX-License-Identifier: Apache-2.0
"""What `aboard view` withstands: pages of other sites, hostile folders and requests, on loopback without a token."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from aboard import SummaryWriter
from aboard.api.series import read_columns
from support.http_asking import Answer, ask_url
from support.viewing import View, viewing

NOT_UTF8 = b"caf\xe9"
ASSETS = "with assets"
NAMES = [
    ASSETS.encode(),
    NOT_UTF8,
    b"<script>alert(1)",
    b"line\nbreak",
    b"esc\x1b[2J",
    "\u202ertl".encode(),
    b"a,b %2F ? # &",
]
CURVES = 2 * len(NAMES)
ENDLESS = r"^(\w|[a-z_/]|.|\S)*!$"


@dataclass(frozen=True)
class AttackedView:
    """A view over folders with hostile names, and a secret beside them."""

    view: View
    logs: Path

    def ask(self, path: str, method: str = "GET", body: object = None, **headers: str) -> Answer:
        content = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content_Type": "application/json"}
        return ask_url(self.view.page_url.rstrip("/") + path, method, content, **kind, **headers)

    def runs(self) -> dict[str, dict[str, Any]]:
        return {run["name"]: run for run in self.ask("/api/v1/runs").json()["items"]}


def put_projector_files(folder: Path, secret: Path) -> None:
    secret.write_text("SECRET\n")
    (folder / "link.tsv").symlink_to(secret)
    (folder / "own.tsv").write_text("1\t2\n")
    paths = ["own.tsv", f"../../{secret.name}", str(secret), "link.tsv"]
    embeddings = (
        f'embeddings {{ tensor_name: "{at}" tensor_path: "own.tsv" metadata_path: {json.dumps(path)} }}'
        for at, path in enumerate(paths)
    )
    (folder / "projector_config.pbtxt").write_text("\n".join(embeddings))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedView]:
    base = tmp_path_factory.mktemp("attacked")
    for name in NAMES:
        with SummaryWriter(base / "logs" / os.fsdecode(name)) as writer:
            writer.add_scalar("a/tag/that/is/long", 1.0, 1)
            writer.add_hparams({"name": "x" * 60}, {"metric": 1.0}, run_name=".")
    put_projector_files(base / "logs" / ASSETS, base / "secret.tsv")
    with viewing(base / "logs", env={**os.environ, "ABOARD_HOME": str(base / "home")}) as view:
        view.wait_until_read()
        yield AttackedView(view, base / "logs")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.nip.io"},
    ],
)
def test_pages_of_others_change_nothing(attacked: AttackedView, headers: dict[str, str]) -> None:
    number = str(next(iter(attacked.runs().values()))["number"])
    for path, method, body in (
        ("/api/v1/runs", "PATCH", {"runs": [number], "set_tags": {"by": "evil"}}),
        ("/api/v1/runs/delete", "POST", {"runs": [number]}),
        ("/api/v1/saved-views", "POST", {"workspace": "logs", "name": "evil", "address": "runs"}),
    ):
        assert attacked.ask(path, method, body, **headers).status in (403, 421)
    assert attacked.ask("/api/v1/saved-views").json()["items"] == []
    assert [run.get("tags", {}) for run in attacked.runs().values()] == [{}] * len(NAMES)


def test_pages_of_others_include_nothing_and_may_lead_here(attacked: AttackedView) -> None:
    other = {"Sec_Fetch_Site": "cross-site"}
    for path in ("/api/v1/series?run=1&points=0", "/data/plugin/scalars/tags", "/tensorboard/data/runs"):
        assert attacked.ask(path, **other, Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image").status == 403
        assert attacked.ask(path, **other, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="embed").status == 403
    opened = attacked.ask("/w/logs/runs", **other, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document")
    framed = attacked.ask("/tensorboard/", **other, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe")
    assert (opened.status, framed.status) == (200, 200)
    assert "frame-ancestors 'none'" in opened.headers["content-security-policy"]


def test_answers_of_the_api_are_no_documents(attacked: AttackedView) -> None:
    for path in ("/api/v1/runs", "/api/v1/series?run=1", "/api/v1/runs/%3Cb%3E", "/api/v1/nothing"):
        answer = attacked.ask(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_one_folder_with_a_strange_name_breaks_no_answer_about_others(attacked: AttackedView) -> None:
    runs = attacked.runs()
    assert set(map(os.fsencode, runs)) == set(NAMES)
    numbers = "&".join(f"run={run['number']}" for run in runs.values())
    assert len(attacked.ask(f"/api/v1/series?{numbers}&format=json").json()["items"]) == CURVES
    curves, _ = read_columns(attacked.ask("/api/v1/charts").body)
    assert len(curves) == CURVES
    assert len(attacked.ask(f"/api/v1/tags?{numbers}").json()["items"]) == 2
    for path in ("field-values?field=name", "fields", "run-marks?every=1", "runs/nothing-of-this-name"):
        assert attacked.ask(f"/api/v1/{path}").status in (200, 404)
    strange = runs[os.fsdecode(NOT_UTF8)]
    changed = attacked.ask("/api/v1/runs", "PATCH", {"runs": [strange["uid"]], "note": "seen", "name": "coffee"})
    assert [run["name"] for run in changed.json()["items"]] == ["coffee"]
    assert attacked.ask("/api/v1/runs", "PATCH", {"runs": ["coffee"], "name": ""}).status == 200


@pytest.mark.parametrize("place", ["", "/tensorboard"])
def test_no_expression_of_a_request_takes_long(attacked: AttackedView, place: str) -> None:
    """Where Python's `re` searches for this, it does not end within the time that a test has."""
    tag = quote(ENDLESS)
    assert attacked.ask(f"{place}/data/plugin/custom_scalars/scalars?run=.&tag={tag}").status in (200, 400)
    asked = {
        "experimentName": "",
        "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"],
        "colParams": [{"hparam": "name", "filterRegexp": ENDLESS}],
        "startIndex": 0,
        "sliceSize": 100,
    }
    assert attacked.ask(f"{place}/data/plugin/hparams/session_groups", "POST", asked).status == 200
    every = {**asked, "colParams": []}
    groups = attacked.ask(f"{place}/data/plugin/hparams/session_groups", "POST", every).json()["sessionGroups"]
    assert len(groups) == len(NAMES) - 1  # all whose names are text, as the messages of this dashboard want it
    assert attacked.ask(f"/api/v1/series?run=1&pattern={tag}").json()["items"] == []
    assert attacked.ask(f"/api/v1/runs?where={quote('name like ' + repr('%a' * 300))}").status == 400


def test_projector_files_outside_of_the_run_are_not_read(attacked: AttackedView) -> None:
    for place in ("", "/tensorboard"):
        answers = [
            attacked.ask(f"{place}/data/plugin/projector/metadata?run={quote(ASSETS)}&name={number}")
            for number in range(4)
        ]
        assert [answer.status for answer in answers] == [200, 400, 400, 400]
        assert not any(b"SECRET" in answer.body for answer in answers)


@pytest.mark.parametrize(
    "path",
    [
        "/_page/..%2f..%2fapp.py",
        "/_page/%2e%2e/%2e%2e/view.py",
        "/tensorboard/..%2f..%2fetc%2fpasswd",
        "/api/v1/runs/1/files/content?path=../../secret.tsv",
        "/api/v1/runs/1/media/content?tag=x&logdir=..%2F..",
    ],
)
def test_no_path_leads_out_of_the_folders(attacked: AttackedView, path: str) -> None:
    assert attacked.ask(path).status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("workspaces", {"name": "new"}),
        ("workspaces/logs/delete", {}),
        ("experiments", {"workspace": "logs", "name": "new"}),
        ("runs", {"uid": "0" * 26, "workspace": "logs"}),
        (f"runs/{'0' * 26}/heartbeat", {}),
        ("retention", {"where": "name == 'x'"}),
        ("runs/delete", {"runs": ["1"], "files": True}),
    ],
)
def test_what_folders_do_not_have_is_refused_and_no_file_is_deleted(
    attacked: AttackedView, path: str, body: dict[str, object]
) -> None:
    before = sorted(attacked.logs.rglob("events.*"))
    answer = attacked.ask(f"/api/v1/{path}", "POST", body)
    assert (answer.status, bool(answer.json()["error"]["hint"])) == (400, True)
    assert sorted(attacked.logs.rglob("events.*")) == before


def test_requests_write_no_control_characters_to_the_terminal(attacked: AttackedView) -> None:
    """Browsers send such an address for an image on any page."""
    assert attacked.ask("/%1b%5d0;forged%07%0aFORGED").status == 404
    attacked.view.wait_until_said("not found, sending 404")
    said = attacked.view.said
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "Traceback" not in said
