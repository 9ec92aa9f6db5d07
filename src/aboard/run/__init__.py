# SPDX-License-Identifier: Apache-2.0
"""The training side put together: `training` appends to local files, `supervisor` ships them and watches over it."""
