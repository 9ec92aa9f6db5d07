# SPDX-License-Identifier: Apache-2.0
"""The next step after a file below the home folder could not be written."""

from __future__ import annotations

import errno

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: OSError) -> bool:
    """Whether the disk, or the quota on it, is used up."""
    return error.errno in _FULL


def home_hint(error: OSError) -> str:
    """What to do about it."""
    if is_full(error):
        return "Free some space on that disk, or set ABOARD_HOME to another one."
    return "Set ABOARD_HOME to a folder that you can write to."
