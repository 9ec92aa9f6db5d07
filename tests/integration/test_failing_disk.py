# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, read-only or gone: training goes on, the person hears of it once, and nothing is damaged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import processes

BEGIN = """
    import logging, os, shutil, sys, time
    from aboard import SummaryWriter
    import aboard._native

    logging.basicConfig(level=logging.WARNING, format="notice: %(message)s")
    folder = sys.argv[1]

    def log(writer, steps, text="x" * 1000):
        for step in steps:
            writer.add_text("text", text, step)
            writer.add_scalar("scalar", step, step)

    def wait_for(condition):  # the test ends what takes too long
        while not condition():
            time.sleep(0.02)
"""


def warnings_in(ended: processes.Ended) -> list[str]:
    return re.findall(r"WriteWarning: (.*)", ended.err)


def notices_in(ended: processes.Ended) -> list[str]:
    return re.findall(r"notice: (.*)", ended.err)


def run(folder: Path, script: str, *arguments: object) -> processes.Ended:
    ended = processes.succeed(folder, BEGIN + script, *arguments)
    assert "Traceback" not in ended.err, ended.err
    return ended


def text_steps(folder: Path, *, may_be_cut: bool = False) -> list[int]:
    scalars = processes.scalars(folder, may_be_cut=may_be_cut)
    return [step for tag, step, _ in scalars if tag.startswith("text")]


def as_ordinary_user() -> str:
    """Code with which a script stops being root, whom no permission stops."""
    return "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" if os.geteuid() == 0 else ""


def let_in(path: Path) -> None:
    """Let the ordinary user reach a folder of pytest's, and own it."""
    if os.geteuid() == 0:
        for parent in path.parents:
            if "pytest-of-" in str(parent):
                parent.chmod(parent.stat().st_mode | 0o111)
        os.chown(path, 65534, 65534)


MOUNTED = """
    import ctypes, os, sys
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x00020000) == 0, os.strerror(ctypes.get_errno())
    assert libc.mount(b"none", b"/", None, (1 << 18) | (1 << 14), None) == 0  # nothing leaks from here
    assert libc.mount(b"small", sys.argv[1].encode(), b"tmpfs", 0, b"size=1m") == 0, os.strerror(ctypes.get_errno())
"""

# Fills the disk to its last page, so that not even a byte fits into what is there.
FILL = """
    def fill(path):
        with open(path, "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(4096))
            except OSError:
                pass
"""


def small_disk(folder: Path) -> Path:
    """Where a script that begins with MOUNTED has a disk of a megabyte."""
    processes.needs("" if os.geteuid() == 0 else "only root can mount a small disk")
    processes.needs("" if shutil.which("unshare") else "unshare is not installed")
    processes.needs("" if _can_mount() else "this kernel lets us mount nothing")
    disk = folder / "disk"
    disk.mkdir()
    return disk


FULL_DISK = """
    writer = SummaryWriter(folder + "/run")
    log(writer, range(100))
    writer.flush()
    ballast = open(folder + "/ballast", "wb", buffering=0)
    try:
        while True:
            ballast.write(bytes(4096))
    except OSError:
        pass
    log(writer, range(100, 600))
    for step in range(600, 610):
        log(writer, [step])
        writer.flush()
    os.remove(folder + "/ballast")
    ballast.close()
    wait_for(lambda: os.statvfs(folder).f_bavail * 4096 <= (1 << 20) - 600_000)  # it recovers without any call
    log(writer, range(610, 620))
    writer.close()
    shutil.copytree(folder + "/run", sys.argv[2])
"""


def test_a_disk_that_is_full_and_has_room_again(tmp_path: Path) -> None:
    disk = small_disk(tmp_path)
    ended = processes.succeed(tmp_path, MOUNTED + BEGIN + FULL_DISK, disk, tmp_path / "copy")
    (warning,) = warnings_in(ended)
    assert "No space left on device" in warning
    assert str(disk) in warning
    (notice,) = notices_in(ended)
    assert "again" in notice
    assert text_steps(tmp_path / "copy") == list(range(620))
    assert processes.steps(tmp_path / "copy", "scalar") == list(range(620))
    assert list(disk.iterdir()) == []


def test_a_full_disk_under_aboard_run_is_said_with_what_to_do(tmp_path: Path) -> None:
    """The command, its exit code and what reached the store before stay as they are."""
    disk = small_disk(tmp_path)
    training = """
import glob, os, sys, time
with open(os.environ["ABOARD_OUTPUT_DIR"] + "/before.txt", "w") as file:
    file.write("whole")
while not glob.glob(sys.argv[1] + "/*/output/before.txt"):
    time.sleep(0.02)
print("in the store", file=sys.stderr)
sys.stdin.read()
sys.exit(7)
"""
    script = (
        MOUNTED
        + FILL
        + """
    import subprocess
    os.environ |= {"ABOARD_HOME": sys.argv[1] + "/home", "ABOARD_STORE": sys.argv[2]}
    training = [sys.executable, "-c", sys.argv[3], sys.argv[2]]
    command = [sys.executable, "-m", "aboard", "run", "--no-code", "--", *training]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        print(line, end="", file=sys.stderr)
        if "in the store" in line:
            fill(sys.argv[1] + "/ballast")
        elif "is full" in line:
            os.remove(sys.argv[1] + "/ballast")
        elif "written again" in line:
            process.stdin.close()
    sys.exit(process.wait())
    """
    )
    ended = processes.finish(processes.start(tmp_path, script, disk, tmp_path / "store", training), 120)
    assert ended.code == 7, ended.err
    assert "Traceback" not in ended.err, ended.err
    assert "mistake" not in ended.err, ended.err
    assert ended.err.count(f"The disk with {disk}") == 1, ended.err
    assert "is full. The command goes on." in ended.err
    assert "Free some space" in ended.err
    assert "can be written again" in ended.err
    assert [path.read_text() for path in tmp_path.glob("store/*/output/before.txt")] == ["whole"]


def test_a_command_that_needs_a_local_server_names_the_full_disk(tmp_path: Path) -> None:
    disk = small_disk(tmp_path)
    script = (
        MOUNTED
        + FILL
        + """
    import subprocess
    os.environ |= {"ABOARD_HOME": sys.argv[1] + "/home", "ABOARD_STORE": sys.argv[2]}
    os.makedirs(sys.argv[1] + "/home/server")
    fill(sys.argv[1] + "/ballast")
    sys.exit(subprocess.run([sys.executable, "-m", "aboard", "runs"]).returncode)
    """
    )
    ended = processes.finish(processes.start(tmp_path, script, disk, tmp_path / "store"), 120)
    assert ended.code == 1
    assert f"The disk with {disk}" in ended.err
    assert "is full." in ended.err
    assert "Free some space" in ended.err


def _can_mount() -> bool:
    return (
        subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    )


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    script = """
    import resource
    writer = SummaryWriter(folder)
    log(writer, range(50))
    writer.flush()
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    log(writer, range(50, 300))
    for _ in range(5):
        writer.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    writer.add_scalar("scalar", 300, 300)
    writer.flush()
    writer.close()
    """
    ended = run(tmp_path, script, tmp_path / "run")
    (warning,) = warnings_in(ended)
    assert "File too large" in warning
    assert len(notices_in(ended)) == 1
    # A record that was cut off at the limit is whole in the next file.
    assert text_steps(tmp_path / "run", may_be_cut=True) == list(range(300))
    assert processes.steps(tmp_path / "run", "scalar", may_be_cut=True) == list(range(301))
    assert all(len(processes.events(path, may_be_cut=True)) > 1 for path in processes.files(tmp_path / "run"))


def test_a_folder_that_is_removed(tmp_path: Path) -> None:
    script = """
    writer = SummaryWriter(folder)
    log(writer, range(10))
    writer.flush()
    shutil.rmtree(folder)
    log(writer, range(10, 20))
    writer.flush()
    log(writer, range(20, 30))
    """
    ended = run(tmp_path, script, tmp_path / "run")
    (warning,) = warnings_in(ended)
    assert "removed" in warning
    assert text_steps(tmp_path / "run") == list(range(10, 30))


def test_a_folder_that_is_removed_and_cannot_be_made_again(tmp_path: Path) -> None:
    script = """
    writer = SummaryWriter(folder)
    log(writer, range(10))
    writer.flush()
    shutil.rmtree(folder)
    open(folder, "w").close()
    log(writer, range(10, 20))
    for step in range(20, 30):
        writer.flush()
        log(writer, [step])
    os.remove(folder)
    wait_for(lambda: os.path.isdir(folder) and any(os.path.getsize(f.path) > 1000 for f in os.scandir(folder)))
    log(writer, range(30, 40))
    """
    ended = run(tmp_path, script, tmp_path / "run")
    said = warnings_in(ended)
    assert len([text for text in said if "Not a directory" in text or "File exists" in text]) == 1
    assert len(said) <= 2  # also that what was in the removed file is gone
    assert text_steps(tmp_path / "run") == list(range(10, 40))


def test_a_folder_that_becomes_read_only(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    let_in(disk)
    script = (
        as_ordinary_user()
        + """
    writer = SummaryWriter(folder + "/run")
    log(writer, range(10))
    writer.close()
    os.chmod(folder + "/run", 0o555)
    log(writer, range(10, 20))
    for step in range(20, 30):
        writer.flush()
        log(writer, [step])
    os.chmod(folder + "/run", 0o755)
    wait_for(lambda: len(os.listdir(folder + "/run")) == 2)
    log(writer, range(30, 40))
    """
    )
    ended = run(tmp_path, script, disk)
    (warning,) = warnings_in(ended)
    assert "Permission denied" in warning
    assert text_steps(disk) == list(range(40))


def test_a_folder_that_cannot_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    let_in(disk)
    script = (
        as_ordinary_user()
        + """
    from aboard.errors import StorageUnavailable
    os.chmod(folder, 0o555)
    try:
        SummaryWriter(folder + "/run")
    except StorageUnavailable as error:
        assert "Permission denied" in str(error) and folder in str(error), error
        assert isinstance(error, OSError)
    else:
        raise AssertionError("no error")
    """
    )
    run(tmp_path, script, disk)


def test_memory_is_bounded_while_the_disk_fails(tmp_path: Path) -> None:
    script = """
    import resource
    aboard._native.set_memory_limit(2 << 20)
    writer = SummaryWriter(folder)
    log(writer, range(10))
    writer.flush()
    shutil.rmtree(folder)
    open(folder, "w").close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    log(writer, range(10, 20_000))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    assert grown < (16 << 20), grown
    os.remove(folder)
    wait_for(lambda: os.path.isdir(folder) and any(os.path.getsize(f.path) > 1000 for f in os.scandir(folder)))
    writer.flush()
    writer.add_scalar("after", 1, 1)
    writer.close()
    """
    ended = run(tmp_path, script, tmp_path / "run")
    said = warnings_in(ended)
    assert len([text for text in said if "Entries are kept" in text]) == 1
    assert len([text for text in said if "is full" in text]) == 1
    (lost,) = re.findall(r"(\d+) entries were dropped", ended.err)
    texts, scalars = text_steps(tmp_path / "run"), processes.steps(tmp_path / "run", "scalar")
    assert texts == sorted(set(texts))
    assert scalars == sorted(set(scalars))
    assert len(texts) + len(scalars) + int(lost) == 2 * 19_990
    assert 1000 < len(texts) < 19_990
    assert texts[:1000] == list(range(10, 1010))  # what came first is kept
    assert processes.steps(tmp_path / "run", "after") == [1]


def test_every_episode_of_failure_is_said_even_where_python_shows_a_text_once(tmp_path: Path) -> None:
    script = """
    writer = SummaryWriter(folder)
    for episode in range(2):
        shutil.rmtree(folder)
        open(folder, "w").close()
        for _ in range(3):
            writer.add_scalar("a", episode, episode)
            writer.flush()
        os.remove(folder)
        wait_for(lambda: os.path.isdir(folder) and os.listdir(folder))
        writer.flush()
    """
    ended = run(tmp_path, script, tmp_path / "run")
    assert len([text for text in warnings_in(ended) if "Entries are kept" in text]) == 2


def test_an_end_while_the_disk_fails_does_not_hang_and_says_what_is_lost(tmp_path: Path) -> None:
    script = """
    writer = SummaryWriter(folder)
    shutil.rmtree(folder)
    open(folder, "w").close()
    log(writer, range(100))
    writer.flush()
    writer.close()
    log(writer, range(100, 200))
    """
    ended = run(tmp_path, script, tmp_path / "run")
    assert re.search(r"entries for .*run could not be written and are lost", ended.err)


def test_one_writer_that_fails_does_not_stop_another(tmp_path: Path) -> None:
    script = """
    aboard._native.set_memory_limit(1 << 20)
    good, bad = SummaryWriter(folder + "/good"), SummaryWriter(folder + "/bad")
    shutil.rmtree(folder + "/bad")
    open(folder + "/bad", "w").close()
    log(bad, range(3000))
    log(good, range(2000))
    good.close()
    os.remove(folder + "/bad")
    """
    run(tmp_path, script, tmp_path / "run")
    assert text_steps(tmp_path / "run" / "good") == list(range(2000))
    assert processes.steps(tmp_path / "run" / "good", "scalar") == list(range(2000))


@pytest.mark.parametrize("call", ["add_embedding(np.zeros((3, 2)))", "add_scalars('s', {'a': 1})"])
def test_other_files_that_cannot_be_written_are_reported_too(tmp_path: Path, call: str) -> None:
    script = f"""
    import numpy as np
    writer = SummaryWriter(folder)
    writer.add_scalar("a", 1)
    writer.flush()
    shutil.rmtree(folder)
    open(folder, "w").close()
    try:
        writer.{call}
    except OSError as error:
        print("error", error)
    writer.flush()
    """
    ended = run(tmp_path, script, tmp_path / "run")
    assert "was not written" in ended.err or "error cannot create" in ended.out
