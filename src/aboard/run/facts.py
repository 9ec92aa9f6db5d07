# SPDX-License-Identifier: Apache-2.0
"""`facts.jsonl`: what a run says about itself, line by line. Any process of the run may append; nobody rewrites it.

Each line is one JSON object with `kind`, `time` and `pid`, written by a single call in append mode, so that lines of
several processes never mix. A line that was cut off by a full disk is passed over by readers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from aboard.run.spool_files import FACTS

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
