# SPDX-License-Identifier: Apache-2.0
"""The report of a test run says what its executors stood on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_was_real_stands_at_the_end_of_a_report() -> None:
    wanted = "tests/contract/test_kubernetes_objects.py::test_what_belongs_to_a_unit_goes_with_it"
    command = [sys.executable, "-m", "pytest", "--numprocesses", "1", wanted]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout
    told = done.stdout.partition("executors: what was real")[2]
    assert "kubernetes: real: the official client " in told
    assert "the tests' own: API server at the HTTP level" in told
