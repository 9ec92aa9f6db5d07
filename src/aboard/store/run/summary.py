# SPDX-License-Identifier: Apache-2.0
"""`summary.json`: what a run has come to: hyperparameters, metrics, annotations, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aboard.model.document_fields import DocumentFields
from aboard.model.hparams import HparamValue
from aboard.model.metric_summary import MetricSummary
from aboard.model.note import Note
from aboard.model.run import Run
from aboard.model.run_document import run_from_document, run_to_document
from aboard.store.run.document import fields_of, parse_document, render_document
from aboard.store.run.layout import SUMMARY

FORMAT = "aboard-summary"
FIELDS = ("started", "ended", "exit_code", "reason", "hparams", "metrics", "tags", "notes")
# A summary is part of a run's document; these make it a whole one, for the functions that know how to read it.
_NOBODY = {"uid": "0" * 26, "workspace": "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the training side knows of its run; tags and notes are those that the training gave."""

    started: datetime | None = None
    ended: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict[str, MetricSummary])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[Note, ...] = ()
    annotations: tuple[Mapping[str, object], ...] = ()
    """Events at a step, as the training logged them."""
    details: Mapping[str, object] = field(default_factory=dict[str, object])


def render_summary(summary: Summary) -> bytes:
    """The bytes of `summary.json`."""
    run = Run(**_NOBODY, created=_EPOCH, **{name: getattr(summary, name) for name in FIELDS})
    document = run_to_document(run)
    said = {name: document[name] for name in FIELDS if name in document}
    return render_document(FORMAT, {**summary.details, **said, "annotations": list(summary.annotations)})


def parse_summary(data: bytes, where: str = SUMMARY) -> Summary:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the summary")
        annotations = fields.entries("annotations")
        run = run_from_document({**fields.rest(), **_NOBODY})
        return Summary(
            **{name: getattr(run, name) for name in FIELDS},
            annotations=tuple(DocumentFields(entry, "an annotation").rest() for entry in annotations),
            details=run.details,
        )


_EPOCH = datetime.fromtimestamp(0, UTC)
