# SPDX-License-Identifier: Apache-2.0
"""PAI's `Estimator` and `TensorBoard` on top of aboard's jobs and boards: only import lines change."""

from aboard.errors import BoardLimitExceeded as TensorboardLimitExceeded

__all__ = ["TensorboardLimitExceeded"]
