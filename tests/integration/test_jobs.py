# SPDX-License-Identifier: Apache-2.0
"""Jobs on this machine: submitted, followed, cancelled, taken up again; sweeps; the launch scripts of other systems."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Generator, Iterator
from pathlib import Path

import psutil
import pytest

import aboard
from aboard.client.client import Client
from aboard.compat.pai.estimator import Estimator
from aboard.compat.pai.tensorboard import TensorBoard
from aboard.errors import AboardError, Conflict, InvalidType, InvalidValue, UnknownName
from aboard.jobs.records import JobRecords
from aboard.jobs.sweep import hparam_sets
from aboard.model.states import RunState, UnitState
from aboard.model.units import EndReason
from support.commands import aboard as command
from support.forked_commands import forked_local_servers
from support.job_home import job_home
from support.processes import until

PATIENCE = 90.0
EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"
TRAINING = """
    import os, sys, time
    from aboard import SummaryWriter
    with SummaryWriter(os.environ["ABOARD_TENSORBOARD_DIR"]) as writer:
        for step in range(int(sys.argv[2])):
            writer.add_scalar("loss", float(sys.argv[1]) * step, step)
            print("step", step, flush=True)
            time.sleep(0.02)
"""


KILLED_ONCE = """
    import os, time
    from aboard import Run
    with Run() as run:
        checkpoint = run.resume()
        for step in range(checkpoint.state["step"] + 1 if checkpoint else 0, 10):
            run.log_metrics({"step": step, "loss": 0.5}, step_name="step", stage="train")
            run.checkpoint({"step": step})
            if step == 5 and checkpoint is None:
                print("held", flush=True)
                time.sleep(600)
    print(os.environ["EXTRA"])
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = job_home(tmp_path, monkeypatch)
    with forked_local_servers():
        yield home
        for job in aboard.Job.list():
            job.cancel()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "train.py").write_text(textwrap.dedent(TRAINING))
    (folder / ".gitignore").write_text("data\n")
    (folder / "data").write_text("large")
    return folder


def _is_queue(words: list[str]) -> bool:
    return "aboard.jobs.unit_queue" in words


def _launched(example: str) -> str:
    """Run an example within this process, which saves the start of a server of its own; what it prints."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", [example])
        runpy.run_path(str(EXAMPLES / example))
    return out.getvalue()


def _supervisor(name: str) -> psutil.Process:
    """That of a job of this test: others name theirs as they like, at the same time."""
    (found,) = [one for one in _own_processes() if f"--name={name}" in one.info["cmdline"]]
    return found


def _own_processes() -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline", "environ"]):
        is_own = (process.info["environ"] or {}).get("ABOARD_HOME") == os.environ["ABOARD_HOME"]
        if is_own and process.info["cmdline"]:
            yield process


def _kill(process: psutil.Process) -> None:
    """With all below it, from above: nobody is left to say how it ended."""
    for one in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end with its supervisor
            one.kill()


def _has_begun(job: aboard.Job) -> bool:
    """A short one may have ended again when somebody looks."""
    return job.status not in (UnitState.PENDING, UnitState.STARTING)


def _printed(job: aboard.Job) -> str:
    return b"".join(job.logs()).decode()


def test_a_job_is_a_run_with_its_board(source: Path) -> None:
    job = aboard.submit(
        "python train.py {hparams.lr} 8",
        source_dir=source,
        hparams={"lr": 0.5, "width": "8"},
        experiment="first",
        tags={"kind": "small"},
    )
    # What is changed now does not change the job.
    (source / "train.py").write_text("raise SystemExit(3)")
    board = job.tensorboard()
    status = job.wait(PATIENCE)
    assert status.has_succeeded, (status, _printed(job))
    assert "step 7\n" in _printed(job)
    run = job.wait_for_run(PATIENCE)
    assert (run.name, run.experiment, run.hparams) == (job.name, "first", {"lr": 0.5, "width": "8"})
    assert run.tags["kind"] == "small"
    client = Client()
    until(lambda: [one.uid for one in client.boards.runs(board.id)] == [run.uid], PATIENCE)
    until(lambda: client.runs.get(run.uid).status is RunState.COMPLETED, PATIENCE)

    def losses() -> list[list[float]]:
        return [list(one.values) for one in client.series.get(run.uid) if one.tag == "loss"]

    # A busy server answers with what it has read before.
    until(lambda: losses() == [[0.5 * step for step in range(8)]], PATIENCE)


def test_the_source_goes_along_without_what_git_ignores(source: Path) -> None:
    job = aboard.submit("ls", source_dir=source)
    job.wait(PATIENCE)
    assert "train.py" in _printed(job)
    assert "data" not in _printed(job).splitlines()


def test_a_line_of_shell_gets_values_that_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").touch()
    job = aboard.submit(
        "ls && echo {hparams.text} && echo $EXTRA", hparams={"text": "a; b"}, environment={"EXTRA": "e"}
    )
    assert job.wait(PATIENCE).has_succeeded
    assert "here\n" in _printed(job)
    assert "a; b\ne\n" in _printed(job)


def test_another_process_takes_a_job_up_and_cancels_it(source: Path) -> None:
    job = aboard.submit(["python", "train.py", "1", "5000"], source_dir=source, name="long")
    until(lambda: "step 3" in _printed(job), PATIENCE)
    assert job.status is UnitState.RUNNING
    again = aboard.Job("long")
    assert again.id == job.id == aboard.Job(job.id[-6:]).id
    with pytest.raises(Conflict, match="long is running"):
        again.forget()
    again.cancel()
    status = job.wait(PATIENCE)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED), status
    until(lambda: job.wait_for_run(PATIENCE).status is RunState.CANCELLED, PATIENCE)
    again.cancel()  # nothing is left to do
    again.forget()
    with pytest.raises(UnknownName, match="no job 'long'"):
        aboard.Job("long")


def test_a_job_whose_submitter_died_before_writing_its_handle_is_found(home: Path) -> None:
    job = aboard.submit("echo here")
    records = JobRecords(home)
    records.write(dataclasses.replace(job.record, handle=""))
    assert aboard.Job(job.id).wait(PATIENCE).has_succeeded
    lost = dataclasses.replace(job.record, handle="", id="01M7HKVRMRV9MNXQVJX7D4AFVB")
    records.write(lost)
    status = aboard.Job(lost.id).info
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.NOT_STARTED)
    assert "submit it again" in status.message


def test_a_job_that_fails_says_so() -> None:
    job = aboard.submit(["python", "-c", "raise SystemExit(3)"], name="bad")
    status = job.wait(PATIENCE)
    assert (status.state, status.exit_code) == (UnitState.FAILED, 3), _printed(job)
    until(lambda: job.wait_for_run(PATIENCE).status is RunState.FAILED, PATIENCE)


def test_a_killed_job_is_submitted_again_and_its_run_goes_on(source: Path) -> None:
    (source / "train.py").write_text(textwrap.dedent(KILLED_ONCE))
    job = aboard.submit(
        "python train.py", source_dir=source, name="killed", experiment="again", environment={"EXTRA": "kept"}
    )
    until(lambda: b"held" in b"".join(job.logs()), PATIENCE)
    with pytest.raises(Conflict, match="killed is running") as refused:
        job.again()
    assert "cancel it first" in refused.value.hint
    _kill(_supervisor("killed"))
    assert job.wait(PATIENCE).state is UnitState.FAILED
    made = command("jobs", "again", "--experiment", "again")
    assert made.code == 0, made.err
    later = aboard.Job(made.out.strip())
    job.forget()  # what the later one needs is its own
    assert later.wait(PATIENCE).has_succeeded, _printed(later)
    assert (later.id != job.id, aboard.Job("killed").id) == (True, later.id)
    assert "kept\n" in _printed(later)
    run = later.wait_for_run(PATIENCE)
    until(lambda: Client().runs.get(run.uid).status is RunState.COMPLETED, PATIENCE)
    (series,) = Client().series.get(run.uid, "loss")
    assert list(series.steps) == list(range(10))
    assert command("jobs", "again", "--experiment", "again").out == ""
    refused_again = command("jobs", "again", "killed")
    assert (refused_again.code, "has completed" in refused_again.err) == (1, True)
    assert "--experiment NAME" in command("jobs", "again").err


def test_a_job_that_loses_its_supervisor_and_then_its_keeper_goes_on_by_itself(source: Path) -> None:
    held = """
        import os, time
        from aboard import Run
        with Run() as run:
            checkpoint = run.resume()
            first = checkpoint.state["step"] + 1 if checkpoint else 0
            for step in range(first, first + 4 if os.environ["ABOARD_ATTEMPT"] != "3" else 12):
                run.log_metrics({"step": step, "loss": 0.5}, step_name="step", stage="train")
                run.checkpoint({"step": step})
            if os.environ["ABOARD_ATTEMPT"] != "3":
                print("held", flush=True)
                time.sleep(600)
    """
    (source / "train.py").write_text(textwrap.dedent(held))
    job = aboard.submit("python train.py", source_dir=source, name="tough", restarts=2)
    until(lambda: _printed(job).count("held") == 1, PATIENCE)
    _kill(_supervisor("tough"))
    until(lambda: _printed(job).count("held") == 2, PATIENCE)
    keeper = _supervisor("tough").parent()
    assert keeper is not None
    _kill(keeper)
    status = job.wait(PATIENCE)  # who waits looks after it
    assert (status.has_succeeded, status.attempt) == (True, 3), (status, _printed(job))
    run = job.wait_for_run(PATIENCE)
    until(lambda: Client().runs.get(run.uid).status is RunState.COMPLETED, PATIENCE)
    run = Client().runs.get(run.uid)
    (series,) = Client().series.get(run.uid, "loss")
    assert list(series.steps) == list(range(12))
    assert [one.details["unit"] for one in run.attempts] == [job.id] * 3


def test_starts_after_failures_and_after_kills_are_counted_together(source: Path) -> None:
    # One failure, which `aboard run` answers, then kills of `aboard run`, which its keeper answers.
    script = "import os, signal; os.environ['ABOARD_ATTEMPT'] == '1' and exit(3); os.kill(os.getppid(), signal.SIGKILL)"
    (source / "train.py").write_text(script)
    job = aboard.submit("python train.py", source_dir=source, name="doomed", restarts=2)
    status = job.wait(PATIENCE)
    assert (status.state, status.exit_code) == (UnitState.FAILED, 1), status
    assert "doomed was started again 2 times, which is all it may" in _printed(job)
    run = job.wait_for_run(PATIENCE)
    until(lambda: len(Client().runs.get(run.uid).attempts) == 3, PATIENCE)


def test_the_queue_of_a_sweep_that_was_killed_goes_on(tmp_path: Path) -> None:
    waits = f"until [ -e {tmp_path}/go{{hparams.number}} ]; do sleep 0.02; done"
    sweep = aboard.sweep(waits, {"number": [1, 2, 3]}, experiment="queued", at_once=1)
    until(lambda: _has_begun(sweep.jobs[0]), PATIENCE)
    (queue,) = [one for one in _own_processes() if _is_queue(one.info["cmdline"])]
    keeper = queue.parent()
    assert keeper is not None
    queue.kill()
    (tmp_path / "go1").touch()
    until(lambda: _has_begun(sweep.jobs[1]), PATIENCE)
    for process in [keeper, *(one for one in keeper.children() if _is_queue(one.cmdline()))]:
        process.kill()
    for number in (2, 3):
        (tmp_path / f"go{number}").touch()
    assert sweep.wait(PATIENCE) == {UnitState.STOPPED: 3}
    assert all(job.info.attempt == 1 for job in sweep.jobs), [job.info for job in sweep.jobs]


def test_a_sweep_runs_so_many_at_a_time_in_one_experiment(source: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    sweep = aboard.sweep(
        f"until [ -e {go} ]; do sleep 0.02; done; python train.py {{hparams.lr}} 1",
        {"lr": [1, 2], "seed": [0, 1]},
        source_dir=source,
        experiment="grid",
        at_once=2,
    )
    first, second, third, waiting = sweep.jobs
    until(lambda: all(job.status is UnitState.RUNNING for job in (first, second)), PATIENCE)
    assert [job.status for job in (third, waiting)] == [UnitState.PENDING] * 2
    waiting.cancel()
    assert waiting.wait(0).state is UnitState.STOPPED
    go.touch()
    sweep.wait(PATIENCE)
    ends = [job.info.ended for job in (first, second)]
    assert third.info.started is not None
    assert any(end is not None and end <= third.info.started for end in ends), "never three at a time"
    assert [job.info.reason for job in sweep.jobs] == [EndReason.COMPLETED] * 3 + [EndReason.STOPPED]
    client = Client()
    until(lambda: client.runs.count(experiment="grid") == 3, PATIENCE)
    found = {run.name: run.hparams for run in client.runs.iterate(experiment="grid")}
    assert found == {f"grid-{n}": {"lr": lr, "seed": seed} for n, (lr, seed) in enumerate([(1, 0), (1, 1), (2, 0)])}
    board = sweep.tensorboard()
    until(lambda: len(client.boards.runs(board.id)) == 3, PATIENCE)


def test_grids_and_lists_of_values() -> None:
    assert hparam_sets({"a": [1, 2], "b": ["x"]}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]
    assert hparam_sets([{"a": 1}, {"b": 2}]) == [{"a": 1}, {"b": 2}]
    for wrong in ({}, [], {"a": range(200), "b": range(200)}):
        with pytest.raises(InvalidValue, match="sweep"):
            hparam_sets(wrong)
    with pytest.raises(InvalidType, match="'abc' for 'a'"):
        hparam_sets({"a": "abc"})


@pytest.mark.parametrize(
    ("options", "told", "hint"),
    [
        ({"command": ""}, "no command", "python train.py"),
        ({"command": "python 'train.py"}, "cannot be taken apart", "quote"),
        ({"command": "x {hparams.lr}"}, r"\{hparams.lr\}", "hyperparameters: none"),
        ({"executor": "slrm"}, "no executor 'slrm'", "slurm"),
        ({"executor": "slurm:queue=x"}, "no option 'queue'", "partition"),
        ({"executor": "slurm:requeue=perhaps"}, "requeue", "true or false"),
        ({"executor": "slurm:extra=a"}, "'a' in the option extra", "extra=NAME:VALUE"),
        ({"executor": "docker:ports=a:b", "image": "x:1"}, "ports='a:b' of docker", "6006:8080"),
        ({"executor": 7}, "7 is not an executor", "slurm:partition"),
        ({"source_dir": "/absent/folder"}, "no source folder", "give one"),
        ({"executor": "ssh:host=elsewhere"}, "cannot see the store", "s3://"),
        ({"memory": "lots"}, "no size", "4GiB"),
        ({"timeout": "soon"}, "no length of time", "1m30s"),
        ({"image": "x:1"}, "'image', which local cannot use", "docker"),
        ({"name": "a/b"}, "not a name for a run", "selections"),
        ({"environment": {"1X": "a"}}, "not a name for a variable", "letters"),
    ],
)
def test_what_cannot_be_submitted_is_told_and_leaves_nothing(options: dict[str, object], told: str, hint: str) -> None:
    with pytest.raises(AboardError, match=told) as refused:
        aboard.submit(**{"command": "true", **options})  # type: ignore[arg-type]
    assert hint in refused.value.hint
    assert aboard.Job.list() == []


def test_a_source_that_is_too_large_names_its_largest_files(source: Path) -> None:
    with (source / "weights.bin").open("wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(InvalidValue, match="300 MB to send") as refused:
        aboard.submit("true", source_dir=source)
    assert "weights.bin" in refused.value.hint


def test_the_command_line(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(source)
    ended = command(
        "submit", "--wait", "--name", "one", "--hparam", "lr=2", "--", "python", "train.py", "{hparams.lr}", 3
    )
    assert ended.code == 0, ended.err
    assert "step 2\n" in ended.out
    assert aboard.Job("one").id in ended.out
    failed = command("submit", "--wait", "--", "false")
    assert (failed.code, "exit code 1" in failed.err) == (1, True)
    made = command(
        "submit", "--grid", "lr=1,2", "--json", "--experiment", "cli", "--", "python", "train.py", "{hparams.lr}", 1
    )
    items = json.loads(made.out)["items"]
    assert [item["run"] for item in items] == ["cli-0", "cli-1"]
    assert command("jobs", "wait", *(item["id"] for item in items)).code == 0
    listed = json.loads(command("jobs", "list", "--json").out)["items"]
    assert (listed[0]["run"], listed[0]["reason"]) == ("one", "completed")
    assert "COMPLETED" not in command("jobs", "list").out
    assert "STOPPED" in command("jobs", "list").out
    assert "step 2\n" in command("jobs", "logs", "one").out
    assert json.loads(command("jobs", "show", "one").out)["exit_code"] == 0
    unknown = command("jobs", "cancel", "absent")
    assert (unknown.code, "no job 'absent'" in unknown.err) == (1, True)
    refused = command("submit", "--at-once", "2", "--", "true")
    assert (refused.code, "--grid" in refused.err) == (1, True)


def test_the_example_of_pai(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ABOARD_JOBS_EXECUTOR", "local")
    printed = _launched("pai_estimator.py")
    assert "loss 3.34e-08 after 20 steps" in printed, "the hyperparameter did not arrive"
    assert "Running http://" in printed
    assert "runs without registry.example.com/train:1" in capsys.readouterr().err


def test_an_estimator_that_was_not_fitted_or_failed() -> None:
    estimator = Estimator("exit 4", instance_type="local")
    with pytest.raises(RuntimeError, match="Could not find a submitted training job"):
        estimator.tensorboard()
    with pytest.raises(RuntimeError, match="Could not find a submitted training job"):
        estimator.tensorboard_data()
    with pytest.raises(RuntimeError, match="exit code 4"):
        estimator.fit(show_logs=False)
    with pytest.raises(InvalidValue, match="2 instances"):
        Estimator("true", instance_count=2)
    with pytest.raises(InvalidValue, match="session"):
        TensorBoard("x", session=object())  # type: ignore[arg-type]


def test_boards_of_pai_have_its_words(tmp_path: Path) -> None:
    with aboard.SummaryWriter(str(tmp_path / "logs")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    board = TensorBoard.create(uri=str(tmp_path / "logs"))
    assert (board.status, board.display_name) == ("Running", "logs")
    assert str(tmp_path / "logs") in board.summary_uri
    board.stop()
    assert TensorBoard(board.tensorboard_id).status == "Stopped"
    board.start()
    assert repr(board) == f"TensorBoard(tensorboard_id={board.id!r}, name='logs', status='Running')"
    board.delete()


def test_the_example_of_a_sweep() -> None:
    assert "ended: {'stopped': 6}" in _launched("sweep.py")
    until(lambda: Client().runs.count(experiment="line-sweep") == 6, PATIENCE)
