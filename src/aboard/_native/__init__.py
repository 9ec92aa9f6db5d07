# SPDX-License-Identifier: Apache-2.0
"""The typed door to the C++ extension: nothing else imports `_core`."""

from aboard._native._core import (
    EventLog,
    Message,
    close_all_logs,
    crc32c_implementation,
    default_histogram_edges,
    frame_record,
    is_debug_build,
    masked_crc32c,
    memory_limit,
    scalars_in_records,
    set_memory_limit,
)

__all__ = [
    "EventLog",
    "Message",
    "close_all_logs",
    "crc32c_implementation",
    "default_histogram_edges",
    "frame_record",
    "is_debug_build",
    "masked_crc32c",
    "memory_limit",
    "scalars_in_records",
    "set_memory_limit",
]
