# SPDX-License-Identifier: Apache-2.0
"""A copy of the working tree in which bugs can be planted, and an environment whose `aboard` is that copy."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Generator, Sequence
from pathlib import Path

_PACKAGE = "src/aboard"
_EXTENSION_FOLDER = f"{_PACKAGE}/_native"
PAGE = f"{_PACKAGE}/server/_web"


class PatchRejected(Exception):
    """A patch does not fit the sources any more."""


class Tree:
    """The copy at `work/tree`. What is built and not in git is linked from the working tree."""

    def __init__(self, root: Path, work: Path) -> None:
        self.root, self.work = root, work
        self.path = work / "tree"
        self.python = work / "venv" / "bin" / "python"
        self._list = work / "copied.txt"
        origin = importlib.util.find_spec("aboard._native._core")
        if origin is None or origin.origin is None:
            raise SystemExit("The extension is not built. Run `make setup` first.")
        self._built_extension = Path(origin.origin)

    def update(self) -> None:
        """Make the copy equal to the working tree, uncommitted changes included; equal files stay untouched."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=self.root, capture_output=True, check=True, text=True).stdout.split("\0")
        files = sorted(name for name in set(listed) if name and (self.root / name).is_file())
        before = self._list.read_text("utf-8").split("\n") if self._list.exists() else []
        for name in set(before) - set(files):
            (self.path / name).unlink(missing_ok=True)
        for name in files:
            self._copy(name)
        self._list.write_text("\n".join(files), "utf-8")
        self._make_environment()
        self.use_built_parts()

    def has(self, path: str) -> bool:
        """Whether there is such a file of tests, or such a folder."""
        return (self.path / path.partition("::")[0]).exists()

    @contextlib.contextmanager
    def mutated(self, patch: Path, files: Sequence[str]) -> Generator[None]:
        """Apply a patch that changes these files, and take it back."""
        originals = {name: (self.path / name).read_bytes() for name in files if (self.path / name).exists()}
        # Out of any repository, git takes paths from the current folder; a patch may have moved by some lines.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.work)}
        command = ["git", "apply", "--recount", "-C1", "--whitespace=nowarn", str(patch)]
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PatchRejected(done.stderr.strip().replace("\n", "; "))
        try:
            yield
        finally:
            for name in files:
                if name in originals:
                    self._write(name, originals[name])
                else:
                    (self.path / name).unlink(missing_ok=True)
            self.use_built_parts()

    def use_built_parts(self) -> None:
        """Link the extension, the page, and what npm installed, as they are built in the working tree."""
        self._link(f"{_EXTENSION_FOLDER}/{self._built_extension.name}", self._built_extension)
        self._link(PAGE, self.root / PAGE)
        self._link("web/node_modules", self.root / "web" / "node_modules")
        self._link(".venv", self.work / "venv")
        for installed in self.root.glob("build/*/.installed"):
            self._link(f"build/{installed.parent.name}", installed.parent)

    def use_extension(self, extension: Path) -> None:
        """Import another build of the extension from now on."""
        self._link(f"{_EXTENSION_FOLDER}/{self._built_extension.name}", extension)

    def _copy(self, name: str) -> None:
        source, target = self.root / name, self.path / name
        content = source.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            self._write(name, content)
        target.chmod(source.stat().st_mode)

    def _write(self, name: str, content: bytes) -> None:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        if name.endswith(".py"):
            # Compiled files know their source by its size and by the second in which it was written.
            Path(importlib.util.cache_from_source(str(target))).unlink(missing_ok=True)

    def _link(self, name: str, to: Path) -> None:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)  # a page that was built with a mutation
        elif place.is_symlink() and place.readlink() == to:
            return
        else:
            place.unlink(missing_ok=True)
        if to.exists():
            place.symlink_to(to)

    def _make_environment(self) -> None:
        """An environment with all packages of this one, whose `aboard` is the copy.

        An editable install cannot be overridden by PYTHONPATH. Its .pth file has no effect here: Python reads such
        files only in the folder of an environment itself.
        """
        folder = self.work / "venv"
        venv.create(folder, clear=True, symlinks=True, with_pip=False)
        packages = [entry for entry in sys.path if Path(entry).name == "site-packages"]
        (own,) = folder.glob("lib/python3*/site-packages")
        (own / "mutations.pth").write_text("\n".join([str(self.path / "src"), *packages, ""]), "utf-8")
        command = folder / "bin" / "aboard"
        command.write_text(f"#!{self.python}\nfrom aboard.__main__ import main\n\nmain()\n", "utf-8")
        command.chmod(0o755)
        for program in Path(sys.executable).parent.iterdir():
            place = folder / "bin" / program.name
            if not place.exists():
                place.symlink_to(program)
