# SPDX-License-Identifier: Apache-2.0
"""Saved views of workspaces: the same on SQLite and on PostgreSQL."""

import pytest

from aboard.catalog import groups
from aboard.errors import Conflict, InvalidValue, UnknownName


@pytest.fixture
def views(catalog):
    for name in ("lab", "other"):
        catalog.workspaces.add(name)
    return catalog.saved_views


def names(found):
    return [one.name for one in found]


def test_a_view_is_kept_renamed_and_forgotten(views):
    made = views.add("lab", "Größte 🎈", "compare?runs=1,2&tags=loss", owner="ann")
    assert (made.workspace, made.name, made.owner) == ("lab", "Größte 🎈", "ann")
    assert views.list(workspaces=["LAB"]) == [made]
    changed = views.change(made.id, name="best", address="runs?where=x")
    assert (changed.name, changed.address, changed.owner, changed.created) == (
        "best",
        "runs?where=x",
        "ann",
        made.created,
    )
    assert changed.changed >= made.changed
    views.delete(made.id)
    assert views.list() == []
    with pytest.raises(UnknownName, match="no saved view"):
        views.get(made.id)


def test_a_name_is_taken_once_in_a_workspace(views):
    first = views.add("lab", "Best", "runs", owner="ann")
    views.add("other", "best", "runs", owner="ann")
    with pytest.raises(Conflict, match="'BEST' already"):
        views.add("lab", "BEST", "runs", owner="bob")
    second = views.add("lab", "all", "runs", owner="bob")
    with pytest.raises(Conflict, match="'best' already"):
        views.change(second.id, name="best")
    assert views.change(first.id, name="BEST").name == "BEST"
    assert names(views.list(workspaces=["lab"])) == ["all", "BEST"]


def test_what_is_not_seen_does_not_exist(catalog, views):
    made = views.add("lab", "mine", "runs", owner="ann")
    elsewhere = catalog.seen_by(frozenset({"other"})).saved_views
    assert elsewhere.list() == []
    for ask in (lambda: elsewhere.get(made.id), lambda: elsewhere.list(workspaces=["lab"])):
        with pytest.raises(UnknownName):
            ask()
    with pytest.raises(UnknownName, match="no workspace 'lab'"):
        elsewhere.add("lab", "x", "runs", owner="bob")


def test_views_follow_their_workspace(catalog, views):
    made = views.add("lab", "mine", "runs", owner="ann")
    catalog.workspaces.rename("lab", "Laboratory")
    assert views.get(made.id).workspace == "Laboratory"
    catalog.bin.delete_workspace("laboratory")
    assert views.list() == []
    catalog.bin.restore_workspace("laboratory")
    assert names(views.list()) == ["mine"]


def test_names_that_cannot_be_are_refused(views):
    for name in ("", " x", "x\ny", "x" * 101):
        with pytest.raises(InvalidValue, match="is not a name for a saved view"):
            views.add("lab", name, "runs", owner="ann")


def test_addresses_that_lead_elsewhere_are_refused(views):
    elsewhere = ["/w/lab/runs", "//evil.example/x", "https://evil.example", "javascript:alert(1)", "runs/../../x"]
    for address in (*elsewhere, "", "runs?a b", "nonsense", "runs#x", "x" * 70_000):
        with pytest.raises(InvalidValue, match=r"place of a workspace|characters"):
            views.add("lab", "x", address, owner="ann")


def test_there_may_be_too_many(views, monkeypatch):
    monkeypatch.setattr(groups, "MOST_VIEWS", 2)
    for name in "ab":
        views.add("lab", name, "runs", owner="ann")
    with pytest.raises(Conflict, match="has 2 saved views already"):
        views.add("lab", "c", "runs", owner="ann")
    views.add("other", "c", "runs", owner="ann")
