# SPDX-License-Identifier: Apache-2.0
"""`GlobalSummaryWriter`: each tag counts its own steps; one writer for the whole program."""

import pickle

import numpy as np
import pytest

from aboard import GlobalSummaryWriter
from aboard.writer import global_writer
from support.reading import points


@pytest.fixture(params=[True, False], ids=["shared", "own"])
def writer(request, tmp_path):
    writer = GlobalSummaryWriter(str(tmp_path), coalesce_process=request.param)
    yield writer
    writer.close()


def steps(folder):
    found = {}
    for point in points(folder):
        found.setdefault(point.tag, []).append(point.step)
    return found


def test_every_tag_counts_from_zero(writer, tmp_path):
    for _ in range(3):
        writer.add_scalar("a", 1)
    writer.add_scalar("b", 1)
    writer.close()
    assert steps(tmp_path) == {"a": [0, 1, 2], "b": [0]}


def test_every_kind_has_its_own_count(writer, tmp_path):
    for _ in range(2):
        writer.add_scalar("scalar", 1, walltime=5.0)
        writer.add_histogram("histogram", np.arange(3))
        writer.add_image("image", np.zeros((4, 4, 3)), dataformats="HWC")
        writer.add_audio("audio", np.zeros(8), sample_rate=8000)
        writer.add_text("text", "x")
    writer.flush()
    assert steps(tmp_path) == {tag: [0, 1] for tag in ("scalar", "histogram", "image", "audio", "text/text_summary")}


def test_a_copy_counts_on(tmp_path):
    """As in another process; the tests of the engine do it with real ones."""
    writer = GlobalSummaryWriter(str(tmp_path))
    writer.add_scalar("t", 1)
    copy = pickle.loads(pickle.dumps(writer))
    copy.add_scalar("t", 1)
    writer.add_scalar("t", 1)
    copy.close()
    writer.close()
    assert steps(tmp_path) == {"t": [0, 1, 2]}


def test_one_writer_for_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(global_writer, "_shared", {})
    first = GlobalSummaryWriter.getSummaryWriter()
    assert GlobalSummaryWriter.getSummaryWriter() is first
    first.add_scalar("t", 1)
    GlobalSummaryWriter.getSummaryWriter().add_scalar("t", 2)
    first.close()
    (run,) = (tmp_path / "runs").iterdir()
    assert first.get_logdir() == f"runs/{run.name}"
    assert steps(run) == {"t": [0, 1]}


def test_file_writer_is_reachable(writer, tmp_path):
    assert writer.file_writer.get_logdir() == str(tmp_path)
