# SPDX-License-Identifier: Apache-2.0
"""`aboard.add_tensorboard`: a board beside an experiment, which ends with it or at its timeout."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from aboard.config.settings import load_settings
from aboard.errors import AboardError, InvalidType, InvalidValue
from aboard.executors.executor import Executor
from aboard.executors.local import Local
from aboard.executors.registry import executor_of
from aboard.jobs.board_ending import BoardEnding
from aboard.jobs.board_unit import DEFAULT_PORT, board_unit
from aboard.jobs.executor_text import executor_from
from aboard.jobs.experiment import Experiment
from aboard.jobs.job_record import JobRecords
from aboard.jobs.sweep import Sweep
from aboard.jobs.unit_queue import RESTARTS
from aboard.model.uid import new_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import Endpoint, EndReason, UnitStatus

DEFAULT_TIMEOUT = 86400.0
_TOKEN = re.compile(rb"[?]token=([A-Za-z0-9_-]+)")  # as `aboard view` prints it, for its owner alone


class BoardBeside:
    """A board that was started beside an experiment."""

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
        """What it printed."""
        return self._executor.logs(self.handle, follow=follow)

    def stop(self) -> None:
        """Ask for its end."""
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
) -> BoardBeside:
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
    number = _port(port)
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
    return BoardBeside(handle)


def _end_with(experiment: Experiment | Sweep | str, board: UnitHandle, delay: float) -> None:
    name = experiment if isinstance(experiment, str) else _name(experiment)
    ending = BoardEnding(board=board.text(), experiment=name, delay=delay)
    if isinstance(experiment, Experiment):
        ending = replace(ending, members=str(experiment.members), lock=str(experiment.lock))
    unit, home = new_uid(), load_settings().home
    path = JobRecords(home).place(unit) / "ending.json"
    ending.write(path)
    command = (sys.executable, "-m", "aboard.jobs.board_ending", str(path))
    own = {"ABOARD_HOME": str(home)}
    Local().submit(UnitSpec(id=unit, name="board-ending", command=command, environment=own, restarts=RESTARTS))


def _name(experiment: Experiment | Sweep) -> str:
    return experiment.experiment if isinstance(experiment, Sweep) else experiment.name


def _port(port: object) -> int:
    if port is None:
        return DEFAULT_PORT
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        raise InvalidValue(f"{port!r} is not a port", hint="give a number from 1 to 65535, or leave it out for 6006")
    return port
