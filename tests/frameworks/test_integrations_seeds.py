# SPDX-License-Identifier: Apache-2.0
"""The tutorial of tensorboardX by its import line, and trainings that fork, crash and are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.runs import Kept, Machine
from support.trained_examples import QUIET, train

pytestmark = pytest.mark.timeout(400)

# The lines of the tutorial; what they leave open is filled in, and inputs are made with requires_grad, as it advises.
TUTORIAL = """
    import numpy as np
    import torch
    from aboard import SummaryWriter

    # Create writer object, logs will be saved in 'runs/exp-1'
    writer = SummaryWriter('runs/exp-1')

    class MyNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(5, 4)

        def forward(self, one, other):
            return self.first(one) + self.second(other)

    for global_step in range(3):
        value = torch.tensor(global_step / 4, requires_grad=True)
        writer.add_scalar('tagname', value, global_step)
    values = np.random.default_rng(0).normal(size=100)
    writer.add_histogram('name', values, global_step)

    model = MyNet()
    inputs = torch.rand(2, 3, requires_grad=True), torch.rand(2, 5, requires_grad=True)

    writer.add_graph(model, inputs)
    writer.add_audio('tone', np.sin(np.arange(88200) / 10), global_step)

    embeddings = torch.randn(6, 4)
    model = writer.add_embedding(model, embeddings)
    writer.add_embedding(
        embeddings, metadata=[f"row {n}" for n in range(6)], label_img=torch.rand(6, 3, 8, 8), tag="labelled"
    )
    assert isinstance(model, MyNet)
    writer.close()

    # Alternatively, use an auto generated name, the directory will be
    # something like 'runs/Aug20-17-20-33'
    writer = SummaryWriter()
    im = torch.rand(3, 16, 16)
    writer.add_image('tagname', im, global_step)
    writer.close()

    # or use an auto generated name with the comment as a suffix:
    # for example 'runs/Aug20-17-20-33-3x learning rate'
    writer = SummaryWriter(comment='3x learning rate')
    writer.add_scalar('tagname', 1.0, 7)
    writer.close()
"""

CRASH = """
    import os, sys, time, torch
    from aboard.integrations.torch import TorchWriter

    logger = TorchWriter()
    logger.writer.add_scalar("parent", torch.tensor(1.0), 1)
    if os.fork() == 0:
        logger.writer.add_scalar("child", torch.tensor(2.0), 1)
        logger.close()
        os._exit(0)
    os.wait()
    if sys.argv[1] == "killed":
        logger.writer.flush()
        os.kill(os.getpid(), 9)
    raise RuntimeError("the loss is gone")
"""


@pytest.mark.framework("PyTorch", "torch", "tensorboardX", shows="the tensorboardX tutorial by its import line")
def test_the_lines_of_tensorboardx(tmp_path: Path) -> None:
    trained = train(tmp_path, TUTORIAL)
    board = trained.board()
    assert board.curve("exp-1", "tagname") == [(0, 0.0), (1, 0.25), (2, 0.5)]
    ((unnamed, shown),) = board.tags("images").items()
    assert shown == {"tagname"}
    (commented,) = [logdir for logdir in board.tags("scalars") if logdir.endswith("3x learning rate")]
    assert board.curve(commented, "tagname") == [(7, 1.0)]
    assert len({unnamed, commented, "exp-1"}) == 3
    assert board.tags("histograms") == {"exp-1": {"name"}}
    assert board.tags("audio") == {"exp-1": {"tone"}}
    graph = board.graph("exp-1")
    assert "first" in graph
    assert "input" in graph  # inputs are nodes
    labelled = board.embeddings("exp-1")["labelled"]
    assert labelled["tensorShape"] == [6, 4]
    assert labelled["metadataPath"].endswith("metadata.tsv")
    assert labelled["sprite"]["imagePath"].endswith("sprite.png")


@pytest.mark.parametrize(("how", "code", "reason"), [("raises", 1, "exit code 1"), ("killed", 137, "SIGKILL")])
def test_what_was_logged_before_a_crash_is_kept(tmp_path: Path, how: str, code: int, reason: str) -> None:
    import sys

    from support.runs import finish

    machine = Machine(tmp_path / "machine", str(tmp_path / "store"), dict(QUIET))
    script = machine.script(CRASH)
    options = ("--resources-every", "0", "--no-code")
    ended = finish(machine.start("run", *options, "--", sys.executable, script, how), 240)
    assert ended.code == code, ended.err
    kept = Kept.at(machine.store)
    run = kept.run()
    assert (str(run.status), reason in run.reason) == ("failed", True)
    assert (kept.points("", "parent"), kept.points("", "child")) == ([(1, 1.0)], [(1, 2.0)])
