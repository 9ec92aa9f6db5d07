# SPDX-License-Identifier: Apache-2.0
"""`aboard.add_tensorboard`: a board beside an experiment, which ends with it or at its timeout.

As a process it is `aboard view`, in a container stock `tensorboard`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from aboard.config.settings import load_settings
from aboard.errors import AboardError, InvalidType, InvalidValue, StorageUnavailable
from aboard.executors.executor import Executor
from aboard.executors.kubernetes.manifests import claim_of
from aboard.executors.local import Local
from aboard.executors.registry import executor_from, executor_of
from aboard.jobs.board_ending import BoardEnding
from aboard.jobs.experiment import Experiment
from aboard.jobs.records import JobRecords
from aboard.jobs.sweep import Sweep
from aboard.jobs.unit_queue import RESTARTS
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import Endpoint, EndReason, Mount, Port, UnitHandle, UnitSpec, UnitStatus

DEFAULT_PORT = 6006
DEFAULT_IMAGE = "tensorflow/tensorflow"
_GCS_FOLDER = PurePosixPath("/gcs")

Arguments = Mapping[str, object]


def board_unit(
    executor: Executor, log_dir: str, port: int, timeout: float | None, args: Arguments, image: str
) -> tuple[Executor, UnitSpec]:
    """The unit, and the executor for it: a port that the executor publishes for all its units is the unit's own."""
    if not executor.has_ports:
        hint = "job.tensorboard() opens a board of the server; or use local, slurm, docker or kubernetes"
        raise InvalidValue(f"a board beside an experiment cannot be a job of {executor.name}", hint=hint)
    executor.check_path(log_dir)
    if not executor.takes_images:
        return executor, _process_unit(executor, log_dir, port, timeout, args)
    own, published = _published(executor, port)
    given = {"logdir": log_dir, "port": port, "host": "0.0.0.0", "load_fast": "false", **args}  # noqa: S104 - of the container
    spec = UnitSpec(
        name="tensorboard",
        command=("tensorboard", *_flags(given)),
        image=image or DEFAULT_IMAGE,
        mounts=_mounts(executor, log_dir),
        ports=(Port(number=int(str(given["port"])), host=published),),
        timeout=timeout,
        serves=True,
    )
    return own, spec


def _process_unit(executor: Executor, log_dir: str, port: int, timeout: float | None, args: Arguments) -> UnitSpec:
    folder = log_dir
    if "://" not in log_dir and executor.shares_files:
        folder = str(_make_log_folder(log_dir))
    program = (sys.executable, "-m", "aboard") if executor.shares_files else ("aboard",)
    given = {"logdir": folder, "port": port, **{name: value for name, value in args.items() if name != "load_fast"}}
    if executor.is_on_network and not {"host", "bind_all"} & args.keys():
        # On an address of the network `aboard view` lets in only who knows its token.
        given["host"] = "0.0.0.0"  # noqa: S104 - of a node, which is not this machine
    return UnitSpec(
        name="tensorboard",
        command=(*program, "view", "--no-browser", *_flags(given)),
        ports=(Port(number=int(str(given["port"]))),),
        timeout=timeout,
        serves=True,
    )


def _published(executor: Executor, port: int) -> tuple[Executor, int | None]:
    """Where the board's port appears on the machine.

    `ports` of Docker go from the container to the machine. Scripts for other systems write {6006: port} and mean the
    machine's 6006: an entry whose second number alone is the board's port is read so.
    """
    ports: Mapping[int, int] = getattr(executor, "ports", {})
    inside = [key for key in ports if key == port]
    outside = [key for key, value in ports.items() if value == port]
    found = (inside or outside)[:1]
    if not found or not executor.publishes_ports:
        return executor, port if executor.publishes_ports else None
    rest = {key: value for key, value in ports.items() if key != found[0]}
    return replace(executor, ports=rest), ports[port] if inside else found[0]  # pyright: ignore[reportCallIssue]


def _mounts(executor: Executor, log_dir: str) -> tuple[Mount, ...]:
    """A folder of this machine is seen under its own name, unless the executor shows something there already."""
    if "://" in log_dir:
        return ()
    if not executor.takes_mounts:
        return _claim(executor, log_dir)
    inside = PurePosixPath(os.path.abspath(os.path.expanduser(log_dir)))  # noqa: PTH100,PTH111 - may be of the container
    volumes: Mapping[str, str] = getattr(executor, "volumes", {})
    shown = [PurePosixPath(target) for target in volumes.values()]
    shown += [_GCS_FOLDER] if getattr(executor, "mount_gcs_path", False) else []
    if any(inside.is_relative_to(place) for place in shown):
        return ()
    return (Mount(source=str(_make_log_folder(log_dir)), target=str(inside), read_only=True),)


def _claim(executor: Executor, log_dir: str) -> tuple[Mount, ...]:
    """The claim with the folder, whole: a node would make the part that a training has not made yet, as its own."""
    claims: Mapping[str, str] = getattr(executor, "claims", {})
    claim = claim_of(claims, log_dir)
    return () if claim is None else (Mount(source=claims[claim], target=claims[claim], read_only=True),)


def _make_log_folder(log_dir: str) -> Path:
    """The folder, which a training may only make later."""
    folder = Path(log_dir).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"the log folder {folder} cannot be made: {error.strerror}") from error
    return folder


def _flags(given: Arguments) -> list[str]:
    return [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in given.items()]


DEFAULT_TIMEOUT = 86400.0
_TOKEN = re.compile(rb"[?]token=([A-Za-z0-9_-]+)")  # as `aboard view` prints it, for its owner alone


class ExperimentBoard:
    def __init__(self, handle: UnitHandle) -> None:
        self.handle = handle
        self._executor = executor_of(handle)

    @property
    def info(self) -> UnitStatus:
        """How it is doing, asked now; that its time is over is a normal end."""
        status = self._executor.status(self.handle)
        return replace(status, state=UnitState.STOPPED) if status.reason is EndReason.TIMEOUT else status

    @property
    def status(self) -> UnitState:
        """Its state, asked now."""
        return self.info.state

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it can be reached from here; none while that is not known."""
        return self._executor.endpoint(self.handle)

    @property
    def app_uri(self) -> str:
        """Its address for a browser of this machine, with the token where one is needed; empty while not known."""
        found = self.endpoint
        if found is None:
            return ""
        address = f"http://localhost:{found.port}/" if found.host == "127.0.0.1" else f"http://{found.address}/"
        if not self._executor.is_on_network:
            return address
        # One that was queued again has made another token; the output has them all.
        tokens: list[bytes] = _TOKEN.findall(b"".join(self.logs()))
        return f"{address}?token={tokens[-1].decode()}" if tokens else ""

    @property
    def port_forward_line(self) -> str:
        """On Kubernetes the line by which kubectl brings it to this machine; elsewhere empty."""
        line = getattr(self._executor, "port_forward_line", None)
        return "" if line is None else str(line(self.handle))

    def logs(self, *, follow: bool = False) -> Iterator[bytes]:
        return self._executor.logs(self.handle, follow=follow)

    def stop(self) -> None:
        self._executor.stop(self.handle)

    def wait(self, timeout: float | None = None) -> UnitStatus:
        """How it ended; or, after `timeout` seconds, how it is doing."""
        self._executor.wait(self.handle, timeout)
        return self.info


def add_tensorboard(
    experiment: Experiment | Sweep | str,
    log_dir: str | os.PathLike[str] | None = None,
    port: int | Executor | None = None,
    timeout_secs: float = DEFAULT_TIMEOUT,
    args: Mapping[str, object] | None = None,
    *,
    executor: Executor | str | None = None,
    logdir: str | os.PathLike[str] | None = None,
    image: str = "",
    termination_delay_secs: float = 0.0,
) -> ExperimentBoard:
    """Start a board over `log_dir` beside an experiment: it ends with the experiment's last job, or at its timeout.

    Both `add_tensorboard(experiment, log_dir, port, executor=…)` and `add_tensorboard(experiment, logdir, executor)`
    can be written. As a process it is `aboard view`, in a container stock `tensorboard`.

    Args:
        experiment: One that is under way, a sweep, or the name that jobs were submitted with.
        log_dir: A folder, or a URI as gs://BUCKET/PATH.
        port: At which the board listens; 6006 unless told. In a container the port inside.
        timeout_secs: After which it is stopped; 0: never.
        args: Further flags of tensorboard, which go before those that it is given otherwise.
        executor: Where it runs: local, ssh, slurm, docker or kubernetes.
        logdir: The same as `log_dir`.
        image: With tensorboard in it, for containers.
        termination_delay_secs: How much longer than the experiment it stays.
    """
    if isinstance(port, Executor):
        if executor is not None:
            raise InvalidType("there are two executors", hint="name one of them")
        port, executor = None, port
    if (log_dir is None) == (logdir is None):
        raise InvalidType("add_tensorboard needs one log folder", hint="give log_dir, a folder or gs://BUCKET/PATH")
    number = _checked_port(port)
    if timeout_secs < 0 or termination_delay_secs < 0:
        raise InvalidValue("`timeout_secs` must be a nonnegative number", hint="0 stands for no timeout")
    chosen = executor_from(executor, "local")
    folder = os.fspath(log_dir if log_dir is not None else logdir or "")
    chosen, spec = board_unit(chosen, folder, number, timeout_secs or None, args or {}, image)
    try:
        handle = chosen.submit(spec)
    except AboardError as error:
        # A launch script shows this as it is: the message, without the frames of a client library before it.
        raise error.with_traceback(None) from None
    _end_with(experiment, handle, termination_delay_secs)
    return ExperimentBoard(handle)


def _end_with(experiment: Experiment | Sweep | str, board: UnitHandle, delay: float) -> None:
    name = experiment if isinstance(experiment, str) else _experiment_name(experiment)
    ending = BoardEnding(board=board.text(), experiment=name, delay=delay)
    if isinstance(experiment, Experiment):
        ending = replace(ending, members=str(experiment.members), lock=str(experiment.lock))
    unit, home = new_uid(), load_settings().home
    path = JobRecords(home).place(unit) / "ending.json"
    ending.write(path)
    command = (sys.executable, "-m", "aboard.jobs.board_ending", str(path))
    own = {"ABOARD_HOME": str(home)}
    Local().submit(UnitSpec(id=unit, name="board-ending", command=command, environment=own, restarts=RESTARTS))


def _experiment_name(experiment: Experiment | Sweep) -> str:
    return experiment.experiment if isinstance(experiment, Sweep) else experiment.name


def _checked_port(port: object) -> int:
    if port is None:
        return DEFAULT_PORT
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        raise InvalidValue(f"{port!r} is not a port", hint="give a number from 1 to 65535, or leave it out for 6006")
    return port
