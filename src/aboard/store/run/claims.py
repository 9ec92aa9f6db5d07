# SPDX-License-Identifier: Apache-2.0
"""The claim on a run: the next attempt is taken only when the newest one is known to be over.

An attempt is over when its manifest is sealed; when its sign of life is a minute old and does not change while one
watches for 25 s; or when nothing changes for a minute, whatever the clocks say. A sign of life comes every 20 s.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from aboard.errors import AccessDenied, DamagedDocument, RunClaimed, StoreError
from aboard.model.names import new_uid
from aboard.model.states import RunState
from aboard.model.times import now, time_text
from aboard.store.run import layout
from aboard.store.run.documents import AttemptClaim, EarlierAttempt, Manifest
from aboard.store.run.run_folder import RunFolder

HEARTBEAT_SECONDS = 20.0
OLD_SECONDS = 60.0
WATCH_SECONDS = 25.0
POLL_SECONDS = 2.0


def claim_attempt(
    folder: RunFolder,
    claim: AttemptClaim,
    *,
    watch: bool = True,
    is_over: Callable[[AttemptClaim], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> AttemptClaim:
    """Take the next attempt with what `claim` says, whatever its number; the claim with the number that it got.

    Raises RunClaimed while another attempt lives. With `watch` it may take up to a minute to find out; without, a sign
    of life that looks fresh is believed at once. `is_over` is for who knows better: it is asked whether the process of
    the newest attempt is gone, which can be seen on the same machine. After a StoreError the same claim may be made
    again.
    """
    newest = max(folder.attempt_numbers(), default=0)
    if newest and folder.is_claimed_by(mine := replace(claim, number=newest)):
        return mine
    if newest and not (is_over and (last := _claim_of(folder, newest)) and is_over(last)):
        _refuse_if_alive(folder, newest, watch=watch, sleep=sleep)
    mine = replace(claim, number=newest + 1)
    if not folder.create_attempt(mine):
        raise RunClaimed(
            f"Attempt {mine.number} of run {folder.uid} was claimed by another process just now.",
            hint="Let that process go on, or start a new run.",
        )
    take_over(folder, mine)
    return mine


def take_over(folder: RunFolder, claim: AttemptClaim) -> None:
    """Make the manifest that of a new attempt, and announce it to those who look at the run no more, or rarely."""
    try:
        read = folder.read_manifest()
    except DamagedDocument:
        return  # the attempt's shipper makes a new one from what is in the store
    before = read.manifest if read else None
    if before and before.attempt >= claim.number:
        return
    if before:
        withdraw_columns(folder, before)
    folder.write_manifest(manifest_of_attempt(before, claim.number))
    if before:
        announce(folder)


def manifest_of_attempt(before: Manifest | None, attempt: int) -> Manifest:
    """The manifest with which an attempt begins: all files of the earlier ones, and how those ended."""
    if before is None:
        return Manifest(attempt=attempt, status=RunState.RUNNING, alive=now(), serial=1)
    status = before.status if before.sealed else RunState.LOST
    earlier = (*before.earlier, EarlierAttempt(before.attempt, status, before.alive))
    return replace(
        before,
        attempt=attempt,
        status=RunState.RUNNING,
        alive=now(),
        serial=before.serial + 1,
        sealed=False,
        columns=None,
        earlier=earlier,
    )


def announce(folder: RunFolder) -> str:
    """Have those who list a store look at a run again that its uid alone would not show them; the key of the mark."""
    key = f"{layout.REOPENED}/{new_uid()}.{folder.uid}"
    folder.store.put(key, b"{}", create_only=True)
    return key


@contextlib.contextmanager
def announced_change(folder: RunFolder) -> Generator[None]:
    """Announce what the block changes: before, for those who come when this process has died in it, and after."""
    intent = announce(folder)
    yield
    announce(folder)
    with contextlib.suppress(StoreError):  # one announcement more costs a few requests
        folder.store.delete([intent])


def announcements_of(folder: RunFolder) -> tuple[str, ...]:
    """The announcements of a run that were made up to now."""
    entries = folder.store.list(layout.REOPENED, start_after=f"{layout.REOPENED}/{folder.uid}")
    names = (entry.key.rpartition("/")[2] for entry in entries)
    return tuple(name for name in names if name.endswith(f".{folder.uid}"))


def withdraw_columns(folder: RunFolder, manifest: Manifest) -> None:
    """Take the columns away before a run goes on: who finds them believes that it is over."""
    if not manifest.sealed:
        return
    paths = {layout.SEALED, *([manifest.columns.path] if manifest.columns else ())}
    try:
        folder.delete(sorted(paths))
    except AccessDenied:  # who may not delete may write all the same
        folder.store.put(folder.key(layout.SEALED), b"")


class _Heartbeat(NamedTuple):
    mark: str
    """Changes with each heartbeat."""
    time: datetime
    sealed: bool


def _refuse_if_alive(folder: RunFolder, newest: int, *, watch: bool, sleep: Callable[[float], None]) -> None:
    first = _read_heartbeat(folder, newest)
    is_old = (now() - first.time).total_seconds() >= OLD_SECONDS
    if first.sealed:
        return
    if not watch:
        if is_old:
            return
        raise _alive(folder, newest, first)
    waited = 0.0
    while waited < (WATCH_SECONDS if is_old else OLD_SECONDS):
        sleep(POLL_SECONDS)
        waited += POLL_SECONDS
        sign = _read_heartbeat(folder, newest)
        if sign.sealed:
            return
        if sign.mark != first.mark:
            raise _alive(folder, newest, sign)


def _read_heartbeat(folder: RunFolder, newest: int) -> _Heartbeat:
    try:
        read = folder.read_manifest()
    except DamagedDocument:
        return _Heartbeat(folder.store.head(folder.key(layout.MANIFEST)).etag, _claimed(folder, newest), False)
    if read is None or read.manifest.attempt < newest:  # claimed, and nothing heard since
        return _Heartbeat("", _claimed(folder, newest), False)
    manifest = read.manifest
    return _Heartbeat(f"{manifest.serial} {time_text(manifest.alive)}", manifest.alive, manifest.sealed)


def _claimed(folder: RunFolder, number: int) -> datetime:
    claim = _claim_of(folder, number)
    return claim.claimed if claim else datetime.fromtimestamp(0, UTC)


def _claim_of(folder: RunFolder, number: int) -> AttemptClaim | None:
    try:
        return folder.read_attempt(number)
    except DamagedDocument:
        return None


def _alive(folder: RunFolder, number: int, sign: _Heartbeat) -> RunClaimed:
    claim = _claim_of(folder, number)
    who = f" by process {claim.pid} on {claim.host}" if claim and claim.host else ""
    return RunClaimed(
        f"Attempt {number} of run {folder.uid} is being worked on{who}; last sign of life {time_text(sign.time)}.",
        hint="End that process, or wait a minute after it has ended; or start a new run.",
    )
