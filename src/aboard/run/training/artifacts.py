# SPDX-License-Identifier: Apache-2.0
"""Files that a training wants to keep: copied into the output folder, from which they are shipped."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from aboard.errors import InvalidValue, StorageUnavailable

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
            aside = target.parent / f".aboard-aside-{target.name}"
            shutil.copy2(path, aside)
            aside.replace(target)
    except (OSError, shutil.Error) as error:
        raise StorageUnavailable(f"{path} cannot be kept as an artifact: {error}.") from None
    return below


def _checked(name: str) -> str:
    parts = name.split("/")
    if not name or name.startswith("/") or any(part in {"", ".", ".."} for part in parts):
        raise InvalidValue(f"{name!r} cannot be the name of an artifact.", hint="Use a relative path such as model.pt.")
    return name
