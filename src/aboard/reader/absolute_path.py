# SPDX-License-Identifier: Apache-2.0
"""Absolute paths as the native core takes them, without an object for each: there may be very many runs."""

from __future__ import annotations

import os
from pathlib import Path


def absolute_path(path: Path | str) -> bytes:
    """The same as `Path.absolute` of a path that was one; links and `..` stay as they are."""
    text = str(path)
    return os.fsencode(text if text.startswith("/") else Path(text).absolute())
