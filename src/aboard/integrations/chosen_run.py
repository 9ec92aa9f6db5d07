# SPDX-License-Identifier: Apache-2.0
"""Which run an integration logs to: the one that it is given, the one that the script has begun, or a new one."""

from __future__ import annotations

from typing import Any

from aboard.errors import InvalidType, InvalidValue
from aboard.run.training.run import Run, current_run


def chosen_run(run: Run | None = None, **options: Any) -> Run:
    """The run to log to. `options` are those of `Run`, for a new one.

    Integrations do not end a run: more may be trained, evaluated or logged. It ends with the process, or with
    `run.finish()`.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if run is not None:
        if not isinstance(run, Run):
            raise InvalidType(f"run must be an aboard.Run, got {type(run).__name__}.", hint="Give aboard.Run(…).")
        if given:
            names = ", ".join(sorted(given))
            raise InvalidValue(f"{names} belong to a new run, and one was given.", hint="Give them to aboard.Run(…).")
        return run
    if given:
        return Run(**given)
    return current_run() or Run()
