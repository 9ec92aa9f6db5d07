# SPDX-License-Identifier: Apache-2.0
"""`aboard.Board`, also called `aboard.TensorBoard`, and runs and experiments of a server, which open boards."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from aboard.api.boards import BoardInfo
from aboard.client.boards import BoardsClient, Span
from aboard.client.connection import ServerConnection
from aboard.errors import AboardError, Conflict, InvalidValue, ServerUnavailable
from aboard.model.boards import BoardLine
from aboard.model.groups import ExperimentRecord
from aboard.model.names import experiment_name
from aboard.model.runs import RunRecord
from aboard.model.states import UnitState

_POLL_SECONDS = 0.2
_WAIT_SECONDS = 300.0


class HasBoards(Protocol):
    """A client with boards: `aboard.Client`, whose module is above this one."""

    @property
    def boards(self) -> BoardsClient: ...


class _ConfiguredServer:
    """The boards of the configured server, where no client is given."""

    def __init__(self) -> None:
        self.boards = BoardsClient(ServerConnection())


class Board:
    """A board of the configured server, or of the local one that is started when it is needed."""

    def __init__(self, board: str | BoardInfo, *, client: HasBoards | None = None) -> None:
        """Look up a board by id, unique id prefix or name, or wrap a BoardInfo."""
        self._client = client or _ConfiguredServer()
        self._info = self._client.boards.get(board) if isinstance(board, str) else board

    @classmethod
    def create(
        cls,
        uri: str | None = None,
        *,
        sources: str | Sequence[str] = (),
        where: str | None = None,
        wait: bool = True,
        display_name: str | None = None,
        max_runtime_in_minutes: float | None = None,
        idle_timeout: Span | None = None,
        template: str = "",
        workspace: str = "",
        settings: Mapping[str, object] | None = None,
        executor: object = "",
        client: HasBoards | None = None,
    ) -> Self:
        """Open a board over a folder or bucket (`uri`), over what a selection means (`sources`), or over both.

        The same runs, template and settings open the same board again. With `wait`, it can be looked at when this
        returns. With an `executor`, as "docker" or `aboard.executors.Slurm(partition="cpu")`, it is a stock TensorBoard
        that runs there.
        """
        if uri is not None and not uri.strip():
            raise InvalidValue("the uri of a board is empty", hint="give a folder, or a URI as oss://bucket/path/")
        chosen = client or _ConfiguredServer()
        words = (sources,) if isinstance(sources, str) else tuple(sources)
        name = display_name if display_name is not None else _last_part(uri or "")
        made = chosen.boards.create(
            [*([uri if "/" in uri else f"./{uri}"] if uri else []), *words],
            where=where,
            workspace=workspace,
            template=template,
            description=name,
            idle_timeout=idle_timeout,
            max_runtime=None if max_runtime_in_minutes is None else max_runtime_in_minutes * 60.0,
            settings=settings,
            executor=executor,
        )
        board = cls(made.board, client=chosen)
        return board.wait() if wait else board

    @classmethod
    def list(cls, *, everybody: bool = False, client: HasBoards | None = None) -> list[Self]:
        """All boards of this person, or of everybody, the one that was started first at the beginning."""
        chosen = client or _ConfiguredServer()
        return [cls(info, client=chosen) for info in chosen.boards.iterate(everybody=everybody)]

    @property
    def id(self) -> str:
        """Its id, a UUID."""
        return self._info.id

    @property
    def tensorboard_id(self) -> str:
        """Its id, by the name that it has elsewhere."""
        return self._info.id

    @property
    def name(self) -> str:
        """What it is called, so that it can be spoken of."""
        return self._info.name

    @property
    def display_name(self) -> str:
        """What its maker called it."""
        return self._info.description or self._info.name

    @property
    def info(self) -> BoardInfo:
        """All that the server tells of it, asked now."""
        self._info = self._client.boards.get(self.id)
        return self._info

    @property
    def status(self) -> UnitState:
        """Its state, asked now."""
        return self.info.state

    @property
    def app_uri(self) -> str:
        """The address for a browser, as it is now; a local server that had ended is started for it."""
        return self._client.boards.address(self.info)

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until it runs and its page answers; an error if it has ended, or after `timeout` seconds."""
        end = time.monotonic() + (_WAIT_SECONDS if timeout is None else timeout)
        while True:
            state = self.status
            if state.is_ended:
                reason = f": {self._info.reason}" if self._info.reason else ""
                raise Conflict(f"the board {self.name} is {state}{reason}", hint="start() starts it again")
            if state is UnitState.RUNNING and self._answers():
                return self
            if time.monotonic() > end:
                raise ServerUnavailable(f"the board {self.name} is {state} and does not answer yet", hint="wait longer")
            time.sleep(_POLL_SECONDS)

    def wait_for_data(self, timeout: float = 10.0) -> bool:
        """Wait until all that is there has been read, or `timeout` seconds; whether there is something to see.

        TensorBoard's page looks once for what it can show, so a page that is opened earlier may stay empty.
        """
        end = time.monotonic() + timeout
        while True:
            reading = self._client.boards.reading(self.id)
            if (reading.logdirs and reading.runs_read >= reading.runs) or time.monotonic() >= end:
                return reading.logdirs > 0
            time.sleep(_POLL_SECONDS)

    def start(self, *, wait: bool = True) -> Self:
        """Start it if it has ended."""
        self._info = self._client.boards.start(self.id)
        return self.wait() if wait else self

    def stop(self) -> None:
        """Stop it if it runs; `start` starts it again."""
        self._info = self._client.boards.stop(self.id)

    def delete(self) -> None:
        """Forget it."""
        self._info = self._client.boards.delete(self.id)

    def logs(self, *, tail: int | None = None) -> tuple[BoardLine, ...]:
        """What happened to it, oldest first."""
        return self._client.boards.logs(self.id, tail=tail)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, name={self.name!r}, status={self._info.state.value!r})"

    def _repr_html_(self) -> str:
        """The board itself, where a notebook shows it."""
        return BoardFrame(self).html()

    def _answers(self) -> bool:
        """As long as the server fails, it is not there; what it says otherwise is for the person."""
        try:
            self._client.boards.reading(self.id)
        except AboardError as error:
            if error.status < 500:
                raise
            return False
        return True


TensorBoard = Board


def _last_part(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2]


class ServedRun(RunRecord):
    """A run of a server, which opens boards there. It equals the same run from elsewhere."""

    __slots__ = ("_client",)
    _client: HasBoards

    @classmethod
    def of(cls, run: RunRecord, client: HasBoards) -> ServedRun:
        """The same run, of this server."""
        return _with_client(cls, run, client)

    def tensorboard(self, **options: Any) -> Board:
        """A board over the run, as `Board.create` makes it; one that is there is opened again."""
        options.setdefault("display_name", self.name)
        return Board.create(sources=self.uid, client=self._client, **options)

    def __eq__(self, other: object) -> bool:
        return _equal(RunRecord, self, other)

    def __hash__(self) -> int:
        return hash(self.uid)


class ServedExperiment(ExperimentRecord):
    """An experiment of a server, which opens boards there. It equals the same experiment from elsewhere."""

    __slots__ = ("_client",)
    _client: HasBoards

    @classmethod
    def of(cls, experiment: ExperimentRecord, client: HasBoards) -> ServedExperiment:
        """The same experiment, of this server."""
        return _with_client(cls, experiment, client)

    def tensorboard(self, **options: Any) -> Board:
        """A board over all its runs, also those that join later; one that is there is opened again."""
        options.setdefault("display_name", f"{self.name}_TensorBoard")
        return Board.create(sources=experiment_name(self.number), client=self._client, **options)

    def __eq__(self, other: object) -> bool:
        return _equal(ExperimentRecord, self, other)

    def __hash__(self) -> int:
        return hash(self.number)


def _with_client(kind: Any, value: Any, client: HasBoards) -> Any:
    made = kind(**{one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
    object.__setattr__(made, "_client", client)  # the value itself is frozen
    return made


def _equal(kind: Any, one: Any, other: Any) -> bool:
    if not isinstance(other, kind):
        return NotImplemented
    return all(getattr(one, field.name) == getattr(other, field.name) for field in dataclasses.fields(kind))


class BoardFrame:
    """A board as a notebook shows it, in a frame of so many pixels."""

    def __init__(self, board: Board, height: int = 800) -> None:
        self.board, self.height = board, height

    def html(self) -> str:
        """The frame; or words, when the board cannot be shown."""
        import html  # for notebooks alone, and every client loads this module

        from aboard.client.frames import render_frame

        try:
            self._check_not_ended()
            self.board.wait_for_data()
            framed, linked = self.board.app_uri, self.board.app_uri
        except AboardError as error:
            return f"<pre>{html.escape(str(error))}</pre>"
        # Each address of a local server opens the board in a browser once.
        return render_frame(framed, linked, title=f"TensorBoard ({self.board.name})", height=self.height)

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        return repr(self.board)

    def _check_not_ended(self) -> None:
        if self.board.status.is_ended:
            raise InvalidValue(f"the board {self.board.name} has ended", hint="start() starts it again")
