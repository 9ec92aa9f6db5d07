# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/catalog/v<schema>.sqlite: a small catalog in the newest schema, kept for ever once released.

Run it when a migration is added, before the release, and commit the new file; files of older schemas never change.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.catalog.migrations.schema_version import newest_version
from aboard.model.boards import BoardRecord
from aboard.model.people import Role
from aboard.model.runs import run_from_document
from aboard.model.times import parse_time

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "catalog"
POINT = {"step": 3, "wall_time": 1793000000.5}
DOCUMENTS = [
    {
        "uid": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "workspace": "Vision",
        "experiment": "baseline",
        "name": "first",
        "status": "completed",
        "user": "ann",
        "created": "2026-11-01T12:00:00Z",
        "started": "2026-11-01T12:00:01.5Z",
        "ended": "2026-11-01T13:00:00Z",
        "bytes": 12345678901,
        "hparams": {"lr": 0.01, "opt": {"name": "adam"}, "amp": True, "seed": "1152921504606846977", "none": None},
        "metrics": {
            "val/loss": {"last": {"value": "NaN", **POINT}, "min": {"value": 0.1, **POINT}, "count": 3},
            "acc": {"last": {"value": 0.5, **POINT}, "max": {"value": 0.75, **POINT}, "count": 1},
        },
        "tags": {"best": "", "team": "vision"},
        "notes": [{"text": "größer", "author": "ann", "written": "2026-11-02T08:00:00Z"}],
        "attempts": [{"number": 1, "status": "preempted", "host": "a"}, {"number": 2, "status": "completed", "pid": 7}],
        "git": {"commit": "abc"},
    },
    {
        "uid": "01ARZ3NDEKTSV4RRFFQ69G5FAW",
        "workspace": "Vision",
        "created": "2026-11-03T12:00:00Z",
        "hparams": {"lr": 1},
    },
    {"uid": "01ARZ3NDEKTSV4RRFFQ69G5FAX", "workspace": "text", "experiment": "baseline", "status": "running"},
]
BOARD = BoardRecord(
    id="6f1f3c52-0000-4000-8000-000000000001",
    name="rarely-cute-man",
    workspace="vision",
    owner="ann",
    sources=("exp1",),
    created=parse_time("2026-11-04T12:00:00Z"),
    settings={"args": ["--x"]},
)


def make(path: Path) -> None:
    with Catalog.open(path) as catalog:
        catalog.runs.put_many([run_from_document(document) for document in DOCUMENTS])
        catalog.bin.delete_runs([2])
        catalog.people.add("ann", is_administrator=True)
        catalog.people.set_role("ann", "vision", Role.EDITOR)
        catalog.tokens.issue("ann", "laptop", scopes=["read"])
        catalog.boards.add(BOARD)
        catalog.saved_views.add("vision", "Best first", "runs?sort=metrics.loss.min", owner="ann")
        catalog.audit.record("ann", "run.delete", "run2", {"why": "test"})


def main() -> None:
    target = GOLDEN / f"v{int(newest_version())}.sqlite"
    if target.exists():
        sys.exit(f"{target} exists; remove it first if its schema was never released")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite"
        make(path)
        connection = sqlite3.connect(path)
        # One file instead of three, in small pages: most tables have a few rows.
        for statement in ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"):
            connection.execute(statement)
        connection.close()
        GOLDEN.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
