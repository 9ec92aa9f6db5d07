# SPDX-License-Identifier: Apache-2.0
"""The command `aboard` within the process of a test, which saves the start of one for each command."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping

import pytest

from aboard.cli import main
from support.processes import Ended


def aboard(*arguments: object, typed: str = "", env: Mapping[str, str] | None = None) -> Ended:
    """What `aboard` with these arguments says and how it ends.

    `typed` is its standard input, which is no terminal; `env` takes the place of the environment.
    """
    out, err, code = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO(), 0
    switch_interval = sys.getswitchinterval()  # commands that serve change it for their process
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), "utf-8"))
        patch.setattr(sys, "argv", ["aboard", *map(str, arguments)])
        if env is not None:
            for name in os.environ.keys() - env.keys():
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.setswitchinterval(switch_interval)
    return Ended(code, out.buffer.getvalue().decode(), err.getvalue())
