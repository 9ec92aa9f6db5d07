# SPDX-License-Identifier: Apache-2.0
"""Runs and boards in notebooks: in a real kernel, and in a real browser that shows what the kernel gave it."""

from __future__ import annotations

import http.server
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard.client.notebooks import parse_line
from aboard.errors import InvalidValue
from aboard.writer.summary_writer import SummaryWriter
from support.forked_commands import forked_local_servers
from support.http_serving import serving
from support.processes import until
from support.runs import Machine, well


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A person without a configured server, who has a folder of event files."""
    folder = tmp_path_factory.mktemp("notebooks")
    machine = Machine(folder, str(folder / "store"))
    with SummaryWriter(str(folder / "logs" / "baseline")) as writer:
        for step in range(5):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalar("accuracy", 1 - 1 / (step + 1), step)
    with forked_local_servers():
        well(machine.ask("board", "list"))  # starts the server that all others find
        yield machine


def executed(machine: Machine, *cells: str) -> list[Any]:
    """What the cells of a notebook show, each by its last output."""
    import nbclient
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    own = machine.folder / "jupyter"  # the home folder of the person who runs the tests is left alone
    own.mkdir(exist_ok=True)
    variables = {
        "ABOARD_HOME": str(machine.home),
        "ABOARD_STORE": machine.store,
        "IPYTHONDIR": str(own / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
        **{f"JUPYTER_{kind}_DIR": str(own / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")},
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        client = nbclient.NotebookClient(
            notebook, timeout=90, kernel_name="python3", resources={"metadata": {"path": str(machine.folder)}}
        )
        client.allow_errors = True
        client.execute()
    return [cell.outputs[-1] if cell.outputs else None for cell in notebook.cells]


class Notebook(http.server.BaseHTTPRequestHandler):
    """Serves what cells have shown, as the page of a notebook."""

    page = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><body>{self.page}</body>".encode())

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_magic_shows_a_board_inline_and_the_browser_sees_its_curves(machine: Machine):
    from support.browsing import chromium

    _, shown, mistake, by_hand = executed(
        machine,
        "%load_ext aboard",
        "%aboard logs --height 555 --template {run}",
        "%aboard run99",
        "import aboard; aboard.TensorBoard.create(uri='logs')",
    )
    page = shown.data["text/html"]
    assert 'height="555"' in page
    assert "there is no run 'run99'" in json.dumps(mistake)
    assert "Traceback" not in json.dumps(mistake), "a mistake is told in words"
    assert "<iframe" in by_hand.data["text/html"]
    assert by_hand.data["text/plain"].startswith("Board(id=")

    with serving(type("Shown", (Notebook,), {"page": page})) as port, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"http://localhost:{port}/")
        tab.frame_locator("iframe").get_by_text("baseline").first.wait_for(timeout=60_000)
        assert "/boards/" in tab.frames[1].url
        assert tab.frames[1].url.startswith("http://localhost:"), "by the name of the page, or cookies would be lost"


def answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}healthz").close()
    except OSError:
        return False
    return True


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_folders_are_shown_on_aboards_page_by_one_process_that_ends_with_the_kernel(machine: Machine):
    _, magic, opened, addresses, mistake = executed(
        machine,
        "%load_ext aboard",
        "%aboard logs/ --height 444",
        "import aboard; aboard.open('logs').show(height=300, metrics=['loss', 'val/*'])",
        "print(_2.address, _3.address)",
        "%aboard ./nowhere",
    )
    assert 'height="444"' in magic.data["text/html"]
    assert 'height="300"' in opened.data["text/html"]
    assert "there is no folder './nowhere'" in json.dumps(mistake)
    assert "Traceback" not in json.dumps(mistake)
    until(lambda: not any(map(answers, addresses.text.split())))


def test_the_frame_draws_chosen_metrics_and_edits_nothing(machine: Machine):
    from playwright.sync_api import expect

    from aboard.client.notebook_views import RunsFrame
    from support.browsing import chromium

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABOARD_HOME", str(machine.home))
        first = RunsFrame([str(machine.folder / "logs")], height=700, metrics=["lo*"])
        again = RunsFrame([str(machine.folder / "logs")])
    assert again.address == first.address, "one process for the same folders"
    request = urllib.request.Request(f"{first.address}api/v1/runs/delete", b'{"runs": ["1"]}', method="POST")
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(request)
    assert b"read-only" in refused.value.read()
    with serving(type("Shown", (Notebook,), {"page": first.html()})) as port, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"http://localhost:{port}/")
        frame = tab.frame_locator("iframe")
        expect(frame.get_by_role("heading", name="loss")).to_be_visible(timeout=60_000)
        expect(frame.locator("section[data-tag='loss'] canvas").first).to_be_visible()
        expect(frame.get_by_role("heading", name="accuracy")).to_have_count(0)
        expect(frame.get_by_role("banner")).to_have_count(0)
        expect(frame.get_by_text("Saved views")).to_have_count(0)


def test_a_board_that_cannot_be_shown_says_so_in_words(machine: Machine):
    script = """
        from aboard import Board
        board = Board.create(uri="logs")
        board.stop()
        print(board._repr_html_())
        board.start()
        assert "<iframe" in board._repr_html_()
        assert board.wait_for_data() is True
        board.delete()
        print(board._repr_html_())
    """
    said = well(machine.python(script)).out
    assert "has ended" in said
    assert "there is no board" in said
    assert "<iframe" not in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "nothing is named"),
        ("run1 --hight 5", "--hight"),
        ("'run1", "No closing quotation"),
        ("--height tall", "tall"),
        ("run1 --metrics loss", "--metrics is for folders and buckets"),
    ],
)
def test_lines_that_cannot_be_understood(line: str, said: str):
    with pytest.raises(InvalidValue, match=said):
        parse_line(line)


def test_the_run_of_a_training_has_a_board(machine: Machine):
    script = """
        from aboard import Run
        with Run(workspace="lab", name="live") as run:
            for epoch in range(3):
                run.log_metrics({"epoch": epoch, "loss": 1 / (epoch + 1)}, step_name="epoch")
            board = run.tensorboard()
            print(board.display_name, board.info.run_count, board.app_uri)
        silent = Run(enabled=False)
        try:
            silent.tensorboard()
        except ValueError as error:
            print(error)
        board.delete()
    """
    said = well(machine.python(script)).out
    assert said.startswith("live 1 http://127.0.0.1:")
    assert "made with enabled=False" in said


def test_importing_aboard_does_not_load_ipython(tmp_path: Path):
    machine = Machine(tmp_path, str(tmp_path / "store"))
    script = "import sys, aboard, aboard.client.notebooks; print([name for name in sys.modules if 'IPython' in name])"
    assert well(machine.python(script)).out == "[]\n"
