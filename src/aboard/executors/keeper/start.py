# SPDX-License-Identifier: Apache-2.0
"""Start of a unit, once: submitting it again, also at the same time, returns the one that is there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from .process_tree import marked
from .unit_folder import Document, Environment, UnitFolder, inherited, read_inherited, try_lock, write_inherited


class Refused(Exception):
    """Why a unit is not started; `args` are the message and the hint."""


def start(root: Path, keeper: Path, document: Document) -> Document:
    """Start the unit of `document` below `root`, and tell whether it was there already."""
    folder = UnitFolder(root / document["id"])
    folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folder.submitting():
        lock = folder.take()
        if lock is None or folder.read("state.json") is not None:
            if lock is not None:
                os.close(lock)
            if folder.read("spec.json") != document:
                raise Refused(
                    f"there is another unit with the id {document['id']}", "submit a changed unit under a new id"
                )
            return {"again": True}
        _check(document)
        # The spec goes with what was given out for it; what others compare with stays as it was submitted.
        given, locks = _gpus(root, document)
        folder.write("spec.json", document)
        folder.write("given.json", given)
        environment = inherited()
        if document.get("restarts"):
            write_inherited(folder, environment)
        _start_keeper(folder, keeper, environment, [lock, *locks])
    return {"again": False}


def start_again(path: Path, keeper: Path) -> bool:
    """Start a unit again that was killed together with its keeper, if it may be; whether it was."""
    folder = UnitFolder(path)
    locks: list[int] = []
    with folder.submitting():
        lock = folder.take()
        if lock is None:
            return False
        locks.append(lock)
        try:
            spec, state = folder.read("spec.json"), folder.read("state.json")
            # Only its own machine can tell that nothing of it is left.
            if spec is None or state is None or state["host"] != socket.gethostname() or not folder.may_start_again():
                return False
            _check(spec, with_ports=not marked(spec["id"]))  # what is left of it may have them, and ends first
            given, gpus = _gpus(path.parent, spec)
            locks += gpus
            folder.write("given.json", given)
            folder.count_again(with_keeper=True)
            _start_keeper(folder, keeper, read_inherited(folder), locks)
        except Refused:  # a GPU or port that another has now; asked again later
            return False
        finally:
            for descriptor in locks:
                os.close(descriptor)
    return True


def _start_keeper(folder: UnitFolder, keeper: Path, environment: Environment, locks: list[int]) -> None:
    """The keeper inherits the locks, so there is no moment at which nobody holds them."""
    complaints = os.open(folder.complaints, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    subprocess.Popen(
        [sys.executable, "-I", "-S", str(keeper), "keep", str(folder.path)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=complaints,
        stderr=complaints,
        pass_fds=locks,
        env=environment,
        start_new_session=True,
    )
    os.close(complaints)


def _check(document: Document, *, with_ports: bool = True) -> None:
    source = document["source"]
    if source and not Path(source).is_dir():
        raise Refused(f"there is no folder {source!r} on {socket.gethostname()}", "give one that is there")
    for port in document["ports"] if with_ports else ():
        if port["number"] and _is_taken(port["number"]):
            raise Refused(
                f"port {port['number']} of {socket.gethostname()} is taken",
                "take another, or 0 for any that is free",
            )
    cpus = os.cpu_count() or 1
    if (document["cpus"] or 0) > cpus:
        raise Refused(f"{document['cpus']} CPUs are asked for; {socket.gethostname()} has {cpus}", "ask for fewer")


def _is_taken(number: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", number))
        except OSError:
            return True
    return False


def _gpus(root: Path, document: Document) -> tuple[Document, list[int]]:
    """GPUs that no other unit has; they are free again when the keeper ends, however it ends."""
    wanted = document["gpus"]
    if not wanted:
        return {}, []
    held = root / "gpus"
    held.mkdir(mode=0o700, exist_ok=True)
    present = _present_gpus()
    indices: list[str] = []
    locks: list[int] = []
    for index in present:
        lock = try_lock(held / index) if len(locks) < wanted else None
        if lock is not None:
            indices.append(index)
            locks.append(lock)
    if len(locks) < wanted:
        raise Refused(
            f"{wanted} GPUs are asked for; {socket.gethostname()} has {len(present)}, of which {len(locks)} are free",
            "ask for fewer, or wait for other units to end",
        )
    return {"environment": {"CUDA_VISIBLE_DEVICES": ",".join(indices)}}, locks


def _present_gpus() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=index", "--format=csv,noheader"]
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)  # noqa: PLW1510
    return told.stdout.decode().split() if told.returncode == 0 else []
