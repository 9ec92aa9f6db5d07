# SPDX-License-Identifier: Apache-2.0
"""Sound as a 16-bit PCM WAV file in an audio summary."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.event import BLOB_SEQUENCE, summary, summary_metadata, tagged_value

_FULL_SCALE = 32768  # by which readers divide
_MAX_CHANNELS = 2
_WAV_ENCODING = b"\x10\x0b"  # AudioPluginData with encoding WAV


def audio(tag: str, samples: NDArray[Any], *, sample_rate: int) -> bytes:
    """Amplitudes from -1 to 1, or int16 samples: one channel, frames x channels, or channels x frames."""
    if not 0 < sample_rate < 2**31:
        raise InvalidValue(f"sample_rate is {sample_rate}; allowed are 1 to 2147483647 samples per second")
    pcm = _pcm(_frames_first(samples))
    sound = Message()
    sound.float(1, sample_rate)
    sound.varint(2, pcm.shape[1])
    sound.varint(3, pcm.shape[0])
    sound.bytes(4, _wav(pcm, sample_rate))
    sound.string(5, "audio/wav")
    value = tagged_value(tag)
    value.message(6, sound)
    # Without it TensorBoard's fast loader serves the clip as application/octet-stream.
    value.message(9, summary_metadata(plugin="audio", content=_WAV_ENCODING, data_class=BLOB_SEQUENCE))
    return summary(value)


def clipped(samples: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """The samples within -1..1, and whether any was outside; int16 samples are PCM and stay as they are."""
    if samples.dtype == np.int16 or samples.size == 0 or samples.dtype.kind not in "iuf":
        return samples, False
    if samples.max() <= 1 and samples.min() >= -1:
        return samples, False
    # Only above 1 for unsigned samples, where -1 does not exist.
    lowest = 0 if samples.dtype.kind == "u" else -1
    limited = samples.clip(lowest, 1)
    return limited, bool(np.any(samples != limited))


def _frames_first(samples: NDArray[Any]) -> NDArray[Any]:
    allowed = "allowed are L samples, L x 1 or L x 2, and 1 x L or 2 x L"
    if samples.size == 0 or samples.ndim not in (1, 2):
        raise InvalidValue(f"samples has shape {samples.shape}; {allowed}, with L at least 1")
    if samples.ndim == 1:
        return samples[:, np.newaxis]
    rows, columns = samples.shape
    if rows <= _MAX_CHANNELS and columns > rows:
        return samples.T
    if columns > _MAX_CHANNELS:
        raise InvalidValue(f"samples has shape {samples.shape}, which is {columns} channels; {allowed}")
    return samples


def _pcm(samples: NDArray[Any]) -> NDArray[np.int16]:
    if samples.dtype == np.int16:
        return samples
    if samples.dtype.kind not in "biuf":
        raise InvalidValue(f"samples has dtype {samples.dtype}; allowed are floats from -1 to 1, and int16")
    amplitudes = clipped(samples)[0].astype(np.float64)
    if np.isnan(amplitudes).any():
        raise InvalidValue("samples contains NaN; allowed are numbers from -1 to 1, and int16")
    return np.rint(amplitudes * _FULL_SCALE).clip(-_FULL_SCALE, _FULL_SCALE - 1).astype(np.int16)


def _wav(pcm: NDArray[np.int16], sample_rate: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(pcm.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(pcm.astype("<i2").tobytes())
    return file.getvalue()
