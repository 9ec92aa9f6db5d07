# SPDX-License-Identifier: Apache-2.0
"""Settings of boards: of those that the server hosts itself, and of those that run as a TensorBoard process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from aboard.errors import Forbidden, InvalidValue
from aboard.foundation.text import did_you_mean
from aboard.model.units import Mount

SAMPLES_FLAG = "--samples_per_plugin"
_HINT = "such as scalars=500,images=0; 0 stands for all"
_SHOWN_BY = {"distributions": "histograms", "timeseries": "scalars"}


def parse_samples(text: str, wanted: Mapping[str, int] | None = None) -> dict[str, int]:
    """The numbers by plugin that a text gives, beside those that are `wanted` already; 0 stands for all."""
    found = dict(wanted or {})
    for pair in text.split(","):
        if not pair.strip():
            continue
        name, count = _pair(pair)
        if found.get(name, count) != count:
            raise InvalidValue(f"{name} is given twice, as {found[name]} and as {count}", hint="leave one of them out")
        found[name] = count
    return found


def _pair(text: str) -> tuple[str, int]:
    name, _, number = (part.strip() for part in text.partition("="))
    if not name or not number.isdecimal() or len(number) > 18:
        raise InvalidValue(f"{SAMPLES_FLAG} takes plugin=number pairs, got {text!r}", hint=_HINT)
    if name in _SHOWN_BY:
        raise InvalidValue(f"{name} shows data of other plugins", hint=f"use {_SHOWN_BY[name]}={number}")
    return name, int(number)


KEYS = ("tensorboard_args", "plugins")
PROCESS_KEYS = ("environment", "bind_mounts", "image", "resources", "executor", "work_dir", "entrypoint")
_TITLE = "--window_title"
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardSettings:
    """Settings that were checked."""

    samples: Mapping[str, int] = field(default_factory=dict[str, int])
    """Entries that are shown of a series, by the name of its plugin; 0 for all."""
    window_title: str = ""
    plugins: tuple[str, ...] = ()
    """Installed plugins of TensorBoard that the board loads."""

    def as_mapping(self) -> dict[str, object]:
        """In one spelling, so that the same settings are known to be the same."""
        arguments = [f"{SAMPLES_FLAG}={name}={count}" for name, count in sorted(self.samples.items())]
        arguments += [f"{_TITLE}={self.window_title}"] if self.window_title else []
        found: dict[str, object] = {"tensorboard_args": arguments} if arguments else {}
        return found | ({"plugins": sorted(self.plugins)} if self.plugins else {})


def parse_settings(given: Mapping[str, object], *, allowed_plugins: Collection[str] | None = ()) -> BoardSettings:
    """What a person set; `allowed_plugins` may be loaded in this server, None stands for all."""
    for key in given:
        if key in PROCESS_KEYS:
            hint = "leave it away, or have a process started: --process, or --executor docker for images and mounts"
            raise InvalidValue(f"{key!r} is for boards that are processes of their own", hint=hint)
        if key not in KEYS:
            hint = f"{did_you_mean(key, KEYS)}known are {', '.join(KEYS)}"
            raise InvalidValue(f"a board has no setting {key!r}", hint=hint)
    samples, title = _hosted_arguments(_texts(given, "tensorboard_args"))
    plugins = _texts(given, "plugins")
    for name in plugins:
        if allowed_plugins is not None and name not in allowed_plugins:
            allowed = ", ".join(sorted(allowed_plugins)) or "none"
            raise Forbidden(f"the plugin {name!r} may not be loaded in this server", hint=f"allowed are: {allowed}")
    return BoardSettings(samples=samples, window_title=title, plugins=tuple(dict.fromkeys(plugins)))


def _texts(given: Mapping[str, object], key: str) -> list[str]:
    value = given.get(key)
    several = [value] if isinstance(value, str) else value
    if several is None:
        return []
    if not isinstance(several, Sequence) or not all(isinstance(one, str) for one in cast("Sequence[object]", several)):
        raise InvalidValue(f"{key} is {value!r}", hint=f"give a list of texts, as {SAMPLES_FLAG}=images=100")
    return list(cast("Sequence[str]", several))


def _hosted_arguments(texts: list[str]) -> tuple[dict[str, int], str]:
    samples, title = dict[str, int](), ""
    rest = list(texts)
    while rest:
        argument = rest.pop(0)
        flag, equals, value = argument.partition("=")
        flag = flag.replace("-", "_").replace("__", "--", 1) if flag.startswith("--") else flag
        if flag not in (SAMPLES_FLAG, _TITLE):
            hint = f"a board in the server takes {SAMPLES_FLAG}=images=100 and {_TITLE}=TEXT; it needs no other"
            raise InvalidValue(f"{argument!r} has no meaning for a board in the server", hint=hint)
        value = value if equals else (rest.pop(0) if rest else "")
        if not value:
            raise InvalidValue(f"{flag} has no value", hint=f"write {SAMPLES_FLAG}=images=100")
        if flag == SAMPLES_FLAG:
            samples = parse_samples(value, samples)
        else:
            title = value[:_LONGEST_TITLE]
    return samples, title


_KEYS = ("tensorboard_args", "executor", "image", "bind_mounts")
_MOUNT_KEYS = ("host_path", "container_path", "read_only")
_FLAGS = (
    *("--samples_per_plugin", "--window_title", "--reload_interval", "--reload_multifile", "--max_reload_threads"),
    *("--reload_multifile_inactive_secs", "--purge_orphaned_data", "--generic_data", "--load_fast"),
)
"""What people may say. Others would lead to other files, ports or machines than the board's own."""
_LONGEST_ARGUMENT = 1000


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
            hint = f"{did_you_mean(key, _KEYS)}known are {', '.join(_KEYS)}"
            raise InvalidValue(f"a board that is a process has no setting {key!r}", hint=hint)
    return ProcessSettings(
        arguments=_process_arguments(own.get("tensorboard_args", ())),
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
    if (
        not isinstance(value, str)
        or len(value) > _LONGEST_ARGUMENT
        or any(ord(letter) < 33 for letter in value.strip())
    ):
        raise InvalidValue(f"{key} is {value!r}", hint=hint)
    return value.strip()


def _mounts(value: object) -> tuple[Mount, ...]:
    several: object = [cast("object", value)] if isinstance(value, Mapping) else value
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


def _process_arguments(value: object) -> tuple[str, ...]:
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
        if not text or "\0" in text or len(text) > _LONGEST_ARGUMENT:
            raise InvalidValue(f"{flag} has no value that could be used", hint=f"write {flag}=VALUE")
        # The keeper of a unit fills in variables that stand so; a person's words are no such place.
        found.append(f"{flag}={text.replace('$(', '$ (')}")
    return tuple(found)
