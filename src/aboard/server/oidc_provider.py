# SPDX-License-Identifier: Apache-2.0
"""Asks an OpenID provider: where its pages are, for the tokens of a login, and for the keys that sign them."""

from __future__ import annotations

import base64
import importlib.util
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from aboard.errors import AboardError, InvalidValue, MissingPackage, Unauthorized

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key that only the provider has; `none` and shared secrets are not among them."""
_SECONDS = 10
_LARGEST_ANSWER = 1 << 20
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
        keys = _asked(urllib.request.Request(self._address("jwks_uri"))).get("keys")  # noqa: S310 - checked
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
        return _asked(request)

    def _more(self, address: str, bearer: str, claims: dict[str, object]) -> dict[str, object]:
        """Names and groups are often told at another address only; that must be about the same person."""
        _check_address(address, self.issuer)
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {bearer}"})  # noqa: S310 - checked
        told = _asked(request)
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
                self._keys = jwt.PyJWKClient(self._address("jwks_uri"), cache_keys=True, timeout=_SECONDS)
            return self._keys.get_signing_key_from_jwt(token).key

    def _address(self, name: str) -> str:
        found = self._description().get(name)
        if not isinstance(found, str):
            raise ProviderUnavailable(f"{self.issuer} does not say its {name}", hint="is it an OpenID provider?")
        _check_address(found, self.issuer)
        return found

    def _description(self) -> Mapping[str, Any]:
        known = self._described
        if known is not None and time.monotonic() - known[1] < _DISCOVERY_SECONDS:
            return known[0]
        address = f"{self.issuer}/.well-known/openid-configuration"
        try:
            found = _asked(urllib.request.Request(address))  # noqa: S310 - http or https, by the settings
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


def has_jwt() -> None:
    """Refuse where the package is missing that checks signatures."""
    if importlib.util.find_spec("jwt") is None:
        raise MissingPackage("login by OpenID needs PyJWT", hint="pip install 'aboard[server]'")


def _check_address(address: str, issuer: str) -> None:
    """An issuer over TLS must not lead elsewhere than over TLS."""
    scheme = urlsplit(address).scheme
    if scheme != "https" and not (scheme == "http" and issuer.startswith("http://")):
        raise ProviderUnavailable(f"{issuer} names {address!r}, which is not over TLS")


def _asked(request: urllib.request.Request) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - checked
            document: object = json.loads(answer.read(_LARGEST_ANSWER))
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
