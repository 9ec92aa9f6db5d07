# SPDX-License-Identifier: Apache-2.0
"""`log_metrics` of ten values on the calling thread, beside the same call of MLflow and wandb without a server."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import describe, warnings
from measure import Statement
from metrics import BEST_PEER, Metric, Target
from report import machine_lines, table, verdicts

PACKAGES = ("aboard", "mlflow-skinny", "wandb", "numpy", "sqlalchemy")
WARM_UP = 50
METRICS = [
    Metric("median_us", "median call", "µs", Target(20, BEST_PEER)),
    Metric("mean_us", "mean call", "µs"),
    Metric("p99_us", "99 of 100 calls are faster than", "µs"),
]
VALUES = (
    "{'m0': step, 'm1': 0.5, 'm2': 0.25, 'm3': 0.125, 'm4': 1.5, 'm5': 2.5, 'm6': 3.5, 'm7': 4.5, 'm8': 5.5, 'm9': 6.5}"
)


def aboard(folder: Path) -> tuple[str, dict[str, Any], Callable[[], object]]:
    os.environ["ABOARD_HOME"] = str(folder)
    from aboard import Run

    run = Run()
    return f"run.log_metrics({VALUES}, stage='train')", {"run": run}, run.finish


def mlflow(folder: Path) -> tuple[str, dict[str, Any], Callable[[], object]]:
    os.environ.update(MLFLOW_ALLOW_FILE_STORE="true", MLFLOW_ENABLE_ASYNC_LOGGING="false")
    import mlflow

    mlflow.set_tracking_uri((folder / "mlruns").as_uri())
    mlflow.set_experiment("speed")
    mlflow.start_run()
    return f"log({VALUES}, step=step)", {"log": mlflow.log_metrics}, mlflow.end_run


def mlflow_async(folder: Path) -> tuple[str, dict[str, Any], Callable[[], object]]:
    _, names, end = mlflow(folder)
    return f"log({VALUES}, step=step, synchronous=False)", names, end


def wandb(folder: Path) -> tuple[str, dict[str, Any], Callable[[], object]]:
    os.environ["WANDB_SILENT"] = "true"
    import wandb

    run = wandb.init(mode="offline", dir=str(folder), project="speed")
    return f"run.log({VALUES}, step=step)", {"run": run}, run.finish


LIBRARIES = {"aboard": aboard, "mlflow": mlflow, "mlflow, asynchronous": mlflow_async, "wandb": wandb}


def measure(library: str, calls: int) -> dict[str, float]:
    """In this process: a call each, and nothing in between."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, names, end = LIBRARIES[library](Path(folder))
        statement = Statement(source, names)
        statement.repeat(0, WARM_UP)
        taken = sorted(statement.latencies(WARM_UP, WARM_UP + calls))
        end()
    return {
        "median_us": statistics.median(taken) / 1000,
        "mean_us": statistics.fmean(taken) / 1000,
        "p99_us": taken[len(taken) * 99 // 100] / 1000,
    }


def measured_alone(library: str, calls: int) -> dict[str, float]:
    """In a fresh process."""
    command = [sys.executable, __file__, "--library", library, "--calls", str(calls)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{library} failed:\n{ended.stderr[-4000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measure(options.library, options.calls)))
        return
    machine = describe(None, PACKAGES)
    results: dict[str, list[dict[str, float]]] = {library: [] for library in LIBRARIES}
    for _ in range(options.rounds):
        for library, rounds in results.items():
            rounds.append(measured_alone(library, options.calls))
    title = "log_metrics of ten values"
    print(machine_lines(machine), *(f"**{text}**" for text in warnings(machine)), sep="\n")
    print()
    print(table(title, METRICS, results))
    print(*verdicts(title, METRICS, results), sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "results": results}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
