# SPDX-License-Identifier: Apache-2.0
"""Scripts of XT and XManager under `aboard run`: changed in their import line at the most, and all is in the store."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.forked_commands import forked_local_servers
from support.runs import Kept, Machine, well

# The lines of the seed, in the order of the seed; `import xtlib` has become the first one.
XT_SCRIPT = """
    from aboard.compat import xt as xtlib
    import os, sys

    tb_path = os.getenv("XT_OUTPUT_MNT", "output")
    if not os.path.exists(tb_path):
        os.makedirs(tb_path)
    run = xtlib.run.Run(tensorboard_path=tb_path)
    run.log_hparams({"lr": 0.01, "epochs": 2500})

    first = 0
    if run.is_resuming():
        state = run.get_checkpoint("restored.pt")
        first = state["epoch"] + 1
        assert open("restored.pt").read() == "weights of epoch 1"
    for epoch in range(first, first + 2):
        train_loss, train_acc = 1 / (epoch + 1), epoch / 10
        run.log_metrics({"epoch": epoch, "loss": train_loss, "acc": train_acc}, step_name="epoch", stage="train")
        run.log_metrics({"epoch": epoch, "loss": train_loss, "acc": train_acc}, step_name="epoch", stage="test")
        with open("model.pt", "w") as file:
            file.write(f"weights of epoch {epoch}")
        assert run.set_checkpoint({"epoch": epoch}, "model.pt")
    run.log_metrics({"speed": 7.0})  # no stage: train; no step: counted
    run.log_event("milestone", {"reached": True})
    assert list(run.metric_names)[:3] == ["train-loss", "train-acc", "test-loss"]
    names = ("XT_RUN_NAME", "XT_WORKSPACE_NAME", "XT_EXPERIMENT_NAME", "XT_JOB_ID", "XT_NODE_ID", "XT_USERNAME")
    print(*(os.environ[name] for name in names[:-1]), bool(os.environ[names[-1]]), run.run_name, run.ws_name)
    run.close()
"""

# As in XManager's examples: work units write below one root, on Vertex below what this variable says.
XMANAGER_SCRIPT = """
    import os, sys
    from tensorboardX import SummaryWriter

    root = os.environ["AIP_TENSORBOARD_LOG_DIR"] if sys.argv[1] == "vertex" else sys.argv[1]
    for trial in range(2):
        log_dir = os.path.join(root, "41", "logs", str(trial))
        with SummaryWriter(log_dir) as writer:
            for step in range(3):
                writer.add_scalar("loss", step + trial, step)
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "one", str(tmp_path / "store"))
    with forked_local_servers():
        yield machine


def test_a_script_of_xt_with_its_import_line_changed_and_started_again(machine: Machine, tmp_path: Path) -> None:
    options = ("--name", "run23", "--workspace", "ws1", "--experiment", "digits", "--resources-every", "0")
    assert well(machine.run(XT_SCRIPT, *options)).out == "run23 ws1 digits digits node0 True run23 ws1\n"
    other = Machine(tmp_path / "two", machine.store)
    well(other.run(XT_SCRIPT, *options))
    kept = Kept.at(machine.store)
    run = kept.run()
    assert (run.name, run.workspace, run.experiment, str(run.status)) == ("run23", "ws1", "digits", "completed")
    assert run.hparams == {"lr": 0.01, "epochs": 2500}
    assert len(run.attempts) == 2
    for stage in ("train", "test"):
        assert [step for step, _ in kept.points(stage, "loss")] == [0, 1, 2, 3]
        assert kept.points(stage, "epoch") == []
    assert kept.points("train", "speed") == [(1, 7.0), (1, 7.0)]
    assert run.metrics["test/acc"].last.value == pytest.approx(0.3)
    assert [event["name"] for event in kept.summary().annotations] == ["milestone", "milestone"]
    (weights,) = [path for path in kept.rows() if path.endswith("000004-model.pt")]
    assert kept.content(weights) == b"weights of epoch 3"
    catalogued = json.loads(well(machine.ask("runs", "show", "ws1/name:run23", "--json")).out)
    assert (catalogued["number"], catalogued["status"], len(catalogued["attempts"])) == (1, "completed", 2)
    assert catalogued["hparams"] == {"lr": 0.01, "epochs": 2500}
    assert catalogued["metrics"]["test/acc"]["last"]["value"] == pytest.approx(0.3)


def test_xts_run_alone_and_switched_off(machine: Machine) -> None:
    script = """
        import os, pytest
        from aboard.compat.xt import Run
        from aboard.compat.xt.run import Run as same
        from aboard.errors import InvalidValue

        assert Run is same
        with pytest.raises(InvalidValue, match="XT's own settings"):
            Run(config={})
        silent = Run(xt_logging=False)
        silent.log_metrics({"loss": 1.0}, stage="eval")
        assert not silent.is_resuming() and silent.get_checkpoint() is None
        silent.close()
        with Run(tensorboard_path="logs", checkpoints_enabled=False) as run:
            run.log_metrics({"loss": 1.0}, stage="eval")
            run.train_writer.add_text("t", "other kinds work")
            assert run.set_checkpoint({"epoch": 1}) is False
            run.tag("from-xt")  # what aboard has besides
    """
    well(machine.python(script))
    kept = Kept.at(machine.store)
    assert kept.run().tags == {"from-xt": ""}
    assert kept.points("eval", "loss") == [(1, 1.0)]


def test_scripts_of_xmanager(machine: Machine) -> None:
    script = machine.script(XMANAGER_SCRIPT)
    root = machine.folder / "root"
    command = ("--", "sh", "-c", f"{sys.executable} {script} vertex && {sys.executable} {script} {root}")
    well(machine.aboard("run", "--watch", root, "--hparam", "lr=0.1", "--resources-every", "0", *command))
    kept = Kept.at(machine.store)
    assert kept.run().hparams == {"lr": 0.1}
    for trial in range(2):
        expected = [(step, float(step + trial)) for step in range(3)]
        assert kept.points(f"41/logs/{trial}", "loss") == expected + expected
    (catalogued,) = json.loads(well(machine.ask("runs", "list", "--json")).out)["items"]
    assert (catalogued["status"], catalogued["hparams"]) == ("completed", {"lr": 0.1})
    assert catalogued["metrics"]["41/logs/1/loss"]["max"]["value"] == 3.0
