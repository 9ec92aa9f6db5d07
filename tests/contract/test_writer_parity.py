# SPDX-License-Identifier: Apache-2.0
"""What aboard writes means to TensorBoard what tensorboardX would have written; the cases state each difference."""

import re

import numpy as np
import pytest
import tensorboardX

import aboard
from support.parity_cases import CASES, TBX, cases_of, check
from support.reading import event_files, points, raw_events, raw_values

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.mark.parametrize("name", cases_of(TBX))
def test_same_meaning(name, tmp_path):
    check(CASES[name], TBX, tensorboardX.SummaryWriter, np.asarray, tmp_path)


@pytest.fixture
def both(tmp_path):
    """Runs the same calls with both writers and gives their folders, aboard's first."""

    def run(calls):
        for name, module in (("ours", aboard), ("theirs", tensorboardX)):
            with module.SummaryWriter(str(tmp_path / name)) as writer:
                calls(writer)
        return tmp_path / "ours", tmp_path / "theirs"

    return run


def test_file_begins_with_its_version_as_the_peers_does(both):
    ours, theirs = (raw_events(folder) for folder in both(lambda w: w.add_scalar("t", 1)))
    assert [e.file_version for e in ours] == [e.file_version for e in theirs] == ["brain.Event:2", ""]


def test_file_name_also_has_process_and_number(both):
    """tensorboardX stops after the host: two writers in one second overwrite each other. torch adds both, as here."""
    ours, theirs = both(lambda w: w.add_scalar("t", 1))
    (mine,), (other,) = event_files(ours), event_files(theirs)
    host = re.escape(other.name.split(".", 4)[4])
    assert re.fullmatch(rf"events\.out\.tfevents\.\d{{10}}\.{host}\.\d+\.\d+", mine.name)


def test_purge_marks_the_same_step(tmp_path):
    for name, module in (("ours", aboard), ("theirs", tensorboardX)):
        with module.SummaryWriter(str(tmp_path / name), purge_step=40) as writer:
            writer.add_scalar("t", 1, 41)
    marks = [
        [(e.step, e.session_log.status) for e in raw_events(tmp_path / name) if e.HasField("session_log")]
        for name in ("ours", "theirs")
    ]
    assert marks[0] == marks[1] == [(40, 1)]


def test_use_metadata_reaches_every_kind(both):
    def calls(writer):
        with writer.use_metadata(global_step=9, walltime=123.5):
            writer.add_scalar("scalar", 1)
            writer.add_histogram("histogram", np.arange(4))
            writer.add_text("text", "x")
            writer.add_image("image", np.zeros((3, 2, 2), np.uint8))
            writer.add_scalar("own", 1, 3, 4.5)

    ours, theirs = ([(p.tag, p.step, p.wall_time) for p in points(folder)] for folder in both(calls))
    assert ours == theirs
    assert ("own", 3, 4.5) in ours
    assert ("image", 9, 123.5) in ours


def test_onnx_graph_has_the_same_nodes(both, tmp_path):
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="relu"), helper.make_node("Neg", ["y"], ["z"], name="neg")],
        "model",
        [value("x", TensorProto.FLOAT, [1, 2])],
        [value("z", TensorProto.FLOAT, [1, 2])],
    )
    onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
    ours, theirs = both(lambda w: w.add_onnx_graph(str(tmp_path / "model.onnx")))
    (mine,), (other,) = points(ours), points(theirs)
    assert (mine.tag, mine.plugin) == (other.tag, other.plugin) == ("__run_graph__", "graphs")
    assert mine.value.keys() == other.value.keys() == {"x", "y", "z"}


def test_histogram_statistics(both):
    ours, theirs = both(lambda w: w.add_histogram("h", np.linspace(-1, 3, 50), 1))
    (mine,), (other,) = ([v.histo for _, v in raw_values(f)] for f in (ours, theirs))
    assert (mine.min, mine.max, mine.num) == (other.min, other.max, other.num)
    np.testing.assert_allclose([mine.sum, mine.sum_squares], [other.sum, other.sum_squares])


def test_histogram_statistics_are_of_finite_values_only(both):
    """tensorboardX puts NaN into min, max and sums, which then say nothing; num counts all values in both."""
    with np.errstate(invalid="ignore"):
        ours, theirs = both(lambda w: w.add_histogram("h", np.array([1.0, np.nan, 3.0, np.inf]), 1))
    (mine,), (other,) = ([v.histo for _, v in raw_values(f)] for f in (ours, theirs))
    assert (mine.min, mine.max, mine.sum, mine.sum_squares) == (1, 3, 4, 10)
    assert np.isnan([other.min, other.max, other.sum]).all()
    assert mine.num == other.num == 4
    assert sum(mine.bucket) == 2


def test_labels_that_do_not_fit_the_boxes_are_left_out(both):
    def calls(writer):
        writer.add_image_with_boxes("b", np.zeros((3, 9, 9), np.uint8), np.array([[1, 1, 5, 5]]), 1, labels=["a", "b"])

    ours, theirs = (points(folder)[0] for folder in both(calls))
    np.testing.assert_array_equal(ours.value["frames"], theirs.value["frames"])


def test_custom_charts_accumulate(both):
    """The last layout wins in TensorBoard: tensorboardX's second chart hides the first, aboard's layout has both."""

    def calls(writer):
        writer.add_custom_scalars_multilinechart(["a"], "cat", "one")
        writer.add_custom_scalars_marginchart(["a", "b", "c"], "cat", "two")

    ours, theirs = (points(folder)[-1].value for folder in both(calls))
    assert [chart.title for chart in ours.category[0].chart] == ["one", "two"]
    assert [chart.title for chart in theirs.category[0].chart] == ["two"]
