# SPDX-License-Identifier: Apache-2.0
"""`aboard server`: a catalog, its stores and the application over them, put together and served in the foreground."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

from aboard.api.runs import RetentionRequest
from aboard.catalog.catalog import Catalog
from aboard.cli.output import say
from aboard.cli.server.options import ServerOptions, ServerToken
from aboard.config.home import machine_folder
from aboard.config.retention import RetentionRule
from aboard.config.server import BoardHostSettings
from aboard.config.settings import Settings
from aboard.errors import AboardError, InvalidValue, StorageUnavailable
from aboard.foundation.files import make_private_folder
from aboard.model.boards import BoardLimits
from aboard.model.people import Access
from aboard.server.app import create_app
from aboard.server.http.addresses import prefix_of
from aboard.server.http.limits import RequestLimiter
from aboard.server.http.listening import PortDispatcher, is_loopback, listen, url_of
from aboard.server.http.logging import RequestLogMiddleware, configure_logging
from aboard.server.http.serving import IdleShutdown, serve
from aboard.server.page_files import is_page_built
from aboard.server.registration import Announcement, Registration, process_owner
from aboard.server.setup import (
    ServerInstance,
    add_authentication,
    board_proxy,
    connection_limits,
    login_options,
    second_origin_url,
)
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.lifecycle import BoardRules
from aboard.services.people.accounts import code_for, ensure_administrator, has_named_administrator, has_way_in
from aboard.services.read_only_source import Source
from aboard.services.runs.retention import ACTOR, RetentionTask
from aboard.services.services import ServiceOptions, Services
from aboard.services.stores.jobs import clean_stores

_ANY_NUMBER = 10**9
_log = logging.getLogger("aboard.server")


def serve_catalog(options: ServerOptions, settings: Settings, token: ServerToken) -> None:
    """Serve until interrupted."""
    configure_logging(settings.serve.log_format)
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(settings.serve.host, settings.serve.port))
        CatalogServer(options, settings, token).serve(listener, stack)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class CatalogServer:
    """One start of `aboard server`."""

    def __init__(self, options: ServerOptions, settings: Settings, token: ServerToken) -> None:
        self._options, self._settings, self._token = options, settings, token
        self._mode, self._host = settings.login.mode, settings.serve.host
        # The token of one start is known to the person alone; one that was settled may be known to many.
        self._is_personal = is_loopback(self._host) and self._mode == "personal" and not token.is_settled

    def serve(self, listener: socket.socket, stack: contextlib.ExitStack) -> None:
        """Serve until interrupted; what is opened is closed with `stack`."""
        options, url = self._options, url_of(listener, "")
        own, place = machine_folder(self._settings.home), self._settings.serve.catalog
        registration = Registration(own) if not place else None
        if registration is not None:
            stack.callback(registration.withdraw)
        catalog = stack.enter_context(Catalog.open(place or own / "catalog.sqlite"))
        was_closed = not has_way_in(catalog)
        person = ensure_administrator(catalog, process_owner()) if self._needs_person(catalog) else process_owner()
        control = self._control(catalog, stack)
        remembering = registration if self._is_personal else None
        if remembering is not None:
            _follow_again(control, remembering.stores())
        second = stack.enter_context(self._second_listener(listener))
        second_port: int = second.getsockname()[1]
        inner = create_app(
            control,
            personal=self._is_personal,
            private=options.private,
            remember=remembering.remember if remembering is not None else _forget,
            login_mode=self._mode,
            second_origin=second_origin_url(self._settings, second_port),
            prefix=prefix_of(self._settings.serve.url),
        )
        limits = connection_limits(self._settings)
        where = ServerInstance(
            host=self._host,
            port=listener.getsockname()[1],
            url=url,
            is_loopback=is_loopback(self._host),
            token=self._token.text,
            person=Access.whole(person),
            under_way=RequestLimiter(limits.most_here()),
            boards_port=second_port,
        )
        app = add_authentication(inner, control, self._settings, where, self._mode)
        boards = board_proxy(control, self._settings, where, second_port)
        app = PortDispatcher(app, boards, second_port, boards.close)
        app = RequestLogMiddleware(app, inner.state.metrics, access_log=not options.private)
        if registration is not None:
            registration.publish(url, self._token.text)
        else:
            found = Announcement(own, url=url, token=self._token.text, catalog=str(catalog))
            stack.callback(found.withdraw)
        self._announce(url, second_port, control, person, is_first=was_closed)
        if options.private and registration is not None:
            is_needed = catalog.boards.has_living
            idle = IdleShutdown(app, options.idle_timeout, registration.is_published, is_needed)
            idle.start()
            serve(idle, listener, control.changes.close, second=second, limits=limits)
        else:
            serve(app, listener, control.changes.close, second=second, limits=limits)

    def _second_listener(self, first: socket.socket) -> socket.socket:
        """For boards that are processes. Behind the first port where that is free, so that addresses stay the same."""
        settled = self._settings.serve.boards_port
        port: int = first.getsockname()[1]
        if settled is not None:
            try:
                return listen(self._host, settled)
            except InvalidValue as error:
                two = f"The server needs two ports, {port} and {settled} for boards that are processes"
                hint = "Set serve.boards_port (ABOARD_SERVE_BOARDS_PORT) to a free port, or unset it."
                raise InvalidValue(f"{two}: {error.message}.", hint=hint) from None
        try:
            return listen(self._host, min(port + 1, 65535))
        except InvalidValue:
            return listen(self._host, 0)

    def _needs_person(self, catalog: Catalog) -> bool:
        """The one person of a personal server; else the first administrator, while there is none.

        Not where a proxy names people: one of them may be called like the account that runs the server.
        """
        return self._mode == "personal" or (self._mode != "header" and not catalog.people.administrators())

    def _control(self, catalog: Catalog, stack: contextlib.ExitStack) -> Services:
        default = self._settings.home / "store"
        own_store: Path | None = default if self._is_personal else None
        stores = self._settings.serve.stores or [self._settings.store]
        if not self._is_personal and stores == [str(default)]:
            _make_folder(default)
        options = ServiceOptions(
            stores=stores,
            own_store=own_store,
            may_add_stores=self._is_personal,
            logins=login_options(self._settings),
            roots=None if self._is_personal else self._settings.serve.roots,
            sources=[Source.parse(text) for text in self._settings.serve.sources],
            template=self._settings.template,
            boards=self._board_rules(),
            process_home=machine_folder(self._settings.home),
            jobs_home=self._settings.home,
        )
        control = Services(catalog, options)
        stack.callback(control.close)
        upkeep = control.leases.lease("retention")
        retention = RetentionTask(
            control.seen_by(Access.whole(ACTOR)).retain,
            [_retention_request(rule) for rule in self._settings.retention],
            is_ours=lambda: upkeep.is_held,
            chores=[lambda: clean_stores([one.uri for one in control.stores()])],
        )
        stack.callback(retention.stop)
        return control

    def _board_rules(self) -> BoardRules:
        limits = self._settings.boards
        return BoardRules(
            limits=BoardLimits(
                server=limits.limit_per_person or _ANY_NUMBER,
                process=limits.process_limit_per_person or _ANY_NUMBER,
                total=limits.limit_total or None,
            ),
            plugins=None if self._is_personal else self._settings.serve.plugins,
            executors=make_board_executors(limits, is_personal=self._is_personal),
        )

    def _announce(self, url: str, boards_port: int, control: Services, person: str, *, is_first: bool) -> None:
        catalog, stores = str(control.catalog), [one.uri for one in control.stores()]
        url = self._settings.serve.url or url
        if self._options.private:
            said = {"url": url, "token": self._token.text, "catalog": catalog, "stores": stores}
            told = f"a private server listens at {url}; catalog {catalog}; stores {', '.join(stores)}"
            say(json.dumps(said), sys.stdout) if self._options.as_json else say(told, sys.stderr)
            return
        is_personal = self._mode == "personal"
        if self._mode == "header" and not has_named_administrator(control.catalog):
            say("No administrator can log in yet. Name one as the proxy calls them:", sys.stderr)
            say("  aboard server init-admin NAME", sys.stderr)
        # In other modes a link is printed until an administrator has come in; `init-admin` makes further ones.
        wants_link = is_personal or (is_first and self._mode in ("tokens", "oidc"))
        code = code_for(control.catalog, person) if wants_link else ""
        link = f"{url}/?token={code}" if code else ""
        if self._options.as_json:
            token = self._token.text if is_personal else None
            said: dict[str, object] = {"url": url, "token": token, "link": link or None}
            said["boards_port"] = boards_port
            say(json.dumps({**said, "login": self._mode, "catalog": catalog, "stores": stores}), sys.stdout)
            return
        say(f"aboard serves {catalog} at {url}", sys.stdout)
        if is_personal:
            say(f"  open  {link}    (works once, for an hour)", sys.stdout)
            say(f"  or    export ABOARD_SERVER={url} ABOARD_TOKEN={self._token.text}", sys.stdout)
        elif link:
            say(f"Nobody has logged in yet. As its administrator {person}, once, within an hour:", sys.stdout)
            say(f"  open  {link}", sys.stdout)
            say(f"  or    aboard login {url} --token {code}", sys.stdout)
        if not is_page_built():
            say("note: The page is not built. Run `make page` in the clone, then install aboard again.", sys.stderr)
        say(f"It also listens on port {boards_port}, for boards that are processes.", sys.stderr)
        say(f"It follows {', '.join(stores)}. Ctrl-C ends it.", sys.stderr)


def make_board_executors(settings: BoardHostSettings, *, is_personal: bool) -> BoardExecutors:
    """Where boards may run as processes; an error where what is settled can never work."""
    made = BoardExecutors(
        allowed=settings.executors,
        default=settings.executor,
        is_personal=is_personal,
        image=settings.image,
        images=settings.images,
        mounts=settings.mounts,
        shared_folder=Path(settings.shared_folder).expanduser().absolute() if settings.shared_folder else None,
        program=settings.tensorboard,
        memory=settings.memory,
    )
    made.check()
    return made


def _follow_again(control: Services, uris: list[str]) -> None:
    """A store that can no longer be opened is no reason not to serve the others."""
    for uri in uris:
        try:
            control.add_store(uri)
        except AboardError as error:
            _log.warning("%s is not followed: %s", uri, error)


def _retention_request(rule: RetentionRule) -> RetentionRequest:
    return RetentionRequest(
        where=rule.where,
        workspaces=rule.workspaces,
        older_than_seconds=rule.older_than_seconds,
        keep_newest=rule.keep,
        files=rule.files,
        in_bin=rule.in_bin,
    )


def _forget(_: str) -> None:
    return


def _make_folder(store: Path) -> None:
    """Nobody was asked where runs shall be, so the place is made; runs go there from the first on."""
    try:
        make_private_folder(store)
    except OSError as error:
        raise StorageUnavailable(
            f"{store} cannot be made: {error.strerror}", hint="name a store with --store"
        ) from error
