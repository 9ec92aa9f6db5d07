# SPDX-License-Identifier: Apache-2.0
"""Lightning: a logger, and metrics of every batch."""

import logging
import sys

import lightning.pytorch as pl
import torch

from aboard.integrations.lightning import AboardLogger, BatchMetricsCallback

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
data = torch.utils.data.TensorDataset(torch.randn(64, 4))


class Model(pl.LightningModule):
    def __init__(self, lr: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        loss = self.layer(batch[0]).square().mean()
        self.log("train_loss", loss)
        return {"loss": loss, "double": loss.detach() * 2}

    def validation_step(self, batch, index):
        self.log("val_loss", self.layer(batch[0]).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


# Without a logger of aboard, Lightning writes to lightning_logs, where `aboard run` looks.
ours = {"logger": AboardLogger(), "callbacks": [BatchMetricsCallback()]} if "plain" not in sys.argv else {}
if not ours:
    from lightning.pytorch.loggers import TensorBoardLogger

    ours = {"logger": TensorBoardLogger(".")}
trainer = pl.Trainer(
    max_epochs=2,
    log_every_n_steps=1,
    enable_progress_bar=False,
    enable_model_summary=False,
    enable_checkpointing=False,
    accelerator="cpu",
    **ours,
)
loader = torch.utils.data.DataLoader(data, batch_size=16)
trainer.fit(Model(), loader, loader)
