# SPDX-License-Identifier: Apache-2.0
"""PyTorch: scripts as they are, TorchWriter, the profiler, several ranks, and the lines of the seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.trained_examples import EXAMPLES, train, train_alone

pytestmark = pytest.mark.timeout(400)

# PAI's lines as they stand, then scripts that name no folder at all.
NO_LINE = """
    import torch
    from torch.utils.tensorboard import SummaryWriter
    import os

    writer = SummaryWriter(log_dir=os.environ.get("PAI_OUTPUT_TENSORBOARD"))

    writer.add_scalar("train/loss", 0.1, 1)
    writer.add_image("train/image", torch.rand(3, 64, 64), 1)
    writer.flush()

    by_itself = SummaryWriter()
    by_itself.add_scalar("unnamed", 0.25, 3)
    by_itself.close()
    import tensorboardX
    other = tensorboardX.SummaryWriter("hidden/tbx")
    import time
    for step in range(30):  # tensorboardX names no process: its file is found while it is open
        other.add_scalar("loss", step, step)
        time.sleep(0.3)
    other.close()
"""

# Determined's lines with their import line changed; the driver stands for its trial class.
DETERMINED = """
    import numpy as np
    from aboard.compat.determined.tensorboard.metric_writers.pytorch import TorchWriter
    PyTorchTrial = object

    class MyModel(PyTorchTrial):
        def __init__(self, context):
            self.logger = TorchWriter()

        def train_batch(self, batch, epoch_idx, batch_idx):
            self.logger.writer.add_scalar('my_metric', np.random.random(), batch_idx)

    model = MyModel(None)
    for batch in range(5):
        model.train_batch(None, 0, batch)
"""


@pytest.mark.framework("PyTorch", "torch", "tensorboardX", shows="`SummaryWriter` as it is")
def test_scripts_of_torch_and_tensorboardx_as_they_are(tmp_path: Path) -> None:
    trained = train(tmp_path, NO_LINE)
    board = trained.board()
    assert board.curve(".", "train/loss") == [(1, pytest.approx(0.1))]
    assert board.tags("images") == {".": {"train/image"}}
    (unnamed,) = [logdir for logdir, tags in board.tags("scalars").items() if "unnamed" in tags]
    assert unnamed not in {".", "tbx"}  # the folder that torch has named
    assert board.curve(unnamed, "unnamed") == [(3, 0.25)]
    assert board.steps("tbx", "loss") == list(range(30))
    assert trained.run().metrics["tbx/loss"].last.value == 29.0


@pytest.mark.framework("PyTorch", "torch", "tensorboardX", shows="`TorchWriter`, hyperparameters, profiler traces")
def test_a_loop_with_writer_and_profiler(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "torch_loop.py")
    board = trained.board()
    losses = board.curve(".", "loss")
    assert [step for step, _ in losses] == list(range(20))
    assert losses[-1][1] < losses[0][1]
    assert trained.run().hparams == {"lr": 0.1, "hidden": 8}
    assert board.tags("histograms") == {".": {"weights"}}
    assert "Linear" in board.graph(".")
    (trace,) = [path for path in trained.kept.rows() if path.endswith(".pt.trace.json")]
    assert b"traceEvents" in trained.kept.content(trace)


@pytest.mark.framework("PyTorch", "torch", "tensorboardX", shows="two ranks in one history (gloo)")
@pytest.mark.parametrize("starter", ["spawn", "torchrun"])
def test_every_rank_logs_to_one_history(tmp_path: Path, starter: str) -> None:
    script = EXAMPLES / "torch_ddp.py"
    if starter == "spawn":
        trained = train(tmp_path, script)
    else:
        runner = "import sys; from torch.distributed.run import main; main(['--nproc-per-node', '2', *sys.argv[1:]])"
        trained = train(tmp_path, f"    {runner}", script)
    board = trained.board()
    assert board.tags("scalars") == {".": {"loss/rank0", "loss/rank1", "turns"}}
    for rank in range(2):
        assert board.steps(".", f"loss/rank{rank}") == list(range(10))
    assert board.curve(".", "turns") == [(step, float(step)) for step in range(10)]
    names = [path for path in trained.kept.rows() if "tfevents" in path]
    assert sorted(path.endswith(".rank1") or ".rank1" in path for path in names) == [False, True]


@pytest.mark.framework("PyTorch", "torch", "tensorboardX", shows="Determined's `TorchWriter` by its import line")
def test_the_lines_of_determined(tmp_path: Path) -> None:
    trained = train(tmp_path, DETERMINED)
    assert trained.board().steps(".", "my_metric") == list(range(5))


def test_alone_torchwriter_says_where_it_writes(tmp_path: Path) -> None:
    trained = train_alone(tmp_path, DETERMINED)
    (folder,) = (trained.machine.folder / "runs").iterdir()
    assert f"TorchWriter writes to {folder}" in trained.ended.err
    assert "aboard run" in trained.ended.err
    assert list(folder.glob("*tfevents*"))
