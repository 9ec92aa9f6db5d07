# SPDX-License-Identifier: Apache-2.0
"""Units that run beside a keeper: the keeper packed as one file, what it is told of a unit, and what its answers mean.

Local processes, ssh and Slurm share this. The file is named after its content, so another version of aboard does not
touch what this one has started.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from aboard.errors import InvalidValue, StorageUnavailable, UnitRefused
from aboard.executors.executor import refuse_parts
from aboard.foundation.files import replace_file
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitSpec, UnitStatus, state_after

_ENTRY_POINT = "from keeper.commands import main\n\nmain()\n"


@cache
def keeper_bytes() -> bytes:
    """The file; the same bytes for the same sources."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), _ENTRY_POINT)
        for source in sorted(resources.files("aboard.executors.keeper").iterdir(), key=lambda entry: entry.name):
            if source.name.endswith(".py"):
                archive.writestr(zipfile.ZipInfo(f"keeper/{source.name}"), source.read_bytes())
    return packed.getvalue()


def keeper_name() -> str:
    """What the file is called: another version of aboard does not touch what this one has started."""
    return f"keeper-{hashlib.sha256(keeper_bytes()).hexdigest()[:16]}.pyz"


def keeper_file(folder: Path) -> Path:
    """The file below `folder`, written if it is not there."""
    path = folder / keeper_name()
    if path.exists():
        return path
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, keeper_bytes())
    except OSError as error:
        hint = "make it writable, or name another one"
        raise StorageUnavailable(f"units cannot be kept in {folder}: {error.strerror}", hint=hint) from error
    return path


Answer = Mapping[str, Any]

# A keeper that is asked to end by anybody but aboard: the machine goes down, or gives the place to another.
_KEEPER_REASONS = {"signalled": EndReason.PREEMPTED}


def keeper_document(spec: UnitSpec) -> dict[str, object]:
    """What a keeper needs to know."""
    return {
        "format": "aboard-kept-unit",
        "version": 1,
        "id": spec.id,
        "name": spec.name,
        "command": list(spec.command),
        "source": spec.source,
        "environment": dict(spec.environment),
        "ports": [{"name": port.name, "number": port.number, "variable": port.variable} for port in spec.ports],
        "timeout": spec.timeout,
        "grace": spec.grace,
        "cpus": spec.resources.cpus,
        "memory": spec.resources.memory,
        "gpus": spec.resources.gpus,
        "labels": dict(spec.labels),
        "restarts": spec.restarts,
    }


def check_started(answer: Answer) -> None:
    """Raise what a keeper has refused."""
    if "refused" in answer:
        raise UnitRefused(answer["refused"], hint=answer["hint"])


def kept_status(answer: Answer) -> UnitStatus | None:
    """What a look at a unit's folder means; none when the unit was never started."""
    state: dict[str, Any] | None = answer["state"]
    if state is None:
        now = UnitState.STOPPING if answer["stop"] else UnitState.STARTING
        return UnitStatus(state=now) if answer["kept"] else None
    if "end" in state:
        return ended_status(state)
    started = _moment(state["started"])
    host, attempt = state["host"], starts_of(state)
    if not answer["kept"]:
        left = f"; {answer['strays']} of its processes still run" if answer["strays"] else ""
        message = f"its keeper on {host} died without a word, as after kill -9 or a restart of the machine{left}"
        reason = EndReason.LOST
        return UnitStatus(
            state=UnitState.LOST,
            reason=reason,
            message=message,
            started=started,
            host=host,
            attempt=attempt,
            can_go_on=bool(answer.get("may_start_again")),  # a keeper of an earlier version does not know
        )
    now = UnitState.STOPPING if answer["stop"] else UnitState.RUNNING if "pid" in state else UnitState.STARTING
    return UnitStatus(state=now, started=started, host=host, attempt=attempt)


def is_running(answer: Answer) -> bool:
    """Whether anything of the unit is left. A keeper that has written down the end is only about to go."""
    has_ended = answer["state"] is not None and "end" in answer["state"]
    return bool(answer["kept"] and not has_ended) or answer["strays"] > 0


def ended_status(state: dict[str, Any]) -> UnitStatus:
    """How a unit ended, as its keeper wrote it down."""
    end: dict[str, Any] = state["end"]
    reason = _KEEPER_REASONS.get(end["reason"]) or EndReason(end["reason"])
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=end["message"],
        exit_code=end["code"],
        started=_moment(state["started"]),
        ended=_moment(end["time"]),
        host=state["host"],
        attempt=starts_of(state),
    )


def starts_of(state: dict[str, Any]) -> int:
    """How often the unit was started: by keepers, and again by one keeper."""
    return int(state["attempt"]) + int(state.get("again", 0))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


REFUSED_BY_PROCESSES = {
    "image": "give a command without an image, or use the executor docker or kubernetes",
    "mounts": "a process sees the folders of its machine as they are: name those paths, or use docker",
    "service_account": "a process runs as the user who starts it; service accounts are for kubernetes and vertex",
}


def check_process(executor: str, spec: UnitSpec) -> None:
    """Refuse a unit that cannot be a plain process."""
    refuse_parts(executor, spec, REFUSED_BY_PROCESSES)
    for port in spec.ports:
        if port.host is not None and port.host != port.number:
            hint = f"the process itself must listen on {port.host}: give it as the number"
            raise InvalidValue(f"port {port.name} of unit {spec.name} cannot appear elsewhere", hint=hint)


def port_number(state: dict[str, Any], name: str) -> int:
    """The number of a port, from the keeper's record."""
    ports: dict[str, int] = state["ports"]
    if name not in ports:
        known = ", ".join(ports) or "none"
        raise InvalidValue(f"the unit has no port {name!r}", hint=f"its ports: {known}")
    return ports[name]
