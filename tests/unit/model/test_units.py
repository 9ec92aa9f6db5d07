# SPDX-License-Identifier: Apache-2.0
"""Units as values: what they may be, and handles as text."""

from __future__ import annotations

from typing import Any

import pytest

from aboard.errors import InvalidValue, NewerFormat
from aboard.model.names import is_uid, new_uid
from aboard.model.states import UnitState
from aboard.model.units import Endpoint, EndReason, Mount, Port, Resources, UnitHandle, UnitSpec, state_after
from support.cases import all_cases


def test_a_unit_has_an_id_before_anybody_submits_it() -> None:
    first, second = UnitSpec(name="a", command=("true",)), UnitSpec(name="a", command=("true",))
    assert is_uid(first.id)
    assert first.id != second.id


@all_cases(
    ("parts", "told"),
    [
        ({"command": ()}, "neither a command nor an image"),
        ({"command": ("",)}, "empty text"),
        ({"command": ("a\0b",)}, "cannot stand in a command"),
        ({"name": "With Space"}, "not a name for a unit"),
        ({"name": "x" * 41}, "not a name for a unit"),
        ({"name": "-a"}, "not a name for a unit"),
        ({"timeout": 0}, "timeout of 0 s"),
        ({"timeout": -1.0}, "timeout of -1.0 s"),
        ({"timeout": float("nan")}, "timeout of nan s"),
        ({"grace": -1.0}, "grace of -1.0 s"),
        ({"environment": {"A-B": "x"}}, "'A-B' is not a name for a variable"),
        ({"labels": {"a b": "x"}}, "is not a label"),
        ({"ports": (Port(), Port())}, "two ports of one name"),
        ({"id": "short"}, "not a uid"),
    ],
)
def test_what_can_never_run_is_refused(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        UnitSpec(**{"name": "a", "command": ("true",), **parts})


def test_a_value_of_the_environment_is_never_shown() -> None:
    unit = UnitSpec(name="a", command=("true",), environment={"TOKEN": "s3cret"})
    assert "s3cret" not in repr(unit)
    with pytest.raises(InvalidValue) as refused:
        UnitSpec(name="a", command=("true",), environment={"TOKEN": "s3\0cret"})
    assert "cret" not in str(refused.value)
    assert "TOKEN" in str(refused.value)


def test_a_port_that_is_not_there_is_an_error_that_lists_those_that_are() -> None:
    unit = UnitSpec(name="a", command=("true",), ports=(Port(name="http", number=6006), Port(name="debug")))
    assert unit.port("http").number == 6006
    with pytest.raises(InvalidValue) as refused:
        unit.port("grpc")
    assert "http, debug" in refused.value.hint


@pytest.mark.parametrize("number", [-1, 65536])
def test_ports_lie_in_their_range(number: int) -> None:
    with pytest.raises(InvalidValue, match=str(number)):
        Port(number=number)


def test_parts_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidValue, match="absolute path"):
        Mount(source="/a", target="b")
    with pytest.raises(InvalidValue, match="0 CPUs"):
        Resources(cpus=0)
    with pytest.raises(InvalidValue, match="512 bytes"):
        Resources(memory=512)
    with pytest.raises(InvalidValue, match="type a100"):
        Resources(gpu_type="a100")


def test_a_handle_is_a_text() -> None:
    handle = UnitHandle(executor="ssh", unit=new_uid(), options={"host": "é", "port": 22}, place={"folder": "/a"})
    assert "\n" not in handle.text()
    assert UnitHandle.parse(handle.text()) == handle


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other", "version": 1}'])
def test_another_text_is_no_handle(text: str) -> None:
    with pytest.raises(InvalidValue, match="handle"):
        UnitHandle.parse(text)


def test_a_handle_of_a_later_version_is_refused() -> None:
    text = UnitHandle(executor="local", unit=new_uid()).text().replace('"version": 1', '"version": 2')
    with pytest.raises(NewerFormat, match="version 2"):
        UnitHandle.parse(text)


def test_the_end_decides_on_the_state() -> None:
    assert state_after(EndReason.COMPLETED) is UnitState.STOPPED
    assert state_after(EndReason.STOPPED) is UnitState.STOPPED
    gone = {EndReason.LOST, EndReason.FORGOTTEN}
    for reason in set(EndReason) - {EndReason.COMPLETED, EndReason.STOPPED}:
        assert state_after(reason) is (UnitState.LOST if reason in gone else UnitState.FAILED)


def test_addresses_of_version_six_stand_in_brackets() -> None:
    assert Endpoint(host="127.0.0.1", port=80).address == "127.0.0.1:80"
    assert Endpoint(host="::1", port=80).address == "[::1]:80"
