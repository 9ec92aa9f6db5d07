# SPDX-License-Identifier: Apache-2.0
"""Event files of which something could not be read, counted, with an example of each kind."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from aboard.reader.run_reader import RunReader


@dataclass(frozen=True, slots=True)
class FileProblems:
    """How many files are damaged or cannot be opened."""

    unreadable: int = 0
    unreadable_example: str = ""
    damaged: int = 0
    damaged_example: str = ""


def problems_of(runs: Iterable[RunReader]) -> FileProblems:
    """What is known so far. A file whose end is still missing is not damaged: it is being written."""
    unreadable: list[str] = []
    damaged: list[str] = []
    for run in runs:
        for name, _, _, _, bad_records, skipped_bytes, _, error, *_ in run.logdir.files():
            path = run.folder / os.fsdecode(name)
            if error:
                unreadable.append(f"{path}: {os.strerror(error)}")
            elif bad_records or skipped_bytes:
                damaged.append(str(path))
    return FileProblems(len(unreadable), "".join(unreadable[:1]), len(damaged), "".join(damaged[:1]))
