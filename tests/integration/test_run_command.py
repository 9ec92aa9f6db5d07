# SPDX-License-Identifier: Apache-2.0
"""`aboard run -- CMD`: scripts of other systems run unchanged, and all they leave is in the store."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.forked_commands import forked_local_servers
from support.object_servers import S3Server
from support.processes import until
from support.runs import Kept, Machine, finish, status_of, well

XT_SCRIPT = """
    import os, sys
    from tensorboard.compat import tf
    from tensorboard.compat.tensorflow_stub.io import gfile

    tb_path = os.getenv("XT_OUTPUT_MNT", "output")
    if not os.path.exists(tb_path):
        os.makedirs(tb_path)
    # The workaround of the seed: files are closed, and rewritten, with every append.
    delattr(gfile.LocalFileSystem, "append")

    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(os.path.join(tb_path, "train"), flush_secs=1)
    for step in range(50):
        value = Summary.Value(tag="loss", simple_value=step)
        writer.add_event(Event(step=step, wall_time=step + 1.0, summary=Summary(value=[value])))
        writer.flush()
    writer.close()
    with open(os.path.join(tb_path, "model.ckpt"), "wb") as file:
        file.write(b"w" * 100_000)
    print(os.environ["XT_RUN_NAME"], os.environ["XT_WORKSPACE_NAME"], os.environ["XT_EXPERIMENT_NAME"])
"""

PAI_SCRIPT = """
    import os
    import numpy as np
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(os.environ.get("PAI_OUTPUT_TENSORBOARD"))
    writer.add_scalar("train/loss", 0.5, 1)
    writer.add_image("train/image", np.random.rand(3, 64, 64), 1)
    writer.flush()
    for name in ("PAI_OUTPUT_TENSORBOARD", "AIP_TENSORBOARD_LOG_DIR", "TENSORBOARD_LOGGING_DIR"):
        assert os.environ[name] == os.environ["ABOARD_TENSORBOARD_DIR"], name
    writer.close()
    for name in ("MODEL", "CHECKPOINTS"):
        with open(os.path.join(os.environ[f"PAI_OUTPUT_{name}"], "weights.pt"), "w") as weights:
            weights.write(name)
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "one", str(tmp_path / "store"))


@pytest.fixture
def kept(machine: Machine) -> Kept:
    return Kept.at(machine.store)


def test_a_script_of_xt_runs_unchanged(machine: Machine, kept: Kept) -> None:
    ended = well(machine.run(XT_SCRIPT, "--workspace", "ws1", "--experiment", "digits", "--name", "first try"))
    assert ended.out == "first try ws1 digits\n"
    assert kept.points("train", "loss") == [(step, float(step)) for step in range(50)]
    assert kept.content("output/model.ckpt") == b"w" * 100_000
    run = kept.run()
    assert (run.name, run.workspace, run.experiment, str(run.status)) == ("first try", "ws1", "digits", "completed")
    assert run.metrics["train/loss"].largest is not None
    assert run.metrics["train/loss"].largest.value == 49


def test_a_script_of_pai_runs_unchanged_with_an_object_store(tmp_path: Path, s3_server: S3Server) -> None:
    environment = s3_server.environment()
    machine = Machine(tmp_path / "one", "s3://contract/pai", environment)
    well(machine.run(PAI_SCRIPT))
    kept = Kept.at(machine.store, environment)
    assert kept.points("", "train/loss") == [(1, 0.5)]
    assert kept.content("output/model/weights.pt") == b"MODEL"
    assert kept.content("output/checkpoints/weights.pt") == b"CHECKPOINTS"
    assert str(kept.run().status) == "completed"
    with forked_local_servers():
        # A server that has just started may tell what it has seen so far.
        until(lambda: '"completed"' in well(machine.ask("runs", "list", "--json")).out)
        (catalogued,) = json.loads(well(machine.ask("runs", "list", "--json")).out)["items"]
    assert (catalogued["status"], catalogued["store"]) == ("completed", "s3://contract/pai")
    assert catalogued["metrics"]["train/loss"]["last"]["value"] == 0.5


def test_what_is_known_about_a_run(machine: Machine, kept: Kept) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(machine.folder)]
    (machine.folder / "model.py").write_text("depth = 3\n")
    for arguments in (["init", "-q", "-b", "trunk"], ["add", "model.py"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    (machine.folder / "model.py").write_text("depth = 4\n")
    (machine.folder / "conf.toml").write_text("lr = 0.5\n[net]\nwidth = 8\n")
    options = ["--config", "conf.toml", "--hparam", "lr=1e-3", "--hparam", "name=adam", "--hparam", "flag=true"]
    script = """
        import os, pathlib, time
        for name in sorted(os.environ):
            if name.startswith(("ABOARD_", "XT_")): print(name)
        while not pathlib.Path("go").exists():
            time.sleep(0.02)
    """
    options += ["--tag", "a", "--tag", "b=c", "--note", "hello", "--resources-every", "0.3"]
    process = machine.start_run(script, *options)
    until(lambda: status_of(kept) == "running" and len(kept.points("system", "machine/cpu_percent")) >= 2)
    (machine.folder / "go").touch()
    ended = well(finish(process))
    assert {"ABOARD_RUN", "ABOARD_OUTPUT_DIR", "XT_OUTPUT_MNT"} <= set(ended.out.split())
    run = kept.run()
    assert run.hparams == {"lr": 0.001, "net.width": 8, "name": "adam", "flag": True}
    assert run.tags == {"a": "", "b": "c"}
    assert [note.text for note in run.notes] == ["hello"]
    assert run.exit_code == 0
    details: Any = run.attempts[0].details
    assert details["code"]["commit"] == commit
    assert details["code"]["branch"] == "trunk"
    assert details["code"]["is_changed"] is True
    assert b"+depth = 4" in kept.content("log/1.diff")
    assert details["python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert details["machine"]["memory_bytes"] > 1e6
    assert "script_" in str(details["command"])
    assert kept.points("system", "process/memory_mb")[0][1] > 1


ENDINGS = {
    "raise SystemExit(3)": (3, "failed", "exit code 3"),
    "import os; os.kill(os.getpid(), 9)": (137, "failed", "killed by SIGKILL, which is often a lack of memory"),
    "import os; os.kill(os.getpid(), 15)": (143, "failed", "killed by SIGTERM"),
    "from aboard import Run; Run().finish('cancelled', 'enough')": (0, "cancelled", "enough"),
}


def test_exit_codes_are_passed_on(tmp_path: Path) -> None:
    machines = {
        script: Machine(tmp_path / str(place), str(tmp_path / f"s{place}")) for place, script in enumerate(ENDINGS)
    }
    started = {script: machine.start_run(script) for script, machine in machines.items()}
    for script, (code, status, reason) in ENDINGS.items():
        assert finish(started[script]).code == code
        run = Kept.at(machines[script].store).run()
        assert (str(run.status), run.reason, run.exit_code) == (status, reason, code)


def test_output_is_passed_on_and_kept_within_a_limit(machine: Machine, kept: Kept) -> None:
    script = """
        import sys
        sys.stderr.write("to the other\\n")
        sys.stdout.buffer.write(b"\\xff\\x00first\\n")
        sys.stdout.flush()
        for number in range(60_000):
            print(f"line {number:06d} " + "." * 50)
        print("last")
    """
    process = machine.start_run(script, "--log-limit", 100_000, "--quiet")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith(b"\xff\x00first\n")
    assert out.endswith(b"line 059999 " + b"." * 50 + b"\nlast\n")
    assert len(out.splitlines()) == 60_002
    assert err == b"to the other\n"
    log = kept.content("log/1.txt")
    assert log.startswith(b"to the other\n\xff\x00first\n")
    assert log.endswith(b"last\n")
    assert b"bytes were left out here]" in log
    assert len(log) < 1_300_000


def test_secrets_are_nowhere(machine: Machine, kept: Kept) -> None:
    secret, other = "s3cr3t-value-1", "p4ssw0rd-2"
    script = """
        import os, sys, time
        from aboard import Run
        token = os.environ["MY_API_TOKEN"]
        sys.stdout.write("the token is " + token[:6]); sys.stdout.flush()
        time.sleep(0.2)
        print(token[6:], "and", sys.argv[2])
        run = Run(hparams={"api_key": "k", "url": "http://me:" + token + "@host/"}, note="do not tell " + token)
        run.log_event("login", {"with": token})
        raise ValueError("bad token " + token)
    """
    command = [sys.executable, machine.script(script), "--db-password", other]
    ended = machine.aboard("run", "--hparam", f"db.password={other}", "--", *command, MY_API_TOKEN=secret)
    assert ended.code == 1
    assert f"the token is {secret} and {other}" in ended.out  # the person's own terminal
    everything = kept.everything()
    assert secret.encode() not in everything
    assert other.encode() not in everything
    assert b"the token is ******** and ********" in kept.content("log/1.txt")
    assert kept.run().hparams["api_key"] == "********"
    assert kept.run().reason == "exit code 1: ValueError: bad token ********"


def test_folders_elsewhere_and_a_second_copy(machine: Machine, kept: Kept, tmp_path: Path) -> None:
    shared = f"/tmp/tensorboard/{tmp_path.name}-{os.getpid()}"
    Path(shared).mkdir(parents=True)
    script = f"""
        import os, sys
        from aboard import Run, SummaryWriter
        for folder in ("elsewhere/a", "{shared}/mine"):
            with SummaryWriter(folder) as writer:
                writer.add_scalar("x", 1, 1)
            os.makedirs(folder + "/plugins/profile/now")
            for name in ("plugins/profile/now/host.xplane.pb", f"host_{{os.getpid()}}.17.pt.trace.json", "weights.bin"):
                open(f"{{folder}}/{{name}}", "w").write("profile")
        Run(tensorboard_path="boards").log_metrics({{"y": 2}}, stage="late")
        os.makedirs(os.environ["ABOARD_OUTPUT_DIR"] + "/deep")
        open(os.environ["ABOARD_OUTPUT_DIR"] + "/deep/file", "w").write("kept")
    """
    from aboard import SummaryWriter

    try:
        with SummaryWriter(f"{shared}/before") as writer:
            writer.add_scalar("x", 1, 1)
        Path(f"{shared}/others/plugins").mkdir(parents=True)
        Path(f"{shared}/others/plugins/early.xplane.pb").write_text("not ours")
        process = machine.start_run(
            script, "--watch", "elsewhere", "--mirror", tmp_path / "copy", "--output", tmp_path / "out"
        )
        with SummaryWriter(f"{shared}/others") as writer:
            writer.add_scalar("x", 1, 1)
            well(finish(process))
    finally:
        subprocess.run(["rm", "-r", shared], check=True)
        with contextlib.suppress(OSError):  # others may use it
            Path(shared).parent.rmdir()
    name = Path(shared).name
    for where in (kept, Kept.at(str(tmp_path / "copy"))):
        assert where.points("a", "x") == [(1, 1.0)]
        assert where.points(f"{name}/mine", "x") == [(1, 1.0)]
        assert where.points(f"{name}/others", "x") == where.points(f"{name}/before", "x") == []
        assert where.points("late", "y") == [(1, 2.0)]
        profiles = [path for path in where.rows() if path.startswith("output/tensorboard/")]
        assert [path.count("plugins/profile/now/host.xplane.pb") for path in sorted(profiles)].count(1) == 2
        assert sum(path.endswith(".pt.trace.json") for path in profiles) == 2
        assert len(profiles) == 4, profiles  # neither other files nor those of others
        assert where.content("output/deep/file") == b"kept"
    assert (tmp_path / "out/deep/file").exists()
    assert (machine.folder / "boards/late").is_dir()
    assert kept.run().metrics["late/y"].last.value == 2


def test_failures_are_restarted_with_what_was_there(machine: Machine, kept: Kept) -> None:
    script = """
        import os, sys
        from aboard import Run
        run = Run()
        found = run.resume()
        first = found.state["step"] + 1 if found else 0
        for step in range(first, first + 2):
            run.log_metrics({"step": step, "loss": run.attempt}, "step", "train")
            run.checkpoint(step=step)
        print("attempt", os.environ["ABOARD_ATTEMPT"], flush=True)
        sys.exit(0 if run.attempt == 3 else 1)
    """
    ended = well(machine.run(script, "--restarts", 5))
    assert ended.out == "attempt 1\nattempt 2\nattempt 3\n"
    assert [str(attempt.status) for attempt in kept.run().attempts] == ["failed", "failed", "completed"]
    assert sorted(kept.points("train", "loss")) == [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3)]
    assert [kept.content(f"log/{number}.txt") for number in (1, 2, 3)] == [
        b"attempt 1\n",
        b"attempt 2\n",
        b"attempt 3\n",
    ]


PREEMPTIBLE = """
    import os, pathlib, signal, sys, time
    from aboard import Run
    output = pathlib.Path(os.environ["XT_OUTPUT_MNT"])
    saved = output / "state.txt"
    step = int(saved.read_text()) if saved.exists() else 0
    print("from", step, os.environ.get("XT_RESUME_NAME"), flush=True)
    run = Run(hparams={"attempt%d" % run_number: 1} if (run_number := int(os.environ["ABOARD_ATTEMPT"])) else None)
    wanted = []
    signal.signal(signal.SIGTERM, lambda *_: wanted.append(True))
    end = step + int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    while step < end:
        run.log_metrics({"step": step, "loss": step}, "step", "train")
        step += 1
        if wanted:  # not in the handler, which may come when a step is logged and not yet counted
            saved.write_text(str(step))
            print("saved", step, flush=True)
            sys.exit(0)
        time.sleep(0.01)
"""


@pytest.fixture(params=["folder", "s3"])
def cloud(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A store, and what must be exported to reach it."""
    if request.param == "folder":
        return str(tmp_path / "store"), {}
    server: S3Server = request.getfixturevalue("s3_server")
    return server.new_uri(), server.environment()


def test_a_preempted_run_goes_on_elsewhere_as_one_history(tmp_path: Path, cloud: tuple[str, dict[str, str]]) -> None:
    uri, environment = cloud
    one, two = (Machine(tmp_path / name, uri, environment) for name in ("one", "two"))
    kept = Kept.at(uri, environment)
    process = one.start_run(PREEMPTIBLE, "--name", "long")
    until(lambda: status_of(kept) == "running" and kept.points("train", "loss"))
    if not environment:  # claims are no different in a bucket; the contract of stores holds that
        there, here = (machine.start("run", "--name", "long", "--", "true") for machine in (two, one))
        for refused, reason in ((finish(there), "is being worked on by process"), (finish(here), "of this machine")):
            assert refused.code == 1
            assert reason in refused.err
        assert two.spools() == []
    process.send_signal(signal.SIGTERM)
    ended = well(finish(process))
    assert ended.out.startswith("from 0 None\nsaved ")
    assert status_of(kept) == "preempted"
    saved = int(ended.out.split()[-1])
    assert len(kept.points("train", "loss")) == saved

    script = two.script(PREEMPTIBLE)
    ended = well(two.aboard("run", "--name", "long", "--", sys.executable, script, 20))
    assert ended.out == f"from {saved} long\n"
    assert sorted(kept.points("train", "loss")) == [(step, float(step)) for step in range(saved + 20)]
    run = kept.run()
    assert [str(attempt.status) for attempt in run.attempts] == ["preempted", "completed"]
    assert run.hparams == {"attempt1": 1, "attempt2": 1}
    assert run.metrics["train/loss"].count == saved + 20


def test_a_supervisor_that_was_killed_leaves_nothing_behind(machine: Machine, kept: Kept) -> None:
    process = machine.start_run(PREEMPTIBLE, "--name", "long")
    until(lambda: status_of(kept) == "running" and kept.points("train", "loss"))
    process.kill()
    finish(process)
    script = machine.script(PREEMPTIBLE)
    ended = well(machine.aboard("run", "--name", "long", "--", sys.executable, script, 5))
    # The training was asked to end when its supervisor was gone, and has saved its state.
    first = int(ended.out.split()[1])
    assert first > 0
    assert ended.out == f"from {first} long\n"
    assert sorted({step for step, _ in kept.points("train", "loss")}) == list(range(first + 5))
    statuses = [str(attempt.status) for attempt in kept.run().attempts]
    assert statuses in (["lost", "completed"], ["failed", "completed"])  # it prints, and nobody listens: that may fail


def test_ctrl_c_and_a_command_that_does_not_want_to_end(machine: Machine, kept: Kept) -> None:
    script = """
        import signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("ready", flush=True)
        time.sleep(60)
    """
    process = machine.start_run(script, "--grace", 0.5)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.code == 137
    assert (str(kept.run().status), kept.run().reason) == ("cancelled", "ended by SIGINT")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--"], 2, "Missing argument"),
        (["--", "no-such-command"], 1, "There is no command 'no-such-command'"),
        (["--nmae", "x", "--", "true"], 2, "No such option"),
        (["--name", "a/b", "--", "true"], 1, "is not a name for a run"),
        (["--workspace", "ä ö", "--", "true"], 1, "is not a name for a workspace"),
        (["--hparam", "lr", "--", "true"], 1, "is not NAME=VALUE"),
        (["--config", "missing.json", "--", "true"], 1, "missing.json cannot be read"),
        (["--store", "ftp://x/y", "--", "true"], 1, "ftp:// is not a kind of store"),
        (["--store", "/a", "--mirror", "/a", "--", "true"], 1, "is named twice"),
        (["--restarts", "-1", "--", "true"], 2, "--restarts"),
        (["--watch", "/dev/null", "--", "true"], 1, "is not a folder"),
        (["--output", "/", "--", "true"], 1, "shipped into itself"),
        (["--store", "/a/b", "--watch", "/a", "--", "true"], 1, "shipped into itself"),
        (["--output", "/a/b", "--watch", "/a", "--", "true"], 1, "--output /a/b lies in --watch /a"),
    ],
)
def test_mistakes_are_told_before_anything_happens(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from aboard.cli import main

    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "argv", ["aboard", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("way", ["supervised", "alone"])
def test_a_new_home_is_readable_by_its_owner_alone(tmp_path: Path, way: str) -> None:
    machine = Machine(tmp_path / "machine", str(tmp_path / "machine" / "home" / "store"))
    before = os.umask(0o022)
    try:
        if way == "supervised":
            well(machine.run("print(1)"))
        else:
            well(machine.python("import aboard\nwith aboard.Run():\n    pass\n"))
    finally:
        os.umask(before)
    assert machine.home.stat().st_mode & 0o777 == 0o700
