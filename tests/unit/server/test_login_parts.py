# SPDX-License-Identifier: Apache-2.0
"""Parts of logins on their own: limits of tries, addresses, places to go, people out of claims, cookies, names."""

import pytest

from aboard.errors import Forbidden, Unauthorized
from aboard.model.people import Role
from aboard.server.auth.authenticator import Cookie
from aboard.server.auth.oidc import OidcClaimRules
from aboard.server.http.addresses import ServerNames, TrustedProxies, network_of, safe_redirect_path
from aboard.services.people import login_attempts
from aboard.services.people.login_attempts import FailureRateLimit


def test_failures_are_forgiven_with_time():
    moment = 1000.0
    limit = FailureRateLimit(3, 60, clock=lambda: moment)
    for _ in range(3):
        assert limit.wait_seconds("a") == 0
        limit.failed("a")
    assert 0 < limit.wait_seconds("a") <= 20
    assert limit.wait_seconds("b") == 0
    moment += 20.1
    assert limit.wait_seconds("a") == 0
    limit.failed("a")
    assert limit.wait_seconds("a") > 0
    moment += 120
    for _ in range(3):
        limit.failed("a")
    assert limit.wait_seconds("a") <= 20


def test_a_flood_from_everywhere_takes_bounded_memory():
    limit = FailureRateLimit(3, 60)
    for number in range(login_attempts._MOST_KEPT + 500):
        limit.failed(str(number))
    assert len(limit._forgiven) == login_attempts._MOST_KEPT


def test_who_has_a_network_is_one():
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:192.0.2.7") == network_of("192.0.2.7") != network_of("192.0.2.8")


@pytest.mark.parametrize(
    ("peer", "told", "found"),
    [
        ("198.51.100.1", "203.0.113.9", "198.51.100.1"),  # not a proxy: what it says is not believed
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),  # what the client itself wrote stands before it
        ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
    ],
)
def test_the_address_of_who_asks(peer, told, found):
    headers = [(b"x-forwarded-for", told.encode())] if told else []
    assert TrustedProxies(["10.0.0.0/8"]).client({"client": (peer, 1), "headers": headers}) == found


@pytest.mark.parametrize("wanted", ["/", "/w/vision", "/boards/x/?a=b&c=%2F#x".partition("#")[0], "/a%2Fb"])
def test_places_on_this_server_are_kept(wanted):
    assert safe_redirect_path(wanted) == wanted


def test_the_cookie_is_for_this_host_and_tls_where_there_is_tls():
    secure, plain = Cookie.named("session", 443, is_secure=True), Cookie.named("session", 6006, is_secure=False)
    assert secure.header("x", 5)[1] == "__Host-aboard_session=x; Path=/; Max-Age=5; HttpOnly; SameSite=Lax; Secure"
    assert plain.header("x", 5)[1] == "aboard_session_6006=x; Path=/; Max-Age=5; HttpOnly; SameSite=Lax"
    assert plain.read({"cookie": "a=b; aboard_session_6006=secret"}) == "secret"
    assert plain.read({"cookie": "aboard_session_6007=secret"}) == ""


def test_names_and_origins_of_a_server_behind_a_proxy(monkeypatch):
    monkeypatch.setattr("aboard.server.http.addresses.socket.getfqdn", lambda: "Machine.example.org")
    names = ServerNames.of(
        "0.0.0.0",
        is_loopback=False,
        url="https://aboard.example.org",
        hosts=["inside"],
        origins=["https://notebooks.example.org"],
    )
    assert all(
        map(
            names.has,
            ["aboard.example.org", "ABOARD.example.org:443", "inside:6006", "192.0.2.7:6006", "machine.example.org"],
        )
    )
    assert not any(map(names.has, ["evil.example", "aboard.example.org.evil.example", ""]))
    own = ["https://aboard.example.org", "https://notebooks.example.org", "http://inside:6006"]
    assert all(names.is_own_origin(origin, "inside:6006") for origin in own)
    others = ["http://aboard.example.org", "https://evil.example", "null", "", "https://inside:1", "file://inside:6006"]
    assert not any(names.is_own_origin(origin, "inside:6006") for origin in others)


def _people(**rules):
    return OidcClaimRules(name_claim="preferred_username", groups_claim="groups", **rules)


def test_the_highest_role_of_ones_groups_counts():
    people = _people(roles=["a=w:viewer", "b=w:admin", "c=w:editor", "b=x:viewer", "z=y:admin"])
    person = people.person("https://i", {"sub": "1", "preferred_username": "ann", "groups": ["a", "b", "c"]})
    assert person.roles == {"w": Role.ADMIN, "x": Role.VIEWER, "y": None}
    assert person.is_administrator is None
    assert _people(administrators=["b"]).person("https://i", {"sub": "1", "groups": "b"}).is_administrator is True
    assert _people(administrators=["b"]).person("https://i", {"sub": "1"}).is_administrator is False


def test_names_of_people_can_be_written():
    person = _people().person("https://i", {"sub": "1", "preferred_username": "corp\\ann/../x,*"})
    assert person.name == "corp-ann-..-x"
    assert _people().person("https://i", {"sub": "s1"}).name == "s1"
    # An address that the provider has not verified is nobody's name.
    assert _people().person("https://i", {"sub": "s1", "email": "boss@example.org"}).name == "s1"


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "a@example.org"},
        {"email": "a@example.org", "email_verified": "true"},
        {"email": "a@evil.example", "email_verified": True},
        {"email": "a@example.org.evil.example", "email_verified": True},
        {"email": "a@example.org@evil.example", "email_verified": True},
        {},
    ],
)
def test_domains_are_those_of_verified_addresses(claims):
    with pytest.raises(Forbidden):
        _people(domains=["example.org"]).person("https://i", {"sub": "1", **claims})


def test_somebody_without_a_subject_is_nobody():
    for claims in ({}, {"sub": ""}, {"sub": 7}):
        with pytest.raises(Unauthorized):
            _people().person("https://i", claims)
