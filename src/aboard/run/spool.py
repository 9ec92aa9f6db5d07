# SPDX-License-Identifier: Apache-2.0
"""The spool folder of a run on the training machine: names of its files, JSON documents, and `facts.jsonl`.

JSON documents are replaced atomically. `facts.jsonl` holds what a run says about itself, one JSON object per line with
`kind`, `time` and `pid`. Any process of the run may append; nobody rewrites it. A line is written by a single call in
append mode, so lines of several processes never mix. Readers skip a line that a full disk cut off. The format is
described in docs/decisions/0010.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from aboard.errors import StorageUnavailable
from aboard.foundation.files import make_private_folder, replace_file

SPOOLS = "spool"
"""Below the person's home folder: one folder for each run, named by its uid."""
FACTS = "facts.jsonl"
"""What the training says about itself, one JSON object in a line."""
START = "start.json"
"""What a training process that was not started by `aboard run` asks its helper for."""
LOG_FORMAT = "aboard-log-start"
"""The format of `START` where there is no run, and log folders with URIs are shipped."""
FOLDER = "folder.json"
"""In each of these folders: the URI that it stands for."""
DESTINATION = "destination.json"
"""Where the files are, and where they go: enough to finish shipping without whoever began it."""
PROGRESS = "progress.json"
"""How far shipping has come."""
ATTEMPT = "attempt.json"
"""The claim of the newest attempt of this machine; without one there is nothing to ship."""
LOCK = "lock"
"""Held by the process that ships."""
HELPER_LOG = "helper.log"
OUTPUT = "output"
LOGS = "log"
TENSORBOARD = "tensorboard"
"""Below the output folder."""


def spools_of(home: Path) -> Path:
    """Where the folders of all runs are."""
    return home / SPOOLS


def write_json(path: Path, document: Mapping[str, object]) -> None:
    """Replace a file by a document."""
    try:
        make_private_folder(path.parent)
        # In ASCII: texts may hold half a character, which UTF-8 cannot.
        replace_file(path, json.dumps(document, allow_nan=False).encode("ascii"))
    except OSError as error:
        failure = StorageUnavailable(f"{path} cannot be written: {os.strerror(error.errno or 0)}.")
        failure.errno = error.errno
        raise failure from None


def read_json(path: Path) -> dict[str, object]:
    """The document in a file; empty when there is none that can be read."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, object]", document) if isinstance(document, dict) else {}


Kind = Literal[
    "attempt",
    "earlier",
    "hparams",
    "tags",
    "note",
    "annotation",
    "artifact",
    "watch",
    "own_file",
    "signal",
    "status",
    "process",
    "folder",
    "flush",
]


class FactLog:
    """Appends facts. Safe from any thread, after a fork and in a signal handler: it holds no lock and no buffer."""

    def __init__(self, spool: Path) -> None:
        self.path = spool / FACTS

    def append(self, kind: Kind, **fields: object) -> None:
        """Write one fact; raises OSError."""
        fact = {"kind": kind, "time": time.time(), "pid": os.getpid(), **fields}
        line = json.dumps(fact, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            data = line.encode("utf-8", "surrogatepass")
            if os.write(file, data) != len(data):  # the disk is full: the next line begins on a line of its own
                os.write(file, b"\n")
        finally:
            os.close(file)


class FactReader:
    """Reads facts as they come, each once."""

    def __init__(self, spool: Path) -> None:
        self._path = spool / FACTS
        self._position = 0

    def new(self) -> list[Mapping[str, object]]:
        """Facts that were written whole since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        return [fact for line in whole.splitlines() if (fact := _parsed(line)) is not None]


def _parsed(line: bytes) -> Mapping[str, object] | None:
    try:
        fact = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, object]", fact) if isinstance(fact, dict) and "kind" in fact else None
