# SPDX-License-Identifier: Apache-2.0
"""Mistakes are refused when they are made: the message names the argument, what it was, and what is allowed."""

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.errors import AboardError, InvalidType, InvalidValue, MissingPackage, StorageUnavailable
from support.cases import all_cases
from support.privileges import folder_of_an_ordinary_user
from support.reading import raw_events

PICTURE = np.zeros((3, 4, 5))
BOX = np.array([[0, 0, 2, 2]])
VIDEO = np.zeros((1, 2, 3, 4, 4))


class NoArray:
    def __repr__(self):
        return "<no array>"


CASES = {
    "scalar: several": (lambda w: w.add_scalar("t", [1, 2, 3]), "scalar_value must be one number, got 3 of them"),
    "scalar: none": (lambda w: w.add_scalar("t", []), "scalar_value must be one number, got 0 of them"),
    "scalar: text": (lambda w: w.add_scalar("t", "1.5"), r"scalar_value must be a number .* got '1.5' \(builtins.str"),
    "scalar: None": (lambda w: w.add_scalar("t", None), "scalar_value must be a number .* got None"),
    "scalar: object": (lambda w: w.add_scalar("t", NoArray()), "scalar_value must be a number .* got <no array>"),
    "scalar: complex": (lambda w: w.add_scalar("t", 1j), "scalar_value must hold real numbers, got 1j"),
    "scalar: too long": (lambda w: w.add_scalar("t", 10**400), "scalar_value must fit into a double, .* 401 digits"),
    "scalars: list": (lambda w: w.add_scalars("t", [1]), r"tag_scalar_dict must map names to numbers, got \[1\]"),
    "scalars: value": (lambda w: w.add_scalars("t", {"a": [1, 2]}), r"tag_scalar_dict\['a'\] must be one number"),
    "scalars: layout": (lambda w: w.add_scalars("t", {"a": 1}, runs="x"), "'nested', 'flat' or 'none', got 'x'"),
    "scalars: leaves": (lambda w: w.add_scalars("t", {"../a": 1}), "must not leave the log folder, got 't/../a'"),
    "step: text": (lambda w: w.add_scalar("t", 1, "3"), r"global_step must be a number, got '3' \(str\)"),
    "step: NaN": (lambda w: w.add_text("t", "x", np.nan), "global_step must be one finite number, got nan"),
    "step: huge": (lambda w: w.add_scalar("t", 1, 2**63), "global_step must fit into 64 bits, got 9223372036854775808"),
    "step: small": (lambda w: w.add_text("t", "x", -(2**63) - 1), "global_step must fit into 64 bits"),
    "step: several": (lambda w: w.add_scalar("t", 1, np.arange(2)), r"global_step must be a number, got array\(\[0, 1"),
    "time: text": (lambda w: w.add_scalar("t", 1, 1, "now"), "walltime must be seconds since the epoch, got 'now'"),
    "time: NaN": (lambda w: w.add_scalar("t", 1, 1, np.nan), "walltime must be finite seconds .* got nan"),
    "histogram: empty": (lambda w: w.add_histogram("t", []), "The input has no element"),
    "histogram: text": (lambda w: w.add_histogram("t", ["a"]), "values must be a number or an array, got 'a'"),
    "histogram: ragged": (lambda w: w.add_histogram("t", [[1], [1, 2]]), r"values .* one shape, got \(1,\), \(2,\)"),
    "histogram: bins": (lambda w: w.add_histogram("t", [1], bins="nope"), "bins is 'nope'.* allowed are 'tensorflow'"),
    "histogram: max_bins": (lambda w: w.add_histogram("t", [1], max_bins=0), "max_bins is 0; allowed are positive"),
    "histogram: max_bins text": (lambda w: w.add_histogram("t", [1], max_bins="5"), "max_bins must be a number"),
    "raw histogram": (lambda w: w.add_histogram_raw("t", 0, 1, 1, 1, 1, [1], [1, 2]), "bucket_limits.* is 1 .* is 2"),
    "image: letters": (lambda w: w.add_image("t", PICTURE, dataformats="CHX"), "'CHX' .*unknown, .* allowed are 'HW'"),
    "image: count": (lambda w: w.add_image("t", PICTURE[0]), r"'CHW' .*\(4, 5\): 3 letters but 2 dimensions"),
    "image: None": (lambda w: w.add_image("t", PICTURE, dataformats=None), "dataformats must be a string .* got None"),
    "image: channels": (lambda w: w.add_image("t", PICTURE[:2]), "2 channels .* allowed are .* 1, 3 or 4 channels"),
    "image: empty": (lambda w: w.add_image("t", PICTURE[:, :0]), "the image is empty"),
    "image: path": (lambda w: w.add_image("t", "cat.png"), "img_tensor must be a number or an array, got 'cat.png'"),
    "images: sizes": (
        lambda w: w.add_images("t", [PICTURE, PICTURE[:, :2]], dataformats="CHW"),
        r"img_tensor must hold elements of one shape, got \(3, 4, 5\), \(3, 2, 5\)",
    ),
    "images: None": (lambda w: w.add_images("t", [PICTURE], dataformats=None), "dataformats must be a string"),
    "boxes: shape": (lambda w: w.add_image_with_boxes("t", PICTURE, [[1, 2]]), r"\(1, 2\) .* allowed is N x 4"),
    "boxes: number": (lambda w: w.add_image_with_boxes("t", PICTURE, 5, labels=["a"]), "allowed is N x 4"),
    "boxes: rescale": (lambda w: w.add_image_with_boxes("t", PICTURE, BOX, rescale=0), "rescale is 0.0"),
    "boxes: dataformats": (lambda w: w.add_image_with_boxes("t", PICTURE, BOX, dataformats=7), "string .* got 7"),
    "figure": (lambda w: w.add_figure("t", 5), "figure must be a matplotlib Figure or a list of them, got 5"),
    "figures: none": (lambda w: w.add_figure("t", []), r"list of figures of one size, got sizes \[\]"),
    "video: shape": (lambda w: w.add_video("t", PICTURE), r"'NTCHW' .*5 letters but 3 dimensions"),
    "video: fps": (lambda w: w.add_video("t", VIDEO, fps=0), "fps must be a positive number .* got 0"),
    "video: fps NaN": (lambda w: w.add_video("t", VIDEO, fps=np.nan), "fps must be a positive number"),
    "video: None": (lambda w: w.add_video("t", VIDEO, dataformats=None), "dataformats must be a string"),
    "audio: shape": (lambda w: w.add_audio("t", np.zeros((3, 9))), r"shape \(3, 9\).* allowed are L samples"),
    "audio: NaN": (lambda w: w.add_audio("t", [np.nan]), "contains NaN; allowed are"),
    "audio: rate": (lambda w: w.add_audio("t", [0.0], sample_rate=0), "sample_rate is 0; allowed are 1 to"),
    "audio: rate NaN": (lambda w: w.add_audio("t", [0.0], sample_rate=np.nan), "sample_rate must be a whole number"),
    "text": (lambda w: w.add_text("t", 5), r"text_string must be a string, got 5 \(int\)"),
    "pr: lengths": (lambda w: w.add_pr_curve("t", [0, 1], [0.5]), "labels has 2 .* predictions has 1; .* equal"),
    "pr: range": (lambda w: w.add_pr_curve("t", [0, 1], [0.5, 2]), "predictions contains 2.0; .* from 0 to 1"),
    "pr: thresholds": (lambda w: w.add_pr_curve("t", [0], [1], num_thresholds=0), "num_thresholds is 0; allowed"),
    "pr: thresholds None": (lambda w: w.add_pr_curve("t", [0], [1], num_thresholds=None), "num_thresholds must be"),
    "pr: fraction": (lambda w: w.add_pr_curve("t", [0], [1], num_thresholds=2.5), "num_thresholds .* got 2.5"),
    "raw pr": (lambda w: w.add_pr_curve_raw("t", [1], [1], [1], [1], [1], [1, 2]), "recall 2; all six must be equal"),
    "mesh: None": (lambda w: w.add_mesh("t", None), "vertices must be a number or an array, got None"),
    "mesh: shape": (lambda w: w.add_mesh("t", np.zeros((2, 2))), r"vertices has shape \(2, 2\) .* allowed are"),
    "mesh: config": (lambda w: w.add_mesh("t", np.zeros((2, 3)), config_dict={"a": NoArray()}), "which is not JSON"),
    "tensor: object": (lambda w: w.add_tensor("t", NoArray()), "tensor must be a number or an array, got <no array>"),
    "tensor: texts": (lambda w: w.add_tensor("t", np.array(["a"])), "tensor must hold numbers"),
    "hparams: domain": (lambda w: w.add_hparams({"a": 1}, {}, {"b": [1]}), r"domain_discrete\['b'\] .* allowed: 'a'"),
    "onnx: missing": (lambda w: w.add_onnx_graph("/no/model.onnx"), "no ONNX file '/no/model.onnx'"),
    "onnx: nothing": (lambda w: w.add_onnx_graph(), "None"),
}


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


@all_cases("name", CASES)
def test_refused(name, writer, tmp_path):
    call, message = CASES[name]
    with pytest.raises(AboardError, match=f"(?s){message}") as caught:
        call(writer)
    assert isinstance(caught.value, ValueError | TypeError)  # as a person's own `except` expects
    assert caught.value.status == 400
    writer.flush()
    assert len(raw_events(tmp_path)) == 1, "something was written all the same"


def test_the_writer_goes_on_after_mistakes(writer, tmp_path):
    for call, _ in CASES.values():
        with pytest.raises(AboardError):
            call(writer)
    writer.add_scalar("t", 1, 1)
    writer.flush()
    assert len(raw_events(tmp_path)) == 2


def test_long_values_are_cut_in_messages(writer):
    with pytest.raises(AboardError) as caught:
        writer.add_scalar("t", "x" * 10_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logdir": 5}, InvalidType, r"logdir must be a path, got 5 \(int\)"),
        ({"logdir": "a\0b"}, InvalidValue, "logdir and filename_suffix must be valid in a path"),
        ({"filename_suffix": "a/b"}, InvalidValue, "logdir and filename_suffix must be valid in a path, .*'a/b'"),
        ({"filename_suffix": 5}, InvalidValue, "logdir and filename_suffix must be valid in a path, .* 5"),
        ({"filename_suffix": "\ud800"}, InvalidValue, "logdir and filename_suffix must be valid in a path"),
        ({"flush_secs": -1}, InvalidValue, "flush_secs must be a number of seconds, 0 or more, got -1"),
        ({"flush_secs": "1"}, InvalidValue, "flush_secs must be .* got '1'"),
        ({"flush_secs": np.nan}, InvalidValue, "flush_secs must be .* got nan"),
        ({"max_queue": -1}, InvalidValue, "max_queue must be a number of entries, 0 or more, got -1"),
        ({"max_queue": 1.5}, InvalidValue, "max_queue must be .* got 1.5"),
        ({"purge_step": "3"}, InvalidType, "purge_step must be a number, got '3'"),
        ({"purge_step": 2**63}, InvalidValue, "purge_step must fit into 64 bits"),
    ],
)
def test_arguments_of_the_writer(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        SummaryWriter(**{"logdir": "log", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_misspelt_arguments_are_named(tmp_path):
    """tensorboardX swallows them."""
    with pytest.raises(TypeError, match="flush_sec"):
        SummaryWriter(tmp_path, flush_sec=1)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnavailable, match=r"cannot create an event file in '.*/file/log': Not a directory") as e:
        SummaryWriter(tmp_path / "file" / "log")
    assert isinstance(e.value, OSError)
    assert "hint:" in str(e.value)


def test_a_folder_without_permission():
    with folder_of_an_ordinary_user() as folder:
        folder.chmod(0o500)
        with pytest.raises(StorageUnavailable, match="Permission denied"):
            SummaryWriter(folder / "log")


def test_a_series_whose_name_is_too_long_for_a_folder(writer):
    with pytest.raises(StorageUnavailable, match="File name too long"):
        writer.add_scalars("t", {"x" * 10_000: 1})


def test_add_graph_without_torch(writer, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackage, match="add_graph needs torch") as caught:
        writer.add_graph(object())
    assert isinstance(caught.value, ImportError)
    assert "pip install torch" in caught.value.hint


def test_add_figure_without_matplotlib(writer, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackage, match="add_figure needs matplotlib"):
        writer.add_figure("t", object())
