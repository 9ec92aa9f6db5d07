# SPDX-License-Identifier: Apache-2.0
"""Boards as WSGI applications: one alone below any prefix, or many below `/boards/<id>/`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from aboard.board import assets
from aboard.board.plugins import AllowedPlugins, flags_for, plugins_for
from aboard.board.provider import BoardMetadata, BoardProvider, SampleLimits
from aboard.board.sources import RunSource
from aboard.board.tensorboard_api import EXPERIMENT_ID_KEY, application
from aboard.errors import InvalidValue

_log = logging.getLogger(__name__)

Environment = dict[str, Any]


class BoardApp:
    """A WSGI application that shows runs in TensorBoard; it expects to be called at its own root.

    A board holds no points; what it costs is a few dozen kilobytes and less than a millisecond.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  the word of the vocabulary
        source: RunSource,
        *,
        about: BoardMetadata | None = None,
        limits: SampleLimits | None = None,
        plugins: AllowedPlugins = "none",
        logdir: str = "",
        secret: bytes | None = None,
    ) -> None:
        """Make a board over `source`.

        `logdir` is for installed plugins that read files themselves. Processes that serve the same board give it the
        same `secret`, so that each understands the addresses of pictures that another gave out.
        """
        self.id = id
        self.about = about or BoardMetadata()
        self.source = source
        limits = limits or SampleLimits()
        self._app = application.TensorBoardWSGIApp(
            flags_for(
                plugins,
                logdir=logdir,
                logdir_spec="",
                path_prefix="",
                # For installed plugins; those of TensorBoard get what the limits say, whatever they ask for.
                samples_per_plugin={name: count for name, count in limits.of_plugin.items() if count},
                window_title=self.about.name,
            ),
            plugins_for(plugins, self.about.data_location),
            data_provider=BoardProvider(source, about=self.about, limits=limits, secret=secret),
        )

    def __call__(self, environ: Environment, start_response: Any) -> Iterable[bytes]:
        # A client could name an experiment in a header; TensorBoard would then no longer look at the address.
        environ.pop(EXPERIMENT_ID_KEY, None)
        try:
            return self._app(environ, start_response)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            # What TensorBoard's plugins raise for names that do not exist and parameters that are missing or wrong.
            _log.warning("Board %s: bad request %r: %r", self.id, environ.get("PATH_INFO"), error, exc_info=True)
            return _plain(start_response, "400 Bad Request", b"No such run or tag, or a parameter that makes no sense")
        except Exception:
            _log.exception("Board %s: failed to answer %r", self.id, environ.get("PATH_INFO"))
            return _plain(
                start_response, "500 Internal Server Error", b"Internal error; the log of the server has details"
            )


class SingleBoardApp:
    """One board at `/` or below a prefix such as `/tensorboard/mine`."""

    def __init__(self, board: BoardApp, path_prefix: str = "") -> None:
        self.board = board
        self.path_prefix = path_prefix.rstrip("/")
        if self.path_prefix and not self.path_prefix.startswith("/"):
            raise InvalidValue(f"Path prefix {path_prefix!r} does not start with a slash", hint=f"use /{path_prefix}")
        self._prefix = self.path_prefix.encode().decode("latin-1")  # as WSGI writes paths

    def __call__(self, environ: Environment, start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path != self._prefix and not path.startswith(self._prefix + "/"):
            return assets.not_found(start_response)
        environ = _below(environ, len(self._prefix))
        path = environ["PATH_INFO"]
        if path.startswith("/" + assets.SHARED):
            return assets.serve_shared(path.removeprefix("/" + assets.SHARED), environ, start_response)
        if not path:
            return _redirect_with_slash(environ, start_response)
        environ[assets.ROOT_KEY] = _relative_root(path)
        return self.board(environ, start_response)


class BoardDispatcher:
    """Many boards below `/boards/<id>/`, and the files that they share below `/_tb/`."""

    def __init__(self, board: Callable[[str], BoardApp | None]) -> None:
        """Serve the boards that `board` finds by id."""
        self._board = board

    def __call__(self, environ: Environment, start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path.startswith("/" + assets.SHARED):
            return assets.serve_shared(path.removeprefix("/" + assets.SHARED), environ, start_response)
        below_boards = path.removeprefix("/boards/")
        board_id = below_boards.partition("/")[0] if below_boards != path else ""
        board = self._board(board_id) if board_id else None
        if board is None:
            return assets.not_found(start_response)
        environ = _below(environ, len(f"/boards/{board_id}"))
        if not environ["PATH_INFO"]:
            return _redirect_with_slash(environ, start_response)
        environ[assets.ROOT_KEY] = _relative_root(path)
        return board(environ, start_response)


def _below(environ: Environment, length: int) -> Environment:
    path = environ.get("PATH_INFO", "")
    script_name = environ.get("SCRIPT_NAME", "") + path[:length]
    return {**environ, "SCRIPT_NAME": script_name, "PATH_INFO": path[length:]}


def _relative_root(path: str) -> str:
    """From a page at `path` to the root: as many folders up as it is deep, also when no root is in sight."""
    return "../" * (path.count("/") - 1) or "./"


def _redirect_with_slash(environ: Environment, start_response: Any) -> Iterable[bytes]:
    # Relative to the last part of the address, as a proxy may have put anything before it.
    last_part = environ["SCRIPT_NAME"].rpartition("/")[2]
    location = quote(last_part.encode("latin-1")) + "/"
    query = environ.get("QUERY_STRING", "")
    return _plain(
        start_response, "301 Moved Permanently", b"", ("Location", f"{location}?{query}" if query else location)
    )


def _plain(start_response: Any, status: str, body: bytes, *headers: tuple[str, str]) -> Iterable[bytes]:
    kind = [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]
    start_response(status, [*kind, ("Content-Length", str(len(body))), *headers])
    return [body]
