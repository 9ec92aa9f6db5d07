# SPDX-License-Identifier: Apache-2.0
"""Small JSON files with which the processes of one run speak to each other: whole or not there, never half."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from aboard.errors import StorageUnavailable
from aboard.folder_files import make_private_folder

_ASIDE = ".aboard-aside-"  # shippers pass over files that begin so


def write_json(path: Path, document: Mapping[str, object]) -> None:
    """Replace a file by a document."""
    aside = path.parent / f"{_ASIDE}{secrets.token_hex(8)}"
    try:
        make_private_folder(path.parent)
        # In ASCII: texts may hold half a character, which UTF-8 cannot.
        aside.write_text(json.dumps(document, allow_nan=False), encoding="ascii")
        aside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        failure = StorageUnavailable(f"{path} cannot be written: {os.strerror(error.errno or 0)}.")
        failure.errno = error.errno
        raise failure from None


def read_json(path: Path) -> dict[str, object]:
    """The document in a file; empty when there is none that can be read."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, object]", document) if isinstance(document, dict) else {}
