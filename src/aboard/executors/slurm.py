# SPDX-License-Identifier: Apache-2.0
"""Units as jobs of Slurm, by its own programs alone; on its node a job runs the keeper that local units have."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from aboard.config.settings import load_settings
from aboard.errors import ExecutorUnavailable, InvalidValue, StorageUnavailable, UnitRefused
from aboard.executors.executor import Executor, running_unit, unknown_unit
from aboard.executors.keeper import control
from aboard.executors.keeper.unit_folder import UnitFolder
from aboard.executors.keeper_client import check_process, ended_status, keeper_document, keeper_file, port_number
from aboard.executors.slurm_jobs import (
    UNKNOWN_JOB,
    SlurmJob,
    SlurmRefused,
    check_installed,
    has_recorded_end,
    largest_array,
    parse_fields,
    parse_job,
    run_slurm,
    slurm_status,
)
from aboard.model.names import check_uid
from aboard.model.states import UnitState
from aboard.model.units import Endpoint, UnitHandle, UnitSpec, UnitStatus

_SPARE_SECONDS = 120  # between the end of a unit's own time and Slurm's limit
_COMPLAINT_BYTES = 500
_ACCOUNTED: dict[str, str] = {
    "State": "JobState",
    "ExitCode": "ExitCode",
    "NodeList": "NodeList",
    "Start": "StartTime",
    "End": "EndTime",
}
_OWN_OPTIONS = frozenset({"array", "chdir", "job-name", "output", "error", "parsable", "wrap", "open-mode"})


@dataclass(frozen=True)
class Slurm(Executor):
    """Jobs of a Slurm cluster. `source` and `folder` are on a file system that the nodes see too.

    A job that is preempted, or whose node fails, is queued again and starts its command anew: `aboard run --name NAME`
    then goes on with the same run.
    """

    name: ClassVar[str] = "slurm"
    shares_files: ClassVar[bool] = True
    keeps_disk: ClassVar[bool] = True
    is_on_network: ClassVar[bool] = True
    open_options: ClassVar[frozenset[str]] = frozenset({"partition", "account", "qos", "time_limit", "constraint"})

    partition: str = ""
    account: str = ""
    qos: str = ""
    time_limit: str = ""
    """As `sbatch --time` takes it; default: from the unit's timeout, otherwise the partition's own."""
    constraint: str = ""
    requeue: bool = True
    """Whether a job that was interrupted is started again."""
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further options of sbatch, without the dashes; an empty text for one that takes no value."""
    setup: tuple[str, ...] = ()
    """Lines of shell before the unit, such as `module load cuda`."""
    folder: str = ""
    """Where units keep their output and record; default: `units` below ABOARD_HOME."""
    python: str = sys.executable
    """A Python from 3.8 on that the nodes have."""

    def __post_init__(self) -> None:
        for option in self.extra:
            if option.startswith("-") or option in _OWN_OPTIONS:
                hint = f"write options without dashes; these are aboard's own: {', '.join(sorted(_OWN_OPTIONS))}"
                raise InvalidValue(f"{option!r} cannot be a further option of sbatch", hint=hint)
        object.__setattr__(self, "setup", (self.setup,) if isinstance(self.setup, str) else tuple(self.setup))

    def submit(self, spec: UnitSpec) -> UnitHandle:
        check_process(self.name, spec)
        folder = self._made(spec.id)
        document = keeper_document(spec)
        with folder.submitting():
            earlier = folder.read("spec.json")
            if earlier is not None and earlier != document:
                hint = "submit a changed unit under a new id"
                raise UnitRefused(f"there is another unit with the id {spec.id}", hint=hint)
            if earlier is None or not self._was_submitted(folder):
                (folder.path / "array.json").unlink(missing_ok=True)
                folder.write("spec.json", document)
                script = self._script(f"{shlex.quote(str(folder.path))}")
                folder.write("job.json", {"job": _sbatch(self._options(spec, folder), script, [folder])})
        return self._handle(spec.id)

    def submit_array(self, specs: Sequence[UnitSpec], *, at_once: int | None = None) -> list[UnitHandle]:
        """Many units as one job array, at most `at_once` at a time; they differ in command and variables alone.

        More than Slurm takes as one array are several. With `at_once` each of them waits for the one before.
        """
        if not specs:
            return []
        for spec in specs:
            check_process(self.name, spec)
            if (spec.resources, spec.timeout, spec.grace) != (specs[0].resources, specs[0].timeout, specs[0].grace):
                hint = "submit units with other resources or times by themselves"
                raise InvalidValue(f"unit {spec.name} does not fit into an array with the others", hint=hint)
        check_installed()
        size = largest_array()
        accepted: list[tuple[str, Sequence[UnitSpec]]] = []
        before = ""
        try:
            for part in (specs[at : at + size] for at in range(0, len(specs), size)):
                before, is_new = self._submit_part(part, at_once, before)
                if is_new:
                    accepted.append((before, part))
        except SlurmRefused:
            self._take_back(accepted)
            raise
        return [self._handle(spec.id) for spec in specs]

    def find(self, unit: str) -> UnitHandle | None:
        folder = UnitFolder(self._root() / check_uid(unit))
        return self._handle(unit) if folder.path.is_dir() and self._was_submitted(folder) else None

    def status(self, handle: UnitHandle) -> UnitStatus:
        folder = self._known(handle)
        state = folder.read("state.json")
        if has_recorded_end(state):
            return ended_status(state)
        number = self._job(folder)
        if number is None and state is None:
            raise unknown_unit(handle)
        job = None if number is None else self._shown(number)
        was_asked = folder.read("stop.json") is not None
        # Looked at again: it may have been written while Slurm was asked.
        status = slurm_status(job, folder.read("state.json"), complaint=_complaint(folder), was_asked=was_asked)
        is_live = not status.state.is_ended and status.state is not UnitState.PENDING
        if is_live and was_asked:
            return replace(status, state=UnitState.STOPPING)
        return replace(status, can_go_on=self._can_go_on(job, folder))

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        folder = self._known(handle)
        return control.output(folder.path, start, follow, has_ended=lambda: self.status(handle).state.is_ended)

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        folder = self._known(handle)
        status = self.status(handle)
        if status.state.is_ended:
            return
        spec = folder.read("spec.json")
        folder.write("stop.json", {"grace": spec["grace"] if grace is None and spec else grace or 0.0})
        job = self._number(handle, folder)
        with contextlib.suppress(SlurmRefused):  # it has just ended
            if status.state is UnitState.PENDING:
                run_slurm("scancel", job)
            else:
                # The keeper gives the unit its grace. Slurm's own is the same for the whole cluster.
                run_slurm("scancel", "--batch", "--signal=TERM", job)

    def revive(self, handle: UnitHandle) -> bool:
        """Nothing of a job is left that could ask for it: whoever looks has it queued again, under its own number."""
        folder = self._known(handle)
        with folder.submitting():
            number = self._number(handle, folder)
            if not self._can_go_on(self._shown(number), folder):
                return False
            before = folder.again()
            folder.count_again(with_keeper=True)
            try:
                run_slurm("scontrol", "requeue", number)
            except SlurmRefused:
                folder.set_again(before)
                return False
            except ExecutorUnavailable:
                folder.set_again(before)
                raise
        return True

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        folder = self._known(handle)
        state = folder.read("state.json")
        if state is None:
            return None
        number = port_number(state, port)
        job = self._shown(self._number(handle, folder))
        if job is None or job.state != "RUNNING" or not job.node:
            return None
        told = parse_fields(run_slurm("scontrol", "--oneliner", "show", "node", job.node))
        return Endpoint(host=told.get("NodeAddr", job.node), port=number)

    def forget(self, handle: UnitHandle) -> None:
        folder = UnitFolder(Path(handle.place["folder"]))
        if not folder.path.is_dir():
            return
        if not self.status(handle).state.is_ended:
            raise running_unit(handle)
        control.remove(folder.path)

    @property
    def is_reached_from_anywhere(self) -> bool:
        return self._root().is_dir()  # nodes see it, and so does as a rule who submits to them

    def written_out(self) -> Self:
        return replace(self, folder=str(self._root()))

    def _submit_part(self, specs: Sequence[UnitSpec], at_once: int | None, before: str) -> tuple[str, bool]:
        """One array, after the job `before` if there is a limit; its number, and whether this call has made it."""
        first = self._made(specs[0].id)
        with first.submitting():
            if self._was_submitted(first):
                return (self._job(first) or "").partition("_")[0], False
            folders = [self._made(spec.id) for spec in specs]
            options = [*self._options(specs[0], first), f"--array=0-{len(specs) - 1}{f'%{at_once}' if at_once else ''}"]
            if at_once and before:
                waits = filter(None, (self.extra.get("dependency"), f"afterany:{before}"))
                options.append(f"--dependency={','.join(waits)}")
            # By these its members are found when whoever submits them is killed before their numbers are written down.
            name = _job_name(specs[0].name, specs[0].id)
            for index, (folder, spec) in enumerate(zip(folders, specs, strict=True)):
                folder.write("spec.json", keeper_document(spec))
                folder.write("array.json", {"name": name, "index": index})
            listed = first.path / "array"
            listed.write_text("".join(f"{folder.path}\n" for folder in folders), encoding="utf-8")
            pick = f'"$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {shlex.quote(str(listed))})"'
            job = _sbatch(options, self._script(pick), folders)
            for index, folder in enumerate(folders):
                folder.write("job.json", {"job": f"{job}_{index}"})
        return job, True

    def _take_back(self, accepted: Sequence[tuple[str, Sequence[UnitSpec]]]) -> None:
        """What cannot be submitted as a whole leaves nothing."""
        for job, specs in accepted:
            with contextlib.suppress(SlurmRefused, ExecutorUnavailable):
                run_slurm("scancel", job)
                for spec in specs:
                    control.remove(self._root() / spec.id)

    def _can_go_on(self, job: SlurmJob | None, folder: UnitFolder) -> bool:
        return job is not None and job.was_killed and self.requeue and folder.may_start_again()

    def _root(self) -> Path:
        return Path(self.folder).absolute() if self.folder else load_settings().home / "units"

    def _made(self, unit: str) -> UnitFolder:
        folder = UnitFolder(self._root() / unit)
        try:
            folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            hint = "name a folder that the nodes see too"
            raise StorageUnavailable(f"units cannot be kept in {self._root()}: {error.strerror}", hint=hint) from error
        return folder

    def _known(self, handle: UnitHandle) -> UnitFolder:
        folder = UnitFolder(Path(handle.place.get("folder", "")))
        if folder.path.name != handle.unit or not folder.path.is_dir():
            raise unknown_unit(handle)
        return folder

    def _handle(self, unit: str) -> UnitHandle:
        return self.handle(unit, folder=str(self._root() / unit))

    def _options(self, spec: UnitSpec, folder: UnitFolder) -> list[str]:
        asked = spec.resources
        told = {
            "job-name": _job_name(spec.name, spec.id),
            "output": f"{_escaped(folder.path)}/slurm-%j.log",
            "open-mode": "append",
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "time": self.time_limit or _limit(spec),
            "comment": ",".join(f"{name}={value}" for name, value in spec.labels.items()),
            "cpus-per-task": str(math.ceil(asked.cpus)) if asked.cpus else "",
            "mem": f"{math.ceil(asked.memory / (1 << 20))}M" if asked.memory else "",
            "gres": ":".join(filter(None, ["gpu", asked.gpu_type, str(asked.gpus)])) if asked.gpus else "",
        }
        further = [f"--{name}={value}" if value else f"--{name}" for name, value in self.extra.items()]
        requeue = "--requeue" if self.requeue else "--no-requeue"
        return ["--parsable", requeue, *(f"--{name}={value}" for name, value in told.items() if value), *further]

    def _script(self, folder: str) -> str:
        """What the job does; `folder` is a word of shell."""
        keeper = shlex.quote(str(keeper_file(self._root())))
        return "\n".join([*self.setup, f"exec {shlex.quote(self.python)} -I -S {keeper} keep {folder} slurm"])

    def _number(self, handle: UnitHandle, folder: UnitFolder) -> str:
        job = self._job(folder)
        if job is None:
            raise unknown_unit(handle)
        return job

    def _was_submitted(self, folder: UnitFolder) -> bool:
        """Whether its job has begun, or is known to Slurm, which forgets those that have ended."""
        return folder.read("state.json") is not None or self._job(folder) is not None

    def _job(self, folder: UnitFolder) -> str | None:
        """The job of a unit. If its submitter died before writing it down, Slurm knows it by its name."""
        recorded = folder.read("job.json")
        if recorded is not None:
            return recorded["job"]
        spec = folder.read("spec.json")
        if spec is None:
            return None
        member = folder.read("array.json")
        name = _job_name(spec["name"], spec["id"]) if member is None else member["name"]
        told = run_slurm("squeue", "--noheader", "--states=all", f"--name={name}", "--format=%F").split()
        if not told:
            told = _accounted("--format=JobID", f"--name={name}").split()
        if not told:
            return None
        job = told[0].partition("_")[0] + ("" if member is None else f"_{member['index']}")
        folder.write("job.json", {"job": job})
        return job

    def _shown(self, job: str) -> SlurmJob | None:
        """What Slurm says of a job: the controller while it remembers, then the accounts, where they are kept."""
        try:
            return parse_job(parse_fields(run_slurm("scontrol", "--oneliner", "show", "job", job)))
        except SlurmRefused as refused:
            if not any(text in refused.message for text in UNKNOWN_JOB):
                raise
        lines = _accounted(f"--format={','.join(_ACCOUNTED)}", f"--jobs={job}").splitlines()
        return parse_job(dict(zip(_ACCOUNTED.values(), lines[0].split("|"), strict=False))) if lines else None


def _sbatch(options: Sequence[str], script: str, folders: Sequence[UnitFolder]) -> str:
    """The number of a new job. Nobody looks for what was refused again: no folder with its variables stays."""
    try:
        check_installed()
        told = run_slurm("sbatch", *options, "--wrap", script)
    except SlurmRefused:
        for folder in folders:
            control.remove(folder.path)
        raise
    return told.strip().partition(";")[0]


def _accounted(*arguments: str) -> str:
    """What the accounts say; nothing where none are kept."""
    since = ("--starttime=now-30days",) if not any(word.startswith("--jobs") for word in arguments) else ()
    try:
        return run_slurm("sacct", "--allocations", "--noheader", "--parsable2", *since, *arguments)
    except (SlurmRefused, ExecutorUnavailable):
        return ""


def _job_name(name: str, unit: str) -> str:
    return f"{name}-{unit.lower()}"


def _limit(spec: UnitSpec) -> str:
    """Minutes, with some to spare: the keeper ends the unit first, and can then say why."""
    return "" if spec.timeout is None else str(math.ceil((spec.timeout + spec.grace + _SPARE_SECONDS) / 60))


def _escaped(path: Path) -> str:
    return os.fspath(path).replace("\\", "\\\\").replace("%", "%%")


def _complaint(folder: UnitFolder) -> str:
    """The end of what the job itself printed, which is nothing unless the keeper could not be started."""
    found: list[Any] = sorted(folder.path.glob("slurm-*.log"))
    if not found:
        return ""
    return found[-1].read_bytes()[-_COMPLAINT_BYTES:].decode(errors="replace").strip()
