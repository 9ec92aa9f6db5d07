# SPDX-License-Identifier: Apache-2.0
"""Board expiry: ends boards that reached a time limit, records when boards were used, and closes unused ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from aboard.catalog.catalog import Catalog
from aboard.errors import UnknownName
from aboard.model.boards import BoardRecord
from aboard.model.times import duration_text, now
from aboard.services.boards.hosting import Hosting, touch_seconds
from aboard.services.periodic_task import PeriodicTask

_LONGEST_REST, _SHORTEST_REST = 5.0, 0.2


class BoardExpiry:
    """A background task that checks the time limits of boards, as often as one may be reached."""

    def __init__(
        self,
        catalog: Catalog,
        hosting: Hosting,
        ended: Callable[[BoardRecord, str], None],
        process_used_at: Callable[[str], float | None],
        *,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """`ended` is called with each board that was ended; `process_used_at` returns when a process was used last."""
        self._catalog, self._hosting, self._ended = catalog, hosting, ended
        self._process_used_at, self._clock = process_used_at, clock
        self._began = clock()
        self._task = PeriodicTask(
            "aboard-board-keeper", self.round, looks_after="boards", rest_after_failure=_LONGEST_REST
        )

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def wake(self) -> None:
        """Look soon: there is a board with another end than before."""
        self._task.wake()

    def stop(self, seconds: float) -> None:
        """End; what is being done is waited for, but no longer than this."""
        self._task.stop()
        self._task.join(seconds)

    def round(self) -> float:
        """Look once; in how many seconds to look again."""
        self._hosting.note_uses()
        self._hosting.close_unused()
        rest = _LONGEST_REST
        for board in self._catalog.boards.with_a_limit():
            left = self._left(board)
            if left <= 0:
                self._end(board)
            else:
                rest = min(rest, left)
        return max(rest, _SHORTEST_REST)

    def _left(self, board: BoardRecord) -> float:
        """Seconds until a board ends, if nobody uses it."""
        at = self._clock()
        ends = [moment for moment in (board.expires, self._idle_end(board)) if moment is not None]
        return min((moment - at).total_seconds() for moment in ends) if ends else _LONGEST_REST

    def _used(self, board: BoardRecord) -> datetime:
        """When it was used last; that nobody could use it while no server ran does not count."""
        used = max(board.last_used or board.created, board.started or board.created, self._began)
        hosted = self._hosting.find(board.id)
        at = hosted.used_at if hosted is not None else self._process_used_at(board.id)
        if at is not None:
            used = max(used, self._clock() - timedelta(seconds=time.monotonic() - at))
        return used

    def _idle_end(self, board: BoardRecord) -> datetime | None:
        if board.idle_timeout is None:
            return None
        # Another process may have answered for it, and writes that down a little later.
        late = timedelta(seconds=touch_seconds(board)) if self._catalog.is_shared else timedelta()
        return self._used(board) + board.idle_timeout + late

    def _end(self, board: BoardRecord) -> None:
        idle_end = self._idle_end(board)
        try:
            if board.expires is not None and board.expires <= self._clock():
                span = duration_text(board.max_runtime or timedelta())
                reason = f"its longest time to run, {span}, is over"
                board, has_ended = self._catalog.boards.end(board.id, exit_status="expired", reason=reason)
            elif idle_end is not None and idle_end <= self._clock():
                reason = f"nobody used it for {duration_text(board.idle_timeout or timedelta())}"
                board, has_ended = self._catalog.boards.end(
                    board.id, exit_status="idle", reason=reason, not_used_since=self._used(board)
                )
            else:
                return
        except UnknownName:
            has_ended = True  # somebody deleted it
        if has_ended:
            self._hosting.close_board(board.id)
            self._ended(board, "end")
