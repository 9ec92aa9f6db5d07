# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters of runs, out of what writers log when a session starts."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar

from aboard._native import decode_fields, decode_metadata
from aboard.reader.run import RunReader, find_tag

HParam: TypeAlias = "bool | float | str | list[HParam] | dict[str, HParam] | None"
Value = TypeVar("Value")

_SESSION_START = "_hparams_/session_start_info"
_METADATA = 9  # of a Summary.Value
_DEEPEST = 32  # lists in lists; files are not trusted


def own_hparams(run: RunReader) -> dict[str, HParam]:
    """What was logged into the run's own folder. Where it was logged several times, the newest of each name counts."""
    tag = find_tag(run, "hparams", _SESSION_START)
    if tag is None:
        return {}
    found = _of_plugin_data(tag.meaning.content)
    status = tag.status
    if status.points + status.superseded > 1:
        for entry in run.logdir.media(tag.number):
            # A file that has changed meanwhile adds nothing.
            value = run.read_media(tag.number, entry)
            found.update(_of_value(value or b""))
    return found


class HParamsOfRuns(Generic[Value]):
    """The hyperparameters that belong to each of many runs, out of those that each has itself.

    A run without any has those of the nearest folder above (Keras logs them there), or of the only run directly below
    (where torch and tensorboardX put them).
    """

    def __init__(self, own: Mapping[str, Mapping[str, Value]]) -> None:
        self._own = {name: hparams for name, hparams in own.items() if hparams}
        self._only_below: dict[str, str | None] = {}
        for name in self._own:
            above = _above(name)
            if above is not None:
                self._only_below[above] = None if above in self._only_below else name

    def of(self, run: str) -> Mapping[str, Value]:
        """The hyperparameters of one run; empty when there are none."""
        at: str | None = run
        while at is not None:
            if at in self._own:
                return self._own[at]
            at = _above(at)
        below = self._only_below.get(run)
        return {} if below is None else self._own[below]


def _above(name: str) -> str | None:
    """The run in the folder above; the top folder itself is called `.`."""
    return None if name == "." else name.rpartition("/")[0] or "."


def _of_value(value: bytes) -> dict[str, HParam]:
    for number, _, content in decode_fields(value) or []:
        if number == _METADATA and isinstance(content, bytes):
            return _of_plugin_data(decode_metadata(content)[1])
    return {}


def _of_plugin_data(message: bytes) -> dict[str, HParam]:
    """The hparams of HParamsPluginData.session_start_info."""
    found: dict[str, HParam] = {}
    for start in _messages(message, 3):
        found.update(_map_entries(start, 1, _DEEPEST))
    return found


def _map_entries(message: bytes, field: int, depth: int) -> dict[str, HParam]:
    """A map of strings to google.protobuf.Value."""
    found: dict[str, HParam] = {}
    for entry in _messages(message, field):
        key = b"".join(_messages(entry, 1)[-1:]).decode("utf-8", "replace")
        found[key] = _plain(b"".join(_messages(entry, 2)), depth - 1)
    return found


def _plain(message: bytes, depth: int) -> HParam:
    """A google.protobuf.Value; its last field counts."""
    fields = decode_fields(message)
    if not fields or depth < 0:
        return None
    number, _, content = fields[-1]
    if isinstance(content, int):
        if number == 2:
            return struct.unpack("<d", content.to_bytes(8, "little"))[0]
        return bool(content) if number == 4 else None
    if number == 3:
        return content.decode("utf-8", "replace")
    if number == 5:
        return _map_entries(content, 1, depth)
    return [_plain(item, depth - 1) for item in _messages(content, 1)] if number == 6 else None


def _messages(message: bytes, field: int) -> list[bytes]:
    fields = decode_fields(message) or []
    return [content for number, _, content in fields if number == field and isinstance(content, bytes)]
