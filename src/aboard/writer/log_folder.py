# SPDX-License-Identifier: Apache-2.0
"""What every kind of call on a `SummaryWriter` stands on: its folder, its files, its defaults and its life."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from typing import Any, Self, cast

from aboard.errors import InvalidValue
from aboard.writer.arguments import checked_tag, path_text, step_number, wall_time
from aboard.writer.file_writer import FLUSH_TIMEOUT, FileWriter, checked_timeout
from aboard.writer.sink import NOT_TAKEN

PathLike = str | os.PathLike[str]


class LogFolder:
    """Logs to event files that TensorBoard opens.

    Every `add_…` call hands its values over and returns; a background thread encodes and writes. Points reach the
    operating system within a second; after `flush()` everything is in the file. The methods may be called from any
    thread; after a fork the child writes a file of its own. A disk that fails is reported by a `WriteWarning`.
    """

    def __init__(
        self,
        logdir: PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int | None = None,
        flush_secs: float | None = None,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        log_dir: PathLike | None = None,
        comet_config: Mapping[str, Any] | None = None,
        *,
        flush_timeout: float = FLUSH_TIMEOUT,
        clean_tags: bool = False,
    ) -> None:
        """Create the folder and a new event file in it.

        Args:
            logdir: the folder; `runs/<date>_<host><comment>` when not given. `log_dir` is the same. A URI (`s3://`,
                `gs://`, `az://`, `oss://`) is written through a folder on this machine that another process ships.
            comment: end of the folder's name when that is not given.
            purge_step: hide what earlier files of the folder hold from this step on (for a resumed training).
            max_queue: waiting entries that wake the writing thread; without it the amount of data decides.
            flush_secs: seconds after which it wakes at the latest; never more than half a second.
            filename_suffix: end of the event file's name.
            write_to_disk: False checks all arguments and writes nothing.
            comet_config: accepted in the form that disables Comet, which is not supported.
            flush_timeout: seconds that `close` waits at the most for the files of a URI to be there.
            clean_tags: write tags in tensorboardX's spelling (`Train loss` becomes `Train_loss`). By default tags are
                kept verbatim, as torch keeps them.
        """
        if comet_config is not None and not _disables(comet_config):
            raise InvalidValue(
                f"comet_config must be left out or {{'disabled': True}}, got {comet_config!r}",
                hint="aboard does not mirror to Comet; comet_ml can upload the event files",
            )
        chosen = logdir if logdir is not None else log_dir
        self.logdir = self.log_dir = path_text(chosen, "logdir") if chosen else _default_logdir(comment)
        self.purge_step = None if purge_step is None else step_number(purge_step, argument="purge_step")
        self._max_queue, self._flush_secs, self._filename_suffix = max_queue, flush_secs, filename_suffix
        self._write_to_disk, self._flush_timeout = write_to_disk, checked_timeout(flush_timeout)
        self._default_step: int | None = None
        self._default_wall_time: float | None = None
        self.all_writers: dict[str, FileWriter] = {}
        self.file_writer: FileWriter | None = self._writer_for(self.logdir, purge_step=self.purge_step)
        self._clean_tags = clean_tags
        self._try_scalar = self._fast_scalar()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process writes a file of its own in the same folder; it must not purge again.
        options = self._max_queue, self._flush_secs, self._filename_suffix, self._write_to_disk
        make = functools.partial(type(self), flush_timeout=self._flush_timeout, clean_tags=self._clean_tags)
        return make, (self.logdir, "", None, *options)

    def get_logdir(self) -> str:
        """The folder in which the event files are."""
        return self.logdir

    @contextlib.contextmanager
    def use_metadata(self, *, global_step: Any = None, walltime: Any = None) -> Generator[Self]:
        """Use this step and wall time for every call inside the block that has none of its own."""
        if global_step is None and walltime is None:
            raise InvalidValue("use_metadata needs global_step, walltime or both")
        before = self._default_step, self._default_wall_time
        self._default_step = before[0] if global_step is None else step_number(global_step)
        self._default_wall_time = before[1] if walltime is None else wall_time(walltime)
        self._try_scalar = self._fast_scalar()
        try:
            yield self
        finally:
            self._default_step, self._default_wall_time = before
            self._try_scalar = self._fast_scalar()

    def flush(self) -> None:
        """Return when everything logged before is in the files."""
        for writer in list(self.all_writers.values()):
            writer.flush()

    def close(self) -> None:
        """Flush and close the files. Closing again does nothing; logging more opens new files.

        `file_writer` is None until then, as in both peers.
        """
        for writer in list(self.all_writers.values()):
            writer.close_file()
        self.all_writers[self.logdir].settle()  # the others are below it
        self.file_writer = None
        self._try_scalar = self._fast_scalar()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get_file_writer(self) -> FileWriter:  # called by Lightning and others
        if self.file_writer is None:
            self.file_writer = self._writer_for(self.logdir)
            self._try_scalar = self._fast_scalar()
        return self.file_writer

    def _writer_for(self, folder: str, purge_step: int | None = None) -> FileWriter:
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(
                folder,
                self._max_queue,
                self._flush_secs,
                self._filename_suffix,
                purge_step=purge_step,
                write_to_disk=self._write_to_disk,
                flush_timeout=self._flush_timeout,
            )
        return self.all_writers[folder]

    def _tag(self, tag: object) -> str:
        """The tag of a kind of summary that tensorboardX cleans."""
        return checked_tag(tag, clean=self._clean_tags)

    def _fast_scalar(self) -> Callable[..., int]:
        """What `add_scalar` tries first; it knows no default step or wall time and does not reopen a closed writer."""
        if self.file_writer is None or self._default_step is not None or self._default_wall_time is not None:
            return _never_taken
        take = self.file_writer.sink.try_scalar
        if not self._clean_tags:
            return take

        def take_cleaned(tag: object, *point: Any) -> int:
            return take(checked_tag(tag, clean=True), *point)

        return take_cleaned

    def _when(self, global_step: Any, walltime: Any) -> tuple[int, float]:
        return step_number(global_step, self._default_step), wall_time(walltime, self._default_wall_time)

    def _add(self, summary: bytes, global_step: Any, walltime: Any) -> None:
        writer = self._get_file_writer()
        writer.deliver(writer.sink.add_summary(summary, *self._when(global_step, walltime)))


def _disables(comet_config: object) -> bool:
    return isinstance(comet_config, Mapping) and bool(cast("Any", comet_config).get("disabled", False))


def _never_taken(*_: object) -> int:
    return NOT_TAKEN


def _default_logdir(comment: str) -> str:
    return os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{os.uname().nodename}{comment}")
