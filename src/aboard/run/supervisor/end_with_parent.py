# SPDX-License-Identifier: Apache-2.0
"""A command whose supervisor is killed is asked to end: its output goes nowhere, and the run may start elsewhere."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> Callable[[], None] | None:
    """What a child does between fork and exec; nothing where the system cannot do it."""
    if sys.platform != "linux":
        return None
    try:
        # Found before the fork: afterwards only this one call is made, which takes no lock.
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    number = int(signal.SIGTERM)

    def ask_for_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

    return ask_for_signal
