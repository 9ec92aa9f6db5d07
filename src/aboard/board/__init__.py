# SPDX-License-Identifier: Apache-2.0
"""Boards: runs shown in TensorBoard's own frontend, many boards in one process."""
