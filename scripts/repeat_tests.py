# SPDX-License-Identifier: Apache-2.0
"""Repeat tests beside a busy loop per core and count the failures: `repeat_tests.py COUNT PYTEST-ARGUMENTS…`."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "flaky"
BUSY_LOOP = [sys.executable, "-c", "while True: pass"]
AT_ONCE = 2


def _run(number: int, arguments: list[str]) -> bool:
    log = LOGS / f"{number}.log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        code = subprocess.call(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    if code == 0:
        log.unlink()
    else:
        print(f"run {number} failed with exit code {code}: {log.relative_to(ROOT)}", flush=True)
    return code == 0


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or not arguments[0].isdigit() or not int(arguments[0]):
        print(f"usage: {Path(sys.argv[0]).name} COUNT PYTEST-ARGUMENTS…", file=sys.stderr)
        return 2
    count, rest = int(arguments[0]), arguments[1:]
    LOGS.mkdir(parents=True, exist_ok=True)
    load = [subprocess.Popen(BUSY_LOOP) for _ in range(os.cpu_count() or 1)]
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            passed = sum(pool.map(lambda number: _run(number, rest), range(1, count + 1)))
    finally:
        for process in load:
            process.kill()
            process.wait()
    print(f"{passed} of {count} runs passed beside {len(load)} busy loops.")
    return 0 if passed == count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
