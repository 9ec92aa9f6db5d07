# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a run: small values and a file, so that a later attempt finds either all of one or the one before.

Files get a number in their name and the newest two are kept, because a machine may vanish while the newest is on its
way into the store.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from aboard.errors import InvalidType, InvalidValue, StorageUnavailable
from aboard.foundation.files import copy_file
from aboard.run.spool import read_json, write_json

FOLDER = "checkpoint"
_INDEX = "checkpoint.json"
_KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """Where a training can go on."""

    state: Mapping[str, object]
    """What was given: step, epoch, whatever JSON can hold."""
    file: Path | None
    """A copy of the file that was given."""
    time: float


class Checkpoints:
    """The checkpoints in the output folder of a run."""

    def __init__(self, output: Path) -> None:
        self._folder = output / FOLDER

    def add(self, state: Mapping[str, object], file: str | os.PathLike[str] | None, moment: float) -> None:
        """Keep a checkpoint; it counts when all of it is there."""
        _check_state(state)
        entries = self._entries()
        number = max((_number(entry) for entry in entries), default=0) + 1
        entry: dict[str, object] = {"number": number, "time": moment, "state": dict(state)}
        if file is not None:
            entry |= self._copied(Path(file), number)
        kept = [entry, *entries][:_KEPT]
        write_json(self._folder / _INDEX, {"format": "aboard-checkpoint", "version": [1, 0], "checkpoints": kept})
        self._delete([old for old in entries if old not in kept])

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint of which everything is there."""
        for entry in self._entries():
            name = entry.get("file")
            path = None if name is None else self._folder / str(name)
            if path is not None and not _is_whole(path, entry.get("bytes")):
                continue
            moment = entry.get("time")
            return Checkpoint(
                state=cast("Mapping[str, object]", entry.get("state") or {}),
                file=path,
                time=float(moment) if isinstance(moment, (int, float)) else 0.0,
            )
        return None

    def clear(self) -> None:
        """Forget all checkpoints: a training that is complete does not go on."""
        entries = self._entries()
        (self._folder / _INDEX).unlink(missing_ok=True)
        self._delete(entries)

    def _entries(self) -> list[dict[str, object]]:
        entries = read_json(self._folder / _INDEX).get("checkpoints")
        found = cast("list[object]", entries) if isinstance(entries, list) else []
        return [cast("dict[str, object]", entry) for entry in found if isinstance(entry, dict)]

    def _copied(self, source: Path, number: int) -> dict[str, object]:
        name = f"{number:06d}-{source.name}"
        target = self._folder / name
        try:
            if source.is_dir():
                raise InvalidValue(f"{source} is a folder; a checkpoint has one file.", hint="Pack it into one.")
            copy_file(source, target)
        except OSError as error:
            if isinstance(error, InvalidValue):
                raise
            raise StorageUnavailable(f"The checkpoint {source} cannot be kept: {error.strerror}.") from None
        return {"file": name, "bytes": target.stat().st_size}

    def _delete(self, entries: list[dict[str, object]]) -> None:
        for entry in entries:
            if name := entry.get("file"):
                with contextlib.suppress(OSError):
                    (self._folder / str(name)).unlink(missing_ok=True)


def _check_state(state: object) -> None:
    if not isinstance(state, Mapping):
        raise InvalidType(f"The state of a checkpoint is a mapping, not {type(state).__name__}.")
    try:
        json.dumps(dict(cast("Mapping[str, object]", state)), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidType(
            f"The state of a checkpoint must fit into JSON: {error}.",
            hint="Put numbers and text into the state, and tensors into the file.",
        ) from None


def _number(entry: Mapping[str, object]) -> int:
    number = entry.get("number")
    return number if isinstance(number, int) else 0


def _is_whole(path: Path, size: object) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
