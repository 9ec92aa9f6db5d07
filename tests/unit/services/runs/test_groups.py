# SPDX-License-Identifier: Apache-2.0
"""Experiments are restored by what people call them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, Forbidden, UnknownName
from aboard.model.people import Access, Role
from aboard.services.runs.editing import RunEditor
from aboard.services.runs.groups import GroupEdits
from aboard.services.runs.references import References
from aboard.services.stores.indexing import RunIndexer
from aboard.store import open_store
from support.catalog_runs import make_run


@pytest.fixture
def catalog(tmp_path: Path) -> Generator[Catalog]:
    """Two experiments called `digits`, exp1 and exp2, in ws1 and ws2."""
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        catalog.runs.put(make_run(name="a", workspace="ws1", experiment="digits"))
        catalog.runs.put(make_run(name="b", workspace="ws2", experiment="digits"))
        yield catalog


def _changes(catalog: Catalog, access: Access) -> GroupEdits:
    indexer = RunIndexer(catalog)
    seen = catalog.seen_by(access.seen)
    return GroupEdits(access, seen, References(seen), indexer, RunEditor(catalog, indexer, open_store))


def test_an_experiment_is_restored_by_name_or_number(catalog: Catalog) -> None:
    changes = _changes(catalog, Access.whole("ann"))
    for word in ("digits", "ws1/Digits", "name:digits", "exp1", "1"):
        changes.delete_experiment("exp1")
        assert changes.restore_experiment(word).number == 1, word
        assert catalog.experiments.get(1).deleted is None
        assert not catalog.runs.list(in_bin=True).items


def test_a_name_that_several_experiments_in_the_trash_have_is_refused(catalog: Catalog) -> None:
    changes = _changes(catalog, Access.whole("ann"))
    for number in ("exp1", "exp2"):
        changes.delete_experiment(number)
    with pytest.raises(Conflict, match=r"(?s)2 experiments in the trash.*exp2 in ws2, exp1 in ws1"):
        changes.restore_experiment("digits")
    assert changes.restore_experiment("ws2/digits").number == 2


def test_only_experiments_that_the_user_may_change_are_restored_by_name(catalog: Catalog) -> None:
    owner = _changes(catalog, Access.whole("ann"))
    owner.delete_experiment("exp1")
    owner.delete_experiment("exp2")
    viewer = _changes(catalog, Access(name="vic", roles={"ws1": Role.VIEWER}))
    with pytest.raises(Forbidden, match="the role editor in the workspace ws1"):
        viewer.restore_experiment("digits")
    stranger = _changes(catalog, Access(name="eve", roles={"default": Role.EDITOR}))
    for word in ("digits", "nothing"):
        with pytest.raises(UnknownName, match=f"there is no experiment '{word}'"):
            stranger.restore_experiment(word)
