# SPDX-License-Identifier: Apache-2.0
"""The commands and the SDK that only ask a server, where nothing is installed but what aboard itself requires."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import aboard
from support.processes import Ended
from support.runs import well
from support.seed_lab import Lab, seed_lab

SOURCE = Path(aboard.__file__).parent


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with seed_lab(tmp_path_factory.mktemp("base")) as made:
        yield made


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment, with links to what aboard requires without extras, and what that requires."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=False, symlinks=True)
    (folder,) = environment.glob("lib/python*/site-packages")
    for name in required("aboard"):
        for file in metadata.distribution(name).files or ():
            top = file.parts[0]
            link = folder / top
            if top not in ("..", "aboard", "__pycache__") and not link.is_symlink():
                link.symlink_to(Path(str(metadata.distribution(name).locate_file(top))))
    # The compiled core need not lie beside the source.
    for place in (folder / "aboard", folder / "aboard" / "_native"):
        place.mkdir()
        for path in (SOURCE / place.relative_to(folder / "aboard")).iterdir():
            if path.name not in ("_native", "__pycache__"):
                (place / path.name).symlink_to(path)
    core = Path(str(sys.modules["aboard._native._core"].__file__))
    if not (place / core.name).exists():
        (place / core.name).symlink_to(core)
    return environment / "bin" / "python"


def required(name: str) -> set[str]:
    found, waiting = set[str](), [name]
    while waiting:
        one = waiting.pop()
        found.add(one)
        for line in metadata.requires(one) or ():
            needed = re.split(r"[^\w.-]", line, maxsplit=1)[0]
            is_extra = "extra ==" in line or ("sys_platform" in line or "platform_system" in line)
            if not is_extra and needed not in found:
                waiting.append(needed)
    return found - {"aboard"}


def run(python: Path, lab: Lab, *arguments: object, **environment: str) -> Ended:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ABOARD_", "PYTHON"))}
    done = subprocess.run(
        [str(python), "-P", *map(str, arguments)],
        env={**clean, **lab.environment, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_the_environment_holds_nothing_of_the_server(installed: Path, lab: Lab):
    script = """
import importlib.util
names = "msgspec starlette uvicorn sqlalchemy alembic tensorboard orjson prometheus_client google"
print([name for name in names.split() if importlib.util.find_spec(name)])
"""
    assert well(run(installed, lab, "-c", script)).out == "[]\n"


def test_commands_and_sdk_ask_a_server(installed: Path, lab: Lab):
    command = ("-c", "from aboard.cli import main; main()")
    board = well(run(installed, lab, *command, "board", "start", 7, "--detach")).out.strip()
    assert board in well(run(installed, lab, *command, "tensorboard", "list", "--csv")).out
    assert "TensorBoard is running at: " in well(run(installed, lab, *command, "view", "run12", "--no-browser")).out
    assert "run343" in well(run(installed, lab, *command, "runs", "list")).out
    script = """
from aboard import Board, Client, TensorBoard
board = TensorBoard.create(sources="exp7")
print(board.status, board.app_uri, len(Board.list()))
print(len(Client().experiments.get("exp7").tensorboard().logs()))
board.delete()
"""
    said = well(run(installed, lab, "-c", script)).out
    assert said.startswith(f"running {lab.client.url}/boards/{board}/")
    assert "exp7" not in well(run(installed, lab, *command, "board", "list")).out


def test_what_needs_the_server_says_what_to_install(installed: Path, lab: Lab, tmp_path: Path):
    command = ("-c", "from aboard.cli import main; main()")
    alone = {"ABOARD_SERVER": "", "ABOARD_TOKEN": "", "ABOARD_HOME": str(tmp_path / "home")}
    ended = run(installed, lab, *command, "board", "list", **alone)
    assert ended.code == 1
    assert "pip install 'aboard[server]'" in ended.err
    assert "Traceback" not in ended.err
