# SPDX-License-Identifier: Apache-2.0
"""Which keys a store takes: the names that come back unchanged from every kind of store."""

from __future__ import annotations

import re

from aboard.errors import InvalidType, InvalidValue
from aboard.foundation.files import ASIDE_PREFIX

MAX_KEY_BYTES = 1024  # S3, Google and Azure agree
MAX_PART_BYTES = 255  # of file systems

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HINT = "Use parts joined by single slashes, such as tb/train/events.out.tfevents.1700000000.host."


def check_key(key: str) -> str:
    """The key itself, which names one object below the root of a store."""
    if not isinstance(key, str):
        raise InvalidType(f"A key is text, not {type(key).__name__}: {key!r}.")
    if reason := _why_not(key):
        raise InvalidValue(f"The key {key!r} cannot be used: {reason}.", hint=_HINT)
    return key


def check_folder(folder: str) -> str:
    """The folder without its last slash; empty for the root of a store."""
    if not isinstance(folder, str):
        raise InvalidType(f"A folder of a store is text, not {type(folder).__name__}: {folder!r}.")
    folder = folder.removesuffix("/")
    if folder and (reason := _why_not(folder)):
        raise InvalidValue(f"The folder {folder!r} cannot be used: {reason}.", hint=_HINT)
    return folder


def check_start_after(start_after: str) -> str:
    """A key or the beginning of one; a slash at its end is meant."""
    check_folder(start_after)
    return start_after


def join_key(folder: str, name: str) -> str:
    """`name` below `folder`, either of which may be empty."""
    return f"{folder}/{name}" if folder and name else folder or name


def _why_not(key: str) -> str:
    if not key:
        return "it is empty"
    if key.startswith("/"):
        return "it begins with a slash, and keys are relative to the store"
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if length > MAX_KEY_BYTES:
        return f"it has {length} bytes, and at most {MAX_KEY_BYTES} are allowed"
    if "\\" in key:
        return "backslashes become slashes in some stores"
    if _CONTROL.search(key):
        return "it has control characters"
    reasons = (_why_not_part(part) for part in key.split("/"))
    return next((reason for reason in reasons if reason), "")


def _why_not_part(part: str) -> str:
    if not part:
        return "it has an empty part: two slashes in a row, or one at the end"
    if part in {".", ".."}:
        return f"{part!r} is not a name"
    if part.startswith(ASIDE_PREFIX):
        return f"names that begin with {ASIDE_PREFIX} are files being written"
    length = len(part.encode())
    if length > MAX_PART_BYTES:
        return f"the part {part[:40]!r}… has {length} bytes, and at most {MAX_PART_BYTES} are allowed"
    return ""
