# SPDX-License-Identifier: Apache-2.0
"""`run.json`: what people say about a run: its name, place, tags and notes. What happens to it stands elsewhere."""

from __future__ import annotations

from aboard.model.run import Run
from aboard.model.run_document import run_from_document, run_to_document
from aboard.store.run.document import fields_of, parse_document, render_document
from aboard.store.run.layout import RUN

FORMAT = "aboard-run"
# These belong to the manifest, the attempts and the summary, which have other writers.
_ELSEWHERE = {
    *("status", "started", "ended", "heartbeat", "exit_code", "reason", "files", "bytes", "host", "store"),
    *("hparams", "metrics", "attempts"),
}


def render_run(run: Run) -> bytes:
    """The bytes of `run.json`."""
    document = run_to_document(run)
    return render_document(FORMAT, {name: value for name, value in document.items() if name not in _ELSEWHERE})


def parse_run(data: bytes, where: str = RUN) -> Run:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        return run_from_document(document)
