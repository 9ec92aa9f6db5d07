# SPDX-License-Identifier: Apache-2.0
"""The folders that a person names on the command line, in aboard's way and in TensorBoard's."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from aboard.errors import InvalidValue

_HINT = "give a folder with event files, name=FOLDER, a pattern, or one event file"


def roots_of(paths: Sequence[str], logdir: str | None, logdir_spec: str | None) -> dict[str, Path]:
    """Names and folders. One folder without a name adds nothing to the names of its runs."""
    named = [_named(path) for path in paths]
    if logdir is not None:
        named.append(("", logdir))
    if logdir_spec is not None:
        named += [_specified(part) for part in logdir_spec.split(",") if part]
    if not named:
        raise InvalidValue("no folder was named", hint=_HINT)
    found = [(name, path) for name, pattern in named for path in _matching(pattern)]
    if len(found) == 1:
        return dict(found)
    return _distinct(found)


def _named(argument: str) -> tuple[str, str]:
    """`name=path`; a path that exists as it stands is never split."""
    name, separator, path = argument.partition("=")
    if separator and not os.path.lexists(argument) and "/" not in name:
        return name, path
    return "", argument


def _specified(part: str) -> tuple[str, str]:
    """`name:path` of --logdir_spec, as TensorBoard splits it."""
    name, separator, path = part.partition(":")
    return (name, path) if separator and not name.startswith("/") else ("", part)


def _matching(pattern: str) -> list[Path]:
    path = Path(pattern).expanduser()
    if "://" in pattern:
        raise InvalidValue(f"{pattern!r} is a URI; this version opens local folders", hint=_HINT)
    if path.exists():
        return [path]
    matches = sorted(glob.glob(str(path), recursive=True))
    if not matches:
        raise InvalidValue(f"there is no folder {pattern!r} (in {Path.cwd()})", hint=_HINT)
    return [Path(match) for match in matches]


def _distinct(found: list[tuple[str, Path]]) -> dict[str, Path]:
    """Folders without a name get the end of their path, as much of it as tells them apart."""
    roots: dict[str, Path] = {}
    unnamed = list(dict.fromkeys(path for name, path in found if not name))
    for name, path in found:
        chosen = name or _shortest_end(path, unnamed)
        if chosen in roots and roots[chosen] != path:
            raise InvalidValue(f"two folders are called {chosen!r}: {roots[chosen]} and {path}", hint="use name=FOLDER")
        roots[chosen] = path
    return roots


def _shortest_end(path: Path, others: list[Path]) -> str:
    parts = path.absolute().parts
    for length in range(1, len(parts)):
        end = parts[-length:]
        if all(other == path or other.absolute().parts[-length:] != end for other in others):
            return "/".join(end)
    return str(path.absolute())
