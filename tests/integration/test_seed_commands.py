# SPDX-License-Identifier: Apache-2.0
"""Every command line of docs/seeds.md does what the table says, against a running server."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard import Client, TensorBoard
from aboard.errors import BoardLimitExceeded
from aboard.store import open_store
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import until_shown
from support.commands import aboard
from support.runs import well
from support.seed_lab import Lab, seed_lab
from support.store_kinds import oss_environment
from support.xml_buckets import OssService, bucket_service

TEXT = (Path(__file__).parents[2] / "docs/seeds.md").read_text("utf-8")
SHELL = re.findall(r"^\| (XT|Determined) \| `(.+?)` \| `(.+?)` \| (.+) \|$", TEXT, re.MULTILINE)
PYTHON = re.findall(r"^\| PAI \| `(.+?)` \| `(.+?)` \|$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with seed_lab(tmp_path_factory.mktemp("seeds")) as made:
        yield made


def test_the_tables_are_found():
    rows = [line for line in TEXT.splitlines() if re.match(r"\| (XT|Determined|PAI) \|", line)]
    assert len(SHELL) + len(PYTHON) == len(rows) > 20


@pytest.mark.parametrize(("system", "there", "here", "outcome"), SHELL, ids=[row[2] for row in SHELL])
def test_in_a_shell(lab: Lab, system: str, there: str, here: str, outcome: str):
    word = {"XT": "xt", "Determined": "det"}[system]
    assert here == re.sub(rf"^{word} ", "aboard ", there), "only the first word changes"
    board = lab.client.boards.create("run23").board
    wanted = [text.replace("<id>", board.id) for text in re.findall(r"`([^`]+)`", outcome)]
    arguments = shlex.split(here.replace("<board>", board.name))[1:]
    opens = arguments[:2] == ["tensorboard", "start"] or arguments[0] == "view"
    if opens:
        document = json.loads(well(aboard(*arguments, "--json")).out)
        assert document["sources"] == wanted
        assert document["state"] == "running"
    else:
        # No browser is opened from a test.
        quiet = ["--no-browser"] if "open" in arguments else []
        said = well(aboard(*arguments, *quiet)).out
        assert all(text in said for text in wanted), said


def test_in_python(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1, 1)
    (file,) = tmp_path.iterdir()
    with contextlib.ExitStack() as stack:
        bucket = stack.enter_context(bucket_service(OssService({"contract": {}})))
        for name, value in {**oss_environment(bucket), "NO_PROXY": "127.0.0.1"}.items():
            monkeypatch.setenv(name, value)
        open_store("oss://contract/path").put(f"to/tensorboard/log/dir/{file.name}", file.read_bytes())
        names = {"TensorBoard": TensorBoard, "client": Client()}
        for there, here in PYTHON:
            if "estimator" not in there and "experiment" not in there:
                assert here == there
            exec(here.replace("<BucketName>", "contract"), names)
            if "create" in here:
                until_shown(lab.client, names["tb"].info.uri, ".")
            if "app_uri" in here:
                assert capsys.readouterr().out.startswith(f"{lab.client.url}/boards/{names['tb'].id}/")
        assert [row[1] for row in PYTHON if ".tensorboard()" in row[1]]
        assert names["tb"].status == "running"


def test_the_name_of_the_limit_is_the_one_that_pai_has():
    assert BoardLimitExceeded.code == "TensorboardLimitExceeded"
    assert BoardLimitExceeded.code in TEXT
