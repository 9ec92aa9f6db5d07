# SPDX-License-Identifier: Apache-2.0
"""People, roles and tokens on a server with logins: who may see and do what, through its API and a browser's way."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.api.runs import NewRun, RetentionRequest
from aboard.api.wire import to_wire
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import Conflict, Forbidden, InvalidValue, Unauthorized, UnknownName
from aboard.model.names import new_uid
from aboard.model.people import Role
from aboard.model.times import now
from aboard.server.http import limits
from aboard.store import open_store
from support.processes import until
from support.stored_runs import store_run
from support.team_servers import BOSS, TeamServer, team_server


@contextlib.contextmanager
def _serving(folder: Path) -> Iterator[TeamServer]:
    uri = str(folder / "store")
    store = open_store(uri, create=True, fsync=False)
    for workspace in ("vision", "secret"):
        store_run(
            store,
            name=f"{workspace}-base",
            workspace=workspace,
            experiment=f"{workspace}-exp",
            hparams={f"{workspace}_lr": 0.1},
            metrics={f"{workspace}_loss": [1.0, 0.5]},
        )
    with Catalog.open(folder / "catalog.sqlite") as catalog, team_server(catalog, folder, uri) as server:
        until(lambda: catalog.runs.count() == 2)
        server.person("vic", vision=Role.VIEWER)
        server.person("ed", vision=Role.EDITOR)
        server.person("ada", vision=Role.ADMIN)
        server.person("nobody")
        yield server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TeamServer]:
    with _serving(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    """For tests that change nothing."""
    with _serving(tmp_path_factory.mktemp("standing")) as server:
        yield server


def _secret(server: TeamServer) -> tuple[int, str, int]:
    run = next(run for run in server.catalog.runs.list().items if run.workspace == "secret")
    return run.number or 0, run.uid, run.experiment_number or 0


def test_what_one_may_not_see_is_as_if_it_did_not_exist(server: TeamServer):
    client = server.client("vic")
    assert [run.name for run in client.runs.list().items] == ["vision-base"]
    assert client.runs.count() == 1
    assert [one.name for one in client.workspaces.list().items] == ["vision"]
    assert [one.name for one in client.experiments.list().items] == ["vision-exp"]
    assert client.runs.usage(by="workspace").runs == 1
    assert client.runs.fields().hparams == ("vision_lr",)
    assert [store.damaged for store in client.stores().items] == [None]
    assert client.info().catalog == ""
    assert server.client("nobody").stores().items == ()
    assert server.client("nobody").runs.list().items == ()


@pytest.mark.parametrize(
    ("method", "there", "not_there", "body"),
    [
        ("GET", "runs/run{number}", "runs/run{gone}", None),
        ("GET", "runs/{number}/metrics", "runs/{gone}/metrics", None),
        ("GET", "runs/secret-base", "runs/sacred-base", None),
        ("GET", "runs/secret%252Fsecret-base", "runs/sacred%252Fsacred-base", None),
        ("GET", "runs?workspace=secret", "runs?workspace=sacred", None),
        ("GET", "run-count?workspace=secret", "run-count?workspace=sacred", None),
        ("GET", "runs?experiment={experiment}", "runs?experiment={gone}", None),
        ("GET", "fields?workspace=secret", "fields?workspace=sacred", None),
        ("GET", "usage?workspace=secret", "usage?workspace=sacred", None),
        ("GET", "workspaces/secret", "workspaces/sacred", None),
        ("GET", "workspaces/secret/members", "workspaces/sacred/members", None),
        ("GET", "experiments/exp{experiment}", "experiments/exp{gone}", None),
        ("GET", "experiments/secret-exp", "experiments/sacred-exp", None),
        ("GET", "experiments?workspace=secret", "experiments?workspace=sacred", None),
        ("GET", "comparison?run=1&run=2", "comparison?run=1&run=99", None),
        ("GET", "boards?workspace=secret", "boards?workspace=sacred", None),
        ("GET", "boards?workspace=vision&workspace=secret", "boards?workspace=vision&workspace=sacred", None),
        ("POST", "boards", "boards", {"sources": ["vision/vision-base"], "workspace": "{workspace}"}),
        ("POST", "boards", "boards", {"sources": [], "workspace": "{workspace}"}),
        ("POST", "boards", "boards", {"sources": ["run{number}"]}),
        ("POST", "boards", "boards", {"sources": ["{workspace}/base*"]}),
        ("POST", "boards/preview", "boards/preview", {"sources": ["vision/vision-base"], "workspace": "{workspace}"}),
        ("POST", "runs", "runs", {"uid": "{no_uid}", "workspace": "{workspace}"}),
        ("POST", "runs", "runs", {"uid": "{uid}", "workspace": "{workspace}"}),
        ("PATCH", "workspaces/secret", "workspaces/sacred", {"description": "mine"}),
        ("POST", "workspaces/secret/delete", "workspaces/sacred/delete", None),
        ("POST", "experiments/exp{experiment}/delete", "experiments/exp{gone}/delete", None),
        ("PATCH", "runs", "runs", {"runs": ["run{number}"], "note": "x"}),
        ("POST", "runs/delete", "runs/delete", {"runs": ["{number}"], "files": True}),
        ("POST", "selections/resolve", "selections/resolve", {"words": ["run{number}"]}),
        ("POST", "selections/resolve", "selections/resolve", {"words": ["exp{experiment}"]}),
        ("POST", "retention", "retention", {"workspaces": ["{workspace}"], "keep_newest": 1}),
        ("POST", "experiments", "experiments", {"workspace": "{workspace}", "name": "new"}),
        ("POST", "roles", "roles", {"person": "ed", "workspace": "{workspace}", "role": "admin"}),
        ("POST", "runs/{uid}/heartbeat", "runs/{no_uid}/heartbeat", None),
    ],
)
def test_an_unseen_thing_and_no_thing_get_the_same_answer(
    standing: TeamServer, method: str, there: str, not_there: str, body: object
):
    number, uid, experiment = _secret(standing)
    no_uid = new_uid()
    seen = {"number": number, "uid": uid, "experiment": experiment, "workspace": "secret", "gone": 99, "no_uid": no_uid}
    gone = {**seen, "number": 99, "uid": no_uid, "experiment": 99, "workspace": "sacred"}

    def ask(path: str, names: dict[str, object]) -> tuple[int, str]:
        text = json.dumps(body) if body is not None else None
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", str(value))
            text = text.replace(f"{{{name}}}", str(value)) if text else text
        answer = standing.ask(f"/api/v1/{path}", method, body=json.loads(text) if text else None, who="ada")
        said = answer.body.decode()
        for one, other in ((no_uid, "UID"), (uid, "UID"), ("sacred", "secret")):
            said = said.replace(one, other)
        for one in (number, experiment):
            said = said.replace("99", str(one))
        return answer.status, said

    real, none = ask(there, seen), ask(not_there if body is None else there, gone)
    assert real == none
    assert real[0] == 404


def test_roles_allow_what_they_say_and_no_more(server: TeamServer):
    vic, ed, ada = server.client("vic"), server.client("ed"), server.client("ada")
    with pytest.raises(Forbidden, match="needs the role editor in the workspace vision"):
        vic.runs.tag(["vision-base"], {"a": "b"})
    with pytest.raises(Forbidden):
        vic.experiments.add("vision", "more")
    with pytest.raises(Forbidden):
        vic.runs.delete("vision-base")
    assert ed.runs.tag(["vision-base"], {"a": "b"}).items[0].tags == {"a": "b"}
    assert ed.experiments.add("vision", "more").name == "more"
    ed.runs.delete("vision-base")
    ed.runs.restore("vision-base")
    for forbidden in (
        lambda: ed.runs.delete("vision-base", files=True),
        lambda: ed.workspaces.change("vision", description="x"),
        lambda: ed.people.set_role("vic", "vision", Role.ADMIN),
        lambda: ada.workspaces.add("another"),
        lambda: ada.people.add("mallory"),
        lambda: ada.people.change("ada", administrator=True),
        lambda: ada.tokens.create("x", person=BOSS),
        lambda: ada.tokens.list(everybody=True),
        ada.people.changes,
        lambda: ada.reindex(str(server.catalog)),
        lambda: ada.add_store("/tmp"),
    ):
        with pytest.raises(Forbidden):
            forbidden()
    assert ada.people.set_role("vic", "vision", Role.EDITOR).members["vic"] is Role.EDITOR
    assert vic.runs.tag(["vision-base"], {"c": ""}).items[0].tags == {"a": "b", "c": ""}
    ada.people.set_role("vic", "vision", None)
    with pytest.raises(UnknownName):
        vic.runs.get("vision-base")
    assert ada.runs.delete("vision-base", files=True).items[0].files == 0


def test_a_run_moves_only_to_where_one_may_write(server: TeamServer):
    server.person("ed", secret=Role.VIEWER)
    with pytest.raises(Forbidden, match="in the workspace secret"):
        server.client("ed").runs.move(["vision-base"], workspace="secret")
    server.person("ed", secret=Role.EDITOR)
    assert server.client("ed").runs.move(["vision-base"], workspace="secret").items[0].workspace == "secret"


def test_retention_stays_where_one_may_delete(server: TeamServer):
    asked = RetentionRequest(where='status == "completed"', dry_run=False)
    assert server.client("vic").runs.retain(asked).items == ()
    assert [run.name for run in server.client("ed").runs.retain(asked).items] == ["vision-base"]
    assert server.client().runs.count() == 1


def test_trainings_register_with_a_token_for_writing(server: TeamServer):
    server.person("ed", scopes=("write",), vision=Role.EDITOR)
    training = server.client("ed")
    uid = new_uid()
    run = training.runs.register(NewRun(uid=uid, workspace="vision", user="ed"))
    assert run.name.startswith("run")
    training.runs.heartbeat(uid)
    with pytest.raises(UnknownName, match="there is no workspace 'secret'") as refused:
        training.runs.register(NewRun(uid=new_uid(), workspace="secret"))
    assert refused.value.hint == "nearest: vision; `aboard workspaces list` shows those that you may use"
    with pytest.raises(UnknownName, match="there is no workspace 'brandnew'"):
        training.runs.register(NewRun(uid=new_uid(), workspace="brandnew"))
    with pytest.raises(Forbidden, match="This token cannot create tokens"):
        training.tokens.create("more")
    server.person("ed", scopes=("read",))
    with pytest.raises(Forbidden, match=r"has the scope read and cannot change anything\.") as caught:
        server.client("ed").runs.register(NewRun(uid=new_uid(), workspace="vision"))
    assert "aboard token create NAME --scope write" in caught.value.hint
    assert server.client().runs.register(NewRun(uid=new_uid(), workspace="brandnew")).workspace == "brandnew"


def test_a_run_of_others_is_registered_once_more_without_a_word_about_it(server: TeamServer):
    _, uid, _ = _secret(server)
    answer = server.ask("/api/v1/runs", "POST", body={"uid": uid, "workspace": "vision"}, who="ed")
    assert (answer.status, b"secret" in answer.body) == (409, False)
    assert answer.document["error"]["message"] == f"The uid {uid} is in use."


def test_tokens_end_by_time_revocation_and_with_their_person(server: TeamServer):
    vic, boss = server.client("vic"), server.client()
    made = vic.tokens.create("short", expires_seconds=3600)
    assert server.ask("/api/v1/me", Authorization=f"Bearer {made.text}").document["name"] == "vic"
    assert server.catalog.tokens.check(made.text, now() + timedelta(seconds=3601)) is None
    vic.tokens.revoke("short")
    assert server.ask("/api/v1/me", Authorization=f"Bearer {made.text}").status == 401
    states = {token.name: token.revoked is None for token in vic.tokens.list().items}
    assert states == {"tests": True, "short": False}
    with pytest.raises(UnknownName):
        vic.tokens.revoke(boss.tokens.list().items[0].id)
    boss.people.change("vic", disabled=True)
    with pytest.raises(Unauthorized):
        vic.people.me()
    boss.people.change("vic", disabled=False)
    assert vic.people.me().name == "vic"
    with pytest.raises(Conflict, match="the last administrator"):
        boss.people.change(BOSS, disabled=True)
    for scopes, seconds in ((["sudo"], None), ([], -1.0), ([], float("inf"))):
        with pytest.raises(InvalidValue):
            vic.tokens.create("bad", scopes=scopes, expires_seconds=seconds)


def test_everything_that_changes_is_recorded(server: TeamServer):
    server.client("ed").runs.note(["vision-base"], "hello")
    server.client().people.add("zoe")
    server.client("ada").people.set_role("zoe", "vision", Role.VIEWER)
    server.client("vic").tokens.revoke("tests")
    server.logged_in("ed")
    boss = server.client()
    first = boss.people.changes(limit=3)
    rest = boss.people.changes(limit=100, after=first.next)
    said = [(one.actor, one.action, one.target.split()[0]) for one in (*first.items, *rest.items)]
    assert said[:5] == [
        ("ed", "login", "person"),
        ("vic", "revoke", "token"),
        ("ada", "role", "workspace"),
        (BOSS, "add", "person"),
        ("ed", "change", "run1" if said[4][2] == "run1" else "run2"),
    ]
    assert [one.actor for one in boss.people.changes(actor="ada").items] == ["ada"]
    assert not any("aboard_" in str(one.details) for one in (*first.items, *rest.items))


def test_people_see_those_with_whom_they_share_a_workspace(server: TeamServer):
    server.person("spy", secret=Role.VIEWER)
    assert [one.name for one in server.client("vic").people.list().items] == ["ada", "ed", "vic"]
    assert [one.name for one in server.client("nobody").people.list().items] == ["nobody"]
    everybody = {one.name for one in server.client().people.list().items}
    assert everybody == {BOSS, "ada", "ed", "vic", "nobody", "spy"}
    with pytest.raises(UnknownName):
        server.client("vic").people.get("spy")
    with pytest.raises(UnknownName, match="there is no person 'spi'") as caught:
        server.client("ada").people.set_role("spi", "vision", Role.VIEWER)
    assert "spy" not in caught.value.hint


def test_a_browser_logs_in_with_a_token_and_out_again(server: TeamServer):
    sent_away = server.ask("/w/vision?x=1", Accept="text/html")
    assert (sent_away.status, sent_away.header("location")) == (303, "/login?next=%2Fw%2Fvision%3Fx%3D1")
    page = server.ask("/login?next=%2Fw%2Fvision%3Fx%3D1")
    assert (page.status, b'value="/w/vision?x=1"' in page.body) == (200, True)
    form = f"token={server.tokens['vic']}&next=/w/vision?x=1"
    answer = server.ask("/login", "POST", form=form, Origin=server.url)
    assert (answer.status, answer.header("location")) == (303, "/w/vision?x=1")
    said = answer.header("set-cookie")
    assert "HttpOnly" in said
    assert "SameSite=Lax" in said
    assert server.tokens["vic"] not in said
    assert server.ask("/api/v1/me", Cookie=answer.cookie).document["name"] == "vic"
    out = server.ask("/logout", "POST", form="", Cookie=answer.cookie, Origin=server.url)
    assert (out.status, "Max-Age=0" in out.header("set-cookie")) == (303, True)
    assert server.ask("/api/v1/me", Cookie=answer.cookie).status == 401


def test_a_browser_gets_another_secret_when_the_rights_of_its_person_change(server: TeamServer):
    token = server.person("rae", alpha=Role.VIEWER)
    cookie = server.logged_in("rae")
    assert server.ask("/api/v1/me", Cookie=cookie).cookie == ""
    server.client().people.set_role("rae", "alpha", Role.EDITOR)
    fresh = server.ask("/api/v1/me", Cookie=cookie).cookie
    assert fresh not in ("", cookie)
    told = server.ask("/api/v1/me", Cookie=fresh)
    assert (told.document["roles"]["alpha"], told.cookie) == ("editor", "")
    # What the page had under way is answered, but the old secret is not good for long.
    assert server.ask("/api/v1/me", Cookie=cookie).status == 200
    assert server.catalog.sessions.check(cookie.partition("=")[2], now() + timedelta(minutes=2)) is None
    # Another login leaves nothing of the session before it.
    form = f"token={token}&next=/"
    again = server.ask("/login", "POST", form=form, Origin=server.url, Cookie=fresh).cookie
    assert server.ask("/api/v1/me", Cookie=again).status == 200
    assert [server.ask("/api/v1/me", Cookie=one).status for one in (fresh, cookie)] == [401, 401]


def test_a_session_ends_with_the_token_that_began_it(server: TeamServer):
    cookie = server.logged_in("vic")
    assert server.ask("/api/v1/me", Cookie=cookie).status == 200
    server.client("vic").tokens.revoke("tests")
    assert server.ask("/api/v1/me", Cookie=cookie).status == 401


def test_what_a_token_creates_ends_with_it(server: TeamServer):
    """Links, browser sessions, further tokens, and what these create in turn."""
    made = server.client("vic").tokens.create("short", expires_seconds=3600)
    short = Client(server.url, made.text)
    link, unused = (server.login_link(made.text) for _ in range(2))
    cookie = server.ask(link).cookie
    by_token = short.tokens.create("child")
    by_session = server.ask("/api/v1/tokens", "POST", body={"name": "page"}, Cookie=cookie, Origin=server.url).document
    assert by_token.token.expires == made.token.expires
    assert by_session["token"]["expires"] == to_wire(made.token.expires)
    later = now() + timedelta(seconds=3601)
    assert server.catalog.sessions.check(cookie.partition("=")[2], later) is None
    bearers = [f"Bearer {text}" for text in (by_token.text, by_session["text"])]
    assert [server.ask("/api/v1/me", Authorization=one).status for one in bearers] == [200, 200]
    assert server.ask("/api/v1/me", Cookie=cookie).status == 200
    server.client("vic").tokens.revoke("short")
    assert [server.ask("/api/v1/me", Authorization=one).status for one in bearers] == [401, 401]
    assert server.ask("/api/v1/me", Cookie=cookie).status == 401
    assert server.ask(unused, Accept="text/html").status == 401
    assert server.ask("/api/v1/me", who="vic").status == 200


def test_a_program_that_logs_in_by_a_browser_ends_with_the_token_of_the_browser(server: TeamServer):
    verifier = "v" * 43
    form = f"port=40123&challenge={hashlib.sha256(verifier.encode()).hexdigest()}&state=s"
    cookie = server.logged_in("vic")
    answer = server.ask("/login/program", "POST", form=form, Cookie=cookie, Origin=server.url)
    code = answer.header("location").partition("code=")[2].partition("&")[0]
    made = server.client("nobody").tokens.exchange(code, verifier, "login on gpu7")
    server.client("vic").tokens.revoke("tests")
    assert server.ask("/api/v1/me", Authorization=f"Bearer {made.text}").status == 401


def test_a_token_for_another_person_does_not_end_with_that_of_the_administrator(server: TeamServer):
    own = server.client().tokens.create("laptop")
    made = Client(server.url, own.text).tokens.create("first", person="vic")
    server.client().tokens.revoke(own.token.id)
    assert server.ask("/api/v1/me", Authorization=f"Bearer {made.text}").document["name"] == "vic"
    (entry,) = server.client().people.changes(target=f"token {made.token.id}").items
    assert entry.details["by_token"] == own.token.id


def test_a_stream_ends_when_rights_are_taken_away(server: TeamServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "RECHECK_SECONDS", 0.1)
    for take_away in (
        lambda: server.client("ada").people.set_role("vic", "vision", None),
        lambda: server.client("ed").tokens.revoke("tests"),
    ):
        who = "vic" if server.catalog.people.roles("vic") else "ed"
        ended = threading.Event()
        head = {"Authorization": f"Bearer {server.tokens[who]}"}
        request = urllib.request.Request(f"{server.url}/api/v1/events", headers=head)
        with urllib.request.urlopen(request, timeout=30) as stream:
            assert b"retry" in stream.readline()
            reading = threading.Thread(target=lambda stream=stream, ended=ended: (stream.read(), ended.set()))
            reading.start()
            assert not ended.wait(0.5)  # it goes on as long as nothing changes
            take_away()
            assert ended.wait(60)
            reading.join(10)


def test_an_address_with_a_code_opens_a_session_once(server: TeamServer):
    path = server.login_link(server.tokens["vic"], "/w/vision?tab=2")
    first = server.ask(path, Accept="text/html")
    assert (first.status, first.header("location")) == (303, "/w/vision?tab=2")
    assert server.ask("/api/v1/me", Cookie=first.cookie).document["name"] == "vic"
    again = server.ask(path, Accept="text/html")
    assert (again.status, again.header("set-cookie")) == (401, "")
    assert b"has been used already" in again.body
    # Who is logged in already is not bothered.
    assert server.ask(path, Cookie=first.cookie).header("location") == "/w/vision?tab=2"


def test_a_program_gets_a_token_by_way_of_the_browser(server: TeamServer):
    verifier = "v" * 43
    challenge = hashlib.sha256(verifier.encode()).hexdigest()
    cookie = server.logged_in("vic")
    query = f"port=40123&challenge={challenge}&state=s7"
    page = server.ask(f"/login/program?{query}", Cookie=cookie)
    assert (page.status, b"You are vic" in page.body) == (200, True)
    answer = server.ask("/login/program", "POST", form=query, Cookie=cookie, Origin=server.url)
    location = answer.header("location")
    assert location.startswith("http://127.0.0.1:40123/?code=")
    assert location.endswith("&state=s7")
    code = location.partition("code=")[2].partition("&")[0]
    tokens = server.client("nobody").tokens
    with pytest.raises(Unauthorized):
        tokens.exchange(code, "another verifier")
    with pytest.raises(Unauthorized):  # who shows a wrong verifier has spoilt it
        tokens.exchange(code, verifier)
    answer = server.ask("/login/program", "POST", form=query, Cookie=cookie, Origin=server.url)
    code = answer.header("location").partition("code=")[2].partition("&")[0]
    made = tokens.exchange(code, verifier, "login on gpu7")
    assert (made.token.user, made.token.name) == ("vic", "login on gpu7")
    assert server.ask("/api/v1/me", Authorization=f"Bearer {made.text}").document["name"] == "vic"
