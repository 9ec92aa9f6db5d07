# SPDX-License-Identifier: Apache-2.0
"""In place of `determined.tensorboard.metric_writers`."""
