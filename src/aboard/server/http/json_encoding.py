# SPDX-License-Identifier: Apache-2.0
"""JSON of responses, also of texts and integers that orjson refuses."""

from __future__ import annotations

import json

import orjson

from aboard.api.wire import to_wire


def encode_json(document: object) -> bytes:
    """The document as JSON. Half characters, as in the name of a folder that is not UTF-8, are escaped."""
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError:
        return json.dumps(document, default=to_wire).encode()
