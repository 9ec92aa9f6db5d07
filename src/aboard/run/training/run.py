# SPDX-License-Identifier: Apache-2.0
"""`Run`: what a training script says about its run. It only appends to local files."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from aboard.errors import InvalidType, InvalidValue
from aboard.model.hparams import HparamValue, flat_hparams, hparams_to_json
from aboard.model.states import RunState, state_from
from aboard.run.environment import context_from
from aboard.run.secrets import Secrets
from aboard.run.spool import PROGRESS, FactLog, Kind, read_json
from aboard.run.training.checkpoints import Checkpoint, Checkpoints, Rename, Select, keep_artifact, keep_board_files
from aboard.run.training.exit_hooks import ExitHooks
from aboard.run.training.stages import MetricLogging, OnceWarnings, Stages, checked_stage
from aboard.run.training.starting import RequestedRun, plan_run, rank_of, start_run, wait_until_uploaded
from aboard.writer.summary_writer import SummaryWriter

if TYPE_CHECKING:
    from aboard.client.board import Board
    from aboard.client.client import Client


def plain_hparams(given: Any) -> dict[str, HparamValue]:
    """A flat mapping of plain values from a mapping, a dataclass or a namespace of arguments."""
    return flat_hparams(cast("dict[str, object]", _plain(_as_mapping(given))))


def _as_mapping(given: Any) -> Mapping[Any, Any]:
    if isinstance(given, Mapping):
        return cast("Mapping[Any, Any]", given)
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return dataclasses.asdict(given)
    if hasattr(given, "__dict__") and not isinstance(given, type) and not callable(given):
        return cast("dict[str, Any]", vars(given))
    raise InvalidType(
        f"Hyperparameters are a mapping from names to values, not {type(given).__name__}.",
        hint='Give a dictionary such as {"lr": 0.01}, a dataclass, or what argparse returns.',
    )


def _plain(value: Any) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        # Subclasses, such as members of an IntEnum, are told as what they are.
        return value if type(value) in {bool, int, float, str, type(None)} else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in cast("list[Any]", value)]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, np.ndarray):
        return _plain(cast("Any", value).tolist())
    return str(value)


if TYPE_CHECKING:
    pass

_begun: list[weakref.ref[Run]] = []


def remember(run: Run) -> None:
    _begun[:] = [one for one in _begun if (known := one()) is not None and known.status == "running"]
    _begun.append(weakref.ref(run))


def current_run() -> Run | None:
    """The run begun last that has not ended, if there is one."""
    for reference in reversed(_begun):
        run = reference()
        if run is not None and run.status == "running":
            return run
    return None


_log = logging.getLogger("aboard.run")
_FINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.PREEMPTED})


class Run:
    """One training run: metrics, hyperparameters, checkpoints and how it ended.

    Under `aboard run` it is the run that was started there. Alone it is a new one, and a helper process ships its files
    while the training goes on. Metrics become event files that TensorBoard opens; nothing here waits for a network,
    but `resume` and the end of a run that was not started by `aboard run`.

    Of several processes of one training (ranks) the first logs; with `all_ranks` the others do too, each below
    `rank<n>/`.
    """

    def __init__(
        self,
        tensorboard_path: str | os.PathLike[str] | None = None,
        *,
        workspace: str | None = None,
        experiment: str | None = None,
        name: str | None = None,
        hparams: Any = None,
        tags: Mapping[str, Any] | list[str] | tuple[str, ...] | str | None = None,
        note: str | None = None,
        store: str | os.PathLike[str] | None = None,
        batch_group: str = "batch",
        all_ranks: bool = False,
        enabled: bool = True,
        separate: bool = False,
        flush_timeout: float = 60.0,
    ) -> None:
        """Take part in the run of `aboard run`, or begin a new one.

        Args:
            tensorboard_path: where event files go; below it a folder for each stage, and alone first one for the run.
            workspace: where the run belongs.
            experiment: which runs it belongs with.
            name: what it is called. The name of a run that the store has makes this a new attempt of it.
            hparams: a mapping, nested or not, a dataclass, or what argparse returns.
            tags: names, or names with values.
            note: a text about the run.
            store: the folder or URI in which the run is kept.
            batch_group: the group in which `log_batch_metrics` shows its series.
            all_ranks: whether ranks other than the first log as well.
            enabled: False checks all arguments and writes nothing.
            separate: True begins a run of its own even under `aboard run`, in the same workspace and experiment unless
                others are named: one trial of a search, say.
            flush_timeout: how long the end of a run alone waits for the last files to be shipped, in seconds.
        """
        checked_stage(batch_group)
        self.rank = rank_of()
        self._said = OnceWarnings()
        around = context_from(os.environ)
        if separate and around is not None:
            workspace, experiment = workspace or around.workspace or None, experiment or around.experiment or None
        wanted = RequestedRun(workspace=workspace, experiment=experiment, name=name, store=store)
        attached = None if separate else around
        self._is_alone = attached is None
        if attached is None and all_ranks and self.rank:
            raise InvalidValue(
                f"Run(all_ranks=True) in rank {self.rank} has no run to join.",
                hint="Start the training with `aboard run -- …`, so that all ranks know their run.",
            )
        self._place = attached or plan_run(wanted)
        self._enabled = bool(enabled)
        self._logs = self._enabled and (all_ranks or self.rank == 0)
        self._flush_timeout = _seconds(flush_timeout)
        self._facts = FactLog(self._place.spool)
        self._stages = Stages(self._log_folder(tensorboard_path), write_to_disk=self._logs)
        self._metrics = MetricLogging(self._stages, self._said, batch_group)
        self._checkpoints = Checkpoints(self._place.output)
        self._hparams: dict[str, HparamValue] = {}
        self._secrets = Secrets.of(os.environ, sys.argv)
        self._status: RunState | None = None
        self._finishing = threading.RLock()
        self._pid = os.getpid()
        first_hparams = plain_hparams(hparams) if hparams is not None else {}
        first_tags = _tags(tags)
        if not separate:
            remember(self)
        if not self._logs:
            return
        if self._is_alone:
            start_run(self._place, RequestedRun(store=store, name=name, tensorboard=self._watched()))
        else:
            self._mention_ignored(wanted)
            if (folder := self._watched()) is not None:
                self._note("watch", folder=str(folder))
        self._ending = ExitHooks(self)
        if first_hparams:
            self.log_hparams(first_hparams)
        if first_tags:
            self._note("tags", values=first_tags)
        if note is not None:
            self.note(note)

    def __repr__(self) -> str:
        return f"<Run {self.name} of workspace {self.workspace}, attempt {self.attempt}>"

    @property
    def uid(self) -> str:
        """The name that never changes."""
        return self._place.uid

    @property
    def name(self) -> str:
        """What the run is called."""
        return self._place.name

    @property
    def workspace(self) -> str:
        """Where it belongs."""
        return self._place.workspace

    @property
    def experiment(self) -> str | None:
        """Which runs it belongs with."""
        return self._place.experiment or None

    @property
    def attempt(self) -> int:
        """Which start of the run this is; alone this is known once `resume` has asked."""
        number = read_json(self._place.spool / PROGRESS).get("attempt") if self._is_alone else None
        return number if isinstance(number, int) else self._place.attempt

    @property
    def output_dir(self) -> Path:
        """The folder whose contents are kept, and come back when the run is started again."""
        return self._place.output

    @property
    def tensorboard_dir(self) -> Path:
        """Below which the stages have their event files."""
        return self._stages.folder

    @property
    def status(self) -> str:
        """`running`, or how the run ended."""
        return str(self._status or RunState.RUNNING)

    def writer(self, stage: str | None = None) -> SummaryWriter:
        """The writer of a stage, for images, histograms and every other kind of summary."""
        return self._stages.get(stage).writer

    def tensorboard(self, *, timeout: float = 60.0, client: Client | None = None, **options: Any) -> Board:
        """A board over this run, live: as `Board.create` makes it, or the one that is there already.

        It asks a server, the configured one or a private one, and so waits for a network: at most `timeout` seconds
        until the server knows the run.
        """
        from aboard.run.training.board import create_board

        if not self._logs:
            why = "it was made with enabled=False" if not self._enabled else f"rank {self.rank} logs nothing"
            raise InvalidValue(f"This Run has no board: {why}.", hint="Ask for it in the process that logs.")
        seconds = _seconds(timeout)
        return create_board(self._place.spool, self.name, client=client, timeout=seconds, options=options)

    def log_metrics(self, metrics: Mapping[str, Any], step_name: str | None = None, stage: str | None = None) -> None:
        """Log numbers by name.

        The entry called `step_name` is the x axis and no metric; without one the calls of each stage are counted.
        Stages are any names: each has a curve of its own in the same chart. What is no number is left out.
        """
        if self._status is not None:
            self._mention_end()
        self._metrics.metrics(metrics, step_name, stage)

    def log_batch_metrics(
        self, metrics: Mapping[str, Any], batch: int | None = None, stage: str | None = "train"
    ) -> None:
        """Log numbers of one batch, with the number of the batch as x axis; without one, batches are counted."""
        if self._status is not None:
            self._mention_end()
        self._metrics.batch_metrics(metrics, batch, stage)

    def log_hparam(self, name: str, value: Any) -> None:
        """Log one hyperparameter."""
        self.log_hparams({name: value})

    def log_hparams(self, hparams: Any) -> None:
        """Log hyperparameters; what was logged before stays unless it is named again."""
        values = plain_hparams(hparams)
        self._hparams.update(values)
        self._note("hparams", values=hparams_to_json(values))
        if self._logs:
            shown = {name: value for name, value in self._hparams.items() if value is not None}
            masked = cast("dict[str, HparamValue]", self._secrets.mask_value("", shown))
            self.writer().add_hparams(masked, {}, in_place=True)

    def log_event(self, name: str, data: Mapping[str, Any] | None = None, *, step: int | None = None) -> None:
        """Annotate the run: something happened, at a step if one is given."""
        if not isinstance(name, str) or not name:
            raise InvalidType(f"An event has a name, and {name!r} is none.")
        values = hparams_to_json(plain_hparams(data)) if data else {}
        self._note("annotation", name=name, data=values, **({} if step is None else {"step": int(step)}))

    def log_artifact(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Keep a file or folder with the run; it is copied unless it is below `output_dir`."""
        if self._logs:
            self._note("artifact", path=keep_artifact(path, name, self.output_dir))

    def log_board_files(
        self, folder: str | os.PathLike[str], *, select: Select | None = None, rename: Rename | None = None
    ) -> list[Path]:
        """Keep event files, profiles and embeddings of a folder elsewhere, from any rank; where they are now.

        `select(path)` chooses other files, by their paths below `folder`. `rename(path, rank)` tells their new paths;
        without it, files of later ranks get `#<rank>` behind the name of the host, so that none replaces another.
        """
        if self._is_alone and self.rank:
            raise InvalidValue(
                f"Rank {self.rank} has no run to keep files in.",
                hint="Start the training with `aboard run -- …`, so that all ranks know their run.",
            )
        if not self._enabled:
            return []
        return keep_board_files(folder, self._place.tensorboard, self.rank, select, rename)

    def note(self, text: str) -> None:
        """Add a text about the run."""
        self._note("note", text=str(text))

    def tag(self, *names: str, **values: Any) -> None:
        """Add tags: names alone, or names with values."""
        self._note("tags", values={**_tags(names), **_tags(values)})

    def checkpoint(
        self, state: Mapping[str, Any] | None = None, file: str | os.PathLike[str] | None = None, **values: Any
    ) -> None:
        """Keep where the training is: values, and a copy of a file. `run.checkpoint({"epoch": 3}, "model.pt")`."""
        if self._logs:
            self._stages.flush()  # who goes on from here after kill -9 must find all that was logged before
            self._checkpoints.add({**(state or {}), **values}, file, time.time())

    def resume(self, timeout: float = 60.0) -> Checkpoint | None:
        """The newest checkpoint of this run, or None when there is nothing to go on from.

        Under `aboard run` the files of earlier attempts are there already. Alone, a run with the `name` of an earlier
        one waits here until its files have come back from the store.
        """
        if self._is_alone and self._logs:
            self._wait_for_earlier_attempts(timeout)
        return self._checkpoints.newest()

    def clear_checkpoint(self) -> None:
        """Forget the checkpoints."""
        if self._logs:
            self._checkpoints.clear()

    def flush(self) -> None:
        """Return when everything logged so far is in files."""
        self._stages.flush()

    def finish(self, status: str = "completed", reason: str = "") -> None:
        """End the run: `completed`, `failed`, `cancelled` or `preempted`. Later calls change nothing."""
        self._finish(status, reason, is_certain=True)

    def _finish(self, status: str, reason: str, *, is_certain: bool) -> None:
        ended = state_from(RunState, status, "a run")
        if ended not in _FINAL:
            raise InvalidValue(f"A run cannot end as {ended}.", hint=f"Use one of {', '.join(sorted(_FINAL))}.")
        with self._finishing:
            if self._status is not None:
                return
            self._status = ended
        self._stages.close()
        if not self._logs or os.getpid() != self._pid:
            return
        self._ending.remove()
        self._note("status", status=str(ended), reason=reason, is_certain=is_certain)
        if self._is_alone:
            wait_until_uploaded(self._place.spool, self._flush_timeout)

    close = finish

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or (isinstance(error, SystemExit) and not error.code):
            self.finish()
        else:
            self._fail(error)

    def ended_by_exception(self, error: BaseException) -> None:
        """Called when nobody has caught an exception."""
        self._fail(error)

    def signalled(self, name: str) -> None:
        """Called when a signal has come, before what the training does about it: it may go on, or end here."""
        self._note("signal", name=name)
        self._stages.flush()

    def process_ends(self, exit_code: object) -> None:
        """Called when the interpreter ends and nobody has called `finish`."""
        if exit_code is None or exit_code == 0:
            self._finish("completed", "", is_certain=False)
        else:
            self.finish("failed", f"sys.exit({exit_code!r})")

    def _fail(self, error: BaseException) -> None:
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        self.finish("cancelled" if isinstance(error, KeyboardInterrupt) else "failed", reason)

    def _log_folder(self, given: str | os.PathLike[str] | None) -> Path:
        if given is None:
            folder = self._place.tensorboard
        else:
            folder = Path(given).expanduser().absolute()
            if self._is_alone:  # another run may write to the same path, at the same time or later
                folder /= self._place.name
        return folder / f"rank{self.rank}" if self.rank else folder

    def _watched(self) -> Path | None:
        folder = self._stages.folder
        return None if folder.is_relative_to(self._place.output) else folder

    def _wait_for_earlier_attempts(self, timeout: float) -> None:
        end = time.monotonic() + _seconds(timeout)
        while not (progress := read_json(self._place.spool / PROGRESS)).get("has_begun"):
            if time.monotonic() >= end:
                _log.warning("The store did not answer within %g s, so nothing was resumed.", timeout)
                return
            time.sleep(0.02)
        if problem := progress.get("problem"):
            _log.warning("%s", problem)

    def _mention_ignored(self, wanted: RequestedRun) -> None:
        given = {"name": wanted.name, "workspace": wanted.workspace, "experiment": wanted.experiment}
        for what, value in given.items():
            if value is not None and value != (getattr(self, what) or ""):
                text = f"Run({what}={value!r}) is ignored: `aboard run` has begun {self!r}"
                self._said.warn((what,), text)
        if wanted.store is not None:
            self._said.warn(("store",), "Run(store=…) is ignored: `aboard run` was told where the run is kept")

    def _mention_end(self) -> None:
        self._said.warn(("end",), f"{self!r} is over; what is logged now is written, but may not be shipped")

    def _note(self, kind: Kind, **fields: object) -> None:
        if not self._logs:
            return
        try:
            self._facts.append(kind, **{name: self._secrets.mask_value("", value) for name, value in fields.items()})
        except OSError as error:
            self._said.warn((kind,), f"{self._facts.path} cannot be written, so {kind} is lost: {error.strerror}")


def _tags(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, str):
        return {given: ""}
    if isinstance(given, Mapping):
        named = cast("Mapping[object, object]", given)
        return {str(name): "" if value is None else str(value) for name, value in named.items()}
    if isinstance(given, (list, tuple, set, frozenset)):
        return {str(name): "" for name in cast("list[object]", given)}
    raise InvalidType(f"Tags are names, or a mapping from names to values, not {type(given).__name__}.")


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) or value < 0:
        raise InvalidValue(f"{value!r} is not a number of seconds.")
    return float(value)
