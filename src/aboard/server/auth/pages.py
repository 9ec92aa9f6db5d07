# SPDX-License-Identifier: Apache-2.0
"""Login and logout pages, the OpenID redirects, and tokens for command-line programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from starlette.concurrency import run_in_threadpool

from aboard.errors import AboardError, Forbidden, InvalidValue, Unauthorized
from aboard.model.names import folded
from aboard.model.people import Access
from aboard.server.auth.authenticator import Authenticator, TooManyAttempts, token_id_of
from aboard.server.auth.oidc import OidcLogin
from aboard.server.http.addresses import safe_redirect_path
from aboard.server.http.asgi import Receive, Scope, SimpleResponse
from aboard.server.http.limits import ANONYMOUS_BYTES, RequestTooLarge

_LOGIN, _LOGOUT, _PROGRAM = "/login", "/logout", "/login/program"
_OIDC_START, _OIDC_CALLBACK = "/login/oidc", "/login/oidc/callback"
_PUBLIC_PATHS = frozenset({_LOGIN, _OIDC_START, _OIDC_CALLBACK})
_CHALLENGE = re.compile(r"[0-9a-f]{64}")
_CODE_USED = "This address has been used already, or is too old. Log in with a token, or ask for a new address."


class LoginPages:
    """Answers below `/login` and `/logout`. `code_for` makes a code for a program of the person who asks."""

    def __init__(
        self,
        authenticator: Authenticator,
        *,
        session_seconds: int,
        code_for: Callable[[Access, str], str],
        oidc: OidcLogin | None = None,
        can_log_in: bool = True,
        prefix: str = "",
        leads_to: str = "",
        only_person: str = "",
    ) -> None:
        """`prefix`: the path below which browsers reach this server. `leads_to`: the origin of boards that are
        processes, where a login may end; browsers ask for that before they follow from a form to another origin.
        `only_person`: the one person of a personal server, where nobody can be logged in as somebody else.
        """
        self._only_person = only_person
        self._prefix, self._leads_to = prefix, leads_to
        self._authenticator, self._seconds, self._code_for, self._oidc = authenticator, session_seconds, code_for, oidc
        self.can_log_in = can_log_in

    def is_open(self, path: str) -> bool:
        """Whether everybody may ask for it."""
        return path in _PUBLIC_PATHS

    def has(self, path: str) -> bool:
        """Whether it is answered here."""
        return path in _PUBLIC_PATHS or path in (_LOGOUT, _PROGRAM)

    async def redeem_code(self, scope: Scope, headers: Mapping[str, str]) -> SimpleResponse | None:
        """A code in an address opens a session, once, and leaves the address. None if there is no code to use.

        Anybody can put the address of their own login on a page or into logged text. So only a navigation of a tab uses
        the code, and where it replaces the session of another person or comes from another site, the person confirms.
        """
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        code = next((value for name, value in query if name == "token"), None)
        if code is None or scope["path"].startswith("/api/") or not self._is_navigation(headers):
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        wanted = safe_redirect_path(quote(scope["path"], safe="/") + (f"?{rest}" if rest else ""))
        logins = self._authenticator.logins
        principal = await self._authenticator.authenticate(scope, headers)
        try:
            holder = await self._authenticator.attempt(scope, lambda: logins.holder_of_code(code))
        except TooManyAttempts:
            if principal is None:
                raise
            holder = None
        former = None if principal is None else principal.access.name
        if holder is not None and self._must_confirm(headers, holder, former):
            return self._confirm_login(code, holder, former, wanted)
        secret = None if holder is None else await self._authenticator.on_thread(lambda: logins.begin_by_code(code))
        if secret is not None:
            return await self._logged_in(secret, wanted, headers)
        if former is not None:
            return SimpleResponse(303, headers=[("location", wanted)])
        return self._page(wanted, _CODE_USED, 401)

    def _is_navigation(self, headers: Mapping[str, str]) -> bool:
        """Whether a tab goes to this address. Old browsers, plain HTTP and programs send no Sec-Fetch headers."""
        if headers.get("sec-fetch-mode", "navigate") != "navigate":
            return False
        # A notebook shows a board of a personal server in a frame, on the same site or its cookie would be dropped.
        is_framed = headers.get("sec-fetch-dest") == "iframe" and headers.get("sec-fetch-site") != "cross-site"
        return headers.get("sec-fetch-dest", "document") == "document" or (is_framed and bool(self._only_person))

    def _must_confirm(self, headers: Mapping[str, str], holder: str, former: str | None) -> bool:
        if former is not None and folded(former) != folded(holder):
            return True
        is_from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        return is_from_elsewhere and folded(holder) != folded(self._only_person)

    def _confirm_login(self, code: str, holder: str, former: str | None, wanted: str) -> SimpleResponse:
        """The button sends the code to the login form, which takes it from pages of this server alone."""
        body = [paragraph("Continue only if you requested this link yourself.")]
        if former is not None:
            warning = f"You are logged in as {former}. This link ends that session in this browser."
            body.insert(0, paragraph(warning))
        body.append(confirm_form(self._prefix + _LOGIN, {"token": code, "next": wanted}, f"Log in as {holder}"))
        if former is not None:
            body.append(link(f"Stay logged in as {former}", self._prefix + wanted))
        return html_page(f"Log in as {holder}?", body, may_lead_to=self._leads_to)

    async def answer(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, access: Access | None
    ) -> SimpleResponse:
        """The answer; a mistake is told on the page."""
        path, method = scope["path"], scope["method"] if scope["type"] == "http" else ""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        wanted = safe_redirect_path(query.get("next", "/"))
        try:
            match method, path:
                case "GET" | "HEAD", "/login":
                    return self._page(wanted)
                case "POST", "/login":
                    form = await self._login_form(scope, receive)
                    wanted = safe_redirect_path(form.get("next", "/"))
                    return await self._logged_in(await self._session_for(scope, form), wanted, headers)
                case "GET", "/login/oidc" if self._oidc is not None:
                    return await run_in_threadpool(self._oidc.start, wanted)
                case "GET", "/login/oidc/callback" if self._oidc is not None:
                    return await self._finish_oidc(self._oidc, scope, headers, query)
                case "POST", "/logout":
                    return await self._log_out(headers)
                case "GET", "/login/program" if access is not None:
                    return self._confirm_program(query, access)
                case "POST", "/login/program" if access is not None:
                    return await self._token_for_program(await _read_form(receive), access)
                case _:
                    return html_page("Not here", [paragraph("There is nothing at this address.")], status=404)
        except AboardError as error:
            if path == _PROGRAM:
                return html_page("Not possible", [paragraph(str(error), "problem")], status=error.status)
            return self._page(wanted, str(error), error.status)

    def _page(self, wanted: str, problem: str = "", status: int = 200) -> SimpleResponse:
        body = [paragraph(problem, "problem")] if problem else []
        if not self.can_log_in:
            body.append(paragraph("People log in at the proxy before this server."))
        if self._oidc is not None:
            body.append(button_link("Log in", f"{self._prefix}{_OIDC_START}?{urlencode({'next': wanted})}"))
            body.append(paragraph("Or with a token:"))
        if self.can_log_in:
            body.append(token_form(self._prefix + _LOGIN, wanted))
        return html_page("Log in to aboard", body, status=status, may_lead_to=self._leads_to)

    async def _login_form(self, scope: Scope, receive: Receive) -> dict[str, str]:
        try:
            return await _read_form(receive)
        except RequestTooLarge:
            self._authenticator.count_failure(scope)
            raise

    async def _session_for(self, scope: Scope, form: Mapping[str, str]) -> str:
        """The secret of a new session for the token in a form."""
        token, logins = form.get("token", "").strip(), self._authenticator.logins
        if not self.can_log_in:
            raise Forbidden("people log in at the proxy before this server")
        person = self._authenticator.person
        if person is not None and self._authenticator.is_personal_token(token):
            return await self._authenticator.on_thread(lambda: logins.begin_by_name(person.name))
        secret = await self._authenticator.attempt(
            scope, lambda: logins.begin_by_token(token) or logins.begin_by_code(token), token_id_of(token)
        )
        if secret is None:
            raise Unauthorized("Invalid or revoked token.", hint="it may have expired or been revoked")
        return secret

    async def _finish_oidc(
        self, oidc: OidcLogin, scope: Scope, headers: Mapping[str, str], query: Mapping[str, str]
    ) -> SimpleResponse:
        failures: list[AboardError] = []

        def find() -> tuple[str, str] | None:
            try:
                person, wanted = oidc.finish(headers, query)
                return self._authenticator.logins.begin_outside(person, "oidc"), wanted
            except AboardError as error:
                failures.append(error)
                return None

        # Not on the threads that look people up: providers may be slow.
        found = await self._authenticator.attempt(scope, find, lane="provider")
        if found is None:
            raise failures[0]
        secret, wanted = found
        return await self._logged_in(secret, safe_redirect_path(wanted), headers, [oidc.cookie.removal()])

    async def _log_out(self, headers: Mapping[str, str]) -> SimpleResponse:
        cookie = self._authenticator.cookie
        if secret := cookie.read(headers):
            await self._authenticator.on_thread(lambda: self._authenticator.logins.end(secret))
        # Other applications of the same site keep what they have stored in the browser.
        cleared = '"cache"' if self._prefix else '"cache", "storage"'
        gone = [("location", _LOGIN), cookie.removal(), ("clear-site-data", cleared)]
        return SimpleResponse(303, headers=gone)

    def _confirm_program(self, query: Mapping[str, str], access: Access) -> SimpleResponse:
        """Nobody's program gets a token because a page sent a browser here: the person has to press a button."""
        port = _program_port(query)
        fields = {name: query.get(name, "")[:200] for name in ("port", "challenge", "state")}
        body = [
            paragraph(f"You are {access.name}. A program on this computer, most likely `aboard login` in your "),
            paragraph("terminal, asks to act for you. If you did not start it, close this page."),
            confirm_form(self._prefix + _PROGRAM, fields, "Let it act for me"),
        ]
        return html_page("Log in a program", body, may_lead_to=f"http://127.0.0.1:{port}")

    async def _token_for_program(self, form: Mapping[str, str], access: Access) -> SimpleResponse:
        port = _program_port(form)
        code = await self._authenticator.on_thread(lambda: self._code_for(access, form["challenge"]))
        answer = urlencode({"code": code, "state": form.get("state", "")[:200]})
        return SimpleResponse(303, headers=[("location", f"http://127.0.0.1:{port}/?{answer}")])

    def cookie_for(self, secret: str) -> tuple[str, str]:
        """The header by which a browser gets the secret of its session."""
        return self._authenticator.cookie.header(secret, self._seconds)

    async def _logged_in(
        self, secret: str, wanted: str, headers: Mapping[str, str], more: list[tuple[str, str]] | None = None
    ) -> SimpleResponse:
        if former := self._authenticator.cookie.read(headers):  # the former session of this browser ends
            await self._authenticator.on_thread(lambda: self._authenticator.logins.leave(former))
        told = [("location", wanted), self.cookie_for(secret), ("cache-control", "no-store"), *(more or [])]
        return SimpleResponse(303, headers=told)


def _program_port(given: Mapping[str, str]) -> int:
    port = given.get("port", "")
    is_port = port.isascii() and port.isdecimal() and 1024 <= int(port[:6]) <= 65535
    if not is_port or _CHALLENGE.fullmatch(given.get("challenge", "")) is None:
        raise InvalidValue("this is not how a program asks for a login", hint="run `aboard login ADDRESS` again")
    return int(port)


async def _read_form(receive: Receive) -> dict[str, str]:
    content = b""
    more = True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = message.get("more_body", False)
        if len(content) > ANONYMOUS_BYTES:
            raise RequestTooLarge("the form is too large")
    return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))


_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #16202c; --soft: #4a5767; --line: #c3cad3; --bad: #b00020;
  --accent: #155eef; --on-accent: #fff }
@media (prefers-color-scheme: dark) { :root { --ground: #11161d; --ink: #e6ebf1; --soft: #b0bbc7; --line: #3d4956;
  --bad: #ff8a80; --accent: #5b93ff; --on-accent: #08111f } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 15vh auto; padding: 0 1rem;
  color: var(--ink); background: var(--ground) }
input, button, a.button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .7rem; margin: .3rem 0;
  border: 1px solid var(--line); border-radius: 6px; text-align: center; display: block; text-decoration: none }
input { text-align: left; color: inherit; background: var(--ground) }
button, a.button { background: var(--accent); border-color: var(--accent); color: var(--on-accent); cursor: pointer }
.problem { color: var(--bad) } small { color: var(--soft) }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action "


def html_page(
    title: str,
    body: Iterable[str],
    *,
    status: int = 200,
    headers: Iterable[tuple[str, str]] = (),
    may_lead_to: str = "",
) -> SimpleResponse:
    """A page of parts that are HTML already. Its form may lead elsewhere than to this server, if that is told."""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{''.join(body)}</body></html>"
    )
    policy = f"{_POLICY}'self' {may_lead_to}".strip()
    given = [("content-security-policy", policy), ("cache-control", "no-store"), ("x-frame-options", "DENY"), *headers]
    return SimpleResponse(status, text.encode("utf-8", "replace"), "text/html; charset=utf-8", given)


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{f' class={kind}' if kind else ''}>{escape(text)}</p>"


def token_form(action: str, wanted: str) -> str:
    """Where a token is pasted."""
    return (
        f'<form method="post" action="{escape(action)}"><input type="hidden" name="next" value="{escape(wanted)}">'
        '<label>Token <input type="password" name="token" autocomplete="off" required autofocus></label>'
        "<button>Log in</button></form>"
        "<p><small>An administrator gives it to you, or <code>aboard token create</code> makes one.</small></p>"
    )


def button_link(text: str, address: str) -> str:
    """A link that looks like a button."""
    return f'<p><a class="button" href="{escape(address)}">{escape(text)}</a></p>'


def link(text: str, address: str) -> str:
    """A plain link."""
    return f'<p><a href="{escape(address)}">{escape(text)}</a></p>'


def confirm_form(action: str, fields: dict[str, str], text: str) -> str:
    """A button that sends these fields."""
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in fields.items()
    )
    return f'<form method="post" action="{escape(action)}">{hidden}<button>{escape(text)}</button></form>'
