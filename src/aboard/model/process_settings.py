# SPDX-License-Identifier: Apache-2.0
"""The settings of a board that is a process: flags of stock TensorBoard, where the process runs, and in which image."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.unit_parts import Mount

_KEYS = ("tensorboard_args", "executor", "image", "bind_mounts")
_MOUNT_KEYS = ("host_path", "container_path", "read_only")
_FLAGS = (
    *("--samples_per_plugin", "--window_title", "--reload_interval", "--reload_multifile", "--max_reload_threads"),
    *("--reload_multifile_inactive_secs", "--purge_orphaned_data", "--generic_data", "--load_fast"),
)
"""What people may say. Others would lead to other files, ports or machines than the board's own."""
_LONGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Settings that were checked as far as anybody can who does not know the server."""

    arguments: tuple[str, ...] = ()
    executor: str = ""
    """As a person writes it, `slurm:partition=cpu`; empty: the server's own choice."""
    image: str = ""
    mounts: tuple[Mount, ...] = ()

    def as_mapping(self) -> dict[str, object]:
        """In one spelling, so that the same settings are known to be the same."""
        found: dict[str, object] = {"tensorboard_args": list(self.arguments)} if self.arguments else {}
        found |= {"image": self.image} if self.image else {}
        mounts = [
            {"host_path": one.source, "container_path": one.target, "read_only": one.read_only} for one in self.mounts
        ]
        return found | ({"bind_mounts": mounts} if mounts else {}) | {"executor": self.executor}


def parse_process_settings(given: Mapping[str, object]) -> ProcessSettings:
    """What a person set. The image may stand in `environment`, as other systems have it."""
    own = _flat(given)
    for key in own:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InvalidValue(
                f"a board that is a process has no setting {key!r}", hint=f"{hint}known are {', '.join(_KEYS)}"
            )
    return ProcessSettings(
        arguments=_arguments(own.get("tensorboard_args", ())),
        executor=_text(own.get("executor", ""), "executor", "write a name, as docker or slurm:partition=cpu"),
        image=_text(own.get("image", ""), "image", "write its name, as tensorflow/tensorflow:2.20.0"),
        mounts=_mounts(own.get("bind_mounts", ())),
    )


def _flat(given: Mapping[str, object]) -> dict[str, object]:
    own = dict(given)
    environment = own.pop("environment", None)
    if environment is None:
        return own
    if not isinstance(environment, Mapping) or set(cast("Mapping[str, object]", environment)) != {"image"}:
        hint = "of `environment` a board takes `image` alone: a process gets no variables of people"
        raise InvalidValue(f"environment is {environment!r}", hint=hint)
    return {"image": cast("Mapping[str, object]", environment)["image"], **own}


def _text(value: object, key: str, hint: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or any(ord(letter) < 33 for letter in value.strip()):
        raise InvalidValue(f"{key} is {value!r}", hint=hint)
    return value.strip()


def _mounts(value: object) -> tuple[Mount, ...]:
    several = [value] if isinstance(value, Mapping) else value
    hint = 'write [{"host_path": "/data", "container_path": "/data", "read_only": true}]'
    if not isinstance(several, Sequence) or isinstance(several, str):
        raise InvalidValue(f"bind_mounts is {value!r}", hint=hint)
    found: list[Mount] = []
    for one in cast("Sequence[object]", several):
        fields: Mapping[str, object] = cast("Mapping[str, object]", one) if isinstance(one, Mapping) else {}
        source, target = fields.get("host_path"), fields.get("container_path")
        read_only = fields.get("read_only", True)
        is_known = bool(fields) and set(fields) <= set(_MOUNT_KEYS)
        if not (is_known and isinstance(source, str) and isinstance(target, str) and isinstance(read_only, bool)):
            raise InvalidValue(f"bind_mounts has {one!r}", hint=hint)
        if not source.startswith("/"):
            raise InvalidValue(f"host_path {source!r} is not an absolute path", hint=hint)
        found.append(Mount(source=source, target=target, read_only=read_only))
    return tuple(found)


def _arguments(value: object) -> tuple[str, ...]:
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, Sequence) or not all(isinstance(one, str) for one in cast("Sequence[object]", several)):
        raise InvalidValue(f"tensorboard_args is {value!r}", hint="give a list of texts, as --reload_interval=10")
    rest, found = list(cast("Sequence[str]", several)), list[str]()
    while rest:
        argument = rest.pop(0)
        flag, equals, text = argument.partition("=")
        flag = "--" + flag[2:].replace("-", "_") if flag.startswith("--") else flag
        if flag not in _FLAGS:
            raise InvalidValue(f"{argument!r} is not for boards", hint=f"flags that may be given: {', '.join(_FLAGS)}")
        text = text if equals else (rest.pop(0) if rest else "")
        if not text or "\0" in text or len(text) > _LONGEST:
            raise InvalidValue(f"{flag} has no value that could be used", hint=f"write {flag}=VALUE")
        # The keeper of a unit fills in variables that stand so; a person's words are no such place.
        found.append(f"{flag}={text.replace('$(', '$ (')}")
    return tuple(found)
