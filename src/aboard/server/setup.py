# SPDX-License-Identifier: Apache-2.0
"""Build authentication, the second origin and connection limits of a server from its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from aboard.config.server import OidcSettings, check_chosen_secret
from aboard.config.settings import Settings
from aboard.errors import InvalidValue
from aboard.model.people import Access, Role
from aboard.server.auth.authenticator import Authenticator, Cookie, TrustedHeaderAuth
from aboard.server.auth.middleware import AuthMiddleware
from aboard.server.auth.oidc import OidcClaimRules, OidcLogin, OidcProvider, check_pyjwt
from aboard.server.auth.pages import LoginPages
from aboard.server.boards.second_origin import BoardProxy, SecondOrigin
from aboard.server.http.addresses import PathPrefixMiddleware, ServerNames, TrustedProxies, origin_of
from aboard.server.http.asgi import ASGIApp
from aboard.server.http.limits import RequestLimiter
from aboard.server.http.security_headers import SecurityHeadersMiddleware
from aboard.server.http.serving import ConnectionLimits
from aboard.services.people.logins import LoginOptions
from aboard.services.services import Services

_NOTEBOOKS = ("http://localhost:*", "http://127.0.0.1:*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInstance:
    """A running server: its addresses, the token and access of its own user, and its request limiter."""

    host: str
    port: int
    url: str
    is_loopback: bool
    token: str
    """Known to the account that runs the server, or to all whom it was told."""
    person: Access
    under_way: RequestLimiter
    """Of both origins together."""
    boards_port: int = 0
    """Of the second origin."""


def add_authentication(
    app: ASGIApp, control: Services, settings: Settings, instance: ServerInstance, mode: str
) -> ASGIApp:
    """Wrap the application with authentication, security headers and the path prefix."""
    serve, login = settings.serve, settings.login
    names = ServerNames.of(
        instance.host, is_loopback=instance.is_loopback, url=serve.url, hosts=serve.hosts, origins=serve.origins
    )
    authenticator = Authenticator(
        control.logins,
        control.login_tries,
        Cookie.named("session", instance.port, is_secure=names.is_secure, below=names.prefix),
        TrustedProxies(serve.proxies),
        personal=(instance.token, instance.person),
        header=_trusted_header(settings) if mode == "header" else None,
    )
    oidc_cookie = Cookie.named("oidc", instance.port, is_secure=names.is_secure, below=names.prefix)
    redirect_uri = f"{serve.url or instance.url}/login/oidc/callback"
    pages = LoginPages(
        authenticator,
        session_seconds=login.session_hours * 3600,
        code_for=lambda access, challenge: control.people_for(access).login_code(challenge),
        oidc=OidcLogin(oidc_provider(login.oidc), _claim_rules(login.oidc), oidc_cookie, redirect_uri)
        if mode == "oidc"
        else None,
        can_log_in=mode != "header",
        prefix=names.prefix,
        leads_to=origin_of(serve.boards_url) or f"http://*:{instance.boards_port}",
        only_person=instance.person.name if mode == "personal" else "",
    )
    guard = AuthMiddleware(app, authenticator, pages, names, instance.under_way, largest_request=serve.largest_request)
    # A notebook on the same machine may show the boards of its own person.
    origins = (*serve.origins, *_NOTEBOOKS) if mode == "personal" else serve.origins
    return PathPrefixMiddleware(
        SecurityHeadersMiddleware(guard, is_secure=names.is_secure, origins=origins), names.prefix
    )


def board_proxy(control: Services, settings: Settings, instance: ServerInstance, port: int) -> BoardProxy:
    """The application of the second origin, which listens on `port`; `instance` is the server of the first one."""
    serve = settings.serve
    if serve.boards_url and urlsplit(serve.boards_url)[:2] == urlsplit(serve.url)[:2]:
        hint = "give boards that are processes another name or port: their scripts must not be able to ask the API"
        raise InvalidValue(f"serve.boards_url has the same origin as serve.url: {serve.boards_url}", hint=hint)
    names = ServerNames.of(
        instance.host, is_loopback=instance.is_loopback, url=serve.boards_url, hosts=serve.hosts, origins=()
    )
    authenticator = Authenticator(
        control.logins,
        control.login_tries,
        Cookie.named("none", port, is_secure=names.is_secure),  # no cookie opens more than one board here
        TrustedProxies(serve.proxies),
        personal=(instance.token, instance.person),
    )
    front = origin_of(serve.url) or f"http://*:{instance.port}"
    framed_by = " ".join(["'self'", front, *sorted(serve.origins)])
    where = SecondOrigin(
        port=port, names=names, front=serve.url, front_port=instance.port, largest_request=serve.largest_request
    )
    return BoardProxy(control, authenticator, where, framed_by, instance.under_way)


def connection_limits(settings: Settings) -> ConnectionLimits:
    """How many connections there may be, on both ports together, and how slow clients may be."""
    serve = settings.serve
    return ConnectionLimits(
        most=serve.connections,
        header_seconds=serve.header_seconds,
        body_seconds=serve.body_seconds,
        stalled_seconds=serve.stalled_seconds,
    )


def second_origin_url(settings: Settings, port: int) -> Callable[[str], str]:
    """The address of the second origin, for somebody who asked the first one by a Host header."""

    def url(host: str) -> str:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return settings.serve.boards_url or f"http://{name}:{port}"

    return url


def login_options(settings: Settings) -> LoginOptions:
    """How people come in, for the use cases."""
    rules = (rule.partition(":") for rule in settings.login.new_people)
    return LoginOptions(
        session_lifetime=timedelta(hours=settings.login.session_hours),
        new_people={workspace: Role(role) for workspace, _, role in rules},
    )


def oidc_provider(settings: OidcSettings) -> OidcProvider:
    """The provider that the settings name."""
    check_pyjwt()
    return OidcProvider(settings.issuer, settings.client_id, settings.client_secret, settings.scopes)


def _claim_rules(settings: OidcSettings) -> OidcClaimRules:
    return OidcClaimRules(
        name_claim=settings.name_claim,
        groups_claim=settings.groups_claim,
        domains=settings.domains,
        groups=settings.groups,
        administrators=settings.administrators,
        roles=settings.roles,
    )


def check_header_mode(settings: Settings) -> None:
    """Raise an error if the login mode `header` has no trusted proxy."""
    _trusted_header(settings)


def _trusted_header(settings: Settings) -> TrustedHeaderAuth:
    if not (settings.serve.proxies or settings.login.proxy_secret):
        hint = "name its address in serve.proxies, or set login.proxy_secret and have it send X-Aboard-Proxy-Secret"
        raise InvalidValue("the login mode header believes a proxy, and none is named", hint=hint)
    if settings.login.proxy_secret:
        check_chosen_secret(settings.login.proxy_secret, "login.proxy_secret", "openssl rand -hex 24")
    return TrustedHeaderAuth(header=settings.login.header, secret=settings.login.proxy_secret)
