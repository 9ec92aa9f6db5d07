# SPDX-License-Identifier: Apache-2.0
import pytest

from aboard.errors import InvalidValue
from aboard.model.names import check_name, check_workspace_name, folded, offline_run_name, run_name


@pytest.mark.parametrize("name", ["ws1", "Team_A.b-c", "7", "x" * 63])
def test_workspaces_may_be_called(name):
    assert check_workspace_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "x" * 64, "ä", None, ".."])
def test_workspaces_may_not_be_called(name):
    with pytest.raises(InvalidValue, match="is not a name for a workspace"):
        check_workspace_name(name)


@pytest.mark.parametrize("name", ["run343", "a b", "größe=3", "x" * 128])
def test_runs_may_be_called(name):
    assert check_name(name, "a run") == name


@pytest.mark.parametrize("name", ["", " a", "a,b", "a/b", "run*", "a\nb", "a\x00b", "x" * 129, 7])
def test_runs_may_not_be_called(name):
    with pytest.raises(InvalidValue, match="is not a name for a run"):
        check_name(name, "a run")


def test_names_given_by_aboard():
    assert run_name(343) == "run343"
    assert offline_run_name("01ARZ3NDEKTSV4RRFFQ69G5FAV") == "run-q69g5fav"
    assert folded("WS1") == folded("ws1")
