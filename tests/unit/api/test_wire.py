# SPDX-License-Identifier: Apache-2.0
"""Documents of the API: what goes out comes back, and what is wrong is named."""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from aboard import errors
from aboard.api.runs import Comparison, Difference, NewRun, RetentionRequest, RunChange, RunProblem, RunsChanged
from aboard.api.server import Problem, ReindexState, ServerInfo, StoreStatus
from aboard.api.wire import Page, from_failure, from_wire, to_failure, to_wire
from aboard.errors import AboardError, InvalidValue, QueryError
from aboard.model.groups import ExperimentRecord, Workspace
from aboard.model.runs import MetricPoint, MetricSummary
from aboard.model.states import RunState
from support.cases import all_cases
from support.catalog_runs import make_run, metric

NOW = datetime(2026, 11, 16, 1, 2, 3, 456, tzinfo=UTC)
RUN = make_run(number=7, hparams={"lr": 0.1, "n": 2**70, "nan": math.inf}, metrics={"loss": metric(2.0, math.nan)})
DOCUMENTS = [
    RUN,
    Page((RUN, make_run()), "next"),
    RunChange(runs=("run1",), set_tags={"a": "b"}, remove_tags=("c",), experiment=""),
    RunsChanged(items=(RUN,), problems=(RunProblem(run="run2", code="Conflict", message="no"),)),
    Comparison(
        first=make_run(),
        second=make_run(),
        differences=(
            Difference(field="x", first=True, second=None),
            Difference(field="y", first=-math.inf, second="z"),
        ),
        same={"n": 2**60},
    ),
    RetentionRequest(where="x", older_than_seconds=1.5),
    NewRun(uid="u", workspace="w"),
    ReindexState(id="1", store="s", state="done", problems=(Problem(what="u", message="m"),)),
    ServerInfo(
        version="1",
        api=1,
        pid=1,
        private=True,
        started=NOW,
        catalog="c",
        stores=(StoreStatus(uri="s", state="following", seen=NOW, damaged={"u": "why"}),),
    ),
    Workspace(name="w", created=NOW, bytes=2**62),
    ExperimentRecord(number=1, workspace="w", name="e", created=NOW, tags={"a": ""}, runs={RunState.LOST: 3}),
    MetricSummary(MetricPoint(math.inf, 2**60, 1.5), None, None, 3),
]


def kind_of(value: object) -> Any:
    return Page[type(value.items[0])] if isinstance(value, Page) else type(value)


@all_cases("value", DOCUMENTS)
def test_what_goes_out_comes_back(value: object):
    text = json.dumps(to_wire(value), allow_nan=False)
    back = from_wire(kind_of(value), json.loads(text))
    assert repr(back) == repr(value)  # NaN equals nothing


def test_readers_of_another_age_understand_each_other():
    wire = {**to_wire(NewRun(uid="u", workspace="w")), "colour": "blue"}
    del wire["experiment"]
    assert from_wire(NewRun, wire) == NewRun(uid="u", workspace="w")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], r"the request is \[\], which is not a mapping"),
        ({}, "the request has no 'runs'"),
        ({"runs": "run1"}, "the request.runs is 'run1', which is not a list"),
        ({"runs": ["a", 3]}, r"the request.runs\[1\] is 3, which is not a text"),
        ({"runs": [], "set_tags": {"a": None}}, "the request.set_tags.a is None, which is not a text"),
        ({"runs": [], "set_tags": ["a"]}, "which is not a mapping"),
    ],
)
def test_what_is_wrong_is_named(document: object, said: str):
    with pytest.raises(InvalidValue, match=said):
        from_wire(RunChange, document, "the request")


def every_error(kind: type[AboardError] = AboardError) -> list[type[AboardError]]:
    return [kind, *(one for below in kind.__subclasses__() for one in every_error(below))]


@all_cases("kind", [one for one in every_error() if one.__module__ == errors.__name__])
def test_an_error_comes_back_as_the_exception_that_it_was(kind: type[AboardError]):
    if kind is QueryError:
        error: AboardError = QueryError("what", "a == b", 2, 4, hint="then")
    else:
        extra = {"size": 3} if kind is errors.PositionMismatch else {}
        error = kind("what", hint="then", **extra)
    back = from_failure(json.loads(json.dumps(to_failure(error))), kind.status, "")
    expected = AboardError if kind is errors.PositionMismatch else kind
    assert (type(back), str(back)) == (expected, str(error))


def test_an_answer_that_is_no_document_is_told_as_it_is():
    error = from_failure(None, 502, "Bad Gateway")
    assert str(error) == "the server answered with status 502: Bad Gateway"
    assert dataclasses.is_dataclass(Page)
