# SPDX-License-Identifier: Apache-2.0
"""The settings of a board in the server: arguments of TensorBoard that mean something here, and installed plugins."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from aboard.errors import Forbidden, InvalidValue
from aboard.model.plugin_samples import FLAG as SAMPLES
from aboard.model.plugin_samples import parse_samples

KEYS = ("tensorboard_args", "plugins")
PROCESS_KEYS = ("environment", "bind_mounts", "image", "resources", "executor", "work_dir", "entrypoint")
_TITLE = "--window_title"
_LONGEST = 200


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
        arguments = [f"{SAMPLES}={name}={count}" for name, count in sorted(self.samples.items())]
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
            near = difflib.get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InvalidValue(f"a board has no setting {key!r}", hint=f"{hint}known are {', '.join(KEYS)}")
    samples, title = _arguments(_texts(given, "tensorboard_args"))
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
        raise InvalidValue(f"{key} is {value!r}", hint=f"give a list of texts, as {SAMPLES}=images=100")
    return list(cast("Sequence[str]", several))


def _arguments(texts: list[str]) -> tuple[dict[str, int], str]:
    samples, title = dict[str, int](), ""
    rest = list(texts)
    while rest:
        argument = rest.pop(0)
        flag, equals, value = argument.partition("=")
        flag = flag.replace("-", "_").replace("__", "--", 1) if flag.startswith("--") else flag
        if flag not in (SAMPLES, _TITLE):
            hint = f"a board in the server takes {SAMPLES}=images=100 and {_TITLE}=TEXT; it needs no other"
            raise InvalidValue(f"{argument!r} has no meaning for a board in the server", hint=hint)
        value = value if equals else (rest.pop(0) if rest else "")
        if not value:
            raise InvalidValue(f"{flag} has no value", hint=f"write {SAMPLES}=images=100")
        if flag == SAMPLES:
            samples = parse_samples(value, samples)
        else:
            title = value[:_LONGEST]
    return samples, title
