# SPDX-License-Identifier: Apache-2.0
"""Selections on the command line: `@FILE`, folders and URIs, and runs that a server knows."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aboard.errors import InvalidValue, UnknownName
from aboard.model.selections import SelectedRun, hint_for_nothing, is_folder, is_wild, split_words
from aboard.reader.roots import find_roots, is_uri, named_path

if TYPE_CHECKING:
    from aboard.client.client import Client

_HOW = "write one name in a line, or several with commas; a line that begins with # is left out"


def expand_files(words: Sequence[str]) -> list[str]:
    """The words, and in the place of each `@FILE` those of the file; `@-` is standard input."""
    found: list[str] = []
    for word in words:
        name = word.strip().rstrip(",").strip()
        found += _words_in(name[1:]) if name.startswith("@") else [word]
    return found


def _words_in(name: str) -> list[str]:
    if not name:
        raise InvalidValue("behind @ the name of a file is missing", hint="write @runs.txt, or @- for standard input")
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).expanduser().read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidValue(f"@{name} cannot be read: {error.strerror}", hint=_HOW) from None
    except RuntimeError:
        raise InvalidValue(f"@{name} begins with the home of a user who is not known here") from None
    except UnicodeDecodeError as error:
        raise InvalidValue(f"@{name} is no text in UTF-8: {error.reason} at byte {error.start}", hint=_HOW) from None
    words = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not words:
        raise InvalidValue(f"@{name} names nothing", hint=_HOW)
    return words


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


def classify_words(words: Sequence[str]) -> ViewWords:
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


def resolve_folders(folders: Sequence[str]) -> list[str]:
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


# Words that cannot be mistyped folders.
_NUMBERS = re.compile(r"(run|exp|job)?[1-9][0-9]*(\s*-\s*(run|exp|job)?[1-9][0-9]*)?|name:.*", re.IGNORECASE | re.ASCII)


def check_any_is_known(words: ViewWords) -> None:
    """Report a mistyped folder at once where no run was ever kept, without starting a server."""
    from aboard.config.credentials import client_settings
    from aboard.config.home import machine_folder

    settings = client_settings()
    may_be_known = settings.server or "://" in settings.store or Path(settings.store).expanduser().exists()
    if may_be_known or (machine_folder(settings.home) / "server").exists():
        return
    for word in words.runs:
        if not _NUMBERS.fullmatch(word.rpartition("/")[2]):
            raise InvalidValue(f"there is no folder {word!r} (in {Path.cwd()})", hint="and no run is known here yet")


def explain_unknown(error: UnknownName, words: ViewWords) -> UnknownName:
    """A word that no run is called may be the name of a folder that was mistyped."""
    named = [word for word in words.runs if not _NUMBERS.fullmatch(word) and not is_wild(word)]
    missed = next((word for word in named if repr(word) in error.message), None)
    if missed is None:
        return error
    return UnknownName(f"there is no folder {missed!r} (in {Path.cwd()}), and {error.message}", hint=error.hint)


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


def select_runs(
    client: Client, names: Sequence[str], where: str | None = None, *, in_bin: bool = False, exact: bool = False
) -> list[SelectedRun]:
    """Each run that is meant, once; at least one, and at least one for each word.

    With `exact`, for commands that change runs, `job2300` is a number and never a name.
    """
    selected = client.runs.select(expand_files(names), where=where, in_bin=in_bin, exact=exact)
    if selected.folders:
        hint = "name runs; `aboard runs list` shows what there is"
        raise InvalidValue(f"{selected.folders[0]} holds no run that the server knows", hint=hint)
    if selected.empty:
        if selected.where:
            hint = "`aboard runs list` shows what there is"
            raise UnknownName(f"there is no run for which {where} holds", hint=hint)
        missed = selected.empty[0]
        raise UnknownName(f"there is no run like {missed!r}", hint=hint_for_nothing(missed))
    return list(selected.runs)
