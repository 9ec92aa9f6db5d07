# SPDX-License-Identifier: Apache-2.0
"""Run make targets side by side: `run_targets.py check,test test-frameworks,test-cluster` runs two lanes at once.

Each line of output carries the name of its target, and `build/log/TARGET.log` has it without. The first failure ends
the other lanes and repeats the output of the failed target at the end, below a table of what took how long.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "log"
REPEATED_LINES = 150


@dataclass
class Step:
    """One make target. It has a code when it ended by itself."""

    target: str
    seconds: float = 0.0
    code: int | None = None
    process: subprocess.Popen[str] | None = None

    @property
    def log(self) -> Path:
        return LOGS / f"{self.target}.log"

    @property
    def outcome(self) -> str:
        if self.code is None:
            return "not run" if self.process is None else "stopped"
        return "passed" if self.code == 0 else f"failed ({self.code})"


class Lanes:
    """Several lanes of steps that run at the same time; the first step that fails ends them all."""

    def __init__(self, lanes: list[list[Step]]) -> None:
        self._lanes = lanes
        self._lock = threading.Lock()
        self.failed: Step | None = None

    def run(self) -> None:
        threads = [threading.Thread(target=self._run_lane, args=(lane,)) for lane in self._lanes]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """End every step that still runs, with all its processes."""
        for step in (step for lane in self._lanes for step in lane):
            if step.process is not None and step.code is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(step.process.pid, signal.SIGTERM)

    def _run_lane(self, lane: list[Step]) -> None:
        for step in lane:
            with self._lock:
                if self.failed is not None:
                    return
                step.process = _start(step.target)
            began = time.monotonic()
            code = _follow(step)
            step.seconds = time.monotonic() - began
            with self._lock:
                is_first = code != 0 and self.failed is None
                if is_first:
                    self.failed = step
                if is_first or code == 0:
                    step.code = code  # what was ended because of another's failure did not fail
            print(f"{step.target} | {step.outcome} after {step.seconds:.0f} s", flush=True)
            if is_first:
                self.stop()


def _start(target: str) -> subprocess.Popen[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    return subprocess.Popen(
        ["make", "--no-print-directory", target],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _follow(step: Step) -> int:
    assert step.process is not None
    assert step.process.stdout is not None
    with step.log.open("w", encoding="utf-8") as log:
        for line in step.process.stdout:
            log.write(line)
            log.flush()
            print(f"{step.target} | {line}", end="", flush=True)
    return step.process.wait()


def main(arguments: list[str]) -> int:
    if not arguments:
        print("usage: scripts/run_targets.py TARGET[,TARGET…] …    (each argument is a lane)", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    steps = [[Step(target) for target in lane.split(",")] for lane in arguments]
    lanes = Lanes(steps)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # of an outer run_targets: end what was started here too
    try:
        lanes.run()
    except KeyboardInterrupt:
        return 130
    print(f"\n{'target':<24}{'seconds':>8}")
    for step in (step for lane in steps for step in lane):
        print(f"{step.target:<24}{step.seconds:>8.0f}  {step.outcome}")
    print(f"{'in all':<24}{time.monotonic() - began:>8.0f}", flush=True)
    if lanes.failed is None:
        return 0
    lines = lanes.failed.log.read_text("utf-8", "replace").splitlines()
    print(f"\n{lanes.failed.target} failed. The end of {lanes.failed.log.relative_to(ROOT)}:")
    print("\n".join(lines[-REPEATED_LINES:]), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
