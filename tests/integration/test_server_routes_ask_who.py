# SPDX-License-Identifier: Apache-2.0
"""Every route of a server asks who it is that asks: a new one that forgets is found here."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard.api import PREFIX
from aboard.catalog.catalog import Catalog
from aboard.model.people import Role
from aboard.server.app import create_app
from aboard.server.routes.operations import CurrentAccess, Operation
from aboard.services.services import ServiceOptions, Services
from aboard.store import open_store
from support.processes import until
from support.stored_runs import store_run
from support.team_servers import BOSS, TeamServer, team_server

OPEN = {("GET", f"{PREFIX}/login"), ("POST", f"{PREFIX}/login/exchange"), ("GET", "/healthz"), ("GET", "/readyz")}
"""What everybody may ask; nothing in their answers depends on who there is or what runs there are."""
READING = {f"{PREFIX}/boards/preview", f"{PREFIX}/selections/resolve"}
"""POST routes that change nothing."""
HIDDEN = "topsecret"


def _routes(catalog: Catalog) -> list[tuple[str, str, Operation]]:
    control = Services(catalog, ServiceOptions())
    try:
        app = create_app(control, personal=False, private=False, remember=lambda _: None)
        found = [route for route in app.routes if isinstance(route, Operation)]
        return [(route.method, route.path, route) for route in found]
    finally:
        control.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("asked")
    uri = str(folder / "store")
    store_run(
        open_store(uri, create=True, fsync=False),
        name=f"{HIDDEN}-run",
        workspace=HIDDEN,
        experiment=f"{HIDDEN}-experiment",
        hparams={f"{HIDDEN}_lr": 0.1},
        metrics={f"{HIDDEN}_loss": [1.0]},
        said_tags={f"{HIDDEN}-tag": HIDDEN},
    )
    with Catalog.open(folder / "catalog.sqlite") as catalog, team_server(catalog, folder, uri) as server:
        until(lambda: catalog.runs.count() == 1)
        server.person("vic", vision=Role.ADMIN)
        server.person(f"{HIDDEN}-person", **typing.cast("typing.Any", {HIDDEN: Role.ADMIN}))
        server.board = server.client(f"{HIDDEN}-person").boards.create(["run1"], description=HIDDEN).board.id
        yield server


def test_each_handler_is_told_who_asks(tmp_path: Path):
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        routes = _routes(catalog)
    assert len(routes) > 40
    forgetful = [
        f"{method} {path}"
        for method, path, route in routes
        if (method, path) not in OPEN and path != "/" and not _is_told(route)
    ]
    assert forgetful == []


def _is_told(route: Operation) -> bool:
    hints = typing.get_type_hints(route.handler, include_extras=True)
    return CurrentAccess in hints.values()


def test_without_a_token_nothing_is_answered(server: TeamServer):
    for method, path, _ in _routes(server.catalog):
        if (method, path) not in OPEN:
            answer = server.ask(_filled(path, server), method, body={})
            assert answer.status in (401, 429), f"{method} {path}: {answer.status}"
            if answer.status == 429:
                break


def test_nothing_is_told_of_what_one_may_not_see(server: TeamServer):
    """Each route is asked with the true names of what is hidden, by somebody who may not see it."""
    for method, path, _ in _routes(server.catalog):
        if path.endswith(("/events", "/shutdown", "/logout")):
            continue
        filled = _filled(path, server)
        asked = server.ask(f"{filled}?run=run1&run=run1&workspace={HIDDEN}&tag=x", method, body=_BODY, who="vic")
        plain = server.ask(filled, method, body=_BODY, who="vic")
        for answer in (asked, plain):
            assert answer.status < 500 or answer.status == 501, (
                f"{method} {path}: {answer.status} {answer.body[:300]!r}"
            )
            said = answer.body.decode("utf-8", "replace")
            if answer.status < 400:
                assert HIDDEN not in said, f"{method} {path}: {said[:500]}"
            else:
                # What was asked for may be repeated; the hint must not know more.
                assert HIDDEN not in json.loads(said)["error"].get("hint", ""), f"{method} {path}: {said[:500]}"


@pytest.mark.parametrize("way", ["token", "session"])
def test_a_token_with_the_scope_read_changes_nothing(server: TeamServer, way: str):
    """Not even that of an administrator, at any changing route of the API document, nor with a session by it."""
    text = server.catalog.tokens.issue(BOSS, "looking", scopes=["read"])[1]
    login = server.ask("/login", "POST", form=f"token={text}&next=/", Origin=server.url)
    shown = {"Authorization": f"Bearer {text}"} if way == "token" else {"Cookie": login.cookie, "Origin": server.url}
    assert server.ask(f"{PREFIX}/me", **shown).document["administrator"] is True
    paths = server.ask(f"{PREFIX}/openapi.json", **shown).document["paths"]
    changing = [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if method != "get" and path not in READING and (method.upper(), path) not in OPEN
    ]
    assert len(changing) > 30
    answers = {
        f"{method} {path}": server.ask(_filled(path, server), method, body=_BODY, **shown) for method, path in changing
    }
    assert {where: answer.status for where, answer in answers.items() if answer.status != 403} == {}
    for path in READING:
        assert server.ask(path, "POST", body={"sources": ["run1"], "words": ["run1"]}, **shown).status != 403


def test_tokens_end_other_logins_only_with_the_scope_admin(server: TeamServer):
    """A token may revoke itself, as `aboard logout` does."""
    server.person("writer", own=Role.VIEWER)
    whole = server.tokens["writer"]
    cookie = server.logged_in("writer")
    for scope in ("read", "write"):
        token, text = server.catalog.tokens.issue("writer", scope, scopes=[scope])
        shown = {"Authorization": f"Bearer {text}"}
        for path in (f"tokens/{whole.split('_')[1]}/revoke", "tokens/tests/revoke", "logout"):
            assert server.ask(f"{PREFIX}/{path}", "POST", **shown).status == 403
        assert server.ask(f"{PREFIX}/me", Cookie=cookie).status == 200
        assert server.ask(f"{PREFIX}/tokens/{token.id}/revoke", "POST", **shown).status == 200
        assert server.ask(f"{PREFIX}/me", **shown).status == 401
    # An administrator needs it for the tokens of others, too.
    text = server.catalog.tokens.issue(BOSS, "writing", scopes=["write"])[1]
    answer = server.ask(f"{PREFIX}/tokens/{whole.split('_')[1]}/revoke", "POST", Authorization=f"Bearer {text}")
    assert (answer.status, server.ask(f"{PREFIX}/me", Cookie=cookie).status) == (403, 200)
    # The scope write is enough to change your own board.
    board = server.client("writer").boards.create([], workspace="own").board.id
    for scope, status in (("read", 403), ("write", 200)):
        text = server.catalog.tokens.issue("writer", scope, scopes=[scope])[1]
        answer = server.ask(f"{PREFIX}/boards/{board}/stop", "POST", Authorization=f"Bearer {text}")
        assert answer.status == status


def test_a_board_of_others_is_as_if_it_did_not_exist(server: TeamServer):
    """Its page, its parts, its prefix and its name, for who may not see all that it shows."""
    name = server.client(f"{HIDDEN}-person").boards.get(server.board).name
    mine = server.ask(f"/boards/{server.board}/", who=f"{HIDDEN}-person")
    assert mine.status == 200, mine.body
    nothing = "00000000-0000-4000-8000-000000000000"
    for path in (
        "/boards/{}/",
        "/boards/{}/data/runs",
        "/boards/{}/data/environment",
        "/proxy/{}/",
        f"{PREFIX}/boards/{{}}",
    ):
        real, none = (server.ask(path.format(one), who="vic") for one in (server.board, nothing))
        assert (real.status, real.body.replace(server.board.encode(), nothing.encode())) == (none.status, none.body)
        assert real.status == 404
        assert server.ask(path.format(server.board)).status == 401
    for short in (server.board[:8], name):
        assert server.ask(f"/api/v1/boards/{short}", who="vic").status == 404
    assert server.client("vic").boards.list(everybody=True).items == ()


_BODY = {
    "runs": ["run1"],
    "words": ["run1"],
    "where": "",
    "sources": ["run1"],
    "workspace": HIDDEN,
    "workspaces": [HIDDEN],
    "name": "x",
    "person": "vic",
    "note": "x",
    "keep_newest": 1,
    "store": "",
    "uri": "",
    "path": "/",
    "code": "x",
    "verifier": "y",
    "role": "viewer",
}


def _filled(path: str, server: TeamServer) -> str:
    run = server.catalog.runs.get(1)
    values = {"run": "run1", "uid": run.uid, "name": HIDDEN, "token": "0" * 16, "task": "x", "board": server.board}
    while "{" in path:
        name = path.partition("{")[2].partition("}")[0]
        value = values.get(name.partition(":")[0], "x")
        if path.startswith(f"{PREFIX}/experiments/"):
            value = "exp1"
        path = path.replace(f"{{{name}}}", value)
    return path
