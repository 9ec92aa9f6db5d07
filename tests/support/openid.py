# SPDX-License-Identifier: Apache-2.0
"""A real OpenID provider on loopback, npm's oidc-provider, and a browser that fills in its forms."""

from __future__ import annotations

import contextlib
import html
import http.cookiejar
import json
import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.object_servers import ROOT, node
from support.processes import until

MODULES = ROOT / "build/oidc-provider"
SCRIPT = ROOT / "tests/support/oidc_provider/provider.mjs"
CLIENT_SECRET = "a secret of the tests"


def why_no_provider() -> str:
    """Why it cannot be started here; nothing if it can."""
    is_there = (MODULES / "node_modules/oidc-provider").exists() and node()
    return "" if is_there else "run scripts/ensure-services oidc-provider"


@contextlib.contextmanager
def openid_provider(
    folder: Path, port: int, redirect_uri: str, people: Mapping[str, Mapping[str, object]]
) -> Iterator[str]:
    """A provider with these people, by subject, and their claims; its issuer."""
    issuer = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "PEOPLE": json.dumps(people), "MODULES": str(MODULES)}
    with (folder / "provider.log").open("wb") as log:
        process = subprocess.Popen(
            [node(), str(SCRIPT), str(port), redirect_uri], env=environment, stdout=log, stderr=log
        )
    try:
        until(lambda: _answers(issuer) or process.poll() is not None)
        assert process.poll() is None, (folder / "provider.log").read_text()
        yield issuer
    finally:
        process.terminate()
        process.wait(20)


def _answers(issuer: str) -> bool:
    try:
        with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration", timeout=5):
            return True
    except OSError:
        return False


@dataclass
class Page:
    status: int
    url: str
    text: str


class Browser:
    """Follows redirects, keeps cookies, and logs in at the provider."""

    def __init__(self) -> None:
        self.cookies = http.cookiejar.CookieJar()
        cookies = urllib.request.HTTPCookieProcessor(self.cookies)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

    def open(self, url: str, form: Mapping[str, str] | None = None, *, stop_at: str = "") -> Page:
        """A page; with `stop_at` the redirect to such an address is not followed but told."""
        data = None if form is None else urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(url, data, {"Accept": "text/html"})
        handler = _Stop(stop_at)
        opener = (
            self._opener
            if not stop_at
            else urllib.request.build_opener(
                urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.cookies), handler
            )
        )
        try:
            with opener.open(request, timeout=30) as answer:
                return Page(answer.status, answer.url, answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Page(error.code, handler.found or error.url or "", error.read().decode("utf-8", "replace"))

    def log_in(self, url: str, subject: str, *, stop_at: str = "") -> Page:
        """Open an address that leads to the provider, be `subject` there, agree, and come back."""
        page = self.open(url)
        for _ in range(4):
            found = re.search(
                r'<form[^>]*action="([^"]+)"[^>]*method="post"|method="post"[^>]*action="([^"]+)"', page.text
            )
            if "/interaction/" not in page.url or found is None:
                return page
            action = urllib.parse.urljoin(page.url, html.unescape(found.group(1) or found.group(2)))
            prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
            assert prompt is not None, page.text
            form = {"prompt": prompt.group(1), "login": subject, "password": "any"}
            page = self.open(action, form, stop_at=stop_at)
            if stop_at and stop_at in page.url:
                return page
        return page


class _Stop(urllib.request.HTTPRedirectHandler):
    def __init__(self, at: str) -> None:
        self._at, self.found = at, ""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if self._at and self._at in newurl:
            self.found = newurl
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)
