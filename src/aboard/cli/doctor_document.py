# SPDX-License-Identifier: Apache-2.0
"""The JSON document of `aboard doctor`; docs/doctor.md describes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from aboard.exchange.doctor.diagnosis import Diagnosis
from aboard.exchange.doctor.findings import Finding, Severity
from aboard.exchange.doctor.inspection import ExaminedFile
from aboard.exchange.doctor.repair import Repair
from aboard.foundation.text import unicode_path, utc_time
from aboard.reader.roots import Root

_LARGEST_EXACT = 1 << 53  # beyond, readers of JSON round integers


def document_of(roots: Mapping[str, Root], diagnosis: Diagnosis, repair: Repair | None) -> dict[str, Any]:
    """Everything that is known, in types that JSON has."""
    document = {
        "format": "aboard.doctor",
        "version": 1,
        "paths": [str(path) for path in roots.values()],
        **_judgement(diagnosis),
        "findings": {"items": [_finding(finding) for finding in diagnosis.findings], "next": None},
        "files": {"items": [_file(file) for file in diagnosis.files], "next": None},
        "repair": None if repair is None else _repair(repair),
    }
    return cast("dict[str, Any]", _plain(document))


def _judgement(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "verdict": diagnosis.verdict,
        "summary": diagnosis.verdict_line,
        "examined": {
            "files": len(diagnosis.files),
            "folders": diagnosis.folders,
            "records": sum(file.records for file in diagnosis.files),
            "bytes": sum(file.size for file in diagnosis.files),
            "damaged_files": diagnosis.damaged_files,
            "damaged_bytes": sum(file.damaged_bytes for file in diagnosis.files),
        },
        "counts": {severity: diagnosis.count_of(severity) for severity in Severity},
        "codes": dict(sorted(diagnosis.counts.items())),
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "code": finding.code,
        "path": finding.path,
        "byte": finding.byte,
        "end": finding.end,
        "message": finding.message,
        "advice": finding.advice,
        "details": finding.details,
    }


def _file(file: ExaminedFile) -> dict[str, object]:
    return {
        "path": str(file.path),
        "bytes": file.size,
        "modified": utc_time(file.modified) if file.identity else None,
        "records": file.records,
        "tags": file.tags,
        "first_wall_time": utc_time(file.first_wall_time),
        "last_wall_time": utc_time(file.last_wall_time),
        "lowest_step": file.lowest_step,
        "highest_step": file.highest_step,
        "damaged_bytes": file.damaged_bytes,
        "codes": file.counts,
    }


def _repair(repair: Repair) -> dict[str, object]:
    return {
        "out": str(repair.out),
        "complete": repair.is_complete,
        "event_files": repair.event_files,
        "records": repair.records,
        "bytes": repair.bytes,
        "dropped": dict(sorted(repair.dropped.items())),
        "dropped_bytes": repair.dropped_bytes,
        "shortened_files": repair.shortened_files,
        "shortened": {
            "items": [
                {"path": file.path, "records": file.records, "dropped_bytes": file.dropped_bytes}
                for file in repair.shortened
            ],
            "next": None,
        },
        "other_files": repair.other_files,
        "other_files_not_copied": repair.other_files_not_wanted,
        "links": repair.links,
        "left_out_in_all": repair.left_out_in_all,
        "left_out": {
            "items": [{"path": left.path, "reason": left.reason, "missed": left.missed} for left in repair.left_out],
            "next": None,
        },
        "check": {"confirmed": repair.is_confirmed, **_judgement(repair.check)},
    }


def _plain(value: object) -> object:
    """The same in types that every reader of JSON takes for what they are."""
    if isinstance(value, str):
        return unicode_path(value) if not value.isascii() else str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_EXACT else str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {str(key): _plain(item) for key, item in items}
    return [_plain(item) for item in cast("list[object]", value)]
