# SPDX-License-Identifier: Apache-2.0
"""One request to a board cannot make a response without bounds, however often it names the same curves."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

import aboard
from aboard.board import responses, routes
from aboard.board.responses import RESPONSES
from support.board_client import FORM, BoardClient, board_over, plugin

POINTS = 100


@pytest.fixture
def client(tmp_path: Path) -> BoardClient:
    with aboard.SummaryWriter(tmp_path) as writer:
        for step in range(POINTS):
            writer.add_scalar("a/loss", 1.0, step)
            writer.add_scalar("b/loss", 1.0, step)
    return BoardClient(board_over(tmp_path))


def time_series(client: BoardClient, times: int) -> tuple[int, bytes]:
    requests = json.dumps([{"plugin": "scalars", "tag": "a/loss"}] * times)
    answer = client.fetch("/data/plugin/timeseries/timeSeries", urlencode({"requests": requests}).encode(), FORM)
    return answer.status, answer.body


def test_a_request_that_repeats_itself_is_refused(client: BoardClient, monkeypatch: pytest.MonkeyPatch) -> None:
    status, body = time_series(client, 1)
    assert status == 200
    monkeypatch.setattr(responses, "LARGEST_RESPONSE", 3 * len(body))
    assert time_series(client, 2)[0] == 200
    kept = len(RESPONSES._kept)
    status, text = time_series(client, 1000)
    assert status == 400
    assert b"Ask for fewer curves" in text
    assert len(RESPONSES._kept) == kept


def test_custom_scalars_of_too_many_tags_are_refused(client: BoardClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_MOST_POINTS", POINTS)
    asked = {pattern: plugin("custom_scalars", "scalars", run=".", tag=pattern) for pattern in ("a/", ".*")}
    one = client.fetch(str(asked["a/"].path))
    assert one.status == 200
    assert json.loads(one.body)["tag_to_events"].keys() == {"a/loss"}
    both = client.fetch(str(asked[".*"].path))
    assert both.status == 400
    assert b"fewer tags" in both.body
