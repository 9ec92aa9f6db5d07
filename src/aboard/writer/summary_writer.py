# SPDX-License-Identifier: Apache-2.0
"""`SummaryWriter`: the API of tensorboardX and of torch.utils.tensorboard in one class, on aboard's writing engine."""

from __future__ import annotations

from aboard.writer.array_calls import ArrayCalls
from aboard.writer.media_calls import MediaCalls
from aboard.writer.model_calls import ModelCalls
from aboard.writer.scalar_calls import ScalarCalls


class SummaryWriter(ScalarCalls, ArrayCalls, MediaCalls, ModelCalls):
    """Logs to event files that TensorBoard opens.

    Every `add_…` call hands its values over and returns; a background thread encodes and writes. Points reach the
    operating system within a second; after `flush()` everything is in the file. The methods may be called from any
    thread; after a fork the child writes a file of its own. A disk that fails is reported by a `WriteWarning`.
    """
