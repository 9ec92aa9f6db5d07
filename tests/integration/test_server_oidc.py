# SPDX-License-Identifier: Apache-2.0
"""Logins at a real OpenID provider: who comes in, as whom, with which roles, and what is tried against it."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.server import LoginSettings, OidcSettings
from aboard.model.people import Role
from aboard.server.auth.oidc import OidcProvider, ProviderUnavailable
from aboard.services.people.login_attempts import FailureRateLimit
from support.object_servers import free_ports
from support.openid import CLIENT_SECRET, Browser, Page, openid_provider, why_no_provider
from support.processes import needs
from support.team_servers import TeamServer, team_server

PEOPLE = {
    "s-ann": {
        "preferred_username": "ann",
        "name": "Ann <b>A.</b>",
        "email": "ann@example.org",
        "email_verified": True,
        "groups": ["ml", "ops"],
    },
    "s-bob": {
        "preferred_username": "boss",
        "email": "bob@example.org",
        "email_verified": True,
        "groups": ["ml"],
    },
    "s-eve": {"preferred_username": "eve", "email": "eve@example.org", "email_verified": False, "groups": ["ml"]},
    "s-out": {"preferred_username": "out", "email": "out@evil.example", "email_verified": True, "groups": ["ml"]},
    "s-alone": {"preferred_username": "alone", "email": "alone@example.org", "email_verified": True, "groups": []},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    needs(why_no_provider())
    folder = tmp_path_factory.mktemp("oidc")
    own_port, port = free_ports(2)
    callback = f"http://127.0.0.1:{own_port}/login/oidc/callback"
    with openid_provider(folder, port, callback, PEOPLE) as issuer, Catalog.open(folder / "c.sqlite") as catalog:
        oidc = OidcSettings(
            issuer=issuer,
            client_id="aboard",
            client_secret=CLIENT_SECRET,
            scopes=("openid", "profile", "email", "groups"),
            domains=("example.org",),
            groups=("ml",),
            administrators=("ops",),
            roles=("ml=vision:viewer", "ops=vision:admin", "nlp=text:editor"),
        )
        login = LoginSettings(mode="oidc", oidc=oidc)
        with team_server(catalog, folder, login=login, port=own_port) as server:
            yield server


def _come(server: TeamServer, subject: str, wanted: str = "/api/v1/me") -> tuple[Browser, Page]:
    browser = Browser()
    query = urllib.parse.urlencode({"next": wanted})
    return browser, browser.log_in(f"{server.url}/login/oidc?{query}", subject)


def test_people_come_in_with_the_roles_of_their_groups(server: TeamServer):
    import json

    _, page = _come(server, "s-ann")
    assert page.status == 200, page.text
    told = json.loads(page.text)
    assert (told["name"], told["display_name"], told["administrator"]) == ("ann", "Ann <b>A.</b>", True)
    assert server.catalog.people.roles("ann") == {"default": Role.EDITOR, "vision": Role.ADMIN}
    assert server.catalog.people.by_subject(f"{_issuer(server)}#s-ann") is not None
    _come(server, "s-ann")
    assert [user.name for user in server.catalog.people.list() if user.name.startswith("ann")] == ["ann"]


def test_a_name_that_is_taken_does_not_make_one_somebody_else(server: TeamServer):
    """The provider's `boss` is not the administrator of this server who has that name."""
    import json

    told = json.loads(_come(server, "s-bob")[1].text)
    assert (told["name"], told["administrator"]) == ("boss2", False)
    assert told["roles"] == {"default": "editor", "vision": "viewer"}


def test_failed_logins_of_others_do_not_lock_people_out(server: TeamServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server.control.login_tries, "_addresses", FailureRateLimit(30, 3600))
    statuses = [server.ask("/login/oidc/callback?state=x&code=y").status for _ in range(31)]
    assert statuses == [401] * 30 + [429]
    assert _come(server, "s-ann")[1].status == 200
    assert server.ask("/login/oidc/callback?state=x&code=y").status == 429


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("s-eve", "is not one that may log in here"),
        ("s-out", "is not one that may log in here"),
        ("s-alone", "none of the groups"),
    ],
)
def test_others_are_told_why_they_may_not(server: TeamServer, subject: str, said: str):
    browser, page = _come(server, subject)
    assert page.status == 403
    assert said in page.text
    assert not [cookie for cookie in browser.cookies if cookie.name.startswith("aboard_session")]
    assert server.catalog.people.by_subject(f"{_issuer(server)}#{subject}") is None


def test_who_is_kept_out_here_is_kept_out(server: TeamServer):
    _come(server, "s-ann")
    server.catalog.people.disable("ann")
    try:
        assert _come(server, "s-ann")[1].status == 403
    finally:
        server.catalog.people.enable("ann")


def test_a_login_is_finished_by_the_browser_that_began_it_alone(server: TeamServer):
    """An attacker who brings their own code to another browser would have it act as them."""
    attacker = Browser()
    page = attacker.log_in(f"{server.url}/login/oidc", "s-bob", stop_at="/login/oidc/callback")
    callback = page.url
    assert "code=" in callback
    victim = Browser()
    assert victim.open(callback).status == 401
    victim.open(f"{server.url}/login/oidc")  # has begun one, too, with another state
    assert victim.open(callback).status == 401
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(callback).query)["state"][0]
    assert attacker.open(callback.replace(state, "x" * 43)).status == 401
    other = f"{callback}&iss=" if "iss=" not in callback else callback.replace("iss=", "iss=http%3A%2F%2Fevil")
    assert attacker.open(other).status == 401
    # The code itself is good for the one who has the verifier, once.
    assert attacker.open(callback).url.endswith("/")
    assert attacker.open(callback).status == 401


def test_a_login_leads_to_no_other_site(server: TeamServer):
    for wanted in ("//evil.example", "https://evil.example/", "/\\evil.example"):
        _, page = _come(server, "s-bob", wanted)
        assert urllib.parse.urlsplit(page.url).netloc == f"127.0.0.1:{server.port}"


def test_tokens_of_others_are_not_taken_for_the_providers(server: TeamServer):
    import jwt
    from cryptography.hazmat.primitives.asymmetric import rsa

    from aboard.errors import Unauthorized
    from aboard.model.times import now

    provider = OidcProvider(_issuer(server), "aboard", CLIENT_SECRET, ("openid",))
    at = int(now().timestamp())
    claims = {"iss": _issuer(server), "aud": "aboard", "sub": "s-ann", "iat": at, "exp": at + 60}
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    own = {"kid": "tests"}
    forged = [
        jwt.encode(claims, key, "RS256", headers=own),
        jwt.encode(claims, "x" * 32, "HS256", headers=own),
        jwt.encode(claims, "", "none", headers=own),
        jwt.encode(claims, key, "RS256", headers={"kid": "another"}),
        "not.a.token",
    ]
    for token in forged:
        with pytest.raises(Unauthorized):
            provider._verified(token)


def test_mistakes_of_whoever_sets_it_up_are_told(server: TeamServer, tmp_path: Path):
    provider = OidcProvider(_issuer(server), "aboard", CLIENT_SECRET, ("openid",))
    assert "has 1 keys" in provider.check()
    with pytest.raises(ProviderUnavailable, match="calls itself"):
        OidcProvider(_issuer(server).replace("127.0.0.1", "localhost"), "aboard", "", ()).check()
    with pytest.raises(ProviderUnavailable, match="cannot be asked"):
        OidcProvider("http://127.0.0.1:9", "aboard", "", ()).check()


def _issuer(server: TeamServer) -> str:
    login = server.ask("/login/oidc")
    parts = urllib.parse.urlsplit(login.header("location"))
    return f"{parts.scheme}://{parts.netloc}"
