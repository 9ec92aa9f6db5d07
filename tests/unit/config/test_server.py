# SPDX-License-Identifier: Apache-2.0
"""Settings of a server: read from the file and from variables, documented one by one, mistakes told with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.config.credentials import Credential, Credentials, client_settings
from aboard.config.declarations import SETTINGS
from aboard.config.settings import load_settings, secrets_in_file, settings_markdown
from aboard.errors import InvalidValue

ROOT = Path(__file__).parents[3]


def _load(home: Path, text: str, **environ: str):
    home.joinpath("config.toml").write_text(text)
    return load_settings(environ={"ABOARD_HOME": str(home), **environ})


def test_the_page_about_settings_is_what_the_code_says():
    written = (ROOT / "docs/settings.md").read_text("utf-8")
    assert written == settings_markdown(), "write settings_markdown() to docs/settings.md"


def test_every_setting_can_be_set_by_its_variable_and_its_key(tmp_path: Path):
    """A key that is declared but leads nowhere would be an option that is read and ignored."""
    values = {
        "serve.port": "7000",
        "serve.url": "https://a.example.org",
        "serve.boards_port": "7001",
        "serve.boards_url": "https://b.example.org",
        "serve.origins": "https://a.example.org",
        "serve.proxies": "10.0.0.0/8",
        "serve.log_format": "json",
        "serve.largest_request": "1MB",
        "serve.connections": "7",
        "serve.header_seconds": "7",
        "serve.body_seconds": "7",
        "serve.stalled_seconds": "7",
        "cache.limit": "1MB",
        "tensorboard.open": "tensorboard",
        "login.mode": "tokens",
        "login.session_hours": "5",
        "login.new_people": "vision:viewer",
        "login.header": "X-User",
        "login.oidc.issuer": "https://a.example.org",
        "login.oidc.roles": "ml=vision:viewer",
        "boards.limit_per_person": "7",
        "boards.process_limit_per_person": "7",
        "boards.limit_total": "7",
        "boards.memory": "1MB",
    }
    for one in SETTINGS:
        text = values.get(one.key, "something")
        default, by_key = (
            load_settings(environ={"ABOARD_HOME": str(tmp_path / "none")}),
            _load(tmp_path, f'{one.key} = "{text}"'),
        )
        assert _at(by_key, one.field) != _at(default, one.field), one.key
        if one.environment:
            by_variable = load_settings(environ={"ABOARD_HOME": str(tmp_path / "none"), one.environment: text})
            assert _at(by_variable, one.field) == _at(by_key, one.field), one.key


def _at(settings: object, path: str) -> object:
    for part in path.split("."):
        settings = getattr(settings, part)
    return settings


def test_a_file_for_a_team(tmp_path: Path):
    text = """
        [serve]
        host = "0.0.0.0"
        port = 6010
        stores = ["s3://a/runs", "/data"]
        [login]
        mode = "oidc"
        [login.oidc]
        issuer = "https://accounts.example.org/"
        roles = ["a=b=vision:editor"]
    """
    settings = _load(tmp_path, text, ABOARD_LOGIN_OIDC_CLIENT_SECRET="hush", ABOARD_SERVE_PORT="6011")
    assert (settings.serve.host, settings.serve.port) == ("0.0.0.0", 6011)
    assert settings.serve.stores == ("s3://a/runs", "/data")
    assert settings.login.oidc.issuer == "https://accounts.example.org"
    assert settings.login.oidc.roles == ("a=b=vision:editor",)
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[serve]\nprot = 1", "did you mean 'serve.port'"),
        ("[serve]\nport = 70000", "not a whole number from 0 to 65535"),
        ('[serve]\nport = "http"', "not a whole number"),
        ('[serve]\nurl = "example.org"', "is not an address"),
        ('[serve]\nurl = "http://x:99999"', "is not an address"),
        ('[serve]\nurl = "https://example.org/a//b"', "is not plain"),
        ('[serve]\nurl = "https://example.org/a/../b"', "is not plain"),
        ('[serve]\nurl = "https://example.org/boards"', "cannot be told from a place below it"),
        ('[serve]\norigins = ["https://a.example.org/path"]', "more than an origin"),
        ('[serve]\nproxies = ["localhost"]', "is not an address"),
        ("[serve]\nstores = 7", "where a list is expected"),
        ('[serve]\nlog_format = "xml"', "not one of text, json"),
        ('[login]\nmode = "password"', "not one of personal, tokens, header, oidc"),
        ('[login]\nheader = "X User"', "not the name of a header"),
        ('[login]\nnew_people = ["vision:boss"]', "roles are viewer, editor, admin"),
        ('[login.oidc]\nroles = ["vision:editor"]', "gives no group a role"),
        ("[boards]\nlimit_per_person = -1", "not a whole number"),
    ],
)
def test_mistakes_are_told_with_the_place(tmp_path: Path, text: str, said: str):
    with pytest.raises(InvalidValue) as caught:
        _load(tmp_path, text)
    assert said in str(caught.value)
    assert "config.toml" in str(caught.value)


def test_a_login_is_kept_for_its_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))
    credentials = Credentials(tmp_path)
    credentials.keep("http://a.example:1/", Credential("token-a", "ann"))
    credentials.keep("http://b.example:2", Credential("token-b", "ann"))
    assert credentials.path.stat().st_mode & 0o777 == 0o600
    assert (client_settings().server, client_settings().token) == ("http://b.example:2", "token-b")
    assert client_settings({"server": "http://a.example:1"}).token == "token-a"
    assert client_settings({"server": "http://a.example:1.evil.example"}).token is None
    assert client_settings({"server": "http://a.example:1", "token": "given"}).token == "given"
    assert load_settings().token is None  # a server does not take it for its own
    assert credentials.drop("http://b.example:2")
    assert client_settings().server is None
    assert "token-a" not in repr(credentials.of("http://a.example:1"))


def test_a_damaged_file_of_logins_is_told(tmp_path: Path):
    Credentials(tmp_path).path.write_text("{")
    with pytest.raises(InvalidValue, match=r"cannot read the logins in .*credentials\.json"):
        Credentials(tmp_path).current()
    Credentials(tmp_path).path.write_text('{"format": "aboard-credentials", "version": [2, 0]}')
    with pytest.raises(InvalidValue, match="this version knows"):
        Credentials(tmp_path).current()


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        (
            '[login]\nproxy_secret = "x"\n[login.oidc]\nclient_secret = "y"',
            ["login.proxy_secret", "login.oidc.client_secret"],
        ),
        ('token = "x"', ["token"]),
        ('[serve]\ncatalog = "postgresql://app:word@host/db"', ["serve.catalog"]),
        ('[serve]\ncatalog = "postgresql://app@host/db"', []),
        ('store = "/runs"', []),
    ],
)
def test_secrets_in_the_file_are_known(tmp_path: Path, text: str, secrets: list[str]):
    tmp_path.joinpath("config.toml").write_text(text)
    assert secrets_in_file(tmp_path, {}) == secrets
