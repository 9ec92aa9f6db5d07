# SPDX-License-Identifier: Apache-2.0
"""Check tags, and clean them as tensorboardX does where a writer asks for that."""

from __future__ import annotations

import logging
import re
from functools import lru_cache

from aboard.errors import InvalidType, InvalidValue

_log = logging.getLogger("aboard.writer")
_CLEANED_CHARACTERS = re.compile(r"[^-/\w.]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def checked_tag(tag: object, *, clean: bool = False) -> str:
    """Return `tag` as it is written: unchanged, or in tensorboardX's spelling with `clean`.

    tensorboardX replaces every character outside letters, digits and `-/_.` by `_` and drops leading slashes.
    """
    if not isinstance(tag, str):
        raise InvalidType(f"tag must be a string, got {tag!r} of type {type(tag).__name__}")
    name = _cleaned(tag) if clean else tag
    if not name:
        raise InvalidValue(f"The tag {tag!r} is empty.", hint="name the metric, for example 'train/loss'")
    if not clean and not name.isascii() and _LONE_SURROGATE.search(name):
        raise InvalidValue(
            f"The tag {tag!r:.200} contains a lone surrogate, which UTF-8 cannot encode.",
            hint="decode the name with the right encoding, or replace the character",
        )
    return name


@lru_cache(maxsize=8192)
def _cleaned(tag: str) -> str:
    cleaned = _CLEANED_CHARACTERS.sub("_", tag).lstrip("/")
    if cleaned != tag:
        _log.info("clean_tags is set: the tag %r is written as %r", tag[:200], cleaned[:200])
    return cleaned
