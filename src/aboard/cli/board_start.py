# SPDX-License-Identifier: Apache-2.0
"""`aboard board start`, and `aboard view` of runs: a board over a selection, made or opened again."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import typer

from aboard.api.boards import BoardCreated, BoardInfo
from aboard.api.wire import to_wire
from aboard.cli.board_opening import show_board
from aboard.cli.config_file import read_config_file
from aboard.cli.config_pairs import with_pairs
from aboard.cli.saying import say
from aboard.cli.table_text import print_json
from aboard.cli.yaml_text import yaml_documents
from aboard.client.boards import BoardAsked, Span
from aboard.client.client import Client
from aboard.config.settings import DEFAULT_TEMPLATE, load_settings
from aboard.errors import InvalidValue
from aboard.model.board import BoardKind
from aboard.model.board_settings import KEYS as SETTINGS
from aboard.model.board_settings import PROCESS_KEYS
from aboard.model.selection import NumberKind

_NOTHING = "name experiments (7 8), runs (--trial-ids 12 13, or run12), folders (./logs), or give a filter (--where)"
_OWN_KEYS = ("description", "idle_timeout", "max_runtime", "sources", "template", "where", "workspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """What was asked for."""

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


def start_board(options: StartOptions) -> None:
    """Make the board, or open the one that shows the same, and say where it is."""
    if not options.words and options.where is None and not options.workspace:
        raise InvalidValue("nothing is named that a board could show", hint=_NOTHING)
    if options.dry_run:
        _show_preview(options)
        return
    client = Client()
    created = client.boards.create(options.words, **_asked(options))
    if options.as_json:
        address = client.boards.address(created.board)
        print_json({**told(created.board), "url": address, "reopened": created.reopened})
        return
    if options.detach:
        typer.echo(created.board.id)
        return
    _announce(created)
    show_board(client, created.board, open_browser=options.open_browser)


def _asked(options: StartOptions) -> BoardAsked:
    own_template = load_settings().template
    return BoardAsked(
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
    """Print what the executor would be given."""
    if options.kind is BoardKind.SERVER:
        hint = "add --executor NAME, or --process for the executor of the server; or leave --dry-run out"
        raise InvalidValue("--dry-run shows what an executor is given, and a board in the server needs none", hint=hint)
    preview = Client().boards.preview(options.words, **_asked(options))
    if options.as_json:
        print_json({"items": preview.documents, "next": None})
    else:
        typer.echo(yaml_documents(preview.documents), nl=False)
    _note_empty(preview.empty)
    say("No board was made. Values of secrets and of options of the server are not shown.", sys.stderr)


def told(board: BoardInfo) -> dict[str, object]:
    """A board as one document."""
    return cast("dict[str, object]", to_wire(board))


def with_config(options: StartOptions, config_file: str | None, pairs: Sequence[str]) -> StartOptions:
    """The options, and where they say nothing the settings of a file, which pairs go before."""
    given = read_config_file(Path(config_file), "--config-file") if config_file else {}
    given = with_pairs(given, pairs)
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
        near = difflib.get_close_matches(key, known, n=1)
        did_you_mean = f"did you mean {near[0]!r}? " if near else ""
        raise InvalidValue(f"a board has no setting {key!r}", hint=f"{did_you_mean}known are {', '.join(known)}")


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
