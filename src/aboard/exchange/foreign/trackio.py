# SPDX-License-Identifier: Apache-2.0
"""Trackio: the databases of its projects on this machine."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aboard.errors import InvalidValue
from aboard.exchange.foreign.runs import ForeignPoint, ForeignRun, import_library
from aboard.model.hparams import flat_hparams

_FOLDER = "TRACKIO_DIR"


def runs_of_trackio(place: str) -> Iterator[ForeignRun]:
    """The runs of a folder of projects, or of the database of one project."""
    path = Path(place).expanduser().absolute()
    folder = path.parent if path.suffix == ".db" else path
    projects = [path.stem] if path.suffix == ".db" else sorted(file.stem for file in folder.glob("*.db"))
    if not projects or not (folder / f"{projects[0]}.db").is_file():
        raise InvalidValue(
            f"There is no project of Trackio in {path}.",
            hint="Name a file such as project.db, or its folder, by default ~/.cache/huggingface/trackio.",
        )
    storage = _storage(folder)
    for project in projects:
        for record in storage.get_run_records(project):
            yield _run(storage, project, record, folder)


def _storage(folder: Path) -> Any:
    """Trackio reads its folder from the environment when it is imported, and stays with it."""
    if "trackio" not in sys.modules:
        os.environ[_FOLDER] = str(folder)
    module: Any = import_library("trackio.sqlite_storage", "trackio")
    module.TRACKIO_DIR = folder
    return module.SQLiteStorage


def _run(storage: Any, project: str, record: dict[str, Any], folder: Path) -> ForeignRun:
    name, number = str(record["name"]), record.get("id")
    rows: list[dict[str, Any]] = storage.get_logs(project, name, run_id=number)
    config: dict[str, Any] = storage.get_run_config(project, name, run_id=number) or {}
    times = [_time(row["timestamp"]) for row in rows]
    created = _time(config.get("_Created") or record.get("created_at") or 0)
    left_out: Counter[str] = Counter()
    points: list[ForeignPoint] = []
    for row, moment in zip(rows, times, strict=True):
        for tag, value in row.items():
            if tag in {"timestamp", "step"}:
                continue
            if isinstance(value, (bool, int, float)):
                points.append(ForeignPoint(tag, int(row.get("step") or 0), moment.timestamp(), float(value)))
            else:
                left_out[type(value).__name__] += 1
    return ForeignRun(
        key=f"trackio:{project}/{number or name}",
        name=name,
        experiment=str(config.get("_Group") or project),
        created=created,
        ended=max(times, default=None),
        user=str(config.get("_Username") or ""),
        hparams=flat_hparams({key: value for key, value in config.items() if not key.startswith("_")}),
        points=lambda: points,
        source=f"{folder / project}.db {name}",
        left_out=left_out,
    )


def _time(value: Any) -> datetime:
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, UTC)
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
