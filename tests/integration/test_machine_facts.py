# SPDX-License-Identifier: Apache-2.0
"""What programs of the machine say about it: nvidia-smi about GPUs, git about the code."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from aboard.run.supervisor.context import Gpus, code_state


def test_gpus_that_tell_only_some_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, 71, 1024, 16384, 55, 120.5'\necho '1, 3, 5, 16384, 40, [N/A]'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    values = Gpus().sample()
    assert values["gpu0/utilization_percent"] == 71
    assert values["gpu0/power_watts"] == 120.5
    assert values["gpu1/temperature_celsius"] == 40
    assert "gpu1/power_watts" not in values


def test_a_program_for_gpus_that_fails_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, calls = tmp_path / "nvidia-smi", tmp_path / "calls"
    program.write_text(f"#!/bin/sh\necho x >> {calls}\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    gpus = Gpus()
    assert [gpus.sample() for _ in range(6)] == [{}] * 6
    assert calls.read_text() == "x\n" * 3


def test_files_of_secrets_are_not_in_the_diff(tmp_path: Path) -> None:
    for name in (".env", "sub/.env.local", "sub/prod.env", "id.pem", "train.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("before\n")
    author = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    for path in [one for one in tmp_path.rglob("*") if one.is_file() and ".git" not in one.parts]:
        path.write_text("after\n")
    state = code_state(tmp_path / "sub")
    assert state is not None
    assert [line for line in state.diff.decode().splitlines() if line.startswith("+++")] == ["+++ b/train.py"]
