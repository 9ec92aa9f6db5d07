# SPDX-License-Identifier: Apache-2.0
"""`aboard server --check`, `init-admin`, `backup` and `restore`, and `aboard reindex`: upkeep of a server."""

from __future__ import annotations

import contextlib
import json
import logging
import stat
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from aboard.cli.output import format_bytes, print_json, progress_line
from aboard.cli.server.options import ServerOptions, choose_token, require_packages
from aboard.config.declarations import BY_KEY
from aboard.config.home import machine_folder
from aboard.config.settings import Settings, load_settings, secrets_in_file, settings_file
from aboard.errors import AboardError, InvalidValue

if TYPE_CHECKING:
    from aboard.api.server import ReindexState
    from aboard.catalog.catalog import Catalog
    from aboard.services.read_only_source import Source


_T = TypeVar("_T")


def check_server(options: ServerOptions) -> int:
    """Print one line for each thing that was looked at; 1 if something is wrong."""
    with require_packages():
        from aboard.server.http.listening import is_loopback
        from aboard.server.setup import oidc_provider

    report = _Report(as_json=options.as_json)
    settings = report.check("settings", options.settings, _describe_settings)
    if settings is None:
        return report.end()
    serve, login = settings.serve, settings.login
    report.check("settings file", lambda: _check_secrets(settings), str)
    report.check("home", lambda: _home(settings.home), str)
    token = report.check(
        "login",
        lambda: choose_token(settings, is_loopback=is_loopback(serve.host), is_private=options.private),
        lambda _: f"mode {login.mode}, listening on {serve.host}",
    )
    if login.mode == "header":
        from aboard.server.setup import check_header_mode

        report.check("proxy", lambda: check_header_mode(settings), lambda _: f"{login.header} is believed")
    if login.mode == "oidc":
        report.check("provider", lambda: oidc_provider(login.oidc).check(), str)
    report.check("catalog", lambda: _catalog(settings), str)
    for uri in serve.stores or (settings.store,):
        report.check(f"store {uri}", lambda uri=uri: _store(uri, settings), str)
    stores = serve.stores or (settings.store,)
    # As the server decides it: the server of one person shows any folder, and has no use for roots.
    is_personal = is_loopback(serve.host) and login.mode == "personal" and token is not None and not token.is_settled
    for root in serve.roots:
        report.check(f"root {root}", lambda root=root: _root(root, () if is_personal else stores), str)
    _check_sources(report, settings, stores, is_personal=is_personal)
    report.check("boards", lambda: _boards(settings), str)
    return report.end()


class _Report:
    """Lines for a person, or one document."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._items: list[dict[str, object]] = []

    def check(self, what: str, look: Callable[[], _T], tell: Callable[[_T], str]) -> _T | None:
        """Return what `look` gives, and report it; None after an error, which is reported too."""
        try:
            value = look()
            said = tell(value)
        except AboardError as error:
            self._say(what, error.message, error.hint, is_good=False)
            return None
        self._say(what, said, "", is_good=True)
        return value

    def end(self) -> int:
        is_good = all(item["ok"] for item in self._items)
        if self._as_json:
            typer.echo(json.dumps({"ok": is_good, "items": self._items}))
        return 0 if is_good else 1

    def _say(self, what: str, said: str, hint: str, *, is_good: bool) -> None:
        self._items.append({"what": what, "ok": is_good, "said": said, "hint": hint})
        if not self._as_json:
            typer.echo(f"{'ok   ' if is_good else 'WRONG'} {what}: {said}")
            if hint:
                typer.echo(f"      hint: {hint}")


def _describe_settings(settings: Settings) -> str:
    path = settings_file(settings.home)
    return f"{path} is good" if path.exists() else f"{path} is not there; what it might say has defaults"


def _check_secrets(settings: Settings) -> str:
    path = settings_file(settings.home)
    secrets = secrets_in_file(settings.home)
    if not secrets:
        return "holds no secrets"
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise InvalidValue(
            f"Other accounts of this machine can read {path} (mode {mode:03o}), which holds {', '.join(secrets)}.",
            hint=f"Run `chmod 600 {path}`, or set {', '.join(BY_KEY[key].environment for key in secrets)} instead.",
        )
    return f"holds {', '.join(secrets)}, for this account alone"


def _home(home: Path) -> str:
    if not home.exists():
        return f"{home} will be made, for this account alone"
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & (stat.S_IROTH | stat.S_IXOTH | stat.S_IRGRP | stat.S_IXGRP):
        # Not an error: a personal machine or a container has no other accounts.
        return f"other accounts of this machine can read {home} (mode {mode:03o}); `chmod 700 {home}` keeps them out"
    return f"{home} can be read by this account alone"


def _catalog(settings: Settings) -> str:
    from aboard.catalog.catalog import Catalog

    where = settings.serve.catalog or machine_folder(settings.home) / "catalog.sqlite"
    if not settings.serve.catalog and not Path(where).exists():
        return f"{where} will be made"
    with Catalog.open(where, beside_server=True) as catalog:
        return f"{catalog} has {catalog.runs.count():,} runs and {len(catalog.people.list())} people"


def _store(uri: str, settings: Settings) -> str:
    from aboard.store.opening import open_store
    from aboard.store.run.listing import RunListing

    is_own = uri == str(settings.home / "store")
    if is_own and not Path(uri).exists():
        return "will be made by the first run"
    return f"can be listed, {len(RunListing(open_store(uri)).new()):,} runs"


def _boards(settings: Settings) -> str:
    from aboard.cli.server.serving import make_board_executors

    return f"as processes they may run on {', '.join(make_board_executors(settings.boards, is_personal=False).names)}"


def _root(root: str, stores: Sequence[str]) -> str:
    from aboard.services.stores.followed_stores import check_roots_apart
    from aboard.store.opening import open_store

    check_roots_apart([root], stores)
    for _ in open_store(root).list(""):
        break
    return "can be listed"


def _check_sources(report: _Report, settings: Settings, stores: Sequence[str], *, is_personal: bool) -> None:
    from aboard.services.read_only_source import Source, check_sources

    serve, parsed = settings.serve, list[Source]()
    for text in serve.sources:
        source = report.check(f"source {text}", lambda text=text: Source.parse(text), _source)
        parsed += [source] if source is not None else []
    if parsed:
        roots = None if is_personal else serve.roots
        report.check("sources", lambda: check_sources(parsed, roots, stores), lambda _: "apart from stores")


def _source(source: Source) -> str:
    from aboard.store.opening import open_store

    for _ in open_store(source.given, read_only=True).list(""):
        break
    return f"can be listed, shown in the workspace {source.workspace}"


def make_administrator(name: str | None, place: str | None, *, as_json: bool) -> None:
    """Make somebody an administrator and print a code that lets them in."""
    with _opened(place, beside_server=True) as (catalog, settings):
        from aboard.server.registration import process_owner
        from aboard.services.people.accounts import code_for, ensure_administrator

        is_header = settings.login.mode == "header"
        if is_header and not name:
            raise InvalidValue("Name the administrator.", hint="Write the name that the proxy sends for them.")
        person = ensure_administrator(catalog, name or process_owner(), is_chosen=bool(name))
        code = code_for(catalog, person)
    url = settings.serve.url
    if as_json:
        link = f"{url}/?token={code}" if url and not is_header else None
        typer.echo(json.dumps({"user": person, "code": code, "link": link}))
        return
    command = f"aboard login {url or 'ADDRESS-OF-THE-SERVER'} --token {code}"
    if is_header:
        typer.echo(f"{person} administers the server, after a login at the proxy. For commands, within an hour:")
        typer.echo(f"  {command}")
        return
    typer.echo(f"{person} administers the server. Once, within an hour, they get in by")
    typer.echo(f"  {url or 'ADDRESS-OF-THE-SERVER'}/?token={code}")
    typer.echo(f"or with  {command}")


def back_up(file: str, place: str | None) -> None:
    """Write a backup."""
    with _opened(place, beside_server=True) as (catalog, _):
        from aboard.catalog.backup import back_up as write

        size = write(catalog, Path(file).expanduser())
        typer.echo(f"{catalog} is backed up in {file}, {format_bytes(size)}.")


def restore(file: str, place: str | None, *, replace: bool) -> None:
    """Put a backup into a catalog that no server uses."""
    with _opened(place, beside_server=False) as (catalog, _):
        from aboard.catalog.backup import restore as put_back

        count = put_back(catalog, Path(file).expanduser(), replace=replace)
        typer.echo(f"{catalog} is what {file} has: {count} run{'s' * (count != 1)}. Browsers have to log in again.")


@contextlib.contextmanager
def _opened(place: str | None, *, beside_server: bool) -> Generator[tuple[Catalog, Settings]]:
    with require_packages():
        from aboard.catalog.catalog import Catalog

    logging.getLogger("alembic").setLevel(logging.WARNING)
    settings = load_settings({"serve.catalog": place})
    where = settings.serve.catalog or machine_folder(settings.home) / "catalog.sqlite"
    with Catalog.open(where, beside_server=beside_server) as catalog:
        yield catalog, settings


_MOST_TOLD = 20


def reindex(store: str, *, as_json: bool) -> int:
    """Reindex and tell how it went; 1 when it could not be done or something could not be read."""
    from aboard.client.client import Client  # which the commands on the machine of the server do not need

    latest: list[ReindexState] = []
    uri = store if "://" in store else str(Path(store).expanduser().absolute())
    with progress_line(lambda: _how_far(latest[-1]) if latest else f"starting with {uri} …"):
        state = Client().reindex(uri, progress=latest.append)
    if as_json:
        print_json(state)
    else:
        _tell(state)
    return 0 if state.state == "done" and not state.problems else 1


def _how_far(state: ReindexState) -> str:
    return f"{state.read} of {state.found} runs read" if state.found else f"listing {state.store} …"


def _tell(state: ReindexState) -> None:
    for problem in state.problems[:_MOST_TOLD]:
        typer.echo(f"warning: {problem.what}: {problem.message}", err=True)
    if len(state.problems) > _MOST_TOLD:
        typer.echo(f"warning: and {len(state.problems) - _MOST_TOLD} more; --json tells them all", err=True)
    if state.state == "failed":
        typer.echo(f"error: {state.error}", err=True)
        return
    written = "1 run is" if state.written == 1 else f"{state.written} runs are"
    missing = "1 is" if state.missing == 1 else f"{state.missing} are"
    typer.echo(f"{state.store}: {written} in the catalog; {missing} no longer in the store.")
