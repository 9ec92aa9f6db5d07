# SPDX-License-Identifier: Apache-2.0
"""The login at an OpenID provider: authorization code with PKCE, state and nonce.

What must be remembered between leaving and coming back is in a cookie of the browser that left, so any server process
can take it up, and nobody else's browser can be made to finish a login that it has not begun.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from aboard.errors import Forbidden, InvalidValue, Unauthorized
from aboard.server.cookies import Cookie
from aboard.server.oidc_people import OidcPeople
from aboard.server.oidc_provider import OidcProvider
from aboard.server.short_answers import ShortAnswer
from aboard.services.people.logins import OutsidePerson

_MINUTES = 10


@dataclass(frozen=True, slots=True)
class _Begun:
    """What is remembered of a login that was begun."""

    state: str
    nonce: str
    verifier: str
    wanted: str

    def text(self) -> str:
        document = json.dumps([self.state, self.nonce, self.verifier, self.wanted]).encode()
        return base64.urlsafe_b64encode(document).decode()

    @classmethod
    def read(cls, text: str) -> _Begun | None:
        try:
            found: object = json.loads(base64.urlsafe_b64decode(text.encode()))
        except ValueError:
            return None
        match found:
            case [str(state), str(nonce), str(verifier), str(wanted)] if state and nonce and verifier:
                return cls(state, nonce, verifier, wanted)
            case _:
                return None


def _random() -> str:
    return secrets.token_urlsafe(32)


class OidcLogin:
    """Sends browsers to the provider and makes people of what they bring back."""

    def __init__(self, provider: OidcProvider, people: OidcPeople, cookie: Cookie, redirect_uri: str) -> None:
        self._provider, self._people, self.cookie, self._redirect_uri = provider, people, cookie, redirect_uri

    def leave(self, wanted: str) -> ShortAnswer:
        """To the provider; `wanted` is where the person goes afterwards."""
        begun = _Begun(_random(), _random(), _random(), wanted[:1000])
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
        headers = [("location", f"{address}{joint}{urlencode(query)}"), self.cookie.header(begun.text(), _MINUTES * 60)]
        return ShortAnswer(303, headers=[*headers, ("cache-control", "no-store")])

    def arrive(self, headers: Mapping[str, str], query: Mapping[str, str]) -> tuple[OutsidePerson, str]:
        """Who has come back, and where they wanted to go."""
        begun = _Begun.read(self.cookie.read(headers))
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
