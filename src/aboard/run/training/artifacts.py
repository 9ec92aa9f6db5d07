# SPDX-License-Identifier: Apache-2.0
"""Files that a training keeps with its run: artifacts, and files for boards such as profiles of each rank."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from aboard.errors import InvalidType, InvalidValue, StorageUnavailable
from aboard.events.file_names import is_board_file, is_event_file
from aboard.foundation.files import copy_file

FOLDER = "artifacts"


def keep_artifact(source: str | os.PathLike[str], name: str | None, output: Path) -> str:
    """Copy a file or folder below the output folder, if it is not there; its path below that folder."""
    path = Path(source).expanduser().absolute()
    if not path.exists():
        raise InvalidValue(f"There is no file or folder {path}, so it cannot be kept as an artifact.")
    if name is None and path.is_relative_to(output):
        return path.relative_to(output).as_posix()
    below = f"{FOLDER}/{_checked(name or path.name)}"
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
