# SPDX-License-Identifier: Apache-2.0
"""Writes docs/openapi.json, the document of the API; with `--check` only says whether it is up to date."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.server.app import create_app
from aboard.server.openapi import document_of
from aboard.services.services import ServiceOptions, Services

_FILE = Path(__file__).parent.parent / "docs" / "openapi.json"


def _document() -> str:
    with tempfile.TemporaryDirectory() as folder, Catalog.open(Path(folder) / "catalog.sqlite") as catalog:
        control = Services(catalog, ServiceOptions())
        app = create_app(control, personal=False, private=False, actor="", remember=lambda _: None)
        control.close()
        return json.dumps(document_of(app), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    made = _document()
    if sys.argv[1:] != ["--check"]:
        _FILE.write_text(made, "utf-8")
        return 0
    if _FILE.exists() and _FILE.read_text("utf-8") == made:
        return 0
    print("docs/openapi.json differs from what the server serves; run make openapi", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
