# SPDX-License-Identifier: Apache-2.0
"""`aboard board` and `aboard view` of runs, as a person types them, against a real server over sockets."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import stat
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
import yaml

from aboard.model.boards import BoardLimits
from aboard.services.boards.lifecycle import BoardRules
from aboard.writer.summary_writer import SummaryWriter
from support.board_pages import shown_runs, until_shown
from support.commands import aboard
from support.forked_commands import ForkedCommand, forked_local_servers
from support.processes import Ended, until
from support.runs import Machine, well
from support.seed_lab import Lab, seed_lab

TITLES = ["Id", "Owner", "Description", "State", "Experiment Id", "Trial Ids", "Exit Status"]
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with seed_lab(tmp_path_factory.mktemp("boards"), boards=BoardRules(limits=BoardLimits(server=60))) as made:
        yield made


def started(*arguments: object) -> str:
    """The id of a board that `aboard board start --detach` makes."""
    ended = well(aboard("board", "start", *arguments, "--detach"))
    assert re.fullmatch(rf"{UUID}\n", ended.out), "the id alone"
    return ended.out.strip()


def refused(*arguments: object, code: int = 1) -> str:
    ended = aboard(*arguments)
    assert ended.code == code, ended
    assert "Traceback" not in ended.err
    return ended.err


def config(board: str) -> dict[str, object]:
    return yaml.safe_load(well(aboard("board", "config", board)).out)


def rows(ended: Ended) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in well(ended).out.splitlines()]


class TestStart:
    def test_it_says_where_the_board_is_and_the_page_is_there(self, lab: Lab):
        ended = well(aboard("board", "start", 7, "--no-browser"))
        said = re.fullmatch(rf"Launched TensorBoard \(([a-z]+-[a-z]+-[a-z]+)\) \(id: ({UUID})\)\.\n", ended.err)
        assert said, ended.err
        assert ended.out == f"TensorBoard is running at: {lab.client.url}/boards/{said[2]}/\n"
        until_shown(lab.client, f"/boards/{said[2]}/", "ws1_first_train", "ws1_second_train")

    def test_the_same_selection_is_the_same_board(self, lab: Lab):
        first = started(8, "run343")
        ended = well(aboard("tensorboard", "start", "ws1/letters", "--trial-ids", 343, "--no-browser"))
        assert "Found and opened" in ended.err
        assert first in ended.out

    def test_experiments_trials_and_what_else_selects(self, lab: Lab):
        assert config(started(7, 8))["sources"] == ["exp7", "exp8"]
        assert config(started("--trial-ids", 12, 13, 14))["sources"] == ["run12", "run13", "run14"]
        assert config(started("-t", 12, 310, "--no-browser", 7))["sources"] == ["exp7", "run12", "run310"]
        assert config(started("--trial-ids", "12-14"))["sources"] == ["run12-run14"]
        assert config(started("letters", "-w", "ws1"))["sources"] == ["exp8"]
        found = config(started("--where", "hparams.lr < 0.02"))
        assert "sources" not in found
        assert found["where"] == "hparams.lr < 0.02"

    def test_names_from_a_file(self, lab: Lab, tmp_path: Path):
        names = tmp_path / "names.txt"
        names.write_text("# those that count\nrun12, run13\n\nletters\n", encoding="utf-8")
        assert config(started(f"@{names}"))["sources"] == ["run12", "run13", "exp8"]
        piped = well(aboard("board", "start", "@-", "--detach", typed="run12\nrun13\nexp8\n"))
        assert config(piped.out.strip())["sources"] == ["run12", "run13", "exp8"]
        assert "cannot be read" in refused("board", "start", f"@{tmp_path / 'none'}")

    def test_settings_of_pairs_and_files_are_those_of_the_board(self, lab: Lab, tmp_path: Path):
        settings = tmp_path / "board.yaml"
        settings.write_text("description: from a file\nidle_timeout: 1h\nmax_runtime: 90\n", encoding="utf-8")
        pairs = ["--config", "idle_timeout=30m", "--config", 'tensorboard_args=["--samples_per_plugin=images=7"]']
        board = started(7, "--config-file", settings, *pairs, "--template", "{run}-{logdir}")
        wanted = {
            "description": "from a file",
            "workspace": "ws1",
            "sources": ["exp7"],
            "template": "{run}-{logdir}",
            "idle_timeout": 1800.0,
            "max_runtime": 90.0,
            "tensorboard_args": ["--samples_per_plugin=images=7"],
        }
        assert config(board) == wanted
        until_shown(lab.client, f"/boards/{board}/", "first-train", "second-train")
        printed = tmp_path / "again.yaml"
        printed.write_text(well(aboard("board", "config", board)).out, encoding="utf-8")
        assert started("--config-file", printed) == board, "what config prints makes the same board"
        as_json = tmp_path / "again.json"
        as_json.write_text(well(aboard("board", "config", board, "--json")).out, encoding="utf-8")
        assert started("--config-file", as_json) == board

    def test_one_document(self, lab: Lab):
        document = json.loads(well(aboard("board", "start", 2300, "--json")).out)
        assert (document["experiments"], document["state"], document["reopened"]) == ([2300], "running", False)
        assert document["url"] == f"{lab.client.url}/boards/{document['id']}/"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "nothing is named that a board could show"),
            ([99], "there is no experiment exp99"),
            (["--trial-ids", 99], "there is no run 'run99'"),
            (["zz*"], "there is no run like 'zz*'"),
            (["run1000-run2000"], "there is no run like 'run1000-run2000'"),
            (["--where", "hparams.lr > 100"], "there is no run for which hparams.lr > 100 holds"),
            (["--where", "hparams.lr >"], "column 13"),
            ([7, "--template", "{run}_{logdir"], "{run}_{logdir\n        ^"),
            ([7, "--config", "idle_timeout"], "is not KEY=VALUE"),
            ([7, "--config", "idle_timout=1h"], "did you mean 'idle_timeout'?"),
            ([7, "--config", "idle_timeout=soon"], "'soon', which is no length of time"),
            ([7, "--config", "environment.image=x"], "for boards that are processes"),
            ([7, "--config", "description=[1]"], "where a text is expected"),
            ([7, "--config-file", "/nowhere.yaml"], "--config-file /nowhere.yaml cannot be read"),
            ([7, "--context", "."], "needs no files"),
            ([7, "-i", "x"], "--include 'x' is for boards that are containers"),
            ([7, "-w", "nowhere"], "nowhere"),
            (["@"], "the name of a file is missing"),
        ],
    )
    def test_mistakes_are_explained(self, lab: Lab, arguments: list[object], said: str):
        before = len(list(lab.client.boards.iterate(everybody=True)))
        assert said in refused("board", "start", *arguments)
        assert len(list(lab.client.boards.iterate(everybody=True))) == before, "and no board is left behind"


class TestList:
    def test_columns_are_those_of_determined(self, lab: Lab):
        boards = {name: started(*words) for name, words in (("one", [7]), ("two", ["-t", 12, 13]), ("any", ["ws1/*"]))}
        boards["mix"] = started(8, "run12", "run13-run14", "--where", "hparams.lr < 0.1")
        for ended in (aboard("board"), aboard("board", "list"), aboard("tensorboard", "ls")):
            table = rows(ended)
            assert table[0] == TITLES
            by_id = {row[0]: row for row in table[2:]}
            assert by_id[boards["one"]][3:] == ["RUNNING", "7", "N/A", "N/A"]
            assert by_id[boards["two"]][3:] == ["RUNNING", "N/A", "12, 13", "N/A"]
            assert by_id[boards["any"]][4:] == ["N/A", "ws1/*", "N/A"]
            assert by_id[boards["mix"]][4:] == ["8", "12, run13-run14, where hparams.lr < 0.1", "N/A"]
            assert by_id[boards["one"]][1] == "tester"
            assert re.fullmatch(r"TensorBoard \([a-z]+-[a-z]+-[a-z]+\)", by_id[boards["one"]][2])

    def test_ids_alone_csv_and_json(self, lab: Lab):
        board = started(8)
        assert board in well(aboard("board", "list", "-q", "-a")).out.splitlines()
        found = list(csv.DictReader(io.StringIO(well(aboard("board", "ls", "--csv")).out)))
        assert list(found[0]) == TITLES
        assert [row["Experiment Id"] for row in found if row["Id"] == board] == ["8"]
        document = json.loads(well(aboard("board", "list", "--json")).out)
        assert document["next"] is None
        assert board in [item["id"] for item in document["items"]]

    def test_order_and_narrowing(self, lab: Lab):
        curious = started("run400")
        ids = well(aboard("board", "list", "-q", "--sort-by", "id", "--order-by", "desc")).out.split()
        assert ids == sorted(ids, reverse=True)
        starts = well(aboard("board", "list", "-q", "--sort-by", "startTime")).out.split()
        assert starts == well(aboard("board", "list", "-q")).out.split()
        assert well(aboard("board", "list", "-q", "-w", "curious")).out.split() == [curious]
        well(aboard("board", "stop", curious))
        assert curious in well(aboard("board", "list", "-q", "--state", "stopped")).out.split()
        assert curious not in well(aboard("board", "list", "-q", "--state", "RUNNING")).out.split()
        assert "workspaceName" in refused("board", "list", "--sort-by", "resourcePool", code=2)


class TestOneBoard:
    def test_a_life_on_the_command_line(self, lab: Lab):
        board = started("run23")
        name = lab.client.boards.get(board).name
        assert lab.client.url in well(aboard("board", "open", name, "--no-browser")).out
        assert f"Killed TensorBoard ({name}) (id: {board})." in well(aboard("board", "kill", board[:13])).out
        for command in ("kill", "stop"):
            again = well(aboard("board", command, board)).out
            assert again == f"TensorBoard ({name}) (id: {board}) has already ended: killed by tester.\n"
        assert f"the board {name} has ended: killed by tester" in refused("board", "open", board)
        assert (
            rows(aboard("board", "list", "--state", "stopped", "--sort-by", "ended", "--order", "desc"))[2][0] == board
        )
        well(aboard("board", "start-again", name))
        assert shown_runs(lab.client, f"/boards/{board}/") is not None
        assert "Stopped" in well(aboard("board", "stop", board)).out
        assert "Nobody can be asked here" in refused("board", "delete", board)
        assert "Deleted" in well(aboard("board", "delete", board, "--yes")).out
        assert f"there is no board {board!r}" in refused("board", "logs", board)

    def test_several_and_what_is_left(self, lab: Lab):
        boards = [started("run23"), started("run12"), started("run13")]
        said = refused("board", "kill", boards[0], "unknown-board", boards[1])
        assert "there is no board 'unknown-board'" in said
        assert f"Left as it is: {boards[1]}" in said
        states = [str(lab.client.boards.get(board).state) for board in boards]
        assert states == ["stopped", "running", "running"]
        ended = well(aboard("board", "kill", "--force", "unknown-board", *boards[1:]))
        assert "Skipping unknown-board: there is no board" in ended.err
        assert [str(lab.client.boards.get(board).state) for board in boards[1:]] == ["stopped", "stopped"]
        document = json.loads(well(aboard("board", "kill", "-f", "unknown-board", boards[0], "--json")).out)
        assert [item["id"] for item in document["items"]] == [boards[0]]
        assert document["failed"][0]["board"] == "unknown-board"

    def test_a_beginning_that_several_have(self, lab: Lab):
        for number in range(17):  # sixteen ids can begin differently, seventeen cannot
            lab.client.boards.create("run12", template=f"{number}_{{run}}")
        shared = next(letter for letter in "0123456789abcdef" if len(_ids_with(lab, letter)) > 1)
        said = refused("board", "open", shared)
        assert f"several boards begin with '{shared}'" in said
        assert "give more of the id" in said

    def test_logs(self, lab: Lab):
        board = started("run13", "--template", "of_its_own_{run}")
        well(aboard("board", "stop", board))
        well(aboard("board", "start-again", board))
        lines = well(aboard("board", "logs", board)).out.splitlines()
        assert [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "", line) for line in lines] == [
            "INFO     created by tester: run13",
            "INFO     stopped by tester",
            "INFO     started again by tester",
        ]
        assert well(aboard("board", "logs", board, "--head", 1)).out == f"{lines[0]}\n"
        assert well(aboard("board", "logs", board, "--tail", 1)).out == f"{lines[2]}\n"
        assert well(aboard("board", "logs", board, "--level", "warning")).out == ""
        items = json.loads(well(aboard("board", "logs", board, "--json")).out)["items"]
        middle = items[1]["at"]
        between = aboard(
            "board", "logs", board, "--timestamp-after", items[0]["at"], "--timestamp-before", items[2]["at"]
        )
        assert well(between).out == f"{lines[1]}\n"
        assert (
            json.loads(well(aboard("board", "logs", board, "--json", "--timestamp-after", middle)).out)["items"]
            == items[2:]
        )
        assert "only one of them" in refused("board", "logs", board, "--head", 1, "--tail", 1)
        assert "is not a time" in refused("board", "logs", board, "--timestamp-after", "noon")
        assert "has no end" in refused("board", "logs", board, "-f", "--head", 1)

    def test_logs_are_followed_to_the_end(self, lab: Lab):
        board = started("run14")
        following = ForkedCommand("board", "logs", "-f", board, env={**os.environ, **lab.environment})
        assert following.stdout.readline().endswith("created by tester: run14\n")
        lab.client.boards.kill(board)
        rest, _ = following.communicate()
        assert (following.wait(), rest.splitlines()[-1].endswith("killed by tester")) == (0, True)

    def test_changed(self, lab: Lab):
        board = started("run310", "--idle-timeout", "1h")
        well(aboard("board", "change", board, "--description", "new", "--template", "{run}", "--idle-timeout", 0))
        assert config(board) == {"description": "new", "workspace": "ws1", "sources": ["run310"], "template": "{run}"}
        assert "nothing is named that should change" in refused("board", "change", board)


class TestViewOfRuns:
    def view(self, *arguments: object) -> dict[str, object]:
        return config(json.loads(well(aboard("view", *arguments, "--json")).out)["id"])

    def test_selections(self, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        assert self.view("tensorboard", "run343")["sources"] == ["run343"]
        assert self.view("job2300")["sources"] == ["exp2300"]
        assert self.view("tensorboard", "run310,", "run341,", "run400")["sources"] == ["run310", "run341", "run400"]
        assert self.view("curious/run400", "ws1\\run23")["sources"] == ["run400", "run23"]
        assert self.view("run1?")["sources"] == ["run1?"]
        assert self.view("--job", 2300)["sources"] == ["exp2300"]
        assert self.view("--experiment", "letters")["sources"] == ["exp8"]
        assert self.view("--workspace", "curious")["sources"] == ["curious/*"]
        assert self.view("first", "--workspace", "ws1")["sources"] == ["run12"]
        narrowed = self.view("run12-run14", "--experiment", 7)
        assert (narrowed["sources"], narrowed["where"]) == (["run12-run14"], "experiment_number == 7")
        assert self.view("--where", "hparams.lr < 0.02", "--template", "{run}")["template"] == "{run}"
        title = self.view("run12", "--window_title", "mine", "--samples_per_plugin", "images=5")
        assert title["tensorboard_args"] == ["--samples_per_plugin=images=5", "--window_title=mine"]

    def test_an_experiment_named_as_xt_names_its_jobs(self, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        lab.client.experiments.change("exp8", name="job5000")
        try:
            for words in (("tensorboard", "job5000"), ("--job", "job5000"), ("--experiment", "job5000")):
                assert self.view(*words)["sources"] == ["exp8"]
            assert self.view("ws1/job5000")["sources"] == ["exp8"]
            narrowed = self.view("run10-run500", "--job", "job5000")
            assert (narrowed["sources"], narrowed["where"]) == (["run10-run500"], "experiment_number == 8")
        finally:
            lab.client.experiments.change("exp8", name="letters")

    def test_the_names_on_the_board_are_those_of_the_template(self, lab: Lab):
        document = json.loads(well(aboard("view", "run23", "--json")).out)
        until_shown(lab.client, document["uri"], "ws1_run23_train")
        template = "{workspace}_{run}_{logdir}_lr={hparams.lr}"
        document = json.loads(well(aboard("view", "run23", "--template", template, "--json")).out)
        until_shown(lab.client, document["uri"], "ws1_run23_train_lr=.023")

    def test_ones_own_template_is_meant_where_none_is_given(self, lab: Lab):
        settings = lab.folder / "home" / "config.toml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text('[tensorboard]\ntemplate = "mine_{run}_{logdir}"\n', encoding="utf-8")
        try:
            assert self.view("run14")["template"] == "mine_{run}_{logdir}"
        finally:
            settings.unlink()

    def test_runs_and_folders_on_one_board(self, lab: Lab, tmp_path: Path):
        with SummaryWriter(str(tmp_path / "logs" / "baseline")) as writer:
            writer.add_scalar("loss", 1, 1)
        document = json.loads(well(aboard("view", "run12", tmp_path / "logs", "--json")).out)
        assert document["sources"] == ["run12", str(tmp_path / "logs")]
        until_shown(lab.client, document["uri"], "ws1_first_train", "baseline")

    def test_what_xt_users_type_from_habit(self, lab: Lab):
        ended = well(aboard("view", "tensorboard", "run12", "--interval", 5, "--browse", "--no-browser"))
        assert "--interval has no effect" in ended.err
        assert "TensorBoard is running at: " in ended.out

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["run99"], "there is no run 'run99'"),
            (["frist"], "there is no folder 'frist'"),
            (["frist"], "nearest: first"),
            (["nowhere/run23"], "nowhere"),
            (["zz*"], "there is no run like 'zz*'"),
            (["run9-run2"], "ends before it begins"),
            (["run9-exp12"], "both ends of a range are of one kind"),
            (["run12", "--port", "7007"], "--port is for folders"),
            (["run12", "mine=./"], "gives a folder a name"),
            (["run12", "--template", "{run"], "never closed, at character 1"),
            (["run12", "./nowhere"], "there is no folder './nowhere'"),
        ],
    )
    def test_mistakes_are_explained(
        self, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
    ):
        monkeypatch.chdir(tmp_path)
        assert said in refused("view", *arguments)

    def test_a_folder_with_the_name_of_a_run_is_a_folder(
        self, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(tmp_path)
        Path("run12").write_text("no event file", encoding="utf-8")
        said = refused("view", "run12", "--port", "0", "--path_prefix", "x")
        assert "note: run12 is a folder here; `aboard board start run12` shows the run" in said
        assert "must begin with a slash" in said, "it went on as for any folder"


class TestBrowser:
    """In a process of its own, whose browser is a script that writes down what it is to open."""

    def opened(self, lab: Lab, folder: Path, *arguments: object) -> tuple[list[str], Ended]:
        script, pages = folder / "browser", folder / "pages"
        pages.touch()
        script.write_text(f'#!/bin/sh\necho "$1" >> "{pages}"\n', encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        process = ForkedCommand(*arguments, env={**os.environ, **lab.environment, "BROWSER": f"{script} %s"})
        out, err = process.communicate()
        return pages.read_text("utf-8").split(), Ended(process.wait(), out, err)

    def test_opened_when_there_is_something_to_see(self, lab: Lab, tmp_path: Path):
        pages, ended = self.opened(lab, tmp_path, "board", "start", 7)
        assert well(ended).out == f"TensorBoard is running at: {pages[0]}\n"
        again, _ = self.opened(lab, tmp_path, "board", "open", pages[0].rstrip("/").rpartition("/")[2][:13])
        assert again == [pages[0], pages[0]]

    def test_not_opened_for_nothing(self, lab: Lab, tmp_path: Path):
        pages, ended = self.opened(lab, tmp_path, "board", "start", "--trial-ids", 15)
        assert pages == []
        assert "There is nothing to see yet, so no browser is opened" in well(ended).err

    def test_ctrl_c_ends_the_waiting_and_not_the_board(self, lab: Lab):
        waiting = ForkedCommand("board", "start", "ws1/empt*", env={**os.environ, **lab.environment})
        said = [waiting.stderr.readline(), waiting.stderr.readline()]
        assert said[1] == "Waiting for the first points; Ctrl-C ends the waiting, and not the board.\n"
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate()
        assert waiting.wait() == 0
        assert "There is nothing to see yet" in err
        board = out.rstrip("/\n").rpartition("/")[2]
        assert str(lab.client.boards.get(board).state) == "running"


class TestWhoIsAsked:
    def test_a_server_that_is_not_there(self, lab: Lab, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("ABOARD_SERVER", "http://127.0.0.1:9")
        said = refused("board", "list")
        assert "the server at http://127.0.0.1:9 does not answer" in said
        assert "hint: " in said

    def test_a_token_that_is_missing_or_wrong(self, lab: Lab, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("ABOARD_TOKEN")
        assert "token" in refused("board", "start", 7, "--no-browser")
        monkeypatch.setenv("ABOARD_TOKEN", "of-somebody-else-entirely")
        assert "token" in refused("board", "list")

    def test_too_many_boards(self, lab: Lab):
        living = [board.id for board in lab.client.boards.iterate() if not board.state.is_ended]
        for number in range(60 - len(living)):
            lab.client.boards.create("run12", template=f"many{number}_{{run}}")
        said = refused("board", "start", "run12", "--template", "one_too_many_{run}")
        assert "has 60 boards that are not stopped, and 60 are allowed" in said
        spared = re.search(r"stop one that is no longer needed: [a-z-]+ \(([0-9a-f]{8})\)", said)
        assert spared, said
        well(aboard("board", "stop", spared[1]))
        started("run12", "--template", "one_too_many_{run}")
        until(lambda: lab.client.boards.get(spared[1]).state.is_ended)


def test_without_a_server_a_private_one_has_the_boards(tmp_path: Path):
    machine = Machine(tmp_path / "one", str(tmp_path / "store"))
    training = """
        from aboard import Run
        with Run(workspace="ws1", name="base") as run:
            run.log_metrics({"epoch": 1, "loss": 0.5}, step_name="epoch", stage="train")
    """
    well(machine.python(training))
    with forked_local_servers():
        address = json.loads(well(machine.ask("view", "tensorboard", "run1,", "ws1/base", "--json")).out)["url"]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with browser.open(address, timeout=30) as page:
            assert page.read().startswith(b"<!doctype html>")
        until(lambda: b'"ws1_base_train"' in browser.open(f"{page.url}data/runs", timeout=30).read())
        assert "nowhere" in machine.ask("view", "nowhere").err


def test_a_mistyped_folder_starts_no_server(tmp_path: Path):
    machine = Machine(tmp_path / "one", str(tmp_path / "store"))
    ended = machine.ask("view", "rnus")
    assert ended.code == 1
    assert "there is no folder 'rnus'" in ended.err
    assert not (machine.home / "server").exists()


def _ids_with(lab: Lab, letter: str) -> list[str]:
    return [board.id for board in lab.client.boards.iterate() if board.id.startswith(letter)]
