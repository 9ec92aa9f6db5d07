# SPDX-License-Identifier: Apache-2.0
"""`aboard login` and `logout`: log in with a token or by way of a browser, and keep the credential in a file.

A browser returns a code to a port of this machine. The code works only together with the verifier, which never
leaves this process; only its digest goes through the browser.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import typer

from aboard.api.people import CreatedToken, Person
from aboard.api.server import ServerInfo
from aboard.cli.output import escape_control, print_json
from aboard.client.people import PeopleClient, TokensClient
from aboard.client.transport import Address, Transport
from aboard.config.credentials import Credential, Credentials
from aboard.config.settings import load_settings
from aboard.errors import AboardError, InvalidValue, ServerUnavailable, Unauthorized
from aboard.model.people import Token
from aboard.model.times import now


def log_in(server: str | None, token: str | None, *, browser: bool, as_json: bool) -> None:
    """Find out what opens the server, try it, and keep it."""
    settings = load_settings()
    credentials = Credentials(settings.home)
    named = server or settings.server or credentials.current()
    if named is None:
        raise InvalidValue("no server is named", hint="write aboard login http://host:port")
    address = Address.of(named, None)
    try:
        mode = _tokens(address).ways().mode
    except ServerUnavailable as error:
        hint = "Check the address; `aboard server` prints it when it starts."
        raise ServerUnavailable(error.message, hint=hint) from None
    text = _read_token(token) if token is not None else _obtain_token(address, mode, browser=browser)
    kept, person = _try_token(address, text)
    store = choose_run_store(Transport(Address.of(address.url, kept)).get(ServerInfo, "info").run_store)
    credentials.keep(address.url, Credential(kept, person.name, store.uri))
    if as_json:
        print_json(person)
        return
    rights = "administrator" if person.administrator else _roles(person)
    typer.echo(f"Logged in at {address.url} as {person.name} ({rights}).")
    if store.note:
        typer.echo(store.note, err=not store.uri)
    if settings.server is not None and Address.of(settings.server, None).url != address.url:
        typer.echo(f"ABOARD_SERVER or the settings name {settings.server}, which is still asked.", err=True)


def log_out(server: str | None) -> None:
    """Revoke the token of a login and forget it."""
    settings = load_settings()
    credentials = Credentials(settings.home)
    named = server or credentials.current()
    address = None if named is None else Address.of(named, None)
    known = None if address is None else credentials.of(address.url)
    if address is None or known is None:
        raise InvalidValue(f"there is no login at {named or 'any server'}", hint="`aboard login ADDRESS` makes one")
    # A server that is gone, or a token that opens nothing any more, is no reason to keep it.
    parts = known.token.split("_")
    token_id = parts[1] if len(parts) > 2 else known.token
    tokens = _tokens(Address.of(address.url, known.token))
    ended: list[str] = []
    with contextlib.suppress(AboardError):
        ended = _created_with(token_id, tokens.list().items)
    try:
        tokens.revoke(token_id)
    except AboardError:
        ended = []
    credentials.drop(address.url)
    typer.echo(f"Logged out at {address.url}.")
    if ended:
        typer.echo(f"Tokens created with this login are revoked too: {', '.join(ended)}.", err=True)


def _created_with(token_id: str, tokens: Sequence[Token]) -> list[str]:
    """The names of the valid tokens that a token created, directly or through others; the oldest come first."""
    family, names = {token_id}, list[str]()
    for token in tokens:
        if token.parent in family:
            family.add(token.id)
            if token.is_valid(now()):
                names.append(escape_control(token.name))
    return names


def _try_token(address: Address, text: str) -> tuple[str, Person]:
    """A token that works, and whose it is. What is no token may be a code, which becomes one."""
    try:
        return text, _me(address, text)
    except Unauthorized:
        made: CreatedToken = _tokens(address).exchange(text, name=f"login on {socket.gethostname()}"[:100])
        return made.text, _me(address, made.text)


def _me(address: Address, token: str) -> Person:
    transport = Transport(Address.of(address.url, token))
    return PeopleClient(lambda: transport).me()


def _tokens(address: Address) -> TokensClient:
    transport = Transport(address)
    return TokensClient(lambda: transport)


def _obtain_token(address: Address, mode: str, *, browser: bool) -> str:
    if browser and mode != "header" and sys.stdin.isatty():
        made = log_in_with_browser(address.url, _tokens(address))
        if made is not None:
            return made
    if mode == "header":
        typer.echo("People log in at the proxy before this server; commands need a token from it.", err=True)
    if not sys.stdin.isatty():
        raise InvalidValue("no token is given", hint="write --token TOKEN, or --token - and give it on standard input")
    return typer.prompt("Token", hide_input=True).strip()


def _read_token(given: str) -> str:
    token = (sys.stdin.readline() if given == "-" else given).strip()
    if not token:
        raise InvalidValue("the token is empty", hint="write --token TOKEN")
    return token


def _roles(person: Person) -> str:
    return ", ".join(f"{role} in {name}" for name, role in person.roles.items()) or "no role yet; ask an administrator"


_PATIENCE_SECONDS = 300.0
_DONE = b"<!doctype html><title>aboard</title><p>You are logged in. Go back to your terminal; this page can be closed."
_WRONG = b"<!doctype html><title>aboard</title><p>This is not the answer that the command waits for."


class _Waiting(http.server.HTTPServer):
    """Waits for one answer on a port of loopback."""

    def __init__(self, state: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.state, self.code = state, ""
        self.arrived = threading.Event()


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Take the code out of the address."""
        waiting = self.server
        assert isinstance(waiting, _Waiting)
        query = parse_qs(urlsplit(self.path).query)
        is_right = secrets.compare_digest(query.get("state", [""])[0].encode(), waiting.state.encode())
        code = query.get("code", [""])[0] if is_right else ""
        self.send_response(200 if code else 400)
        for name, value in (
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", "default-src 'none'"),
            ("referrer-policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(_DONE if code else _WRONG)
        if code:
            waiting.code = code
            waiting.arrived.set()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Say nothing."""


def log_in_with_browser(url: str, tokens: TokensClient, seconds: float = _PATIENCE_SECONDS) -> str | None:
    """A token, or None if no browser could be opened."""
    verifier, state = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
    with _Waiting(state) as waiting:
        query = {
            "port": waiting.server_port,
            "challenge": hashlib.sha256(verifier.encode()).hexdigest(),
            "state": state,
        }
        address = f"{url}/login/program?{urlencode(query)}"
        if not webbrowser.open(address):
            return None
        typer.echo(f"Your browser shows {url}; confirm there. Ctrl-C, then --token, if it does not.", err=True)
        thread = threading.Thread(target=waiting.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            waiting.arrived.wait(seconds)
        finally:
            waiting.shutdown()
    if not waiting.code:
        return None
    return tokens.exchange(waiting.code, verifier, f"login on {socket.gethostname()}"[:100]).text


class RunStore(NamedTuple):
    """The store to use, empty for the person's own, and what they should know about it."""

    uri: str = ""
    note: str = ""


def choose_run_store(named: str) -> RunStore:
    """The store that a server names for runs. A folder is used if it is one of this machine and can be written."""
    if not named:
        return RunStore()
    if "://" not in named and not _can_write(Path(named)):
        hint = "set ABOARD_STORE to a store that both can reach"
        return RunStore("", f"The server keeps runs in {named}, which cannot be written from here: {hint}.")
    return RunStore(
        named, f"Runs that are logged from now on go to {named}, unless ABOARD_STORE or --store name another."
    )


def _can_write(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
