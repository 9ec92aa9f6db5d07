# SPDX-License-Identifier: Apache-2.0
"""The services of deploy/compose.yaml, with their own commands and variables, as processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg import sql

from aboard.client.client import Client
from support.commands import aboard as command
from support.object_servers import why_no_seaweedfs
from support.postgres import postgres_server
from support.processes import needs, until

DEPLOY = Path(__file__).parents[2] / "deploy"
SECRETS = {"DATABASE_PASSWORD": "p4ssword", "OBJECTS_ACCESS_KEY": "objects-key", "OBJECTS_SECRET_KEY": "objects-secret"}
PATIENCE = 90.0


def _services(database: str) -> dict[str, Any]:
    """The services, with secrets in place of variables, and with this machine in place of their names."""
    text = (DEPLOY / "compose.yaml").read_text()
    text = re.sub(r"\$\{(\w+):\?[^}]+\}", lambda match: SECRETS[match[1]], text)
    text = text.replace("@database/aboard", f"@127.0.0.1:{database}/aboard")
    return yaml.safe_load(re.sub(r"(?<=[=/])objects(?=[:\"])", "127.0.0.1", text))["services"]


@contextlib.contextmanager
def _started(words: list[str], environment: dict[str, str], log: Path) -> Generator[subprocess.Popen[bytes]]:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ABOARD_", "AWS_", "PG"))}
    with log.open("wb") as out:
        process = subprocess.Popen(words, env={**clean, "PATH": programs, **environment}, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()  # SeaweedFS takes its time, and nothing of this is needed any more
        process.wait()


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def _image_environment() -> dict[str, str]:
    return dict(re.findall(r"(ABOARD_(?!HOME)\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text()))


@pytest.mark.timeout(300)
def test_the_services_work_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(why_no_seaweedfs())
    with postgres_server() as postgres:
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
            password = sql.Literal(SECRETS["DATABASE_PASSWORD"])
            connection.execute(sql.SQL("CREATE ROLE aboard LOGIN PASSWORD {}").format(password))
            connection.execute("CREATE DATABASE aboard OWNER aboard")
            _ask_for_passwords(connection)
            port = str(connection.info.port)
        services = _services(port)
        (tmp_path / "data").mkdir()
        objects = ["weed", *(word.replace("/data", str(tmp_path / "data")) for word in services["objects"]["command"])]
        with _started(objects, services["objects"]["environment"], tmp_path / "objects.log"):
            healthy = services["objects"]["healthcheck"]["test"][-1]
            until(lambda: _status(healthy) == 200, PATIENCE)
            for _ in range(2):  # also when everything is started for the second time
                bucket = [*services["bucket"]["entrypoint"], *services["bucket"]["command"]]
                with _started(bucket, services["bucket"]["environment"], tmp_path / "bucket.log") as process:
                    assert process.wait(60) == 0, (tmp_path / "bucket.log").read_text()
            home = {"ABOARD_HOME": str(tmp_path / "home"), **_image_environment()}
            words = [sys.executable, "-m", *services["server"]["command"]]
            environment = {**home, **services["server"]["environment"]}
            with _started(words, environment, tmp_path / "server.log"):
                until(lambda: _status("http://127.0.0.1:6006/healthz") == 200, PATIENCE)
                until(lambda: _status("http://127.0.0.1:6006/readyz") == 200, PATIENCE)
                assert _status("http://127.0.0.1:6006/api/v1/runs") == 401
                for name, value in environment.items():
                    monkeypatch.setenv(name, value)
                made = command("server", "init-admin", "ann", "--json")
                assert made.code == 0, made.err
                monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "ann"))
                for name in services["server"]["environment"]:
                    if name.startswith("ABOARD_"):
                        monkeypatch.delenv(name)
                _train_and_find(json.loads(made.out)["code"])


def _ask_for_passwords(connection: psycopg.Connection[Any]) -> None:
    """As the image of PostgreSQL does; the tests' own server lets everybody in."""
    ((file,),) = connection.execute("SHOW hba_file").fetchall()
    rules = Path(file)
    rules.write_text(f"host all aboard 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    connection.execute("SELECT pg_reload_conf()")


def _train_and_find(code: str) -> None:
    """As a person on another machine who was let in: a run into the bucket, and back from the server."""
    known = command("login", "http://127.0.0.1:6006", "--token", code)
    assert known.code == 0, known.err
    script = "from aboard import Run\nwith Run() as run: run.log_metrics({'loss': 1.0})"
    words = [sys.executable, "-m", "aboard", "run", "--name", "first", "--", sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    client = Client()
    until(lambda: client.runs.count(where='name == "first" and status == "completed"') == 1, PATIENCE)
    run = client.runs.get("first")
    assert (run.store, run.metrics["loss"].last.value) == ("s3://runs", 1.0)
