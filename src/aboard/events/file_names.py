# SPDX-License-Identifier: Apache-2.0
"""Which files are event files."""

from __future__ import annotations

import os

from aboard import _native


def is_event_file(name: str) -> bool:
    """Whether TensorBoard would read the file: "tfevents" anywhere in its own name, folders left aside."""
    return _native.is_event_file(os.fsencode(name))
