# SPDX-License-Identifier: Apache-2.0
"""PyTorch on two processes: every rank logs to the same run, each to a file of its own.

Start it with `aboard run -- torchrun --nproc-per-node 2 examples/torch_ddp.py`, or let it start its ranks itself.
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from aboard.integrations.torch import TorchWriter


def train(rank: int, address: str) -> None:
    if "RANK" not in os.environ:
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    else:
        dist.init_process_group("gloo")
    logger = TorchWriter()
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        inputs = torch.randn(32, 4)
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.writer.add_scalar(f"loss/rank{logger.rank}", loss, step)
        if step % 2 == logger.rank:  # one curve whose points come from both
            logger.writer.add_scalar("turns", step, step)
    logger.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), "env://")
    else:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(train, args=(f"file://{folder}/meeting",), nprocs=2)
