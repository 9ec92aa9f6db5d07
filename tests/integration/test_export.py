# SPDX-License-Identifier: Apache-2.0
"""`aboard export` as a person runs it."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.reader.opened.runs import open as open_runs
from support.commands import aboard
from support.processes import succeed

ABOARD = [sys.executable, "-c", "from aboard.cli import main; main()"]


def export(*arguments):
    return aboard("export", *arguments)


def export_process(*arguments, **options):
    """As from a shell; for what only a process has."""
    return subprocess.run([*ABOARD, "export", *map(str, arguments)], timeout=60, check=False, **options)


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
    """A curve that is longer than any buffer on its way."""
    folder = tmp_path_factory.mktemp("long")
    with SummaryWriter(folder) as writer:
        for step in range(200_000):
            writer.add_scalar("loss", step / 7, step)
    return folder


def test_csv_to_standard_output(logs):
    """Started as from a shell; the other tests call the command within this process where that says the same."""
    done = export_process(logs, capture_output=True, text=True)
    assert done.returncode == 0
    lines = list(csv.reader(io.StringIO(done.stdout)))
    assert lines[0] == ["run", "tag", "step", "wall_time", "value"]
    assert len(lines) == 81
    series = open_runs(logs).runs["b/train"].scalars["acc"]
    assert lines[-1] == ["b/train", "acc", "19", repr(series.last.wall_time), "19.0"]
    assert done.stderr == "Wrote 80 points of 4 series in 2 runs\nLeft out 2 tags that are no curves: 2 images\n"


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.json", "p.jsonl"])
def test_to_a_file_by_its_suffix(logs, tmp_path, monkeypatch, name):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    done = export(logs, "--output", name, "--tag", "loss", "--run", "b*")
    assert (done.code, done.out) == (0, "")
    assert done.err == f"Wrote 20 points of 1 series in 1 run to {name}\n"
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
    assert export(logs, "-o", tmp_path / "x.txt", "--format", "json").code == 0
    document = json.loads((tmp_path / "x.txt").read_bytes())
    assert [run["hparams"] for run in document["runs"]] == [{"lr": 0.1}, {"lr": 0.1}]
    assert export(logs, "-o", tmp_path / "y.txt", "--format", "parquet").code == 0
    assert (tmp_path / "y.txt").read_bytes()[:4] == b"PAR1"


def test_roots_as_for_view(logs):
    done = export(f"x={logs / 'a'}", f"y={logs / 'b'}", "--tag", "loss")
    assert {line.split(",")[0] for line in done.out.splitlines()[1:]} == {"x", "y/train"}


def test_an_existing_file_is_kept(logs, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("mine")
    done = export(logs, "--output", path)
    assert done.code == 1
    assert done.err == f"error: '{path}' exists\n  hint: give another name, or --force to replace it\n"
    assert path.read_text() == "mine"
    assert export(logs, "--output", path, "--force").code == 0
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
def test_mistakes_are_said_without_a_traceback(logs, tmp_path, monkeypatch, arguments, code, words):
    (tmp_path / "logs").symlink_to(logs)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    done = export(*arguments)
    assert done.code == code
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "logs"]


def test_without_pyarrow_parquet_is_refused_and_the_rest_works(logs, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = export(logs, "-o", tmp_path / "x.parquet")
    assert done.code == 1
    assert "pip install 'aboard[export]'" in done.err
    assert not (tmp_path / "x.parquet").exists()
    assert export(logs, "-o", tmp_path / "x.csv").code == 0


def test_damage_is_told(logs, tmp_path):
    source = next((logs / "a").iterdir())
    data = bytearray(source.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / source.name).write_bytes(data)
    done = export(tmp_path)
    assert done.code == 0
    assert "Damage in 1 file: 1 record left out" in done.err
    assert len(done.out.splitlines()) == 40
    (tmp_path / "events.out.tfevents.9.loop").symlink_to("events.out.tfevents.9.loop")
    assert "1 file could not be read" in export(tmp_path).err


def test_a_full_disk_behind_standard_output_is_said(long_logs):
    with open("/dev/full", "wb") as full:
        done = export_process(long_logs, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


def test_a_closed_standard_output_is_said(logs):
    done = export_process(logs, capture_output=True, text=True, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert done.stderr == "error: standard output is closed\n  hint: give --output FILE\n"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(long_logs, form):
    """A format that is text and one that is not; both others are text too."""
    command = [*ABOARD, "export", str(long_logs), "--format", form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_memory_does_not_grow_with_the_text(tmp_path):
    """Half a million points are 12 MB as columns and up to 40 MB as text, of which only a part is in memory."""
    script = """
        import sys
        from pathlib import Path
        import aboard
        from aboard.exchange.export import ExportResult
        from aboard.exchange.export import NamePatterns
        from aboard.exchange.export import export_points
        from aboard.exchange.formats import FORMATS

        def peak():  # not ru_maxrss, which begins with that of the process that started this one
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

        def write(folder, form):
            runs = list(aboard.open(folder).runs)
            # Columns of an index come into memory when somebody looks at them.
            columns = [run.scalars[tag].values for run in runs for tag in run.scalars]
            before = peak()
            with open("/dev/null", "wb") as file:
                done, target = ExportResult(), FORMATS[form](file, superseded=False)
                export_points(runs, NamePatterns([]), target, done, superseded=False)
            return done.points, peak() - before

        for form in ("csv", "json", "parquet"):
            write(sys.argv[1], form)  # loads what the format needs
            print(*write(sys.argv[2], form))
    """
    for name, count in (("small", 1), ("large", 500_000)):
        with SummaryWriter(tmp_path / name) as writer:
            for step in range(count):
                writer.add_scalar("loss", step / 7, step)
    lines = succeed(tmp_path, script, tmp_path / "small", tmp_path / "large").out.splitlines()
    for points, grown in map(str.split, lines):
        assert int(points) == 500_000
        assert float(grown) < 20
