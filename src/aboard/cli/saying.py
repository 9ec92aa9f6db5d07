# SPDX-License-Identifier: Apache-2.0
"""Lines on a terminal that may be closed."""

from __future__ import annotations

import contextlib
import os
from typing import TextIO


def say(line: str, stream: TextIO | None, *, end: str = "\n") -> bool:
    """Write a line; whether somebody could have read it. A closed terminal is no reason to stop serving."""
    if stream is None:
        return False
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(line.encode(encoding, "replace").decode(encoding) + end)
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)
        return False
    return True


def _silence(stream: TextIO) -> None:
    """Let what still waits in the buffer of a closed stream go nowhere: Python would complain of it at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
