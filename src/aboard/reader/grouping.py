# SPDX-License-Identifier: Apache-2.0
"""Which folders of event files make one run, where nothing but the folders says so.

The outermost folder with event files is a run. Folders below it belong to it: `add_scalars` and `add_hparams` make
such folders. A folder named after a stage (`train`, `validation`, …) belongs to the run above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

STAGES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "eval", "evaluation", "dev"})
_SESSION = re.compile(r"[0-9]{10}(\.[0-9]+)?(\..*)?")  # torch and tensorboardX name the folder of add_hparams by time

Path = tuple[str, ...]


def group_logdirs(logdirs: Iterable[Path], *, split_root: bool = False) -> dict[Path, list[Path]]:
    """The logdirs of each run, both as parts of a path below the root; the root itself is the empty path.

    With `split_root`, event files in the root do not make one run of everything below it: other runs stay apart.
    """
    every = list(logdirs)
    known = set(every)
    holds_stage = {path[:-1] for path in every if path and _is_stage(path)}
    is_split = split_root and any(not _is_part_of_root(path) for path in every)
    groups: dict[Path, list[Path]] = {}
    for path in every:
        groups.setdefault(_run_of(path, known, holds_stage, is_split), []).append(path)
    return groups


def _run_of(path: Path, known: set[Path], holds_stage: set[Path], is_split: bool) -> Path:
    for length in range(len(path) + 1):
        above = path[:length]
        if above not in holds_stage and (above not in known or (above and _is_stage(above))):
            continue
        if above or not is_split or _is_part_of_root(path):
            return above
    return path


def _is_stage(path: Path) -> bool:
    return path[-1].lower() in STAGES


def _is_part_of_root(path: Path) -> bool:
    return not path or path[0].lower() in STAGES or _SESSION.fullmatch(path[0]) is not None
