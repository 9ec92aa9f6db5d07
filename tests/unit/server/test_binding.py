# SPDX-License-Identifier: Apache-2.0
"""Parameters of handlers: where they come from, how they are converted, and what is said of wrong ones."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import pytest
from starlette.requests import Request

from aboard.errors import InvalidValue
from aboard.server.routes.binding import Binding, FromRequest, Grouped, Header, Path, Query


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def limits(low: Annotated[int, Query(ge=0)] = 0, high: Annotated[int | None, Query(le=9)] = None) -> tuple[Any, ...]:
    return low, high


def handler(
    name: Annotated[str, Path(), unquote],
    tags: Annotated[list[str], Query(alias="tag", default_factory=list)],
    method: Annotated[str, FromRequest(lambda request: request.method)],
    within: Annotated[tuple[Any, ...], Grouped(limits)],
    needed: bool,
    colour: Colour | None = None,
    order: Literal["asc", "desc"] = "asc",
    if_match: Annotated[str, Header()] = "",
) -> None: ...


def read(query: str, name: str = "a", **headers: str) -> dict[str, Any]:
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "headers": [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()],
        "path_params": {"name": name},
    }
    return dict(asyncio.run(Binding(handler).read(Request(scope))))


def test_values_are_converted_and_absent_ones_have_their_defaults():
    assert read("needed=true") == {
        "name": "a", "tags": [], "method": "GET", "within": (0, None), "needed": True,
        "colour": None, "order": "asc", "if_match": "",
    }  # fmt: skip
    given = read("tag=x&tag=y&low=3&high=9&needed=0&colour=blue&order=desc", "a%2Fb", if_match="e1")
    assert given == {
        "name": "a/b", "tags": ["x", "y"], "method": "GET", "within": (3, 9), "needed": False,
        "colour": Colour.BLUE, "order": "desc", "if_match": "e1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "needed is missing"),
        ("needed=perhaps", "needed='perhaps' is not allowed: expected true or false"),
        ("needed=1&low=many", "low='many' is not allowed: expected a whole number"),
        ("needed=1&low=-1", "low='-1' is not allowed: expected a whole number >= 0"),
        ("needed=1&high=10", "high='10' is not allowed: expected a whole number <= 9"),
        ("needed=1&colour=green", "colour='green' is not allowed: use red or blue"),
        ("needed=1&order=up", "order='up' is not allowed: use asc or desc"),
        ("order=up&high=10", "needed is missing; order='up' is not allowed: use asc or desc; high='10'"),
        (f"needed={'x' * 1000}", "x… is not allowed"),
    ],
)
def test_all_that_is_wrong_is_named_with_what_is_allowed(query: str, message: str):
    with pytest.raises(InvalidValue) as caught:
        read(query)
    assert message in caught.value.message
    assert len(caught.value.message) < 400
