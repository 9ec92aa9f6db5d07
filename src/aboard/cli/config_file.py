# SPDX-License-Identifier: Apache-2.0
"""Files with settings that a person names on the command line: JSON, TOML or YAML, by their suffix."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import cast

from aboard.errors import InvalidValue, MissingPackage


def read_config_file(path: Path, option: str) -> dict[str, object]:
    """The names and values in a file that was given with `option`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidValue(f"{option} {path} cannot be read: {error.strerror}.") from None
    try:
        if path.suffix == ".toml":
            document: object = tomllib.loads(data.decode())
        elif path.suffix in {".yaml", ".yml"}:
            document = _yaml(data)
        else:
            document = json.loads(data)
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidValue(
            f"{option} {path} cannot be understood: {error}.", hint="JSON, TOML (.toml) and YAML (.yaml) are read."
        ) from None
    if not isinstance(document, dict):
        raise InvalidValue(f"{option} {path} holds a {type(document).__name__}, and not names with values.")
    return cast("dict[str, object]", document)


def _yaml(data: bytes) -> object:
    try:
        import yaml  # pyright: ignore[reportMissingModuleSource, reportMissingImports]
    except ImportError:
        raise MissingPackage(
            "Reading YAML needs the package PyYAML.", hint="pip install pyyaml, or use JSON or TOML."
        ) from None
    try:
        return cast("object", yaml.safe_load(data))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
