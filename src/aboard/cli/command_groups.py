# SPDX-License-Identifier: Apache-2.0
"""The groups of commands below `aboard`: each is made when it is named, all of them when they are listed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

if TYPE_CHECKING:
    from typer._click import Command, Context


@dataclass(frozen=True, slots=True)
class _Group:
    module: str
    """Of `aboard.cli`; its `app` has the commands."""
    help: str | None = None


_GROUPS = {
    "runs": _Group("runs"),
    "experiments": _Group("experiments"),
    "workspaces": _Group("workspaces"),
    "board": _Group("boards"),
    "tensorboard": _Group("boards", "The same as `aboard board`."),
    "jobs": _Group("jobs"),
    "server": _Group("server_command"),
    "token": _Group("token_command"),
    "user": _Group("user_command"),
}


class CommandGroups(TyperGroup):
    """Making them all would take longer than most commands do."""

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The command or group of that name."""
        if cmd_name in _GROUPS and cmd_name not in self.commands:
            self.commands[cmd_name] = _made(cmd_name, _GROUPS[cmd_name])
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Context) -> list[str]:
        """All names, for help and completion."""
        for name in _GROUPS:
            self.get_command(ctx, name)
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """What was typed; where there is no such command, the error names the nearest of all."""
        if self.get_command(ctx, args[0]) is None:
            self.list_commands(ctx)
        return super().resolve_command(ctx, args)


def _made(name: str, group: _Group) -> Any:
    parent = typer.Typer()
    app = cast("typer.Typer", import_module(f"aboard.cli.{group.module}").app)
    if group.help is None:
        parent.add_typer(app, name=name)
    else:
        parent.add_typer(app, name=name, help=group.help)
    return get_group(parent).commands[name]
