# SPDX-License-Identifier: Apache-2.0
"""Pictures, sounds, histograms, texts and arrays in event files, each read when somebody looks at it."""

from __future__ import annotations

import io
import struct
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import TagEntry, decode_fields, decode_value
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.reader.run import Tag
from aboard.reader.tags import ValueKind
from aboard.reader.values import array_of_value, buckets_of_value

_RIFF_HEADER, _CHUNK_HEADER = 12, 8


class StoredValue:
    """One logged value that is no number: where it stands, and its content once it was asked for."""

    def __init__(self, tag: Tag, entry: TagEntry) -> None:
        self._tag, self._entry = tag, entry

    @property
    def step(self) -> int:
        """The step at which it was logged."""
        return self._entry.step

    @property
    def wall_time(self) -> float:
        """When it was logged, in seconds since 1970."""
        return self._entry.wall_time

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._tag.name!r} at step {self.step}>"

    @cached_property
    def _message(self) -> bytes:
        """The Summary.Value, or what another kind of event carries."""
        message = self._tag.run.read_media(self._tag.number, self._entry)
        if message is None:
            raise self._gone()
        return message

    @cached_property
    def _blobs(self) -> list[bytes]:
        blobs = self._tag.blobs(self._entry)
        if blobs is None:
            raise self._gone()
        return blobs

    def _gone(self) -> StorageUnavailable:
        return StorageUnavailable(
            f"step {self.step} of {self._tag.name!r} can no longer be read: its file below {self._tag.run.folder} "
            "was removed or has changed",
            hint="refresh() sees what is there now",
        )


class Image(StoredValue):
    """One or more encoded pictures (PNG, JPEG, GIF) of one step."""

    @property
    def width(self) -> int:
        """Pixels from left to right, as the writer said."""
        return _integer(self._blobs[:1])

    @property
    def height(self) -> int:
        """Pixels from top to bottom, as the writer said."""
        return _integer(self._blobs[1:2])

    @property
    def files(self) -> list[bytes]:
        """All pictures of this step, each an encoded file."""
        return self._blobs[2:]

    @property
    def data(self) -> bytes:
        """The first picture as an encoded file; empty when there is none."""
        return self.files[0] if self.files else b""

    def array(self, number: int = 0) -> NDArray[Any]:
        """The pixels of one picture: height x width x channels; of a film, frames come first."""
        from PIL import Image as Pictures
        from PIL import ImageSequence

        if not -len(self.files) <= number < len(self.files):
            raise InvalidValue(f"{self!r} has {len(self.files)} pictures, so there is no number {number}")
        try:
            with Pictures.open(io.BytesIO(self.files[number])) as picture:
                frames = [_pixels(frame) for frame in ImageSequence.Iterator(picture)]
        except (OSError, ValueError, SyntaxError, struct.error, Pictures.DecompressionBombError) as error:
            raise InvalidValue(f"picture {number} of {self!r} cannot be decoded: {error}") from error
        return frames[0] if len(frames) == 1 else np.stack(frames)


class Audio(StoredValue):
    """One or more encoded sounds (WAV) of one step."""

    @property
    def files(self) -> list[bytes]:
        """All sounds of this step, each an encoded file."""
        return self._blobs

    @property
    def data(self) -> bytes:
        """The first sound as an encoded file; empty when there is none."""
        return self.files[0] if self.files else b""

    @property
    def rate(self) -> float | None:
        """Samples per second, as the file says, else as the writer said; None when neither does."""
        return _wav_rate(self.data) or self._logged_rate()

    def _logged_rate(self) -> float | None:
        kind, content, _ = decode_value(self._message) or (ValueKind.NOTHING, b"", 0.0)
        bits = (
            {number: value for number, _, value in decode_fields(content) or []}.get(1)
            if kind == ValueKind.AUDIO
            else 0
        )
        rate = struct.unpack("<f", bits.to_bytes(8, "little")[:4])[0] if isinstance(bits, int) else 0.0
        return rate or None


class Histogram(StoredValue):
    """Counts in buckets."""

    @cached_property
    def buckets(self) -> NDArray[np.float64]:
        """A row for each bucket: left edge, right edge, count."""
        return buckets_of_value(self._message)

    @property
    def lefts(self) -> NDArray[np.float64]:
        """Left edges."""
        return self.buckets[:, 0]

    @property
    def rights(self) -> NDArray[np.float64]:
        """Right edges."""
        return self.buckets[:, 1]

    @property
    def counts(self) -> NDArray[np.float64]:
        """Counts."""
        return self.buckets[:, 2]


class Text(StoredValue):
    """A text, or a table of texts."""

    @property
    def text(self) -> str:
        """The text; the cells of a table one below the other."""
        return "\n".join(self.array().ravel().tolist())

    def array(self) -> NDArray[Any]:
        """The texts in the shape in which they were logged."""
        cells = array_of_value(self._message)
        texts = np.empty(cells.shape, dtype=object)
        texts.ravel()[:] = [_text(cell) for cell in cells.ravel()]
        return texts


class Tensor(StoredValue):
    """An array of any shape: precision-recall curves, meshes and whatever plugins log."""

    def array(self) -> NDArray[Any]:
        """The array; of strings, an array of bytes objects."""
        return array_of_value(self._message)


class Graph(StoredValue):
    """A graph or what was measured while it ran, as the protobuf message that was logged."""

    @property
    def data(self) -> bytes:
        """The serialized message; empty when there is none."""
        return self._blobs[0] if self._blobs else b""


def _integer(blobs: list[bytes]) -> int:
    try:
        return int(blobs[0])
    except (IndexError, ValueError):
        return 0


def _pixels(frame: Any) -> NDArray[Any]:
    plain = frame.convert("RGBA" if "transparency" in frame.info else "RGB") if frame.mode == "P" else frame
    pixels = np.array(plain)
    return pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels


def _wav_rate(data: bytes) -> int | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    at = _RIFF_HEADER
    while at + _CHUNK_HEADER + 8 <= len(data):
        name, length = struct.unpack_from("<4sI", data, at)
        if name == b"fmt ":
            return struct.unpack_from("<I", data, at + _CHUNK_HEADER + 4)[0]
        at += _CHUNK_HEADER + length + length % 2
    return None


def _text(cell: Any) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
