# SPDX-License-Identifier: Apache-2.0
"""Curves of millions of points, made ready before a person looks at them.

The first look at such a curve passes over all its values once, 10 to 20 ms for 10 million; every further one takes a
millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable

from aboard.reader.run_reader import DataClass, RunReader
from aboard.reader.run_tags import tags_of_runs

LONG = 1_000_000  # points
_BYTES_OF_A_POINT = 24  # in a file, at the very least
_FEWEST = 5  # points by which the core passes over all of them


def prepare_long_curves(runs: Iterable[RunReader], long: int = LONG) -> int:
    """Look once at every curve with at least so many points; how many there are."""
    large = {str(number): run for number, run in enumerate(runs) if run.logdir.bytes_read >= long * _BYTES_OF_A_POINT}
    prepared = 0
    for _, tags in tags_of_runs(large, "scalars", DataClass.SCALAR):
        for tag, status in tags:
            if status.points >= long:
                tag.points().reduced(_FEWEST)
                prepared += 1
    return prepared
