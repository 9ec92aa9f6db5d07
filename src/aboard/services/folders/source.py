# SPDX-License-Identifier: Apache-2.0
"""A source of runs without a catalog: the runs below folders and URIs, as `aboard view` and `serve.roots` show them.

A `Follower` of the collection reads files in the background. The list of runs is brought up to date when somebody
asks for it, at most a few times a second, and only runs that have grown are summarised again. Nothing is written into
the folders; what people add to runs is kept in `FolderEdits`.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from aboard._native import TagSummary, scalar_summaries
from aboard.errors import AboardError
from aboard.model.names import uid_from_digest, workspace_name
from aboard.model.run_edits import NO_EDIT, RunEdit
from aboard.model.runs import RunRecord
from aboard.reader.collection import RunCollection
from aboard.reader.grouping import group_logdirs
from aboard.reader.roots import Root, StoredLogdir
from aboard.reader.run import RunReader
from aboard.services.folders.edits import FolderEdits
from aboard.services.folders.folder_run import FolderRun

_FRESH_SECONDS = 0.25
_THREADS = max(2, os.cpu_count() or 1)


class RunKey(NamedTuple):
    """A run by the name of its root and its path below it, or by its uid where it is in a store."""

    root: str
    path: str


class FolderSource:
    """The runs of a collection, one for each group of logdirs that belong together. Safe to use from any thread."""

    def __init__(
        self,
        collection: RunCollection,
        *,
        home: Path | None,
        title: str,
        fresh_seconds: float = _FRESH_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Edits are kept below `home`; without one nobody edits runs here.

        The list of runs is brought up to date when it is older than `fresh_seconds`.
        """
        self.collection, self.title = collection, title
        self.workspace = workspace_name(title)
        self._identities = {name: _identity(root) for name, root in collection.roots.items()}
        self.location = "\n".join(sorted(self._identities.values()))
        """What identifies the source among others."""
        self.home = home
        self._edits = {name: FolderEdits(home, one) for name, one in self._identities.items()} if home else {}
        self._longest_first = sorted(collection.roots, key=len, reverse=True)
        self._fresh_seconds, self._monotonic = fresh_seconds, monotonic
        self._lock = threading.Lock()
        self._by_key: dict[RunKey, FolderRun] = {}
        self._last_number = 0
        self._grouped: Mapping[str, RunReader] | None = None
        self._checked_at = float("-inf")
        self._version = 0
        self._runs: Sequence[FolderRun] = ()
        self._by_number: Mapping[int, FolderRun] = {}
        self._by_uid: Mapping[str, FolderRun] = {}

    @property
    def version(self) -> int:
        """Grows whenever the list of runs, or anything in it, changes."""
        return self._version

    def runs(self) -> Sequence[FolderRun]:
        """The runs as they were read a moment ago; the same list as long as nothing has changed."""
        with self._lock:
            if self._monotonic() - self._checked_at >= self._fresh_seconds:
                self._update()
                self._checked_at = self._monotonic()
            return self._runs

    def numbered(self, number: int) -> FolderRun | None:
        """The run with this number, also one in the trash."""
        self.runs()
        return self._by_number.get(number)

    def identified(self, uid: str) -> FolderRun | None:
        """The run with this uid, also one in the trash."""
        self.runs()
        return self._by_uid.get(uid)

    def edit(self, runs: Sequence[FolderRun], change: Callable[[RunEdit], RunEdit]) -> None:
        """Change what was added to runs, and keep it for the next opening."""
        by_root: dict[str, dict[str, FolderRun]] = {}
        for run in runs:
            by_root.setdefault(run.root, {})[run.path] = run
        for root, by_path in by_root.items():
            for path, edit in self._edits[root].change(list(by_path), change).items():
                by_path[path].edit = edit
        with self._lock:
            self._publish()

    def _update(self) -> None:
        found = self.collection.runs
        is_new = found is not self._grouped
        if is_new:
            self._group(found)
        grown = [run for run in self._by_key.values() if not run.is_current]
        if grown:
            self._summarise(grown)
        if is_new or grown:
            self._publish()

    def _publish(self) -> None:
        self._runs = list(self._by_key.values())
        self._by_number = {run.number: run for run in self._runs}
        self._by_uid = {run.uid: run for run in self._runs}
        self._version += 1

    def _group(self, found: Mapping[str, RunReader]) -> None:
        self._grouped = found
        by_root: dict[str, dict[tuple[str, ...], RunReader]] = {}
        stored: dict[RunKey, list[tuple[StoredLogdir, RunReader]]] = {}
        for name, reader in found.items():
            root, path = self._split(name)
            known = self.collection.stored_logdir(name)
            if known is None:
                by_root.setdefault(root, {})[path] = reader
            else:
                stored.setdefault(RunKey(root, known.uid), []).append((known, reader))
        kept: dict[RunKey, FolderRun] = {}
        for root, readers in by_root.items():
            for top, logdirs in group_logdirs(readers, split_root=True).items():
                run = self._keep(kept, RunKey(root, "/".join(top) or "."))
                run.logdirs = {"/".join(logdir[len(top) :]): readers[logdir] for logdir in logdirs}
        for key, parts in stored.items():
            run = self._keep(kept, key)
            run.describe(known := parts[0][0], self._read_documents(key.root, known))
            run.logdirs = {known.logdir: reader for known, reader in parts}
        self._by_key = kept

    def _read_documents(self, root: str, known: StoredLogdir) -> RunRecord | None:
        """All that the documents of a run say; of one in a bucket what its mirror has read."""
        folder = self.collection.roots[root]
        if not isinstance(folder, Path):
            return known.record
        # Plain folders need none of it, and a command of a fraction of a second would load it.
        from aboard.store import open_store
        from aboard.store.run.loading import load_run
        from aboard.store.run.run_folder import RunFolder

        above = folder / known.run
        try:
            return load_run(RunFolder(open_store(str(above.parent), read_only=True), known.uid)).run or known.record
        except AboardError:
            return known.record

    def _keep(self, kept: dict[RunKey, FolderRun], key: RunKey) -> FolderRun:
        run = kept[key] = self._by_key.get(key) or self._new_run(key)
        return run

    def _new_run(self, key: RunKey) -> FolderRun:
        self._last_number += 1
        path = "" if key.path == "." else key.path
        return FolderRun(
            number=self._last_number,
            uid=run_uid(self._identities[key.root], key.path),
            root=key.root,
            path=key.path,
            name="/".join(filter(None, (key.root, path))) or self.title,
            workspace=self.workspace,
            edit=self._edits[key.root].of(key.path) if self._edits else NO_EDIT,
        )

    def _summarise(self, runs: Sequence[FolderRun]) -> None:
        readers = [(run, logdir, reader.logdir) for run in runs for logdir, reader in run.logdirs.items()]
        found = scalar_summaries([logdir for _, _, logdir in readers], _THREADS)
        by_run: dict[FolderRun, dict[str, Sequence[TagSummary]]] = {run: {} for run in runs}
        for (run, logdir, _), summaries in zip(readers, found, strict=True):
            by_run[run][logdir] = summaries
        for run, summaries in by_run.items():
            run.learn(summaries)

    def _split(self, name: str) -> tuple[str, tuple[str, ...]]:
        """The root of a logdir and its path below it, as the collection joins them."""
        for root in self._longest_first:
            if not root or name == root or name.startswith(f"{root}/"):
                below = name[len(root) :].strip("/") if root else name
                return root, () if below in ("", ".") else tuple(below.split("/"))
        raise AssertionError(name)


def run_uid(source: str, path: str) -> str:
    """The uid of a run that has none: the same each time for the same path below the same root."""
    identity = f"{source}\n{path}".encode("utf-8", "surrogateescape")
    return uid_from_digest(hashlib.blake2b(identity, digest_size=16).digest())


def _identity(root: Root) -> str:
    return str(root.absolute()) if isinstance(root, Path) else root.uri
