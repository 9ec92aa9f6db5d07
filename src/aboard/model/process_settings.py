# SPDX-License-Identifier: Apache-2.0
"""The settings of a board that is a process: flags of stock TensorBoard, and where the process runs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aboard.errors import InvalidValue

EXECUTORS = ("local",)
"""Those whose units see the folder in which the server mirrors the runs."""
_KEYS = ("tensorboard_args", "executor")
_FLAGS = (
    *("--samples_per_plugin", "--window_title", "--reload_interval", "--reload_multifile", "--max_reload_threads"),
    *("--reload_multifile_inactive_secs", "--purge_orphaned_data", "--generic_data", "--load_fast"),
)
"""What people may say. Others would lead to other files, ports or machines than the board's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Settings that were checked."""

    arguments: tuple[str, ...] = ()
    executor: str = "local"

    def as_mapping(self) -> dict[str, object]:
        """In one spelling, so that the same settings are known to be the same."""
        found: dict[str, object] = {"tensorboard_args": list(self.arguments)} if self.arguments else {}
        return found | {"executor": self.executor}


def parse_process_settings(given: Mapping[str, object]) -> ProcessSettings:
    """What a person set."""
    for key in given:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InvalidValue(
                f"a board that is a process has no setting {key!r}", hint=f"{hint}known are {', '.join(_KEYS)}"
            )
    executor = given.get("executor", "local")
    if executor not in EXECUTORS:
        raise InvalidValue(f"boards do not run on {executor!r}", hint=f"executors for boards: {', '.join(EXECUTORS)}")
    return ProcessSettings(arguments=_arguments(given.get("tensorboard_args", ())), executor=str(executor))


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
        if not text or "\0" in text or len(text) > 1000:
            raise InvalidValue(f"{flag} has no value that could be used", hint=f"write {flag}=VALUE")
        # The keeper of a unit fills in variables that stand so; a person's words are no such place.
        found.append(f"{flag}={text.replace('$(', '$ (')}")
    return tuple(found)
