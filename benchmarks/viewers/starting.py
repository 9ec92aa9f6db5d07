# SPDX-License-Identifier: Apache-2.0
"""From the start of the process to its first answers."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from metrics import ITSELF, Metric, Results, Target
from viewers.browser import Browser
from viewers.programs import ABOARD, FAST, PROGRAMS, Server
from viewers.settings import Settings, Table
from viewers.worksets import ScalarSet, warm

_AT_ONCE_MS = 500

METRICS = (
    Metric("health_ms", "health route (stock has none: `data/environment`)", "ms", Target(_AT_ONCE_MS, ITSELF)),
    Metric("environment_ms", "`data/environment`", "ms", Target(1, FAST)),
    Metric("runs_ms", "`data/runs`", "ms", Target(1, FAST)),
    Metric("all_runs_ms", "`data/runs` with every run", "ms"),
    Metric("loaded_ms", "everything read", "ms"),
)


def measure(settings: Settings) -> list[Table]:
    work = settings.sets.b
    folder = work.below(settings.folder)
    warm(folder)
    results: Results = {program: [] for program in settings.programs if program in (ABOARD, FAST)}
    _started(ABOARD, work, folder)  # bytecode and files come into memory
    for _, program in settings.turns("start", list(results)):
        results[program].append(_started(program, work, folder))
    note = f"From `exec` of `aboard view` and `tensorboard` to the last byte of the first answer, on {work}. "
    note += f"The target of {_AT_ONCE_MS} ms stands for «at once»."
    return [Table("start", "Start", METRICS, results, (note,))]


def _started(program: str, work: ScalarSet, folder: Path) -> dict[str, float]:
    """Each route is asked for by a client of its own from the first moment on, as nothing else would be sooner."""
    result: dict[str, float] = {}
    with Server(PROGRAMS[program], folder) as server:
        paths = {
            "health_ms": "healthz" if program == ABOARD else "data/environment",
            "environment_ms": "data/environment",
            "runs_ms": "data/runs",
        }

        def ask(key: str, path: str) -> None:
            result[key] = server.first_answer(path, browser=Browser(server.port)) * 1e3

        def wait() -> None:
            result["loaded_ms"] = server.wait_until_loaded().whole * 1e3

        clients = [threading.Thread(target=wait), *(threading.Thread(target=ask, args=item) for item in paths.items())]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        if result.keys() != {*paths, "loaded_ms"}:
            raise SystemExit(f"{program} did not answer all of {list(paths.values())}")
        result["all_runs_ms"] = _when_all_runs(server, work) * 1e3
    return result


def _when_all_runs(server: Server, work: ScalarSet) -> float:
    while True:
        seconds = server.first_answer("data/runs")
        if len(json.loads(server.browser.get("data/runs").body)) == work.runs:
            return seconds
