# SPDX-License-Identifier: Apache-2.0
import json
import math
from datetime import UTC, datetime

import pytest

from aboard.errors import InvalidType, InvalidValue
from aboard.model.hparams import flat_hparams
from aboard.model.runs import MetricPoint, MetricSummary, Note, run_from_document, run_to_document
from aboard.model.states import RunState
from support.cases import all_cases

UID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
DOCUMENT = {
    "format": "aboard.run",
    "version": 1,
    "uid": UID,
    "workspace": "ws1",
    "experiment": "baseline",
    "name": "run343",
    "number": 343,
    "status": "completed",
    "user": "ann",
    "created": "2026-11-01T18:30:00.000000Z",
    "started": "2026-11-01T18:31:00.000000Z",
    "ended": "2026-11-01T18:41:00.500000Z",
    "exit_code": 0,
    "hparams": {"lr": 0.01, "epochs": 2500, "optimizer": {"name": "adam"}, "amp": True, "seed": str(2**60)},
    "metrics": {
        "loss": {
            "last": {"value": "NaN", "step": 3, "wall_time": 1.5},
            "min": {"value": 0.1, "step": 2, "wall_time": 1.4},
            "max": {"value": "Infinity", "step": 1, "wall_time": 1.3},
            "count": 3,
        }
    },
    "tags": {"best": "", "team": "vision"},
    "notes": [{"text": "diverged", "author": "ann", "written": "2026-11-02T08:00:00.000000Z"}],
    "attempts": [{"number": 1, "status": "preempted", "host": "a"}, {"number": 2, "status": "completed", "pid": 7}],
    "git": {"commit": "abc"},
}


def test_a_document_becomes_a_run():
    run = run_from_document(DOCUMENT)
    assert (run.workspace, run.experiment, run.name, run.number) == ("ws1", "baseline", "run343", 343)
    assert run.status is RunState.COMPLETED
    assert run.created == datetime(2026, 11, 1, 18, 30, tzinfo=UTC)
    assert run.duration == 600.5
    assert run.hparams == {"lr": 0.01, "epochs": 2500, "optimizer.name": "adam", "amp": True, "seed": 2**60}
    loss = run.metrics["loss"]
    assert math.isnan(loss.last.value)
    assert loss.last.step == 3
    assert loss.smallest == MetricPoint(0.1, 2, 1.4)
    assert loss.largest == MetricPoint(math.inf, 1, 1.3)
    assert run.tags == {"best": "", "team": "vision"}
    assert run.notes == (Note(text="diverged", author="ann", written=datetime(2026, 11, 2, 8, tzinfo=UTC)),)
    assert [(attempt.number, attempt.status) for attempt in run.attempts] == [(1, "preempted"), (2, "completed")]
    assert run.attempts[1].details == {"pid": 7}
    assert run.details == {"format": "aboard.run", "version": 1, "git": {"commit": "abc"}}


def test_a_run_goes_through_json_unchanged():
    once = run_to_document(run_from_document(DOCUMENT))
    again = run_to_document(run_from_document(json.loads(json.dumps(once, allow_nan=False))))
    assert again == once
    flat = {"lr": 0.01, "epochs": 2500, "optimizer.name": "adam", "amp": True, "seed": str(2**60)}
    assert once == {**DOCUMENT, "hparams": flat}


def test_the_least_that_a_document_needs():
    run = run_from_document({"uid": UID, "workspace": "ws1"})
    assert run.status is RunState.CREATED
    assert run.created.year == 2016  # from the uid
    assert (run.name, run.experiment, run.number, run.duration) == ("", None, None, None)


def test_words_of_the_manifest_and_of_claims():
    manifest = {"alive": "2026-11-01T18:30:00Z", "files": [{"path": "a", "bytes": 3}, {"path": "b", "bytes": 4}]}
    attempts = [{"number": 1, "claimed": "2026-11-01T18:00:00Z"}]
    run = run_from_document({"uid": UID, "workspace": "w", "attempts": attempts, **manifest})
    assert (run.files, run.bytes) == (2, 7)
    assert run.heartbeat == datetime(2026, 11, 1, 18, 30, tzinfo=UTC)
    assert run.attempts[0].started == datetime(2026, 11, 1, 18, tzinfo=UTC)


def test_short_forms_of_tags_and_notes():
    run = run_from_document({"uid": UID, "workspace": "w", "tags": ["a", "b"], "note": "one", "notes": ["two"]})
    assert run.tags == {"a": "", "b": ""}
    assert [note.text for note in run.notes] == ["one", "two"]


@all_cases(
    ("change", "message"),
    [
        ({"uid": "x"}, "'x' is not a uid"),
        ({"workspace": None}, "has no 'workspace'"),
        ({"status": "done"}, "'done' is not a state of a run"),
        ({"created": "yesterday"}, "'created' of the run's document is 'yesterday', which is not a time"),
        ({"exit_code": 2**70}, "'exit_code' of the run's document is 1180591620717411303424"),
        ({"exit_code": True}, "'exit_code'"),
        ({"number": 0}, "numbers begin at 1"),
        ({"hparams": [1]}, "'hparams' of the run's document"),
        ({"metrics": {"loss": {"count": 1}}}, "the metric 'loss' has no 'last'"),
        (
            {"metrics": {"loss": {"last": {"value": "x", "step": 1, "wall_time": 0}, "count": 1}}},
            "'x', which is not a number",
        ),
        ({"tags": 3}, "'tags'"),
        ({"files": "many"}, "'files' of the run's document is 'many'"),
        ({"files": [{"path": "a"}]}, "a file of the run has no 'bytes'"),
        ({"attempts": [{}]}, "an attempt of the run has no 'number'"),
    ],
)
def test_an_error_names_the_field(change, message):
    with pytest.raises(InvalidValue) as caught:
        run_from_document({**DOCUMENT, **change})
    assert message in str(caught.value)


def test_a_document_must_be_a_mapping():
    with pytest.raises(InvalidValue, match="the run's document is a list"):
        run_from_document([])


def test_hparams_of_any_shape_become_flat():
    nested = {"a": {"b": {"c": 1}}, "list": [1, "x"], "none": None, "empty": {}, 3: "three"}
    assert flat_hparams(nested) == {"a.b.c": 1, "list": '[1, "x"]', "none": None, "empty": "{}", "3": "three"}
    with pytest.raises(InvalidType, match="the hyperparameter 'f' is a function"):
        flat_hparams({"f": flat_hparams})


def test_a_very_deep_mapping_is_kept_as_text():
    deep: dict[str, object] = {"x": 1}
    for _ in range(50):
        deep = {"a": deep}
    ((name, value),) = flat_hparams(deep).items()
    assert name == ".".join("a" * 20)
    assert isinstance(value, str)
    assert value.endswith('{"x": 1' + "}" * 31)


def test_a_summary_grows_point_by_point():
    summary = MetricSummary.of(MetricPoint(math.nan, 1, 0.0))
    assert (summary.smallest, summary.largest) == (None, None)
    for step, value in enumerate([2.0, 1.0, 3.0, 1.0, math.nan], start=2):
        summary = summary.including(MetricPoint(value, step, float(step)))
    assert summary.count == 6
    assert summary.last.step == 6
    assert summary.smallest == MetricPoint(1.0, 3, 3.0)  # the earlier of the equal ones
    assert summary.largest == MetricPoint(3.0, 4, 4.0)
