# SPDX-License-Identifier: Apache-2.0
"""What every catalog does with boards, people, tokens and the record of changes."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from aboard.errors import Conflict, InvalidValue, Unauthorized, UnknownName
from aboard.model.boards import BoardKind, BoardRecord, BoardUnit
from aboard.model.people import Role
from aboard.model.states import UnitState
from aboard.model.times import now
from support.catalog_runs import START, hours


def make_board(**fields):
    known = {"id": str(uuid.uuid4()), "name": "rarely-cute-man", "workspace": "ws1", "created": START}
    return BoardRecord(**{**known, "sources": ("run1", "exp7"), "owner": "ann", **fields})


@pytest.fixture(autouse=True)
def workspaces(catalog):
    for name in ("ws1", "ws2"):
        catalog.workspaces.add(name)


class TestBoards:
    def test_everything_comes_back(self, catalog):
        board = make_board(
            kind=BoardKind.PROCESS,
            description="text",
            where="hparams.lr < 1",
            template="{run}",
            idle_timeout=timedelta(minutes=5),
            max_runtime=timedelta(hours=4),
            settings={"tensorboard_args": ["--samples_per_plugin=images=100"], "image": None},
        )
        assert catalog.boards.add(board) == board
        assert catalog.boards.get(board.id) == board
        with pytest.raises(Conflict, match="already"):
            catalog.boards.add(board)

    def test_a_part_of_the_id_is_enough(self, catalog):
        first = catalog.boards.add(make_board(id="aaaa1111-0000-0000-0000-000000000000"))
        second = catalog.boards.add(make_board(id="aaaa2222-0000-0000-0000-000000000000"))
        assert catalog.boards.get("AAAA1") == first
        assert catalog.boards.get(second.id) == second
        with pytest.raises(Conflict, match="several boards begin with 'aaaa'"):
            catalog.boards.get("aaaa")
        for unknown in ("b", "aaaa%", "aaaa3"):
            with pytest.raises(UnknownName, match="there is no board"):
                catalog.boards.get(unknown)
        with pytest.raises(InvalidValue):
            catalog.boards.get("")

    def test_a_life(self, catalog):
        board = catalog.boards.add(make_board(max_runtime=timedelta(hours=4)))
        catalog.boards.change_state(board.id, UnitState.STARTING, at=START)
        running = catalog.boards.change_state(board.id, UnitState.RUNNING, at=START + hours(1))
        assert (running.started, running.expires) == (START + hours(1), START + hours(5))
        catalog.boards.touch(board.id, START + hours(2))
        catalog.boards.touch(board.id, START + hours(1))
        assert catalog.boards.get(board.id).last_used == START + hours(2)
        with pytest.raises(Conflict, match="stop it first"):
            catalog.boards.delete(board.id)
        stopped = catalog.boards.change_state(board.id, UnitState.STOPPED, at=START + hours(3), reason="idle")
        assert (stopped.ended, stopped.reason) == (START + hours(3), "idle")
        with pytest.raises(Conflict, match="rarely-cute-man is stopped and cannot become running"):
            catalog.boards.change_state(board.id, UnitState.RUNNING)
        again = catalog.boards.change_state(board.id, UnitState.STARTING)
        assert (again.ended, again.reason, again.started) == (None, "", None)
        catalog.boards.change_state(board.id, UnitState.FAILED, exit_status="1")
        catalog.boards.delete(board.id)
        for call in (catalog.boards.get, catalog.boards.delete):
            with pytest.raises(UnknownName):
                call(board.id)
        with pytest.raises(UnknownName):
            catalog.boards.change_state(board.id, UnitState.STARTING)

    def test_lists(self, catalog):
        mine = catalog.boards.add(make_board(created=START + hours(1)))
        theirs = catalog.boards.add(make_board(owner="bob", workspace="ws2", kind=BoardKind.PROCESS))
        assert catalog.boards.list() == [theirs, mine]
        assert catalog.boards.list(owner="ann") == [mine]
        assert catalog.boards.list(workspaces=["ws2"], kind=BoardKind.PROCESS) == [theirs]
        assert catalog.boards.list(states=[UnitState.RUNNING]) == []

    def test_a_board_is_written_whole_except_its_state(self, catalog):
        board = catalog.boards.add(make_board())
        changed = catalog.boards.replace(replace(board, description="new", state=UnitState.FAILED))
        assert (changed.description, changed.state) == ("new", UnitState.PENDING)
        with pytest.raises(UnknownName):
            catalog.boards.replace(make_board())


class TestPeople:
    def test_people(self, catalog):
        ann = catalog.people.add("Ann", display_name="Ann A.", subject="oidc|1", is_administrator=True)
        assert catalog.people.get("ann") == ann == catalog.people.by_subject("oidc|1")
        assert catalog.people.by_subject("") is None
        bob = catalog.people.add("bob")
        assert catalog.people.list() == [ann, bob]
        for taken in ({"name": "ANN"}, {"name": "carl", "subject": "oidc|1"}):
            with pytest.raises(Conflict, match="already"):
                catalog.people.add(**taken)
        changed = catalog.people.change("bob", display_name="Bob", is_administrator=True)
        assert (changed.display_name, changed.is_administrator) == ("Bob", True)
        assert catalog.people.disable("bob").disabled is not None
        assert catalog.people.enable("bob").disabled is None
        with pytest.raises(UnknownName, match="there is no person 'bo'\n  hint: nearest: bob"):
            catalog.people.get("bo")

    def test_the_last_administrator_stays(self, catalog):
        for name in ("ann", "bob", "carl"):
            catalog.people.add(name, is_administrator=True)
        catalog.people.change("carl", disabled=True, keep_administrator=True)
        catalog.people.change("ann", is_administrator=False, keep_administrator=True)
        for change in ({"is_administrator": False}, {"disabled": True}, {"is_administrator": True, "disabled": True}):
            with pytest.raises(Conflict, match="bob is the last administrator"):
                catalog.people.change("bob", display_name="B", **change, keep_administrator=True)
        # What takes nobody away is fine, also for who is kept out anyway.
        catalog.people.change("bob", display_name="Bob", is_administrator=True, keep_administrator=True)
        catalog.people.change("carl", is_administrator=False, keep_administrator=True)
        assert (catalog.people.administrators(), catalog.people.get("bob").display_name) == (1, "Bob")
        # An identity provider has the last word.
        catalog.people.change("bob", is_administrator=False)
        assert catalog.people.administrators() == 0

    @pytest.mark.parametrize("change", [{"is_administrator": False}, {"disabled": True}])
    def test_of_two_administrators_that_lose_it_at_once_one_stays(self, catalog, change):
        names = ("ann", "bob")
        for name in names:
            catalog.people.add(name)
        for _ in range(10):
            for name in names:
                catalog.people.change(name, is_administrator=True, disabled=False)
            together = threading.Barrier(len(names))

            def lose(name, together=together):
                together.wait()
                try:
                    catalog.people.change(name, **change, keep_administrator=True)
                except Conflict:
                    return False
                return True

            with ThreadPoolExecutor(len(names)) as threads:
                assert sorted(threads.map(lose, names)) == [False, True]
            assert catalog.people.administrators() == 1

    def test_roles(self, catalog):
        catalog.people.add("ann")
        catalog.people.set_role("ann", "ws1", Role.VIEWER)
        catalog.people.set_role("ann", "ws1", Role.EDITOR)
        catalog.people.set_role("ann", "ws2", Role.ADMIN)
        assert catalog.people.roles("ann") == {"ws1": Role.EDITOR, "ws2": Role.ADMIN}
        assert catalog.people.members("ws1") == {"ann": Role.EDITOR}
        catalog.people.set_role("ann", "ws2", None)
        assert catalog.people.roles("ann") == {"ws1": Role.EDITOR}
        assert Role.ADMIN.includes(Role.VIEWER)
        assert not Role.VIEWER.includes(Role.EDITOR)
        with pytest.raises(UnknownName):
            catalog.people.set_role("nobody", "ws1", Role.VIEWER)


class TestTokens:
    def test_a_token_opens_until_it_is_over(self, catalog):
        catalog.people.add("ann")
        token, text = catalog.tokens.issue("ann", "laptop", scopes=["read"], expires=now() + hours(1))
        assert (token.user, token.name, token.scopes, token.last_used) == ("ann", "laptop", ("read",), None)
        assert catalog.tokens.check(text).id == token.id
        assert catalog.tokens.list("ann")[0].last_used is not None
        assert catalog.tokens.check(text, at=now() + hours(2)) is None
        catalog.tokens.revoke(token.id)
        assert catalog.tokens.check(text) is None

    def test_what_opens_nothing(self, catalog):
        catalog.people.add("ann")
        token, text = catalog.tokens.issue("ann", "laptop")
        wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
        for bad in ("", "x", wrong, text + "x", text.replace("aboard", "other"), f"aboard_{token.id}_"):
            assert catalog.tokens.check(bad) is None
        catalog.people.disable("ann")
        assert catalog.tokens.check(text) is None
        catalog.people.enable("ann")
        catalog.tokens.delete(token.id)
        assert catalog.tokens.check(text) is None
        with pytest.raises(UnknownName):
            catalog.tokens.revoke(token.id)
        with pytest.raises(UnknownName):
            catalog.tokens.issue("nobody", "laptop")

    def test_what_a_token_creates_ends_with_it(self, catalog):
        catalog.people.add("ann")
        ends = now() + hours(1)
        parent, parent_text = catalog.tokens.issue("ann", "laptop", expires=ends)
        child, child_text = catalog.tokens.issue("ann", "cluster", expires=now() + hours(9), parent=parent.id)
        grandchild, grandchild_text = catalog.tokens.issue("ann", "job", parent=child.id)
        _, other_text = catalog.tokens.issue("ann", "other")
        assert (child.parent, child.expires, grandchild.expires) == (parent.id, ends, ends)
        secret = catalog.sessions.begin("ann", origin="link", lifetime=hours(24), token_id=child.id)
        codes = [catalog.login_codes.issue("ann", lifetime=hours(24), token_id=parent.id) for _ in range(2)]
        assert catalog.login_codes.holder(codes[0]) == ("ann", parent.id)
        assert catalog.login_codes.redeem(codes[0]) == ("ann", parent.id)
        assert catalog.sessions.check(secret).token_id == child.id
        assert catalog.sessions.check(secret, ends) is None
        catalog.tokens.revoke(parent.id)
        assert [catalog.tokens.check(text) for text in (parent_text, child_text, grandchild_text)] == [None] * 3
        assert catalog.tokens.check(other_text) is not None
        assert catalog.sessions.check(secret) is None
        assert (catalog.login_codes.holder(codes[1]), catalog.login_codes.redeem(codes[1])) == (None, None)
        with pytest.raises(Unauthorized, match="revoked or has expired"):
            catalog.tokens.issue("ann", "late", parent=parent.id)

    def test_a_code_ends_with_the_time_of_its_token(self, catalog):
        catalog.people.add("ann")
        token, _ = catalog.tokens.issue("ann", "short", expires=now() - hours(1))
        code = catalog.login_codes.issue("ann", lifetime=hours(1), token_id=token.id)
        assert (catalog.login_codes.holder(code), catalog.login_codes.redeem(code)) == (None, None)
        with pytest.raises(Unauthorized, match="revoked or has expired"):
            catalog.tokens.issue("ann", "late", parent=token.id)

    def test_tokens_created_by_a_deleted_token_end_too(self, catalog):
        catalog.people.add("ann")
        parent, _ = catalog.tokens.issue("ann", "laptop")
        _, text = catalog.tokens.issue("ann", "cluster", parent=parent.id)
        catalog.tokens.delete(parent.id)
        assert catalog.tokens.check(text) is None

    def test_the_secret_is_nowhere_in_the_database(self, catalog):
        catalog.people.add("ann")
        _, text = catalog.tokens.issue("ann", "laptop")
        secret = text.rpartition("_")[2]
        assert secret not in repr(catalog.tokens.list())
        with catalog._database.reading() as connection:
            assert secret not in repr(connection.exec_driver_sql("SELECT * FROM tokens").all())


class TestAudit:
    def test_newest_first_by_pages(self, catalog):
        for index in range(3):
            catalog.audit.record("ann", "run.delete", f"run{index}", {"why": "disk", "index": index})
        catalog.audit.record("bob", "board.stop", "b")
        page = catalog.audit.list(limit=2)
        assert [(entry.actor, entry.target) for entry in page.items] == [("bob", "b"), ("ann", "run2")]
        rest = catalog.audit.list(limit=2, after=page.next)
        assert [entry.details["index"] for entry in rest.items] == [1, 0]
        assert rest.next is None
        assert [entry.action for entry in catalog.audit.list(target="run1", actor="ann").items] == ["run.delete"]


class TestUnits:
    """Of boards that are processes; hosts are the machines whose servers look after them."""

    def claimed(self, catalog, host="here:/home"):
        board = catalog.boards.add(make_board(kind=BoardKind.PROCESS, id=str(uuid.uuid4())))
        return catalog.boards.units.claim(board.id, str(uuid.uuid4()), host)

    def test_what_it_is_stays_until_nothing_is_left_of_it(self, catalog):
        units = catalog.boards.units
        claimed = self.claimed(catalog)
        described = replace(claimed, executor="ssh", options={"host": "there"}, mirror="/shared/x", said=7)
        assert units.note(described)
        catalog.boards.end(claimed.board_id, exit_status="stopped", reason="stopped")
        catalog.boards.delete(claimed.board_id)
        assert (units.find(claimed.unit), list(units.list())) == (described, [described])
        units.gone(claimed.board_id, claimed.unit, UnitState.STOPPED, exit_status="stopped", reason="stopped")
        assert (units.find(claimed.unit), list(units.list())) == (None, [])

    def test_one_takes_it_over_and_who_was_away_changes_nothing(self, catalog):
        units = catalog.boards.units
        claimed = self.claimed(catalog)
        assert units.claim(claimed.board_id, "another", "there:/home") is None
        assert units.take(claimed, "there:/home")
        assert not units.take(claimed, "elsewhere:/home")
        assert not units.note(replace(claimed, executor="local"))
        assert catalog.boards.get(claimed.board_id).unit_host == "there:/home"
        assert units.find(claimed.unit) == replace(claimed, host="there:/home")

    @pytest.mark.parametrize(
        ("state", "then"),
        [
            (UnitState.RUNNING, UnitState.LOST),
            (UnitState.STOPPING, UnitState.STOPPED),
            (UnitState.FAILED, UnitState.FAILED),
        ],
    )
    def test_a_board_goes_on_without_a_unit_that_nobody_reaches(self, catalog, state, then):
        units = catalog.boards.units
        claimed = self.claimed(catalog)
        catalog.boards.change_state(claimed.board_id, state)
        assert not units.part(replace(claimed, host="there:/home"), reason="gone")
        units.part(claimed, reason="gone")
        board = catalog.boards.get(claimed.board_id)
        assert (board.state, board.unit, board.unit_host) == (then, "", "")
        assert list(units.list()) == [claimed], "its host ends it"
        catalog.boards.change_state(claimed.board_id, UnitState.PENDING)
        assert units.claim(claimed.board_id, "another", "there:/home")

    def test_what_an_earlier_version_claimed_is_added(self, catalog):
        claimed = self.claimed(catalog)
        board = catalog.boards.get(claimed.board_id)
        catalog.database.write(lambda connection: connection.exec_driver_sql("DELETE FROM board_units"))
        for _ in range(2):
            catalog.boards.units.add_missing(board)
        assert list(catalog.boards.units.list()) == [
            BoardUnit(unit=claimed.unit, board_id=claimed.board_id, host=claimed.host)
        ]
