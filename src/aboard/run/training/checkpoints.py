# SPDX-License-Identifier: Apache-2.0
"""Artifacts and checkpoints of a run. A later attempt finds either all of a checkpoint or the one before.

Files get a number in their name and the newest two are kept, because a machine may vanish while the newest is on its
way into the store.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from aboard.errors import InvalidType, InvalidValue, StorageUnavailable
from aboard.events.event import is_board_file, is_event_file
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


ARTIFACTS = "artifacts"


def keep_artifact(source: str | os.PathLike[str], name: str | None, output: Path) -> str:
    """Copy a file or folder below the output folder, if it is not there; its path below that folder."""
    path = Path(source).expanduser().absolute()
    if not path.exists():
        raise InvalidValue(f"There is no file or folder {path}, so it cannot be kept as an artifact.")
    if name is None and path.is_relative_to(output):
        return path.relative_to(output).as_posix()
    below = f"{ARTIFACTS}/{_checked(name or path.name)}"
    target = output / below
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        else:
            copy_file(path, target)
    except (OSError, shutil.Error) as error:
        raise StorageUnavailable(f"{path} cannot be kept as an artifact: {error}.") from None
    return below


def _checked(name: str) -> str:
    parts = name.split("/")
    if not name or name.startswith("/") or any(part in {"", ".", ".."} for part in parts):
        raise InvalidValue(f"{name!r} cannot be the name of an artifact.", hint="Use a relative path such as model.pt.")
    return name


Select = Callable[[Path], bool]
Rename = Callable[[Path, int], Path]


def keep_board_files(
    source: str | os.PathLike[str], target: Path, rank: int, select: Select | None, rename: Rename | None
) -> list[Path]:
    """Copy what is below `source` to the same place below `target`; the paths there."""
    folder = Path(source).expanduser().absolute()
    if not folder.is_dir():
        raise InvalidValue(f"There is no folder {folder}, so nothing of it can be kept.")
    if target.is_relative_to(folder) or folder.is_relative_to(target):
        raise InvalidValue(f"{folder} is where the files are kept anyway.", hint="Name a folder elsewhere.")
    kept: list[Path] = []
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        below = path.relative_to(folder)
        if (select or _is_for_boards)(below):
            kept.append(_copied(path, target, (rename or rank_in_name)(below, rank)))
    return kept


def rank_in_name(path: Path, rank: int) -> Path:
    """`host.xplane.pb` of rank 3 becomes `host#3.xplane.pb`, as profilers count hosts; those of rank 0 stay."""
    if not rank:
        return path
    name, host = path.name, socket.gethostname()
    before, found, after = name.partition(host)
    if found:
        return path.with_name(f"{before}{host}#{rank}{after}")
    stem, dot, ending = name.partition(".")
    return path.with_name(f"{stem}#{rank}{dot}{ending}")


def _is_for_boards(path: Path) -> bool:
    return is_event_file(path.name) or is_board_file(path.as_posix())


def _copied(path: Path, target: Path, below: object) -> Path:
    if not isinstance(below, Path):
        raise InvalidType(f"A renamed file is named by a Path, not by {below!r}.")
    if below.is_absolute() or ".." in below.parts or below == Path():
        raise InvalidValue(f"{str(below)!r} cannot be the new name of {path.name}.", hint="Use a relative path.")
    place = target / below
    try:
        copy_file(path, place)
    except OSError as error:
        raise StorageUnavailable(f"{path} cannot be kept: {error.strerror}.") from None
    return place
