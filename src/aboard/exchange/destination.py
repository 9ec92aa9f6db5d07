# SPDX-License-Identifier: Apache-2.0
"""Where a copy of folders may go: somewhere new, apart from everything it is made of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.wording import plain, size

_HINT = "give the name of a new folder, apart from what is to be copied"


def check_destination(out: Path, roots: Mapping[str, Path]) -> None:
    """Refuse a folder that holds anything, or that lies in what is copied or around it."""
    real_out = Path(os.path.realpath(out))
    for root in filter(Path.is_dir, roots.values()):
        source = Path(os.path.realpath(root))
        if real_out.is_relative_to(source):
            raise InvalidValue(f"{str(out)!r} lies in {str(source)!r}, which is to be copied", hint=_HINT)
        if source.is_relative_to(real_out):
            raise InvalidValue(f"{str(out)!r} lies around {str(source)!r}, which is to be copied", hint=_HINT)
    if os.path.lexists(out):
        if not out.is_dir():
            raise InvalidValue(f"{str(out)!r} is there and is no folder", hint=_HINT)
        try:
            holds_something = any(out.iterdir())
        except OSError as error:
            raise StorageUnavailable(f"cannot look into {str(out)!r}: {error.strerror}", hint=_HINT) from error
        if holds_something:
            raise InvalidValue(f"{str(out)!r} is not empty; a copy needs a folder of its own", hint=_HINT)
    _check_names(list(roots))


def _check_names(names: list[str]) -> None:
    """Names of roots become folders below the destination: each must be one, and none below another."""
    for name in names:
        parts = name.split("/") if name else []
        if any(part in {"", ".", ".."} for part in parts):
            raise InvalidValue(f"{plain(name)!r} cannot be the name of a folder in the copy", hint="use name=FOLDER")
        for other in names:
            if other != name and (other + "/").startswith(name + "/" if name else ""):
                raise InvalidValue(
                    f"the copies of {plain(name)!r} and {plain(other)!r} would lie in one another",
                    hint="use name=FOLDER with names that have no folder in common",
                )


def check_space(out: Path, needed: int) -> None:
    """Refuse to begin what cannot end well."""
    there = out
    while not there.is_dir():
        there = there.absolute().parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise StorageUnavailable(
            f"the copy needs {size(needed)}, and {str(there)!r} has {size(free)} left",
            hint="choose another disk, or copy event files alone with --events-only",
        )
