# SPDX-License-Identifier: Apache-2.0
"""What the declarations of commands share: groups that are loaded when they are named, and types of options.

Every start of the command loads this module, so it imports nothing but typer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
_WHOLE = 1000  # characters of a help text


@dataclass(frozen=True, slots=True)
class _Group:
    module: str
    """A module of `aboard.cli`."""
    app: str = "app"
    """The Typer in it that has the commands."""
    help: str | None = None


_GROUPS = {
    "runs": _Group("runs"),
    "experiments": _Group("experiments"),
    "workspaces": _Group("workspaces"),
    "board": _Group("boards"),
    "tensorboard": _Group("boards", help="The same as `aboard board`."),
    "jobs": _Group("jobs"),
    "server": _Group("server"),
    "token": _Group("people", "token_commands"),
    "user": _Group("people", "user_commands"),
}


class WrappingGroup(TyperGroup):
    """A group whose help shows the whole sentence about each command, however narrow the terminal is."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands; the usual way cuts each of them to one line."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(_WHOLE)) for name, one in named if one is not None and not one.hidden]
            )


class CommandGroups(WrappingGroup):
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


class ListingGroup(WrappingGroup):
    """A group whose default command is `list`: `aboard runs --json` is `aboard runs list --json`."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse, with `list` before options that stand alone."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def _made(name: str, group: _Group) -> Any:
    parent = typer.Typer(rich_markup_mode=None)
    app = cast("typer.Typer", getattr(import_module(f"aboard.cli.{group.module}"), group.app))
    if group.help is None:
        parent.add_typer(app, name=name)
    else:
        parent.add_typer(app, name=name, help=group.help)
    return get_group(parent).commands[name]


class ExportFormat(StrEnum):
    """Names as in aboard.exchange.formats."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"
    JSONL = "jsonl"
