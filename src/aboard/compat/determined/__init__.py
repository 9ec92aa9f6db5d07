# SPDX-License-Identifier: Apache-2.0
"""In place of `determined`: its callbacks, monitors and writers. Not its trial classes: aboard runs scripts."""

BATCH_GROUP = "Determined"
"""The group in which Determined shows metrics of batches."""
