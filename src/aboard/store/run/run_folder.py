# SPDX-License-Identifier: Apache-2.0
"""One run in a store: reads and writes its documents. Who may do so is decided elsewhere (docs/decisions/0010)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from aboard.errors import DamagedDocument, KeyExists, KeyNotFound
from aboard.model.run import Run
from aboard.model.uid import check_uid
from aboard.store.run import layout
from aboard.store.run.attempt_claim import AttemptClaim, parse_claim, render_claim
from aboard.store.run.manifest import Manifest, parse_manifest, render_manifest
from aboard.store.run.outputs import Outputs, parse_outputs, render_outputs
from aboard.store.run.run_json import parse_run, render_run
from aboard.store.run.summary import Summary, parse_summary, render_summary
from aboard.store.store import Entry, Store


class ManifestRead(NamedTuple):
    """A manifest, and the tag that tells whether it is still the same."""

    manifest: Manifest
    etag: str


class RunFolder:
    """The objects of one run. Documents that are not there read as None; damaged ones raise DamagedDocument."""

    def __init__(self, store: Store, uid: str) -> None:
        self.store = store
        self.uid = check_uid(uid)

    def __repr__(self) -> str:
        return f"<run {self.uid} in {self.store.uri}>"

    def key(self, path: str) -> str:
        """The key of a path of this run."""
        return f"{self.uid}/{path}"

    def where(self, path: str) -> str:
        """A path in words, for errors."""
        return f"{self.key(path)} in {self.store.uri}"

    def read_run(self) -> Run | None:
        """What people say about the run."""
        data = self._read(layout.RUN)
        return None if data is None else self._own(parse_run(data, self.where(layout.RUN)))

    def create_run(self, run: Run) -> bool:
        """Write `run.json` if there is none yet; whether it was written."""
        try:
            self.store.put(self.key(layout.RUN), render_run(self._own(run)), create_only=True)
        except KeyExists:
            return False
        return True

    def write_run(self, run: Run) -> None:
        """Change `run.json`, which only the server does."""
        self.store.put(self.key(layout.RUN), render_run(self._own(run)))

    def attempt_numbers(self) -> list[int]:
        """The numbers of all attempts, ascending; one request."""
        names = (entry.key.rpartition("/")[2] for entry in self.store.list(self.key(layout.ATTEMPTS)))
        return sorted(filter(None, map(layout.attempt_number, names)))

    def read_attempt(self, number: int) -> AttemptClaim | None:
        """The claim of one attempt."""
        path = layout.attempt_path(number)
        data = self._read(path)
        return None if data is None else parse_claim(data, self.where(path))

    def create_attempt(self, claim: AttemptClaim) -> bool:
        """Take the number of an attempt; False when another has it. A repeated call with the same token is True."""
        try:
            self.store.put(self.key(layout.attempt_path(claim.number)), render_claim(claim), create_only=True)
        except KeyExists:
            return self.is_claimed_by(claim)
        return True

    def is_claimed_by(self, claim: AttemptClaim) -> bool:
        """Whether the attempt of this number is the one of this claim."""
        try:
            found = self.read_attempt(claim.number)
        except DamagedDocument:
            return False
        return found is not None and found.token == claim.token

    def read_manifest(self) -> ManifestRead | None:
        """The manifest, whatever it was before."""
        return self.read_manifest_if_changed("")

    def read_manifest_if_changed(self, etag: str) -> ManifestRead | None:
        """The manifest if it is no longer the one with this tag; None when it still is, or there is none."""
        try:
            fetched = self.store.get_if_changed(self.key(layout.MANIFEST), etag)
        except KeyNotFound:
            return None
        if fetched is None:
            return None
        return ManifestRead(parse_manifest(fetched.data, self.where(layout.MANIFEST)), fetched.etag)

    def write_manifest(self, manifest: Manifest) -> str:
        """Replace the manifest; its tag."""
        return self.store.put(self.key(layout.MANIFEST), render_manifest(manifest))

    def read_outputs(self) -> Outputs | None:
        """The list of files that were shipped whole."""
        data = self._read(layout.OUTPUTS)
        return None if data is None else parse_outputs(data, self.where(layout.OUTPUTS))

    def write_outputs(self, outputs: Outputs) -> None:
        """Replace that list."""
        self.store.put(self.key(layout.OUTPUTS), render_outputs(outputs))

    def read_summary(self) -> Summary | None:
        """What the run has come to."""
        data = self._read(layout.SUMMARY)
        return None if data is None else parse_summary(data, self.where(layout.SUMMARY))

    def write_summary(self, summary: Summary) -> None:
        """Replace the summary."""
        self.store.put(self.key(layout.SUMMARY), render_summary(summary))

    def list(self, folder: str = "") -> Iterator[Entry]:
        """The objects of the run below a folder of it, with keys relative to the run."""
        below = self.key(folder) if folder else self.uid
        for entry in self.store.list(below):
            yield Entry(entry.key[len(self.uid) + 1 :], entry.size, entry.modified, entry.etag)

    def delete(self, paths: list[str]) -> None:
        """Delete objects of the run; what is not there is no error."""
        self.store.delete([self.key(path) for path in paths])

    def _read(self, path: str) -> bytes | None:
        try:
            return self.store.get(self.key(path))
        except KeyNotFound:
            return None

    def _own(self, run: Run) -> Run:
        if run.uid != self.uid:
            raise DamagedDocument(f"{self.where(layout.RUN)} is that of another run: {run.uid}.")
        return run
