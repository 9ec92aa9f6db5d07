# SPDX-License-Identifier: Apache-2.0
"""Records of jobs on disk, so that any process of their owner can take a job up again.

A record is written before its unit is submitted and again with the handle: a process that dies in between leaves a
record by whose id the executor finds the unit. Records hold no environment, and only their owner can read them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from aboard.config.home import home_hint
from aboard.errors import AboardError, Conflict, InvalidValue, NewerFormat, StorageUnavailable, UnknownName
from aboard.foundation.files import make_private_folder, replace_file
from aboard.model.documents import DocumentFields
from aboard.model.names import check_uid, is_uid
from aboard.model.units import Mount, Port, Resources, UnitSpec

_FORMAT, _VERSION = "aboard-job", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as it was submitted; its id is that of its unit."""

    id: str
    run: str
    """Name of the run that it makes or goes on with."""
    workspace: str
    experiment: str = ""
    executor: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    command: str
    created: str
    handle: str = ""
    """Text of the unit's handle; empty until the unit was submitted."""
    queue: str = ""
    """Text of the handle of the unit that submits this one when its turn has come."""
    group: str = ""
    """Id of its sweep, under which the source of all its jobs is kept."""

    def text(self) -> str:
        return json.dumps({"format": _FORMAT, "version": _VERSION, **asdict(self)}, indent=1, sort_keys=True)

    @classmethod
    def parse(cls, text: str, place: str) -> Self:
        try:
            fields = DocumentFields(json.loads(text), place)
        except ValueError:
            raise InvalidValue(f"{place} is not the record of a job", hint="remove it, if it is damaged") from None
        if fields.text("format") != _FORMAT:
            raise InvalidValue(f"{place} is not the record of a job")
        if (version := fields.required_integer("version")) != _VERSION:
            raise NewerFormat(f"{place} has version {version}; this aboard knows {_VERSION}", hint="upgrade aboard")
        return cls(
            id=check_uid(fields.required_text("id")),
            run=fields.required_text("run"),
            workspace=fields.required_text("workspace"),
            experiment=fields.text("experiment") or "",
            executor=fields.required_text("executor"),
            options=fields.mapping("options"),
            command=fields.required_text("command"),
            created=fields.required_text("created"),
            handle=fields.text("handle") or "",
            queue=fields.text("queue") or "",
            group=check_uid(group) if (group := fields.text("group")) else "",
        )


class JobRecords:
    """The folder `jobs` below the home folder of aboard."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "jobs"

    def place(self, job: str) -> Path:
        """A folder for what belongs to one job, or to all of a sweep, such as the copy of its source."""
        return self.folder / check_uid(job)

    def path(self, job: str) -> Path:
        return self.folder / f"{check_uid(job)}.json"

    def unit_file(self, job: str) -> Path:
        """The file with all of a job's unit, from which it can be submitted again."""
        return self.place(job) / "unit.json"

    def unit_environment(self, job: str) -> dict[str, str]:
        """The variables of a job's unit; none where they were not kept."""
        try:
            return json.loads(self.unit_file(job).read_text("utf-8"))["environment"]
        except (OSError, ValueError, KeyError):
            return {}

    def write(self, record: JobRecord) -> None:
        """Keep a record, in the place of an earlier one."""
        write_owned(self.path(record.id), record.text())

    def get(self, job: str) -> JobRecord:
        path = self.path(job)
        try:
            return JobRecord.parse(path.read_text("utf-8"), str(path))
        except FileNotFoundError:
            raise UnknownName(f"there is no job {job}", hint="`aboard jobs list` shows those there are") from None
        except OSError as error:
            raise StorageUnavailable(f"{path} cannot be read: {error.strerror}") from error

    def all(self) -> list[JobRecord]:
        """Every job, the oldest first; what cannot be read is passed over."""
        return list(self._after(""))

    def _after(self, uid: str) -> Iterator[JobRecord]:
        for path in sorted(self.folder.glob("*.json")):
            if is_uid(path.stem) and path.stem > uid:
                with contextlib.suppress(AboardError):
                    yield self.get(path.stem)

    def find(self, text: str) -> JobRecord:
        """The job with this id, the end or beginning of it, or the newest whose run is called so."""
        if is_uid(text.upper()):
            return self.get(text.upper())
        records = self.all()
        named = [record for record in records if record.run == text]
        if named:
            return named[-1]
        part = text.upper()
        near = [record for record in records if record.id.startswith(part) or record.id.endswith(part)] if part else []
        if len(near) > 1:
            raise Conflict(f"{text!r} means {len(near)} jobs", hint="write more of the id")
        if not near:
            raise UnknownName(f"there is no job {text!r}", hint="`aboard jobs list` shows those there are")
        return near[0]

    def is_wanted(self, job: str) -> bool:
        """Whether a job may go on: it is written down, nobody cancelled it, and its run has no newer job."""
        if self.cancel_mark(job).exists():
            return False
        records = {record.id: record for record in self.all()}
        if (own := records.get(job)) is None:
            return False
        same = [one.id for one in records.values() if (one.workspace, one.run) == (own.workspace, own.run)]
        return same[-1] == job

    def mark_cancelled(self, job: str) -> None:
        """Have it known that the end of a job was wanted: to its run, and to a queue in which it still waits."""
        write_owned(self.cancel_mark(job), "")

    def cancel_mark(self, job: str) -> Path:
        """The file that is there when the end of a job was wanted."""
        return self.folder / f"{check_uid(job)}.cancelled"

    def remove(self, job: str) -> None:
        """Forget a job, or a sweep, and what was kept for it."""
        import shutil

        shutil.rmtree(self.place(job), ignore_errors=True)
        for path in (self.cancel_mark(job), self.path(job)):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def remove_if_empty(self, group: str) -> bool:
        """Forget what was kept for a sweep, unless a job of it is still written down; whether that was done."""
        if not group or any(record.group == group for record in self._after(group)):
            return False
        self.remove(group)
        return True


def write_owned(path: Path, text: str) -> None:
    """Replace a file that only its owner can read; whole or not at all."""
    try:
        make_private_folder(path.parent)
        replace_file(path, text.encode(), mode=0o600)
    except OSError as error:
        message = f"{path} cannot be written: {cast('str', error.strerror)}."
        raise StorageUnavailable(message, hint=home_hint(error)) from error


def unit_to_json(spec: UnitSpec) -> dict[str, Any]:
    """All of a unit, with its environment: who writes this down keeps it from others."""
    return {**asdict(spec), "environment": dict(spec.environment), "labels": dict(spec.labels)}


def unit_from_json(document: dict[str, Any]) -> UnitSpec:
    parts: dict[str, Any] = {
        **document,
        "command": tuple(document["command"]),
        "mounts": tuple(Mount(**one) for one in document["mounts"]),
        "ports": tuple(Port(**one) for one in document["ports"]),
        "resources": Resources(**document["resources"]),
    }
    return UnitSpec(**parts)
