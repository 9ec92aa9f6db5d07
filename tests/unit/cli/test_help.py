# SPDX-License-Identifier: Apache-2.0
"""Help of every command, on a terminal with 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from aboard.cli import app
from support.commands import aboard


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.context_class(command, info_name="aboard")
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), (*path, name))


COMMANDS = dict(_commands(get_command(app)))


def test_every_group_is_walked():
    assert {("view",), ("board", "start"), ("runs", "list"), ("server", "audit"), ("token",)} <= set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "aboard")
def test_nothing_is_cut_at_80_columns(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = aboard(*path, "--help").out
    assert "\x1b" not in said
    assert "…" not in said
    lines = said.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    # `...` stands behind what may be given several times, and never for the rest of a sentence.
    assert [line for line in lines if line.endswith("...") and "Usage:" not in line and "[" not in line] == []
    names = {name for one in COMMANDS[path].params if not getattr(one, "hidden", False) for name in one.opts}
    assert [name for name in names if name.startswith("-") and name not in said] == []
