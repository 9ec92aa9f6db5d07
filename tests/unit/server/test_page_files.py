# SPDX-License-Identifier: Apache-2.0
"""The files of the page as browsers get them: compressed, kept for ever or asked for again, and nothing beside them."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard.server.page_files import PageFiles, is_page_built
from support.asgi_requests import Answer, send_request

Get = Callable[..., Answer]


def getting(folder: Path, prefix: str = "") -> Get:
    """Asks for these files, with the encodings that a browser accepts."""
    app = PageFiles(folder, prefix=prefix)

    def get(path: str, accepted: str = "identity") -> Answer:
        return send_request(app, "GET", path, headers={"accept-encoding": accepted})

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
