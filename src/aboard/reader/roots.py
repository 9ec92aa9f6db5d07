# SPDX-License-Identifier: Apache-2.0
"""Roots: the folders and store URIs that runs are read from, and the names of the runs below them.

A root is given as a path, a pattern, `name=path` or a URI. A run below a folder is named by its path; a run of a
store by the name in its `run.json`.
"""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aboard.errors import DamagedDocument, InvalidValue
from aboard.events.event import is_event_file
from aboard.foundation.files import opened_file, read_all
from aboard.model.names import is_uid, offline_run_name, run_name
from aboard.model.runs import RunRecord
from aboard.model.templates import TemplateValue

if TYPE_CHECKING:
    from aboard.store.run.documents import Summary


@dataclass(frozen=True, slots=True)
class StoreUri:
    """A place in an object store, as a person named it."""

    uri: str
    """Holds no secret, and may be shown."""
    given: str = field(default="", repr=False, compare=False)
    """What opens it, where that is more: a shared access signature may stand at its end."""

    def __str__(self) -> str:
        return self.uri

    @property
    def parts(self) -> tuple[str, ...]:
        """The bucket and the parts of the prefix, as those of a path."""
        scheme, _, rest = self.uri.partition("://")
        return (f"{scheme}:", *rest.split("/"))

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]


Root: TypeAlias = Path | StoreUri


def root_of_uri(text: str) -> Root:
    """The folder of a file:// URI, or a place in a store; a mistake in it is told at once."""
    from aboard.store.uri import parse_uri

    address = parse_uri(text)
    if address.path is not None:
        if not address.path.exists():
            raise InvalidValue(f"there is no folder {str(address.path)!r}", hint="file:// names one of this machine")
        return address.path
    return StoreUri(address.uri, text)


def is_uri(text: str) -> bool:
    """Whether something names a place by a URI, and not a path."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()


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


class StoredLogdir(NamedTuple):
    """A logdir of a run that is in a store, and what the documents of the run say."""

    run: str
    """The run by the key of its folder below the root."""
    uid: str
    name: str
    logdir: str
    record: RunRecord | None
    """None where `run.json` cannot be read."""


class StoredRuns:
    """Names that never collide: of two runs with one name, the second also shows its uid, whoever goes later."""

    class Location(NamedTuple):
        """A run by the key of its folder, and the path of a logdir in it; empty for the run itself."""

        run: str
        logdir: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.renamed = 0
        """Grows when a run has another name than before."""
        self._columns: dict[str, dict[str, TemplateValue]] = {}
        self._described: dict[str, tuple[str, RunRecord | None]] = {}
        self._taken: set[tuple[str, str]] = set()

    def __contains__(self, run: str) -> bool:
        return run in self._names

    def add(self, run: str, uid: str, described: RunRecord | None, summary: Summary | None) -> None:
        """Name a run, or learn more of one. `described` is what `run.json` says, if that can be read."""
        with self._lock:
            wanted = _wanted_name(uid, described)
            if self._wanted.get(run) != wanted:
                self._wanted[run] = wanted
                self._give(run, uid, wanted)
            self._columns[run] = _template_columns(uid, self._names[run], described, summary)
            self._described[run] = uid, _with_summary(described, summary)

    def _give(self, run: str, uid: str, wanted: str) -> None:
        above, before = run.rpartition("/")[0], self._names.get(run)
        self._taken.discard((above, before or ""))
        name = f"{wanted}-{uid[-8:].lower()}" if (above, wanted) in self._taken else wanted
        self._taken.add((above, name))
        self._names[run] = name
        self.renamed += before is not None

    def name_of(self, run: str, logdir: str) -> str:
        """What a logdir is called on a board."""
        above = run.rpartition("/")[0]
        return "/".join(part for part in (above, self._names[run], logdir) if part)

    def logdir_of(self, run: str, logdir: str) -> StoredLogdir:
        """What is known of a logdir and its run."""
        uid, record = self._described[run]
        return StoredLogdir(run, uid, self._names[run], logdir, record)

    def columns_of(self, run: str, logdir: str) -> Mapping[str, TemplateValue]:
        """The fields of a template for a logdir; groups stand as `tags.x`."""
        return {**self._columns.get(run, {}), "logdir": logdir.rpartition("/")[2] or self._names[run]}


def _with_summary(described: RunRecord | None, summary: Summary | None) -> RunRecord | None:
    if described is None or summary is None:
        return described
    from aboard.model.hparams import hparams_from_json

    tags = {**summary.tags, **described.tags}
    return replace(described, hparams={**hparams_from_json(summary.hparams), **described.hparams}, tags=tags)


def _wanted_name(uid: str, described: RunRecord | None) -> str:
    if described is None:
        return offline_run_name(uid)
    return described.name or (run_name(described.number) if described.number else offline_run_name(uid))


def _template_columns(
    uid: str, name: str, described: RunRecord | None, summary: Summary | None
) -> dict[str, TemplateValue]:
    tags = {**(summary.tags if summary else {}), **(described.tags if described else {})}
    hparams: Mapping[str, object] = summary.hparams if summary else {}
    columns: dict[str, TemplateValue] = {"run": name, "uid": uid}
    if described is not None:
        columns |= {
            "workspace": described.workspace,
            "experiment": described.experiment,
            "user": described.user or None,
        }
    columns |= {f"tags.{key}": value for key, value in tags.items()}
    return columns | {f"hparams.{key}": _plain_value(value) for key, value in hparams.items()}


def _plain_value(value: object) -> TemplateValue:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


_EVENTS = "tb"  # the folder of a run's event files in a store


class RunRoot:
    """A root of a collection. One in a folder is read where it is, without links below `within`, which is above it."""

    def __init__(self, folder: Path, within: Path | None = None) -> None:
        self.folder = folder
        self._within = within
        self._runs = StoredRuns()
        self._above = folder.absolute().name  # a run of a store may itself be the root

    @property
    def renamed(self) -> int:
        """Grows when a run has another name than before."""
        return self._runs.renamed

    def name_of(self, relative: str) -> str:
        """What the runs of a folder are called, which is named from the root."""
        place = self.location_of(relative)
        if place is None:
            return relative
        return self._runs.name_of(place.run, place.logdir)

    def columns_of(self, relative: str) -> Mapping[str, TemplateValue] | None:
        """What is known of a run in a store for its name on a board; None for anything else."""
        place = self.location_of(relative)
        return None if place is None else self._runs.columns_of(place.run, place.logdir)

    def stored_logdir(self, relative: str) -> StoredLogdir | None:
        """What is known of a logdir of a run in a store; None for anything else."""
        place = self.location_of(relative)
        return None if place is None else self._runs.logdir_of(place.run, place.logdir)

    def location_of(self, relative: str) -> StoredRuns.Location | None:
        """The run of a store to which a folder of event files belongs."""
        parts = relative.split("/")
        if parts[0] == _EVENTS and is_uid(self._above):
            place = StoredRuns.Location("", "/".join(parts[1:]))
            return place if self._learn(place.run) else None
        for number, part in enumerate(parts[:-1]):
            if is_uid(part) and parts[number + 1] == _EVENTS:
                place = StoredRuns.Location("/".join(parts[: number + 1]), "/".join(parts[number + 2 :]))
                return place if self._learn(place.run) else None
        return None

    def _learn(self, run: str) -> bool:
        """Read what a folder of a store says of its run, once; whether it is one."""
        if run in self._runs:
            return True
        folder = self.folder / run
        if not self._has_file(folder / "manifest.json"):
            return False
        from aboard.store.run.documents import parse_run, parse_summary

        uid = (run or self._above).rpartition("/")[2]
        try:
            described = parse_run(self._bytes(folder / "run.json"), f"{folder / 'run.json'}")
        except (OSError, DamagedDocument):
            described = None
        try:
            summary = parse_summary(self._bytes(folder / "summary.json"))
        except (OSError, DamagedDocument):
            summary = None
        self._runs.add(run, uid, described, summary)
        return True

    def _has_file(self, path: Path) -> bool:
        if self._within is None:
            return path.exists()
        try:
            with opened_file(self._within, str(path.relative_to(self._within))):
                return True
        except OSError:
            return False

    def _bytes(self, path: Path) -> bytes:
        if self._within is None:
            return path.read_bytes()
        with opened_file(self._within, str(path.relative_to(self._within))) as (file, state):
            return read_all(file, 0, state.st_size)
