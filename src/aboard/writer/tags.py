# SPDX-License-Identifier: Apache-2.0
"""Tags as TensorBoard's writers have always cleaned them."""

from __future__ import annotations

import logging
import re
from functools import lru_cache

from aboard.errors import InvalidType, InvalidValue

_log = logging.getLogger("aboard.writer")
_NOT_ALLOWED = re.compile(r"[^-/\w.]")


def clean_tag(tag: object) -> str:
    """`tag` with every character outside letters, digits and `-/_.` replaced by `_`, and no leading slash."""
    if not isinstance(tag, str):
        raise InvalidType(f"tag must be a string, got {tag!r} of type {type(tag).__name__}")
    return _cleaned(tag)


@lru_cache(maxsize=8192)
def _cleaned(tag: str) -> str:
    cleaned = _NOT_ALLOWED.sub("_", tag).lstrip("/")
    if not cleaned:
        raise InvalidValue(f"tag must name the series, got {tag!r}, of which nothing is left after cleaning")
    if cleaned != tag:
        _log.info("tag %r has characters that TensorBoard does not take; using %r", tag[:200], cleaned[:200])
    return cleaned
