# SPDX-License-Identifier: Apache-2.0
"""Pictures, sounds, histograms, texts, arrays and graphs through `aboard.open`, read when they are looked at."""

import io

import numpy as np
import pytest
import soundfile
from PIL import Image
from tensorboard.compat.proto import summary_pb2

import aboard
from aboard import SummaryWriter, events
from aboard.errors import InvalidValue, StorageUnavailable
from support.raw_events import write_event_file

PIXELS = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3) * 4


def opened(folder):
    (run,) = aboard.open(folder).runs
    return run


def png(mode="RGB"):
    file = io.BytesIO()
    Image.fromarray(PIXELS).convert(mode).save(file, format="PNG")
    return file.getvalue()


def tensor_of(plugin, strings, shape=None, tag="x"):
    value = summary_pb2.Summary.Value(tag=tag)
    value.metadata.plugin_data.plugin_name = plugin
    value.tensor.dtype = 7
    value.tensor.string_val.extend(strings)
    for size in shape or [len(strings)]:
        value.tensor.tensor_shape.dim.add(size=size)
    return value


def test_pictures(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("picture", PIXELS, 3, dataformats="HWC", walltime=12.5)
        writer.add_image("picture", PIXELS[:, :, 0], 4, dataformats="HW")
    series = opened(tmp_path).images["picture"]
    assert len(series) == 2
    assert series.steps.tolist() == [3, 4]
    assert series.wall_times[0] == 12.5
    assert series.plugin == "images"
    picture = series[0]
    assert (picture.step, picture.wall_time, picture.width, picture.height) == (3, 12.5, 5, 4)
    assert picture.data.startswith(b"\x89PNG")
    assert picture.files == [picture.data]
    assert np.array_equal(picture.array(), PIXELS)
    assert series[1].array().shape == (4, 5, 3)
    assert [one.step for one in series] == [3, 4]
    assert series[1:].steps.tolist() == [4]
    assert repr(series) == "<'picture' of '.': 2 x Image>"
    assert repr(picture) == "<Image of 'picture' at step 3>"


def test_several_pictures_of_one_step_as_tensorflow_writes_them(tmp_path):
    write_event_file(tmp_path, (1, 2.0, tensor_of("images", [b"5", b"4", png(), png("L")])))
    (picture,) = opened(tmp_path).images["x"]
    assert (picture.width, picture.height, len(picture.files)) == (5, 4, 2)
    assert np.array_equal(picture.array(0), PIXELS)
    assert picture.array(1).shape == picture.array(-1).shape == (4, 5, 1)
    with pytest.raises(InvalidValue, match="has 2 pictures"):
        picture.array(2)


@pytest.mark.parametrize("mode", ["P", "1", "LA", "RGBA", "I;16"])
def test_pixels_of_every_mode_have_three_axes(tmp_path, mode):
    write_event_file(tmp_path, (1, 2.0, tensor_of("images", [b"5", b"4", png(mode)])))
    assert opened(tmp_path).images["x"][0].array().shape[:2] == (4, 5)
    assert opened(tmp_path).images["x"][0].array().ndim == 3


def test_a_film_has_frames(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (1, 3, 3, 8, 8), dtype=np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", frames, 1)
    assert opened(tmp_path).images["film"][0].array().shape == (3, 8, 8, 3)


@pytest.mark.parametrize("strings", [[], [b"5"], [b"x", b"y", b"no picture"], [b"1", b"1", png()[:30]]])
def test_pictures_that_are_none(tmp_path, strings):
    write_event_file(tmp_path, (1, 2.0, tensor_of("images", strings)))
    picture = opened(tmp_path).images["x"][0]
    assert picture.width in (0, 1, 5)
    assert picture.data == b"".join(strings[2:])
    with pytest.raises(InvalidValue, match=r"cannot be decoded|has 0 pictures"):
        picture.array()


def test_sounds(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("tone", np.linspace(-1, 1, 100), 2, sample_rate=8000)
    (sound,) = opened(tmp_path).audio["tone"]
    assert sound.rate == 8000
    samples, rate = soundfile.read(io.BytesIO(sound.data))
    assert (len(samples), rate) == (100, 8000)
    assert sound.files == [sound.data]


def test_the_rate_of_a_sound_that_is_no_wav_file_is_what_the_writer_said(tmp_path):
    said = summary_pb2.Summary.Value(tag="said")
    said.audio.sample_rate = 44100
    said.audio.encoded_audio_string = b"RIFF....WAVEjunk"
    unsaid = tensor_of("audio", [b"OggS", b"a label"], [1, 2], tag="unsaid")
    write_event_file(tmp_path, (1, 1.0, said), (1, 2.0, unsaid))
    run = opened(tmp_path)
    assert run.audio["said"][0].rate == 44100
    assert run.audio["unsaid"][0].rate is None
    assert run.audio["unsaid"][0].files == [b"OggS"]


def test_histograms_are_exact(tmp_path):
    """Not in the single precision in which TensorBoard sends them to its page."""
    many = 2**24 + 1
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram_raw("w", 0.1, 0.3, many + 1, 1, 1, [0.2, 0.3], [many, 1], 7)
    (histogram,) = opened(tmp_path).histograms["w"]
    assert histogram.buckets.tolist() == [[0.1, 0.2, many], [0.2, 0.3, 1]]
    assert histogram.lefts.tolist() == [0.1, 0.2]
    assert histogram.rights.tolist() == [0.2, 0.3]
    assert histogram.counts.tolist() == [many, 1]
    assert histogram.step == 7


def test_histograms_as_tensorflow_writes_them(tmp_path):
    value = summary_pb2.Summary.Value(tag="w")
    value.metadata.plugin_data.plugin_name = "histograms"
    value.tensor.dtype = 2
    value.tensor.double_val.extend([0, 1, 5, 1, 2, 6])
    for size in (2, 3):
        value.tensor.tensor_shape.dim.add(size=size)
    write_event_file(tmp_path, (1, 1.0, value), (2, 1.0, tensor_of("histograms", [b"none"], tag="w")))
    run = opened(tmp_path)
    assert run.histograms["w"][0].buckets.tolist() == [[0, 1, 5], [1, 2, 6]]
    assert run.histograms["w"][1].buckets.shape == (0, 3)


def test_texts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "grüße 🚀", 1)
    table = tensor_of("text", [b"a", b"b", b"c", b"\xff"], [2, 2], tag="table")
    write_event_file(tmp_path / "table", (1, 1.0, table))
    note, run = aboard.open(tmp_path).runs
    assert [text.text for text in note.text["note/text_summary"]] == ["grüße 🚀"]
    assert run.text["table"][0].text == "a\nb\nc\n�"
    assert run.text["table"][0].array().tolist() == [["a", "b"], ["c", "�"]]


def test_everything_else_is_a_tensor(tmp_path):
    vertices = np.arange(12, dtype=np.float32).reshape(1, 4, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("cloud", vertices, global_step=1)
        writer.add_pr_curve("curve", np.array([0, 1]), np.array([0.1, 0.9]), 1)
        writer.add_tensor("array", np.eye(2), 1)
        writer.add_hparams({"lr": 1}, {"m": 1}, in_place=True)
        writer.add_scalar("loss", 1, 1)
    run = opened(tmp_path)
    assert {tag: series.plugin for tag, series in run.tensors.items()} == {
        "cloud_VERTEX": "mesh", "curve": "pr_curves", "array": run.tensors["array"].plugin,
    }  # fmt: skip
    assert np.array_equal(run.tensors["cloud_VERTEX"][0].array(), vertices)
    assert run.tensors["curve"][0].array().shape == (6, 127)
    assert run.tensors["curve"].plugin_content
    assert run.tensors["array"][0].array().tolist() == [[1, 0], [0, 1]]
    assert list(run.scalars) == ["m", "loss"]


def test_scalars_of_other_plugins_are_scalars(tmp_path):
    value = summary_pb2.Summary.Value(tag="speed")
    value.metadata.plugin_data.plugin_name = "my_plugin"
    value.metadata.data_class = summary_pb2.DATA_CLASS_SCALAR
    value.tensor.dtype = 1
    value.tensor.float_val.append(2.5)
    write_event_file(tmp_path, (1, 1.0, value), (1, 1.0, tensor_of("my_plugin", [b"z"], tag="other")))
    run = opened(tmp_path)
    assert run.scalars["speed"].values.tolist() == [2.5]
    assert run.tensors["other"][0].array().tolist() == [b"z"]
    assert "speed" not in run.tensors


def test_graphs(tmp_path):
    definition = events.graph.graph_def([events.graph.GraphNode(name="x", op="Placeholder")])
    with SummaryWriter(tmp_path) as writer:
        writer.file_writer.add_graph((definition, events.graph.run_metadata()))
    graphs = opened(tmp_path).graphs
    assert graphs["__run_graph__"][0].data == bytes(definition)
    assert "step1" in graphs


def test_a_board_and_a_series_have_the_newest_value_of_each_step(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for number in range(3):
            writer.add_text("note", str(number))
        writer.add_text("note", "later", 1)
    series = opened(tmp_path).text["note/text_summary"]
    assert [one.text for one in series] == ["2", "later"]
    assert [one.text for one in series.all] == ["0", "1", "2", "later"]


def test_a_value_whose_file_has_gone_is_said(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("picture", PIXELS, 3, dataformats="HWC")
        writer.add_text("note", "words", 1)
    run = opened(tmp_path)
    (file,) = tmp_path.iterdir()
    file.unlink()
    with pytest.raises(StorageUnavailable, match=r"step 3 of 'picture' can no longer be read.*\n.*refresh"):
        _ = run.images["picture"][0].width
    with pytest.raises(OSError, match="step 1 of 'note/text_summary'"):
        _ = run.text["note/text_summary"][0].text
