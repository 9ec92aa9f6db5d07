# SPDX-License-Identifier: Apache-2.0
"""Requests made from the document of the API, valid and not, to a server with real runs.

No answer is a failure of the server, and every answer is what the document says. More examples than here, and other
ones each time: `ABOARD_FUZZ_EXAMPLES=500 pytest tests/integration/test_api_fuzz.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.store import open_store
from support.logged_runs import logged_run
from support.processes import until
from support.stored_runs import TOKEN, serving_runs

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("ABOARD_FUZZ_EXAMPLES", "6"))
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("fuzz")
    store = open_store(str(folder / "store"), create=True)
    for name in ("base", "0", "a"):
        logged_run(store, name=name, experiment="first", curves={"loss": [1.0, float("nan")], "0": [2.0]})
    with Catalog.open(folder / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri, personal=False) as made:
        until(lambda: made.runs.count() == 3)
        yield made


def operations() -> list[Any]:
    """All below the prefix, but for the stream of events, which has no end that could be waited for."""
    found = [one.ok() for one in schemathesis.openapi.from_path(DOCUMENT).get_all_operations()]
    return [one for one in found if one.path.startswith("/api/") and not one.path.endswith("/events")]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", operations(), ids=lambda one: f"{one.method} {one.path}")
def test_no_request_makes_the_server_fail(client: Client, operation: Any, mode: GenerationMode):
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize="ABOARD_FUZZ_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        answer = case.call(base_url=client.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) >= {"code", "message", "hint"}

    try:
        ask()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # where everything is allowed, nothing is wrong
