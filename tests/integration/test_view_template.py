# SPDX-License-Identifier: Apache-2.0
"""Names from a template on every route of a board."""

from __future__ import annotations

import json
from urllib.parse import quote

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.board.hosting import BoardApp
from aboard.board.names import NamedRuns, folder_columns
from aboard.model.templates import FOLDER_FIELDS, NameTemplate
from aboard.reader.collection import RunCollection
from support.board_client import SESSION_GROUPS, BoardClient, every_request, plugin
from support.commands import aboard
from support.sample_logs import write_every_kind
from support.viewing import eventually, viewing


def renamed(folder, template):
    collection = RunCollection({"": folder})
    collection.refresh()
    named = NamedRuns(collection, NameTemplate(template, FOLDER_FIELDS), folder_columns({"": folder}))
    return collection, named, BoardClient(BoardApp("test", named))


def test_every_route_uses_the_names(tmp_path):
    write_every_kind(SummaryWriter, tmp_path)
    collection, _, client = renamed(tmp_path, "x_{run}")
    names = {f"x_{name}" for name in collection.runs}
    assert set(client.fetch("/data/runs").json) == names
    asked = list(every_request(lambda one: client.fetch(*one).json))
    assert [str(one) for one in asked if client.fetch(*one).status != 200] == []
    for route in ("scalars/tags", "images/tags", "audio/tags", "histograms/tags", "text/tags", "mesh/tags"):
        listed = set(client.fetch(f"/data/plugin/{route}").json)
        assert listed
        assert listed <= names
    assert set(client.fetch("/data/plugin/projector/runs").json) <= names
    groups = client.fetch("/data/plugin/hparams/session_groups", json.dumps(SESSION_GROUPS).encode()).json
    sessions = {session["name"] for group in groups["sessionGroups"] for session in group["sessions"]}
    assert sessions
    assert sessions <= names


def test_a_page_that_was_loaded_before_a_run_got_its_name_goes_on_working(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_image("picture", np.zeros((3, 4, 5), np.uint8), 0)
        collection, named, client = renamed(tmp_path, "{run}_lr={hparams.lr}")
        writer.flush()
        collection.refresh()
        named._looked_at = float("-inf")
        wanted = json.dumps([{"plugin": "images", "tag": "picture", "run": "a_lr=none", "sample": 0}])
        (answer,) = client.fetch(*plugin("timeseries", "timeSeries", requests=wanted)).json
        key = answer["runToSeries"]["a_lr=none"][0]["imageId"]
        (tmp_path / "a" / "projector_config.pbtxt").write_text('embeddings { tensor_path: "t.tsv" }')
        (tmp_path / "a" / "t.tsv").write_text("1\t2\n")
        assert client.fetch("/data/plugin/projector/runs").json == ["a_lr=none"]
        writer.add_hparams({"lr": 0.01}, {}, in_place=True)
    collection.refresh()
    named._looked_at = float("-inf")
    assert client.fetch("/data/runs").json == ["a_lr=.01"]
    assert client.fetch(*plugin("timeseries", "imageData", imageId=key)).body.startswith(b"\x89PNG")
    assert len(client.fetch(*plugin("images", "images", run="a_lr=none", tag="picture")).json) == 1
    assert client.fetch("/data/plugin/projector/runs").json == ["a_lr=.01"], "known at once"


def test_a_live_run_gets_its_name_as_it_is_written(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("loss", 0.25, 0)
        writer.flush()
        with viewing(tmp_path, "--template", "{root}:{run}_lr={hparams.lr}_{metrics.loss.last}") as board:
            first = f"{tmp_path.name}:a_lr=none_.25"
            eventually(lambda: board.json("data/runs") == [first])
            writer.add_hparams({"lr": 0.01}, {}, in_place=True)
            writer.flush()
            now = f"{tmp_path.name}:a_lr=.01_.25"
            eventually(lambda: board.json("data/runs") == [now])
            assert board.scalars(first) == board.scalars(now)
            assert board.json(f"data/plugin/scalars/scalars?run={quote(now)}&tag=loss")[0][2] == 0.25


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{run}_{hparams.lr", "  {run}_{hparams.lr\n        ^"),
        ("{rum}", "hint: fields: run, logdir, root, workspace, hparams.NAME, metrics.NAME"),
        ("", "the template is empty"),
    ],
)
def test_a_wrong_template_is_explained(tmp_path, template, said):
    result = aboard("view", tmp_path, "--template", template)
    assert result.code == 1
    assert said in result.err
    assert "Traceback" not in result.err
    assert result.out == ""
