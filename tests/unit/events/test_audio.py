# SPDX-License-Identifier: Apache-2.0
"""Sound reads back as 16-bit PCM equal to what tensorboardX writes with libsndfile."""

import io
import wave

import numpy as np
import pytest
import soundfile
import tensorboardX.summary as peer
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import Summary

from aboard.errors import InvalidValue
from aboard.events.audio import audio, clipped
from support.cases import all_cases

RANDOM = np.random.default_rng(0)


def parsed(data):
    (value,) = Summary.FromString(data).value
    return value.audio


def pcm(sound):
    return soundfile.read(io.BytesIO(sound.encoded_audio_string), dtype="int16", always_2d=True)[0]


@all_cases("shape", [(1,), (100,), (100, 1), (100, 2), (3, 1), (2, 2)])
@all_cases("dtype", [np.float32, np.float64])
def test_equals_tensorboardx(shape, dtype):
    samples = RANDOM.uniform(-1, 1, shape).astype(dtype)
    ours = parsed(audio("t", samples, sample_rate=8000))
    theirs = parsed(peer.audio("t", samples, sample_rate=8000).SerializeToString())
    for field in ("sample_rate", "num_channels", "length_frames", "content_type"):
        assert getattr(ours, field) == getattr(theirs, field)
    # libsndfile rounds down; aboard rounds to the nearest level.
    assert np.abs(pcm(ours).astype(int) - pcm(theirs)).max() <= 1


@pytest.mark.parametrize(
    ("shape", "frames", "channels"), [((1, 9), 9, 1), ((2, 9), 9, 2), ((1, 2), 2, 1), ((2, 3), 3, 2)]
)
def test_channels_first(shape, frames, channels):
    samples = RANDOM.uniform(-1, 1, shape)
    sound = parsed(audio("t", samples, sample_rate=44100))
    assert (sound.length_frames, sound.num_channels) == (frames, channels)
    np.testing.assert_array_equal(pcm(sound), np.rint(samples.T * 32768).clip(-32768, 32767))


def test_wav_header():
    sound = parsed(audio("t", np.zeros((10, 2)), sample_rate=22050))
    with wave.open(io.BytesIO(sound.encoded_audio_string)) as reader:
        assert reader.getparams()[:4] == (2, 2, 22050, 10)
    assert sound.content_type == "audio/wav"


def test_int16_is_pcm():
    samples = np.array([-32768, -1, 0, 1, 32767], np.int16)
    assert pcm(parsed(audio("t", samples, sample_rate=8000)))[:, 0].tolist() == samples.tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float16])
def test_other_dtypes_are_amplitudes(dtype):
    samples = np.array([0, 1, -1, 0]).astype(dtype)
    assert pcm(parsed(audio("t", samples, sample_rate=8000)))[:, 0].tolist() == [0, 32767, -32768, 0]


def test_loud_samples_are_clipped_and_do_not_wrap():
    samples = np.array([2.0, -3.0, np.inf, 0.5])
    assert pcm(parsed(audio("t", samples, sample_rate=8000)))[:, 0].tolist() == [32767, -32768, 32767, 16384]


def test_clipped():
    loud = np.array([2.0, -3.0, 0.5])
    result, changed = clipped(loud)
    assert (result.tolist(), changed) == ([1, -1, 0.5], True)
    assert loud.tolist() == [2, -3, 0.5]
    for quiet in (np.array([1.0, -1.0]), np.array([30000], np.int16), np.zeros(0), np.array([1], np.uint8)):
        result, changed = clipped(quiet)
        assert result is quiet
        assert not changed
    assert clipped(np.array([5], np.uint8))[1]


def test_tensorboard_shows_it():
    (value,) = Summary.FromString(audio("t", np.zeros(3), sample_rate=8000)).value
    assert data_compat.migrate_value(value).metadata.plugin_data.plugin_name == "audio"


@pytest.mark.parametrize("shape", [(0,), (0, 2), (), (1, 1, 9), (9, 3), (3, 9)])
def test_bad_shapes(shape):
    with pytest.raises(InvalidValue) as caught:
        audio("t", np.zeros(shape), sample_rate=8000)
    assert f"samples has shape {shape}" in str(caught.value)
    assert "allowed are L samples" in str(caught.value)


def test_nan():
    with pytest.raises(InvalidValue, match="samples contains NaN; allowed are numbers from -1 to 1"):
        audio("t", np.array([0, np.nan]), sample_rate=8000)


def test_bad_dtype():
    with pytest.raises(InvalidValue, match="dtype complex128; allowed are floats"):
        audio("t", np.zeros(3, complex), sample_rate=8000)


@pytest.mark.parametrize("sample_rate", [0, -8000, 2**31])
def test_bad_sample_rate(sample_rate):
    with pytest.raises(InvalidValue, match=f"sample_rate is {sample_rate}; allowed are 1 to"):
        audio("t", np.zeros(3), sample_rate=sample_rate)
