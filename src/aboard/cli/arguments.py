# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands take: folders, settings as files and as KEY=VALUE, durations, confirmations.

Commands that need one of them do not pay for the others: what reads folders, TOML and YAML is imported when it is used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from aboard.errors import InvalidValue, MissingPackage

if TYPE_CHECKING:
    from aboard.reader.roots import Root


def parse_roots(paths: Sequence[str], logdir: str | None, logdir_spec: str | None) -> dict[str, Root]:
    """Names and folders or URIs. One folder without a name adds nothing to the names of its runs."""
    from aboard.reader.roots import find_roots, named_path

    named = [named_path(path) for path in paths]
    if logdir is not None:
        named.append(("", logdir))
    if logdir_spec is not None:
        named += [_specified(part) for part in logdir_spec.split(",") if part]
    return find_roots(named)


def _specified(part: str) -> tuple[str, str]:
    """`name:path` of --logdir_spec, as TensorBoard splits it; the colon of a URI separates nothing."""
    name, separator, path = part.partition(":")
    is_name = separator and not name.startswith("/") and not path.startswith("//")
    return (name, path) if is_name else ("", part)


def read_config_file(path: Path, option: str) -> dict[str, object]:
    """The names and values in a file that was given with `option`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidValue(f"{option} {path} cannot be read: {error.strerror}.") from None
    try:
        if path.suffix == ".toml":
            import tomllib

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


_HOW = "write --config idle_timeout=30m, or --config tensorboard_args='[\"--samples_per_plugin=images=100\"]'"


def apply_pairs(config: Mapping[str, object], pairs: Iterable[str]) -> dict[str, object]:
    """The same settings, and those of the pairs, of which later ones win."""
    found = dict(config)
    for pair in pairs:
        key, equals, text = pair.partition("=")
        parts = [part.strip() for part in key.split(".")]
        if not equals or not all(parts):
            raise InvalidValue(f"--config {pair!r} is not KEY=VALUE", hint=_HOW)
        _set(found, parts, _value(text), pair)
    return found


def _set(table: dict[str, object], parts: list[str], value: object, pair: str) -> None:
    for part in parts[:-1]:
        inner = table.get(part, {})
        if not isinstance(inner, Mapping):
            raise InvalidValue(f"--config {pair!r} goes into {part!r}, which holds {inner!r}", hint=_HOW)
        table[part] = table = dict(cast("Mapping[str, object]", inner))
    table[parts[-1]] = value


def _value(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except ValueError:
        pass
    if "," in text:
        return [_value(part.strip()) for part in text.split(",") if part.strip()]
    return text.strip()


def parse_tag(text: str) -> tuple[str, str]:
    """The tag that NAME or NAME=VALUE stands for."""
    name, _, value = text.partition("=")
    if not name.strip():
        raise InvalidValue(f"--tag {text!r} has no name.", hint="Write --tag baseline or --tag data=v3.")
    return name.strip(), value


def parse_seconds(text: str, option: str) -> float:
    """How many seconds; an error names the option."""
    from aboard.model.times import parse_age

    try:
        return parse_age(text)
    except InvalidValue as error:
        raise InvalidValue(f"{option} {error.message}", hint=error.hint) from error


def confirm(question: str, *, yes: bool) -> None:
    """Go on after a yes; without a terminal to ask at, `--yes` is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidValue(f"{question} Nobody can be asked here, so nothing was done.", hint="Give --yes.")
    if not typer.confirm(question, err=True):
        typer.echo("Nothing was done.", err=True)
        raise typer.Exit(1)
