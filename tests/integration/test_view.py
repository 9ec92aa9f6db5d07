# SPDX-License-Identifier: Apache-2.0
"""`aboard view` and `aboard demo` as a person runs them."""

import gzip
import json
import os
import urllib.error
from importlib import metadata

import pytest

from aboard import SummaryWriter, __version__
from support.commands import aboard
from support.viewing import FROM_AFAR, eventually, fetch, fetch_json, run_aboard, viewing


@pytest.fixture
def logs(tmp_path):
    for run in ("a", "b/train"):
        with SummaryWriter(tmp_path / "runs" / run) as writer:
            for step in range(20):
                writer.add_scalar("loss", 1 / (step + 1), step)
    return tmp_path / "runs"


def test_a_folder_opens_as_a_board_with_tensorboards_names(logs):
    """Started as from a shell; the other tests fork a process that has imported the command."""
    with viewing(logs, interpreter=True) as board:
        assert board.line["token"] is None
        assert board.line["url"] == board.page_url
        assert board.json("healthz") == {"status": "ok"}
        board.wait_until_read()
        assert board.json("data/runs") == ["a", "b/train"]
        assert len(board.scalars("a")) == 20
        progress = board.json("api/v1/progress")
        assert (progress["runs_read"], progress["runs_found"]) == (2, 2)
        with pytest.raises(urllib.error.HTTPError, match="421"):
            fetch(board.url, Host="evil.example")
        assert board.end() == "", "Ctrl-C ends it quietly"
        assert board.process.stdout.read() == "", "the line of JSON is all that it prints"


def test_curves_are_compressed_for_browsers_elsewhere(logs):
    """Also at the other end of a tunnel, which looks as if it were on this machine."""
    here = {"Accept-Encoding": "gzip"}
    curve = "data/plugin/scalars/scalars?run=a&tag=loss"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SSH_", "KUBERNETES_"))}
    with viewing(logs, env=environment) as board:
        board.wait_until_read()
        plain = board.fetch(curve, **here)
        assert len(json.loads(plain)) == 20
        assert gzip.decompress(board.fetch(curve, **FROM_AFAR)) == plain
    with viewing(logs, env=environment | {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22"}) as board:
        board.wait_until_read()
        assert gzip.decompress(board.fetch(curve, **here)) == plain


def test_under_a_prefix_with_named_folders(logs):
    arguments = [f"first={logs / 'a'}", f"second={logs / 'b'}", "--path_prefix", "/deep/down"]
    with viewing(*arguments) as board:
        assert board.page_url.endswith("/deep/down/")
        board.wait_until_read()
        assert board.json("data/runs") == ["first", "second/train"]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(board.page_url.replace("/deep/down/", "/"))
        assert [run["name"] for run in board.json("api/v1/runs")["items"]] == ["second", "first"]


def test_tensorboards_own_flags_and_a_single_event_file(logs):
    (file,) = (logs / "a").iterdir()
    with viewing("--logdir", file, "--window_title", "mine", "--reload_interval", "0.2") as board:
        eventually(lambda: board.json("data/runs") == ["."])
        assert board.json("data/environment")["window_title"] == "mine"


def test_as_many_points_as_were_asked_for(logs):
    with viewing(logs, "--samples", "5", "--samples_per_plugin", "images=0") as board:
        board.wait_until_read()
        assert len(board.scalars("a")) == 5


def test_other_machines_need_the_token(logs):
    with viewing(logs, "--bind_all") as board:
        address = board.url.split("/")[2]
        url = f"http://127.0.0.1:{address.rpartition(':')[2]}/"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetch(f"{url}data/runs")
        own = {"Authorization": f"Bearer {board.line['token']}"}
        eventually(lambda: fetch_json(f"{url}data/runs", **own) == ["a", "b/train"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["view", "nowhere"], 1, "there is no folder 'nowhere'"),
        (["view"], 1, "No folder was named, and there are no event files in "),
        (["view", ".", "--path_prefix", "x"], 1, "must begin with a slash"),
        (["view", ".", "--host", "no.such.host.invalid"], 1, "has no address"),
        (["view", ".", "--port", "99999"], 2, "65535"),
        (["view", ".", "--inspect"], 1, "aboard doctor"),
        (["view", ".", "--event_file", "x"], 1, "aboard view FILE"),
        (["view", ".", "--host", "127.0.0.1", "--bind_all"], 1, "--host names one"),
        (["view", ".", "--samples_per_plugin", "scalars"], 1, "plugin=number pairs"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_mistakes_are_explained_without_a_traceback(tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    result = aboard(*arguments)
    assert result.code == code
    assert said in result.err
    assert "Traceback" not in result.err


def test_without_arguments_the_logs_of_the_current_folder_are_shown(logs):
    (logs.parent / "loop").symlink_to(logs.parent)
    with viewing(cwd=logs.parent) as board:
        board.wait_until_read()
        assert "a" in {run.rpartition("/")[2] for run in board.json("data/runs")}


def test_a_port_in_use_is_said_and_the_next_one_is_found(logs):
    with viewing(logs) as board:
        result = aboard("view", logs, "--port", board.port)
        assert result.code == 1
        assert f"cannot listen on 127.0.0.1:{board.port}: Address already in use" in result.err
        assert "leave out --port" in result.err


def test_the_demo_writes_runs_and_says_how_to_open_them(tmp_path):
    folder = tmp_path / "demo"
    first = aboard("demo", folder, "--steps", "20")
    assert first.code == 0, first.err
    assert f"aboard view {folder}" in first.out
    again = aboard("demo", folder)
    assert again.code == 1
    assert "is not empty" in again.err
    document = json.loads(aboard("demo", tmp_path / "other", "--steps", "5", "--json").out)
    assert sorted(document["runs"]) == sorted(folder.name for folder in (tmp_path / "other").iterdir())


def test_the_version():
    assert run_aboard("--version").stdout.strip() == f"aboard {__version__}"


def test_habits_are_answered_on_the_way(logs):
    with viewing("tensorboard", "serve", "--logdir", logs, "--load_fast=false", "--port=default", "--port=0") as board:
        board.wait_until_read()
        assert board.json("data/runs") == ["a", "b/train"]
        errors = board.end()
    assert errors == "note: --load_fast has no effect: reading is always native\n"


def test_tensorboards_version_and_its_long_help():
    assert aboard("view", "--version_tb").out.strip() == metadata.version("tensorboard")
    text = aboard("view", "--helpfull").out
    assert "--template" in text
    assert "load_fast" not in text


def test_an_interval_of_zero_reads_once(logs):
    """A board that is followed shows the later run before this one is requested."""
    with viewing(logs, "--reload_interval", "0") as board, viewing(logs) as followed:
        board.wait_until_read()
        with SummaryWriter(logs / "late") as writer:
            writer.add_scalar("loss", 1.0, 0)
        eventually(lambda: "late" in followed.json("data/runs"))
        assert board.json("data/runs") == ["a", "b/train"]
        assert board.json("api/v1/progress")["cycles"] == 1


def test_a_port_can_be_shared_where_it_was_asked_for(logs):
    with (
        viewing(logs, "--reuse_port=true") as board,
        viewing(logs, "--reuse_port", "true", "--port", board.port) as other,
    ):
        assert other.url == board.url
    assert "allowed are true and false" in aboard("view", logs, "--reuse_port", "maybe").err
