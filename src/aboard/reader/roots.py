# SPDX-License-Identifier: Apache-2.0
"""The folders and files that a person names: patterns, `name=path`, and names that tell several folders apart."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from aboard.errors import InvalidValue
from aboard.events.file_names import is_event_file
from aboard.reader.root import Root, is_uri, root_of_uri

ALLOWED = "give a folder with event files, name=FOLDER, a pattern, one event file, or a URI such as s3://bucket/prefix"


def named_path(argument: str) -> tuple[str, str]:
    """`name=path` as (name, path); a path that exists as it stands is never split, and has no name."""
    name, separator, path = argument.partition("=")
    if separator and not os.path.lexists(argument) and "/" not in name:
        return name, path
    return "", argument


def find_roots(named: Iterable[tuple[str, str | Path]]) -> dict[str, Root]:
    """Names and folders of (name, path); strings may be patterns or URIs. A single one without a name stays without."""
    found = [(name, path) for name, pattern in named for path in _matching(pattern)]
    if not found:
        raise InvalidValue("no folder was named", hint=ALLOWED)
    if len(found) == 1:
        return dict(found)
    roots = _distinct(found)
    _refuse_mixed_names(roots)
    return roots


def _matching(pattern: str | Path) -> Sequence[Root]:
    if pattern == "":
        raise InvalidValue("the name of a folder is empty", hint=f"{ALLOWED}; '.' is the current folder")
    if isinstance(pattern, str) and is_uri(pattern):
        return [root_of_uri(pattern)]
    try:
        path = Path(pattern).expanduser()
    except RuntimeError:
        raise InvalidValue(f"{str(pattern)!r} begins with the home of a user who is not known here") from None
    if path.exists():
        return [path]
    if isinstance(pattern, str):
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
        # Beside runs there may lie anything; what is named as it stands is taken at its word.
        if kept := [match for match in matches if match.is_dir() or is_event_file(match.name)]:
            return kept
        if matches:
            raise InvalidValue(f"{pattern!r} matches neither a folder nor an event file", hint=ALLOWED)
    raise InvalidValue(f"there is no folder {str(pattern)!r} (in {Path.cwd()})", hint=ALLOWED)


def _distinct(found: list[tuple[str, Root]]) -> dict[str, Root]:
    """Folders without a name get the end of their path, as much of it as tells them apart."""
    roots: dict[str, Root] = {}
    unnamed = list(dict.fromkeys(path for name, path in found if not name))
    for name, path in found:
        chosen = name or _shortest_end(path, unnamed)
        if chosen in roots and roots[chosen] != path:
            raise InvalidValue(f"two folders are called {chosen!r}: {roots[chosen]} and {path}", hint="use name=FOLDER")
        roots[chosen] = path
    return roots


def _shortest_end(root: Root, others: list[Root]) -> str:
    parts = _parts(root)
    for length in range(1, len(parts)):
        end = parts[-length:]
        if all(other == root or _parts(other)[-length:] != end for other in others):
            return "/".join(end)
    return str(root)


def _parts(root: Root) -> tuple[str, ...]:
    return root.absolute().parts if isinstance(root, Path) else root.parts


def _refuse_mixed_names(roots: dict[str, Root]) -> None:
    """A root `a/b` beside a root `a` would be taken for the run `b` of `a`, which one of the two would then hide."""
    for name, path in roots.items():
        parts = name.split("/")
        for length in range(1, len(parts)):
            above = roots.get("/".join(parts[:length]))
            if above is not None and (*_parts(above), *parts[length:]) != _parts(path):
                raise InvalidValue(
                    f"{path} would be called {name!r}, as a run of {above} may be", hint="use name=FOLDER for both"
                )
