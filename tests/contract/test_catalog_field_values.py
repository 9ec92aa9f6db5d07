# SPDX-License-Identifier: Apache-2.0
"""The values that runs have in a field, for completion: counted alike by SQLite and PostgreSQL."""

from __future__ import annotations

import math
from typing import Any

import pytest

from aboard.catalog.catalog import Catalog, VisibleCatalog
from aboard.catalog.runs import fields
from aboard.errors import InvalidValue, UnknownName
from aboard.model.query.fields import parse_field
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import value_text
from support.catalog_runs import make_run, put_named

ODD = [
    *(1, 1.0, 0.1, -2.5, 1e-05, 1e300, 2**60 + 1, math.inf, -math.inf, math.nan, None, True, False),
    *("", "1", "adam", 'a "b"', "back\\slash", "two\nlines\tand\r", "größe 🎈", "'", "x" * 101, "true"),
]


def values(catalog: Catalog | VisibleCatalog, field: str, **asked: Any) -> list[tuple[Any, int]]:
    return [(one.value, one.runs) for one in catalog.field_values.of(parse_field(field), **asked)]


def put_odd(catalog: Catalog) -> None:
    catalog.runs.put_many([make_run(hparams={"x": value}, tags={"t": str(value)}) for value in ODD])


def test_the_most_frequent_come_first_and_equal_ones_in_order(catalog: Catalog):
    for optimizer in ("sgd", "adam", "lion", "adam"):
        put_named(catalog, "a", hparams={"opt": optimizer})
    assert values(catalog, "hparams.opt") == [("adam", 2), ("lion", 1), ("sgd", 1)]
    assert values(catalog, "hparams.opt", limit=1) == [("adam", 2)]
    assert values(catalog, "hparams.opt", prefix="L") == [("lion", 1)]
    assert values(catalog, "hparams.nothing") == []


def test_numbers_are_found_by_their_first_digits(catalog: Catalog):
    catalog.runs.put_many([make_run(hparams={"lr": rate}) for rate in (0.1, 0.01, 0.015, 1, 1.0, 10)])
    assert values(catalog, "hparams.lr", prefix="0.01") == [(0.01, 1), (0.015, 1)]
    assert values(catalog, "hparams.lr", prefix="1") == [(1, 2), (10, 1)]


@pytest.mark.parametrize("field", ["hparams.x", "tags.t"])
def test_a_filter_with_an_offered_value_holds_for_as_many_runs(catalog: Catalog, field: str):
    put_odd(catalog)
    offered = {value_text(value): count for value, count in values(catalog, field, limit=100)}
    assert sum(offered.values()) >= len(ODD) - 3  # all but NaN, none and what is too long
    for text, count in offered.items():
        assert "\n" not in text
        assert catalog.runs.count(where=parse_query(f"{field} == {text}")) == count, text


def test_columns_have_values_too(catalog: Catalog):
    put_named(catalog, "a", "b", experiment="First", user="ann", host="node7", store="s3://b")
    put_named(catalog, "c", workspace="ws2", user="Anton")
    assert values(catalog, "experiment") == [("First", 2)]
    assert values(catalog, "user", prefix="an") == [("ann", 2), ("Anton", 1)]
    assert values(catalog, "host") == [("node7", 2)]
    assert values(catalog, "store") == [("s3://b", 2)]
    assert values(catalog, "name", prefix="c") == [("c", 1)]
    assert values(catalog, "workspace") == [("ws1", 2), ("ws2", 1)]


def test_only_what_is_seen_and_not_in_the_bin_counts(catalog: Catalog):
    (deleted,) = put_named(catalog, "gone", user="carl", tags={"t": "gone"}, hparams={"x": "gone"})
    catalog.bin.delete_runs([deleted.number or 0])
    for workspace in ("ws1", "ws2"):
        put_named(catalog, "a", workspace=workspace, user=workspace, tags={"t": workspace}, hparams={"x": workspace})
    for field in ("user", "tags.t", "hparams.x", "workspace"):
        assert values(catalog, field) == [("ws1", 1), ("ws2", 1)]
        assert values(catalog, field, workspaces=["ws2"]) == [("ws2", 1)]
        seen = catalog.seen_by(frozenset({"ws1"}))
        assert values(seen, field) == [("ws1", 1)]
        with pytest.raises(UnknownName):
            values(seen, field, workspaces=["ws2"])


def test_of_many_runs_the_newest_are_looked_at(catalog: Catalog, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fields, "NEWEST", 2)
    for name in ("old", "new", "newest"):
        put_named(catalog, name, hparams={"x": name}, tags={"t": name}, user=name)
    for field in ("name", "hparams.x", "tags.t", "user"):
        assert values(catalog, field) == [("new", 1), ("newest", 1)]


@pytest.mark.parametrize("field", ["metrics.loss", "created", "number", "note", "status"])
def test_other_fields_are_refused_by_name(catalog: Catalog, field: str):
    with pytest.raises(InvalidValue, match="are not listed") as caught:
        catalog.field_values.of(parse_field(field))
    assert "hparams.NAME" in caught.value.hint
