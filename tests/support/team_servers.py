# SPDX-License-Identifier: Apache-2.0
"""A server with logins on a socket, and requests to it with whatever headers a test wants to send."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import uvicorn

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.config.server import LoginSettings, ServeSettings
from aboard.config.settings import Settings
from aboard.model.people import Access, Role
from aboard.server.app import create_app
from aboard.server.http.addresses import prefix_of
from aboard.server.http.limits import RequestLimiter
from aboard.server.http.listening import PortDispatcher, listen, url_of
from aboard.server.http.serving import server_config
from aboard.server.setup import (
    ServerInstance,
    add_authentication,
    board_proxy,
    connection_limits,
    login_options,
    second_origin_url,
)
from aboard.services.people.accounts import ensure_administrator
from aboard.services.services import ServiceOptions, Services
from support.processes import until
from support.stored_runs import QUICK

BOSS = "boss"


@dataclass
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def cookie(self) -> str:
        """What a browser would send back."""
        return self.header("set-cookie").partition(";")[0]

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass
class TeamServer:
    port: int
    catalog: Catalog
    control: Services
    token: str
    """Of the account that runs it."""
    tokens: dict[str, str] = field(default_factory=dict)
    boards_port: int = 0
    """Of the origin of boards that are processes."""
    board: str = ""
    """The id of one that a test has made."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, name: str = BOSS) -> Client:
        return Client(self.url, self.tokens[name])

    def person(self, name: str, *, scopes: tuple[str, ...] = (), **roles: Role) -> str:
        """A person with these roles and a token; workspaces are made when they are not there."""
        if name not in {user.name for user in self.catalog.people.list()}:
            self.catalog.people.add(name)
        known = {one.name for one in self.catalog.workspaces.list()}
        for workspace, role in roles.items():
            if workspace not in known:
                self.catalog.workspaces.add(workspace)
            self.catalog.people.set_role(name, workspace, role)
        self.tokens[name] = self.catalog.tokens.issue(name, "tests", scopes=scopes)[1]
        self.control.logins.forget()
        return self.tokens[name]

    def login_link(self, token: str, path: str = "/") -> str:
        """An address below this server that opens `path` in a browser, logged in, once."""
        asked = self.ask("/api/v1/login/codes", "POST", body={"path": path}, Authorization=f"Bearer {token}")
        return asked.document["path"]

    def ask_board(self, path: str, method: str = "GET", *, body: object = None, **headers: str) -> Answer:
        """One request to the origin of boards that are processes."""
        return self._ask_at(self.boards_port, path, method, body, None, headers)

    def ask(
        self,
        path: str,
        method: str = "GET",
        *,
        body: object = None,
        form: str | None = None,
        **headers: str,
    ) -> Answer:
        """One request; headers by name, with _ for -. A `who` is a person whose token is sent."""
        return self._ask_at(self.port, path, method, body, form, headers)

    def _ask_at(
        self, port: int, path: str, method: str, body: object, form: str | None, headers: dict[str, str]
    ) -> Answer:
        given: dict[str, str] = {}
        if who := headers.pop("who", ""):
            given["Authorization"] = f"Bearer {self.tokens[who]}"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = form.encode() if form is not None else (b"" if body is None else json.dumps(body).encode())
        if content and "Content-Type" not in given:
            given["Content-Type"] = "application/x-www-form-urlencoded" if form is not None else "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": f"127.0.0.1:{port}", **given, "Content-Length": str(len(content))}.items():
                connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    def logged_in(self, name: str) -> str:
        """The cookie of a browser in which this person has logged in."""
        answer = self.ask("/login", "POST", form=f"token={self.tokens[name]}&next=/", Origin=self.url)
        assert answer.status == 303, answer.body
        return answer.cookie


@contextlib.contextmanager
def team_server(
    catalog: Catalog,
    home: Path,
    *stores: str,
    login: LoginSettings | None = None,
    serve: ServeSettings | None = None,
    options: Mapping[str, Any] | None = None,
    port: int = 0,
) -> Iterator[TeamServer]:
    """A server with logins by tokens, unless `login` says something else; its administrator is `BOSS`."""
    settings = Settings(home=home, login=login or LoginSettings(mode="tokens"), serve=serve or ServeSettings())
    given = {**QUICK, **(options or {})}
    control = Services(catalog, ServiceOptions(stores=stores, logins=login_options(settings), **given))
    listener, second = listen("127.0.0.1", port), listen("127.0.0.1", 0)
    boards_port: int = second.getsockname()[1]
    app = create_app(
        control,
        personal=False,
        private=False,
        remember=lambda _: None,
        login_mode=settings.login.mode,
        second_origin=second_origin_url(settings, boards_port),
        prefix=prefix_of(settings.serve.url),
    )
    place = ServerInstance(
        host="127.0.0.1",
        port=listener.getsockname()[1],
        url=url_of(listener, ""),
        is_loopback=True,
        token="of-the-account-that-runs-it",
        person=Access.whole(ensure_administrator(catalog, BOSS)),
        under_way=RequestLimiter(connection_limits(settings).most_here()),
        boards_port=boards_port,
    )
    outer = add_authentication(app, control, replace(settings), place, settings.login.mode)
    boards = board_proxy(control, settings, place, boards_port)
    server = uvicorn.Server(
        server_config(PortDispatcher(outer, boards, boards_port, boards.close), connection_limits(settings))
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener, second]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        running = TeamServer(place.port, catalog, control, place.token, boards_port=boards_port)
        running.tokens[BOSS] = catalog.tokens.issue(BOSS, "tests")[1]
        yield running
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
        second.close()
        control.close()
