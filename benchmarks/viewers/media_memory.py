# SPDX-License-Identifier: Apache-2.0
"""Memory with pictures and sounds: whether four times as many take more."""

from __future__ import annotations

import json

from metrics import ITSELF, Metric, Results, Target
from viewers.programs import ABOARD, FAST, PROGRAMS, Server
from viewers.settings import Settings, Table
from viewers.worksets import MediaSet, warm

_SOME_MIB = 16  # rows of a few dozen bytes for each picture, and noise

METRICS = (
    Metric("small_mib", "a quarter of it: PSS after reading", "MiB"),
    Metric("large_mib", "all of it: PSS after reading", "MiB"),
    Metric("growth_mib", "difference", "MiB", Target(_SOME_MIB, ITSELF), has_ratios=False),
    Metric("peak_mib", "all of it: largest RSS up to then", "MiB"),
    Metric("peak_growth_mib", "difference of the largest RSS", "MiB", Target(_SOME_MIB, ITSELF), has_ratios=False),
    Metric("load_s", "all of it: from the start of the process until all is read", "s"),
)


def measure(settings: Settings) -> list[Table]:
    results: Results = {ABOARD: [], FAST: []}
    for _, program in settings.turns("media", list(results), min(settings.rounds, 3)):
        small = _loaded(settings, program, settings.sets.e_quarter)
        large = _loaded(settings, program, settings.sets.e)
        results[program].append(
            {
                "small_mib": small["pss"],
                "large_mib": large["pss"],
                "growth_mib": large["pss"] - small["pss"],
                "peak_mib": large["peak"],
                "peak_growth_mib": large["peak"] - small["peak"],
                "load_s": large["seconds"],
            }
        )
    note = f"The target of {_SOME_MIB} MiB stands for «does not grow»."
    return [Table("media", f"Memory with {settings.sets.e}", METRICS, results, (note,))]


def _loaded(settings: Settings, program: str, work: MediaSet) -> dict[str, float]:
    folder = work.below(settings.folder)
    warm(folder)
    with Server(PROGRAMS[program], folder) as server:
        seconds = server.wait_until_loaded().whole
        server.child.settle()
        memory = server.child.memory()
        tags = json.loads(server.browser.get("data/plugin/images/tags").body)
        if len(tags) != len(list(folder.iterdir())):
            raise SystemExit(f"{program} shows pictures of {len(tags)} runs of {work}")
    return {"pss": memory.pss, "peak": memory.peak, "seconds": seconds}
