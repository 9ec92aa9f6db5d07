# SPDX-License-Identifier: Apache-2.0
"""Machines on which commands run under `aboard run`, and what a reader of the store sees of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aboard._native import scalars_in_records
from aboard.errors import NoSuchStore
from aboard.model.runs import RunRecord
from aboard.store import Connection, Store, open_store
from aboard.store.run.documents import Summary
from aboard.store.run.file_rows import FileRow
from aboard.store.run.listing import RunListing
from aboard.store.run.loading import load_run
from aboard.store.run.run_folder import RunFolder, read_logical
from support.commands import aboard
from support.forked_commands import ForkedCommand
from support.processes import Ended, until

SECONDS = 60


@dataclass
class Machine:
    """A computer with a home folder of its own; several share a store."""

    folder: Path
    store: str
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def script(self, text: str) -> Path:
        path = self.folder / f"script_{time.monotonic_ns()}.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def start(self, *arguments: object, **environment: str) -> ForkedCommand:
        """Start `aboard` with some arguments."""
        return ForkedCommand(*arguments, env=self._environment(environment), cwd=self.folder, text=False)

    def python_command(self, script: str, *arguments: object) -> list[str]:
        """What runs a script with this interpreter."""
        return [sys.executable, str(self.script(script)), *map(str, arguments)]

    def start_python(self, script: str, *arguments: object, **environment: str) -> subprocess.Popen[bytes]:
        """Start a script by itself."""
        return subprocess.Popen(
            self.python_command(script, *arguments),
            cwd=self.folder,
            env=self._environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def aboard(self, *arguments: object, **environment: str) -> Ended:
        """`aboard` with some arguments, to its end."""
        return finish(self.start(*arguments, **environment))

    def ask(self, *arguments: object, **environment: str) -> Ended:
        """As `aboard`, within the process of the test, for commands that only ask a server: it saves their start."""
        with contextlib.chdir(self.folder):
            return aboard(*arguments, env=self._environment(environment))

    def run(self, script: str, *options: object, **environment: str) -> Ended:
        """A script under `aboard run`."""
        return finish(self.start_run(script, *options, **environment))

    def start_run(self, script: str, *options: object, **environment: str) -> ForkedCommand:
        return self.start("run", *options, "--", sys.executable, self.script(script), **environment)

    def python(self, script: str, *arguments: object, **environment: str) -> Ended:
        return finish(self.start_python(script, *arguments, **environment))

    def stop_server(self) -> None:
        """End the private server that commands have started, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            address = json.loads((self.home / "server/server.json").read_text())
            os.kill(address["pid"], signal.SIGTERM)

    def spools(self) -> list[Path]:
        return sorted((self.home / "spool").iterdir())

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ABOARD_", "XT_", "AWS_"))}
        return {**clean, "ABOARD_HOME": str(self.home), "ABOARD_STORE": self.store, **self.environment, **more}


def finish(process: subprocess.Popen[bytes] | ForkedCommand, seconds: float = SECONDS) -> Ended:
    """Wait for the end; what takes longer is taken for hung."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"it hung for {seconds} s; it said:\n{out[-2000:]!r}\n{err[-4000:]!r}")
    assert process.returncode is not None
    return Ended(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def well(ended: Ended) -> Ended:
    assert ended.code == 0, f"exit code {ended.code}\n{ended.out[-2000:]}\n{ended.err[-4000:]}"
    assert "Traceback" not in ended.err, ended.err
    return ended


@dataclass
class Kept:
    """What a store holds, for who knows nothing but the store."""

    store: Store

    @classmethod
    def at(cls, uri: str, environment: dict[str, str] | None = None) -> Kept:
        given = environment or {}
        connection = Connection(
            endpoint=given.get("AWS_ENDPOINT_URL", ""),
            region=given.get("AWS_REGION", ""),
            key_id=given.get("AWS_ACCESS_KEY_ID", ""),
            secret=given.get("AWS_SECRET_ACCESS_KEY", ""),
        )
        return cls(open_store(uri, read_only=True, connection=connection))

    def uids(self) -> list[str]:
        return RunListing(self.store).new()

    def run(self, uid: str | None = None) -> RunRecord:
        loaded = load_run(self.folder(uid))
        assert loaded.run is not None, loaded.problems
        assert not loaded.problems
        return loaded.run

    def folder(self, uid: str | None = None) -> RunFolder:
        if uid is None:
            (uid,) = self.uids()
        return RunFolder(self.store, uid)

    def summary(self, uid: str | None = None) -> Summary:
        summary = self.folder(uid).read_summary()
        assert summary is not None
        return summary

    def rows(self, uid: str | None = None) -> dict[str, FileRow]:
        """All files by their path in the store."""
        folder = self.folder(uid)
        read, outputs = folder.read_manifest(), folder.read_outputs()
        rows = (*(read.manifest.files if read else ()), *(outputs.files if outputs else ()))
        return {row.path: row for row in rows if not row.gone}

    def content(self, path: str, uid: str | None = None) -> bytes:
        return read_logical(self.folder(uid), self.rows(uid)[path])

    def points(self, logdir: str, tag: str, uid: str | None = None) -> list[tuple[int, float]]:
        """(step, value) of a series in all files of a logdir, in the order of the files."""
        found: list[tuple[int, float]] = []
        for path in sorted(self.rows(uid)):
            above, _, name = path.rpartition("/")
            if above == (f"tb/{logdir}" if logdir else "tb") and "tfevents" in name:
                points, _ = scalars_in_records(self.content(path, uid))
                found += [(step, value) for one, _, step, value in points if one == tag]
        return found

    def everything(self) -> bytes:
        """All bytes of all objects together."""
        return b"\n".join(self.store.get(entry.key) for uid in self.uids() for entry in self.store.list(uid))


def status_of(kept: Kept, uid: str | None = None) -> str:
    """How a run stands; empty while nobody knows."""
    try:
        read = kept.folder(uid).read_manifest()
    except (ValueError, NoSuchStore):  # there is no run yet
        return ""
    return str(read.manifest.status) if read else ""


def until_status(kept: Kept, status: str, seconds: float = SECONDS) -> None:
    until(lambda: status_of(kept) == status, seconds)
