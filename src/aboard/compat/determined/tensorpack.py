# SPDX-License-Identifier: Apache-2.0
"""In place of `determined.tensorpack`."""

from aboard.integrations.tensorpack import TFEventWriter

__all__ = ["TFEventWriter"]
