# SPDX-License-Identifier: Apache-2.0
"""Signed keys and counts of blobs such as images and audio."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
import threading
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from aboard._native import TagEntry
from aboard.reader.run import RunReader, Tag
from aboard.reader.tags import Source, ValueKind

_SIGNATURE_BYTES = 16


class BlobAddress(NamedTuple):
    """Which blob of a board is meant."""

    plugin: str
    run: str
    tag: str
    step: int
    number: int


class BlobKeys:
    """Signs and checks the keys of one board.

    Blobs are asked for by key alone, without a board: a key is worth nothing on another board, and none can be made up.
    Processes that serve the same board share its secret.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(32)

    def key(self, address: BlobAddress) -> str:
        """The key of a blob: safe in a URL."""
        content = json.dumps(address, separators=(",", ":")).encode("ascii")
        return base64.urlsafe_b64encode(self._signature(content) + content).rstrip(b"=").decode("ascii")

    def address(self, key: str) -> BlobAddress | None:
        """What a key stands for; None when this board did not give it out."""
        try:
            raw = base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        signature, content = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(content)):
            return None
        return BlobAddress(*json.loads(content))

    def _signature(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, "sha256")[:_SIGNATURE_BYTES]


_BLOBS_OF_KIND = {ValueKind.IMAGE: 3, ValueKind.AUDIO: 1}  # width, height and picture; sound

_Counts = dict[tuple[int, int, int], int]  # by file, offset and index of the value


class BlobCounts:
    """Counts the blobs of entries: old-style summaries need no look, tensors are read once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[RunReader, dict[tuple[int, int], _Counts]] = WeakKeyDictionary()

    def count(self, tag: Tag, entries: Sequence[TagEntry]) -> list[int]:
        """The number of blobs of each entry; zero when its file has changed meanwhile."""
        if tag.source != Source.SUMMARY:
            return [1] * len(entries)
        if tag.kind in _BLOBS_OF_KIND:
            return [_BLOBS_OF_KIND[ValueKind(tag.kind)]] * len(entries)
        known = self._of_tag(tag)
        counts: list[int] = []
        for entry in entries:
            place = entry.file, entry.offset, entry.value_index
            count = known.get(place)
            if count is None:
                blobs = tag.blobs(entry)
                count = 0 if blobs is None else len(blobs)
                if blobs is not None:
                    known[place] = count
            counts.append(count)
        return counts

    def _of_tag(self, tag: Tag) -> _Counts:
        generation = tag.run.logdir.generation
        with self._lock:
            of_run = self._known.setdefault(tag.run, {})
            if any(known != generation for known, _ in of_run):
                of_run.clear()  # the logdir was read anew: places and numbers may mean something else
            return of_run.setdefault((generation, tag.number), {})
