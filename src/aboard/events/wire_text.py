# SPDX-License-Identifier: Apache-2.0
"""Text as protobuf stores it."""

from __future__ import annotations


def utf8(text: str) -> bytes:
    """UTF-8 in which lone surrogates became "?": protobuf readers reject a message that holds one."""
    return text.encode("utf-8", "replace")
