# SPDX-License-Identifier: Apache-2.0
"""Requests made from the document of the API, valid and not, to a server with real runs.

No response is a failure of the server, and every response is what the document says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
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
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


@contextlib.contextmanager
def fuzzed_server(folder: Path) -> Generator[Client]:
    """A server over a few runs, some of whose names fuzzers find."""
    store = open_store(str(folder / "store"), create=True)
    for name in ("base", "0", "a"):
        logged_run(store, name=name, experiment="first", curves={"loss": [1.0, float("nan")], "0": [2.0]})
    with Catalog.open(folder / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri, personal=False) as made:
        until(lambda: made.runs.count() == 3)
        yield made


def fuzz_every_operation(client: Client, *, examples: int, shrink: bool, derandomize: bool) -> int:
    """Send so many valid and invalid requests of each operation; the number of requests in all."""
    sent = 0

    def send(case: schemathesis.Case) -> None:
        nonlocal sent
        sent += 1
        response = case.call(base_url=client.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            assert set(response.json()["error"]) >= {"code", "message", "hint"}

    options = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=derandomize,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    for operation in _operations():
        for mode in GenerationMode:
            try:
                options(given(case=operation.as_strategy(generation_mode=mode))(send))()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # where everything is allowed, nothing is wrong
            except BaseException as error:
                error.add_note(f"{mode.value} request of {operation.method} {operation.path}")
                raise
    return sent


def _operations() -> Iterator[Any]:
    """All below the prefix, but for the stream of events, which has no end that could be waited for."""
    document: Any = schemathesis.openapi.from_path(DOCUMENT)
    for found in document.get_all_operations():
        operation = found.ok()
        if operation.path.startswith("/api/") and not operation.path.endswith("/events"):
            yield operation
