# SPDX-License-Identifier: Apache-2.0
"""`GlobalSummaryWriter`: one writer for threads and processes, which counts the steps of each tag."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import os
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Generator, Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Self

from aboard.writer.file_writer import FileWriter
from aboard.writer.lifecycle import renew_in_child
from aboard.writer.log_folder import PathLike
from aboard.writer.summary_writer import SummaryWriter

_COUNTER_BYTES = 8


class SharedSteps:
    """One small file per series below a private folder; the lock on it is what processes share.

    Copies made by pickling or fork count on the same numbers. The process that made the first one removes the folder
    at its end, after the children that multiprocessing waits for.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="aboard-steps-"))
        self.become_child()
        renew_in_child(self)
        Finalize(None, shutil.rmtree, (self._folder,), {"ignore_errors": True}, exitpriority=-100)

    def become_child(self) -> None:
        """Have a lock that no thread of the parent holds."""
        self._threads = threading.RLock()  # a signal handler may log in the middle of `next`

    def next(self, series: str) -> int:
        """The next number of `series`."""
        name = hashlib.sha256(series.encode("utf-8", "surrogatepass")).hexdigest()
        # Locks of fcntl belong to the process and end when any descriptor of the file is closed: hence the thread lock.
        with self._threads, _locked(self._folder / name) as counter:
            number = int.from_bytes(os.pread(counter, _COUNTER_BYTES, 0), "little")
            os.pwrite(counter, (number + 1).to_bytes(_COUNTER_BYTES, "little"), 0)
            return number

    def __getstate__(self) -> dict[str, object]:
        return {"_folder": self._folder}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.become_child()
        renew_in_child(self)


@contextlib.contextmanager
def _locked(path: Path) -> Generator[int]:
    """An exclusive lock on a file, made when missing."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


class OwnSteps:
    """Counters of this process alone."""

    def __init__(self) -> None:
        self._counters: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)

    def next(self, series: str) -> int:
        """The next number of `series`."""
        return next(self._counters[series])


class GlobalSummaryWriter:
    """Takes no steps: each call on a tag gets the next number, from 0, across all processes that share this writer.

    With `coalesce_process=False` each process counts for itself.
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
        coalesce_process: bool = True,
        **named: Any,
    ) -> None:
        self.smw = SummaryWriter(
            logdir, comment, purge_step, max_queue, flush_secs, filename_suffix, write_to_disk, log_dir, **named
        )
        self._steps = SharedSteps() if coalesce_process else OwnSteps()

    def add_scalar(self, tag: str, scalar_value: Any, walltime: Any = None) -> None:
        """Add one number."""
        self.smw.add_scalar(tag, scalar_value, self._steps.next(f"scalar {tag}"), walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        bins: str | int | Sequence[float] = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of `values`."""
        self.smw.add_histogram(tag, values, self._steps.next(f"histogram {tag}"), bins, walltime, max_bins)

    def add_image(self, tag: str, img_tensor: Any, walltime: Any = None, dataformats: str = "CHW") -> None:
        """Add a picture."""
        self.smw.add_image(tag, img_tensor, self._steps.next(f"image {tag}"), walltime, dataformats)

    def add_audio(self, tag: str, snd_tensor: Any, sample_rate: int = 44100, walltime: Any = None) -> None:
        """Add sound."""
        self.smw.add_audio(tag, snd_tensor, self._steps.next(f"audio {tag}"), sample_rate, walltime)

    def add_text(self, tag: str, text_string: str, walltime: Any = None) -> None:
        """Add a text."""
        self.smw.add_text(tag, text_string, self._steps.next(f"text {tag}"), walltime)

    @property
    def file_writer(self) -> FileWriter | None:
        """The low-level writer behind it; None after `close`."""
        return self.smw.file_writer

    def get_logdir(self) -> str:
        """The folder in which the event files are."""
        return self.smw.get_logdir()

    def flush(self) -> None:
        """Return when everything logged before is in the file."""
        self.smw.flush()

    def close(self) -> None:
        """Flush and close the file; logging more opens a new one."""
        self.smw.close()

    @classmethod
    def getSummaryWriter(cls) -> Self:  # noqa: N802 - tensorboardX's name
        """The writer of this program, made at the first call, as `logging.getLogger` does."""
        with _making:
            shared = _shared.get(cls)
            if not isinstance(shared, cls):
                shared = _shared[cls] = cls()
            return shared


_shared: dict[type[GlobalSummaryWriter], GlobalSummaryWriter] = {}
_making = threading.Lock()


def _renew_lock() -> None:
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread of the parent may have held it
