# SPDX-License-Identifier: Apache-2.0
"""A team server from nothing, by the commands that its documentation names; and what is said of mistakes."""

from __future__ import annotations

import contextlib
import getpass
import json
import signal
import urllib.request
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from aboard.client.client import Client
from aboard.store import open_store
from support.postgres import PostgresServer
from support.processes import until
from support.runs import Machine, finish, well
from support.stored_runs import store_run


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "server").mkdir()
    return Machine(tmp_path / "server", str(tmp_path / "store"))


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    """Of a colleague: another home folder, and no store."""
    (tmp_path / "laptop").mkdir()
    return Machine(tmp_path / "laptop", str(tmp_path / "laptop/store"))


@contextlib.contextmanager
def serving(machine: Machine, *arguments: object, **environment: str) -> Generator[dict[str, str]]:
    process = machine.start("server", "--port", 0, "--json", *arguments, **environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(finish(process).err)
        said = json.loads(line)
        yield said
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
    said["stderr"] = errors.decode()


def test_a_team_server_from_nothing(machine: Machine, laptop: Machine):
    store_run(open_store(machine.store, create=True), name="base", workspace="vision")
    with serving(machine, "--login", "tokens") as said:
        url = said["url"]
        assert (said["login"], said["token"]) == ("tokens", None)
        # The account that runs it administers it without a login.
        until(lambda: "vision" in machine.ask("workspaces", "list").out)
        added = well(machine.ask("user", "add", "ann", "--role", "vision:editor"))
        token = added.out.strip()
        assert token.startswith("aboard_")
        assert f"aboard login {url} --token TOKEN" in added.err
        # A colleague logs in, and everything of theirs asks this server from then on.
        printed = well(laptop.ask("login", url, "--token", token))
        assert f"Logged in at {url} as ann (editor in vision)." in printed.out
        assert (laptop.home / "credentials.json").stat().st_mode & 0o777 == 0o600
        assert json.loads(well(laptop.ask("user", "me", "--json")).out)["name"] == "ann"
        assert "base" in well(laptop.ask("runs", "list")).out
        # So do the runs, which go where the server looks for them unless another place is named.
        assert f"Runs that are logged from now on go to {machine.store}" in printed.out
        script = "import os; print(os.environ['ABOARD_RUN'])"
        own = well(laptop.run(script, "--workspace", "vision", ABOARD_STORE=""))
        assert (own.out.strip(), f"kept in {machine.store}" in own.err) == ("run2", True)
        until(lambda: "COMPLETED" in laptop.ask("runs", "show", "run2").out)
        elsewhere = well(laptop.run(script, "--workspace", "vision"))
        assert f"may never see what goes to {laptop.store}" in elsewhere.err
        # In a workspace that is not theirs a run is kept all the same, and they are told where they may.
        strange = well(laptop.run(script, "--workspace", "secret"))
        assert "There is no workspace 'secret'." in strange.err
        assert "nearest: vision; `aboard workspaces list` shows those that you may use" in strange.err
        made = well(laptop.ask("token", "create", "cluster", "--scope", "write", "--expires", "30d", "-q"))
        listed = json.loads(well(laptop.ask("token", "list", "--json")).out)["items"]
        assert [(one["name"], one["scopes"]) for one in listed] == [("first", []), ("cluster", ["write"])]
        environment = {"ABOARD_SERVER": url, "ABOARD_TOKEN": made.out.strip(), "ABOARD_STORE": machine.store}
        ended = well(machine.run(script, "--workspace", "vision", **environment))
        assert ended.out.strip() == "run4"
        well(laptop.ask("token", "revoke", "cluster"))
        refused = laptop.ask("runs", "list", ABOARD_TOKEN=made.out.strip(), ABOARD_SERVER=url)
        assert (refused.code, "invalid or revoked token" in refused.err) == (1, True)
        refused = laptop.ask("user", "add", "mallory")
        assert (refused.code, "needs an administrator of the server" in refused.err) == (1, True)
        well(machine.ask("user", "role", "ann", "vision", "viewer"))
        assert "viewer" in well(machine.ask("user", "roles", "vision")).out
        assert "DISABLED" not in well(machine.ask("user", "list")).out
        changes = json.loads(well(machine.ask("server", "audit", "--json", "--last", "3")).out)["items"]
        assert [one["action"] for one in changes] == ["role", "revoke", "add"]
        well(machine.ask("user", "disable", "ann"))
        assert laptop.ask("runs", "list").code == 1
        well(machine.ask("user", "enable", "ann"))
        well(laptop.ask("token", "create", "night", "-q"))
        assert "Tokens created with this login are revoked too: night." in well(laptop.ask("logout")).err
        assert "token" not in (laptop.home / "credentials.json").read_text()
        assert Client(url, token, home=laptop.home).tokens.ways().mode == "tokens"
        refused = laptop.ask("login", url, "--token", token)
        assert (refused.code, "Traceback" in refused.err) == (1, False)


def test_the_account_that_runs_a_server_on_postgresql_administers_it_without_a_login(
    machine: Machine, laptop: Machine, postgres: PostgresServer
):
    """Which of its servers is asked, and that one that was killed is not, although it has left its file."""
    files = machine.home / "server/elsewhere"
    team = ["--login", "tokens", "--catalog", postgres.new_database(), "--store", machine.folder / "team"]
    (machine.folder / "team").mkdir()
    with serving(machine, *team) as first:
        well(machine.ask("workspaces", "add", "vision"))
        token = well(machine.ask("user", "add", "ann", "--role", "vision:editor")).out.strip()
        assert "editor in vision" in well(laptop.ask("login", first["url"], "--token", token)).out
        (printed,) = files.iterdir()
        modes = [path.stat().st_mode & 0o777 for path in (files.parent, files, printed)]
        assert modes == [0o700, 0o700, 0o600]
        assert laptop.ask("user", "add", "mallory").code == 1  # Ann is not the account that runs it

        # Of several over one catalog each will do.
        with serving(machine, *team) as second:
            killed = psutil.Process(json.loads(printed.read_text())["pid"])
            killed.kill()
            killed.wait(60)
            added = well(machine.ask("user", "add", "bob"))
            assert f"aboard login {second['url']} --token TOKEN" in added.err
            people = json.loads(well(machine.ask("user", "list", "--json")).out)["items"]
            assert {"ann", "bob"} <= {one["name"] for one in people}

            # Of two catalogs the one that is meant has to be said.
            with serving(machine, "--login", "tokens", "--catalog", machine.folder / "other.sqlite") as other:
                refused = machine.ask("user", "add", "eve")
                assert (refused.code, "servers over different catalogs" in refused.err) == (1, True)
                assert all(url in refused.err for url in (second["url"], other["url"]))
                listed = well(machine.ask("user", "list", "--json", ABOARD_SERVER=other["url"]))
                assert "bob" not in {one["name"] for one in json.loads(listed.out)["items"]}
    assert not (machine.home / "server/server.json").exists()  # no private server was started
    assert not list(files.iterdir())  # what the killed one had left is gone as well


def test_the_first_administrator_gets_in_by_the_link_once(machine: Machine, laptop: Machine, tmp_path: Path):
    catalog = tmp_path / "team.sqlite"
    with serving(machine, "--login", "tokens", "--catalog", catalog) as said:
        code = said["link"].partition("token=")[2]
        printed = well(laptop.ask("login", said["url"], "--token", code))
        assert "(administrator)" in printed.out
        well(laptop.ask("user", "add", "zoe"))
        refused = laptop.ask("login", said["url"], "--token", code)
        assert (refused.code, "invalid or" in refused.err) == (1, True)
    with serving(machine, "--login", "tokens", "--catalog", catalog) as said:
        assert said["link"] is None  # somebody has a token by now
        # Who has locked themselves out gets in again from the machine of the server.
        printed = json.loads(well(machine.ask("server", "init-admin", "rescue", "--catalog", catalog, "--json")).out)
        assert "rescue" in well(laptop.ask("login", said["url"], "--token", printed["code"])).out


def test_behind_a_proxy_only_who_was_named_administers(machine: Machine):
    """The account that runs the server is no administrator because the proxy calls somebody so."""
    secret, account = "between-server-and-proxy", getpass.getuser()
    environment = {"ABOARD_LOGIN_PROXY_SECRET": secret, "ABOARD_LOGIN_MODE": "header"}

    def administers(said: dict[str, str], name: str) -> bool:
        headers = {"X-Forwarded-User": name, "X-Aboard-Proxy-Secret": secret}
        request = urllib.request.Request(f"{said['url']}/api/v1/me", headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)["administrator"]

    with serving(machine):  # a personal server first: its one person is called like the account
        pass
    with serving(machine, **environment) as said:
        assert said["link"] is None
        assert [administers(said, name) for name in (account, account.upper(), "ann")] == [False] * 3
        unnamed = machine.ask("server", "init-admin", **environment)
        assert (unnamed.code, "Name the administrator." in unnamed.err) == (1, True)
        output = well(machine.ask("server", "init-admin", "ann", **environment)).out
        assert ("?token=" in output, "aboard login" in output) == (False, True)
        until(lambda: administers(said, "Ann"))
        # The account itself still administers by its own commands.
        well(machine.ask("user", "add", "zoe", "--admin", **environment))
        assert (administers(said, "zoe"), administers(said, account)) == (True, False)
    assert "No administrator can log in yet." in said["stderr"]
    assert "aboard server init-admin NAME" in said["stderr"]
    with serving(machine, **environment) as said:
        # Who insists on the name of the account can have it.
        well(machine.ask("server", "init-admin", account, **environment))
        until(lambda: administers(said, account))
    assert "No administrator can log in yet." not in said["stderr"]


def test_a_personal_server_prints_a_ready_link(machine: Machine, tmp_path: Path):
    with serving(machine) as said:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(), urllib.request.ProxyHandler({}))
        with opener.open(said["link"], timeout=60) as answer:
            assert "token=" not in answer.url
        with opener.open(f"{said['url']}/api/v1/me", timeout=60) as answer:
            assert json.load(answer)["administrator"] is True


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--host", "0.0.0.0"], {}, "aboard server --login tokens --host 0.0.0.0"),
        (["--login", "magic"], {}, "not one of personal, tokens, header, oidc"),
        (["--login", "oidc"], {}, "set login.oidc.issuer and login.oidc.client_id"),
        (["--login", "header"], {}, "believes a proxy, and none is named"),
        ([], {"ABOARD_SERVE_URL": "ftp://x"}, "$ABOARD_SERVE_URL: 'ftp://x' is not an address"),
    ],
)
def test_what_cannot_be_served_is_told(machine: Machine, arguments: list[str], environment: dict[str, str], said: str):
    # What would keep a server from starting is what a check finds.
    flags = ["--check"] if said.startswith("not one of") or environment else []
    ended = machine.aboard("server", *flags, *arguments, **environment)
    assert (ended.code, "Traceback" in ended.err) == (1, False)
    assert said in (ended.out if flags else ended.err)


def test_a_check_looks_at_everything(machine: Machine, tmp_path: Path):
    store_run(open_store(machine.store, create=True), name="base")
    printed = well(machine.aboard("server", "--check", "--login", "tokens")).out
    assert "ok    settings" in printed
    assert f"store {machine.store}: can be listed, 1 runs" in printed
    ended = machine.ask(
        "server", "--check", "--json", "--store", tmp_path / "none", "--catalog", "postgresql://app@127.0.0.1:9/none"
    )
    document = json.loads(ended.out)
    assert (ended.code, document["ok"]) == (1, False)
    wrong = {item["what"].split()[0]: item for item in document["items"] if not item["ok"]}
    assert set(wrong) == {"catalog", "store"}
    assert wrong["catalog"]["hint"]
    machine.home.mkdir()
    (machine.home / "config.toml").write_text("[login]\nmood = 1\n")
    ended = machine.aboard("server", "--check")
    assert (ended.code, "did you mean 'login.mode'" in ended.out) == (1, True)


def test_a_check_complains_about_secrets_that_others_can_read(machine: Machine):
    open_store(machine.store, create=True)
    machine.home.mkdir(mode=0o755)
    machine.home.chmod(0o755)
    file = machine.home / "config.toml"
    file.write_text('[login]\nproxy_secret = "hidden"\n')
    file.chmod(0o644)
    ended = machine.aboard("server", "--check")
    assert ended.code == 1
    assert f"can read {file} (mode 644), which holds login.proxy_secret." in ended.out
    assert f"chmod 600 {file}" in ended.out
    assert f"ok    home: other accounts of this machine can read {machine.home} (mode 755)" in ended.out
    assert "hidden" not in ended.out
    file.chmod(0o600)
    machine.home.chmod(0o700)
    output = well(machine.aboard("server", "--check")).out
    assert f"ok    home: {machine.home} can be read by this account alone" in output


def test_a_root_that_overlaps_with_a_store_is_refused(machine: Machine, tmp_path: Path):
    open_store(machine.store, create=True)
    flags = ["server", "--login", "tokens", "--port", "0"]
    for check in ([], ["--check"]):
        ended = machine.aboard(*flags, *check, ABOARD_SERVE_ROOTS=str(tmp_path))
        assert (ended.code, "Traceback" in ended.err) == (1, False)
        assert f"serve.roots names {tmp_path}, which overlaps with the store {machine.store}." in ended.out + ended.err


def test_a_backup_beside_a_running_server_and_back(machine: Machine, tmp_path: Path):
    backup = tmp_path / "backup.sqlite"
    # Over another store than the one that commands of this account use: they administer it all the same.
    with serving(machine, "--login", "tokens", "--store", tmp_path):
        well(machine.ask("user", "add", "ann", "--no-token"))
        assert "is backed up" in well(machine.ask("server", "backup", backup)).out
        well(machine.ask("user", "add", "late", "--no-token"))
        refused = machine.ask("server", "restore", backup, "--replace")
        assert (refused.code, "is in use by another server" in refused.err) == (1, True)
        refused = machine.ask("server", "backup", backup)
        assert (refused.code, "exists already" in refused.err) == (1, True)
    refused = machine.ask("server", "restore", backup)
    assert (refused.code, "is not empty" in refused.err) == (1, True)
    well(machine.ask("server", "restore", backup, "--replace"))
    with serving(machine, "--login", "tokens"):
        users = json.loads(well(machine.ask("user", "list", "--json")).out)["items"]
        assert "late" not in {one["name"] for one in users}
        assert "ann" in {one["name"] for one in users}


def test_people_log_in_with_the_base_install(machine: Machine):
    """Commands that ask a server need nothing of what serves."""
    script = """
        import sys
        for name in ("alembic", "anyio", "jwt", "msgspec", "sqlalchemy", "starlette", "tensorboard", "uvicorn"):
            sys.modules[name] = None
        from aboard.cli import main
        import aboard.cli.people.login, aboard.cli.people.accounts, aboard.cli.people.accounts
        sys.argv[1:] = ["login", "http://127.0.0.1:9", "--token", "x"]
        main()
    """
    ended = machine.python(script)
    assert (ended.code, "Traceback" in ended.err) == (1, False)
    assert "the server at http://127.0.0.1:9 does not answer" in ended.err
    assert "Check the address" in ended.err
    assert "ABOARD_SERVER" not in ended.err
