# SPDX-License-Identifier: Apache-2.0
"""Which of several processes of one training this is."""

from __future__ import annotations

import os
from collections.abc import Mapping

# torchrun and accelerate; Open MPI; MPICH and Intel MPI; Horovod; srun, where a task is one process.
_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "SLURM_PROCID")


def rank_of(environ: Mapping[str, str] | None = None) -> int:
    """The rank of this process; 0 when it is the only one."""
    environ = os.environ if environ is None else environ
    for name in _VARIABLES:
        text = environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return 0
