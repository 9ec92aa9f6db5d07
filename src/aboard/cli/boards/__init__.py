# SPDX-License-Identifier: Apache-2.0
"""`aboard board …`, also called `aboard tensorboard …`: the options of its commands."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from aboard.cli.habits import StartCommand
from aboard.cli.parsing import Csv, Json, ListingGroup, Yes
from aboard.model.boards import BoardKind, LineLevel
from aboard.model.states import UnitState

app = typer.Typer(cls=ListingGroup, help="Start, list, open, stop and forget boards.", rich_markup_mode=None)

Board = Annotated[str, typer.Argument(metavar="BOARD", help="Its id, the first characters of it, or its name.")]
Boards = Annotated[
    list[str], typer.Argument(metavar="BOARD...", help="Ids, first characters of ids, or names.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Go on when something is wrong with one of them.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser when there is something to see.")]


class SortKey(StrEnum):
    """What boards can be sorted by, under aboard's names and under Determined's."""

    ID = "id"
    NAME = "name"
    OWNER = "owner"
    USERNAME = "username"
    DESCRIPTION = "description"
    STATE = "state"
    EXIT_STATUS = "exit_status"
    EXIT_STATUS_OF_DETERMINED = "exitStatus"
    WORKSPACE = "workspace"
    WORKSPACE_NAME = "workspaceName"
    CREATED = "created"
    STARTED = "started"
    START_TIME = "startTime"
    LAST_USED = "last_used"
    ENDED = "ended"

    @property
    def column(self) -> str:
        """The name that the server knows."""
        return _COLUMNS.get(self, self.value)


_COLUMNS = {
    SortKey.USERNAME: "owner",
    SortKey.EXIT_STATUS_OF_DETERMINED: "exit_status",
    SortKey.WORKSPACE_NAME: "workspace",
    SortKey.START_TIME: "started",
}


class SortOrder(StrEnum):
    """Which end comes first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


@app.command(cls=StartCommand)
def start(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT|SELECTION]...",
            help="7, exp7, run343, run10-run20, ws1/base*, a name, ./folder, s3://bucket/path, @FILE with such words.",
            show_default=False,
        ),
    ] = None,
    *,
    trial_ids: Annotated[
        list[str] | None, typer.Option("--trial-ids", "-t", help="Runs by number; several may follow.")
    ] = None,
    where: Annotated[str | None, typer.Option("--where", help="Only runs for which a filter holds.")] = None,
    workspace: Annotated[
        str,
        typer.Option(
            "--workspace-name",
            "--workspace",
            "-w",
            help="Where the board belongs, and names that have none; alone: all its runs.",
        ),
    ] = "",
    template: Annotated[
        str, typer.Option(help="Names of the runs on the board, such as '{run}_lr={hparams.lr}'.")
    ] = "",
    description: Annotated[str, typer.Option(help="What it is about.")] = "",
    idle_timeout: Annotated[
        str | None,
        typer.Option(help="Stop it when nobody has opened it for this long, such as 30m or 2h.", show_default="never"),
    ] = None,
    max_runtime: Annotated[
        str | None, typer.Option(help="Stop it so long after its start.", show_default="never")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="KEY=VALUE", help="A setting, as idle_timeout=30m; repeatable."),
    ] = None,
    config_file: Annotated[
        str | None, typer.Option("--config-file", metavar="FILE", help="Settings in YAML, TOML or JSON.")
    ] = None,
    process: Annotated[
        bool, typer.Option("--process", help="A stock TensorBoard of its own, for plugins that must read real files.")
    ] = False,
    executor: Annotated[
        str,
        typer.Option(
            metavar="NAME[:OPTIONS]",
            help="Where that one runs, such as local, docker or slurm:partition=cpu. The server must allow it.",
        ),
    ] = "",
    context: Annotated[list[str] | None, typer.Option("--context", "-c", hidden=True)] = None,
    include: Annotated[list[str] | None, typer.Option("--include", "-i", hidden=True)] = None,
    browser: Browser = True,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Print the id alone, and wait for nothing.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the executor would be given, as YAML; make nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Open a board over experiments, runs and folders. The same selection opens the same board again."""
    from aboard.cli.boards.launch import StartOptions, apply_config, start_board
    from aboard.cli.habits import parse_trial_ids, refuse_files
    from aboard.cli.selections import expand_files

    refuse_files(context or [], include or [])
    options = StartOptions(
        words=[*expand_files(sources or []), *parse_trial_ids(expand_files(trial_ids or []))],
        where=where,
        workspace=workspace,
        template=template,
        description=description,
        idle_timeout=idle_timeout,
        max_runtime=max_runtime,
        kind=BoardKind.PROCESS if process or executor else BoardKind.SERVER,
        executor=executor,
        open_browser=browser,
        detach=detach,
        dry_run=dry_run,
        as_json=as_json,
    )
    start_board(apply_config(options, config_file, config or []))


@app.command("list")
@app.command("ls", hidden=True)
def list_(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print ids alone.")] = False,
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Other people's boards, too.")] = False,
    workspaces: Annotated[
        list[str] | None, typer.Option("--workspace-name", "--workspace", "-w", help="Only of these; repeatable.")
    ] = None,
    states: Annotated[
        list[UnitState] | None, typer.Option("--state", help="Only such; repeatable.", case_sensitive=False)
    ] = None,
    sort_by: Annotated[
        SortKey,
        typer.Option(
            "--sort-by",
            metavar="COLUMN",
            help="id, name, owner, description, state, exit_status, workspace, created, started, last_used or ended.",
        ),
    ] = SortKey.STARTED,
    order: Annotated[
        SortOrder, typer.Option("--order-by", "--order", help="Which end comes first.")
    ] = SortOrder.ASCENDING,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List boards, the one that was started first at the top."""
    from aboard.cli.boards.listing import BoardListOptions, list_boards

    list_boards(
        BoardListOptions(
            everybody=everybody,
            workspaces=workspaces or [],
            states=states or [],
            sort_by=sort_by.column,
            descending=order is SortOrder.DESCENDING,
            quiet=quiet,
            as_json=as_json,
            as_csv=as_csv,
        )
    )


@app.command("open")
def open_(name: Board, *, browser: Browser = True) -> None:
    """Open a browser on a board that is there."""
    from aboard.cli.boards.listing import open_board

    open_board(name, open_browser=browser)


@app.command()
def logs(
    name: Board,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the board has ended.")] = False,
    head: Annotated[int | None, typer.Option(min=0, max=1000, help="The first so many lines.")] = None,
    tail: Annotated[int | None, typer.Option(min=0, max=1000, help="The last so many lines.")] = None,
    before: Annotated[str | None, typer.Option("--timestamp-before", help="Only lines before, RFC 3339.")] = None,
    after: Annotated[str | None, typer.Option("--timestamp-after", help="Only lines after, RFC 3339.")] = None,
    level: Annotated[
        LineLevel, typer.Option("--level", help="This level and what matters more.", case_sensitive=False)
    ] = LineLevel.TRACE,
    as_json: Json = False,
) -> None:
    """Print what happened to a board: started, runs joined, stopped by whom."""
    from aboard.cli.boards.listing import LogOptions, print_logs

    options = LogOptions(follow=follow, head=head, tail=tail, before=before, after=after, level=level, as_json=as_json)
    print_logs(name, options)


@app.command()
def kill(names: Boards, *, force: Force = False, as_json: Json = False) -> None:
    """End boards at once. They can be started again."""
    from aboard.cli.boards.changes import kill_boards

    sys.exit(kill_boards(names, force=force, as_json=as_json))


@app.command()
def stop(names: Boards, *, force: Force = False, as_json: Json = False) -> None:
    """Stop boards. They can be started again."""
    from aboard.cli.boards.changes import stop_boards

    sys.exit(stop_boards(names, force=force, as_json=as_json))


@app.command("start-again")
def start_again(names: Boards, *, force: Force = False, as_json: Json = False) -> None:
    """Start boards that have ended, with the ids that they had."""
    from aboard.cli.boards.changes import start_boards_again

    sys.exit(start_boards_again(names, force=force, as_json=as_json))


@app.command()
def delete(
    names: Boards,
    *,
    force: Force = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Forget boards and their logs; runs and their files stay."""
    from aboard.cli.boards.changes import delete_boards

    sys.exit(delete_boards(names, force=force, yes=yes, as_json=as_json))


@app.command()
def config(name: Board, *, as_json: Json = False) -> None:
    """Print what makes a board, in YAML, as `start --config-file` takes it."""
    from aboard.cli.boards.listing import print_config

    print_config(name, as_json=as_json)


@app.command()
def change(
    name: Board,
    *,
    description: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    template: Annotated[str | None, typer.Option(help="Names of the runs on it; '' for those of the server.")] = None,
    idle_timeout: Annotated[str | None, typer.Option(help="Such as 30m or 2h; 0 for never.")] = None,
    max_runtime: Annotated[str | None, typer.Option(help="As long after its start; 0 for ever.")] = None,
    as_json: Json = False,
) -> None:
    """Describe a board otherwise, or give it another template or lifetime."""
    from aboard.cli.boards.changes import change_board

    change_board(
        name,
        description=description,
        template=template,
        idle_timeout=idle_timeout,
        max_runtime=max_runtime,
        as_json=as_json,
    )
