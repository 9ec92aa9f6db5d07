# SPDX-License-Identifier: Apache-2.0
"""Login with an OpenID provider: authorization code with PKCE, state and nonce; claims become users and roles.

The state between redirect and callback is in a cookie of the browser that started the login. Any server process can
finish it, and nobody else's browser can be made to finish a login that it did not start.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib.util
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from aboard.errors import AboardError, Forbidden, InvalidValue, MissingPackage, Unauthorized
from aboard.model.names import usable_name
from aboard.model.people import Role
from aboard.server.auth.authenticator import Cookie
from aboard.server.http.asgi import SimpleResponse
from aboard.services.people.logins import ExternalIdentity

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key that only the provider has; `none` and shared secrets are not among them."""
_TIMEOUT_SECONDS = 10
_LARGEST_RESPONSE = 1 << 20
_DISCOVERY_SECONDS = 3600.0
_LEEWAY_SECONDS = 60


class ProviderUnavailable(AboardError):
    """The provider cannot be reached, or is not one."""

    status = 502
    code = "ProviderUnavailable"


class OidcProvider:
    """A provider as it describes itself below `issuer`."""

    def __init__(self, issuer: str, client_id: str, client_secret: str, scopes: Sequence[str]) -> None:
        if not issuer or not client_id:
            hint = "set login.oidc.issuer and login.oidc.client_id"
            raise InvalidValue("the login mode oidc needs a provider and what it calls this server", hint=hint)
        self.issuer, self.client_id = issuer.rstrip("/"), client_id
        self.scopes = tuple(dict.fromkeys(("openid", *scopes)))
        self._secret = client_secret
        self._described: tuple[dict[str, Any], float] | None = None
        self._keys: Any = None
        self._lock = threading.Lock()

    def authorization_address(self) -> str:
        """Where people log in."""
        return self._address("authorization_endpoint")

    def check(self) -> str:
        """Whether all is there that a login needs; its keys are counted."""
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            self._address(name)
        keys = _fetch_json(urllib.request.Request(self._address("jwks_uri"))).get("keys")  # noqa: S310 - checked
        return f"{self.issuer} has {len(cast('list[object]', keys or []))} keys"

    def claims(self, code: str, verifier: str, redirect_uri: str) -> dict[str, object]:
        """What the provider says of who came back with this code: the claims of an ID token whose signature is good."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        answer = self._token(form | {"code_verifier": verifier})
        claims = self._verified(answer.get("id_token"))
        address = self._description().get("userinfo_endpoint")
        bearer = answer.get("access_token")
        if isinstance(address, str) and isinstance(bearer, str):
            claims = self._more(address, bearer, claims)
        return claims

    def _token(self, form: dict[str, str]) -> dict[str, Any]:
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        supported = self._description().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if not self._secret:
            form = form | {"client_id": self.client_id}
        elif "client_secret_basic" in supported:
            pair = f"{quote(self.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form = form | {"client_id": self.client_id, "client_secret": self._secret}
        address = self._address("token_endpoint")
        request = urllib.request.Request(address, urlencode(form).encode(), headers)  # noqa: S310 - checked
        return _fetch_json(request)

    def _more(self, address: str, bearer: str, claims: dict[str, object]) -> dict[str, object]:
        """Names and groups are often told at another address only; that must be about the same person."""
        _check_endpoint(address, self.issuer)
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {bearer}"})  # noqa: S310 - checked
        told = _fetch_json(request)
        if told.get("sub") != claims.get("sub"):
            raise Unauthorized("the provider speaks of two people at once", hint="log in once more")
        return {**told, **claims}

    def _verified(self, token: object) -> dict[str, object]:
        import jwt

        if not isinstance(token, str):
            raise ProviderUnavailable(f"{self.issuer} sent no ID token", hint="is the scope openid allowed?")
        try:
            key = self._key_of(token)
            return jwt.decode(
                token,
                key,
                algorithms=list(_ALGORITHMS),
                audience=self.client_id,
                issuer=self._description().get("issuer", self.issuer),
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            said = f"the ID token of {self.issuer} is not good: {error}"
            raise Unauthorized(said, hint="log in once more") from error

    def _key_of(self, token: str) -> Any:
        import jwt

        with self._lock:
            if self._keys is None:
                # Keys are fetched anew for a key that is not known; the client does not do that all the time.
                self._keys = jwt.PyJWKClient(self._address("jwks_uri"), cache_keys=True, timeout=_TIMEOUT_SECONDS)
            return self._keys.get_signing_key_from_jwt(token).key

    def _address(self, name: str) -> str:
        found = self._description().get(name)
        if not isinstance(found, str):
            raise ProviderUnavailable(f"{self.issuer} does not say its {name}", hint="is it an OpenID provider?")
        _check_endpoint(found, self.issuer)
        return found

    def _description(self) -> Mapping[str, Any]:
        known = self._described
        if known is not None and time.monotonic() - known[1] < _DISCOVERY_SECONDS:
            return known[0]
        address = f"{self.issuer}/.well-known/openid-configuration"
        try:
            found = _fetch_json(urllib.request.Request(address))  # noqa: S310 - http or https, by the settings
        except ProviderUnavailable:
            if known is not None:
                return known[0]
            raise
        if str(found.get("issuer", "")).rstrip("/") != self.issuer:
            told = found.get("issuer")
            hint = f"set login.oidc.issuer to what it calls itself: {told}"
            raise ProviderUnavailable(f"{self.issuer} calls itself {told!r}", hint=hint)
        self._described = found, time.monotonic()
        return found


def check_pyjwt() -> None:
    """Raise an error if PyJWT, which verifies signatures, is not installed."""
    if importlib.util.find_spec("jwt") is None:
        raise MissingPackage("login by OpenID needs PyJWT", hint="pip install 'aboard[server]'")


def _check_endpoint(address: str, issuer: str) -> None:
    """An issuer over TLS must not lead elsewhere than over TLS."""
    scheme = urlsplit(address).scheme
    if scheme != "https" and not (scheme == "http" and issuer.startswith("http://")):
        raise ProviderUnavailable(f"{issuer} names {address!r}, which is not over TLS")


def _fetch_json(request: urllib.request.Request) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - checked
            document: object = json.loads(answer.read(_LARGEST_RESPONSE))
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(300).decode("utf-8", "replace")
        if error.code == 400:
            raise Unauthorized(f"the provider refused the login: {said}", hint="log in once more") from None
        raise ProviderUnavailable(f"the provider answered {error.code}: {said}") from None
    except (OSError, ValueError) as error:
        hint = "see that login.oidc.issuer is right and can be reached from the server"
        raise ProviderUnavailable(f"the provider cannot be asked: {error}", hint=hint) from error
    if not isinstance(document, dict):
        raise ProviderUnavailable("the provider's answer is no document")
    return cast("dict[str, Any]", document)


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcClaimRules:
    """Rules that map claims to users. `roles` are `group=workspace:role`."""

    name_claim: str
    groups_claim: str
    domains: Sequence[str] = ()
    groups: Sequence[str] = ()
    administrators: Sequence[str] = ()
    roles: Sequence[str] = ()

    def person(self, issuer: str, claims: Mapping[str, object]) -> ExternalIdentity:
        """Who it is, or an error for who may not come in."""
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject:
            raise Unauthorized("the provider does not say who this is")
        groups = self._groups(claims)
        self._check(claims, groups)
        return ExternalIdentity(
            subject=f"{issuer}#{subject}",
            name=self._name(claims, subject),
            display_name=str(claims.get("name") or "")[:200],
            is_administrator=bool(groups & set(self.administrators)) if self.administrators else None,
            roles=self._roles(groups),
        )

    def _check(self, claims: Mapping[str, object], groups: set[str]) -> None:
        if self.domains:
            email = str(claims.get("email") or "")
            domain = email.rpartition("@")[2].lower()
            is_verified = claims.get("email_verified") is True
            if not is_verified or domain not in {one.lower().lstrip("@") for one in self.domains}:
                raise Forbidden(
                    f"the address {email!r} is not one that may log in here",
                    hint=f"allowed are verified addresses of {', '.join(self.domains)}",
                )
        if self.groups and not groups & set(self.groups):
            raise Forbidden("you are in none of the groups that may log in here", hint="ask who runs this server")

    def _groups(self, claims: Mapping[str, object]) -> set[str]:
        value = claims.get(self.groups_claim)
        if isinstance(value, str):
            return {value}
        return {str(one) for one in cast("list[object]", value)} if isinstance(value, list) else set()

    def _name(self, claims: Mapping[str, object], subject: str) -> str:
        email = claims.get("email") if claims.get("email_verified") is True else None
        found = str(claims.get(self.name_claim) or email or subject)
        return usable_name(found, "somebody")

    def _roles(self, groups: set[str]) -> dict[str, Role | None]:
        """The highest role that a person's groups give them in each workspace that the rules speak of."""
        found: dict[str, Role | None] = {}
        for rule in self.roles:
            group, _, place = rule.rpartition("=")
            workspace, _, role = place.partition(":")
            old, new = found.setdefault(workspace, None), Role(role)
            if group in groups and (old is None or new.includes(old)):
                found[workspace] = new
        return found


_LOGIN_MINUTES = 10


@dataclass(frozen=True, slots=True)
class _LoginState:
    """The state of a login between redirect and callback."""

    state: str
    nonce: str
    verifier: str
    wanted: str

    def text(self) -> str:
        document = json.dumps([self.state, self.nonce, self.verifier, self.wanted]).encode()
        return base64.urlsafe_b64encode(document).decode()

    @classmethod
    def read(cls, text: str) -> _LoginState | None:
        try:
            found: object = json.loads(base64.urlsafe_b64decode(text.encode()))
        except ValueError:
            return None
        match found:
            case [str(state), str(nonce), str(verifier), str(wanted)] if state and nonce and verifier:
                return cls(state, nonce, verifier, wanted)
            case _:
                return None


def _random_token() -> str:
    return secrets.token_urlsafe(32)


class OidcLogin:
    """Redirects browsers to the provider and maps the claims they return with to users."""

    def __init__(self, provider: OidcProvider, people: OidcClaimRules, cookie: Cookie, redirect_uri: str) -> None:
        self._provider, self._people, self.cookie, self._redirect_uri = provider, people, cookie, redirect_uri

    def start(self, wanted: str) -> SimpleResponse:
        """Redirect to the provider; `wanted` is the path to open after the login."""
        begun = _LoginState(_random_token(), _random_token(), _random_token(), wanted[:1000])
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._provider.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(self._provider.scopes),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = self._provider.authorization_address()
        joint = "&" if "?" in address else "?"
        headers = [
            ("location", f"{address}{joint}{urlencode(query)}"),
            self.cookie.header(begun.text(), _LOGIN_MINUTES * 60),
        ]
        return SimpleResponse(303, headers=[*headers, ("cache-control", "no-store")])

    def finish(self, headers: Mapping[str, str], query: Mapping[str, str]) -> tuple[ExternalIdentity, str]:
        """Return the user that the provider confirmed, and the path to open."""
        begun = _LoginState.read(self.cookie.read(headers))
        state = query.get("state", "")
        if begun is None or not hmac.compare_digest(state.encode(), begun.state.encode()):
            raise Unauthorized("this login was not begun in this browser, or too long ago", hint="log in once more")
        if "error" in query:
            said = query.get("error_description") or query["error"]
            raise Forbidden(f"the provider refused the login: {said[:300]}", hint="ask who runs the provider")
        # RFC 9207: an answer of another provider than the one that was asked.
        if query.get("iss", self._provider.issuer) != self._provider.issuer:
            raise Unauthorized("another provider answered than was asked", hint="log in once more")
        if not query.get("code"):
            raise InvalidValue("the provider sent no code", hint="log in once more")
        claims = self._provider.claims(query["code"], begun.verifier, self._redirect_uri)
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), begun.nonce.encode()):
            raise Unauthorized("the provider answered another login than this one", hint="log in once more")
        return self._people.person(self._provider.issuer, claims), begun.wanted
