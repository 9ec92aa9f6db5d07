# SPDX-License-Identifier: Apache-2.0
"""In place of `determined.tensorboard.metric_writers.pytorch`."""

from aboard.integrations.torch import TorchWriter

__all__ = ["TorchWriter"]
