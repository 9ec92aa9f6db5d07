# SPDX-License-Identifier: Apache-2.0
"""Ports of another machine on the loopback address of this one: `ssh -L` as a local unit, shared by all who look."""

from __future__ import annotations

from aboard.config.machine_folder import machine_folder
from aboard.config.settings import load_settings
from aboard.executors.local import Local
from aboard.executors.login import Login
from aboard.model.unit import UnitSpec
from aboard.model.unit_parts import Port
from aboard.model.unit_status import Endpoint

_GRACE = 1.0
_START_SECONDS = 20.0


class Tunnel:
    """The way to the ports of one unit. It has the unit's id, so there is one, whoever asks."""

    def __init__(self, unit: str, login: Login) -> None:
        self._unit = unit
        self._login = login
        self._local = Local(folder=str(machine_folder(load_settings().home) / "tunnels"))

    def endpoint(self, name: str, ports: dict[str, int]) -> Endpoint | None:
        """Where the port appears here; `ports` are all of the unit's, as its machine has them."""
        handle = self._local.find(self._unit)
        if handle is not None and self._local.status(handle).state.is_ended:
            self._local.forget(handle)
            handle = None
        if handle is None:
            handle = self._local.submit(self._spec(ports))
        return self._local.endpoint(handle, name)

    def close(self) -> None:
        """End it, if there is one."""
        handle = self._local.find(self._unit)
        if handle is None:
            return
        self._local.stop(handle)
        if self._local.wait(handle, _START_SECONDS).state.is_ended:
            self._local.forget(handle)

    def _spec(self, ports: dict[str, int]) -> UnitSpec:
        here = tuple(Port(name=name) for name in ports)
        forwards: list[str] = []
        for port in here:
            forwards += ["-L", f"127.0.0.1:$({port.variable}):127.0.0.1:{ports[port.name]}"]
        # A connection of its own: in one that is shared the tunnel would outlive its process.
        own = ("-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ExitOnForwardFailure=yes")
        command = self._login.command("-N", *own, *forwards)
        return UnitSpec(id=self._unit, name="tunnel", command=tuple(command), ports=here, grace=_GRACE)
