# SPDX-License-Identifier: Apache-2.0
"""In place of `xtlib`: `from aboard.compat.xt import Run`, or `from aboard.compat import xt as xtlib`."""

from aboard.compat.xt import run
from aboard.compat.xt.run import Run

__all__ = ["Run", "run"]
