# SPDX-License-Identifier: Apache-2.0
"""The projector of a server reads files of the run alone, also when a folder becomes a link between two requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.board.hosting import BoardApp
from aboard.board.provider import BoardMetadata
from aboard.model.names import new_uid
from aboard.reader.collection import RunCollection
from support.board_client import BoardClient, plugin

FILES = {"metadata": "server.json", "tensor": "t.tsv", "bookmarks": "b.json", "sprite_image": "s.png"}
CONFIG = """embeddings {
  tensor_name: "e" tensor_path: "t.tsv" metadata_path: "server.json" bookmarks_path: "b.json"
  sprite { image_path: "s.png" }
}"""
OWN, SECRET = b"1\t2\n3\t4\n", b"7\t7\n8\t8\n"


class Lab:
    """A run in a store, the board of a server over it, and a folder with secrets under the same names."""

    def __init__(self, tmp_path: Path) -> None:
        self.store, self.secrets = tmp_path / "store", tmp_path / "home" / "server"
        self.run = self.store / new_uid()
        self.assets = self.run / "output" / "tensorboard"
        with SummaryWriter(str(self.run / "tb")) as writer:
            writer.add_scalar("loss", 1.0, 1)
        for folder, content in ((self.assets, OWN), (self.secrets, SECRET)):
            folder.mkdir(parents=True)
            for name in FILES.values():
                (folder / name).write_bytes(content)
            (folder / "projector_config.pbtxt").write_text(CONFIG)

    def board(self) -> BoardClient:
        collection = RunCollection({"": self.run / "tb"}, within=self.store)
        collection.refresh()
        return BoardClient(BoardApp("test", collection, about=BoardMetadata()))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def shown(board: BoardClient, route: str) -> tuple[int, bytes]:
    answer = board.fetch(*plugin("projector", route, run=".", name="e"))
    return answer.status, answer.body


@pytest.mark.parametrize("route", FILES)
def test_a_folder_that_became_a_link_after_the_configuration_was_read_is_not_opened(lab: Lab, route: str):
    board = lab.board()
    assert board.fetch(*plugin("projector", "runs")).json == ["."]
    lab.assets.rename(lab.run / "mine")
    lab.assets.symlink_to(lab.secrets)
    status, body = shown(board, route)
    assert status == 400
    assert SECRET not in body
    assert str(lab.secrets) not in body.decode()


@pytest.mark.parametrize("route", FILES)
def test_a_file_that_became_a_link_after_the_configuration_was_read_is_not_opened(lab: Lab, route: str):
    board = lab.board()
    assert board.fetch(*plugin("projector", "runs")).json == ["."]
    asset = lab.assets / FILES[route]
    asset.unlink()
    asset.symlink_to(lab.secrets / FILES[route])
    assert shown(board, route)[0] == 400


@pytest.mark.parametrize("swapped", ["", "output", "output/tensorboard"])
def test_a_configuration_behind_a_link_shows_nothing(lab: Lab, swapped: str):
    board = lab.board()
    folder = lab.run / swapped
    folder.rename(lab.store / "mine")
    target = {"": lab.secrets.parent, "output": lab.secrets.parent, "output/tensorboard": lab.secrets}[swapped]
    (target / "tensorboard").symlink_to(lab.secrets)
    (target / "output").symlink_to(target)
    folder.symlink_to(target)
    assert board.fetch(*plugin("projector", "runs")).json == []


def test_the_files_of_the_run_are_shown(lab: Lab):
    board = lab.board()
    assert shown(board, "metadata") == shown(board, "bookmarks") == (200, OWN)
    assert shown(board, "sprite_image") == (200, OWN)
    assert len(shown(board, "tensor")[1]) == 4 * 4


def test_rows_are_counted_without_the_header(lab: Lab):
    board = lab.board()
    answer = board.fetch(*plugin("projector", "metadata", run=".", name="e", num_rows=1))
    assert answer.body == OWN
    assert board.fetch(*plugin("projector", "metadata", run=".", name="e", num_rows=0)).status == 400
    assert len(board.fetch(*plugin("projector", "tensor", run=".", name="e", num_rows=1)).body) == 2 * 4


@pytest.mark.parametrize("way", ["{assets}/t.tsv", "sub/../t.tsv", "./t.tsv"])
def test_ways_to_name_a_file_of_the_run(lab: Lab, way: str):
    config = f'embeddings {{ tensor_name: "e" tensor_path: "{way.format(assets=lab.assets)}" }}'
    (lab.assets / "projector_config.pbtxt").write_text(config)
    assert shown(lab.board(), "tensor")[0] == 200


def test_a_table_that_is_none_is_an_error_of_the_request(lab: Lab):
    (lab.assets / "t.tsv").write_text("1\t2\nx\n")
    assert shown(lab.board(), "tensor")[0] == 400
