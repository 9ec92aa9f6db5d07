# SPDX-License-Identifier: Apache-2.0
"""Runs on the training machine: `training` writes local files, `supervisor` uploads them and watches the process."""
