# SPDX-License-Identifier: Apache-2.0
"""Which of several processes of one training this is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

# torchrun and accelerate; Open MPI; MPICH and Intel MPI; Horovod; srun, where a task is one process.
_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "SLURM_PROCID")


def rank_of(environ: Mapping[str, str] | None = None) -> int:
    """The rank of this process; 0 when it is the only one."""
    environ = os.environ if environ is None else environ
    for name in _VARIABLES:
        text = environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return _rank_in_torch()


def _rank_in_torch() -> int:
    """What torch.distributed knows where processes were spawned without such variables; torch is not imported here."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0
    return int(distributed.get_rank())
