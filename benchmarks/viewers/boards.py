# SPDX-License-Identifier: Apache-2.0
"""A further board in a process that has one, over the same runs."""

from __future__ import annotations

from metrics import ITSELF, Metric, Results, Target
from viewers.programs import ABOARD
from viewers.settings import Settings, Table, run_worker

METRICS = (
    Metric("board_ms", "made, median", "ms", Target(5, ITSELF)),
    Metric("board_max_ms", "made, slowest", "ms"),
    Metric("answer_ms", "its first answer (`data/environment`), median", "ms"),
    Metric("board_kb", "memory, each", "kB", Target(100, ITSELF)),
    Metric("used_kb", "memory after its first answer, each", "kB", Target(100, ITSELF)),
)


def measure(settings: Settings) -> list[Table]:
    work, count = settings.sets.b, 20 if settings.quick else 200
    folder = work.below(settings.folder)
    results: Results = {ABOARD: []}
    for _ in settings.turns("boards", [ABOARD]):
        results[ABOARD].append(run_worker("boards", root=str(folder), count=count))
    note = f"{count} boards over {work}. Stock TensorBoard has a process for each: see *Start*."
    return [Table("boards", "A further board in a warm process", METRICS, results, (note,))]
