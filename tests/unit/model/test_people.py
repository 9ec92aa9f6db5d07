# SPDX-License-Identifier: Apache-2.0
"""What roles and tokens permit in a workspace."""

from __future__ import annotations

import pytest

from aboard.errors import Forbidden, UnknownName
from aboard.model.people import Access, Role

VIC = Access(name="vic", roles={"vision": Role.VIEWER, "speech": Role.EDITOR})


def test_a_viewer_may_look_and_change_nothing() -> None:
    VIC.check(Role.VIEWER, "Vision")
    for role in (Role.EDITOR, Role.ADMIN):
        with pytest.raises(Forbidden, match=f"needs the role {role} in the workspace vision"):
            VIC.check(role, "vision")


def test_a_role_includes_those_below_it() -> None:
    VIC.check(Role.VIEWER, "speech")
    VIC.check(Role.EDITOR, "speech")
    assert not VIC.may(Role.ADMIN, "speech")


def test_a_workspace_without_a_role_does_not_exist() -> None:
    with pytest.raises(UnknownName, match="there is no workspace 'secret'"):
        VIC.check(Role.VIEWER, "secret")


def test_a_token_for_less_limits_its_owner() -> None:
    reading = Access(name="ann", is_administrator=True, most=Role.VIEWER)
    reading.check(Role.VIEWER, "vision")
    with pytest.raises(Forbidden):
        reading.check(Role.EDITOR, "vision")
    with pytest.raises(Forbidden):
        reading.check_change()
    with pytest.raises(Forbidden):
        reading.check_administrator()
    assert not reading.writes
