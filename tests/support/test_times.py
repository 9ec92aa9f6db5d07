# SPDX-License-Identifier: Apache-2.0
"""Durations of tests and fixtures, recorded by every test run in `build/test-times.json`."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "build" / "test-times.json"
SHOWN = 30


@dataclass
class Times:
    """Seconds by test (elapsed, and of processor time with that of child processes) and by fixture (elapsed, calls)."""

    tests: dict[str, tuple[float, float]] = field(default_factory=dict)
    fixtures: dict[str, tuple[float, int]] = field(default_factory=dict)

    @contextmanager
    def of_test(self, name: str) -> Generator[None]:
        elapsed, busy = time.monotonic(), _processor_seconds()
        yield
        self.tests[name] = (time.monotonic() - elapsed, _processor_seconds() - busy)

    @contextmanager
    def of_fixture(self, name: str) -> Generator[None]:
        start = time.monotonic()
        yield
        seconds, calls = self.fixtures.get(name, (0.0, 0))
        self.fixtures[name] = (seconds + time.monotonic() - start, calls + 1)

    def add(self, other: dict[str, Any]) -> None:
        """Add what another process measured."""
        self.tests.update({name: (elapsed, busy) for name, (elapsed, busy) in other.get("tests", {}).items()})
        for name, (seconds, calls) in other.get("fixtures", {}).items():
            mine = self.fixtures.get(name, (0.0, 0))
            self.fixtures[name] = (mine[0] + seconds, mine[1] + calls)

    def as_dict(self) -> dict[str, Any]:
        return {"tests": self.tests, "fixtures": self.fixtures}

    def save(self) -> None:
        """Replace what the record says of these tests and fixtures; the rest of it stays."""
        if not self.tests:
            return
        known = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"tests": {}, "fixtures": {}}
        RECORD.parent.mkdir(exist_ok=True)
        own = RECORD.with_suffix(f".{os.getpid()}")  # several test runs may end at the same time
        own.write_text(
            json.dumps({"tests": known["tests"] | self.tests, "fixtures": known["fixtures"] | self.fixtures}, indent=1),
            "utf-8",
        )
        own.replace(RECORD)


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def report(recorded: dict[str, Any]) -> Iterable[str]:
    """The slowest files, tests and fixtures."""
    tests = {name: times for name, times in recorded["tests"].items() if (ROOT / name.partition("::")[0]).exists()}
    files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    levels: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for name, (elapsed, busy) in tests.items():
        file = name.partition("::")[0]
        for sums in (files[file], levels["/".join(file.split("/")[:2])]):
            sums[0] += elapsed
            sums[1] += busy
            sums[2] += 1
    for title, table in (("levels", levels), (f"the {SHOWN} slowest files", files)):
        yield f"\n{title}: seconds, seconds of processor, tests"
        slowest = sorted(table.items(), key=lambda item: -item[1][0])[:SHOWN]
        yield from (f"{elapsed:8.1f} {busy:8.1f} {count:6.0f}  {name}" for name, (elapsed, busy, count) in slowest)
    yield f"\nthe {SHOWN} slowest tests: seconds, seconds of processor"
    for name, (elapsed, busy) in sorted(tests.items(), key=lambda item: -item[1][0])[:SHOWN]:
        yield f"{elapsed:8.1f} {busy:8.1f}  {name}"
    yield f"\nthe {SHOWN} slowest fixtures, without those that they request: seconds, calls"
    for name, (seconds, calls) in sorted(recorded["fixtures"].items(), key=lambda item: -item[1][0])[:SHOWN]:
        yield f"{seconds:8.1f} {calls:6.0f}  {name}"


if __name__ == "__main__":
    if not RECORD.exists():
        raise SystemExit(f"No times are recorded in {RECORD.relative_to(ROOT)}. Run make test first.")
    print("\n".join(report(json.loads(RECORD.read_text("utf-8")))))
