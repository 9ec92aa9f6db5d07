# SPDX-License-Identifier: Apache-2.0
"""Symbolic links of a source folder that lead out of it: what they mean is not there on the other side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from aboard.errors import InvalidValue

_SHOWN = 5


def refuse_links_out(folder: Path, names: Iterable[str]) -> None:
    """Refuse a source with such links, and name them."""
    found = list(links_out(folder, names))
    if not found:
        return
    shown = ", ".join(f"{name} -> {(folder / name).readlink()}" for name in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    hint = "have git ignore them, put what they lead to into the folder, or name its place there in the command"
    raise InvalidValue(f"the source folder {folder} has links that lead out of it: {shown}{more}", hint=hint)


def links_out(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Those among the files of a folder that are links and, by the way they name, lead elsewhere."""
    root = Path(os.path.realpath(folder))
    for name in names:
        if not (folder / name).is_symlink():
            continue
        target = (folder / name).readlink()
        by_name = Path(os.path.normpath(Path(name).parent / target))
        if (
            target.is_absolute()
            or by_name.parts[:1] == ("..",)
            or not Path(os.path.realpath(folder / name)).is_relative_to(root)
        ):
            yield name
