# SPDX-License-Identifier: Apache-2.0
"""The settings of a program: flags override the environment, the environment overrides `config.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from aboard.config.declarations import BY_FIELD, BY_KEY, SETTINGS, SettingDeclaration
from aboard.config.retention import RetentionRule, parse_rules
from aboard.config.server import BoardHostSettings, LoginSettings, ServeSettings
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.foundation.text import did_you_mean

DEFAULT_TEMPLATE = "{workspace}_{run}_{logdir}"
_HOME, _FILE = "ABOARD_HOME", "ABOARD_CONFIG"
_RETENTION = "retention"
_T = TypeVar("_T")


VIEW_PAGES = ("page", "tensorboard")


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
    view_opens: str = VIEW_PAGES[0]
    """What `aboard view` shows first."""
    executor: str = ""
    """Where jobs run, as `slurm:partition=gpu`; empty: on this machine."""
    cache_limit: int = 4 << 30
    """Bytes that index files and pieces of stores may take below `home`."""
    serve: ServeSettings = field(default_factory=ServeSettings)
    login: LoginSettings = field(default_factory=LoginSettings)
    boards: BoardHostSettings = field(default_factory=BoardHostSettings)
    retention: tuple[RetentionRule, ...] = ()
    """What a server deletes by itself; in the file only."""


def load_settings(
    flags: Mapping[str, object | None] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    default_store: str = "",
) -> Settings:
    """The settings that hold now. `flags` are by field, as `store` or `serve.host`; None stands for one not given."""
    environ = os.environ if environ is None else environ
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    home = Path(str(given.pop("home", None) or environ.get(_HOME) or "~/.aboard")).expanduser().absolute()
    unknown = given.keys() - BY_FIELD.keys()
    if unknown:
        raise InvalidValue(f"there is no setting called {min(unknown)!r}", hint=f"known are {', '.join(BY_FIELD)}")
    flagged = {name: _parsed(BY_FIELD[name], v, name) if isinstance(v, str) else v for name, v in given.items()}
    found = {**_from_file(home, environ), **_from_environment(environ), **flagged}
    found.setdefault("store", default_store or str(home / "store"))
    return _filled(Settings(home=home), found)


def settings_file(home: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Where the file is, or would be."""
    named = (os.environ if environ is None else environ).get(_FILE)
    return Path(named).expanduser() if named else home / "config.toml"


def secrets_in_file(home: Path, environ: Mapping[str, str] | None = None) -> list[str]:
    """The keys of the file whose values nobody else should read; raises InvalidValue as `load_settings` does."""
    found = _from_file(home, os.environ if environ is None else environ)
    secret = [one.key for one in SETTINGS if one.is_secret and found.get(one.field)]
    catalog = str(found.get("serve.catalog", ""))
    return secret + (["serve.catalog"] if "://" in catalog and urlsplit(catalog).password else [])


def _filled(settings: _T, found: Mapping[str, object]) -> _T:
    """The settings with these values; a dot in a name leads into a part of them."""
    own: dict[str, Any] = {name: value for name, value in found.items() if "." not in name}
    for part in {name.partition(".")[0] for name in found if "." in name}:
        inner = {name.removeprefix(f"{part}."): value for name, value in found.items() if name.startswith(f"{part}.")}
        own[part] = _filled(getattr(settings, part), inner)
    return replace(cast("Any", settings), **own)


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return {
        one.field: _parsed(one, environ[one.environment], f"${one.environment}")
        for one in SETTINGS
        if environ.get(one.environment)
    }


def _from_file(home: Path, environ: Mapping[str, str]) -> dict[str, object]:
    path = settings_file(home, environ)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        if environ.get(_FILE):
            raise InvalidValue(
                f"${_FILE} names {environ[_FILE]}, which does not exist", hint="create it, or unset it"
            ) from error
        return {}
    except OSError as error:
        if environ.get(_FILE):
            hint = f"Let ${_FILE} name a file that you can read, or unset it."
            raise StorageUnavailable(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
        hint = f"Set {_HOME} to a folder that you can write to."
        raise StorageUnavailable(f"{home} cannot be the home folder of aboard: {error.strerror}.", hint=hint) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidValue(f"cannot read the settings in {path}: {error}") from error
    found: dict[str, object] = {}
    if _RETENTION in table:
        found[_RETENTION] = parse_rules(table.pop(_RETENTION), str(path))
    for key, value in _flat(table):
        if key not in BY_KEY:
            raise InvalidValue(f"{path} has an unknown setting {key!r}", hint=_nearest(key, [*BY_KEY, _RETENTION]))
        found[BY_KEY[key].field] = _parsed(BY_KEY[key], value, f"{key!r} in {path}")
    return found


def _parsed(declared: SettingDeclaration, value: object, place: str) -> object:
    try:
        return declared.parse(value)
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
    return did_you_mean(key, known).rstrip() or f"known are {', '.join(known)}"


_HEAD = """# Settings

One file, `$ABOARD_HOME/config.toml` (or the one that `ABOARD_CONFIG` names), for commands, trainings and
`aboard server`. Flags win over variables, variables over the file. A key that nobody knows is an error that tells the
nearest one; `aboard server --check` reads everything and says what is wrong. Lists stand between commas in a variable.
`ABOARD_HOME`, `~/.aboard` without it, is a variable only. A new home folder is readable by your account alone
(mode 700); an existing one keeps its mode.

```toml
store = "s3://bucket/runs"

[serve]
host = "0.0.0.0"
url = "https://aboard.example.org"
catalog = "postgresql://aboard@db/aboard"

[login]
mode = "oidc"

[login.oidc]
issuer = "https://accounts.example.org"
client_id = "aboard"
roles = ["ml-team=vision:editor"]
```

`[[retention]]` tables say what a server deletes by itself; they are told in [runs.md](runs.md).

| key | variable | default | |
|---|---|---|---|
"""


def settings_markdown() -> str:
    defaults = Settings(home=Path())
    return _HEAD + "".join(_row(one, defaults) for one in SETTINGS)


def _row(one: SettingDeclaration, defaults: Settings) -> str:
    value: object = defaults
    for part in one.field.split("."):
        value = getattr(value, part)
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    default = f"`{shown}`" if value not in (None, "", ()) else ""
    variable = f"`{one.environment}`" if one.environment else ""
    secret = " Better in the variable than in the file." if one.is_secret else ""
    return f"| `{one.key}` | {variable} | {default} | {one.about}{secret} |\n"
