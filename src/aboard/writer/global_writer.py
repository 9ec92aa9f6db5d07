# SPDX-License-Identifier: Apache-2.0
"""`GlobalSummaryWriter`: one writer for modules, threads and processes, which counts the steps of each tag itself."""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Self

from aboard.writer.file_writer import FileWriter
from aboard.writer.log_folder import PathLike
from aboard.writer.shared_steps import SharedSteps
from aboard.writer.summary_writer import SummaryWriter


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
