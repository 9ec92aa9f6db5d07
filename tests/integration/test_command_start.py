# SPDX-License-Identifier: Apache-2.0
"""How the process of `aboard` begins and ends: Ctrl-C while it imports, missing packages, a closed pipe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aboard import cli
from support.commands import aboard

ABOARD = [sys.executable, "-m", "aboard"]
INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"


def run_with_module(folder: Path, name: str, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`aboard` with a module of this source in the place of the real one."""
    (folder / f"{name}.py").write_text(source)
    environment = {**os.environ, "PYTHONPATH": str(folder), "ABOARD_HOME": str(folder / "home")}
    return subprocess.run([*ABOARD, *arguments], env=environment, capture_output=True, text=True, timeout=60)


def test_ctrl_c_during_the_first_imports_ends_without_a_traceback(tmp_path: Path):
    ended = run_with_module(tmp_path, "typer", INTERRUPT, "runs")
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_during_the_imports_of_a_command_ends_without_a_traceback(tmp_path: Path):
    ended = run_with_module(tmp_path, "numpy", INTERRUPT, "export", str(tmp_path))
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_ctrl_c_before_a_command_is_parsed_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "command", interrupted)
    assert (ended := aboard("runs")).code == 130
    assert ended.err == ""


@pytest.mark.parametrize(("package", "command"), [("typer", "runs"), ("numpy", "export")])
def test_a_missing_package_is_named(tmp_path: Path, package: str, command: str):
    source = f"raise ModuleNotFoundError('No module named {package}', name='{package}')"
    ended = run_with_module(tmp_path, package, source, command, str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"error: The Python package {package!r} is not installed" in ended.stderr
    assert "pip check" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_that_stops_reading_ends_a_command_quietly(tmp_path: Path):
    environment = {**os.environ, "ABOARD_HOME": str(tmp_path)}
    with subprocess.Popen([*ABOARD, "view", "--help"], env=environment, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
