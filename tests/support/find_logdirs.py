# SPDX-License-Identifier: Apache-2.0
"""Folders with event files below a root, named as TensorBoard names runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from aboard._native import LogTree

_SLICE = 0.1  # seconds of looking between two handings over


def find_logdirs(root: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """(name, folder, event files) of each folder at or below `root` that has any; the root itself is called `.`.

    A root that is a file is a run of this file alone. Links are followed, but no folder is entered twice on one way
    down, so a loop of links ends. What cannot be read is left out.
    """
    tree = LogTree([os.fsencode(root)], notifications=False)
    tree.look()
    looking = True
    while looking:
        _, found, to_read = tree.take(_SLICE)
        looking = tree.is_looking
        files = {logdir.id: [os.fsdecode(name) for name in logdir.files] for logdir in to_read}
        for logdir in found:
            yield os.fsdecode(logdir.name), Path(os.fsdecode(logdir.path)), files[logdir.id]
