# SPDX-License-Identifier: Apache-2.0
"""From the start of the process to its first answers."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

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
    Metric("again_runs_ms", "second opening: `data/runs`", "ms"),
    Metric("again_loaded_ms", "second opening: everything read", "ms"),
)


def measure(settings: Settings) -> list[Table]:
    work = settings.sets.b
    folder = work.below(settings.folder)
    warm(folder)
    results: Results = {program: [] for program in settings.programs if program in (ABOARD, FAST)}
    with TemporaryDirectory(prefix="bench-home-") as home:
        _keep_index(folder, home)
        for _, program in settings.turns("start", list(results)):
            first = _started(program, work, folder)
            again = _started(program, work, folder, home) if program == ABOARD else first
            results[program].append({**first, **{f"again_{key}": again[key] for key in ("runs_ms", "loaded_ms")}})
    note = f"From `exec` of `aboard view` and `tensorboard` to the last byte of the first answer, on {work}. "
    note += f"The target of {_AT_ONCE_MS} ms stands for «at once»."
    return [Table("start", "Start", METRICS, results, (note,))]


def _keep_index(folder: Path, home: str) -> None:
    """Open the folder once, so that a second opening finds what was decoded; brings everything into memory, too."""
    with Server(PROGRAMS[ABOARD], folder, home=home) as server:
        server.wait_until_loaded()
        server.child.interrupt()


def _started(program: str, work: ScalarSet, folder: Path, home: str | None = None) -> dict[str, float]:
    """Each route is asked for by a client of its own from the first moment on, as nothing else would be sooner."""
    result: dict[str, float] = {}
    with Server(PROGRAMS[program], folder, home=home) as server:
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
