# SPDX-License-Identifier: Apache-2.0
"""Help of every command, on a terminal with 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from typer.main import get_command

from aboard.cli import app
from support.commands import aboard


def _commands(context: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The context of every command, by its words; typer makes all commands again for each call of `aboard`."""
    yield path, context
    if hasattr(context.command, "list_commands"):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            below = command.context_class(command, info_name=name, parent=context)
            yield from _commands(below, (*path, name))


@pytest.fixture(scope="module")
def contexts() -> Mapping[tuple[str, ...], Any]:
    command: Any = get_command(app)
    return dict(_commands(command.context_class(command, info_name="aboard", **command.context_settings)))


def test_every_group_is_walked(contexts: Mapping[tuple[str, ...], Any]) -> None:
    assert {("view",), ("board", "start"), ("runs", "list"), ("server", "audit"), ("token",)} <= set(contexts)


def test_nothing_is_cut_at_80_columns(contexts: Mapping[tuple[str, ...], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = aboard("runs", "list", "--help").out.splitlines()
    assert shown[1:] == contexts["runs", "list"].get_help().splitlines()[1:]  # the first names the program
    faults = {path: found for path, context in contexts.items() if (found := list(_faults(context)))}
    assert faults == {}


def _faults(context: Any) -> Iterator[str]:
    shown: str = context.get_help()
    yield from (f"{character!r} is shown" for character in "\x1b…" if character in shown)
    lines = shown.splitlines()
    yield from (f"too long: {line}" for line in lines if len(line) > 80)
    # `...` stands behind what may be given several times, and never for the rest of a sentence.
    yield from (f"cut: {line}" for line in lines if line.endswith("...") and "Usage:" not in line and "[" not in line)
    names = {name for one in context.command.params if not getattr(one, "hidden", False) for name in one.opts}
    yield from (f"not shown: {name}" for name in names if name.startswith("-") and name not in shown)
