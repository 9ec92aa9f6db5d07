# SPDX-License-Identifier: Apache-2.0
"""A person's home with nothing in it, and an environment that says nothing else, for tests of jobs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_SAID = ("ABOARD_SERVER", "ABOARD_TOKEN", "ABOARD_STORE", "ABOARD_CONFIG", "ABOARD_JOBS_EXECUTOR")


def job_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home; the commands of this environment are found by their names."""
    home = tmp_path / "home"
    monkeypatch.setenv("ABOARD_HOME", str(home))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name in _SAID:
        monkeypatch.delenv(name, raising=False)
    return home
