# SPDX-License-Identifier: Apache-2.0
"""On which machine a run was started."""

from __future__ import annotations

import os
import platform
import socket

import psutil


def host_name() -> str:
    """What this machine is called."""
    return socket.gethostname()


def host_state() -> dict[str, object]:
    """What may matter for a result: system, processors, memory."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "usable_cpus": usable,
        "memory_bytes": psutil.virtual_memory().total,
    }
