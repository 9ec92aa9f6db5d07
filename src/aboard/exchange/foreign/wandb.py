# SPDX-License-Identifier: Apache-2.0
"""wandb: folders of offline runs, and of others whose files are still there. Nothing is asked of its servers."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from aboard.errors import InvalidValue
from aboard.exchange.foreign.runs import ForeignPoint, ForeignRun, import_library
from aboard.model.hparams import HparamValue, flat_hparams
from aboard.model.states import RunState

_HEADER = b":W&B\xe1\xbe\x00"
_BLOCK = 32 * 1024
_FRAGMENT = struct.Struct("<IHB")
_WHOLE, _FIRST, _LAST = 1, 2, 4


@dataclass
class _Log:
    """What one file of a run says."""

    run: Any = None
    exit_code: int | None = None
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def runs_of_wandb(place: str) -> Iterator[ForeignRun]:
    """The runs below a folder named `wandb`, of one run's folder, or of one `.wandb` file."""
    path = Path(place).expanduser().absolute()
    files = [path] if path.suffix == ".wandb" else sorted(path.rglob("run-*.wandb"))
    if not files or not all(file.is_file() for file in files):
        raise InvalidValue(f"There are no runs of wandb in {path}.", hint="Name the folder `wandb` of a project.")
    seen: set[Path] = set()
    for file in files:
        real = file.resolve()  # `latest-run` is a link to one of the others
        if real not in seen:
            seen.add(real)
            yield _run(file)


def _run(file: Path) -> ForeignRun:
    log = _read(file)
    if log.run is None:
        raise InvalidValue(f"{file} does not say which run it is of.", hint="It may have been cut off at its start.")
    started: float = log.run.start_time.seconds + log.run.start_time.nanos / 1e9
    times = [float(row["_timestamp"]) for row in log.rows if "_timestamp" in row]
    rows, left_out = _numbers(log.rows)
    status = RunState.LOST if log.exit_code is None else RunState.FAILED if log.exit_code else RunState.COMPLETED

    def points() -> Iterator[ForeignPoint]:
        for place, row in enumerate(rows):
            step, moment = int(row.get("_step", float(place))), row.get("_timestamp", started)
            for name, value in row.items():
                if not name.startswith("_"):
                    yield ForeignPoint(name, step, moment, value)

    return ForeignRun(
        key=f"wandb:{log.run.entity}/{log.run.project}/{log.run.run_id}",
        name=log.run.display_name or log.run.run_id,
        experiment=log.run.run_group or log.run.project or None,
        created=datetime.fromtimestamp(started or min(times, default=file.stat().st_mtime), UTC),
        ended=datetime.fromtimestamp(max(times), UTC) if times else None,
        status=status,
        hparams=_hparams(log.config),
        tags=dict.fromkeys(log.run.tags, ""),
        notes=(log.run.notes,) if log.run.notes else (),
        points=points,
        source=str(file),
        left_out=left_out,
    )


def _read(file: Path) -> _Log:
    messages: Any = import_library("wandb.proto.wandb_internal_pb2", "wandb")
    log = _Log()
    for data in _records(file.read_bytes(), file):
        record = messages.Record()
        record.ParseFromString(data)
        _take(log, record)
    return log


def _records(data: bytes, file: Path) -> Iterator[bytes]:
    """The records of a file of wandb, up to the first that is not whole: a killed run ends in the middle of one.

    The format is LevelDB's log: blocks of 32 KiB hold fragments, each after its checksum, length and kind.
    wandb's own reader of it was never public and is gone since 0.31.
    """
    if data[: len(_HEADER)] != _HEADER:
        raise InvalidValue(f"{file} is not a file of wandb.", hint="Name the folder `wandb` of a project.")
    position, record = len(_HEADER), b""
    while position + _FRAGMENT.size <= len(data):
        left_in_block = _BLOCK - position % _BLOCK
        if left_in_block < _FRAGMENT.size:
            position += left_in_block
            continue
        checksum, length, kind = _FRAGMENT.unpack_from(data, position)
        position += _FRAGMENT.size
        fragment = data[position : position + length]
        position += length
        if len(fragment) < length or zlib.crc32(fragment, zlib.crc32(bytes([kind]))) != checksum:
            return
        record = fragment if kind in (_WHOLE, _FIRST) else record + fragment
        if kind in (_WHOLE, _LAST):
            yield record


def _take(log: _Log, record: Any) -> None:
    match record.WhichOneof("record_type"):
        case "run":
            log.run = record.run
            _configure(log, record.run.config)
        case "config":
            _configure(log, record.config)
        case "history":
            row = {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
            if record.history.HasField("step"):
                row.setdefault("_step", record.history.step.num)
            log.rows.append(row)
        case "exit":
            log.exit_code = record.exit.exit_code
        case _:
            pass


def _configure(log: _Log, config: Any) -> None:
    for item in config.update:
        log.config[".".join(item.nested_key) or item.key] = json.loads(item.value_json)
    for item in config.remove:
        log.config.pop(".".join(item.nested_key) or item.key, None)


def _numbers(rows: list[dict[str, Any]]) -> tuple[list[dict[str, float]], Counter[str]]:
    """The numbers of each row; nested ones by names with dots. What is none is counted by its kind."""
    left_out: Counter[str] = Counter()
    kept = [dict(_flat(row, "", left_out)) for row in rows]
    return kept, left_out


def _flat(values: dict[str, Any], above: str, left_out: Counter[str]) -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        path = f"{above}{name}"
        inner = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        if inner is not None and "_type" not in inner:
            yield from _flat(inner, f"{path}.", left_out)
        elif isinstance(value, (bool, int, float)):
            yield path, float(value)
        elif value in ("NaN", "Infinity", "-Infinity"):
            yield path, math.nan if value == "NaN" else math.inf if value == "Infinity" else -math.inf
        elif not name.startswith("_"):
            left_out[type(cast("object", value)).__name__ if inner is None else str(inner.get("_type"))] += 1


def _hparams(config: dict[str, Any]) -> dict[str, HparamValue]:
    return flat_hparams({name: value for name, value in config.items() if name != "_wandb"})
