# SPDX-License-Identifier: Apache-2.0
"""One frozen settings object from flags, environment and file; standard library only."""
