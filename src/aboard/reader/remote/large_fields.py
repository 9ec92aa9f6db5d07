# SPDX-License-Identifier: Apache-2.0
"""Finds the one large field of an event (an encoded picture, a sound, a graph, an array) by its beginning.

Nothing inside such a field is needed to know what the event is: its tag and metadata stand before and behind it.
"""

from __future__ import annotations

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Field numbers from Event down. Messages are entered, contents may be left out.
_MESSAGES = {(5,), (5, 1), (5, 1, 4), (5, 1, 6), (5, 1, 8), (8,)}
_CONTENTS = {
    (4,),  # graph_def
    (9,),  # meta_graph_def
    (8, 2),  # run_metadata of tagged_run_metadata
    (5, 1, 4, 4),  # encoded_image_string
    (5, 1, 6, 5),  # encoded_audio_string
    *((5, 1, 8, field) for field in (4, 5, 6, 7, 8, 10)),  # the elements of a tensor
}


def large_field(beginning: bytes, length: int) -> tuple[int, int] | None:
    """Where in an event of `length` bytes the content lies that its `beginning` does not hold all of; None: unknown."""
    path: tuple[int, ...] = ()
    at, end = 0, length
    while at < end:
        key = _varint(beginning, at)
        if key is None:
            return None
        (number, at), kind = key, key[0] & 7
        if kind == _BYTES:
            size = _varint(beginning, at)
            if size is None or size[1] + size[0] > end:
                return None
            begin, stop = size[1], size[1] + size[0]
            here = (*path, number >> 3)
            if stop <= len(beginning):
                at = stop
            elif here in _CONTENTS:
                return begin, stop
            elif here in _MESSAGES:
                path, at, end = here, begin, stop
            else:
                return None
        elif kind == _VARINT:
            value = _varint(beginning, at)
            if value is None:
                return None
            at = value[1]
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            return None
    return None


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    """A number and where it ends; None when it is not all there."""
    value = 0
    for place in range(10):
        if at + place >= len(data):
            return None
        byte = data[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    return None
