# SPDX-License-Identifier: Apache-2.0
"""Which files are event files or segments of one, and which others TensorBoard shows."""

from __future__ import annotations

import os
import re

from aboard import _native

# What profilers of TensorFlow, JAX and torch leave, and the files of the projector.
_BOARD_FILE = re.compile(
    r"(^|/)plugins/.|\.(trace\.json(\.gz)?|memory_profile\.json\.gz|xplane\.pb)$"
    r"|(^|/)(projector_config\.pbtxt|tensors\.tsv|metadata\.tsv|sprite\.png)$"
)
# Files by which TensorBoard is led to others: it opens what a configuration of the projector or a checkpoint names.
_LEADS_ELSEWHERE = ("projector_config.pbtxt", "checkpoint")
_PROFILE = re.compile(r"(^|/)plugins/profile/.|\.(trace\.json(\.gz)?|memory_profile\.json\.gz|xplane\.pb)$")


def is_event_file(name: str) -> bool:
    """Whether TensorBoard would read the file: "tfevents" anywhere in its own name, folders left aside."""
    return _native.is_event_file(os.fsencode(name))


def segment_of(name: str) -> tuple[str, int] | None:
    """The event file that was shipped in segments of which this is one, and its number; None for other files."""
    found = _native.segment_of(os.fsencode(name))
    return found and (os.fsdecode(found[0]), found[1])


def is_board_file(path: str) -> bool:
    """Whether a file is no event file and yet belongs to a board: a profile, or a part of an embedding."""
    return _BOARD_FILE.search(path) is not None


def is_profile(path: str) -> bool:
    """Whether a file is what a profiler left, for the profile plugin of TensorBoard."""
    return _PROFILE.search(path) is not None and path.rpartition("/")[2] not in _LEADS_ELSEWHERE
