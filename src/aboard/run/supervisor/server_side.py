# SPDX-License-Identifier: Apache-2.0
"""The configured server beside a run: it gives the run its number and name, and hears that the run lives.

All that matters goes through the store. A server that does not answer costs the name, and nobody waits long for it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Generator
from dataclasses import replace

from aboard.api.runs import NewRun
from aboard.client.client import Client
from aboard.errors import AboardError
from aboard.model.run import Run
from aboard.run.supervisor.request import RunRequest
from aboard.run.supervisor.talk import Talk

_log = logging.getLogger("aboard.run")
_ANSWER_SECONDS = 5.0
_EVERY_SECONDS = 20.0


def known_to_server(request: RunRequest, run: Run, talk: Talk) -> Run:
    """A new run with the number and, unless one was asked for, the name that the server gives it."""
    if request.server is None:
        return run
    new = NewRun(
        uid=run.uid,
        workspace=run.workspace,
        experiment=run.experiment or "",
        name=request.name or "",
        user=run.user,
        host=run.host,
        store=request.store,
    )
    try:
        told = _client(request).runs.register(new)
    except AboardError as error:
        talk.warn(f"{error.message}. The run is called {run.name}; the server lists it when it finds it in the store.")
        return run
    return replace(run, number=told.number, name=told.name)


@contextlib.contextmanager
def signs_of_life(request: RunRequest, uid: str) -> Generator[None]:
    """Let the server know that the run lives, also while its store cannot be reached."""
    if request.server is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_beat, args=(request, uid, ended), name="aboard-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()


def _beat(request: RunRequest, uid: str, ended: threading.Event) -> None:
    while not ended.wait(_EVERY_SECONDS):
        try:
            _client(request).runs.heartbeat(uid)
        except AboardError as error:
            _log.debug("No sign of life was given to the server: %s", error.message)


def _client(request: RunRequest) -> Client:
    return Client(request.server, request.token, timeout=_ANSWER_SECONDS, home=request.home)
