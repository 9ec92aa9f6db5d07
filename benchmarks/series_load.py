# SPDX-License-Identifier: Apache-2.0
"""Many people look at curves: each asks one server for ten runs with a thousand points each, every five seconds."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from aboard import SummaryWriter
from aboard.client.client import Client
from aboard.model.names import new_uid
from aboard.model.runs import RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.store import open_store
from aboard.store.run.documents import AttemptClaim, Manifest
from aboard.store.run.run_folder import RunFolder


def fill_store(folder: str, runs: int, points: int) -> None:
    store = open_store(folder, create=True, fsync=False)
    for number in range(runs):
        uid = new_uid()
        files = RunFolder(store, uid)
        files.create_attempt(AttemptClaim(number=1, token=uid, claimed=now(), host="here", pid=1))
        with SummaryWriter(str(Path(folder, uid, "tb"))) as writer:
            for step in range(points):
                writer.add_scalar("loss", math.sin(step / 50) + number, step)
        files.write_manifest(Manifest(attempt=1, status=RunState.COMPLETED, alive=now(), serial=1, sealed=True))
        files.create_run(RunRecord(uid=uid, workspace="ws1", name=f"r{number}", created=now()))


async def _person(host: str, port: int, token: str, names: list[str], options: argparse.Namespace) -> list[float]:
    took: list[float] = []
    await asyncio.sleep(random.random() * options.every)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        chosen = "&".join(f"run={name}" for name in random.sample(names, options.runs))
        path = f"/api/v1/series?{chosen}&tag=loss&points={options.points}&format={options.format}"
        began = time.perf_counter()
        took.append(await ask(host, port, token, path, began))
        await asyncio.sleep(max(0.0, options.every - (time.perf_counter() - began)))
    return took


async def ask(host: str, port: int, token: str, path: str, began: float) -> float:
    reader, writer = await asyncio.open_connection(host, port)
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {token}", "Connection: close"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.read()
    while more := await reader.read():
        body += more
    writer.close()
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"{head!r} {body[:500]!r}")
    return (time.perf_counter() - began) * 1e3


async def _load(url: str, token: str, names: list[str], options: argparse.Namespace) -> list[float]:
    host, _, port = url.removeprefix("http://").partition(":")
    people = [_person(host, int(port), token, names, options) for _ in range(options.people)]
    return [one for each in await asyncio.gather(*people) for one in each]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--stored", type=int, default=100, help="runs that there are, of 10,000 points each")
    parser.add_argument("--format", default="columns")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aboard-load-") as folder:
        fill_store(f"{folder}/store", options.stored, 10_000)
        environment = {**os.environ, "ABOARD_HOME": f"{folder}/home", "ABOARD_STORE": f"{folder}/store"}
        command = [sys.executable, "-c", "from aboard.cli import main; main()", "server", "--port", "0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as server:
            try:
                said = json.loads((server.stdout or sys.stdin).readline())
                _measure(server, said["url"], said["token"], options)
            finally:
                server.terminate()


def _measure(server: subprocess.Popen[bytes], url: str, token: str, options: argparse.Namespace) -> None:
    client = Client(url, token)
    while client.runs.count() < options.stored:
        time.sleep(0.5)
    names = [str(run.number) for run in client.runs.iterate(columns=["hparams.none"])]
    process = psutil.Process(server.pid)
    cpu_before, began = process.cpu_times(), time.monotonic()
    took = sorted(asyncio.run(_load(url, token, names, options)))
    cpu, seconds = process.cpu_times(), time.monotonic() - began
    used = cpu.user + cpu.system - cpu_before.user - cpu_before.system
    print(
        f"{options.people} people, {len(took)} answers in {seconds:.0f} s, no error: "
        f"p50 {statistics.median(took):.1f} ms, p99 {took[int(len(took) * 0.99)]:.1f} ms, worst {took[-1]:.1f} ms; "
        f"{used / seconds:.2f} cores, {process.memory_info().rss / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
