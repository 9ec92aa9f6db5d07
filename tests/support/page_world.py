# SPDX-License-Identifier: Apache-2.0
"""Runs with real event files in a store, a server over them, and a browser that looks at its page."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.events.image import encode_png
from aboard.model.states import RunState
from aboard.server.page_files import FOLDER
from aboard.store import Store, open_store
from support.browsing import MILLISECONDS
from support.logged_runs import logged_run, tb_folder
from support.processes import needs
from support.raw_events import image_batch, write_event_file
from support.stored_runs import TOKEN, serving_runs
from support.viewing import ABOARD

SLOW = float(os.environ.get("ABOARD_SLOW_PAGE", "0"))
"""Seconds that every answer to the page takes longer: shows tests that do not wait for what they look at."""
_SCRIPT = """
import aboard, sys
print("loading <b>data</b>")
with aboard.Run(hparams={"lr": 0.5}) as run:
    for epoch in range(3):
        run.log_metrics({"epoch": epoch, "loss": 1 / (epoch + 1)}, step_name="epoch", stage="train")
        if epoch == 1:
            run.log_event("rate <b>halved</b>", {"lr": 0.25}, step=epoch)
        print(f"epoch {epoch} is done")
print("all ERRORS are gone", file=sys.stderr)
"""
REPORT = """# Result of *step*

| metric | value |
|---|---|
| `loss` | **0.5** &lt; 1 |

- [a link](https://example.org/x), [a trap](javascript:window.hacked=1)
- <img src=x onerror="window.hacked=1">

![picture](https://example.org/tracker.png)
"""


@dataclass
class World:
    """A server and what is in it."""

    store: Store
    client: Client
    url: str
    uids: dict[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int:
        number = self.client.runs.get(self.uids.get(name, name)).number
        assert number is not None
        return number


@contextlib.contextmanager
def page_world(folder: Path) -> Iterator[World]:
    """A server over an empty store; tests fill it with what they need."""
    needs("" if (FOLDER / "index.html").exists() else "the page was not built: run make page")
    store = open_store(str(folder / "store"), create=True)
    options = {"process_home": folder / "processes", "delay": SLOW}
    with Catalog.open(folder / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri, **options) as client:
        yield World(store, client, client.url)


def sweep(world: World, count: int = 8, points: int = 3000) -> None:
    """Runs of a sweep over learning rates, with two seeds each and curves in two logdirs."""
    for index in range(count):
        rate, seed = (0.001, 0.01, 0.1, 1.0)[index % 4], index // 4
        name = f"sweep-{index}"
        steps = np.arange(points)
        loss = np.exp(-steps * rate / points) + 0.1 * np.sin(steps) + seed
        world.uids[name] = logged_run(
            world.store,
            name=name,
            workspace="lab",
            experiment="rates",
            hparams={"lr": rate, "seed": seed, "optimizer": "adam" if index % 2 else "sgd"},
            metrics={"train/loss": [float(value) for value in loss[-5:]], "test/acc": [1 - rate / 2]},
            said_tags={"best": ""} if index == 0 else {},
            status=RunState.FAILED if index == 1 else RunState.COMPLETED,
            curves={"loss": loss.tolist(), "optim/norm": [1.0, 2.0, 3.0]},
            logdir="train",
        )
        with SummaryWriter(str(tb_folder(world.store, world.uids[name], "test"))) as writer:
            for step in range(0, 100, 10):
                writer.add_scalar("loss", 2 - rate + step / 100, step)


def media_runs(world: World) -> None:
    """Two runs with pictures, sounds, texts and histograms at three steps."""
    for shade, name in ((0.2, "dim"), (0.8, "bright")):
        uid = world.uids[name] = logged_run(world.store, name=name, workspace="media", curves={"loss": [1.0, 2.0]})
        with SummaryWriter(str(tb_folder(world.store, uid))) as writer:
            for step in (0, 5, 10):
                picture = np.full((3, 16, 16), shade)
                picture[0, :, : step + 1] = 1.0
                writer.add_image("picture", picture, step)
                writer.add_text("words", f"<b>step {step}</b>", step)
                writer.add_text("report", REPORT, step)
                writer.add_histogram("weights", np.linspace(-1, 1 + step + shade, 100), step)
                writer.add_audio("tone", np.sin(np.arange(800) / 5), step, sample_rate=8000)
        pictures = [encode_png(np.full((8, 8, 3), 60 * number, np.uint8)) for number in range(3)]
        write_event_file(tb_folder(world.store, uid), (10, 1010.0, image_batch("batch", 8, 8, pictures)), name="batch")


def hostile_runs(world: World) -> None:
    """Names that want to be something else, and numbers that are none."""
    markup = '<img src=x onerror="window.hacked=1">\'"&amp;'
    world.uids["markup"] = logged_run(
        world.store,
        name=f"{markup} 🚀 مرحبا",
        workspace="odd",
        hparams={f"{markup}": markup, "lr": math.nan},
        metrics={f"{markup}/loss": [math.nan]},
        said_tags={markup: "مرحبا"},
        curves={f"{markup}/loss": [1.0, math.nan, math.inf, -math.inf, 2.0], "nan": [math.nan] * 5},
    )
    world.uids["long"] = logged_run(world.store, name="n" * 10_000, workspace="odd", curves={"x" * 10_000: [1.0, 2.0]})
    world.uids["nothing"] = logged_run(world.store, name="nothing", workspace="odd", curves={})
    uid = world.uids["far"] = logged_run(world.store, name="far", workspace="odd", curves={"loss": [1.0]})
    with SummaryWriter(str(tb_folder(world.store, uid, "far"))) as writer:
        for step in range(3):
            writer.add_scalar("far", step, 2**53 + 2 * step + 1)


def trained_run(world: World, folder: Path) -> str:
    """A run of `aboard run`, with its console, code and machine; its name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(_SCRIPT, "utf-8")
    settled = {
        **os.environ,
        "ABOARD_HOME": str(folder / "home"),
        "ABOARD_STORE": world.store.uri,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    settled.pop("ABOARD_SERVER", None)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in ([*git, "init", "-q"], [*git, "add", "."], [*git, "commit", "-qm", "first"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with (folder / "train.py").open("a", encoding="utf-8") as script:
        script.write("# a change that nobody committed\n")
    command = [*ABOARD, "run", "--workspace", "lab", "--name", "trained", "--", sys.executable, "train.py"]
    done = subprocess.run(command, cwd=folder, env=settled, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return "trained"


class Visitor:
    """A page of the browser; what goes wrong in it unseen is collected in `failures`."""

    def __init__(self, world: World, browser: Any, **context: Any) -> None:
        size = context.pop("viewport", {"width": 1280, "height": 800})
        has_shared_workers = context.pop("has_shared_workers", True)
        self.context = browser.new_context(viewport=size, accept_downloads=True, **context)
        if not has_shared_workers:  # as on many phones; playwright waits for their scripts for ever at "networkidle"
            self.context.add_init_script("delete globalThis.SharedWorker")
        self.context.request.get(f"{world.url}/?token={TOKEN}")
        self.page = self.context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.failures: list[str] = []
        self._world = world
        self.page.on("pageerror", lambda error: self.failures.append(f"script: {error}"))
        self.page.on("console", lambda line: self._heard(line.type, line.text))

    def _heard(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 40" not in text and "net::ERR_" not in text:
            self.failures.append(text)

    def open(self, path: str) -> Any:
        self.page.goto(self._world.url + path)
        return self.page

    def close(self) -> None:
        self.context.close()
        assert not self.failures, self.failures
