# SPDX-License-Identifier: Apache-2.0
"""Trainers on top of PyTorch: Hugging Face Transformers and Accelerate, Lightning under both its names."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.trained_examples import EXAMPLES, train

pytestmark = pytest.mark.timeout(400)

# PAI's lines: one import line changed, their typing error (args, training_args) mended, what they leave out filled in.
PAI = """
    import os, tempfile, torch
    from transformers import Trainer, DataCollatorWithPadding, HfArgumentParser
    from aboard.integrations.transformers import TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)
        def forward(self, x, labels=None):
            return {"loss": (self.layer(x) - labels[:, None]).square().mean()}

    model = Model()
    rows = [{"x": torch.randn(2), "labels": torch.ones(())} for _ in range(1600)]
    log_dir = os.environ.get("PAI_OUTPUT_TENSORBOARD")

    training_args = TrainingArguments(
        # set log dir for tensorboard
        logging_dir=log_dir,
        report_to="tensorboard",
        # logging strategy
        logging_strategy="steps",
        logging_steps=400,
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=4, num_train_epochs=2, save_strategy="no",
        disable_tqdm=True, use_cpu=True,
    )

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=rows,
    )
    trainer.train()
"""


@pytest.mark.framework(
    "HF Transformers", "transformers", "torch", shows='`report_to="aboard"` (`TransformersCallback`), hyperparameters'
)
def test_the_trainer_reports_to_aboard(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "transformers_trainer.py")
    board = trained.board()
    assert board.steps(".", "train/loss") == [2, 4, 6, 8]
    assert board.steps(".", "eval/loss") == [4, 8]
    hparams = trained.run().hparams
    assert (hparams["num_train_epochs"], hparams["hidden_size"]) == (2, 16)
    assert set(board.tags("scalars")) == {"."}


@pytest.mark.framework(
    "HF Transformers", "transformers", "torch", shows='PAI\'s lines: `report_to="tensorboard"`, `logging_dir`'
)
def test_the_lines_of_pai(tmp_path: Path) -> None:
    board = train(tmp_path, PAI).board()
    assert board.steps(".", "train/loss") == [400, 800]


@pytest.mark.framework("Lightning", "lightning", "torch", shows="`AboardLogger`, `BatchMetricsCallback`")
def test_lightning(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "lightning_fit.py")
    board = trained.board()
    assert board.steps(".", "train_loss") == list(range(8))
    assert board.steps(".", "val_loss") == [3, 7]
    assert board.steps(".", "batch/loss") == list(range(1, 9))
    batch, double = board.curve(".", "batch/loss"), board.curve(".", "batch/double")
    assert double == [(step, pytest.approx(2 * value)) for step, value in batch]
    assert board.steps(".", "batch/val_loss") == [4, 8]
    assert trained.run().hparams == {"lr": 0.1}


@pytest.mark.framework("Lightning", "lightning", "torch", shows="the same under the name `pytorch_lightning`")
def test_lightning_under_its_other_name(tmp_path: Path) -> None:
    text = (EXAMPLES / "lightning_fit.py").read_text(encoding="utf-8")
    assert "import lightning.pytorch as pl" in text
    trained = train(tmp_path, text.replace("import lightning.pytorch as pl", "import pytorch_lightning as pl"))
    assert trained.board().steps(".", "train_loss") == list(range(8))


@pytest.mark.framework("Lightning", "lightning", "torch", shows="its own TensorBoard logger as it is")
def test_lightning_with_its_own_logger(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "lightning_fit.py", "plain")
    assert trained.board().steps("version_0", "train_loss") == list(range(8))


@pytest.mark.framework("Accelerate", "accelerate", "torch", shows="`AboardTracker`")
def test_accelerate(tmp_path: Path) -> None:
    trained = train(tmp_path, EXAMPLES / "accelerate_loop.py")
    board = trained.board()
    assert board.steps(".", "loss") == list(range(8))
    assert board.tags("images") == {".": {"samples"}}
    assert board.tags("text") == {".": {"note/text_summary"}}
    assert trained.run().hparams == {"lr": 0.1, "batch": 16}
