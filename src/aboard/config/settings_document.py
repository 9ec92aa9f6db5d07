# SPDX-License-Identifier: Apache-2.0
"""The page about all settings, made of their declarations: `docs/settings.md` is this text."""

from __future__ import annotations

from pathlib import Path

from aboard.config.declared import SETTINGS, Declared
from aboard.config.settings import Settings

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
    """The page."""
    defaults = Settings(home=Path())
    return _HEAD + "".join(_row(one, defaults) for one in SETTINGS)


def _row(one: Declared, defaults: Settings) -> str:
    value: object = defaults
    for part in one.field.split("."):
        value = getattr(value, part)
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    default = f"`{shown}`" if value not in (None, "", ()) else ""
    variable = f"`{one.environment}`" if one.environment else ""
    secret = " Better in the variable than in the file." if one.is_secret else ""
    return f"| `{one.key}` | {variable} | {default} | {one.about}{secret} |\n"
