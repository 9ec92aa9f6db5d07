# SPDX-License-Identifier: Apache-2.0
"""The keeper as one file that any Python runs: packed from `executors/keeper`, named after what is in it."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from functools import cache
from importlib import resources
from pathlib import Path

from aboard.errors import StorageUnavailable

_ENTRY = "from keeper.commands import main\n\nmain()\n"


@cache
def keeper_bytes() -> bytes:
    """The file; the same bytes for the same sources."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), _ENTRY)
        for source in sorted(resources.files("aboard.executors.keeper").iterdir(), key=lambda entry: entry.name):
            if source.name.endswith(".py"):
                archive.writestr(zipfile.ZipInfo(f"keeper/{source.name}"), source.read_bytes())
    return packed.getvalue()


def keeper_name() -> str:
    """What the file is called: another version of aboard does not touch what this one has started."""
    return f"keeper-{hashlib.sha256(keeper_bytes()).hexdigest()[:16]}.pyz"


def keeper_file(folder: Path) -> Path:
    """The file below `folder`, written if it is not there."""
    path = folder / keeper_name()
    if path.exists():
        return path
    aside = folder / f".{path.name}.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside.write_bytes(keeper_bytes())
        aside.replace(path)
    except OSError as error:
        hint = "make it writable, or name another one"
        raise StorageUnavailable(f"units cannot be kept in {folder}: {error.strerror}", hint=hint) from error
    return path
