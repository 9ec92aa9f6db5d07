# SPDX-License-Identifier: Apache-2.0
"""A team on one server: a thousand boards are open, and 200 people with tokens of their own look at curves.

Each person asks for ten runs with a thousand points each, every five seconds, and for the runs of a board.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import psutil

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.model.people import Role
from series_load import ask, fill_store

_WORKSPACE = "ws1"


def _people(place: str, count: int) -> list[str]:
    """Tokens of people who may look at the runs."""
    with Catalog.open(place) as catalog:
        if _WORKSPACE not in {one.name for one in catalog.workspaces.list()}:
            catalog.workspaces.add(_WORKSPACE)
        catalog.people.add("chief", is_administrator=True)
        tokens = [catalog.tokens.issue("chief", "load")[1]]
        for number in range(count):
            name = f"person{number}"
            catalog.people.add(name)
            catalog.people.set_role(name, _WORKSPACE, Role.EDITOR)
            tokens.append(catalog.tokens.issue(name, "load")[1])
    return tokens


class _Answers:
    def __init__(self) -> None:
        self.took: dict[str, list[float]] = {"curves": [], "boards": []}
        self.errors: list[str] = []

    async def ask(self, kind: str, host: str, port: int, token: str, path: str) -> None:
        try:
            self.took[kind].append(await ask(host, port, token, path, time.perf_counter()))
        except (OSError, RuntimeError, asyncio.IncompleteReadError) as error:
            self.errors.append(str(error)[:200])

    def line(self, kind: str) -> str:
        took = sorted(self.took[kind])
        p99 = took[int(len(took) * 0.99)]
        times = f"p50 {statistics.median(took):.1f} ms, p99 {p99:.1f} ms, worst {took[-1]:.1f} ms"
        return f"{kind}: {len(took)} answers, {times}"


async def _load(
    url: str, tokens: list[str], names: list[str], boards: list[str], options: argparse.Namespace
) -> _Answers:
    host, _, port = url.removeprefix("http://").partition(":")
    answers = _Answers()

    async def person(token: str) -> None:
        await asyncio.sleep(random.random() * options.every)
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            began = time.monotonic()
            chosen = "&".join(f"run={name}" for name in random.sample(names, options.runs))
            path = f"/api/v1/series?{chosen}&tag=loss&points={options.points}&format={options.format}"
            await answers.ask("curves", host, int(port), token, path)
            await answers.ask("boards", host, int(port), token, f"/boards/{random.choice(boards)}/data/runs")
            await asyncio.sleep(max(0.0, options.every - (time.monotonic() - began)))

    await asyncio.gather(*(person(token) for token in tokens))
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--boards", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--stored", type=int, default=100, help="runs that there are, of 10,000 points each")
    parser.add_argument("--format", default="columns")
    parser.add_argument("--catalog", default="", help="postgresql://…; else a SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aboard-load-") as folder:
        fill_store(f"{folder}/store", options.stored, 10_000)
        place = options.catalog or f"{folder}/catalog.sqlite"
        tokens = _people(place, options.people)
        environment = {**os.environ, "ABOARD_HOME": f"{folder}/home", "ABOARD_BOARDS_LIMIT_PER_PERSON": "0"}
        command = [sys.executable, "-c", "from aboard.cli import main; main()", "server", "--port", "0", "--json"]
        command += ["--login", "tokens", "--catalog", place, "--store", f"{folder}/store"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as server:
            try:
                said = json.loads((server.stdout or sys.stdin).readline())
                _measure(server, said["url"], tokens, options)
            finally:
                server.terminate()


def _measure(server: subprocess.Popen[bytes], url: str, tokens: list[str], options: argparse.Namespace) -> None:
    chief, *others = tokens
    client, process = Client(url, chief), psutil.Process(server.pid)
    while client.runs.count() < options.stored:
        time.sleep(0.5)
    names = [str(run.number) for run in client.runs.iterate(columns=["hparams.none"])]
    print(f"before boards: {process.memory_info().rss / 1e6:.0f} MB")
    began = time.monotonic()
    boards = [
        client.boards.create(f"run{names[number % len(names)]}", template=f"{{run}}_{number}").board.id
        for number in range(options.boards)
    ]
    print(f"{options.boards} boards made in {time.monotonic() - began:.1f} s")
    began = time.monotonic()
    host, _, port = url.removeprefix("http://").partition(":")

    async def open_all() -> None:
        for board in boards:
            await ask(host, int(port), chief, f"/boards/{board}/data/runs", 0.0)

    asyncio.run(open_all())
    print(f"all opened in {time.monotonic() - began:.1f} s: {process.memory_info().rss / 1e6:.0f} MB")
    cpu_before, began = process.cpu_times(), time.monotonic()
    answers = asyncio.run(_load(url, others, names, boards, options))
    cpu, seconds = process.cpu_times(), time.monotonic() - began
    used = cpu.user + cpu.system - cpu_before.user - cpu_before.system
    print(f"{options.people} people for {seconds:.0f} s: {len(answers.errors)} errors; {used / seconds:.2f} cores")
    for kind in answers.took:
        print(f"  {answers.line(kind)}")
    for error in answers.errors[:3]:
        print(f"  {error}")
    print(f"after: {process.memory_info().rss / 1e6:.0f} MB, load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
