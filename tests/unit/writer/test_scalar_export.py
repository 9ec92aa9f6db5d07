# SPDX-License-Identifier: Apache-2.0
"""`export_scalars_to_json` writes every scalar once, also those of `add_scalar`, which tensorboardX leaves out."""

import json

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidValue


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path / "log") as writer:
        yield writer


def exported(writer, path):
    writer.export_scalars_to_json(path)
    return json.loads(path.read_text())


def test_series_by_folder_and_scalars_by_tag(writer, tmp_path):
    log = str(tmp_path / "log")
    writer.add_scalars("both", {"a": 1, "b": 2}, 5, 100.0)
    writer.add_scalar("loss/train", 0.5, 6, 101.0)
    assert exported(writer, tmp_path / "out.json") == {
        f"{log}/both/a": [[100.0, 5, 1.0]],
        f"{log}/both/b": [[100.0, 5, 2.0]],
        f"{log}/loss/train": [[101.0, 6, 0.5]],
    }


def test_same_form_as_tensorboardx(writer, tmp_path):
    import tensorboardX

    with tensorboardX.SummaryWriter(str(tmp_path / "log")) as peer:
        for step in range(3):
            for one in (writer, peer):
                one.add_scalars("both", {"a": step, "b": -step}, step, 100.0 + step)
        theirs = exported(peer, tmp_path / "theirs.json")
    ours = exported(writer, tmp_path / "ours.json")
    assert ours == {name.replace("//", "/"): series for name, series in theirs.items()}


def test_each_point_is_exported_once(writer, tmp_path):
    writer.add_scalar("t", 1, 1, 10.0)
    assert len(exported(writer, tmp_path / "out.json")) == 1
    assert exported(writer, tmp_path / "out.json") == {}
    writer.add_scalar("t", 2, 2, 11.0)
    ((_, series),) = exported(writer, tmp_path / "out.json").items()
    assert series == [[11.0, 2, 2.0]]


def test_a_failed_export_keeps_the_points(writer, tmp_path):
    writer.add_scalar("t", 1, 1, 10.0)
    with pytest.raises(FileNotFoundError):
        writer.export_scalars_to_json(tmp_path / "missing" / "out.json")
    assert len(exported(writer, tmp_path / "out.json")) == 1


def test_after_close_and_across_files(writer, tmp_path):
    writer.add_scalar("t", 1, 1, 10.0)
    writer.close()
    writer.add_scalar("t", 2, 2, 11.0)
    writer.close()
    ((_, series),) = exported(writer, tmp_path / "out.json").items()
    assert series == [[10.0, 1, 1.0], [11.0, 2, 2.0]]


def test_numbers_that_json_lacks_are_words(writer, tmp_path):
    for step, value in enumerate([np.nan, np.inf, -np.inf]):
        writer.add_scalar("t", value, step, 1.0)
    ((_, series),) = exported(writer, tmp_path / "out.json").items()
    assert [value for _, _, value in series] == ["NaN", "Infinity", "-Infinity"]


def test_nothing_logged(writer, tmp_path):
    assert exported(writer, tmp_path / "out.json") == {}


def test_a_writer_without_files_says_so(tmp_path):
    writer = SummaryWriter(tmp_path / "none", write_to_disk=False)
    with pytest.raises(InvalidValue, match="export_scalars_to_json") as caught:
        writer.export_scalars_to_json(tmp_path / "out.json")
    assert "write_to_disk=True" in caught.value.hint
