# SPDX-License-Identifier: Apache-2.0
"""The documents of a run in a store: what is written is read back, and damage is named and stays where it is."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aboard.errors import DamagedDocument, InvalidValue, NewerFormat
from aboard.model.names import new_uid
from aboard.model.runs import MetricPoint, MetricSummary, Note, RunRecord
from aboard.model.states import RunState
from aboard.store import open_store
from aboard.store.run.documents import (
    AttemptClaim,
    EarlierAttempt,
    Manifest,
    Outputs,
    OutputsMark,
    Summary,
    parse_claim,
    parse_manifest,
    parse_outputs,
    parse_run,
    parse_summary,
    render_claim,
    render_manifest,
    render_outputs,
    render_run,
    render_summary,
)
from aboard.store.run.file_rows import FileRow, Segment
from aboard.store.run.layout import logdir_of, path_of, segment_path, split_segment
from aboard.store.run.loading import load_run
from aboard.store.run.run_folder import ManifestOutdated, RunFolder, pieces_of, read_logical
from support.cases import all_cases

TIME = datetime(2026, 11, 15, 21, 4, 5, 123456, UTC)
ROWS = (
    FileRow(
        path="tb/train/events.out.tfevents.1763.host.7.0",
        source="output/tensorboard/train/events.out.tfevents.1763.host.7.0",
        bytes=90112,
        segments=(Segment(0, 65536), Segment(9, 8192), Segment(10, 8192), Segment(11, 8192)),
        next_segment=12,
        crc32=123,
        modified=1763240000.5,
    ),
    FileRow(path="tb/a.tfevents~2", source="output/a.tfevents", bytes=5, segments=(Segment(3, 5),), next_segment=9),
    FileRow(path="log/1.txt", source="log/1.txt", bytes=7),
)
MANIFEST = Manifest(
    attempt=2,
    status=RunState.RUNNING,
    alive=TIME,
    serial=17,
    files=ROWS,
    outputs=OutputsMark(3, 2, 1024),
    earlier=(EarlierAttempt(1, RunState.PREEMPTED, TIME),),
)


@pytest.fixture
def folder(tmp_path):
    return RunFolder(open_store(f"memory://{tmp_path.name}"), new_uid())


def test_a_manifest_comes_back(folder):
    assert folder.read_manifest() is None
    etag = folder.write_manifest(MANIFEST)
    read = folder.read_manifest()
    assert read.manifest == MANIFEST
    assert folder.read_manifest_if_changed(etag) is None
    folder.write_manifest(MANIFEST)
    assert folder.read_manifest_if_changed(etag).manifest == MANIFEST


def test_a_manifest_is_short_and_as_described():
    document = json.loads(render_manifest(MANIFEST))
    assert document["format"] == "aboard-manifest"
    assert document["version"] == [1, 0]
    assert document["files"][0] == {
        "path": "tb/train/events.out.tfevents.1763.host.7.0",
        "bytes": 90112,
        "crc32": 123,
        "modified": 1763240000.5,
        "segments": [[0, 65536], [9, 8192, 8192, 8192]],
    }
    assert document["files"][1] == {
        "path": "tb/a.tfevents~2",
        "source": "output/a.tfevents",
        "bytes": 5,
        "segments": [[3, 5]],
        "next": 9,
    }


def test_outputs_come_back(folder):
    rows = (
        FileRow(path="output/m.pt", source="output/m.pt", bytes=3, crc32=1, modified=2.0, gone=True),
        FileRow(path="output/last.pt", source="output/last.pt", link="m.pt"),
        FileRow(path="output/%FF", source="output/\udcff", bytes=1),
    )
    outputs = Outputs(serial=4, files=rows)
    assert parse_outputs(render_outputs(outputs)) == outputs
    folder.write_outputs(outputs)
    assert folder.read_outputs() == outputs


def test_unknown_fields_are_kept():
    document = json.loads(render_manifest(MANIFEST))
    document["later"] = {"x": 1}
    document["files"][0]["later"] = [2]
    document["version"] = [1, 9]
    again = json.loads(render_manifest(parse_manifest(json.dumps(document).encode())))
    assert again["later"] == {"x": 1}
    assert again["files"][0]["later"] == [2]


def test_another_major_version_is_refused():
    document = json.loads(render_manifest(MANIFEST)) | {"version": [2, 0]}
    with pytest.raises(NewerFormat, match=r"the format version 2, and this aboard knows 1(.|\n)*newer aboard"):
        parse_manifest(json.dumps(document).encode())


@all_cases(
    "damage",
    [
        {"version": "1"},
        {"version": [True, 0]},
        {"format": "aboard-run"},
        {"attempt": "one"},
        {"status": "sleeping"},
        {"alive": "yesterday"},
        {"alive": None},
        {"serial": None},
        {"files": {}},
        {"files": [{}]},
        {"files": [{"path": "../escape", "bytes": 1}]},
        {"files": [{"path": "tb/x", "bytes": -1}]},
        {"files": [{"path": "tb/x", "bytes": 1, "source": "/etc/passwd"}]},
        {"files": [{"path": "tb/x", "bytes": 1, "source": "output/../../x"}]},
        {"files": [{"path": "tb/x", "bytes": 9, "segments": [[0, 8]]}]},
        {"files": [{"path": "tb/x", "bytes": 8, "segments": [[0]]}]},
        {"files": [{"path": "tb/x", "bytes": 8, "segments": [[4, 4], [4, 4]]}]},
        {"files": [{"path": "tb/x", "bytes": 8, "segments": 3}]},
        {"files": [{"path": "tb/x", "bytes": 8, "modified": "now"}]},
        {"files": [{"path": "tb/x", "bytes": 8}, {"path": "tb/x", "bytes": 8}]},
        {"outputs": 3},
        {"earlier": [[1]]},
    ],
)
def test_damage_is_named(damage):
    document = json.loads(render_manifest(MANIFEST)) | damage
    with pytest.raises(DamagedDocument, match="the manifest of somebody") as raised:
        parse_manifest(json.dumps(document).encode(), "the manifest of somebody")
    assert raised.value.hint


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\xff", b"[1]", b'{"a":' * 100_000, b"null"])
def test_what_is_no_document_is_told(data):
    with pytest.raises(DamagedDocument):
        parse_manifest(data)


def test_a_run_comes_back():
    run = RunRecord(
        uid=new_uid(),
        workspace="lab",
        name="best",
        created=TIME,
        tags={"a": "b"},
        notes=(Note(text="fine"),),
        details={"colour": "red"},
    )
    assert parse_run(render_run(run)) == run
    assert "status" not in json.loads(render_run(run))


def test_a_claim_comes_back():
    claim = AttemptClaim(number=3, token="t", claimed=TIME, host="h", pid=9, details={"command": ["python", "x.py"]})
    assert parse_claim(render_claim(claim), "x") == claim


def test_a_summary_comes_back():
    point = MetricPoint(float("nan"), 2**60, 1.5)
    summary = Summary(
        started=TIME,
        exit_code=3,
        reason="out of memory",
        hparams={"lr": 0.1, "name": "x", "inf": float("inf")},
        metrics={"loss": MetricSummary(MetricPoint(0.5, 3, 4.0), None, MetricPoint(0.5, 3, 4.0), 12)},
        tags={"kind": "test"},
        notes=(Note(text="hm"),),
        annotations=({"name": "checkpoint", "step": 4},),
        details={"later": 1},
    )
    assert parse_summary(render_summary(summary)) == summary
    odd = parse_summary(render_summary(Summary(metrics={"m": MetricSummary.of(point)})))
    assert odd.metrics["m"].last.step == 2**60


def test_create_only_documents_have_one_writer(folder):
    run = RunRecord(uid=folder.uid, workspace="lab", created=TIME)
    assert folder.create_run(run)
    assert not folder.create_run(run)
    claim = AttemptClaim(number=1, token="mine", claimed=TIME)
    assert folder.create_attempt(claim)
    assert folder.create_attempt(claim)  # its answer was lost
    assert not folder.create_attempt(AttemptClaim(number=1, token="yours", claimed=TIME))
    with pytest.raises(DamagedDocument, match="another run"):
        folder.create_run(RunRecord(uid=new_uid(), workspace="lab", created=TIME))
    with pytest.raises(InvalidValue):
        RunFolder(folder.store, "../x")


def test_attempts_are_counted_as_numbers(folder):
    for number in (1, 2, 9, 10):
        folder.create_attempt(AttemptClaim(number=number, token="t", claimed=TIME))
    folder.store.put(folder.key("attempts/notes.json"), b"{}")
    assert folder.attempt_numbers() == [1, 2, 9, 10]


def test_a_run_is_put_together(folder):
    folder.create_run(RunRecord(uid=folder.uid, workspace="lab", created=TIME, tags={"a": "people"}))
    for number in (1, 2):
        folder.create_attempt(AttemptClaim(number=number, token="t", claimed=TIME, host=f"host{number}"))
    folder.write_manifest(MANIFEST)
    folder.write_summary(Summary(hparams={"lr": 0.1}, tags={"a": "training", "b": "training"}))
    loaded = load_run(folder)
    assert loaded.problems == ()
    run = loaded.run
    assert (run.status, run.heartbeat, run.host, run.files, run.bytes) == ("running", TIME, "host2", 5, 91148)
    assert run.hparams == {"lr": 0.1}
    assert run.tags == {"a": "people", "b": "training"}
    assert [(one.number, one.status) for one in run.attempts] == [(1, "preempted"), (2, "running")]
    assert run.store == folder.store.uri


def test_the_last_attempt_has_the_exit_code_of_its_run(folder):
    folder.create_run(RunRecord(uid=folder.uid, workspace="lab", created=TIME))
    for number in (1, 2):
        folder.create_attempt(AttemptClaim(number=number, token="t", claimed=TIME))
    folder.write_manifest(replace(MANIFEST, status=RunState.FAILED, sealed=True))
    folder.write_summary(Summary(exit_code=3, reason="out of memory"))
    attempts = load_run(folder).run.attempts
    assert [(one.exit_code, one.reason) for one in attempts] == [(None, ""), (3, "out of memory")]


def test_a_resumed_run_started_with_its_first_attempt(folder):
    first, second, end = (TIME + timedelta(hours=hours) for hours in (1, 5, 7))
    folder.create_run(RunRecord(uid=folder.uid, workspace="lab", created=TIME))
    for number, claimed in enumerate((first, second), 1):
        folder.create_attempt(AttemptClaim(number=number, token="t", claimed=claimed))
    folder.write_manifest(replace(MANIFEST, alive=end))
    folder.write_summary(Summary(started=second + timedelta(seconds=3)))  # of the attempt that writes it
    run = load_run(folder).run
    assert (run.started, run.duration) == (first, 6 * 3600)


def test_a_run_of_one_attempt_started_with_its_command(folder):
    folder.create_run(RunRecord(uid=folder.uid, workspace="lab", created=TIME))
    folder.create_attempt(AttemptClaim(number=1, token="t", claimed=TIME))
    begun = TIME + timedelta(seconds=3)
    folder.write_summary(Summary(started=begun))
    assert load_run(folder).run.started == begun


@pytest.mark.parametrize("path", ["manifest.json", "summary.json", "attempts/1.json"])
def test_one_damaged_document_hides_no_other(folder, path):
    folder.create_run(RunRecord(uid=folder.uid, workspace="lab", created=TIME))
    folder.create_attempt(AttemptClaim(number=1, token="t", claimed=TIME))
    folder.write_manifest(MANIFEST)
    folder.write_summary(Summary(hparams={"lr": 0.1}))
    folder.store.put(folder.key(path), b'{"format"')
    loaded = load_run(folder)
    assert loaded.run.workspace == "lab"
    assert len(loaded.problems) == 1
    assert path in loaded.problems[0]


def test_a_run_without_its_document(folder):
    folder.write_manifest(MANIFEST)
    loaded = load_run(folder)
    assert loaded.run is None
    assert "run.json" in loaded.problems[0]


@pytest.mark.parametrize(
    ("source", "is_event_file", "path"),
    [
        ("output/tensorboard/train/e.tfevents", True, "tb/train/e.tfevents"),
        ("output/train/e.tfevents", True, "tb/train/e.tfevents"),
        ("output/e.tfevents", True, "tb/e.tfevents"),
        ("watch/tmp/x/e.tfevents", True, "tb/x/e.tfevents"),
        ("output/tensorboard/projector.pbtxt", False, "output/tensorboard/projector.pbtxt"),
        ("log/1.txt", False, "log/1.txt"),
        ("output/a\\b\n", False, "output/a%5Cb%0A"),
        ("output/\udcff.", False, "output/%FF%2E"),
    ],
)
def test_where_a_source_belongs(source, is_event_file, path):
    assert path_of(source, is_event_file=is_event_file) == path


def test_names_that_are_too_long_stay_different():
    long = ["x" * 250 + end for end in ("a", "b")]
    paths = {path_of(f"output/{name}", is_event_file=False) for name in long}
    assert len(paths) == 2
    assert max(len(path.rpartition("/")[2]) for path in paths) <= 225
    deep = path_of("output/" + "d/" * 400 + "file", is_event_file=False)
    assert len(deep) < 200
    assert deep.endswith("/file")


def test_segments_and_logdirs():
    assert segment_path("tb/x", 12) == "tb/x.00000012"
    assert split_segment("tb/x.00000012") == ("tb/x", 12)
    assert split_segment("tb/x.12") is None
    assert logdir_of("tb/train/deep/e.tfevents") == "train/deep"
    assert logdir_of("tb/e.tfevents") == ""


def test_a_logical_file_is_read_across_segments(folder):
    row = FileRow(
        path="tb/x",
        source="output/x",
        bytes=10,
        segments=(Segment(0, 4), Segment(3, 4), Segment(9, 2)),
        next_segment=10,
    )
    for number, data in ((0, b"0123"), (3, b"4567 and more"), (9, b"89")):
        folder.store.put(folder.key(segment_path("tb/x", number)), data)
    assert read_logical(folder, row) == b"0123456789"
    assert read_logical(folder, row, 3, 9) == b"345678"
    assert read_logical(folder, row, 5, 6) == b"5"
    assert len(pieces_of(row, 5, 6)) == 1
    assert read_logical(folder, row, 10, 20) == b""
    folder.delete(["tb/x.00000003"])
    with pytest.raises(ManifestOutdated, match=r"tb/x\.00000003"):
        read_logical(folder, row)
