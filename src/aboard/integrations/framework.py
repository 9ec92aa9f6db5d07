# SPDX-License-Identifier: Apache-2.0
"""What every integration needs: the framework's module, the run to log to, and metrics as scalars.

A framework that is missing or too old is an error that names the package and the version. A metric that is no number is
left out with one warning; training goes on.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from aboard.errors import AboardError, InvalidType, InvalidValue, MissingPackage
from aboard.run.training.run import Run, current_run
from aboard.run.training.stages import OnceWarnings, checked_stage
from aboard.writer.summary_writer import SummaryWriter


def require(module: str, package: str, oldest: str, *, newest_tested: str = "") -> Any:
    """The module, if its package is installed and not too old; raises MissingPackage."""
    wanted = f"pip install '{package}>={oldest}'"
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if _is_another_module(error, module):
            raise MissingPackage(f"{package} is installed, but cannot be imported: {error}", hint=wanted) from error
        tested = f" (tested with {newest_tested})" if newest_tested else ""
        raise MissingPackage(
            f"This integration needs the package {package} {oldest} or newer{tested}, which is not installed.",
            hint=wanted,
        ) from error
    installed = installed_version(package, found)
    if installed and version_numbers(installed) < version_numbers(oldest):
        raise MissingPackage(
            f"This integration needs the package {package} {oldest} or newer; {installed} is installed.",
            hint=wanted,
        )
    return found


def installed_version(package: str, module: Any = None) -> str:
    """The version of a package; empty where nobody says."""
    try:
        return version(package)
    except PackageNotFoundError:  # a build of another name, such as tensorflow-cpu
        return str(getattr(module, "__version__", ""))


def version_numbers(text: str) -> tuple[int, ...]:
    """`2.13.0+cpu` as (2, 13, 0): what comes behind the numbers does not make a version older."""
    found = re.match(r"\d+(\.\d+)*", text)
    parts = [int(part) for part in found[0].split(".")] if found else []
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _is_another_module(error: ImportError, module: str) -> bool:
    """Whether something else is missing than the framework itself."""
    name = getattr(error, "name", None) or ""
    return bool(name) and name.partition(".")[0] != module.partition(".")[0]


def choose_run(run: Run | None = None, **options: Any) -> Run:
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


class ScalarLogger:
    """Logs mappings of numbers. A metric that becomes text or an array is left out then; training goes on."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._said = OnceWarnings()

    def log(self, writer: SummaryWriter, values: Mapping[str, Any], step: int, prefix: str = "") -> None:
        """Add each value at a step; tags are `prefix` and the name. Nested mappings are flattened by "/"."""
        add, moment = writer.add_scalar, time.time()
        for name, value in values.items():
            tag = prefix + name if type(name) is str else f"{prefix}{name}"
            try:
                add(tag, value, step, moment)
            except AboardError as error:
                if isinstance(value, Mapping):
                    self.log(writer, cast("Mapping[str, Any]", value), step, f"{tag}/")
                else:
                    reason = "it is None" if value is None else error.message
                    self._said.warn((tag,), f"{self._source}: {tag!r} was left out: {reason}")


BATCH_GROUP = "batch"


class BatchMetrics:
    """Counts batches and logs their metrics below `group`; validation metrics there too, as `val_…`."""

    def __init__(self, writer: SummaryWriter, group: str = BATCH_GROUP) -> None:
        self.group = checked_stage(group)
        self.batches = 0
        """How many batches were trained on."""
        self._writer = writer
        self._prefix = f"{self.group}/" if self.group else ""
        self._scalars = ScalarLogger("batch metrics")

    def trained(self, metrics: Mapping[str, Any]) -> None:
        """A batch was trained on: a point at step 5 is that of the fifth batch."""
        self.batches += 1
        self._scalars.log(self._writer, metrics, self.batches, self._prefix)

    def validated(self, metrics: Mapping[str, Any]) -> None:
        """A validation after the batches so far."""
        named = {name if str(name).startswith("val") else f"val_{name}": value for name, value in metrics.items()}
        self._scalars.log(self._writer, named, self.batches, self._prefix)
