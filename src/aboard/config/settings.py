# SPDX-License-Identifier: Apache-2.0
"""What a person has settled: flags win over the environment, the environment over the file `config.toml`."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import cast

from aboard.config.sizes import parse_size
from aboard.errors import InvalidValue

DEFAULT_TEMPLATE = "{workspace}_{run}_{logdir}"
_HOME, _FILE = "ABOARD_HOME", "ABOARD_CONFIG"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, with the value that holds when nobody says anything."""

    home: Path
    """Where aboard keeps what belongs to one person."""
    server: str | None = None
    """Address of the server that runs and boards are asked from; none: a private one."""
    token: str | None = field(default=None, repr=False)
    """Who this person is to the server."""
    store: str = ""
    """Where runs are kept: a folder or a URI."""
    workspace: str = "default"
    template: str = DEFAULT_TEMPLATE
    """How runs of the catalog are named on a board."""
    cache_limit: int = 4 << 30
    """Bytes that index files and pieces of stores may take below `home`."""


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a setting is found beside the flags, and how its text becomes a value."""

    key: str
    variable: str | None = None
    parse: Callable[[str], object] = str


_SOURCES = {
    "server": _Source("server", "ABOARD_SERVER"),
    "token": _Source("token", "ABOARD_TOKEN"),
    "store": _Source("store", "ABOARD_STORE"),
    "workspace": _Source("workspace"),
    "template": _Source("tensorboard.template"),
    "cache_limit": _Source("cache.limit", parse=parse_size),
}


def load_settings(
    flags: Mapping[str, object | None] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """The settings that hold now. `flags` are by the names of the fields; None stands for one that was not given."""
    environ = os.environ if environ is None else environ
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    unknown = given.keys() - {one.name for one in fields(Settings)}
    if unknown:
        raise InvalidValue(f"there is no setting called {min(unknown)!r}", hint=f"known are {', '.join(_SOURCES)}")
    home = Path(str(given.pop("home", None) or environ.get(_HOME) or "~/.aboard")).expanduser().absolute()
    found = {**_from_file(home, environ), **_from_environment(environ), **given}
    found.setdefault("store", str(home / "store"))
    return Settings(home=home, **found)  # pyright: ignore[reportArgumentType]  each was parsed to its type


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return {
        name: _parsed(source, environ[source.variable], f"${source.variable}")
        for name, source in _SOURCES.items()
        if source.variable and environ.get(source.variable)
    }


def _from_file(home: Path, environ: Mapping[str, str]) -> dict[str, object]:
    named = environ.get(_FILE)
    path = Path(named).expanduser() if named else home / "config.toml"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        if named:
            raise InvalidValue(
                f"${_FILE} names {named}, which does not exist", hint="create it, or unset it"
            ) from error
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidValue(f"cannot read the settings in {path}: {error}") from error
    by_key = {source.key: name for name, source in _SOURCES.items()}
    found: dict[str, object] = {}
    for key, value in _flat(table):
        if key not in by_key:
            raise InvalidValue(f"{path} has an unknown setting {key!r}", hint=_nearest(key, list(by_key)))
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise InvalidValue(f"{key!r} in {path} is {value!r}, where a text is expected")
        found[by_key[key]] = _parsed(_SOURCES[by_key[key]], str(value), f"{key!r} in {path}")
    return found


def _parsed(source: _Source, text: str, place: str) -> object:
    try:
        return source.parse(text)
    except InvalidValue as error:
        raise InvalidValue(f"{place}: {error.message}", hint=error.hint) from error


def _flat(table: Mapping[str, object], above: str = "") -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            pairs += _flat(cast("dict[str, object]", value), f"{above}{key}.")
        else:
            pairs.append((f"{above}{key}", value))
    return pairs


def _nearest(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
