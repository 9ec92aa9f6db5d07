# SPDX-License-Identifier: Apache-2.0
"""`aboard export` as a person runs it."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import aboard
from aboard import SummaryWriter
from support.processes import succeed

ABOARD = [sys.executable, "-c", "from aboard.cli import main; main()"]


def export(*arguments, cwd=None, **environment):
    return subprocess.run(
        [*ABOARD, "export", *map(str, arguments)],
        capture_output=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **environment},
    )


def said(done):
    return done.stderr.decode()


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for run in ("a", "b/train"):
        with SummaryWriter(folder / run) as writer:
            for step in range(20):
                writer.add_scalar("loss", 1 / (step + 1), step)
                writer.add_scalar("acc", step, step)
            writer.add_image("picture", np.zeros((3, 4, 4)), 1)
            writer.add_hparams({"lr": 0.1}, {}, in_place=True)
    return folder


@pytest.fixture(scope="module")
def long_logs(tmp_path_factory):
    """A million points of one curve."""
    folder = tmp_path_factory.mktemp("long")
    with SummaryWriter(folder) as writer:
        for step in range(1_000_000):
            writer.add_scalar("loss", step / 7, step)
    return folder


def test_csv_to_standard_output(logs):
    done = export(logs)
    assert done.returncode == 0
    lines = list(csv.reader(io.StringIO(done.stdout.decode())))
    assert lines[0] == ["run", "tag", "step", "wall_time", "value"]
    assert len(lines) == 81
    series = aboard.open(logs).runs["b/train"].scalars["acc"]
    assert lines[-1] == ["b/train", "acc", "19", repr(series.last.wall_time), "19.0"]
    assert said(done) == ("Wrote 80 points of 4 series in 2 runs\nLeft out 2 tags that are no curves: 2 images\n")


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.json", "p.jsonl"])
def test_to_a_file_by_its_suffix(logs, tmp_path, name):
    done = export(logs, "--output", name, "--tag", "loss", "--run", "b*", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert said(done) == f"Wrote 20 points of 1 series in 1 run to {name}\n"
    path = tmp_path / name
    readers = {
        "p.csv": pd.read_csv,
        "p.parquet": pd.read_parquet,
        "p.json": lambda path: json.loads(path.read_text())["runs"][0]["scalars"][0]["steps"],
        "p.jsonl": lambda path: pd.read_json(path, lines=True),
    }
    assert len(readers[name](path)) == 20
    assert [child.name for child in tmp_path.iterdir()] == [name]


def test_format_wins_over_the_suffix(logs, tmp_path):
    assert export(logs, "-o", tmp_path / "x.txt", "--format", "json").returncode == 0
    document = json.loads((tmp_path / "x.txt").read_bytes())
    assert [run["hparams"] for run in document["runs"]] == [{"lr": 0.1}, {"lr": 0.1}]
    assert export(logs, "--format", "parquet").stdout[:4] == b"PAR1"


def test_roots_as_for_view(logs):
    done = export(f"x={logs / 'a'}", f"y={logs / 'b'}", "--tag", "loss")
    assert {line.split(",")[0] for line in done.stdout.decode().splitlines()[1:]} == {"x", "y/train"}


def test_an_existing_file_is_kept(logs, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("mine")
    done = export(logs, "--output", path)
    assert done.returncode == 1
    assert said(done) == f"error: '{path}' exists\n  hint: give another name, or --force to replace it\n"
    assert path.read_text() == "mine"
    assert export(logs, "--output", path, "--force").returncode == 0
    assert path.read_text().startswith("run,tag,")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere"], 1, "error: there is no folder 'nowhere'"),
        ([], 2, "Missing argument"),
        (["logs", "--format", "xml"], 2, "'xml' is not one of"),
        (["logs", "--tag", "los"], 1, "did you mean 'loss'"),
        (["logs", "--run", "c"], 1, "no run is called 'c'"),
        (["logs", "--output", "no/such/x.csv"], 1, "there is no folder 'no/such'"),
        (["logs", "--output", "."], 1, "is a folder"),
        (["logs", "--output", "x.csv.gz"], 1, "should be compressed"),
        (["empty"], 1, "no event files below empty; nothing was written"),
    ],
)
def test_mistakes_are_said_without_a_traceback(logs, tmp_path, arguments, code, words):
    (tmp_path / "logs").symlink_to(logs)
    (tmp_path / "empty").mkdir()
    done = export(*arguments, cwd=tmp_path, COLUMNS="200")
    assert done.returncode == code
    assert words in said(done)
    assert "Traceback" not in said(done)
    assert done.stdout == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "logs"]


def test_without_pyarrow_parquet_is_refused_and_the_rest_works(logs, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not installed here')")
    done = export(logs, "-o", tmp_path / "x.parquet", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "pip install 'aboard[export]'" in said(done)
    assert not (tmp_path / "x.parquet").exists()
    assert export(logs, "-o", tmp_path / "x.csv", PYTHONPATH=str(tmp_path)).returncode == 0


def test_damage_is_told(logs, tmp_path):
    source = next((logs / "a").iterdir())
    data = bytearray(source.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / source.name).write_bytes(data)
    done = export(tmp_path)
    assert done.returncode == 0
    assert "Damage in 1 file: 1 record left out" in said(done)
    assert len(done.stdout.splitlines()) == 40
    (tmp_path / "events.out.tfevents.9.loop").symlink_to("events.out.tfevents.9.loop")
    assert "1 file could not be read" in said(export(tmp_path))


def test_a_full_disk_behind_standard_output_is_said(long_logs):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*ABOARD, "export", str(long_logs)], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert said(done) == "error: standard output cannot be written: No space left on device\n"


def test_a_closed_standard_output_is_said(logs):
    done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', *ABOARD, "export", str(logs)], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert said(done) == "error: standard output is closed\n  hint: give --output FILE\n"


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(long_logs, form):
    command = [*ABOARD, "export", str(long_logs), "--format", form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_memory_does_not_grow_with_the_text(long_logs, tmp_path, form):
    """A million points are 24 MB as columns and up to 80 MB as text, of which only a part is in memory."""
    script = """
        import sys
        from pathlib import Path
        import aboard
        from aboard.exchange.export_points import Exported, export_points
        from aboard.exchange.formats import FORMATS
        from aboard.exchange.name_patterns import NamePatterns

        def peak():  # not ru_maxrss, which begins with that of the process that started this one
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

        small, logs, form = sys.argv[1:]
        def write(folder):
            runs = list(aboard.open(folder).runs)
            # Columns of an index come into memory when somebody looks at them.
            columns = [run.scalars[tag].values for run in runs for tag in run.scalars]
            before = peak()
            with open("/dev/null", "wb") as file:
                done, target = Exported(), FORMATS[form](file, superseded=False)
                export_points(runs, NamePatterns([]), target, done, superseded=False)
            return done.points, peak() - before
        write(small)  # loads what the format needs
        print(*write(logs))
    """
    with SummaryWriter(tmp_path / "small") as writer:
        writer.add_scalar("loss", 1, 1)
    points, grown = succeed(tmp_path, script, tmp_path / "small", long_logs, form).out.split()
    assert int(points) == 1_000_000
    assert float(grown) < 30
