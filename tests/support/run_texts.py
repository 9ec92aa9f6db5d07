# SPDX-License-Identifier: Apache-2.0
"""What runs print, and what was changed in their code, in the store as the shipper of a run leaves it."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.model.states import RunState
from aboard.model.times import now
from aboard.store import Store
from aboard.store.run.documents import Manifest
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import usual_source
from aboard.store.run.run_folder import RunFolder


def put_texts(
    store: Store, uid: str, texts: Mapping[str, str], *, status: RunState = RunState.RUNNING, serial: int = 2
) -> None:
    """Files of a run with these texts, and the manifest that tells of them."""
    folder = RunFolder(store, uid)
    rows: list[FileRow] = []
    for path, text in texts.items():
        data = text.encode()
        store.put(folder.key(path), data)
        rows.append(FileRow(path=path, source=usual_source(path), bytes=len(data), crc32=0, modified=0.0))
    folder.write_manifest(
        Manifest(attempt=1, status=status, alive=now(), serial=serial, sealed=status.is_ended, files=tuple(rows))
    )
