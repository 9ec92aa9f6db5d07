# SPDX-License-Identifier: Apache-2.0
"""What the declarations of commands share: groups that are loaded when they are named, and types of options.

Every start of the command loads this module, so it imports nothing but typer.
"""

from __future__ import annotations

import functools
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
RunWords = Annotated[
    list[str] | None,
    typer.Argument(
        help="run343, several with commas, run10-run20, exp7, ws1/base*, a name or a uid.", show_default=False
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", help="Only runs for which a filter holds: 'hparams.lr < 0.01 and status == \"failed\"'."),
]
Workspaces = Annotated[list[str] | None, typer.Option("--workspace", "-w", help="Only of these; repeatable.")]
RunsInTrash = Annotated[bool, typer.Option("--bin", help="Runs that are in the bin.")]
_WHOLE = 1000  # characters of a help text


class WrappingGroup(TyperGroup):
    """A group whose help shows the whole sentence about each command, however narrow the terminal is."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands; the usual way cuts each of them to one line."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(_WHOLE)) for name, one in named if one is not None and not one.hidden]
            )


class LazyGroup(WrappingGroup):
    """A group of commands whose module is imported when one of them is used: help and completion need no client."""

    def __init__(self, name: str, module: str, app: str, summary: str) -> None:
        super().__init__(name=name, help=summary)
        self._module, self._app = module, app

    @functools.cached_property
    def _loaded(self) -> Any:
        parent = typer.Typer(rich_markup_mode=None)
        app = cast("typer.Typer", getattr(import_module(f"aboard.cli.{self._module}"), self._app))
        parent.add_typer(app, name=self.name, help=self.help)
        return get_group(parent).commands[cast("str", self.name)]

    def make_context(self, *args: Any, **named: Any) -> Context:
        return self._loaded.make_context(*args, **named)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return self._loaded.get_command(ctx, cmd_name)

    def list_commands(self, ctx: Context) -> list[str]:
        return self._loaded.list_commands(ctx)


class CommandGroups(WrappingGroup):
    """The commands of `aboard` itself, and its groups."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        for group in (
            LazyGroup("runs", "runs", "app", "List, show, compare, tag, move, delete and export runs."),
            LazyGroup("experiments", "experiments", "app", "List, show, make, rename, tag and delete experiments."),
            LazyGroup("workspaces", "workspaces", "app", "List, show, make, rename and delete workspaces."),
            LazyGroup("board", "boards", "app", "Start, list, open, stop and forget boards."),
            LazyGroup("tensorboard", "boards", "app", "The same as `aboard board`."),
            LazyGroup(
                "jobs",
                "jobs",
                "app",
                "Jobs that were submitted from here: list, show, logs, wait, cancel, again, forget.",
            ),
            LazyGroup(
                "server", "server", "app", "Serve the catalog of runs over HTTP to commands, scripts and colleagues."
            ),
            LazyGroup("token", "people.accounts", "token_commands", "Make, list and revoke tokens."),
            LazyGroup("user", "people.accounts", "user_commands", "Let people in, keep them out, give them roles."),
        ):
            self.add_command(group)


class ListingGroup(WrappingGroup):
    """A group whose default command is `list`: `aboard runs --json` is `aboard runs list --json`."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse, with `list` before options that stand alone."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


class ExportFormat(StrEnum):
    """Names as in aboard.exchange.formats."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"
    JSONL = "jsonl"
