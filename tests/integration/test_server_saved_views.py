# SPDX-License-Identifier: Apache-2.0
"""Saved views through the API of a server with logins: who may see, save, change and forget them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, Forbidden, InvalidValue, UnknownName
from aboard.model.people import Role
from support.team_servers import TeamServer, team_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("views")
    with Catalog.open(folder / "catalog.sqlite") as catalog, team_server(catalog, folder) as server:
        server.person("vic", vision=Role.VIEWER)
        server.person("ed", vision=Role.EDITOR)
        server.person("eve", vision=Role.EDITOR)
        server.person("ada", vision=Role.ADMIN)
        server.person("stranger", other=Role.ADMIN)
        yield server


def test_all_who_see_the_workspace_share_its_views(server: TeamServer):
    made = server.client("ed").saved_views.add("vision", "shared", "runs?where=hparams.lr < 1".replace(" ", "%20"))
    assert made.owner == "ed"
    for name in ("vic", "eve", "ada"):
        assert made in server.client(name).saved_views.list("vision").items
    assert server.client("stranger").saved_views.list().items == ()
    with pytest.raises(UnknownName, match="no workspace 'vision'"):
        server.client("stranger").saved_views.list("vision")
    server.client("ed").saved_views.delete(made.id)


def test_viewers_save_nothing_and_others_keep_what_is_theirs(server: TeamServer):
    with pytest.raises(Forbidden, match="role editor"):
        server.client("vic").saved_views.add("vision", "x", "runs")
    with pytest.raises(UnknownName):
        server.client("stranger").saved_views.add("vision", "x", "runs")
    made = server.client("ed").saved_views.add("vision", "of ed", "runs")
    for act in (
        lambda client: client.saved_views.change(made.id, name="taken over"),
        lambda client: client.saved_views.delete(made.id),
    ):
        with pytest.raises(Forbidden, match="is of ed") as caught:
            act(server.client("eve"))
        assert "another name" in caught.value.hint
        with pytest.raises(Forbidden, match="role editor"):
            act(server.client("vic"))
        with pytest.raises(UnknownName, match=f"no saved view {made.id}"):
            act(server.client("stranger"))
    assert server.client("ed").saved_views.change(made.id, name="renamed").name == "renamed"
    assert server.client("ada").saved_views.delete(made.id).name == "renamed"
    assert server.client("ed").saved_views.list("vision").items == ()


def test_what_is_wrong_is_told(server: TeamServer):
    views = server.client("ed").saved_views
    made = views.add("vision", "one", "compare?runs=1")
    with pytest.raises(Conflict, match="'ONE' already"):
        views.add("vision", "ONE", "runs")
    with pytest.raises(InvalidValue, match="not a place of a workspace"):
        views.change(made.id, address="//evil.example/")
    with pytest.raises(UnknownName, match="no workspace 'visoin'") as caught:
        views.add("visoin", "x", "runs")
    assert "vision" in caught.value.hint
    assert server.ask("/api/v1/saved-views/x", "DELETE", who="ed").status == 400
    views.delete(made.id)
