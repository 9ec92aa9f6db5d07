# SPDX-License-Identifier: Apache-2.0
"""Names of blobs that only the board that gave them out accepts."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from typing import NamedTuple

_SIGNATURE_BYTES = 16


class BlobPlace(NamedTuple):
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

    def key(self, place: BlobPlace) -> str:
        """The key of a blob: safe in a URL."""
        content = json.dumps(place, separators=(",", ":")).encode("ascii")
        return base64.urlsafe_b64encode(self._signature(content) + content).rstrip(b"=").decode("ascii")

    def place(self, key: str) -> BlobPlace | None:
        """What a key stands for; None when this board did not give it out."""
        try:
            raw = base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        signature, content = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(content)):
            return None
        return BlobPlace(*json.loads(content))

    def _signature(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, "sha256")[:_SIGNATURE_BYTES]
