# SPDX-License-Identifier: Apache-2.0
"""The use cases of runs: finding, reading, editing and deleting them."""
