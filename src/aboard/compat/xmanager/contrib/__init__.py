# SPDX-License-Identifier: Apache-2.0
"""Where XManager keeps its `tensorboard`."""
