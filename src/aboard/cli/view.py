# SPDX-License-Identifier: Apache-2.0
"""`aboard view`: a board over folders, served in the foreground."""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from aboard.errors import InvalidValue, MissingPackage
from aboard.model.name_template import FOLDER_FIELDS, NameTemplate
from aboard.reader.run_collection import Follower, Progress, RunCollection

_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_PROGRESS_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What was asked for."""

    roots: dict[str, Path]
    host: str
    port: int | None
    path_prefix: str
    reload_interval: float
    window_title: str
    template: str | None
    samples: Mapping[str, int]
    open_browser: bool
    as_json: bool


def view(options: ViewOptions) -> None:
    """Serve until interrupted."""
    try:
        import uvicorn

        from aboard.server.access import AccessGuard
        from aboard.server.listening import is_loopback, listen, url_of
        from aboard.server.view import view_app
    except ImportError as error:
        raise MissingPackage(
            f"aboard view needs packages that are not installed ({error.name})", hint="pip install 'aboard[server]'"
        ) from error

    prefix = _checked_prefix(options.path_prefix)
    template = None if options.template is None else NameTemplate(options.template, FOLDER_FIELDS)
    listener = listen(options.host, options.port)
    private = is_loopback(options.host)
    token = None if private else secrets.token_urlsafe(32)
    collection = RunCollection(options.roots)
    app = AccessGuard(
        view_app(collection, lambda: _board_app(collection, template, options), prefix),
        hosts=_LOOPBACK_NAMES | {options.host} if private else None,
        token=token,
        cookie=f"aboard_view_{listener.getsockname()[1]}",
    )
    board_url = url_of(listener, f"{prefix}/")
    _announce(board_url, token, options)

    follower = Follower(collection, options.reload_interval)
    follower.start()
    if not options.as_json:
        threading.Thread(target=_show_progress, args=(collection,), daemon=True).start()
    if options.open_browser:
        webbrowser.open(_with_token(board_url, token))
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # raised again by uvicorn after it has shut down
        pass
    finally:
        follower.stop()


def _board_app(collection: RunCollection, template: NameTemplate | None, options: ViewOptions) -> Any:
    from aboard.board.hosting import Board, SingleBoard
    from aboard.board.limits import Limits
    from aboard.board.named_runs import NamedRuns, folder_columns
    from aboard.board.provider import About

    folders = ", ".join(str(path) for path in options.roots.values())
    board = Board(
        "view",
        collection if template is None else NamedRuns(collection, template, folder_columns(options.roots)),
        about=About(name=options.window_title, data_location=folders),
        limits=Limits(of_plugin=options.samples),
        plugins="all",
        logdir=folders if len(options.roots) == 1 else "",
    )
    return SingleBoard(board)


def _checked_prefix(prefix: str) -> str:
    if prefix and not prefix.startswith("/"):
        raise InvalidValue(f"--path_prefix must begin with a slash, got {prefix!r}", hint=f"use /{prefix}")
    return prefix.rstrip("/")


def _announce(url: str, token: str | None, options: ViewOptions) -> None:
    if options.as_json:
        document = {"url": _with_token(url, token), "tensorboard_url": url, "token": token}
        typer.echo(json.dumps(document))
        sys.stdout.flush()
        return
    folders = ", ".join(str(path) for path in options.roots.values())
    typer.echo(f"aboard shows {folders} at {_with_token(url, token)}")
    typer.echo("Ctrl-C ends it.", err=True)


def _with_token(url: str, token: str | None) -> str:
    return url if token is None else f"{url}?token={token}"


def _show_progress(collection: RunCollection) -> None:
    """A line on the terminal until everything has been read once."""
    shown = False
    while True:
        time.sleep(_PROGRESS_EVERY)
        progress = collection.progress
        done = progress.cycles > 0
        if shown or not done:
            end = "\n" if done else "\r"
            sys.stderr.write(_progress_line(progress).ljust(78) + end)
            sys.stderr.flush()
            shown = True
        if done:
            if progress.runs_found == 0:
                sys.stderr.write("No event files yet; runs appear here as they are written.\n")
            return


def _progress_line(progress: Progress) -> str:
    line = f"{progress.runs_read} of {progress.runs_found} runs read"
    if progress.newest_wall_time:
        line += f", newest point {max(0, time.time() - progress.newest_wall_time):.0f} s ago"
    return line
