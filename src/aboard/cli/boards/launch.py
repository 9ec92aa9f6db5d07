# SPDX-License-Identifier: Apache-2.0
"""`aboard board start`: create a board over a selection, or open the one that shows the same, and wait for it."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

import typer

from aboard.api.boards import BoardCreated, BoardInfo, BoardReading
from aboard.api.wire import to_wire
from aboard.cli.arguments import apply_pairs, read_config_file
from aboard.cli.habits import parse_trial_ids, refuse_files
from aboard.cli.output import format_yaml_documents, print_json, progress_line, say
from aboard.cli.parsing import Json
from aboard.cli.selections import expand_files
from aboard.client.boards import BoardOptions, Span
from aboard.client.client import Client
from aboard.config.settings import DEFAULT_TEMPLATE, load_settings
from aboard.errors import Conflict, InvalidValue
from aboard.foundation.text import did_you_mean
from aboard.model.board_settings import KEYS as SETTINGS
from aboard.model.board_settings import PROCESS_KEYS
from aboard.model.boards import BoardKind
from aboard.model.selections import NumberKind
from aboard.model.states import UnitState

Board = Annotated[str, typer.Argument(metavar="BOARD", help="Its id, the first characters of it, or its name.")]
Boards = Annotated[
    list[str], typer.Argument(metavar="BOARD...", help="Ids, first characters of ids, or names.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Go on when something is wrong with one of them.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser when there is something to see.")]

_NOTHING = "name experiments (7 8), runs (--trial-ids 12 13, or run12), folders (./logs), or give a filter (--where)"
_OWN_KEYS = ("description", "idle_timeout", "max_runtime", "sources", "template", "where", "workspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    words: Sequence[str] = ()
    where: str | None = None
    workspace: str = ""
    numbers: NumberKind = NumberKind.EXPERIMENT
    template: str = ""
    description: str = ""
    idle_timeout: Span | None = None
    max_runtime: Span | None = None
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    kind: BoardKind = BoardKind.SERVER
    executor: str = ""
    open_browser: bool = True
    detach: bool = False
    dry_run: bool = False
    as_json: bool = False


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


def start_board(options: StartOptions) -> None:
    """Make the board, or open the one that shows the same, and say where it is."""
    if not options.words and options.where is None and not options.workspace:
        raise InvalidValue("nothing is named that a board could show", hint=_NOTHING)
    if options.dry_run:
        _show_preview(options)
        return
    client = Client()
    created = client.boards.create(options.words, **_board_options(options))
    if options.as_json:
        address = client.boards.address(created.board)
        print_json({**make_board_document(created.board), "url": address, "reopened": created.reopened})
        return
    if options.detach:
        typer.echo(created.board.id)
        return
    _announce(created)
    show_board(client, created.board, open_browser=options.open_browser)


def _board_options(options: StartOptions) -> BoardOptions:
    own_template = load_settings().template
    return BoardOptions(
        where=options.where,
        workspace=options.workspace,
        numbers=options.numbers,
        # What this person has settled goes before what the server has.
        template=options.template or (own_template if own_template != DEFAULT_TEMPLATE else ""),
        description=options.description,
        idle_timeout=options.idle_timeout,
        max_runtime=options.max_runtime,
        settings=options.settings,
        kind=options.kind,
        executor=options.executor,
        must_find=True,
    )


def _show_preview(options: StartOptions) -> None:
    if options.kind is BoardKind.SERVER:
        hint = "add --executor NAME, or --process for the executor of the server; or leave --dry-run out"
        raise InvalidValue("--dry-run shows what an executor is given, and a board in the server needs none", hint=hint)
    preview = Client().boards.preview(options.words, **_board_options(options))
    if options.as_json:
        print_json({"items": preview.documents, "next": None})
    else:
        typer.echo(format_yaml_documents(preview.documents), nl=False)
    _note_empty(preview.empty)
    say("No board was made. Values of secrets and of options of the server are not shown.", sys.stderr)


def make_board_document(board: BoardInfo) -> dict[str, object]:
    """A board as one document."""
    return cast("dict[str, object]", to_wire(board))


def apply_config(options: StartOptions, config_file: str | None, pairs: Sequence[str]) -> StartOptions:
    """The options, and where they say nothing the settings of a file, which pairs go before."""
    given = read_config_file(Path(config_file), "--config-file") if config_file else {}
    given = apply_pairs(given, pairs)
    for key in given:
        _check_key(key)
    words = [*options.words, *_texts(given, "sources")]
    settings = {key: value for key, value in given.items() if key not in _OWN_KEYS}
    return dataclasses.replace(
        options,
        words=words,
        where=options.where if options.where is not None else _text(given, "where") or None,
        workspace=options.workspace or _text(given, "workspace"),
        template=options.template or _text(given, "template"),
        description=options.description or _text(given, "description"),
        idle_timeout=_span(given, "idle_timeout") if options.idle_timeout is None else options.idle_timeout,
        max_runtime=_span(given, "max_runtime") if options.max_runtime is None else options.max_runtime,
        settings={**settings, **options.settings},
        # What `config` prints of a process makes one again.
        kind=BoardKind.PROCESS if settings.get("executor") else options.kind,
    )


def _announce(created: BoardCreated) -> None:
    board = created.board
    verb = "Found and opened" if created.reopened else "Launched"
    say(f"{verb} TensorBoard ({board.name}) (id: {board.id}).", sys.stderr)
    _note_empty(created.empty)


def _note_empty(words: Sequence[str]) -> None:
    for word in words:
        say(f"note: {word} has no run yet; runs appear when they join it.", sys.stderr)


def _check_key(key: str) -> None:
    # Those of boards that are processes are explained by the server.
    known = sorted((*_OWN_KEYS, *SETTINGS))
    if key not in (*known, *PROCESS_KEYS):
        hint = f"{did_you_mean(key, known)}known are {', '.join(known)}"
        raise InvalidValue(f"a board has no setting {key!r}", hint=hint)


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidValue(f"{key} is {value!r}, where a text is expected")
    return value or ""


def _texts(given: Mapping[str, object], key: str) -> list[str]:
    value = given.get(key, [])
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in several):
        raise InvalidValue(f"{key} is {value!r}, where names are expected", hint="write a list, as [exp7, run12]")
    return [str(one) for one in several]


def _span(given: Mapping[str, object], key: str) -> Span | None:
    value = given.get(key)
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    raise InvalidValue(f"{key} is {value!r}", hint="write 30s, 1m30s, 2h or 3d, or a number of seconds")


_FIRST_SECONDS = 60.0  # for anything at all
_FAILING_SECONDS = 5.0  # for anything at all where something cannot be read
_REST_SECONDS = 10.0  # for the other runs, when there is something to see
_LOOK_SECONDS = 0.2
_SILENT_SECONDS = 2.0
_PROBLEMS = 5


def show_board(client: Client, board: BoardInfo, *, open_browser: bool) -> None:
    """Print where a board is; with `open_browser` open it, if it shows anything soon."""
    board = _until_started(client, board)
    check_not_ended(board)
    is_running = board.state is UnitState.RUNNING
    typer.echo(f"TensorBoard is {'running' if is_running else 'starting, and will be'} at: ", nl=False)
    typer.echo(client.boards.address(board))
    if not is_running:
        say(f"It is {board.state} still; `aboard board logs -f {board.name}` tells how far it is.", sys.stderr)
        return
    if not open_browser:
        return
    reading = _until_seen(client, board)
    for problem in reading.problems[:_PROBLEMS]:
        say(f"note: {problem}", sys.stderr)
    if reading.logdirs:
        open_page(client.boards.address(board))  # another one: that of a local server opens it once
    else:
        say(
            f"There is nothing to see yet, so no browser is opened; `aboard board open {board.name}` opens it later.",
            sys.stderr,
        )


def check_not_ended(board: BoardInfo) -> None:
    """Refuse a board that has ended."""
    if board.state.is_ended:
        why = f": {board.reason}" if board.reason else ""
        has_failed = board.state in (UnitState.FAILED, UnitState.LOST)
        look = f"see `aboard board logs {board.id[:8]}`, then " if has_failed else ""
        raise Conflict(
            f"the board {board.name} has {'failed' if has_failed else 'ended'}{why}",
            hint=f"{look}start it again: aboard board start-again {board.id[:8]}",
        )


def _until_started(client: Client, board: BoardInfo) -> BoardInfo:
    """The board when its process answers or has ended, or when waiting longer would only annoy."""
    if board.state is UnitState.RUNNING or board.state.is_ended:
        return board
    where = board.settings.get("executor") or "local"
    began = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        say(f"Starting a TensorBoard process ({where}); Ctrl-C ends the waiting, and not the board.", sys.stderr)
        with progress_line(lambda: f"{board.state}, {_seconds_since(began)} s"):
            while not (board.state is UnitState.RUNNING or board.state.is_ended):
                if time.monotonic() - began > _FIRST_SECONDS:
                    break
                time.sleep(_LOOK_SECONDS)
                board = client.boards.get(board.id)
    return board


def _seconds_since(began: float) -> int:
    return int(time.monotonic() - began)


def _until_seen(client: Client, board: BoardInfo) -> BoardReading:
    """What has been read when all has, or when waiting longer would only annoy."""
    began = time.monotonic()
    reading = BoardReading(runs=board.run_count or 0, runs_read=0)
    first_seen: float | None = None
    has_said = False
    with contextlib.suppress(KeyboardInterrupt), progress_line(lambda: _progress(reading)):
        while True:
            reading = client.boards.reading(board.id)
            waited = time.monotonic() - began
            if reading.logdirs and first_seen is None:
                first_seen = waited
            if first_seen is not None and (_is_read(reading) or waited - first_seen > _REST_SECONDS):
                break
            if waited > _FAILING_SECONDS and reading.problems and first_seen is None:
                break
            if waited > _FIRST_SECONDS or (_is_read(reading) and not reading.logdirs and not _may_come(client, board)):
                break
            if waited > _SILENT_SECONDS and not has_said and first_seen is None:
                has_said = True
                say("Waiting for the first points; Ctrl-C ends the waiting, and not the board.", sys.stderr)
            time.sleep(_LOOK_SECONDS)
    return reading


def _is_read(reading: BoardReading) -> bool:
    return reading.runs_read >= reading.runs


def _may_come(client: Client, board: BoardInfo) -> bool:
    """Whether something may still join: other runs, or points of those that are there."""
    return board.live or any(not run.status.is_ended for run in client.boards.runs(board.id))


def _progress(reading: BoardReading) -> str:
    if not reading.runs:
        return "waiting for the first run"
    return f"{reading.runs_read} of {reading.runs} runs read"


def open_page(address: str) -> None:
    """Show an address; where no browser can be opened the person is told, who has the address already."""
    try:
        is_open = webbrowser.open(address)
    except (OSError, webbrowser.Error):
        is_open = False
    if not is_open:
        say("No browser can be opened here; open the address yourself.", sys.stderr)
