# SPDX-License-Identifier: Apache-2.0
"""The use cases of boards: create, find, list, start, stop, change and delete them."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from aboard.api.boards import BoardChange, BoardReading, NewBoard
from aboard.catalog.boards import AdmissionResult, only_board
from aboard.catalog.catalog import Catalog
from aboard.catalog.paging import Cursor, ResultPage, check_limit
from aboard.errors import Conflict, Forbidden, InvalidValue, UnknownName
from aboard.model.board_settings import parse_process_settings, parse_settings
from aboard.model.boards import BoardKind, BoardLimits, BoardLine, BoardRecord, LineLevel, pet_name
from aboard.model.names import check_workspace_name, folded
from aboard.model.people import Access, Role
from aboard.model.selections import LogLocation, SelectedRun, Selection, parse_selection
from aboard.model.states import UnitState
from aboard.model.templates import BOARD_FIELDS, NameTemplate
from aboard.model.times import now, parse_duration, time_text
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.folders import OpenFolders
from aboard.services.boards.hosting import Hosting, check_running, is_seen
from aboard.services.boards.selection import BoardSelection, check_found, selections_of, workspaces_of
from aboard.services.changes import ChangeBus
from aboard.services.runs.references import ResolvedSelection


class BoardChangePublisher:
    """Publishes changes of boards to the users who may see them."""

    def __init__(self, changes: ChangeBus) -> None:
        self._changes = changes

    def tell(self, board: BoardRecord, changed: str) -> None:
        """Publish a change; `board` is as it is now."""
        facts = {
            "id": board.id,
            "name": board.name,
            "owner": board.owner,
            "workspace": board.workspace,
            "state": str(board.state),
            "run_count": board.run_count,
            "changed": changed,
        }
        self._changes.tell("board", board.workspace, facts, beside=tuple(sorted(workspaces_of(board))))


Key = Callable[[BoardRecord], str]


def _moment(name: str) -> Key:
    return lambda board: time_text(at) if (at := getattr(board, name)) is not None else ""


_ORDERS: dict[str, Key] = {
    "id": lambda board: board.id,
    "name": lambda board: board.name,
    "owner": lambda board: board.owner.casefold(),
    "description": lambda board: board.description.casefold(),
    "state": lambda board: board.state.value,
    "exit_status": lambda board: board.exit_status,
    "workspace": lambda board: board.workspace.casefold(),
    **{name: _moment(name) for name in ("created", "started", "last_used", "ended")},
}
SORTED_BY = tuple(_ORDERS)


def page_of(
    boards: Sequence[BoardRecord], *, sort_by: str, descending: bool, limit: int, after: str | None = None
) -> ResultPage[BoardRecord]:
    """One page of boards; `after` is what `next` of the page before said. Of equals the one with the smaller id."""
    check_limit(limit)
    if sort_by not in _ORDERS:
        raise InvalidValue(f"boards are not sorted by {sort_by!r}", hint=f"allowed are {', '.join(SORTED_BY)}")
    key, order = _ORDERS[sort_by], f"boards {'-' * descending}{sort_by}"
    ranked = sorted(((key(board), board.id, board) for board in boards), key=lambda one: one[:2], reverse=descending)
    if after is not None:
        place = Cursor.read(after, order).value
        if not isinstance(place, str) or "\0" not in place:
            raise InvalidValue(f"{after!r} is not where a page of this list ended", hint="give back what `next` said")
        value, _, board_id = place.rpartition("\0")
        last = value, board_id
        ranked = [one for one in ranked if (one[:2] < last if descending else one[:2] > last)]
    items = [board for *_, board in ranked[:limit]]
    if len(ranked) <= limit:
        return ResultPage(items, None)
    value, board_id, _ = ranked[limit - 1]
    return ResultPage(items, Cursor(0, f"{value}\0{board_id}", 0).text(order))


_DAY_MINUTES = 24 * 60
_LONGEST_TEXT = 500
_WORKSPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRules:
    """What a server allows."""

    limits: BoardLimits = field(default_factory=BoardLimits)
    plugins: tuple[str, ...] | None = ()
    """Installed plugins of TensorBoard that boards may load; None for all."""
    has_processes: bool = True
    executors: BoardExecutors = field(default_factory=BoardExecutors)
    """Where boards that are processes may run."""


class BoardService:
    """The use cases of boards. Each takes the access of a user; boards they cannot access do not exist for them."""

    def __init__(
        self,
        catalog: Catalog,
        hosting: Hosting,
        folders: OpenFolders,
        rules: BoardRules,
        preview: Callable[[BoardRecord], list[dict[str, Any]]],
        changed: Callable[[BoardRecord, str], None],
    ) -> None:
        """`preview` says what a process would be; `changed` is told of a board and of what was done with it."""
        self._catalog, self._hosting, self._folders, self._rules = catalog, hosting, folders, rules
        self._preview, self._changed = preview, changed

    def create(self, new: NewBoard, access: Access) -> tuple[AdmissionResult, ResolvedSelection]:
        """Make a board, or open the one again that this person has of just the same; and what it shows."""
        board, resolved = self._planned(new, access, may_add_workspace=True)
        for uri in resolved.folders:
            self._folders.reach(uri)
        admitted = self._catalog.boards.admission.admit(board, self._rules.limits, actor=access.name)
        if board.kind is BoardKind.SERVER:
            self._hosting.prepare()
        self._record(access, "reopen" if admitted.reopened else "create", admitted.board)
        return admitted, resolved

    def preview(self, new: NewBoard, access: Access) -> tuple[list[dict[str, Any]], ResolvedSelection]:
        """What an executor would be given for a board, and what it would show; checked as for making it, and not made.

        Limits are left out: whether one more board may run is known when it is made.
        """
        board, resolved = self._planned(new, access, may_add_workspace=False)
        if board.kind is BoardKind.SERVER:
            hint = "name an `executor`, or the kind `process`; a board in the server can be made and stopped at once"
            raise InvalidValue(
                "a board in the server is given to no executor, so there is nothing to preview", hint=hint
            )
        return self._preview(board), resolved

    def _planned(
        self, new: NewBoard, access: Access, *, may_add_workspace: bool
    ) -> tuple[BoardRecord, ResolvedSelection]:
        """The board that is meant, after all checks; it is in no catalog."""
        kind = BoardKind.PROCESS if new.executor else new.kind
        settings = self._settings(new, kind)
        if new.template:
            NameTemplate(new.template, BOARD_FIELDS)
        settled, resolved = self._settled(new, access)
        if new.must_find:
            check_found(settled, resolved)
        workspace = self._workspace(new, resolved, access, may_add=may_add_workspace)
        board = BoardRecord(
            id=str(uuid.uuid4()),
            name=pet_name(self._catalog.boards.names()),
            workspace=workspace,
            owner=access.name,
            sources=settled.words,
            where=settled.where,
            template=new.template,
            description=_short(new.description, "description"),
            created=now(),
            idle_timeout=_timeout(new.idle_timeout, "idle_timeout"),
            max_runtime=_timeout(new.max_runtime, "max_runtime"),
            kind=kind,
            settings=settings,
            scope=None if access.seen is None else tuple(sorted(access.seen)),
            shown=tuple(
                sorted({folded(run.workspace) for run in resolved.runs} | self._folders.workspaces_of(resolved.folders))
            ),
            run_count=len(resolved.runs),
            secret=secrets.token_hex(16),
        )
        return board, resolved

    def _settings(self, new: NewBoard, kind: BoardKind) -> dict[str, object]:
        if kind is BoardKind.SERVER:
            return parse_settings(new.settings, allowed_plugins=self._rules.plugins).as_mapping()
        if not self._rules.has_processes:
            hint = "leave `kind` and `executor` away: boards in the server show the same pages"
            raise InvalidValue("this server has no boards that are processes", hint=hint)
        asked = {**new.settings, "executor": new.executor} if new.executor else new.settings
        return self._rules.executors.settled(parse_process_settings(asked)).as_mapping()

    @property
    def executors(self) -> list[str]:
        """Where boards may run as processes, the server's own choice first; none: nowhere."""
        return self._rules.executors.names if self._rules.has_processes else []

    def get(self, text: str, access: Access) -> BoardRecord:
        """The board whose id begins so, or that has this name."""
        return only_board(text, [board for board in self._catalog.boards.matching(text) if is_seen(board, access)])

    def list(
        self,
        access: Access,
        *,
        owner: str | None = None,
        everybody: bool = False,
        workspaces: Sequence[str] | None = None,
        states: Sequence[UnitState] | None = None,
        sort_by: str = "started",
        descending: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> ResultPage[BoardRecord]:
        """One page of boards: this person's own, those of one owner, or everybody's."""
        whose = None if everybody else (owner if owner is not None else access.name)
        found = self._catalog.boards.list(workspaces=workspaces, owner=whose, states=states, seen=access.seen)
        seen = [board for board in found if is_seen(board, access)]
        return page_of(seen, sort_by=sort_by, descending=descending, limit=limit, after=after)

    def start(self, text: str, access: Access) -> BoardRecord:
        """Start a board that has ended; one that runs stays as it is."""
        board = self._own(text, access)
        started = self._catalog.boards.admission.start(board.id, self._rules.limits, actor=access.name)
        if board.state.is_ended:
            self._record(access, "start", started)
        return started

    def stop(self, text: str, access: Access, *, kill: bool = False) -> BoardRecord:
        """Stop a board; one that has ended stays as it is."""
        board = self._own(text, access)
        word = "killed" if kill else "stopped"
        ended, has_ended = self._catalog.boards.end(
            board.id, exit_status=word, reason=f"{word} by {access.name or 'somebody'}", at_once=kill
        )
        self._hosting.close_board(board.id)
        if has_ended:
            self._record(access, "kill" if kill else "stop", ended)
        return ended

    def change(self, text: str, change: BoardChange, access: Access) -> BoardRecord:
        """Describe a board otherwise, or give it another template or lifetime."""
        board = self._own(text, access)
        if change.template:
            NameTemplate(change.template, BOARD_FIELDS)
        changed = replace(
            board,
            description=board.description if change.description is None else _short(change.description, "description"),
            template=board.template if change.template is None else change.template,
            idle_timeout=_new_timeout(board.idle_timeout, change.idle_timeout, "idle_timeout"),
            max_runtime=_new_timeout(board.max_runtime, change.max_runtime, "max_runtime"),
        )
        if board.kind is BoardKind.PROCESS and changed.template != board.template and not board.state.is_ended:
            raise Conflict(
                f"the process of the board {board.name} has read its runs under their names already",
                hint="stop it, change the template, and start it again",
            )
        kept = self._catalog.boards.replace(changed)
        self._catalog.board_lines.add(board.id, f"changed by {access.name or 'somebody'}")
        self._hosting.change(kept)
        self._record(access, "change", kept)
        return kept

    def delete(self, text: str, access: Access) -> BoardRecord:
        """Forget a board and its log; one that runs is stopped before."""
        board = self.stop(text, access)
        self._catalog.boards.delete(board.id)
        self._record(access, "delete", board)
        return board

    def runs(self, text: str, access: Access) -> list[SelectedRun]:
        """The runs that a board shows now."""
        found = BoardSelection(self.get(text, access), self._catalog).resolve()
        if not all(access.sees(run.workspace) for run in found):
            raise UnknownName(f"there is no board {text!r}")
        return found

    def reading(self, text: str, access: Access) -> BoardReading:
        """How far the runs of a board were read; it is opened for that."""
        board = self.get(text, access)
        if board.kind is BoardKind.PROCESS:
            # Its process reads by itself, and tells nobody how far it is: all is read when it answers.
            if board.state.is_ended:
                check_running(board)
            count, is_running = board.run_count or 0, board.state is UnitState.RUNNING
            return BoardReading(runs=count, runs_read=count if is_running else 0, logdirs=max(1, count) * is_running)
        hosted = self._hosting.use(board.id, access)
        return BoardReading(
            runs=len(hosted.selected),
            runs_read=hosted.read_count,
            logdirs=hosted.logdir_count,
            problems=tuple(hosted.problems),
        )

    def lines(
        self,
        text: str,
        access: Access,
        *,
        head: int | None = None,
        tail: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        behind: int = 0,
        level: LineLevel = LineLevel.TRACE,
    ) -> Sequence[BoardLine]:
        """What happened to a board, oldest first."""
        if head is not None and tail is not None:
            raise InvalidValue("both the first and the last lines are asked for", hint="give head or tail")
        board = self.get(text, access)
        return self._catalog.board_lines.list(
            board.id, head=head, tail=tail, after=after, before=before, behind=behind, level=level
        )

    def _own(self, text: str, access: Access) -> BoardRecord:
        """A board that this person may change: its owner, and who administers its workspace."""
        board = self.get(text, access)
        if board.owner != access.name and not access.may(Role.ADMIN, board.workspace):
            hint = f"ask {board.owner or 'its owner'}, or an administrator of the workspace {board.workspace}"
            raise Forbidden(f"the board {board.name} belongs to {board.owner or 'somebody else'}", hint=hint)
        return board

    def _settled(self, new: NewBoard, access: Access) -> tuple[Selection, ResolvedSelection]:
        if not -_DAY_MINUTES < new.zone < _DAY_MINUTES:
            raise InvalidValue(f"zone={new.zone} is no zone", hint="write minutes east of Greenwich, as 120")
        selection = parse_selection(
            new.sources,
            new.where,
            workspace=new.workspace,
            numbers=new.numbers,
            zone=timezone(timedelta(minutes=new.zone)),
        )
        selections = selections_of(self._catalog, access)
        settled = selections.settle(selection)
        resolved = selections.resolve(settled)
        for uri in resolved.folders:
            self._folders.check(uri)
            self._folders.check_seen(uri, access)
        for entry in selection.entries:
            if isinstance(entry, LogLocation) and "?" in entry.uri:
                hint = "give the server its own way to the bucket, or make the bucket's runs a store of it"
                raise InvalidValue("a signature in the address of a bucket would be kept with the board", hint=hint)
        seen = tuple(run for run in resolved.runs if access.sees(run.workspace))
        return settled, replace(resolved, runs=seen)

    def _workspace(self, new: NewBoard, resolved: ResolvedSelection, access: Access, *, may_add: bool) -> str:
        """The one that was named, else that of the first run; a folder alone is shown in one that is always there."""
        if new.workspace:
            name = check_workspace_name(new.workspace)
        else:
            name = resolved.runs[0].workspace if resolved.runs else _WORKSPACE
        try:
            return self._catalog.seen_by(access.seen).workspaces.get(name).name
        except UnknownName:
            if not access.is_administrator or (new.workspace and not resolved.folders):
                raise
            return self._catalog.workspaces.add(name).name if may_add else name

    def _record(self, access: Access, action: str, board: BoardRecord) -> None:
        self._catalog.audit.record(access.name, f"board.{action}", f"board {board.id}", {"name": board.name})
        self._changed(board, action)


def _timeout(seconds: float | None, what: str) -> timedelta | None:
    return None if seconds is None else parse_duration(seconds, what)


def _new_timeout(before: timedelta | None, seconds: float | None, what: str) -> timedelta | None:
    if seconds is None:
        return before
    return None if seconds == 0 else parse_duration(seconds, what)


def _short(text: str, what: str) -> str:
    if len(text) > _LONGEST_TEXT:
        raise InvalidValue(f"the {what} has {len(text)} characters", hint=f"use at most {_LONGEST_TEXT}")
    return text.strip()
