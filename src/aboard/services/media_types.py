# SPDX-License-Identifier: Apache-2.0
"""Content types of what runs logged, told from its first bytes; what could carry script is never named as such."""

from __future__ import annotations

_OTHER = "application/octet-stream"
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_SOUNDS = ((b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"))


def image_type(data: bytes) -> str:
    """That of a picture; an SVG is a file to be saved, because it may run script."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES if data.startswith(start)), _OTHER)


def audio_type(data: bytes) -> str:
    """That of a sound."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    return next((kind for start, kind in _SOUNDS if data.startswith(start)), _OTHER)
