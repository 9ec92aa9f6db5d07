# SPDX-License-Identifier: Apache-2.0
"""What a person names behind `aboard view`: folders of this machine and URIs, or runs that a server knows."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aboard.errors import InvalidValue
from aboard.model.selection import is_wild
from aboard.model.selection_words import is_folder, split_words
from aboard.reader.roots import find_roots, is_uri, named_path

_NUMBERED = re.compile(r"(run|exp|job)[1-9][0-9]*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class ViewWords:
    """The words, told apart."""

    runs: list[str] = field(default_factory=list[str])
    """Names of runs and experiments, patterns and ranges, each for itself."""
    folders: list[str] = field(default_factory=list[str])
    """Folders, URIs, `name=FOLDER`, patterns of folders and event files, as they were typed."""
    notes: list[str] = field(default_factory=list[str])
    """What may surprise the person."""


def told_apart(words: Sequence[str]) -> ViewWords:
    """What is there on this machine is a folder; what only looks like one, too; all else are runs."""
    found = ViewWords()
    for word in words:
        # The name of a folder may hold a comma.
        for part in [word] if _is_there(word) else split_words([word]) or [word]:
            if _names_a_folder(part):
                found.folders.append(part)
                if _NUMBERED.fullmatch(part):
                    found.notes.append(f"{part} is a folder here; `aboard board start {part}` shows the run")
            else:
                found.runs.append(part)
    return found


def board_folders(folders: Sequence[str]) -> list[str]:
    """Folders and URIs as a board over runs takes them: whole paths of folders that are there."""
    if not folders:
        return []
    named = [named_path(folder) for folder in folders]
    for name, path in named:
        if name:
            hint = f"leave `{name}=` away, or view folders alone"
            raise InvalidValue(f"{name}={path} gives a folder a name, which a board with runs does not know", hint=hint)
    roots = list(find_roots(named).values())
    for root in roots:
        if isinstance(root, Path) and not root.is_dir():
            hint = f"give its folder: {root.parent}"
            raise InvalidValue(f"{root} is a single file, which cannot be on one board with runs", hint=hint)
        if "," in str(root):
            hint = "a comma separates the sources of a board; rename the folder, or view it alone"
            raise InvalidValue(f"{str(root)!r} holds a comma", hint=hint)
    return [str(root.absolute()) if isinstance(root, Path) else str(root) for root in roots]


def _names_a_folder(part: str) -> bool:
    if not part or _is_there(part) or is_uri(part) or is_folder(part):
        return True
    name, equals, path = part.partition("=")
    if equals and name and "/" not in name and _names_a_folder(path):
        return True  # under a name of its own; a run may be called lr=0.1
    return is_wild(part) and bool(glob.glob(part, recursive=True))


def _is_there(part: str) -> bool:
    try:
        return os.path.lexists(Path(part).expanduser()) if part else False
    except RuntimeError:
        return False  # the home of a user who is not known here
