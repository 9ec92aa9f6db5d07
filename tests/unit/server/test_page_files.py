# SPDX-License-Identifier: Apache-2.0
"""The files of the page as browsers get them: compressed, kept for ever or asked for again, and nothing beside them."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette

from aboard.server.page_files import PageFiles, is_page_built


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


Get = Callable[..., Answer]


def getting(folder: Path, prefix: str = "") -> Get:
    """Asks the application over these files, with the encodings that a browser accepts."""
    app = Starlette(routes=[*PageFiles(folder, prefix=prefix).routes()])

    def get(path: str, accepted: str = "identity") -> Answer:
        told: list[Any] = []

        async def receive() -> dict[str, str]:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"accept-encoding", accepted.encode()), (b"host", b"x")]
        scope = {"type": "http", "method": "GET", "path": unquote(path), "query_string": b"", "headers": headers}
        asyncio.run(app(scope, receive, send))
        said = {name.decode(): value.decode() for name, value in told[0]["headers"]}
        return Answer(told[0]["status"], said, b"".join(one.get("body", b"") for one in told[1:]))

    return get


@pytest.fixture
def built(tmp_path: Path) -> Get:
    folder = tmp_path / "web"
    (folder / "_page").mkdir(parents=True)
    (tmp_path / "secret.js").write_text("secret")
    for name in ("index.html", "favicon.svg", "_page/main-1.js"):
        (folder / name).write_bytes(f"plain {name}".encode())
        for ending in ("br", "gz"):
            (folder / f"{name}.{ending}").write_bytes(f"{ending} of {name}".encode())
    return getting(folder)


@pytest.mark.parametrize("path", ["/", "/w", "/w/lab/runs", "/w/a%2Fb/compare"])
def test_every_address_of_the_page_has_the_document_under_a_strict_policy(built, path):
    answer = built(path)
    assert (answer.status, answer.body) == (200, b"plain index.html")
    assert answer.headers["cache-control"] == "no-cache"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_script_in_the_document_is_allowed_and_no_other(tmp_path):
    (tmp_path / "index.html").write_text("<head><script>ask()</script><script type=module src=/x.js></script></head>")
    policy = getting(tmp_path)("/w/lab/runs").headers["content-security-policy"]
    checksum = base64.b64encode(hashlib.sha256(b"ask()").digest()).decode()
    assert f"script-src 'self' 'sha256-{checksum}';" in policy
    assert policy.count("sha256-") == 1


def test_files_are_sent_as_they_were_compressed_and_kept_for_ever(built):
    for accepted, encoding, begin in (("gzip, br", "br", b"br"), ("gzip", "gzip", b"gz"), ("identity", None, b"plain")):
        answer = built("/_page/main-1.js", accepted)
        assert answer.body.startswith(begin)
        assert answer.headers.get("content-encoding") == encoding
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "name", ["none.js", "../secret.js", "%2e%2e/%2e%2e/secret.js", "main-1.js.br", "../index.html"]
)
def test_nothing_else_is_told(built, name):
    answer = built(f"/_page/{name}")
    assert answer.status == 404
    assert b"secret" not in answer.body


def test_a_server_without_a_built_page_says_how_to_get_one(tmp_path):
    assert b"make page" in getting(tmp_path)("/w/lab/runs").body


@pytest.mark.parametrize("prefix", ["", "/team/aboard"])
def test_the_document_names_files_below_the_path_of_the_server(tmp_path: Path, prefix: str):
    (tmp_path / "index.html").write_text('<html data-base="./"><script src="./_page/main-1.js"></script>')
    (tmp_path / "index.html.br").write_text("of another path")
    get = getting(tmp_path, prefix=prefix)
    expected = f'<html data-base="{prefix}/"><script src="{prefix}/_page/main-1.js"></script>'.encode()
    assert get("/w/lab/runs").body == expected
    assert gzip.decompress(get("/w/lab/runs", "br, gzip").body) == expected


def test_without_the_page_the_server_says_how_to_get_it(tmp_path: Path):
    assert not is_page_built(tmp_path)
    said = getting(tmp_path)("/").body
    assert b"`make page`" in said
    assert b"install aboard again" in said
    (tmp_path / "index.html").touch()
    assert is_page_built(tmp_path)


@pytest.mark.parametrize(("state", "has_page", "warns"), [("wheel", 0, 1), ("wheel", 1, 0), ("editable", 0, 0)])
def test_a_wheel_without_the_page_is_told_while_it_is_built(tmp_path: Path, state: str, has_page: int, warns: int):
    root = Path(__file__).parents[3]
    (tmp_path / "CMakeLists.txt").write_text((root / "CMakeLists.txt").read_text())
    (tmp_path / "native").symlink_to(root / "native")
    page = tmp_path / "src" / "aboard" / "server" / "_web" / "index.html"
    page.parent.mkdir(parents=True)
    if has_page:
        page.touch()
    options = [f"-DSKBUILD_STATE={state}", "-DABOARD_BUILD_EXTENSION=OFF"]
    command = [Path(sys.executable).parent / "cmake", "-S", tmp_path, "-B", tmp_path / "build", *options]
    configured = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert ("is not built" in configured.stderr) == bool(warns)
