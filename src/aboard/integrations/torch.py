# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a writer that every rank may use, and a handler that puts traces of the profiler beside the run."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aboard.integrations.framework import choose_run, require
from aboard.run.environment import context_from
from aboard.run.training.run import Run, current_run
from aboard.run.training.starting import rank_of
from aboard.writer.summary_writer import SummaryWriter

_log = logging.getLogger("aboard.integrations")


class TorchWriter:
    """`.writer` is a `SummaryWriter` in the folder of the run.

    In a distributed training every rank may have one: all write to one logdir, each to a file that is named after its
    rank, and the files are read as one history. Outside of a run it writes where `SummaryWriter()` does, and says so.
    """

    def __init__(self, logdir: str | os.PathLike[str] | None = None) -> None:
        """Open a file.

        Args:
            logdir: a folder below that of the run, such as `train`; outside of a run any folder.
        """
        rank = rank_of()
        self.rank = rank
        folder = run_folder()
        chosen = str(folder / (logdir or "")) if folder is not None else logdir
        self.writer = SummaryWriter(chosen, filename_suffix=f".rank{rank}" if rank else "")
        if folder is None:
            _log.warning(
                "TorchWriter writes to %s. Start the script with `aboard run -- …` to keep it as a run.",
                Path(self.writer.logdir).absolute(),
            )

    def close(self) -> None:
        self.writer.close()


def run_folder() -> Path | None:
    """Where event files of the run of this process go; None when there is none."""
    place = context_from(os.environ)
    if place is not None:
        return place.tensorboard
    run = current_run()
    return run.tensorboard_dir if run is not None else None


def profiler_handler(run: Run | None = None, *, use_gzip: bool = False) -> Callable[[Any], None]:
    """For `torch.profiler.profile(on_trace_ready=…)`: traces go beside the run, named by their rank."""
    torch = require("torch.profiler", "torch", "1.9", newest_tested="2.13")
    if run is None and (place := context_from(os.environ)) is not None:
        folder = place.tensorboard  # from every rank, also those that do not log
    else:
        folder = choose_run(run).tensorboard_dir
    rank = rank_of()
    # The form of torch's own names, <host>_<process>: by it `aboard run` knows whose file it is.
    worker = f"{socket.gethostname()}{f'#{rank}' if rank else ''}_{os.getpid()}"
    handler: Callable[[Any], None] = torch.tensorboard_trace_handler(str(folder), worker_name=worker, use_gzip=use_gzip)
    return handler
