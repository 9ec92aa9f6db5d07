# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer: import the integration, and report to aboard."""

import sys
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import aboard.integrations.transformers

config = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=2
)
rows = [{"input_ids": torch.randint(0, 50, (8,)), "labels": index % 2} for index in range(32)]
args = TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    report_to=sys.argv[1] if len(sys.argv) > 1 else "aboard",  # "tensorboard" needs no line of aboard at all
    logging_strategy="steps",
    logging_steps=2,
    eval_strategy="epoch",
    num_train_epochs=2,
    per_device_train_batch_size=8,
    save_strategy="no",
    disable_tqdm=True,
    use_cpu=True,
)
trainer = Trainer(BertForSequenceClassification(config), args, train_dataset=rows, eval_dataset=rows)
trainer.train()
print("report_to", args.report_to, aboard.integrations.transformers.NAME)
