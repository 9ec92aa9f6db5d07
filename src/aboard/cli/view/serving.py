# SPDX-License-Identifier: Apache-2.0
"""`aboard view`: a board over folders, served in the foreground."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aboard.cli.arguments import parse_roots
from aboard.cli.output import say
from aboard.config.settings import VIEW_PAGES
from aboard.errors import InvalidValue, MissingPackage, StorageUnavailable
from aboard.model.names import is_uid
from aboard.model.templates import FOLDER_FIELDS, STORE_FIELDS, NameTemplate
from aboard.reader.roots import Root, StoreUri

if TYPE_CHECKING:
    from aboard.reader.collection import RunCollection


_LOOPBACK = "127.0.0.1"
_LOOPBACK_NAMES = frozenset({_LOOPBACK, "localhost", "::1"})
_LOOKED_AT = 100  # names in a folder
_KEEP_WITHIN_SECONDS = 5.0  # what was decoded, for the next time
_STOP_LOADING_WITHIN_SECONDS = 1.0
_READ_FIRST_SECONDS = 2.0  # for a large store the page comes before the runs
# Who fetches gives the interpreter away with each of some twenty system calls a run, and waits so long to get it back
# from a thread that imports or answers.
_SWITCH_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """The options of `aboard view` over folders."""

    roots: dict[str, Root]
    host: str | None
    bind_all: bool
    port: int | None
    reuse_port: bool
    path_prefix: str
    reload_interval: float
    window_title: str
    template: str | None
    samples: Mapping[str, int]
    open_browser: bool
    as_json: bool
    stats: bool = False
    opens_tensorboard: bool = False
    """Whether the front page is TensorBoard."""
    is_embedded: bool = False
    """Whether a notebook shows it in a frame: it changes nothing, and ends when its standard input does."""


def check_roots(paths: Sequence[str], logdir: str | None, logdir_spec: str | None) -> dict[str, Root]:
    """The folders that were named, all of which can be read: an empty page would leave a person guessing."""
    try:
        roots = parse_roots(paths, logdir, logdir_spec)
        for path in roots.values():
            if not isinstance(path, Path):
                continue  # a store is asked while the page is already there
            if path.is_file():
                path.open("rb").close()
            else:
                os.scandir(path).close()
    except OSError as error:
        place = os.fsdecode(error.filename or "")
        raise StorageUnavailable(
            f"cannot read {place!r}: {error.strerror}", hint=f"see what is there: ls -ld {shlex.quote(place)}"
        ) from error
    return roots


def opens_tensorboard(given: str | None) -> bool:
    """Whether the front page is TensorBoard: by the option, or by the settings."""
    from aboard.config.settings import load_settings

    chosen = load_settings().view_opens if given is None else given
    if chosen not in VIEW_PAGES:
        raise InvalidValue(f"--open {chosen} is not a page.", hint=f"Use {' or '.join(VIEW_PAGES)}.")
    return chosen == "tensorboard"


def view(options: ViewOptions) -> None:
    """Serve until interrupted."""
    _open_standard_streams()
    sys.setswitchinterval(_SWITCH_SECONDS)
    from aboard.server.http.listening import EVERYWHERE, is_loopback, listen, url_of

    prefix = _check_prefix(options.path_prefix)
    is_stored = any(isinstance(root, StoreUri) for root in options.roots.values()) or _has_stored_runs(options.roots)
    fields = STORE_FIELDS if is_stored else FOLDER_FIELDS
    template = None if options.template is None else NameTemplate(options.template, fields)
    if options.bind_all and options.host is not None:
        raise InvalidValue(f"--bind_all listens on all addresses, and --host names one: {options.host}")
    host = EVERYWHERE if options.bind_all else options.host or _LOOPBACK
    listener = listen(host, options.port, reuse_port=options.reuse_port)
    private = is_loopback(host)
    token = None if private else secrets.token_urlsafe(32)
    reading = _Reading(options)
    title = options.window_title or _title(options.roots)
    board_url = url_of(listener, f"{prefix}/")
    with contextlib.suppress(KeyboardInterrupt):
        try:
            reading.begin_ahead()
            try:
                from aboard.server.auth.shared_token import SharedTokenMiddleware
                from aboard.server.http.logging import configure_terminal_logging
                from aboard.server.http.serving import serve
                from aboard.server.page_files import FolderPage
                from aboard.server.view import ViewApp
            except ImportError as error:
                raise _missing(error) from error
            configure_terminal_logging()
            app = SharedTokenMiddleware(
                ViewApp(
                    FolderPage(
                        title,
                        prefix=prefix,
                        opens_tensorboard=options.opens_tensorboard,
                        may_be_framed=options.is_embedded,
                    ),
                    reading.begin,
                    lambda runs: _api_app(runs, title),
                    lambda runs: _board_app(runs, template, options),
                    reading.fail,
                    prefix,
                ),
                hosts=_LOOPBACK_NAMES | {host.lower()} if private else None,
                token=token,
                cookie=f"aboard_view_{listener.getsockname()[1]}",
                read_only=options.is_embedded,
            )
            _announce(board_url, token, options)
            if options.is_embedded:
                threading.Thread(target=_end_with_standard_input, daemon=True).start()
            if options.open_browser:
                # In a thread: it may take a second, and what the browser asks waits meanwhile.
                threading.Thread(target=webbrowser.open, args=(_with_token(board_url, token),), daemon=True).start()
            serve(app, listener)
        finally:
            reading.end_soon()
    if reading.failure is not None:
        raise reading.failure
    _leave()


def _end_with_standard_input() -> None:
    """End as on Ctrl-C when the process at the other end of standard input is gone."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def _missing(error: ImportError) -> MissingPackage:
    return MissingPackage(
        f"aboard view needs packages that are not installed ({error.name})", hint="pip install 'aboard[server]'"
    )


def _has_stored_runs(roots: Mapping[str, Root]) -> bool:
    """Whether a folder looks like a store: its folders are called by uids."""
    for root in roots.values():
        if isinstance(root, Path) and root.is_dir():
            with os.scandir(root) as entries:
                if any(is_uid(entry.name) for entry in islice(entries, _LOOKED_AT)):
                    return True
    return False


class _Reading:
    """The runs of a board, opened once it is served, and followed until it is not."""

    def __init__(self, options: ViewOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._beginning = threading.Lock()
        self._ended = False
        self.failure: Exception | None = None
        self._collection: RunCollection | None = None
        self._stop: Callable[[], None] = lambda: None

    def begin_ahead(self) -> None:
        """Ask stores at once: they take their time to answer, in which others can be imported."""
        if any(isinstance(root, StoreUri) for root in self._options.roots.values()):
            threading.Thread(target=self._begin_ahead, daemon=True).start()

    def _begin_ahead(self) -> None:
        with contextlib.suppress(Exception):  # `begin` meets the same, where somebody hears of it
            self.begin()

    def begin(self) -> RunCollection:
        """Read and follow, or (with an interval of 0, as in TensorBoard) read once; again: the same."""
        with self._beginning:
            return self._collection or self._begun()

    def _begun(self) -> RunCollection:
        # What this imports takes longer than all the rest.
        from aboard.cli.view.reports import report_reading, report_traffic
        from aboard.reader.collection import RunCollection
        from aboard.reader.index import IndexCache

        summaries = self._options.template is not None
        collection = RunCollection(self._options.roots, cache=IndexCache.default(), summaries=summaries)
        with self._lock:
            if self._ended:
                return collection
            self._collection = collection
            self._stop = _start_reading(collection, self._options.reload_interval)
        if not self._options.as_json:
            is_followed = self._options.reload_interval > 0
            threading.Thread(
                target=report_reading, args=(collection,), kwargs={"is_followed": is_followed}, daemon=True
            ).start()
        if self._options.stats:
            threading.Thread(target=report_traffic, args=(collection,), daemon=True).start()
        return collection

    def fail(self, error: Exception) -> None:
        """A board that cannot be opened is not served: end as on Ctrl-C, and tell why."""
        self.failure = error if not isinstance(error, ImportError) else _missing(error)
        os.kill(os.getpid(), signal.SIGINT)

    def end_soon(self) -> None:
        """Stop reading; a long look at many files is not waited for, as nothing is lost by leaving it."""
        with self._lock:
            self._ended = True
        if self._collection is None:
            return
        if self._options.stats:
            from aboard.cli.view.reports import print_traffic

            print_traffic(self._collection)
        stopping = threading.Thread(target=self._stop, daemon=True)
        stopping.start()
        with contextlib.suppress(KeyboardInterrupt):  # of somebody in a hurry
            stopping.join(_KEEP_WITHIN_SECONDS if self._collection.progress.cycles else _STOP_LOADING_WITHIN_SECONDS)


def _open_standard_streams() -> None:
    """Where a standard stream was closed, the next thing opened would take its place, and get what libraries print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _start_reading(collection: RunCollection, interval: float) -> Callable[[], None]:
    """How to stop it."""
    from aboard.reader.collection import Follower

    if interval > 0:
        follower = Follower(collection, interval)
        follower.start()
        return follower.stop

    def read_once() -> None:
        collection.refresh()
        collection.keep(all_that_is_new=True)

    once = threading.Thread(target=read_once, name="aboard-reader", daemon=True)
    once.start()
    return once.join


def _leave() -> None:
    """End the process at once. The ordinary way would wait for answers to nobody, or take the ground away under
    native threads at work.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


def _let_read(collection: RunCollection) -> None:
    """Wait a moment for what stores have: TensorBoard's modules, while they are imported, let nothing else get on."""
    until = time.monotonic() + _READ_FIRST_SECONDS
    while collection.traffic and not collection.progress.cycles and time.monotonic() < until:
        time.sleep(0.01)


def _api_app(collection: RunCollection, title: str) -> Any:
    from aboard.config.settings import load_settings
    from aboard.server.auth.shared_token import error_response
    from aboard.server.folder_app import create_folder_app
    from aboard.server.http.limits import RequestLimiter
    from aboard.server.http.security_headers import SecurityHeadersMiddleware
    from aboard.server.http.serving import ConnectionLimits
    from aboard.services.folders.services import FolderServices
    from aboard.services.folders.source import FolderSource

    services = FolderServices(FolderSource(collection, home=load_settings().home, title=title))
    services.start()
    app = create_folder_app(services)
    limiter = RequestLimiter(ConnectionLimits().most_here())
    limited = limiter.with_slot(app, "viewer", lambda scope, error: error_response(scope, error.status, error))
    return SecurityHeadersMiddleware(limited, is_secure=False)


def _title(roots: Mapping[str, Root]) -> str:
    names = [root.absolute().name if isinstance(root, Path) else root.name for root in roots.values()]
    return next(filter(None, names), "runs") if len(names) == 1 else "runs"


def _board_app(collection: RunCollection, template: NameTemplate | None, options: ViewOptions) -> Any:
    _let_read(collection)
    from aboard.board.hosting import BoardApp, SingleBoardApp
    from aboard.board.names import NamedRuns, folder_columns
    from aboard.board.provider import BoardMetadata, SampleLimits

    folders = _folders(options)
    columns = folder_columns(options.roots, collection.columns_of)
    # Several logdirs share the name of a run in a store.
    identity = ("run", "logdir") if template is not None and template.known is STORE_FIELDS else ("run",)
    board = BoardApp(
        "view",
        collection if template is None else NamedRuns(collection, template, columns, identity),
        about=BoardMetadata(name=options.window_title, data_location=folders),
        limits=SampleLimits(of_plugin=options.samples),
        plugins="all",
        logdir=folders if len(options.roots) == 1 else "",
    )
    return SingleBoardApp(board)


def _check_prefix(prefix: str) -> str:
    if prefix and not prefix.startswith("/"):
        raise InvalidValue(f"--path_prefix must begin with a slash, got {prefix!r}", hint=f"use /{prefix}")
    return prefix.rstrip("/")


def _announce(url: str, token: str | None, options: ViewOptions) -> None:
    address = _with_token(url, token)
    if options.as_json:
        line = json.dumps({"url": address, "tensorboard_url": f"{url}tensorboard/", "token": token})
    else:
        line = f"aboard shows {_folders(options)} at {address}"
    if not say(line, sys.stdout):
        say(f"standard output is closed; the board is at {address}", sys.stderr)
    if not options.as_json:
        say("Ctrl-C ends it.", sys.stderr)


def _folders(options: ViewOptions) -> str:
    # A folder's name need not be text that a terminal or a page accepts.
    return ", ".join(str(path).encode("utf-8", "replace").decode() for path in options.roots.values())


def _with_token(url: str, token: str | None) -> str:
    return url if token is None else f"{url}?token={token}"
