# SPDX-License-Identifier: Apache-2.0
"""The list of boards: whose they are, how they are, when they were used; and their addresses for others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from support.logged_runs import logged_run
from support.page_questions import count_questions
from support.page_world import World, page_world
from support.processes import until


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        made.uids["run"] = logged_run(made.store, name="run", workspace="lab", curves={"loss": [1.0]})
        until(lambda: made.client.runs.count() == 1)
        yield made


def test_a_board_tells_its_owner_state_and_last_use(visit, world):
    board = world.client.boards.create([f"run{world.number('run')}"]).board
    page = visit("/w/lab/boards")
    row = page.locator("tbody tr", has_text=board.name)
    row.wait_for()
    heads = page.get_by_role("columnheader").all_inner_texts()
    told = dict(zip(heads, row.locator("th, td").all_inner_texts(), strict=True))
    assert told["Owner"] == "tester"
    assert told["State"] == "running"
    page.request.get(f"{world.url}/boards/{board.id}/")
    page.reload()
    used = row.locator("th, td").nth(heads.index("Last used"))
    used.filter(has_text=re.compile("just now|ago")).wait_for()
    row.get_by_role("button", name="Stop").click()
    row.get_by_text("stopped", exact=True).wait_for()
    world.client.boards.delete(board.id)


def test_the_address_of_a_board_is_copied_or_told(visit, world):
    board = world.client.boards.create([f"run{world.number('run')}"]).board
    address = f"{world.url}/boards/{board.id}/"
    page = visit("/w/lab/boards", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Share").click()
    page.get_by_text("The address of the board is copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == address
    other = visit("/w/lab/boards")
    other.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')) }")
    other.get_by_role("button", name="Share").click()
    other.get_by_text(address).wait_for()
    world.client.boards.delete(board.id)


def test_who_looks_for_a_board_by_its_name_asks_for_nothing(visit, world):
    board = world.client.boards.create([f"run{world.number('run')}"]).board
    page = visit("/w/lab/boards")
    page.locator("tbody tr", has_text=board.name).wait_for()
    questions = count_questions(page, "/api/v1/boards?")
    page.get_by_label("Find a board").press_sequentially("nothing")
    page.get_by_text("No board matches").wait_for()
    assert questions() == 0
    page.get_by_label("Everybody's").uncheck()
    page.wait_for_url("**all=0*")
    assert questions() == 1
    world.client.boards.delete(board.id)
