# SPDX-License-Identifier: Apache-2.0
"""Runs on the training machine: `training` appends to local files, `supervisor` uploads them and watches the process."""
