# SPDX-License-Identifier: Apache-2.0
"""The stages of a run: one writer and one counter of steps each, made when a stage is first named."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

from aboard.errors import InvalidType, InvalidValue
from aboard.writer.lifecycle import renew_in_child
from aboard.writer.summary_writer import SummaryWriter


class Stage:
    """A logdir of the run, such as `train`. The run itself is the stage with an empty name."""

    def __init__(self, name: str, folder: Path, *, write_to_disk: bool) -> None:
        self.name = name
        self.writer = SummaryWriter(folder, write_to_disk=write_to_disk)
        self.steps: Iterator[int] = itertools.count(1)
        self.batches: Iterator[int] = itertools.count(1)


class Stages:
    """The stages named so far."""

    def __init__(self, folder: Path, *, write_to_disk: bool = True) -> None:
        self.folder = folder
        self._write_to_disk = write_to_disk
        self._known: dict[str | None, Stage] = {}
        self._making = threading.Lock()
        renew_in_child(self)

    def get(self, name: str | None) -> Stage:
        """The stage of that name; None is the run itself."""
        return self._known.get(name) or self._make(name)

    def flush(self) -> None:
        """Return when everything logged is in the files."""
        for stage in set(self._known.values()):
            stage.writer.flush()

    def close(self) -> None:
        """Close all files."""
        for stage in set(self._known.values()):
            stage.writer.close()

    def _make(self, name: str | None) -> Stage:
        path = "" if name is None else checked_stage(name)
        with self._making:
            stage = self._known.get(name) or self._known.get(path)
            if stage is None:
                stage = Stage(path, self.folder / path, write_to_disk=self._write_to_disk)
            self._known[path] = self._known[name] = stage
            if not path:
                self._known[None] = stage
            return stage

    def become_child(self) -> None:
        """Have a lock that no thread of the parent holds."""
        self._making = threading.Lock()


def checked_stage(name: object) -> str:
    """The name of a stage as a relative path."""
    if not isinstance(name, str):
        raise InvalidType(
            f"A stage is named by text, not by {name!r} ({type(name).__name__}).", hint='Use "train", "test", …'
        )
    parts = [part for part in name.split("/") if part]
    if name.startswith("/") or "\0" in name or any(part in {".", ".."} for part in parts):
        raise InvalidValue(
            f"{name!r} cannot be a stage, which is a folder below that of the run.", hint='Use "train", "val/clean", …'
        )
    return "/".join(parts)
