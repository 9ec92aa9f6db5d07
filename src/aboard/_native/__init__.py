# SPDX-License-Identifier: Apache-2.0
"""The typed door to the C++ extension: nothing else imports `_core`."""

from aboard._native._core import (
    EventLog,
    Logdir,
    Message,
    Points,
    close_all_logs,
    crc32c_implementation,
    decode_fields,
    decode_metadata,
    decode_tensor,
    decode_value,
    default_histogram_edges,
    frame_record,
    is_debug_build,
    masked_crc32c,
    memory_limit,
    refresh_logdirs,
    scalars_in_records,
    set_memory_limit,
)

__all__ = [
    "EventLog",
    "Logdir",
    "Message",
    "Points",
    "close_all_logs",
    "crc32c_implementation",
    "decode_fields",
    "decode_metadata",
    "decode_tensor",
    "decode_value",
    "default_histogram_edges",
    "frame_record",
    "is_debug_build",
    "masked_crc32c",
    "memory_limit",
    "refresh_logdirs",
    "scalars_in_records",
    "set_memory_limit",
]
