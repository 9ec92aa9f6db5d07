# SPDX-License-Identifier: Apache-2.0
"""Which executors process boards may use, with which options, images and mounts, and where their mirrors are.

Options of an executor can reach far: folders of the machine, lines of shell, other logins. On a server with several
users the server sets them, apart from a few that only choose a part of a cluster.
"""

from __future__ import annotations

import fnmatch
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from aboard.errors import Forbidden, InvalidType, InvalidValue, MissingPackage
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_class, executor_from, executor_names, has_ports, parse_executor
from aboard.model.board_settings import ProcessSettings, parse_process_settings
from aboard.model.boards import BoardRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardExecutors:
    """What a server has settled about the processes of boards."""

    allowed: tuple[str, ...] = ("local",)
    """Executors with the options that they have here, as `slurm:partition=cpu`."""
    default: str = "local"
    is_personal: bool = False
    """Whether all who use the server are the person who runs it: then everything is allowed."""
    image: str = "tensorflow/tensorflow"
    images: tuple[str, ...] = ()
    """Patterns of further images that people may name."""
    mounts: tuple[str, ...] = ()
    """Folders of the machine below which people may have something shown in a container."""
    shared_folder: Path | None = None
    """Where the copies of runs go for machines that see no other folder of this one."""
    program: str = ""
    """How TensorBoard is started elsewhere."""
    own_program: tuple[str, ...] = (sys.executable, "-m", "tensorboard.main")
    """How it is started on this machine."""
    memory: int = 8 << 30
    owner: str = field(default="aboard-boards", repr=False)
    """The folder below `shared_folder` that belongs to the servers of this machine alone."""

    @property
    def names(self) -> list[str]:
        """What people may name."""
        own = [_name(text) for text in self.allowed]
        others = executor_names() if self.is_personal else ()
        return [name for name in dict.fromkeys([_name(self.default), *own, *others]) if has_ports(name)]

    def check(self) -> None:
        """Refuse what can never work, before anybody asks for a board."""
        for text in self.allowed:
            executor_from(text, "local")
        if not self.is_personal and _name(self.default) not in {_name(text) for text in self.allowed}:
            hint = f"name one of {', '.join(map(_name, self.allowed))}, or add it to boards.executors"
            raise InvalidValue(f"boards.executor is {self.default!r}, which boards.executors does not have", hint=hint)

    def settled(self, asked: ProcessSettings) -> ProcessSettings:
        """What a person asked for, with the server's choice where they said nothing; refuses what may not be."""
        chosen = replace(asked, executor=asked.executor or _name(self.default))
        executor = self.made(chosen.executor)
        if (chosen.image or chosen.mounts) and not executor.takes_images:
            hint = f"executors with images: {', '.join(filter(_takes_images, self.names)) or 'none on this server'}"
            raise InvalidValue(f"a board on {executor.name} has neither image nor mounts", hint=hint)
        if executor.takes_images:
            chosen = replace(chosen, image=self._image(chosen.image))
        if chosen.mounts and not executor.takes_mounts:
            hint = "pods see what the claims of the server's executor show them"
            raise InvalidValue(f"{executor.name} mounts no folders of a machine", hint=hint)
        for mount in chosen.mounts:
            self._check_mount(mount.source)
        self.mirror_place(executor, Path("/board"))
        return chosen

    def made(self, text: str) -> Executor:
        """The executor that a person's words mean here."""
        name = _name(text)
        own = {_name(one): one for one in self.allowed}
        if name not in executor_names():
            executor_class(name)  # says that there is none, and which is near
        if not self.is_personal and name not in own:
            raise Forbidden(
                f"boards may not run on {name!r} here",
                hint=f"this server allows: {', '.join(own)}; who runs it adds others to boards.executors",
            )
        if not has_ports(name):
            hint = f"its own boards are part of its jobs; boards of this server run on: {', '.join(self.names)}"
            raise InvalidValue(f"{name.capitalize()} serves no boards of aboard", hint=hint)
        kind, asked = parse_executor(text)
        for option in asked:
            if not self.is_personal and option not in kind.open_options:
                raise Forbidden(
                    f"the option {option!r} of {name} is settled by who runs this server",
                    hint=f"options that you may set: {', '.join(sorted(kind.open_options)) or 'none'}",
                )
        settled = parse_executor(own[name])[1] if name in own else {}
        return kind(**{**settled, **asked})

    def of(self, board: BoardRecord) -> Executor:
        """The executor of a board; those that were made before there was a choice do not say which."""
        return self.made(parse_process_settings(board.settings).executor or self.default)

    def hides(self, executor: str, option: str) -> bool:
        """Whether an option is the server's own affair, so that people are not told its value."""
        return not self.is_personal and option not in executor_class(executor).open_options

    def mirror_place(self, executor: Executor, own: Path) -> Path:
        """The folder for the copies of a board's runs, which the executor's units see; `own` is one of this machine."""
        if executor.is_here:
            return own
        if self.shared_folder is None:
            hint = (
                "name a folder that its machines see too in boards.shared_folder; "
                "local, and docker with a daemon of this machine, need none"
            )
            raise InvalidValue(f"units of {executor.name} cannot see the folder with the runs of a board", hint=hint)
        place = self.shared_folder / self.owner / own.name
        executor.check_path(str(place))
        return place

    def _image(self, image: str) -> str:
        known = (self.image, *self.images)
        if image and not self.is_personal and not any(fnmatch.fnmatchcase(image, pattern) for pattern in known):
            hint = f"this server allows: {', '.join(known)}; who runs it adds others to boards.images"
            raise Forbidden(f"boards may not use the image {image!r} here", hint=hint)
        return image or self.image

    def _check_mount(self, source: str) -> None:
        path = PurePosixPath(source)
        is_plain = ".." not in path.parts
        if self.is_personal or (is_plain and any(_real(source).is_relative_to(_real(one)) for one in self.mounts)):
            return
        below = ", ".join(self.mounts) or "nothing"
        raise Forbidden(
            f"{source!r} may not be shown in a container",
            hint=f"this server allows what is below: {below}; who runs it adds folders to boards.mounts",
        )


def _takes_images(name: str) -> bool:
    try:
        return executor_class(name).takes_images
    except (MissingPackage, InvalidType):  # it cannot be used here
        return False


def _name(text: str) -> str:
    return text.partition(":")[0].strip()


def _real(path: str) -> Path:
    """Where a path leads: a link must not lead out of what is allowed."""
    return Path(path).resolve()
