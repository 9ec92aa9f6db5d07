# SPDX-License-Identifier: Apache-2.0
"""`attempts/<n>.json`: who started the n-th attempt of a run, and with what. Created once and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.errors import InvalidValue
from aboard.model.document_fields import DocumentFields
from aboard.model.times import time_text
from aboard.store.run.document import fields_of, parse_document, render_document

FORMAT = "aboard-attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptClaim:
    """The claim of a process on a run."""

    number: int
    token: str
    """Made by the process that claims: tells its own claim, whose answer may have been lost, from that of others."""
    claimed: datetime
    host: str = ""
    pid: int | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    """Command, code, packages, and whatever else was noted at the start."""


def render_claim(claim: AttemptClaim) -> bytes:
    """The bytes of `attempts/<n>.json`."""
    known = {
        "number": claim.number,
        "token": claim.token,
        "claimed": time_text(claim.claimed),
        "host": claim.host or None,
        "pid": claim.pid,
    }
    said = {name: value for name, value in known.items() if value is not None}
    return render_document(FORMAT, {**claim.details, **said})


def parse_claim(data: bytes, where: str) -> AttemptClaim:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the attempt")
        claimed = fields.time("claimed")
        if claimed is None:
            raise InvalidValue("the attempt has no 'claimed'")
        return AttemptClaim(
            number=fields.required_integer("number"),
            token=fields.text("token"),
            claimed=claimed,
            host=fields.text("host"),
            pid=fields.integer("pid"),
            details=fields.rest(),
        )
