# SPDX-License-Identifier: Apache-2.0
"""Ports of another machine on the loopback address of this one: a local unit that forwards, shared by all who look."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from aboard.config.home import machine_folder
from aboard.config.settings import load_settings
from aboard.errors import UnknownName
from aboard.executors.local import Local
from aboard.model.units import Endpoint, Port, UnitSpec

_GRACE = 1.0
_END_SECONDS = 20.0

Forwarding = Callable[[Mapping[str, int]], Sequence[str]]
"""From the ports of a unit to the command that forwards them; `$(ABOARD_PORT_<NAME>)` is where each appears here."""


class Tunnel:
    """The way to the ports of one unit. It has the unit's id, so there is one, whoever asks."""

    def __init__(self, unit: str, forwarding: Forwarding, *, says: bytes = b"") -> None:
        """`says` is what the command prints first when it listens; one that prints nothing is believed at once."""
        self._unit, self._forwarding, self._says = unit, forwarding, says
        self._local = Local(folder=str(machine_folder(load_settings().home) / "tunnels"))

    def endpoint(self, name: str, ports: Mapping[str, int]) -> Endpoint | None:
        """Where the port appears here; `ports` are all of the unit's, as its machine has them."""
        with contextlib.suppress(UnknownName):  # somebody else closes it just now
            handle = self._local.find(self._unit)
            if handle is not None and self._local.status(handle).state.is_ended:
                self._local.forget(handle)
                handle = None
            if handle is None:
                handle = self._local.submit(self._spec(ports))
            if not self._says or b"".join(self._local.logs(handle)).startswith(self._says):
                return self._local.endpoint(handle, name)
        return None

    def close(self) -> None:
        handle = self._local.find(self._unit)
        if handle is None:
            return
        with contextlib.suppress(UnknownName):  # somebody else was quicker
            self._local.stop(handle)
            if self._local.wait(handle, _END_SECONDS).state.is_ended:
                self._local.forget(handle)

    def _spec(self, ports: Mapping[str, int]) -> UnitSpec:
        here = tuple(Port(name=name) for name in ports)
        return UnitSpec(id=self._unit, name="tunnel", command=tuple(self._forwarding(ports)), ports=here, grace=_GRACE)
