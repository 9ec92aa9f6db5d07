# SPDX-License-Identifier: Apache-2.0
"""`outputs.json`: the files of a run that are shipped whole; apart from the manifest, which is read often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.model.document_fields import DocumentFields
from aboard.store.run.document import fields_of, parse_document, render_document
from aboard.store.run.file_row import FileRow, row_to_json, rows_from_json
from aboard.store.run.layout import OUTPUTS

FORMAT = "aboard-outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Everything below `output/`."""

    serial: int
    files: tuple[FileRow, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict[str, object])


def render_outputs(outputs: Outputs) -> bytes:
    """The bytes of `outputs.json`."""
    rows = [row_to_json(row) for row in outputs.files]
    return render_document(FORMAT, {**outputs.details, "serial": outputs.serial, "files": rows})


def parse_outputs(data: bytes, where: str = OUTPUTS) -> Outputs:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the list of outputs")
        serial, files = fields.required_integer("serial"), rows_from_json(fields.entries("files"))
        return Outputs(serial=serial, files=files, details=fields.rest())
